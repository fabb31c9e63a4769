"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import OutputError


def beside(path: Path, role: str) -> Path:
    """A hidden name in the same folder that nothing else has."""
    # Room for what is added: a name has at most 255 bytes.
    stem = os.fsdecode(os.fsencode(path.name)[:200])
    return path.with_name(f".{stem}.{role}-{secrets.token_hex(4)}")


@contextmanager
def blamed_on(path: Path) -> Iterator[None]:
    """Says which file could not be written: the one that was asked for."""
    try:
        yield
    except OSError as problem:
        why = problem.strerror or problem
        if isinstance(problem, FileNotFoundError) and not path.parent.exists():
            why = f"the folder '{path.parent}/' does not exist"
        raise OutputError(f"cannot write '{path}': {why}") from problem
