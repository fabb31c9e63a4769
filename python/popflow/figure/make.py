"""Makes a figure or its script from a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import xarray

from ..errors import UsageError
from .choice import chosen
from .kinds import opened
from .page import Page
from .plan import Plan
from .scales import WORDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PathLike = str | os.PathLike[str]


def planned(path: PathLike, observable: str | Sequence[str] | None, against: str | None,
            log: str | None) -> tuple[Plan, xarray.Dataset]:
    if log is not None and log not in WORDS:
        raise UsageError(f"--log is '{log}'; it must be one of {', '.join(WORDS)}.")
    names = observable.split(",") if isinstance(observable, str) else observable
    kind, data = opened(path)
    return chosen(kind, data, names or None, against, log), data


def drawn(plan: Plan, data: xarray.Dataset, style: PathLike | None = None,
          output: Path | None = None) -> Figure:
    with Page(len(plan.panels), plan.wide_last, style, output) as page:
        plan.carry_out(page, data)
    return page.figure
