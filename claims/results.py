"""Stored results of measurements, one file for each claim. The pages in docs are made from
them."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from popflow.analysis import Estimate

from .claim import Check, Number, by_verdict, verdict

FOLDER = Path(__file__).with_name("results")
Forms = dict[str, "Result"]  # keys: "short" and "long"


@dataclass(frozen=True)
class Result:
    """Numbers of one claim and the time that the measurement took."""

    numbers: list[Number]
    seconds: float
    #: Whether the time is processor time, summed over all cores, and not elapsed time.
    processor: bool = False

    def verdict(self) -> str:
        return verdict(self.numbers)

    def agrees(self, other: Result) -> bool:
        """Tells whether every condition has the verdict that it has in the other result."""
        one, two = ({words: sorted(places) for words, places in by_verdict(each.numbers).items()}
                    for each in (self, other))
        return one == two


def load(number: int) -> Forms:
    """Returns the stored forms of a claim."""
    return {form: Result([number_from(row) for row in result["numbers"]], result["seconds"],
                         result.get("processor", False))
            for form, result in stored(number).items()}


def keep(number: int, form: str, result: Result) -> None:
    """Stores one form of a claim. The file is replaced as a whole, so that it is never
    incomplete."""
    forms = stored(number)
    forms[form] = {"seconds": round(result.seconds, 1), "processor": result.processor,
                   "numbers": [row_of(one) for one in result.numbers]}
    new = place(number).with_suffix(".new")
    new.write_text(spread(forms, 3) + "\n")
    os.replace(new, place(number))


def spread(value: Any, levels: int) -> str:
    """Returns JSON in which the outer levels have a line for each member, and every record below
    them has one line."""
    if levels == 0 or not value or not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    if isinstance(value, list):
        return "[\n" + ",\n".join(spread(one, levels - 1) for one in value) + "\n]"
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {spread(of, levels - 1)}"
                              for name, of in sorted(value.items())) + "\n}"


def place(number: int) -> Path:
    return FOLDER / f"{number:02}.json"


def stored(number: int) -> dict[str, Any]:
    return json.loads(place(number).read_text()) if place(number).exists() else {}


def row_of(number: Number) -> dict[str, Any]:
    row = asdict(number)
    if isinstance(number.found, Estimate):
        row["found"] = {name: float(value) for name, value in row["found"].items()}
    else:
        row["found"] = float(number.found)
    row["decides"] = isinstance(number, Check)
    return plain(row)


def plain(value: Any) -> Any:
    """Returns infinities and NaN as words, since JSON has neither."""
    if isinstance(value, dict):
        return {name: plain(of) for name, of in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def number_from(row: dict[str, Any]) -> Number:
    found = row["found"]
    found = (Estimate(**{name: float(value) for name, value in found.items()})
             if isinstance(found, dict) else float(found))
    if not row["decides"]:
        return Number(row["what"], found, row["where"])
    return Check(row["what"], found, row["where"], float(row["least"]), float(row["most"]))
