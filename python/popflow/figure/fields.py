"""State fields with axes of their own: many curves, or a matrix."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from ..errors import InputError
from .labels import BESIDE_BAR, axis, heading, key, meaning, symbol, upright
from .over_time import ensemble, over_time, percentiles
from .runs import early, recorded, values, well
from .scales import above, floors, own_ticks, set_scales
from .style import GRADED, curve, one_hue
from .symbols import mathematics

MOST_CURVES = 7  # more curves than this are shaded, not told apart by colours and dashes


def field(axes: Any, data: xarray.Dataset, name: str, colour_by: str | None = None,
          log: str | None = None) -> None:
    """Draws a vector's entries over time, one curve each, or a matrix at the last record.

    Many curves are coloured by their index, or by a dataset of the problem, `colour_by`.
    """
    data = recorded(well(data))
    saved = next((axis for axis in ("time", "time_state") if axis in data[name].dims), None)
    own = [str(dim) for dim in data[name].dims
           if dim not in (saved, "run") and data.sizes[dim] > 1]
    if len(own) > 1 or saved is None or data.sizes[saved] < 3:
        matrix(axes, data, name, saved)
    else:
        entries(axes, data, name, own[0] if own else None, colour_by, log)
    if axes.get_legend() is None and not axes.get_title("left"):
        heading(axes, meaning(data, name), BESIDE_BAR)


def entries(axes: Any, data: xarray.Dataset, name: str, along: str | None, colour_by: str | None,
            log: str | None) -> None:
    time = values(data, "time")
    y = values(data, name)
    runs = y.shape[0] if "run" in data[name].dims else 0
    y = y.reshape(runs or 1, len(time), -1)
    floor = floors(y, log)[0]
    places = graded(data, along, colour_by)
    few = along is None or (y.shape[2] <= MOST_CURVES and colour_by is None)
    if few and runs > 1:
        for number in range(y.shape[2]):
            label = f"{symbol(data, name)}, {along} {data[along].values[number]}" if along else ""
            ensemble(axes, time, y[..., number], number, label, floor)
    y = middle_of_runs(y)
    drawn = above(y, floor)
    if few and runs > 1:
        if along is not None:
            key(axes)
    elif few:
        for number, entry in enumerate(drawn.T):
            named = f"{symbol(data, name)}, {along} {data[along].values[number]}" if along else None
            axes.plot(time, entry, label=named, **curve(number))
        if along is not None:
            key(axes)
    else:
        many(axes, time, drawn, places, label_of(data, along, colour_by))
    set_scales(axes, time, y, log, early(data))
    axes.set_xlabel(axis(data, "time"))
    axes.set_ylabel(symbol(data, name))
    over_time(axes, time)


def many(axes: Any, x: Any, y: Any, places: Any, label: str, marker: str = "") -> Any:
    """Draws curves (columns of y) shaded by a number each, and returns the colour bar.

    All curves share x, or x has a row for each.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    places = np.asarray(places, float)
    colours = ScalarMappable(Normalize(places.min(), places.max()), one_hue())
    width = 1.1 if y.shape[1] < 12 else 0.8 if y.shape[1] < 50 else 0.4
    for row, entry in enumerate(y.T):
        axes.plot(x[row] if x.ndim > 1 else x, entry, color=colours.to_rgba(places[row]),
                  linewidth=width, marker=marker, markersize=2.5)
    return bar(axes, colours, label)


def graded(data: xarray.Dataset, along: str | None, colour_by: str | None) -> Any:
    """Returns the number that sets each entry's colour."""
    if colour_by is not None:
        return data.popflow.group("problem")[colour_by].values.astype(float).ravel()
    return np.arange(data.sizes[along]) if along else np.zeros(1)


def label_of(data: xarray.Dataset, along: str | None, colour_by: str | None) -> str:
    if colour_by is not None:
        problem = data.popflow.group("problem")
        return upright(problem, colour_by)
    return str(along)


