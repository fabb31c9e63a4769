"""docs/claims.md: its table and sections are made from what was measured."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

from popflow.analysis import Estimate

from .claim import CLAIMS, Check, Claim, Number, verdict
from .results import Forms, Result, load

PLACE = Path(__file__).parent.parent / "docs" / "claims.md"
BEGIN, END = "<!-- made by scripts/claims -->", "<!-- end of what scripts/claims made -->"


def write() -> None:
    PLACE.write_text(page(PLACE.read_text()))


def page(before: str) -> str:
    """The page `before`, with what lies between the marks made anew."""
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{table()}\n{sections()}\n{END}{tail}"


def table() -> str:
    lines = [cells("", "claim", "found", "verdict", "time"), cells(*["---"] * 5)]
    lines += [row(claim, load(claim.number)) for claim in ordered()]
    return "\n".join(lines) + "\n"


def ordered() -> list[Claim]:
    return [CLAIMS[number] for number in sorted(CLAIMS)]


def best(forms: Forms) -> Result | None:
    """The long form, if it was run."""
    return forms.get("long", forms.get("short"))


def row(claim: Claim, forms: Forms) -> str:
    result = best(forms)
    link = f"[{claim.number}](#{anchor(claim)})"
    if result is None:
        return cells(link, claim.says, "not measured", "", "")
    first = [f"{number.what}{at(number)}: {value(number.found)}" for number in telling(result)]
    return cells(link, claim.says, "; ".join(first), f"**{verdict(together(forms))}**",
                 lasted(result.seconds))


def cells(*texts: str) -> str:
    """A row of a table. A | within a cell would begin another."""
    return "".join("| " + text.replace("|", r"\|") + " " for text in texts) + "|"


def together(forms: Forms) -> list[Number]:
    """What decides in the long form, and under the conditions that only the short one has."""
    numbers: list[Number] = []
    for form in ("long", "short"):
        checks = [one for one in forms[form].numbers if isinstance(one, Check)] \
            if form in forms else []
        decided = {number.where for number in numbers}
        numbers += [check for check in checks if check.where not in decided]
    return numbers


def telling(result: Result) -> list[Number]:
    """What decides, or as much of it as a row has room for."""
    checks: list[Number] = [number for number in result.numbers if isinstance(number, Check)]
    return checks[:3]


def sections() -> str:
    parts, paper = [], ""
    for claim in ordered():
        if claim.paper != paper:
            paper = claim.paper
            parts.append(f"## {paper}\n")
        parts.append(section(claim, load(claim.number)))
    return "\n".join(parts)


def section(claim: Claim, forms: Forms) -> str:
    lines = [f"### {claim.number}. {claim.says}", "", f"`scripts/claims {claim.number}`"]
    if claim.experiments:
        lines[-1] += "; experiments: " + ", ".join(f"`{name}`" for name in claim.experiments)
    if claim.picture:
        lines += ["", f"![{claim.says}](pictures/{claim.picture})"]
    if claim.remarks:
        lines += ["", inspect.cleandoc(claim.remarks)]
    for form, result in sorted(forms.items(), reverse=True):
        lines += ["", f"{form.capitalize()} form, {lasted(result.seconds)}: "
                      f"**{result.verdict()}**.", ""]
        lines += [cells("measured", "where", "found", "must be", ""), cells(*["---"] * 5)]
        lines += [cells(number.what, number.where, value(number.found), must(number), mark(number))
                  for number in result.numbers]
    return "\n".join(lines) + "\n"


def anchor(claim: Claim) -> str:
    """As GitHub makes it of a heading."""
    heading = f"{claim.number}. {claim.says}".lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def at(number: Number) -> str:
    return f" ({number.where})" if number.where else ""


def value(found: float | Estimate) -> str:
    return str(found) if isinstance(found, Estimate) else f"{found:.4g}"


def must(number: Number) -> str:
    if not isinstance(number, Check):
        return ""
    if math.isinf(number.least):
        return f"at most {number.most:g}"
    if math.isinf(number.most):
        return f"at least {number.least:g}"
    if number.least == number.most:
        return f"{number.least:g}"
    return f"between {number.least:g} and {number.most:g}"


def mark(number: Number) -> str:
    if not isinstance(number, Check):
        return ""
    return {True: "holds", False: "does not hold", None: "undecided"}[number.holds()]


def lasted(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
