"""Chooses a sweep's panels: lines over one axis, maps over two, series over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray

from ..errors import InputError, UsageError
from .cells import axes_of, common_word, finished, fraction, numeric, swept, words_of
from .exact import boundary, no_memory
from .maps import heat_map, scatter
from .over_axis import MOST_LINES, lines, series
from .plan import Panel, Plan, step
from .views import curves_of, there

MOST_MAPS = 6
MOST_DECLARED = 4  # default number of variables
MOST_ITEMS = 64  # most lines of first-passage times, one per item
ROUNDING = 1e-12  # a loss below this is rounding


def sweep(data: xarray.Dataset, observable: Sequence[str] | None, against: str | None,
          log: str | None) -> Plan:
    axes = axes_of(data)
    if not axes:
        raise InputError("the sweep has no axis; draw the file of a run instead.")
    axes = [axis for axis in axes if data.sizes[axis] > 1] or axes[:1]
    if len(axes) > 3:
        raise InputError(f"the sweep has {len(axes)} axes, and a figure shows three at most.")
    known = [str(name) for name, variable in data.data_vars.items()
             if set(axes) & set(variable.dims) and "option" not in variable.attrs
             and "status_word" not in variable.dims]
    for name in observable or []:
        if name not in known:
            raise UsageError(f"--observable is '{name}'; this file has: {', '.join(known)}.")
    if against is not None and against not in axes:
        return ends(data, observable, against, known, axes, log)
    names = list(observable or telling(data))
    if against is None and len(axes) == 1 and over_time(data, names[0]):
        return Plan("cells", [[step(series, name, axes[0], log=log)] for name in names])
    if len(swept(data, axes[0])) == 2 and axes == ["sample"]:
        return Plan("cells", [of_samples(data, name, log) for name in names])
    over = against or line_axis(data, axes)
    if against is None and len(axes) == 2:
        regions = [name for name in names if words_of(data, name) and "run" not in data[name].dims]
        if regions and over is not None:
            rest = [name for name in names if name not in regions]
            return Plan("cells", [panel for name in regions for panel in
                                  of_maps(data, name, axes, log)]
                        + over_axis(data, rest, over, axes, log, True))
    if over is not None:
        return Plan("cells", over_axis(data, names, over, axes, log, observable is not None))
    return Plan("cells", [panel for name in names for panel in of_maps(data, name, axes, log)])


def compared_sweeps(data: xarray.Dataset, observable: Sequence[str] | None, against: str | None,
                    log: str | None) -> Plan:
    """Returns panels of verdicts: over all observables and of each, or the requested ones."""
    known = ["all", *(str(name).removesuffix("_verdict") for name in data.data_vars
                      if str(name).endswith("_verdict"))]
    for name in observable or []:
        if name not in [*known, *map(str, data.data_vars)]:
            raise UsageError(f"--observable is '{name}'; this file has: {', '.join(known)}.")
    wanted = ["verdict" if name == "all" else name if name in data else f"{name}_verdict"
              for name in observable or known]
    # Observables without a verdict are drawn on request only.
    told = wanted if observable else [name for name in wanted if bool((data[name] >= 0).any())][:4]
    return sweep(data, told or wanted[:1], against, log)


def ends(data: xarray.Dataset, observable: Sequence[str] | None, against: str, known: list[str],
         axes: list[str], log: str | None) -> Plan:
    """Returns a scatter plot of two numbers per cell, coloured by outcome or an axis."""
    if against not in known:
        raise UsageError(f"--against is '{against}'; this file has: {', '.join([*axes, *known])}.")
    shade = next((name for name in ("outcome", *axes) if name in data.variables), axes[0])
    return Plan("cells", [[step(scatter, shade, against, name, log=log)]
                          for name in observable or telling(data) if name != against])


def declared(data: xarray.Dataset) -> list[str]:
    """Returns the variables that the System names for figures of sweeps and that vary here.

    Over time these are the observables of the figures of its runs.
    """
    observables = [name for name in curves_of(data) if over_time(data, name) and there(data, name)]
    if observables and data.attrs.get("figure"):
        return observables[:3]
    found: list[str] = []
    for name in str(data.attrs.get("figure_of_sweeps", "")).split():
        own = next((own for own in (name, f"time_of_{name}", f"median_time_of_{name}",
                                    f"{name}_mean") if own in data), None)
        if own is not None and differs(data, own) and drawable(data, own):
            found.append(own)
        elif name == "outcome" and (fractions := varying_fractions(data)):
            found.append(max(fractions, key=lambda one: float(data[one].std())))
    return found[:MOST_DECLARED]


def differs(data: xarray.Dataset, name: str) -> bool:
    """Returns whether the variable's last value, or a word's fraction, varies between cells."""
    if words := words_of(data, name):
        if "run" in data[name].dims:
            return any(spread(fraction(data, name, word)) > 0 for word in words)
        return len(np.unique(finished(data, name).values[np.isfinite(finished(data, name))])) > 1
    return spread(finished(data, name)) > ROUNDING


def drawable(data: xarray.Dataset, name: str) -> bool:
    """Returns whether the variable has at most one axis of its own, short enough to draw."""
    own = [data.sizes[dim] for dim in own_axes(data, name)]
    axes = [axis for axis in axes_of(data) if data.sizes[axis] > 1]
    most = MOST_ITEMS if len(axes) == 1 else MOST_MAPS if len(axes) == 2 else 1
    return len(own) <= 1 and all(size <= most for size in own)


def own_axes(data: xarray.Dataset, name: str) -> list[str]:
    """Returns a variable's axes of length above 1 in each cell, other than runs and saves."""
    cells = {*axes_of(data), "run", "time", "save"}
    return [str(dim) for dim in data[name].dims if dim not in cells and data.sizes[dim] > 1]


