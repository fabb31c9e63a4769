"""Stored results of measurements, one file for each claim. docs/claims.md is made from them."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from popflow.analysis import Estimate

from .claim import Check, Number, verdict

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
    new.write_text(json.dumps(forms, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    os.replace(new, place(number))


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
