"""The command `popflow plot`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

from ..errors import Error, InputError, NoProgram, OutputError, UsageError

CODES = {UsageError: 2, InputError: 3, OutputError: 5}


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}.")


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(prog="popflow plot", description="Draws a file's figure, at a paper's size.",
                    allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", type=Path, help="a run, an ensemble, a comparison "
                        "or a sweep")
    parser.add_argument("-o", "--output", metavar="FIGURE", type=Path, required=True,
                        help="FIGURE.pdf, .svg or .png")
    parser.add_argument("--observable", metavar="NAME,...",
                        help="observables to draw, a panel each")
    parser.add_argument("--against", metavar="NAME", help="the horizontal axis: time, another "
                        "observable, an axis of a sweep")
    parser.add_argument("--log", metavar="none|x|y|xy", help="the logarithmic axes "
                        "(default: chosen by the range of the numbers)")
    parser.add_argument("--style", metavar="FILE.mplstyle", type=Path, help="a style file of "
                        "matplotlib, which overrides the figure's own")
    parser.add_argument("--script", metavar="FILE.py", type=Path, help="writes the script that "
                        "draws the figure, to be changed")
    return parser.parse_args(words)


def run(words: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code; prints errors as one sentence."""
    try:
        given = arguments(words)
        try:
            plot(given)
        except Error:
            raise
        except Exception as problem:  # malformed files raise errors of many types
            raise InputError(f"{given.file} cannot be drawn: {type(problem).__name__}: "
                             f"{' '.join(str(problem).split())}") from problem
    except Error as problem:
        print(f"popflow: error: {problem}", file=sys.stderr)
        return next((code for kind, code in CODES.items() if isinstance(problem, kind)), 1)
    return 0


def plot(given: argparse.Namespace) -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as missing:
        raise NoProgram(f"figures need matplotlib, which is missing here ({missing}); on Debian "
                        "it is the package python3-matplotlib.") from missing
    from .make import drawn, planned
    from .page import check_kind
    from .script import script, writing

    check_kind(given.output)
    plan, data = planned(given.file, given.observable, given.against, given.log)
    scripted = nullcontext() if given.script is None else \
        writing(given.script, script(plan, given.file, given.output, given.style))
    with scripted:
        drawn(plan, data, given.style, given.output)
