"""Makes docs/claims.md, a page for each claim in docs/claims, and tables of all numbers."""

from __future__ import annotations

import csv
import inspect
import io
import math
import re
from pathlib import Path

from popflow.analysis import Estimate

from . import figures, texts
from .claim import CLAIMS, Check, Claim, Number, by_verdict, near
from .papers import OWN, SOURCES
from .results import Forms, Result, load
from .texts import Protocol

DOCS = Path(__file__).parent.parent / "docs"
PLACE = DOCS / "claims.md"
#: Pages of the claims, and tables of their numbers.
PAGES = DOCS / "claims"
BEGIN, END = "<!-- made by scripts/claims -->", "<!-- end of what scripts/claims made -->"
#: Word of the table for each verdict on the conditions of the paper's settings.
WORDS = {"holds": "holds", "does not hold": "fails", "undecided": "open"}


def write() -> None:
    PAGES.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text)


def files() -> dict[Path, str]:
    """Returns the text of every file that is made from the stored numbers."""
    made = {PLACE: page(PLACE.read_text())}
    for claim in ordered():
        forms = load(claim.number)
        made[PAGES / f"{claim.number:02}.md"] = claim_page(claim, forms)
        made[PAGES / f"{claim.number:02}.csv"] = numbers_table(claim, forms)
    return made


def page(before: str) -> str:
    """Returns the page `before` with new text between its two marks."""
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables()}\n{multiplicity()}\n{END}{tail}"


def ordered() -> list[Claim]:
    """Returns the claims of the papers, and then our own questions."""
    return [CLAIMS[number] for number in sorted(CLAIMS, key=lambda one: (
        CLAIMS[one].paper == OWN, one))]


# ---- the tables

def tables() -> str:
    """Returns a table for each paper."""
    parts = []
    for paper in dict.fromkeys(claim.paper for claim in ordered()):
        parts += [f"## {paper}", "",
                  cells("", "Claim", "Verdict", "One number there", "Where it breaks", ""),
                  cells(*["---"] * 6),
                  *(row(claim, load(claim.number)) for claim in ordered() if claim.paper == paper),
                  ""]
    parts += ["## Claims that popflow cannot measure", "", cells("", "Claim", "What it takes"),
              cells(*["---"] * 3),
              *(cells(str(number), one.claim, escaped(one.needs)) for number, one in unmeasured()),
              ""]
    return "\n".join(parts)


def unmeasured() -> list[tuple[int, Protocol]]:
    """Returns the protocols of claims that need an extension of the program."""
    return [(number, one) for number in texts.numbers()
            if number not in CLAIMS and (one := texts.protocol(number)).needs]


def row(claim: Claim, forms: Forms) -> str:
    """Returns the claim's line of the table."""
    link = f"[{claim.number}](claims/{claim.number:02}.md)"
    number = headline(claim, forms)
    return cells(link, claim.says, f"**{word(claim, forms)}**",
                 f"{exact(number)}: {number.what} ({number.where})",
                 filled(claim.finding.breaks, forms), thumbnail(claim, forms))


def headline(claim: Claim, forms: Forms) -> Number:
    """Returns the number of the claim's line, which has the paper's settings."""
    return stored(*claim.finding.number.split(" @ "), forms)


def word(claim: Claim, forms: Forms) -> str:
    """Returns the verdict at the paper's settings in one word."""
    if claim.finding.left:
        return claim.finding.left.partition(":")[0]
    said = by_verdict(one for one in checks(forms) if claim.finding.in_setting(one.where))
    return WORDS[next((verdict for verdict in ("does not hold", "undecided", "holds")
                       if verdict in said), "undecided")]


def checks(forms: Forms) -> list[Check]:
    """Returns the numbers that decide, of both forms."""
    return [one for form in ("long", "short") if form in forms for one in forms[form].numbers
            if isinstance(one, Check)]


