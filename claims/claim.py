"""A claim: a sentence of a paper, the numbers that test it, and the bounds of each number.

The verdict is computed from the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from popflow.analysis import Estimate

from . import protocols
from .protocols import Protocol


@dataclass(frozen=True)
class Number:
    """A measured number that is reported but decides nothing.

    `what` names the quantity and `found` is its value (an Estimate if it has an error). `where` is
    the condition to which it belongs, such as "B = 64" or "softmax attention".
    """

    what: str
    found: float | Estimate
    where: str = ""

    def interval(self) -> tuple[float, float]:
        """Returns the interval that contains the true value with 95% confidence."""
        if isinstance(self.found, Estimate) and math.isfinite(self.found.error):
            low, high = self.found.interval()
            return float(low), float(high)
        value = float(self.found.value if isinstance(self.found, Estimate) else self.found)
        return value, value


@dataclass(frozen=True)
class Check(Number):
    """A number that decides: the claim holds if the number lies between `least` and `most`."""

    least: float = -math.inf
    most: float = math.inf

    def holds(self) -> bool | None:
        """Tells whether the number is within its bounds. None if its interval contains a bound."""
        low, high = self.interval()
        if math.isnan(low) or high < self.least or low > self.most:
            return False
        return True if self.least <= low and high <= self.most else None


VERDICTS = ("holds", "does not hold", "undecided")


def by_verdict(numbers: Iterable[Number]) -> dict[str, list[str]]:
    """Returns the conditions with each verdict, without verdicts that no condition has."""
    conditions: dict[str, list[bool | None]] = {}
    for number in numbers:
        if isinstance(number, Check):
            conditions.setdefault(number.where, []).append(number.holds())
    found: dict[str, list[str]] = {words: [] for words in VERDICTS}
    for where, all_of in conditions.items():
        found["holds" if all(all_of) else "does not hold" if False in all_of else
              "undecided"].append(where or "otherwise")
    return {words: places for words, places in found.items() if places}


def verdict(numbers: Iterable[Number]) -> str:
    """Returns the verdict and, where conditions differ, the conditions of each verdict."""
    said = by_verdict(numbers)
    if len(said) == 1:
        return next(iter(said))
    return "; ".join(f"{words}: {', '.join(places)}" for words, places in said.items())


#: Number of conditions that a line of the table may name.
NAMED = 3


def verdict_in_line(numbers: Iterable[Number], chosen: Sequence[str] = ()) -> str:
    """Returns the verdict for a line of the table; `sentences` chooses the conditions it names."""
    return sentences(by_verdict(numbers), chosen)


def sentences(said: dict[str, list[str]], chosen: Sequence[str] = ()) -> str:
    """Returns verdicts in short sentences, such as "Holds in 9 of 10 conditions. Not: N = 3."

    Names at most three conditions. These are the exceptions to the commonest verdict. If there are
    more than three, the conditions in `chosen` come first, then those with the rarest verdicts."""
    if len(said) < 2:
        return next(iter(said), "no number decides").capitalize()
    said = {words: said[words] for words in VERDICTS if words in said}
    count = sum(map(len, said.values()))
    commonest = max(said, key=lambda words: len(said[words]))
    places = [(words, place) for words in sorted(said, key=lambda words: len(said[words]))
              for place in said[words] if count <= NAMED or words != commonest]
    if len(places) > NAMED:
        places = [(words, place) for words, some in said.items() for place in some]
        places.sort(key=lambda one: (one[1] not in chosen, len(said[one[0]])))
    named = places[:NAMED]
    parts = []
    for words, all_of in said.items():
        some = [place for place in all_of if (words, place) in named]
        start = words.capitalize() if words != "does not hold" or not parts else "Not"
        whole = f" of {count} conditions" if not parts else ""
        if count <= NAMED or (parts and some == all_of):
            parts.append(f"{start}: {'; '.join(some)}.")
        else:
            mark = ": " if some == all_of else ", such as " if some else ""
            parts.append(f"{start} in {len(all_of)}{whole}{mark}{'; '.join(some)}.")
    return " ".join(parts)


Measure = Callable[[bool], list[Number]]


@dataclass(frozen=True)
class Claim:
    number: int
    paper: str
    #: The claim in the paper's terms.
    says: str
    #: Returns the numbers; with True at the paper's sizes, which may take hours.
    measure: Measure
    #: Experiments of `popflow experiments` that show the claim, too.
    experiments: Sequence[str] = ()
    #: Whether the long form measures more than the short one.
    has_long: bool = False
    remarks: str = field(default="", compare=False)
    #: Name and condition of the number that the table shows. Default: the first that decides.
    headline: tuple[str, str] = ("", "")
    #: Conditions that the table names first if there are more exceptions than it can name.
    conditions: Sequence[str] = ()

    @property
    def protocol(self) -> Protocol:
        """Protocol by which the claim is decided (claims/protocols)."""
        return protocols.load(self.number)


CLAIMS: dict[int, Claim] = {}


def claim(number: int, paper: str, says: str, *, experiments: Sequence[str] = (),
          has_long: bool = False, headline: tuple[str, str] = ("", ""),
          conditions: Sequence[str] = ()) -> Callable[[Measure], Measure]:
    """Registers a function that measures a claim. Its docstring is printed with the numbers; it
    says how the claim is tested and with what result. The protocol is the file in claims/protocols
    with the claim's number."""
    if len(conditions) > NAMED:
        raise ValueError(f"claim {number} names {len(conditions)} conditions for the table; a line "
                         f"has room for {NAMED}")

    def enter(measure: Measure) -> Measure:
        if number in CLAIMS:
            raise ValueError(f"claim {number} is registered twice; give one of the two another "
                             f"number")
        CLAIMS[number] = Claim(number, paper, says, measure, experiments, has_long,
                               measure.__doc__ or "", headline, conditions)
        return measure

    return enter
