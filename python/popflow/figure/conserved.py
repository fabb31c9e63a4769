"""How far what the flow conserves has drifted."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from .labels import axis, heading, key, symbol
from .over_time import ensemble, over_time
from .runs import recorded, values, well
from .scales import decades, set_scales
from .style import curve


def invariants(data: xarray.Dataset) -> list[str]:
    return [name for name in str(data.attrs.get("invariants", "")).split() if name in data]


def drift(axes: Any, data: xarray.Dataset, log: str | None = None) -> None:
    """The size of each invariant's drift: its value, or its change since the start."""
    data = recorded(well(data))
    time = values(data, "time")
    found = []
    for number, name in enumerate(invariants(data)):
        value = values(data, name)
        if data[name].attrs.get("invariant") == "constant":
            value = value - value[..., :1]
        found.append(np.abs(value))
        label = symbol(data, name)
        if "run" in data[name].dims:
            ensemble(axes, time, found[-1], number, label)
        else:
            axes.plot(time, found[-1], label=label, **curve(number))
    together = np.concatenate([value.ravel() for value in found])
    set_scales(axes, time, together, log)
    if log is None and (together > 0).any():
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