def decisive(claim: Claim, forms: Forms) -> list[Check]:
    """Returns the numbers that decide the claim itself, without controls."""
    return [one for one in checks(forms) if not claim.finding.is_control(one.where)]


def thumbnail(claim: Claim, forms: Forms) -> str:
    said = "; ".join(f"{name.lower()}: " + ", ".join(f"{len(places)} {WORDS[words]}"
                                                     for words, places in verdicts.items())
                     for name, verdicts in by_part(claim, forms).items() if verdicts)
    return (f'<img src="pictures/{figures.picture(claim.number, small=True)}" '
            f'alt="verdicts by condition, {said}">')


def cells(*contents: str) -> str:
    """Returns a row of a table. A | within a cell is escaped, since it would begin another cell."""
    return "".join("| " + text.replace("|", r"\|") + " " for text in contents) + "|"


def filled(text: str, forms: Forms) -> str:
    """Returns a text in which stored numbers replace the expressions {what @ condition}."""
    return re.sub(r"\{(.*?) @ (.*?)\}", lambda at: exact(stored(at[1], at[2], forms)), text)


def stored(what: str, where: str, forms: Forms) -> Number:
    for form in ("long", "short"):
        for number in forms[form].numbers if form in forms else ():
            if (number.what, number.where) == (what, where):
                return number
    raise KeyError(f"no result has the number {what!r} under the condition {where!r}; take one of "
                   f"the names in the claim's file in docs/claims")


def exact(number: Number) -> str:
    """Returns a number with its 95% interval, if it has one."""
    low, high = number.interval()
    at = float(number.found.value if isinstance(number.found, Estimate) else number.found)
    return f"{at:.3g} [{low:.3g}, {high:.3g}]" if has_interval(number) else f"{at:.3g}"


def has_interval(number: Number) -> bool:
    """Tells whether a number has a standard error. A quantity that is not a number has none."""
    low, high = number.interval()
    return low < high


def multiplicity() -> str:
    """Says how many conditions are decided, and how many wrong decisions are to be expected."""
    every = [(claim, one) for claim in ordered() for one in decisive(claim, load(claim.number))]
    conditions = {(claim.number, one.where) for claim, one in every}
    intervals = [(claim, one) for claim, one in every if has_interval(one)]
    decided = [(claim, one) for claim, one in intervals if one.holds() is not None]
    marked = [(claim, one) for claim, one in decided if near(one)]
    by_claim = {claim.number: sum(claim is other for other, _ in marked) for claim, _ in marked}
    return "\n".join([
        "## Many decisions", "",
        f"There are {len(conditions)} conditions without controls, and {len(every)} numbers decide "
        f"them. {len(intervals)} of these numbers have an interval, and {len(decided)} of them are "
        "decided. An interval of 95% excludes a true value that lies just at the bound with a "
        "chance of 2.5% on either side. So if every true value lay at its bound, about "
        f"{0.025 * len(intervals):.1f} of the decisions would be a wrong \"does not hold\". Most "
        f"lie far from it: {len(marked)} decisions are within 3.7 standard errors of their bound. "
        "The tables of numbers mark these as \"near the bound\" (decisions by claim: " +
        ", ".join(f"[{number}](claims/{number:02}.md): {count}"
                  for number, count in sorted(by_claim.items())) + ").", ""])


# ---- the page of a claim

