"""Makes the table and the sections of docs/claims.md from the stored results."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

from popflow.analysis import Estimate

from . import figures, protocols
from .claim import CLAIMS, Check, Claim, Number, by_verdict, verdict_in_line
from .papers import SOURCES
from .protocols import Protocol
from .results import Forms, Result, load

PLACE = Path(__file__).parent.parent / "docs" / "claims.md"
BEGIN, END = "<!-- made by scripts/claims -->", "<!-- end of what scripts/claims made -->"


def write() -> None:
    PLACE.write_text(page(PLACE.read_text()))


def page(before: str) -> str:
    """Returns the page `before` with new text between its two marks."""
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{table()}\n{sections()}\n{END}{tail}"


def table() -> str:
    lines = [cells("", "Claim", "One number", "Verdict", "Time", ""), cells(*["---"] * 6)]
    lines += [row(claim, load(claim.number)) for claim in ordered()]
    lines += [cells(str(number), one.claim, "", "Not measurable yet: what it takes is "
                    "[below](#claims-that-popflow-cannot-measure-yet)", "", "")
              for number, one in unmeasured()]
    return "\n".join(lines) + "\n"


def unmeasured() -> list[tuple[int, Protocol]]:
    """Returns the protocols of claims that need an extension of the program."""
    return [(number, one) for number in protocols.numbers()
            if number not in CLAIMS and (one := protocols.load(number)).needs]


def ordered() -> list[Claim]:
    return [CLAIMS[number] for number in sorted(CLAIMS)]


def best(forms: Forms) -> Result | None:
    """Returns the long form, if there is one, or the short form."""
    return forms.get("long", forms.get("short"))


def row(claim: Claim, forms: Forms) -> str:
    """Returns the claim's line of the table."""
    result = best(forms)
    link = f"[{claim.number}](#{anchor(claim)})"
    if result is None:
        return cells(link, claim.says, "", "Not measured yet", "", "")
    number = headline(claim, forms)
    return cells(link, claim.says, f"{value(number.found)}: {number.what}{at(number)}",
                 emphasised(verdict_in_line(together(forms), claim.conditions)), lasted(result),
                 thumbnail(claim))


def emphasised(said: str) -> str:
    """Sets the first words of a verdict in bold, such as "Holds in 9 of 10 conditions"."""
    return re.sub(r"^([\w ]+)", r"**\1**", said)


def headline(claim: Claim, forms: Forms) -> Number:
    """Returns the number for the claim's line. By default, or if no form has the number that the
    claim names, this is the first number that decides."""
    numbers = [number for form in ("long", "short") if form in forms
               for number in forms[form].numbers]
    for number in numbers:
        if claim.headline == (number.what, number.where) or \
                (not any(claim.headline) and isinstance(number, Check)):
            return number
    return next(number for number in numbers if isinstance(number, Check))


def thumbnail(claim: Claim) -> str:
    if not figures.tells_more(claim.number):
        return ""
    return (f'<img src="pictures/{figures.picture(claim.number)}" width="120" '
            f'alt="figure of claim {claim.number}">')


def cells(*texts: str) -> str:
    """Returns a row of a table. A | within a cell is escaped, since it would begin another cell."""
    return "".join("| " + text.replace("|", r"\|") + " " for text in texts) + "|"


def together(forms: Forms) -> list[Check]:
    """Returns the deciding numbers of the long form, and those of the short form for conditions
    that the long form lacks."""
    numbers: list[Check] = []
    for form in ("long", "short"):
        checks = [one for one in forms[form].numbers if isinstance(one, Check)] \
            if form in forms else []
        decided = {number.where for number in numbers}
        numbers += [check for check in checks if check.where not in decided]
    return numbers


def sections() -> str:
    parts, paper = [], ""
    for name in dict.fromkeys(claim.paper for claim in ordered()):
        paper = name
        parts.append(f"## {paper}\n")
        parts += [section(claim, load(claim.number)) for claim in ordered()
                  if claim.paper == paper]
    if unmeasured():
        parts.append("## Claims that popflow cannot measure yet\n")
        parts += [f"### {number}. {one.claim}\n\n{protocol_list(one, '')}\n"
                  for number, one in unmeasured()]
    return "\n".join([*parts, changes()])


def section(claim: Claim, forms: Forms) -> str:
    lines = [f"### {claim.number}. {claim.says}", "", f"`scripts/claims {claim.number}`"]
    if claim.experiments:
        lines[-1] += "; experiments: " + ", ".join(f"`{name}`" for name in claim.experiments)
    if forms:
        lines += ["", emphasised(verdict_in_line(together(forms), claim.conditions))]
    lines += ["", protocol_list(claim.protocol, SOURCES.get(claim.paper, ""))]
    if forms:
        shown = figures.description(claim.number, forms, together(forms))
        lines += ["", f"![{shown}](pictures/{figures.picture(claim.number)})"]
    if claim.remarks:
        lines += ["", inspect.cleandoc(claim.remarks)]
    for form, result in sorted(forms.items(), reverse=True):
        lines += ["", *conditions(form, result), "", "<details><summary>All numbers of the "
                  f"{form} form</summary>", ""]
        lines += [cells("Measured", "Condition", "Found", "Must be", ""), cells(*["---"] * 5)]
        lines += [cells(number.what, number.where, value(number.found), must(number), mark(number))
                  for number in result.numbers]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def protocol_list(protocol: Protocol, source: str) -> str:
    """Returns the protocol as a list in Markdown."""
    where = protocol.source or source
    parts = [("The paper says", protocol.paper + (f" (Source: {where})" if where else "")),
             ("Its settings", protocol.settings), ("Knobs", protocol.knobs),
             ("Rule", protocol.rule), ("Refuted by", protocol.refuted),
             ("What a measurement takes", protocol.needs)]
    return "\n".join(f"- *{words}*: {escaped(text)}" for words, text in parts if text)


def escaped(text: str) -> str:
    """Escapes the characters of a protocol that Markdown or HTML would take for markup. An
    underscore within a word, as in W_V, is none."""
    return re.sub(r"([*|<>\\]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def conditions(form: str, result: Result) -> list[str]:
    """Returns the verdict of a form with all its conditions."""
    said = by_verdict(result.numbers)
    title = f"{form.capitalize()} form, {lasted(result)}: "
    if len(said) == 1:
        return [f"{title}**{next(iter(said))}** under "
                f"{len(places)} {'condition' if len(places) == 1 else 'conditions'}."
                for places in said.values()]
    return [title, "", *(f"- **{words}**: {'; '.join(places)}" for words, places in said.items())]


def changes() -> str:
    """Lists claims whose verdict or rule has changed."""
    lines = ["## Changes of verdicts and rules, with reasons", ""]
    lines += [f"- [{number}]({f'#{anchor(CLAIMS[number])}'}): {escaped(text)}"
              for number in sorted(CLAIMS) if (text := CLAIMS[number].protocol.changed)]
    return "\n".join(lines) + "\n"


def anchor(claim: Claim) -> str:
    """Returns the anchor that GitHub makes of a heading."""
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


def lasted(result: Result) -> str:
    seconds = result.seconds
    said = f"{seconds:.0f} s" if seconds >= 0.5 else "under 1 s"
    if seconds >= 90:
        said = f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
    return said if result.processor else f"{said} elapsed"
