"""Axes of a sweep, written as the program reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import UsageError
from .words import key, word


@dataclass(frozen=True)
class Range:
    """Values between two ends: `count` values or, if it is None, as many as the sweep samples."""

    low: float
    high: float
    count: int | None = None
    log: bool = False

    def __str__(self) -> str:
        parts = [word(self.low), word(self.high)]
        parts += [word(self.count)] if self.count is not None else []
        return ":".join(parts + (["log"] if self.log else []))


def linear(low: float, high: float, count: int) -> Range:
    """Returns `count` equally spaced values, ends included."""
    return Range(low, high, count)


def logarithmic(low: float, high: float, count: int) -> Range:
    """Returns `count` values, equally spaced in the logarithm, ends included."""
    return Range(low, high, count, True)


def sampled(low: float, high: float, log: bool = False) -> Range:
    """Returns an axis whose values are sampled between the ends.

    All sampled axes share the dimension `sample`, whose length is the sweep's option `samples`.
    """
    return Range(low, high, None, log)


def axes(over: Mapping[str, Any]) -> list[str]:
    """Returns the words `--over PARAMETER=VALUES` for a mapping from parameters to values.

    Values are a range, a Python range of whole numbers, or a list. A mapping in place of values, as
    in {"chain": {"p": [.1, .2], "q": [.3, .5]}}, names a dimension (`chain`) along which several
    parameters change together.
    """
    if not isinstance(over, Mapping):
        raise UsageError(f"over is {over!r}; it maps parameters to values, as in "
                         "over={'w0': [1, 2]}.")
    found: list[str] = []
    for name, values in over.items():
        if isinstance(values, Mapping):
            for parameter, own in values.items():
                found += ["--over", f"{name}:{key(parameter)}={spelled(own)}"]
        else:
            found += ["--over", f"{key(name)}={spelled(values)}"]
    return found


def spelled(values: Any) -> str:
    if isinstance(values, range) and values.step > 0 and len(values) > 1:
        # A million seeds stay as short as LO..HI, and real parameters accept this form, too.
        values = Range(values[0], values[-1], len(values))
    if isinstance(values, Range):
        return str(values)
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    return ",".join(escaped(word(value)) for value in values)


def escaped(value: str) -> str:
    """Returns a value of a list with doubled backslashes before a comma or the end."""
    return re.sub(r"(\\*),", r"\1\1\,", re.sub(r"(\\+)\Z", r"\1\1", value))
