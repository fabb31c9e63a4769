"""A claim: a sentence of a paper, the numbers that test it, and what each number must be.

The verdict follows from the numbers; nobody writes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from popflow.analysis import Estimate


@dataclass(frozen=True)
class Number:
    """Something measured, told for what it says, without deciding anything.

    `what` is measured, `found` is its value (an Estimate where it has an error), `where` the
    condition that it belongs to, such as "B = 64" or "softmax attention".
    """

    what: str
    found: float | Estimate
    where: str = ""

    def interval(self) -> tuple[float, float]:
        """Where the true value is, at 95%."""
        if isinstance(self.found, Estimate) and math.isfinite(self.found.error):
            low, high = self.found.interval()
            return float(low), float(high)
        value = float(self.found.value if isinstance(self.found, Estimate) else self.found)
        return value, value


@dataclass(frozen=True)
class Check(Number):
    """A number that decides: the claim holds where it lies between `least` and `most`."""

    least: float = -math.inf
    most: float = math.inf

    def holds(self) -> bool | None:
        """None: its interval reaches over the boundary, so it decides nothing."""
        low, high = self.interval()
        if math.isnan(low) or high < self.least or low > self.most:
            return False
        return True if self.least <= low and high <= self.most else None


def verdict(numbers: Iterable[Number]) -> str:
    """Whether the claim holds and, where conditions differ, under which."""
    conditions: dict[str, list[bool | None]] = {}
    for number in numbers:
        if isinstance(number, Check):
            conditions.setdefault(number.where, []).append(number.holds())
    found = {"holds": [where for where, all_of in conditions.items() if all(all_of)],
             "does not hold": [where for where, all_of in conditions.items() if False in all_of],
             "undecided": [where for where, all_of in conditions.items()
                           if False not in all_of and None in all_of]}
    said = {words: places for words, places in found.items() if places}
    if len(said) == 1:
        return next(iter(said))
    return "; ".join(f"{words}: {', '.join(place or 'otherwise' for place in places)}"
                     for words, places in said.items())


Measure = Callable[[bool], list[Number]]


@dataclass(frozen=True)
class Claim:
    number: int
    paper: str
    says: str               # in the paper's terms
    measure: Measure        # its numbers; True: at the paper's sizes, which may take hours
    experiments: Sequence[str] = ()  # those of `popflow experiments` that show it, too
    picture: str = ""       # a file in docs/pictures
    #: Whether the long form measures more than the short one.
    has_long: bool = False
    remarks: str = field(default="", compare=False)


CLAIMS: dict[int, Claim] = {}


def claim(number: int, paper: str, says: str, *, experiments: Sequence[str] = (),
          picture: str = "", has_long: bool = False) -> Callable[[Measure], Measure]:
    """Enters a function that measures into the register. Its docstring is printed beside the
    numbers: how the claim is tested, and what comes out."""

    def enter(measure: Measure) -> Measure:
        if number in CLAIMS:
            raise ValueError(f"claim {number} is there twice")
        CLAIMS[number] = Claim(number, paper, says, measure, experiments, picture, has_long,
                               measure.__doc__ or "")
        return measure

    return enter
