"""How the program can end, as exceptions that carry its sentence."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path


class Error(Exception):
    """The program did not do what it was asked to; the message is its own.

    `code` is its exit code, `command` what was called, `path` the file that it left behind, if it
    did: `popflow.open(error.path)` shows what came before.
    """

    code = 1

    def __init__(self, sentence: str, code: int | None = None, command: Sequence[str] = (),
                 path: Path | None = None):
        super().__init__(sentence)
        self.code = type(self).code if code is None else code
        self.command, self.path = list(command), path


class UsageError(Error):
    """An unknown option or word, a value out of range, a combination that is refused."""

    code = 2


class InputError(Error):
    """An input file is missing, unreadable or wrong."""

    code = 3


class Diverged(Error):
    """The trajectory left the finite numbers; the file has all that came before."""

    code = 4


class OutputError(Error):
    """The file could not be written."""

    code = 5


class LimitReached(Error):
    """The limit of steps was reached, or the step size became too small."""

    code = 6


class NoProgram(Error):
    """The program is not there, or not of a version that goes with this package."""


class Interrupted(KeyboardInterrupt):
    """The program was interrupted; `popflow.resume(error.path)` goes on."""

    def __init__(self, sentence: str, path: Path | None = None):
        super().__init__(sentence)
        self.path = path


BY_CODE = {kind.code: kind for kind in (UsageError, InputError, Diverged, OutputError,
                                        LimitReached)}
INTERRUPTED = {128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}


def of(code: int, said: str, command: Sequence[str], path: Path | None) -> BaseException:
    """The exception for an exit code other than 0."""
    left = path if path is not None and path.exists() else None
    if code in INTERRUPTED:
        return Interrupted(said, left)
    if code < 0:
        said = f"the program was ended by {signal.Signals(-code).name}\n{said}".strip()
    return BY_CODE.get(code, Error)(said or f"exit code {code}", code, command, left)
