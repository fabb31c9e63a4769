"""Observables over time, or over another observable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from .labels import axis, heading, key, meaning, symbol, told_apart, wrapped
from .runs import recorded, values, well
from .scales import above, floors, set_scales
from .style import GREY, colour, curve
from .symbols import mathematics

SOME_RUNS = 5
BAND = (10, 90)  # percentiles of the runs


def curves(axes: Any, data: xarray.Dataset, names: Sequence[str], against: str = "time",
           log: str | None = None) -> None:
    """A curve for each observable; of an ensemble its median, a band and some of the runs."""
    names = [names] if isinstance(names, str) else list(names)
    data = recorded(well(data))
    x = values(data, against)
    heights = [values(data, name) for name in names]
    for number, (name, label, y, floor) in enumerate(
            zip(names, told_apart(data, names), heights, floors(heights, log))):
        if "run" in data[name].dims:
            ensemble(axes, x, y, number, label, floor)
        else:
            axes.plot(x, above(y, floor), label=label, **curve(number))
    set_scales(axes, x, heights, log)
    axes.set_xlabel(axis(data, against))
    if len(names) == 1:
        heading(axes, meaning(data, names[0]))
        axes.set_ylabel(symbol(data, names[0]))
    else:
        key(axes)
    if against == "time":
        over_time(axes, x)


def over_time(axes: Any, time: Any) -> None:
    """Says that the panel is one over time, from the first of these to the last."""
    axes.set_label("over time")
    if axes.get_xscale() == "linear":
        axes.set_xlim(time[0], time[-1])


def ensemble(axes: Any, x: Any, y: Any, number: int, label: str, floor: float = -np.inf) -> None:
    """Runs are the rows of y, drawn above the floor; x is the same for all of them, or has rows of
    its own."""
    thin = {"color": colour(number), "linewidth": 0.5, "alpha": 0.6}
    together = x.ndim == 1 and len(y) > 1
    if len(y) == 1:
        axes.plot(x[0] if x.ndim > 1 else x, above(y[0], floor), label=label, **curve(number))
        return
    for row, run in enumerate(above(y[:SOME_RUNS], floor)):
        axes.plot(x[row] if x.ndim > 1 else x, run, **thin,
                  label=None if together or row else label)
    if together:
        low, high = np.nanpercentile(y, BAND, axis=0)
        axes.fill_between(x, low, high, color=colour(number), alpha=0.22, linewidth=0)
        axes.plot(x, above(np.nanmedian(y, axis=0), floor), label=label, **curve(number))


def levels(axes: Any, data: xarray.Dataset, names: Mapping[str, str]) -> None:
    """Dashed lines at numbers of the problem, each with its symbol at the right end.

    They are constants of the file or its parameters. Those that are equal share a line. The page
    moves symbols apart that would overlap.
    """
    found: dict[float, list[str]] = {}
    for name, symbol_of in names.items():
        if np.isfinite(value := constant(data, name)):
            same = next((other for other in found if np.isclose(value, other, 1e-9, 0)), value)
            found.setdefault(same, []).append(mathematics(symbol_of))
    for value, symbols in found.items():
        axes.axhline(value, color=GREY, linewidth=0.7, linestyle=(0, (4, 2)), zorder=0)
        for line in wrapped(", ".join(symbols), 10).split(",\n"):
            axes.annotate(line, (1, value), xytext=(2, 0), va="center", gid="level",
                          xycoords=axes.get_yaxis_transform(), textcoords="offset points",
                          fontsize="small", color="0.3")


def instants(axes: Any, data: xarray.Dataset, names: Mapping[str, str]) -> None:
    """Dashed lines at times that are known of the problem, each with its symbol at the top.

    Those within the panel, that is; where it is none over time, as a heat map is, none.
    """
    if axes.get_label() != "over time":
        return
    first, last = axes.get_xlim()
    for name, symbol_of in names.items():
        if first <= (value := constant(data, name)) <= last:
            axes.axvline(value, color=GREY, linewidth=0.7, linestyle=(0, (4, 2)), zorder=0)
            axes.annotate(mathematics(symbol_of), (value, 1), xytext=(-2, -2), ha="right", va="top",
                          xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                          fontsize="small", color="0.3")


def constant(data: xarray.Dataset, name: str) -> float:
    value = data.attrs.get(name)
    return float(data.popflow.parameters.get(name, np.nan) if value is None else value)
