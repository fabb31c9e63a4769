"""Result of `popflow.compare`: the statistics over rungs, shown as the table of verdicts."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
import xarray

from .errors import InputError
from .files import open_dataset
from .missing import attribute_error
from .result import Result

# Names of the questions in the printed table.
QUESTIONS = {"range": "mean", "depth": "geometric mean", "share": "share of runs",
             "time": "median time"}


class Comparison(Result):
    """Dataset of a comparison's statistics, with `verdicts`; it prints as the table of verdicts."""

    __slots__ = ()

    @property
    def verdicts(self) -> xarray.Dataset:
        """Table of verdicts as a dataset along `statement` and `pair`.

        A statement is a `question` (range, depth, share, time) about a `subject` (an observable, an
        event, or an `item` of a passage). `verdict` is agree, differ, undecided, or empty if the
        pair has none. `reason` says why a verdict is undecided, and is none otherwise. Reasons are
        few_runs, margin (the interval crosses the margin), skewness (Gaussian data would allow a
        decision), no_scatter (a few runs all have the same value), many_tests, incomplete (runs
        ended early) and beyond_end (too many runs have not had the event by the end). `diverging`
        is the reason of a *differ* that stands for different shares of diverging runs.
        `difference` is the difference of the pair's two rungs with its interval, `margin` its
        equivalence margin.
        """
        file = open_dataset(self.attrs["path"])
        if f"{self.attrs['group']}/verdicts" not in every_group(self.attrs["path"]):
            raise InputError(f"{self.attrs['path']} has no table of verdicts: an older version "
                             "wrote it, or it compares several learning rates, each in a group of "
                             "its own.")
        table = open_dataset(self.attrs["path"], f"{self.attrs['group']}/verdicts")
        for name in ("question", "subject", "verdict", "reason"):
            if name in table:  # older files have no reasons
                table[name] = table.popflow.words(name)
        ends = zip(file.popflow.words("second").values, file.popflow.words("first").values)
        return table.assign_coords(pair=[f"{second}-{first}" for second, first in ends])

    def __repr__(self) -> str:
        try:
            return shown(self.verdicts)
        except (InputError, OSError, KeyError):
            return super().__repr__()


def every_group(path: str) -> list[str]:
    with h5py.File(path, "r") as file:
        found: list[str] = []
        file.visititems(lambda name, item: found.append(name)
                        if isinstance(item, h5py.Group) else None)
    return found


def shown(table: xarray.Dataset) -> str:
    """Returns the table as text: a line per statement, a column per pair of rungs."""
    rows = [["", "", *map(str, table.pair.values)]]
    for number in range(table.sizes["statement"]):
        one = table.isel(statement=number)
        name = str(one.subject.values)
        if (item := int(one["item"])) >= 0:
            name += f"[{item}]"
        cells = [cell(one.isel(pair=pair)) for pair in range(table.sizes["pair"])]
        if any(said != "-" for said in cells):
            rows.append([name, QUESTIONS[str(one.question.values)], *cells])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
             for row in rows]
    return "\n".join([*lines, "(.verdicts is this table as a dataset; .popflow.info() says more)"])


def cell(one: xarray.Dataset) -> str:
    verdict = str(one.verdict.values)
    if not verdict:
        return "-"
    if verdict == "undecided" and "reason" in one:
        verdict += f" ({str(one.reason.values).replace('_', ' ')})"
    middle, low, high = (float(one[f"difference{end}"]) for end in ("", "_low", "_high"))
    if not np.isfinite(middle):
        return verdict
    unit: dict[str, Any] = {"share": (0.01, "% of runs"), "depth": (1, " times")}
    scale, named = unit.get(str(one.question.values), (1, ""))
    return f"{verdict}: {middle / scale:.2g} [{low / scale:.2g}, {high / scale:.2g}]{named}"


def __getattr__(name: str) -> Any:
    raise attribute_error(__name__, name, ["Comparison"])
