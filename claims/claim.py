"""A claim: a sentence of a paper, the numbers that test it, and the bounds of each number.

The verdict is computed from the numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from popflow.analysis import Estimate

from . import texts

#: Names of probabilities that are counted.
SHARE = re.compile(r"share of (?:the |decided )?(?:runs|draws|starts)\b")


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
        """Returns the interval that contains the true value with 95% confidence. That of a share
        stays between 0 and 1."""
        if isinstance(self.found, Estimate) and math.isfinite(self.found.error):
            low, high = self.found.interval()
            if SHARE.match(self.what):
                low, high = max(low, 0.0), min(high, 1.0)
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


def near(number: Number) -> bool:
    """Tells whether an interval decides although its middle is within 3.7 standard errors of a
    bound. Beyond that distance even one of a few hundred decisions is hardly wrong."""
    if not isinstance(number, Check) or number.holds() is None or \
            not isinstance(number.found, Estimate) or not math.isfinite(number.found.error):
        return False
    value, error = float(number.found.value), float(number.found.error)
    return min(abs(value - number.least), abs(value - number.most)) <= 3.7 * error


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
    #: What differs between the short and the long form, such as ("8 draws", "24 draws"). It is a
    #: part of the name of every condition. Empty strings: the names differ already.
    forms: tuple[str, ...] = ()
    #: Whether it builds models by popflow.model, which takes CasADi (scripts/setup --models).
    models: bool = False
    #: How the claim is measured.
    how: str = field(default="", compare=False)

    @property
    def has_long(self) -> bool:
        """Tells whether a long form measures more than the short one."""
        return bool(self.forms)

    def numbers(self, long: bool) -> list[Number]:
        """Measures the claim in its short or long form."""
        return named(self.measure(long), self.forms[long] if self.forms else "")

    @property
    def protocol(self) -> texts.Protocol:
        """Protocol by which the claim is decided (claims/protocols)."""
        return texts.protocol(self.number)

    @property
    def finding(self) -> texts.Finding:
        """What was found (claims/findings)."""
        return texts.finding(self.number)


def named(numbers: Iterable[Number], form: str) -> list[Number]:
    """Appends to each condition what distinguishes a form."""
    return [replace(one, where=f"{one.where} ({form})".strip()) if form else one
            for one in numbers]


CLAIMS: dict[int, Claim] = {}


def claim(number: int, paper: str, says: str, *, experiments: Sequence[str] = (),
          forms: tuple[str, ...] = (), models: bool = False) -> Callable[[Measure], Measure]:
    """Registers a function that measures a claim. Its docstring says how, and is printed on the
    claim's page."""
    def enter(measure: Measure) -> Measure:
        if number in CLAIMS:
            raise ValueError(f"claim {number} is registered twice; give one of the two another "
                             f"number")
        CLAIMS[number] = Claim(number, paper, says, measure, experiments, forms,
                               models, measure.__doc__ or "")
        return measure

    return enter
