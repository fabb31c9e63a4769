"""Problem file beside an output whose problem was given as arrays."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import UsageError
from .problem import are_arrays, write_problem
from .writing import beside, blamed_on


def path_beside(output: Path) -> Path:
    return output.with_name(f"{output.stem}-problem.h5")


@contextmanager
def kept_beside(output: Path, problem: Any, options: Mapping[str, Any]) -> Iterator[Any]:
    """Yields the value of --problem for the block that computes `output`.

    Arrays are written to a file beside the output, where a resumed run finds them too. Without
    `force` neither file may exist. If the block fails before it writes a new output, the previous
    problem file is restored.
    """
    if not are_arrays(problem):
        yield problem
        return
    path, force = path_beside(output), bool(options.get("force"))
    if not force:
        for what, file in (("output", output), ("problem file", path)):
            if os.path.lexists(file):
                raise exists_already(what, file)
    before = state(output)
    new, old = beside(path, "new"), beside(path, "old")
    with ExitStack() as undo:
        undo.callback(new.unlink, missing_ok=True)
        write_problem(new, problem, options, named=path)
        with blamed_on(path):
            if force and set_aside(path, old):
                undo.callback(old.replace, path)
            claim(path)
            undo.callback(path.unlink, missing_ok=True)
            new.replace(path)
        try:
            yield path
        finally:
            if state(output) not in (None, before):  # a new output needs its problem file
                undo.pop_all()
                with suppress(OSError):
                    old.unlink(missing_ok=True)


def exists_already(what: str, path: Path) -> UsageError:
    return UsageError(f"the {what} '{path}' exists; force=True replaces it")


def claim(path: Path) -> None:
    """Creates a file under an unused name; safe if other processes try the same name."""
    try:
        open(path, "x").close()
    except FileExistsError:
        raise exists_already("problem file", path) from None


def set_aside(path: Path, old: Path) -> bool:
    """Renames the file if it exists."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    try:
        path.rename(old)
    except FileNotFoundError:
        return False
    return True


def state(path: Path) -> tuple[int, ...] | None:
    """Returns numbers that change when the file is replaced or written; None if it is missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
