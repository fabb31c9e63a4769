"""Replaces a file by a new one, completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..writing import beside, blamed_on


@contextmanager
def replacing(path: Path, content: bytes) -> Iterator[None]:
    """Replaces the file if the block succeeds; otherwise keeps the old file."""
    new = beside(path, "tmp")
    try:
        with blamed_on(path), open(new, "xb") as file:
            file.write(content)
        yield
        with blamed_on(path):
            new.replace(path)
    finally:
        with suppress(OSError):  # already moved, or never written
            new.unlink()
