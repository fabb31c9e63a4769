"""Putting a new file in the place of what was there, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..writing import beside, blamed_on


@contextmanager
def replacing(path: Path, content: bytes) -> Iterator[None]:
    """Puts a file in its place where the block succeeds; else what was there stays."""
    new = beside(path, "tmp")
    try:
        with blamed_on(path), open(new, "xb") as file:
            file.write(content)
        yield
        with blamed_on(path):
            new.replace(path)
    finally:
        with suppress(OSError):  # in its place already, or never made
            new.unlink()
