"""Drift of conserved quantities."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from .labels import axis, heading, key, symbol
from .over_time import ensemble, over_time
from .runs import early, recorded, values, well
from .scales import above, decades, rounding, set_scales
from .style import curve


def invariants(data: xarray.Dataset) -> list[str]:
    return [name for name in str(data.attrs.get("invariants", "")).split() if name in data]


def drifts(data: xarray.Dataset) -> dict[str, Any]:
    """Draws each invariant's drift at the records: its value, or its change since the start."""
    found = {}
    for name in invariants(data):
        value = values(data, name)
        if data[name].attrs.get("invariant") == "constant":
            value = value - value[..., :1]
        found[name] = np.abs(value)
    return found


def drift(axes: Any, data: xarray.Dataset, log: str | None = None) -> None:
    """Returns each invariant's absolute drift: its value, or its change since the start."""
    data = recorded(well(data))
    time = values(data, "time")
    found = list(drifts(data).values())
    together = np.concatenate([value.ravel() for value in found])
    logarithmic = bool((together > 0).any()) and (log is None or "y" in log)
    for number, (name, drift_of) in enumerate(zip(invariants(data), found)):
        label = symbol(data, name)
        floor = rounding(drift_of) if logarithmic else -np.inf
        if "run" in data[name].dims:
            ensemble(axes, time, drift_of, number, label, floor)
        else:
            axes.plot(time, above(drift_of, floor), label=label, **curve(number))
    set_scales(axes, time, found, log, early(data))
    if log is None and logarithmic:
        axes.set_yscale("log", nonpositive="mask")
        decades(axes.yaxis)
    axes.set_xlabel(axis(data, "time"))
    if len(found) > 1:
        key(axes)
        axes.set_ylabel("drift")
    else:
        heading(axes, f"drift of the invariant {symbol(data, invariants(data)[0])}")
        axes.set_ylabel("drift")
    if not together.any():
        axes.annotate("none: 0 at all records", (0.5, 0.5), xytext=(0, 3), ha="center",
                      xycoords="axes fraction", textcoords="offset points")
        axes.set_yticks([0])
    over_time(axes, time)