def matrix(axes: Any, data: xarray.Dataset, name: str, saved: str | None) -> None:
    """Draws the field's last two axes as a heat map at the last record (ensembles: median)."""
    last = data[name].isel({saved: -1}) if saved else data[name]
    last = last.median("run", keep_attrs=True) if "run" in last.dims else last
    last = last.squeeze(drop=True)
    while last.ndim > 2:
        last = last.isel({last.dims[0]: 0})
    if last.ndim < 2:
        axes.plot(last.values, "o", markersize=3)
        axes.set_xlabel(str(last.dims[0]).replace("_", " ") if last.ndim else "")
        axes.set_ylabel(symbol(data, name))
        return
    rows, columns = last.shape
    cells = aggregated(last.values.astype(float))
    image = axes.imshow(cells, extent=(-0.5, columns - 0.5, rows - 0.5, -0.5), **shades([cells]))
    axes.set_xlabel(str(last.dims[1]).replace("_", " "))
    axes.set_ylabel(str(last.dims[0]).replace("_", " "))
    named_places(axes, last)
    axes.spines[["top", "right"]].set_visible(True)
    bar(axes, image, symbol(data, name))
    heading(axes, meaning(data, name) + block_note(last), BESIDE_BAR)


def shades(matrices: Sequence[Any], difference: bool = False) -> dict[str, Any]:
    """Returns options of imshow() for matrices in one colour scale.

    Differences, and matrices with relevant negative entries, have two hues around 0.
    """
    low = min(float(np.nanmin(cells)) for cells in matrices)
    high = max(float(np.nanmax(cells)) for cells in matrices)
    signed = difference or low < -0.05 * high
    if signed:
        low, high = -max(-low, high), max(-low, high)
    return {"vmin": low, "vmax": high, "cmap": "PuOr" if signed else GRADED, "aspect": "auto",
            "interpolation": "nearest"}


def middle_of_runs(y: Any) -> Any:
    """Returns the median over the first axis; NaN where no run has a number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return y[0] if len(y) == 1 else np.nanmedian(y, axis=0)


MOST_ROWS = 120  # print shows no finer matrix: of larger ones each block shows one entry


def aggregated(cells: Any) -> Any:
    """Returns the entry of largest size in each block of a matrix with at most MOST_ROWS rows and
    columns of blocks; means would hide the large entries of sparse matrices."""
    for along in (0, 1):
        count = cells.shape[along]
        size = -(-count // MOST_ROWS)
        if size > 1:
            starts = np.arange(0, count, size)
            high = np.maximum.reduceat(cells, starts, axis=along)
            low = np.minimum.reduceat(cells, starts, axis=along)
            cells = np.where(high >= -low, high, low)
    return cells


def block_note(cells: Any) -> str:
    """Returns a note on the blocks of a large matrix, for its heading."""
    rows, columns = (-(-count // MOST_ROWS) for count in cells.shape)
    return "" if rows * columns == 1 else \
        f" (largest entry of each ${rows} \\times {columns}$ block)"


def at_end(data: xarray.Dataset, name: str) -> xarray.DataArray:
    """Returns a matrix of the state at the last record (ensembles: median) or of the problem."""
    if name not in data:
        return data.popflow.group("problem")[name]
    last = data[name]
    for saved in ("time", "time_state"):
        last = last.isel({saved: -1}) if saved in last.dims else last
    return last.median("run", keep_attrs=True) if "run" in last.dims else last


MOST_WORDS = 30  # most words at the side of a matrix


def named_places(axes: Any, cells: xarray.DataArray) -> None:
    """Labels the sides of a matrix with whole numbers or words."""
    for along, dim in ((axes.xaxis, cells.dims[1]), (axes.yaxis, cells.dims[0])):
        along.get_major_locator().set_params(integer=True)
        if cells[dim].dtype.kind not in "OU" or cells.sizes[dim] > MOST_WORDS:
            continue
        words = [legible(str(word)) for word in cells[dim].values]
        along.set_ticks(range(cells.sizes[dim]), words)
        if along is axes.xaxis and max(map(len, words)) > 2:
            axes.tick_params(axis="x", rotation=90)


def legible(word: str) -> str:
    """Returns a token as an axis label; blanks get a name."""
    return {" ": "blank", "\n": "newline", "\t": "tab", "": "empty"}.get(word, word)


def picture(axes: Any, data: xarray.Dataset, name: str, like: Sequence[str] | None = None) -> None:
    """Draws a matrix of the state at the last record, or of the problem.

    The colour scale also covers the matrices `like`. "A-Q" is the difference of two matrices.
    """
    data = recorded(well(data))
    parts = [at_end(data, part) for part in name.split("-")]
    if len(parts) > 1 and parts[0].shape != parts[1].shape:
        raise InputError(f"{name.replace('-', ' and ')} differ in their shapes, "
                         f"{parts[0].shape} and {parts[1].shape}.")
    cells = aggregated(parts[0].values.astype(float)
                       - (parts[1].values.astype(float) if len(parts) > 1 else 0))
    scale = [aggregated(at_end(data, other).values.astype(float))
             for other in like or []] or [cells]
    rows, columns = parts[0].shape
    image = axes.imshow(cells, extent=(-0.5, columns - 0.5, rows - 0.5, -0.5),
                        **shades(scale, difference=len(parts) > 1))
    axes.set_xlabel(str(parts[0].dims[1]).replace("_", " "))
    axes.set_ylabel(str(parts[0].dims[0]).replace("_", " "))
    named_places(axes, parts[0])
    axes.spines[["top", "right"]].set_visible(True)
    owners = {part: data if part in data else data.popflow.group("problem")
              for part in name.split("-")}
    bar(axes, image, " $-$ ".join(symbol(owner, part) for part, owner in owners.items()))
    heading(axes, " minus ".join(meaning(owner, part) for part, owner in owners.items())
            + block_note(parts[0]), BESIDE_BAR)


def beside(axes: Any, data: xarray.Dataset, name: str, other: str) -> None:
    """Draws a learned matrix at the last record beside the problem's true one, in one scale."""
    data = recorded(well(data))
    both = [at_end(data, name), at_end(data, other)]
    symbols = [symbol(data, name), mathematics(other)]
    cells = [aggregated(one.values.astype(float)) for one in both]
    scale = shades(cells)
    if scale["cmap"] == GRADED:
        scale["vmin"] = min(0.0, scale["vmin"])  # two constant matrices: alike if their sizes are
    for place, matrix_of in enumerate(cells):
        image = axes.imshow(matrix_of, extent=(1.1 * place, 1.1 * place + 1, both[0].shape[0], 0),
                            **scale)
    axes.set_xlim(0, 2.1)
    axes.set_xticks([0.5, 1.6], [f"{symbols[0]}, learned", f"{symbols[1]}, true"])
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(str(both[0].dims[0]).replace("_", " "))
    axes.set_xlabel(str(both[0].dims[1]).replace("_", " "))
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.spines[["left", "bottom"]].set_visible(False)
    bar(axes, image, "", below=True)
    heading(axes, meaning(data, name) + block_note(both[0]))


