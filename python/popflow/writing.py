"""Writes files completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import OutputError


def beside(path: Path, role: str) -> Path:
    """Returns an unused hidden name in the same folder."""
    # A file name has at most 255 bytes; leave room for the added part.
    stem = os.fsdecode(os.fsencode(path.name)[:200])
    return path.with_name(f".{stem}.{role}-{secrets.token_hex(4)}")


@contextmanager
def blamed_on(path: Path) -> Iterator[None]:
    """Makes write errors name the file that the user asked for."""
    try:
        yield
    except OSError as problem:
        why = problem.strerror or problem
        if isinstance(problem, FileNotFoundError) and not path.parent.exists():
            why = f"the folder '{path.parent}/' does not exist"
        raise OutputError(f"cannot write '{path}': {why}") from problem
