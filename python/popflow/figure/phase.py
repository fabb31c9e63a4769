"""Draws phase planes: one part of the state against another."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from .labels import axis, heading, upright
from .moments import MARKERS, in_order
from .over_time import counted, outcome_key
from .runs import recorded, values, well
from .scales import above, floors, logarithmic_x, rounding, set_scales
from .style import colour

MOST_RUNS = 64


def plane(axes: Any, data: xarray.Dataset, x: str, y: str, log: str | None = "none") -> None:
    """Draws the path from its start (a ring) to its end (a disc) with events marked.

    Ensembles show up to 64 runs, coloured by their outcome if they have one.
    """
    data = recorded(well(data))
    across, up = values(data, x), values(data, y)
    up = above(up, floors(up, log)[0])
    across = above(across, rounding(across)) if logarithmic_x(across, log) else across
    if across.ndim == 1:
        path(axes, across, up, colour(0))
        axes.set_label("events marked")
        for number, (_, time) in enumerate(in_order(data)):
            marker = MARKERS[number % len(MARKERS)]
            at = [np.interp(time, values(data, "time"), value) for value in (across, up)]
            axes.plot(*at, marker, color="black", markerfacecolor="white", zorder=4)
    else:
        for row, tint in zip(range(min(len(across), MOST_RUNS)), outcome_colours(axes, data)):
            path(axes, across[row], up[row], tint, 0.5 if len(across) > 1 else 1.2)
    set_scales(axes, across, up, log)
    axes.set_xlabel(axis(data, x))
    axes.set_ylabel(upright(data, y))
    heading(axes, "phase plane")


def path(axes: Any, x: Any, y: Any, tint: str, width: float = 1.2) -> None:
    axes.plot(x, y, color=tint, linewidth=width, alpha=1 if width > 1 else 0.7)
    axes.plot(x[:1], y[:1], "o", color=tint, markerfacecolor="white", zorder=3)
    last = np.flatnonzero(np.isfinite(x) & np.isfinite(y))[-1:]
    axes.plot(x[last], y[last], "o", color=tint, zorder=3)


def outcome_colours(axes: Any, data: xarray.Dataset) -> list[str]:
    """Returns a colour per run and explains the colours in the key."""
    if "outcome" not in data:
        return [colour(0)] * data.sizes["run"]
    words = data.popflow.words("outcome").values
    kinds = sorted(set(words), key=list(words).count, reverse=True)
    for kind in kinds:
        outcome_key(axes, kinds.index(kind), f"{kind} ({counted(list(words).count(kind))})")
    return [colour(kinds.index(word)) for word in words]
