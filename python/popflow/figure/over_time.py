"""Draws observables over time or over another observable."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from .labels import axis, heading, key, key_of_page, meaning, symbol, told_apart, wrapped
from .runs import early, recorded, values, well
from .scales import above, floors, set_scales
from .style import GREY, colour, curve
from .symbols import mathematics

SOME_RUNS = 5
BAND = (10, 90)  # percentiles of the runs


def curves(axes: Any, data: xarray.Dataset, names: Sequence[str], against: str = "time",
           log: str | None = None) -> None:
    """Draws a curve per observable; ensembles show the median, a band and some runs."""
    names = [names] if isinstance(names, str) else list(names)
    data = recorded(well(data))
    x = values(data, against)
    heights = [values(data, name) for name in names]
    for number, (name, label, y, floor) in enumerate(
            zip(names, told_apart(data, names), heights, floors(heights, log))):
        if "run" in data[name].dims and (groups := by_outcome(data)) and x.ndim == 1:
            for place, (said, chosen) in enumerate(groups.items()):
                own = place if len(names) == 1 else number
                ensemble(axes, x, y[chosen], own, label if not place else None, floor)
                if len(names) == 1:
                    outcome_key(axes, own, said)
        elif "run" in data[name].dims:
            ensemble(axes, x, y, number, label, floor)
        else:
            axes.plot(x, above(y, floor), label=label, **curve(number))
    set_scales(axes, x, heights, log, against == "time" and early(data))
    axes.set_xlabel(axis(data, against))
    if len(names) == 1:
        heading(axes, meaning(data, names[0]))
        axes.set_ylabel(symbol(data, names[0]))
    else:
        key(axes)
    if against == "time":
        over_time(axes, x)


def by_outcome(data: xarray.Dataset) -> dict[str, Any]:
    """Returns which runs had which outcome, the most frequent first.

    Empty if all runs end alike or outcomes are unknown. A median over several basins would lie in
    none of them, so each basin gets its own median.
    """
    if "outcome" not in data or data["outcome"].dims != ("run",):
        return {}
    words = data.popflow.words("outcome").values
    kinds = sorted(set(words), key=list(words).count, reverse=True)
    if len(kinds) < 2:
        return {}
    return {f"{kind} ({counted(int((words == kind).sum()))})": np.flatnonzero(words == kind)
            for kind in kinds}


def counted(runs: int) -> str:
    return f"{runs} run" if runs == 1 else f"{runs} runs"


def outcome_key(axes: Any, number: int, said: str) -> None:
    """Explains an outcome's colour in the key of the page."""
    from matplotlib.lines import Line2D

    key_of_page(axes, [Line2D([], [], marker="o", color=colour(number), label=said)])


def over_time(axes: Any, time: Any) -> None:
    """Makes the panel one over time, with limits at the first and last of these times."""
    axes.set_label("over time")
    time = np.asarray(time, float)
    if axes.get_xscale() == "log" and (time > 0).sum() > 1:
        time = time[time > 0]
    axes.set_xlim(time[0], time[-1])


def ensemble(axes: Any, x: Any, y: Any, number: int, label: str | None,
             floor: float = -np.inf) -> None:
    """Draws an ensemble: runs are the rows of y, shown above the floor.

    All runs share x, or x has a row for each.
    """
    thin = {"color": colour(number), "linewidth": 0.5, "alpha": 0.6}
    together = x.ndim == 1 and len(y) > 1
    if len(y) == 1:
        axes.plot(x[0] if x.ndim > 1 else x, above(y[0], floor), label=label, **curve(number))
        return
    for row, run in enumerate(above(y[:SOME_RUNS], floor)):
        axes.plot(x[row] if x.ndim > 1 else x, run, **thin,
                  label=None if together or row else label)
    if together:
        low, high = percentiles(y)
        axes.fill_between(x, low, high, color=colour(number), alpha=0.22, linewidth=0)
        axes.plot(x, above(np.nanmedian(y, axis=0), floor), label=label, **curve(number))


def percentiles(y: Any) -> Any:
    """Returns the ends of the band over runs (first axis); NaN where no run has a number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanpercentile(y, BAND, axis=0)


def levels(axes: Any, data: xarray.Dataset, names: Mapping[str, str]) -> None:
    """Draws dashed lines at constants of the problem, each with its symbol at the right end.

    The constants are attributes of the file or its parameters. Equal constants share a line. The
    page moves apart symbols that would overlap.
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
    """Draws dashed lines at times that the problem gives, each with its symbol at the top.

    Only times within the panel are drawn, and only in panels over time.
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
