"""Finding the program, and talking to it."""

from __future__ import annotations

import functools
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import errors
from .progress import Progress
from .version import __version__

NOTES = logging.getLogger("popflow")


def program() -> str:
    """The path of the program: what the environment variable POPFLOW names, else the package's own
    (installed with it, or built in its checkout), else the first in PATH."""
    path = named() or own() or shutil.which("popflow")
    if path is None:
        raise errors.NoProgram(
            "the program popflow was not found. `pip install .` in a checkout builds it; or build "
            "it with CMake, or name it in the environment variable POPFLOW")
    checked(path)
    return path


def named() -> str | None:
    """The program that the environment names."""
    path = os.environ.get("POPFLOW")
    if not path:
        return None
    found = shutil.which(path)
    if found is None:
        raise errors.NoProgram(f"POPFLOW names {path}, which is no program")
    return os.path.abspath(found)


def own() -> str | None:
    """The program that lies in this package, or in the build folder of its checkout."""
    here = Path(__file__).resolve().parent
    places = (here / "bin" / "popflow", here.parents[1] / "build" / "release" / "popflow")
    return next((str(path) for path in places if path.is_file()), None)


def main() -> None:
    """The program itself, for the script `popflow` of an installed package."""
    path = own()
    if path is None:
        raise errors.NoProgram("this package came without its program")
    os.execv(path, [path, *sys.argv[1:]])


@functools.cache
def checked(path: str) -> str:
    """The program's version, if this package can use it."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise errors.NoProgram(f"{path} does not run: {problem}") from problem
    version = done.stdout.split()[1] if len(done.stdout.split()) > 1 else "unknown"
    if version.split(".")[:2] != __version__.split(".")[:2]:
        raise errors.NoProgram(f"{path} is version {version}, this package {__version__}: install "
                               "both from one checkout, or set POPFLOW to another program")
    return version


def ask(*words: str) -> str:
    """What the program prints in answer to a question that takes no time."""
    command = [program(), *words]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise errors.of(done.returncode, sentence(done.stderr), command, None)
    return done.stdout


def ask_json(*words: str) -> Any:
    return json.loads(ask(*words, "--json"))


def work(words: Sequence[str], path: Path, show: bool | None = None) -> None:
    """Runs the program, which writes to `path`, with a progress bar if `show` (None: if somebody
    looks). Interrupting Python interrupts the program, which keeps what it has."""
    command = [program(), *words, "--progress", "json"]
    # In a group of its own, so that Ctrl-C reaches it once and from here, in notebooks too.
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, errors="replace",
                             start_new_session=True)
    said: list[str] = []
    interrupted = False
    with child, Progress(words[0], show) as bar:
        try:
            listen(child, bar, said)
        except KeyboardInterrupt:
            interrupted = True
            child.send_signal(signal.SIGINT)
            listen(child, bar, said)
        finally:
            if child.poll() is None:  # interrupted again
                child.kill()
        if child.returncode == 0:
            bar.complete()
    if child.returncode != 0:
        raise errors.of(child.returncode, sentence("\n".join(said)), command, path)
    if interrupted:
        raise errors.Interrupted("the program had finished", path)
    for line in said:
        if line.startswith(("warning: ", "without effect ")):
            warnings.warn(line.removeprefix("warning: "), stacklevel=4)
        elif line:
            NOTES.info(line)


def listen(child: subprocess.Popen, bar: Progress, said: list[str]) -> None:
    """Passes progress on and collects what else is said, until the program ends."""
    assert child.stderr is not None
    for line in child.stderr:
        if not bar.take(line):
            said.append(line.rstrip())
    child.wait()


def sentence(said: str) -> str:
    """What the program said of an error, or else its last warning, or else all of it."""
    for mark in ("popflow: error: ", "warning: "):
        _, found, text = said.rpartition(mark)
        if found:
            return text.strip()
    return said.strip()