def varying_fractions(data: xarray.Dataset) -> list[str]:
    return [str(name) for name in data.data_vars if str(name).startswith("fraction_of_")
            and spread(data[name]) > 0]


def telling(data: xarray.Dataset) -> list[str]:
    """Returns the variables of the default figure.

    The System may name the variables; the default is outcomes, else event times and final loss.
    """
    if found := declared(data):
        return found
    fractions = varying_fractions(data)
    times = [str(name) for name in data.data_vars if "time_of_" in str(name)
             and spread(data[name]) > 0]
    ends_of = [name for name in ("excess_loss", "excess_loss_mean", "loss", "loss_mean")
               if name in data and spread(finished(data, name)) > ROUNDING][:1]
    if over_time(data, ends_of[0] if ends_of else ""):
        signals = [name for name in str(data.attrs["observables"]).split() if "signal" in name]
        return [*ends_of, *signals[:2]]
    if "outcome" in data and differs(data, "outcome"):
        return ["outcome", *times[:1]]
    if fractions:
        return [max(fractions, key=lambda name: float(data[name].std()))]
    rest = [] if ends_of else [name for name in str(data.attrs["observables"]).split()
                               if name in data and spread(finished(data, name)) > ROUNDING][:1]
    if found := [*times, *ends_of, *rest]:
        return found
    first = str(data.attrs["observables"]).split()[0]
    return [first if first in data else f"{first}_mean"]


def spread(cells: xarray.DataArray) -> float:
    return float(cells.max() - cells.min())


def over_time(data: xarray.Dataset, name: str) -> bool:
    return name in data and bool({"time", "save"} & set(data[name].dims))


def line_axis(data: xarray.Dataset, axes: list[str]) -> str | None:
    """Returns the horizontal axis for lines; None if maps show more."""
    if len(axes) == 1:
        return axes[0]
    few = [axis for axis in axes if data.sizes[axis] <= MOST_LINES or not numeric(data, axis)]
    if len(axes) == 2 and few:
        longest = max(few, key=lambda axis: data.sizes[axis])
        rest = [axis for axis in axes if axis not in few] or [longest]
        return rest[0]
    return None


def over_axis(data: xarray.Dataset, names: list[str], over: str, axes: list[str], log: str | None,
              asked: bool) -> list[Panel]:
    """Returns a panel per variable; without a second axis all events share a panel."""
    times = [name for name in names if "time_of_" in name]
    if len(axes) == 1 and len(times) > 1 and not asked:
        rest = [name for name in names if name not in times]
        return [[step(lines, times, over, log=log)],
                *([step(lines, [name], over, word=word(data, name), log=log)] for name in rest)]
    return [[step(lines, [name], over, word=word(data, name), log=log)] for name in names]


def of_maps(data: xarray.Dataset, name: str, axes: list[str], log: str | None) -> list[Panel]:
    """Returns a map over the two longest axes, or one for each value of the third."""
    items = own_axes(data, name)
    if len(axes) == 2 and len(items) == 1 and data.sizes[items[0]] <= MOST_MAPS:
        axes = [*axes, items[0]]  # one map per item
        third: str | None = items[0]
    else:
        require_one_number(data, name)
        third = min(axes, key=lambda axis: data.sizes[axis]) \
            if len(axes) == 3 else None
    x, y = turned(data, *(axis for axis in axes if axis != third))
    exact = [step(own) for own in exact_over(data, x, y, axes)]
    chosen_word = word(data, name)
    if third is None:
        return [[step(heat_map, name, x, y, word=chosen_word, log=log), *exact]]
    return [[step(heat_map, name, x, y, word=chosen_word, at={third: place}, log=log), *exact]
            for place in range(min(data.sizes[third], MOST_MAPS))]


def require_one_number(data: xarray.Dataset, name: str) -> None:
    """Raises UsageError unless a cell has one number (per run and save), as a map needs."""
    if beside := own_axes(data, name):
        raise UsageError(f"--observable is '{name}', which has an axis of its own in each cell, "
                         f"{', '.join(beside)}: a map shows one number; --against AXIS draws "
                         "lines.")


def turned(data: xarray.Dataset, x: str, y: str) -> tuple[str, str]:
    """Returns the horizontal and vertical axes; markov's starts as (w, e), as in its paper."""
    return ("w0", "e0") if data.attrs["system"] == "markov" and {x, y} == {"w0", "e0"} else (x, y)


def exact_over(data: xarray.Dataset, x: str, y: str, axes: list[str]) -> list[Callable]:
    """Returns the steps that draw exact curves on a map over two parameters."""
    if data.attrs["system"] != "markov":
        return []
    if (x, y) == ("w0", "e0"):
        changed = {name for axis in axes for name in [axis, *swept(data, axis)]}
        compared = "rungs" in data.attrs  # such files do not have the parameters of their sweeps
        known = not compared and data.popflow.parameters["bias"] == "optimal"
        chain = {"p", "q", "bias", "text", "text_ones", "text_zeros", "problem"}
        return [boundary] if known and not chain & changed else []
    return [no_memory] if {x, y} == {"p", "q"} else []


def of_samples(data: xarray.Dataset, name: str, log: str | None) -> Panel:
    require_one_number(data, name)
    x, y = turned(data, *swept(data, "sample"))
    exact = exact_over(data, x, y, ["sample"])
    return [step(scatter, name, x, y, log=log), *(step(own) for own in exact)]


def word(data: xarray.Dataset, name: str) -> str | None:
    """Returns the word whose fraction is drawn if cells have several runs."""
    return common_word(data, name) if words_of(data, name) and "run" in data[name].dims else None
