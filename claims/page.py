"""docs/claims.md: its table and sections are made from what was measured."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

from popflow.analysis import Estimate

from .claim import CLAIMS, Check, Claim, Number
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
    lines = ["| | claim | found | verdict | time |", "| --- | --- | --- | --- | --- |"]
    lines += [row(claim, load(claim.number)) for claim in ordered()]
    return "\n".join(lines) + "\n"


def ordered() -> list[Claim]:
    return [CLAIMS[number] for number in sorted(CLAIMS)]


def best(forms: Forms) -> Result | None:
    """The long form, if it was run."""
    return forms.get("long", forms.get("short"))


def row(claim: Claim, forms: Forms) -> str:
    result = best(forms)
    says = f"[{claim.number}](#{anchor(claim)}) | {claim.says}"
    if result is None:
        return f"| {says} | not measured | | |"
    first = [f"{number.what}{at(number)}: {value(number.found)}" for number in telling(result)]
    return f"| {says} | {'; '.join(first)} | {verdicts(forms)} | {lasted(result.seconds)} |"


def verdicts(forms: Forms) -> str:
    """That of the best form, and what the short one says else: its settings are others."""
    said = {form: result.verdict() for form, result in forms.items()}
    if "long" not in said or said["long"] == said.get("short", said["long"]):
        return f"**{said.get('long', said.get('short'))}**"
    return f"**{said['long']}**; the short form: {said['short']}"


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
        lines += ["| measured | where | found | must be | |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| {number.what} | {number.where} | {value(number.found)} | {must(number)} | "
                  f"{mark(number)} |" for number in result.numbers]
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
