"""Where files go that the user has given no name."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from pathlib import Path

_folder: Path | None = None


def folder(path: str | os.PathLike[str] | None = None) -> Path:
    """The folder of this session's files; with `path`, that one from now on.

    Without one it is made among the system's temporary files, and stays there, when the first file
    goes into it: that is said then.
    """
    global _folder
    if path is not None:
        _folder = Path(path).absolute()
        _folder.mkdir(parents=True, exist_ok=True)
    elif _folder is None:
        _folder = Path(tempfile.mkdtemp(prefix="popflow-"))
        print(f"popflow: files without a name of their own go to {_folder}", file=sys.stderr)
    return _folder


def place(output: str | os.PathLike[str] | None, name: str) -> Path:
    """The path of an output: as named, or a new one in the session's folder."""
    if output is not None:
        return Path(output).absolute()
    paths = (folder() / f"{name}-{number}.h5" for number in itertools.count(1))
    return next(path for path in paths if not path.exists())
