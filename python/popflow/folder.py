"""Folder for output files that the user gave no name."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import OutputError, UsageError
from .own_problem import path_beside
from .private import require_private
from .writing import blamed_on

_folder: Path | None = None
_is_own = False  # whether this module made the folder
_choosing = threading.Lock()


def folder(path: str | os.PathLike[str] | None = None) -> Path:
    """Returns the folder for files without a name; with `path`, sets the folder first.

    Without a set folder, the first such file creates one in the system's temporary directory and
    prints its path; the folder is not deleted. That folder is private (mode 700), and refused if
    other users can replace it.
    """
    global _folder, _is_own
    with _choosing:
        if path is not None:
            _folder, _is_own = Path(path).absolute(), False
            _folder.mkdir(parents=True, exist_ok=True)
        elif _folder is None or (_is_own and not _folder.exists()):
            _folder, _is_own = Path(tempfile.mkdtemp(prefix="popflow-")), True
            print(f"popflow: output files without a name are stored in {_folder}", file=sys.stderr)
        if _is_own:
            try:
                require_private(_folder)
            except OutputError as problem:
                raise OutputError(f"{problem}; set TMPDIR to another folder, or choose one by "
                                  "popflow.folder(path)") from None
        return _folder


@contextmanager
def place(output: str | os.PathLike[str] | None, name: str) -> Iterator[Path]:
    """Yields the path of an output: as named, or a new one in the session's folder.

    While the block lasts, no other call, in this or another process, gets the same new path.
    """
    if output is not None:
        if not isinstance(output, (str, os.PathLike)):
            raise UsageError(f"output is {output!r}; it must be a file name")
        yield Path(output).absolute()
        return
    paths = (folder() / f"{name}-{number}.h5" for number in itertools.count(1))
    path = next(path for path in paths if take(path))
    try:
        yield path
    finally:
        mark(path).unlink(missing_ok=True)


def take(path: Path) -> bool:
    """Marks a path as taken; returns whether it was free."""
    if not free(path):
        return False
    with blamed_on(path):
        try:
            mark(path).touch(exist_ok=False)
        except FileExistsError:
            return False
    if not free(path):  # the previous holder of the mark has written a file
        mark(path).unlink()
        return False
    return True


def mark(path: Path) -> Path:
    return path.with_name(f".{path.name}.taken")


def free(path: Path) -> bool:
    return not path.exists() and not path_beside(path).exists()
