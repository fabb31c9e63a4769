"""Texts of the claims: the protocol that says how a claim is decided, and what was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Protocol:
    """Rule by which a claim is decided, with its sources and settings (claims/protocols)."""

    #: The paper's statement, paraphrased.
    paper: str = ""
    #: Section, figure or answer that states the claim; empty: the paper's general source.
    source: str = ""
    #: The paper's sizes, rates and data.
    settings: str = ""
    #: Choices that may decide the verdict, including those that the paper prescribes.
    knobs: str = ""
    rule: str = ""
    #: The outcome that refutes the claim.
    refuted_by: str = ""
    #: Chance that the rule decides at a plausible true value.
    power: str = ""
    #: The verdict before this rule and the reason for the change; empty: no change.
    changed: str = ""
    #: Short statement of a claim that has no measurement.
    claim: str = ""
    #: Extension of the program that a measurement would need.
    needs: str = ""

    #: Parts that every protocol has.
    REQUIRED = ("paper", "settings", "knobs", "rule", "refuted_by")

    def missing(self) -> list[str]:
        """Headings of the required parts that are empty."""
        return [heading(name) for name in self.REQUIRED if not getattr(self, name)]


@dataclass(frozen=True)
class Finding:
    """What the measurement of a claim says (claims/findings). Expressions in braces, such as
    {what @ condition}, stand for stored numbers."""

    #: The number of the claim's line in the table: what @ condition.
    number: str = ""
    #: Patterns of the conditions that have the paper's settings, separated by semicolons.
    setting: str = ""
    #: "open" or "not testable", and why, if the paper's settings decide nothing.
    left: str = ""
    #: Patterns of conditions outside the claim, which show what its assumptions do.
    controls: str = ""
    #: Where the claim breaks, in a line.
    breaks: str = ""
    found: str = ""
    #: Questions that a referee would still ask.
    referee: str = ""

    def in_setting(self, condition: str) -> bool:
        return matches(self.setting, condition)

    def is_control(self, condition: str) -> bool:
        return matches(self.controls, condition)


def matches(patterns: str, condition: str) -> bool:
    return any(re.fullmatch(one.strip(), condition) for one in patterns.split(";") if one.strip())


def heading(name: str) -> str:
    return name.replace("_", " ").capitalize()


def place(kind: str, number: int) -> Path:
    return FOLDER / kind / f"{number:02}.txt"


def protocol(number: int) -> Protocol:
    """Reads a protocol. Throws `ValueError` if a line belongs to no known part."""
    return Protocol(**parts_of(place("protocols", number), Protocol))


def finding(number: int) -> Finding:
    return Finding(**parts_of(place("findings", number), Finding))


def numbers() -> list[int]:
    """Numbers of all protocols, in order."""
    return sorted(int(path.stem) for path in (FOLDER / "protocols").glob("[0-9]*.txt"))


def parts_of(path: Path, kind: type[Protocol] | type[Finding]) -> dict[str, str]:
    names = [field.name for field in fields(kind)]
    return parse(path.read_text(), names) if path.exists() else {}


def parse(text: str, names: Sequence[str]) -> dict[str, str]:
    """Parses a text in parts. A part begins with a heading and a colon; its further lines are
    indented."""
    by_heading = {heading(name): name for name in names}
    parts: dict[str, list[str]] = {}
    current = ""
    for line in text.splitlines():
        head, colon, rest = line.partition(":")
        if not line.startswith(" ") and colon and head in by_heading:
            current = by_heading[head]
            if current in parts:
                raise ValueError(f"the text has two parts {head!r}; merge them")
            parts[current] = [rest.strip()]
        elif line.startswith(" ") and current:
            parts[current].append(line.strip())
        elif line.strip():
            raise ValueError(f"the line {line!r} belongs to no part; begin it with one of "
                             f"{', '.join(by_heading)}, or indent it")
    return {name: " ".join(lines).strip() for name, lines in parts.items()}
