"""Finds the program, runs it and reads its progress."""

from __future__ import annotations

import functools
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from . import errors
from .long_words import short
from .progress import Progress, plain
from .version import __version__

NOTES = logging.getLogger("popflow")
FAILED_CHECK = 1  # exit code of `verify` if a check fails


def program() -> str:
    """Returns the path of the program.

    The environment variable POPFLOW has priority, then the package's own program (installed with
    the package or built in its checkout), then the first `popflow` in PATH.
    """
    path = named() or own() or in_path("popflow")
    if path is None:
        raise errors.NoProgram(
            "the program popflow was not found. `pip install .` in a checkout builds it; or build "
            "it with CMake, or name it in the environment variable POPFLOW")
    checked(path)
    return path


def named() -> str | None:
    """Returns the program that the environment variable POPFLOW names, or None."""
    path = os.environ.get("POPFLOW")
    if not path:
        return None
    found = in_path(path)
    if found is None:
        raise errors.NoProgram(f"POPFLOW names {path}, which is no program")
    return os.path.abspath(found)


def in_path(name: str) -> str | None:
    """Returns the path of a program, looked up in the absolute folders of PATH: the current folder,
    which an empty entry means, holds no programs that the user asked for."""
    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
    return shutil.which(name, path=os.pathsep.join(folders))


def own() -> str | None:
    """Returns the program in the build folder of this package's checkout, or that of the folder
    `bin` under which the package was installed; None if there is none."""
    around = Path(__file__).resolve().parents[1:]
    places = [around[1] / "build" / "release" / "popflow",
              # The prefix is the folder of packages (pip install --target) or lies up to three
              # folders above, as in lib/python3.11/site-packages.
              *(prefix / "bin" / "popflow" for prefix in around[:4])]
    return next((str(path) for path in places if is_elf(path)), None)


def is_elf(path: Path) -> bool:
    """Returns whether the file is a compiled program."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


@functools.cache
def checked(path: str) -> str:
    """Returns the program's version; raises NoProgram if it does not fit this package."""
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
    """Returns the output of a short command of the program."""
    __tracebackhide__ = True
    with short(words) as asked:
        command = [program(), *asked]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise errors.of(done.returncode, sentence(done.stderr), command, None)
    return done.stdout


def ask_json(*words: str) -> Any:
    return json.loads(ask(*words, "--json"))


def work(words: Sequence[str], path: Path | None, show: bool | None = None) -> str:
    """Runs the program, which writes to `path`, and returns its output.

    `show` draws a progress bar (None: in terminals and notebooks). Interrupting Python interrupts
    the program, which keeps its results so far.
    """
    __tracebackhide__ = True  # notebooks show the user's call and the program's message only
    with (short(words) as asked, tempfile.TemporaryFile("w+", errors="replace") as printed):
        command = [program(), *asked, "--progress", "json"]
        code, said, interrupted = followed(command, words[0], show, printed)
        printed.seek(0)
        answer = printed.read()
    # A failed check is a result of `verify`, not an error.
    if code != 0 and not (code == FAILED_CHECK and answer):
        raise errors.of(code, sentence("\n".join(said)), command, path)
    if interrupted:
        raise errors.Interrupted("the program had finished", path)
    for line in said:
        if line.startswith(("warning: ", "without effect ")):
            warnings.warn(line.removeprefix("warning: "), stacklevel=level_of_user())
        elif line:
            NOTES.info(line)
    return answer


def followed(command: Sequence[str], title: str, show: bool | None,
             printed: IO[str]) -> tuple[int, list[str], bool]:
    """Returns the program's exit code, its messages, and whether it was interrupted."""
    # A process group of its own: Ctrl-C reaches the program once, from here, in notebooks too.
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed,
                             stderr=subprocess.PIPE, text=True, errors="replace",
                             start_new_session=True)
    said: list[str] = []
    interrupted = False
    with child, Progress(title, show) as bar:
        try:
            listen(child, bar, said)
        except KeyboardInterrupt:
            interrupted = True
            child.send_signal(signal.SIGINT)
            listen(child, bar, said)
        except BaseException:  # even if the bar fails, the program stores its results
            child.send_signal(signal.SIGINT)
            child.communicate()
            raise
        finally:
            if child.poll() is None:  # interrupted again
                child.kill()
        if child.returncode == 0:
            bar.complete()
    return child.returncode, said, interrupted


def level_of_user() -> int:
    """Returns the stack level of the first frame outside this package, for warnings."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("popflow."):
        level, frame = level + 1, frame.f_back
    return level


def listen(child: subprocess.Popen, bar: Progress, said: list[str]) -> None:
    """Shows the program's progress and collects its other messages until the program ends."""
    assert child.stderr is not None
    for line in child.stderr:
        if not bar.take(line):
            said.append(plain(line.rstrip()))
    child.wait()


def sentence(said: str) -> str:
    """Returns the program's error message, else its last warning, else all of its messages."""
    for mark in (r"^[^:\n]+: error: ", "warning: "):  # programs of users have other names
        *before, text = re.split(mark, said, flags=re.MULTILINE)
        if before:
            return text.strip()
    return said.strip()
