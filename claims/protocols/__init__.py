"""Protocols of the claims, each written and committed before the claim is measured."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

FOLDER = Path(__file__).parent
#: Heading of each part in a file, by the field that it fills.
HEADINGS = {"paper": "Paper", "source": "Source", "settings": "Settings", "knobs": "Knobs",
            "rule": "Rule", "refuted": "Refuted by", "changed": "Changed", "claim": "Claim",
            "needs": "Needs"}
#: Parts that every protocol has.
REQUIRED = ("paper", "settings", "knobs", "rule", "refuted")


@dataclass(frozen=True)
class Protocol:
    """Rule by which a claim is decided, with its sources and settings."""

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
    refuted: str = ""
    #: The verdict before this rule and the reason for the change; empty: no change.
    changed: str = ""
    #: Short statement of a claim that has no measurement.
    claim: str = ""
    #: Extension of the program that a measurement would need.
    needs: str = ""

    def missing(self) -> list[str]:
        """Headings of the required parts that are empty."""
        return [HEADINGS[name] for name in REQUIRED if not getattr(self, name)]


def place(number: int) -> Path:
    return FOLDER / f"{number:02}.txt"


def load(number: int) -> Protocol:
    """Reads a protocol. Throws `ValueError` if a line belongs to no known part."""
    return parse(place(number).read_text()) if place(number).exists() else Protocol()


def numbers() -> list[int]:
    """Numbers of all protocols, in order."""
    return sorted(int(path.stem) for path in FOLDER.glob("[0-9]*.txt"))


def parse(text: str) -> Protocol:
    """Parses a protocol. A part begins with a heading and a colon; its further lines are
    indented."""
    names = {heading: name for name, heading in HEADINGS.items()}
    parts: dict[str, list[str]] = {}
    current = ""
    for line in text.splitlines():
        heading, colon, rest = line.partition(":")
        if not line.startswith(" ") and colon and heading in names:
            current = names[heading]
            if current in parts:
                raise ValueError(f"the protocol has two parts {heading!r}; merge them")
            parts[current] = [rest.strip()]
        elif line.startswith(" ") and current:
            parts[current].append(line.strip())
        elif line.strip():
            raise ValueError(f"the protocol's line {line!r} belongs to no part; begin it with one "
                             f"of {', '.join(names)}, or indent it")
    known = {field.name for field in fields(Protocol)}
    return Protocol(**{name: " ".join(lines).strip() for name, lines in parts.items()
                       if name in known})