def claim_page(claim: Claim, forms: Forms) -> str:
    found, protocol = claim.finding, claim.protocol
    here = "Verdict" if claim.paper == OWN else "At the paper's settings"
    lines = [f"# {claim.number}. {claim.says}", "",
             f"{claim.paper}. {here}: "
             f"**{word(claim, forms)}**"
             f"{'. ' + found.left.partition(': ')[2] if found.left else ''}.", "",
             f"- *Command*: `scripts/claims {claim.number}`; time: {times(forms)}",
             f"- *Numbers*: [{claim.number:02}.csv]({claim.number:02}.csv), all with their bounds"]
    if claim.experiments:
        lines.append("- *Experiments*: " + ", ".join(f"`{name}`" for name in claim.experiments))
    lines += ["", "## The claim and its protocol", "",
              protocol_list(protocol, SOURCES.get(claim.paper, "")), "",
              f"![{figures.description(claim.number, forms)}]"
              f"(../pictures/{figures.picture(claim.number)})", "",
              "## Findings", "", filled(found.found, forms), "",
              f"*Where it breaks*: {filled(found.breaks, forms)}", "",
              f"*A referee would still ask*: {filled(found.referee, forms)}", "",
              "## Verdicts by condition", "", *conditions(claim, forms), "",
              "## Measurement in detail", "", inspect.cleandoc(claim.how)]
    # Texts are written for docs/claims.md.
    return "\n".join(lines).replace("](scb-claims", "](../scb-claims") + "\n"


def protocol_list(protocol: Protocol, source: str) -> str:
    """Returns the protocol as a list in Markdown."""
    where = protocol.source or source
    parts = [("The paper says", protocol.paper + (f" (Source: {where})" if where else "")),
             ("Its settings", protocol.settings), ("Knobs", protocol.knobs),
             ("Rule", protocol.rule), ("Refuted by", protocol.refuted_by),
             ("Power of the rule", protocol.power), ("Changes of the rule", protocol.changed)]
    return "\n".join(f"- *{words}*: {escaped(text)}" for words, text in parts if text)


def escaped(text: str) -> str:
    """Escapes the characters of a protocol that Markdown or HTML would take for markup. An
    underscore within a word, as in W_V, is none."""
    return re.sub(r"([*|<>\\]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def conditions(claim: Claim, forms: Forms) -> list[str]:
    """Lists the conditions by verdict: those of the paper's settings, others, and controls."""
    return [f"- {name}, **{words}** ({len(places)}): {escaped('; '.join(places))}"
            for name, said in by_part(claim, forms).items() for words, places in said.items()]


def by_part(claim: Claim, forms: Forms) -> dict[str, dict[str, list[str]]]:
    """Returns the conditions with each verdict, for each part that they have in the claim."""
    found = claim.finding
    own = "Conditions" if claim.paper == OWN else "The paper's settings"
    groups = {own: found.in_setting,
              "Other settings": lambda where: not (found.in_setting(where) or
                                                   found.is_control(where)),
              "Controls": found.is_control}
    return {name: by_verdict(one for one in checks(forms) if belongs(one.where))
            for name, belongs in groups.items()}


def numbers_table(claim: Claim, forms: Forms) -> str:
    """Returns all numbers of a claim as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["form", "condition", "measured", "value", "standard error", "low", "high",
                     "least", "most", "verdict", "near the bound", "part"])
    for form, result in sorted(forms.items(), reverse=True):
        for one in result.numbers:
            low, high = one.interval()
            value, error = (one.found.value, one.found.error) \
                if isinstance(one.found, Estimate) else (one.found, "")
            bounds = [bound if math.isfinite(bound) else "" for bound in (one.least, one.most)] \
                if isinstance(one, Check) else ["", ""]
            writer.writerow([form, one.where, one.what, *map(short, (value, error, low, high)),
                             *bounds, mark(one), "yes" if near(one) else "", part(claim, one)])
    return text.getvalue()


def part(claim: Claim, number: Number) -> str:
    """Tells which part a number has in the verdict."""
    if not isinstance(number, Check):
        return "reported"
    found = claim.finding
    return ("paper's setting" if found.in_setting(number.where) else
            "control" if found.is_control(number.where) else "other setting")


def short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


# ---- words for numbers

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


def times(forms: Forms) -> str:
    return ", ".join(f"{lasted(result)} ({form} form)"
                     for form, result in sorted(forms.items(), reverse=True))


def lasted(result: Result) -> str:
    seconds = result.seconds
    said = f"{seconds:.0f} s" if seconds >= 0.5 else "under 1 s"
    if seconds >= 90:
        said = f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
    return said if result.processor else f"{said} elapsed"
