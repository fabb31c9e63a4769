"""Moves options that are too long for a command line into a configuration file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .errors import UsageError

# Linux limits one argument to 128 KiB.
LONGEST = 100_000


@contextmanager
def short(words: Sequence[str]) -> Iterator[list[str]]:
    """Yields the words, with options that are too long moved to a temporary configuration file."""
    long = {words[at - 1] for at, word in enumerate(words) if len(os.fsencode(word)) > LONGEST}
    if not long:
        yield list(words)
        return
    if "--config" in words:
        raise UsageError(f"{' and '.join(sorted(long))} are too long for a command line "
                         "and need a configuration file; write them into the file given as config=")
    rest: list[str] = []
    lines: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word in long:  # all options of this name, since axes keep their order
            lines.append(f"{word.removeprefix('--')} = {quoted(next(remaining))}")
        else:
            rest.append(word)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "long-options.cfg"
        path.write_bytes(os.fsencode("\n".join([*lines, ""])))  # paths need not be UTF-8
        yield [*rest, "--config", str(path)]


def quoted(value: str) -> str:
    """Returns a value in quotes with control characters escaped, as configuration files read it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("#", "\\x23")
    return '"' + "".join(character if character >= " " and character != "\x7f" else
                         f"\\x{ord(character):02x}" for character in escaped) + '"'
