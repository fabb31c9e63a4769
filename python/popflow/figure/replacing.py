"""Putting a new file in the place of what was there, whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import OutputError


@contextmanager
def replacing(path: Path, content: bytes) -> Iterator[None]:
    """Puts a file in its place where the block succeeds; else what was there stays."""
    # Room for what is added: a name has at most 255 bytes.
    stem = os.fsdecode(os.fsencode(path.name)[:200])
    beside = path.with_name(f".{stem}.tmp-{secrets.token_hex(4)}")
    try:
        with blamed_on(path), open(beside, "xb") as file:
            file.write(content)
        yield
        with blamed_on(path):
            beside.replace(path)
    finally:
        with suppress(OSError):  # in its place already, or never made
            beside.unlink()


@contextmanager
def blamed_on(path: Path) -> Iterator[None]:
    """Says which file could not be written: the one that was asked for."""
    try:
        yield
    except OSError as problem:
        raise OutputError(f"cannot write '{path}': {problem.strerror or problem}") from problem
