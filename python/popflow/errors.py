"""Failures of the program as exceptions that carry the program's message."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path


class Error(Exception):
    """The program failed; the exception's message is the program's own.

    `code` is the exit code, `command` the called command, and `path` the output file if the program
    left one: `popflow.open(error.path)` shows the results up to the failure.
    """

    code = 1

    def __init__(self, sentence: str, code: int | None = None, command: Sequence[str] = (),
                 path: Path | None = None):
        super().__init__(sentence)
        self.code = type(self).code if code is None else code
        self.command, self.path = list(command), path


class UsageError(Error):
    """An option or word is unknown, a value is out of range, or options exclude each other."""

    code = 2


class InputError(Error):
    """An input file is missing, unreadable or wrong."""

    code = 3


class Diverged(Error):
    """The trajectory diverged; the file has all results up to that time."""

    code = 4


class OutputError(Error):
    """The file could not be written."""

    code = 5


class LimitReached(Error):
    """The trajectory reached the limit of steps, or its step size became too small."""

    code = 6


class NoProgram(Error):
    """The program is missing, or its version does not fit this package."""


class Interrupted(KeyboardInterrupt):
    """The program was interrupted; `popflow.resume(error.path)` continues."""

    def __init__(self, sentence: str, path: Path | None = None):
        super().__init__(sentence)
        self.path = path


BY_CODE = {kind.code: kind for kind in (UsageError, InputError, Diverged, OutputError,
                                        LimitReached)}
INTERRUPTED = {128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}


def of(code: int, said: str, command: Sequence[str], path: Path | None) -> BaseException:
    """Returns the exception for an exit code other than 0."""
    left = path if path is not None and path.exists() else None
    if code in INTERRUPTED:
        return Interrupted(said, left)
    if code < 0:
        said = f"the program was ended by {signal.Signals(-code).name}\n{said}".strip()
    return BY_CODE.get(code, Error)(said or f"exit code {code}", code, command, left)