def bar(axes: Any, mappable: Any, label: str, below: bool = False,
        extend: str = "neither") -> Any:
    """Draws and returns a colour bar beside or below the panel; `extend` marks ends with arrows."""
    place = {"location": "bottom", "pad": 0.03, "aspect": 30} if below else \
        {"pad": 0.02, "aspect": 18}
    colours = axes.figure.colorbar(mappable, ax=axes, extend=extend, **place)
    colours.outline.set_linewidth(0.4)
    colours.set_label(label)
    return colours


def of_parameter(data: xarray.Dataset, name: str, count: int) -> Any:
    """Returns the numbers of a parameter that has one for each item; None if it has not."""
    numbers = np.asarray(data.popflow.parameters.get(name))
    return numbers.astype(float) if numbers.dtype.kind in "iuf" and numbers.shape == (count,) \
        else None


def passages(axes: Any, data: xarray.Dataset, name: str, over: str | None = None,
             log: str | None = "none") -> None:
    """Draws first-passage times of many items over their index, a dataset of the problem, or a
    parameter with a number for each item."""
    data = well(data)
    times = values(data, name)
    times = times.reshape(len(times) if "run" in data[name].dims else 1, -1)
    spread = times if len(times) > 1 else None
    times = middle_of_runs(times)
    problem = data.popflow.group("problem")
    if over is not None and (numbers := of_parameter(data, over, len(times))) is not None:
        places, label, log = numbers, over.replace("_", " "), None if log == "none" else log
    elif over in problem:
        places, label = problem[over].values.astype(float).ravel(), axis(problem, str(over))
    else:
        places, label = np.arange(len(times)), str(data[name].dims[-1])
    axes.plot(places, times, "o", markersize=2.5, **{"color": curve(0)["color"]})
    if spread is not None:
        low, high = (np.nan_to_num(np.abs(part - times)) for part in percentiles(spread))
        axes.errorbar(places, times, yerr=[low, high], fmt="none", ecolor=curve(0)["color"],
                      elinewidth=0.8, capsize=2)
    set_scales(axes, places, times, log)
    if places.dtype.kind == "i":
        own_ticks(axes.xaxis, places)
    axes.set_xlabel(label)
    axes.set_ylabel(symbol(data, name))
    reached = int(np.isfinite(times).sum())
    heading(axes, meaning(data, name) + (
        f" ({reached} of {len(times)} by the end)" if reached < len(times) else ""))
