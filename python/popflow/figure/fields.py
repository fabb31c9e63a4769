"""Parts of the state that have axes of their own: many curves, or a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from .labels import BESIDE_BAR, axis, heading, key, meaning, symbol, upright
from .over_time import over_time
from .runs import recorded, values
from .scales import above, floors, set_scales
from .style import GRADED, curve

MOST_CURVES = 7  # that colours and dashes tell apart


def field(axes: Any, data: xarray.Dataset, name: str, colour_by: str | None = None,
          log: str | None = None) -> None:
    """A vector's entries over time, one curve each; a matrix at the last record.

    Many curves are coloured by their place, or by a dataset of the problem, `colour_by`.
    """
    data = recorded(data)
    if "run" in data[name].dims:
        data = data.isel(run=0)
    saved = next((axis for axis in ("time", "time_state") if axis in data[name].dims), None)
    own = [str(dim) for dim in data[name].dims if dim != saved and data.sizes[dim] > 1]
    if len(own) > 1 or saved is None or data.sizes[saved] < 3:
        matrix(axes, data, name, saved)
    else:
        entries(axes, data, name, own[0] if own else None, colour_by, log)
    if axes.get_legend() is None:
        heading(axes, meaning(data, name), BESIDE_BAR)


def entries(axes: Any, data: xarray.Dataset, name: str, along: str | None, colour_by: str | None,
            log: str | None) -> None:
    time = values(data, "time")
    y = values(data, name).reshape(len(time), -1)
    drawn = above(y, floors(y, log)[0])
    places = graded(data, along, colour_by)
    if along is None or (y.shape[1] <= MOST_CURVES and colour_by is None):
        for number, entry in enumerate(drawn.T):
            label = f"{symbol(data, name)}, {along} {data[along].values[number]}" if along else None
            axes.plot(time, entry, label=label, **curve(number))
        if along is not None:
            key(axes)
    else:
        many(axes, time, drawn, places, label_of(data, along, colour_by))
    set_scales(axes, time, y, log)
    axes.set_xlabel(axis(data, "time"))
    axes.set_ylabel(symbol(data, name))
    over_time(axes, time)


def many(axes: Any, x: Any, y: Any, places: Any, label: str) -> None:
    """Curves (columns of y) coloured by a number of each."""
    from matplotlib.collections import LineCollection

    lines = LineCollection([np.column_stack([x, entry]) for entry in y.T], array=places,
                           cmap=GRADED, linewidth=0.8 if y.shape[1] < 50 else 0.4)
    axes.add_collection(lines)
    axes.update_datalim(np.column_stack([np.tile(x, y.shape[1]), y.T.ravel()])[
        np.isfinite(y.T.ravel())])
    axes.autoscale_view()
    bar(axes, lines, label)


def graded(data: xarray.Dataset, along: str | None, colour_by: str | None) -> Any:
    """The number that decides each entry's colour."""
    if colour_by is not None:
        return data.popflow.group("problem")[colour_by].values.astype(float).ravel()
    return np.arange(data.sizes[along]) if along else np.zeros(1)


def label_of(data: xarray.Dataset, along: str | None, colour_by: str | None) -> str:
    if colour_by is not None:
        problem = data.popflow.group("problem")
        return upright(problem, colour_by)
    return str(along)


def matrix(axes: Any, data: xarray.Dataset, name: str, saved: str | None) -> None:
    """The field's last two axes as a heat map at the last record."""
    last = data[name].isel({saved: -1}) if saved else data[name]
    last = last.squeeze(drop=True)
    while last.ndim > 2:
        last = last.isel({last.dims[0]: 0})
    if last.ndim < 2:
        axes.plot(last.values, "o", markersize=3)
        axes.set_xlabel(str(last.dims[0]).replace("_", " ") if last.ndim else "")
        axes.set_ylabel(symbol(data, name))
        return
    low, high = float(np.nanmin(last)), float(np.nanmax(last))
    signed = low < -0.05 * high
    limits = (-max(-low, high), max(-low, high)) if signed else (low, high)
    image = axes.imshow(last.values, aspect="auto", vmin=limits[0], vmax=limits[1],
                        cmap="PuOr" if signed else GRADED, interpolation="nearest")
    axes.set_xlabel(str(last.dims[1]).replace("_", " "))
    axes.set_ylabel(str(last.dims[0]).replace("_", " "))
    for along, dim in ((axes.xaxis, last.dims[1]), (axes.yaxis, last.dims[0])):
        along.get_major_locator().set_params(integer=True)
        if last[dim].dtype.kind in "OU" and last.sizes[dim] <= 30:
            along.set_ticks(range(last.sizes[dim]), last[dim].values)
    axes.spines[["top", "right"]].set_visible(True)
    bar(axes, image, symbol(data, name))


def bar(axes: Any, mappable: Any, label: str) -> None:
    """A colour bar beside the panel."""
    colours = axes.figure.colorbar(mappable, ax=axes, pad=0.02, aspect=18)
    colours.outline.set_linewidth(0.4)
    colours.set_label(label)


def passages(axes: Any, data: xarray.Dataset, name: str, over: str | None = None,
             log: str | None = "none") -> None:
    """First times of many items, over their place or over a dataset of the problem."""
    times = data[name].values.astype(float).ravel()
    problem = data.popflow.group("problem")
    if over in problem:
        places, label = problem[over].values.astype(float).ravel(), axis(problem, str(over))
    else:
        places, label = np.arange(len(times)), str(data[name].dims[-1])
    axes.plot(places, times, "o", markersize=2.5, **{"color": curve(0)["color"]})
    set_scales(axes, places, times, log)
    if places.dtype.kind == "i":
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(label)
    axes.set_ylabel(symbol(data, name))
    reached = int(np.isfinite(times).sum())
    heading(axes, meaning(data, name) + (
        f" ({reached} of {len(times)} by the end)" if reached < len(times) else ""))
