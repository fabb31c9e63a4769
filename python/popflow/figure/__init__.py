"""Figures of popflow's files, at a paper's size.

    figure = popflow.figure("two-stages.h5")
    figure.savefig("two-stages.pdf")

Scripts of `popflow plot --script` use `Page` and the functions that draw a panel from here, too.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = {name: module for module, names in {
    "page": "Page", "over_time": "curves instants levels", "phase": "plane", "conserved": "drift",
    "blocks": "blocks", "fields": "beside field passages picture", "moments": "marks untold",
    "over_axis": "lines series",
    "exact": "boundary erf_law minima no_memory separatrix valley",
    "maps": "heat_map scatter",
    "rungs": "differences means orders ratios when",
}.items() for name in names.split()}


def figure(path: str | os.PathLike[str], observable: str | Sequence[str] | None = None,
           against: str | None = None, log: str | None = None,
           style: str | os.PathLike[str] | None = None) -> Figure:
    """Returns the figure of a file as matplotlib's Figure.

    The default depends on the kind of file. A run shows its loss, signals and phase plane, an
    ensemble its bands. A comparison shows its differences with verdicts, a sweep lines or maps.
    `observable` (a name or several) selects what is drawn, `against` the horizontal axis (time,
    another observable, an axis of a sweep). `log` is "none", "x", "y" or "xy"; `style` is a style
    file of matplotlib, which overrides the figure's own settings.
    """
    from .make import drawn, planned

    return drawn(*planned(path, observable, against, log), style)


def __getattr__(name: str) -> Any:
    """Loads a part, and matplotlib with it, on first use."""
    if name in PARTS:
        return getattr(importlib.import_module(f"{__name__}.{PARTS[name]}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def __dir__() -> list[str]:
    return ["figure", *PARTS]
