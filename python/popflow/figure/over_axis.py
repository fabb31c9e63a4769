"""Draws sweeps as lines over one of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from ..errors import InputError
from .cells import (
    all_diverged,
    finished,
    fraction,
    meaning_of_finished,
    middle,
    numbers_along,
    numeric,
    of_those_well,
    swept,
    without_single,
    words_of,
)
from .fields import many
from .labels import (
    BESIDE_BAR,
    MADE,
    axis,
    both,
    heading,
    key,
    key_of_page,
    meaning,
    number,
    spoken,
    symbol,
    wrapped,
)
from .over_time import over_time
from .scales import (
    MOST_TICKS,
    above,
    floors,
    own_ticks,
    set_scales,
    spaced_by_factors,
    to_hold,
)
from .style import curve

MOST_LINES = 6
UNORDERED = ("seed", "problem_seed")
FEWEST_GRADED = 4  # number of lines over an ordered parameter from which on they are shaded


def lines(axes: Any, data: xarray.Dataset, names: Sequence[str], over: str,
          word: str | None = None, log: str | None = None) -> None:
    """Draws variables over an axis; with a second axis, one line per value of that axis.

    Cells with several runs show the median and central 80%, or the fraction of runs with `word`.
    """
    names = [names] if isinstance(names, str) else list(names)
    x, ticks = places(data, over)
    heights: list[Any] = []
    found: list[tuple] = []
    for name in names:
        cells = fraction(data, name, word) if word else finished(data, name)
        cells = without_single(cells, over, "run")
        others = [str(dim) for dim in cells.dims if dim not in (over, "run")]
        if len(others) == 1 and data.sizes[others[0]] >= FEWEST_GRADED \
                and ordered(data, others[0]):
            graded(axes, data, x, cells, over, others[0], log)
            heights.append(cells.values.ravel())
            at_cells(axes, over)
            continue
        rows = cells.stack(other=others) if others else cells.expand_dims("other")
        for row in range(rows.sizes["other"]):
            low_to_high = middle(rows.isel(other=row, drop=True).reset_coords(drop=True))
            if not np.isfinite(low_to_high[0]).any():
                continue
            label = line_label(data, name, others, row) if others else \
                (name_of(data, name) if len(names) > 1 else None)
            parts: list[Any] = [part if part is None else part.values for part in low_to_high]
            found.append((parts, row if others else names.index(name), label))
    for (parts, row, label), floor in zip(found, floors([parts[0] for parts, *_ in found], log)):
        draw(axes, x, [above(parts[0], floor), *parts[1:]], row, label)
        heights.append(parts[0].ravel())
    if len(names) == 1 and not others and word is None:
        errors(axes, data, names[0], over, x)
    at_cells(axes, over)
    if not heights:
        raise InputError(f"no cell has a number for {' or '.join(names)}: it did not happen, or "
                         "all runs diverged.")
    if words_of(data, names[0]) and word is None:
        only_words(axes, words_of(data, names[0]) or [], heights)
    mark_diverged(axes, x, all_diverged(data, over))
    set_scales(axes, x if ticks is None else [], heights, log)
    to_hold(axes, x)
    if ticks is not None:
        axes.set_xticks(x, ticks)
    else:
        own_ticks(axes.xaxis, x)
    if word or all(name.startswith("fraction_of_") for name in names):
        axes.set_ylim(-0.05, 1.05)
    axes.set_xlabel(wrapped(name_along(data, over), 38))
    label_lines(axes, data, names, word, bool(others))


def by_number(data: xarray.Dataset, dim: str) -> bool:
    """Returns whether a position along the dimension (value or item number) can set a shade."""
    return numeric(data, dim) or (data[dim].dtype.kind in "iuf" and not swept(data, dim))


def ordered(data: xarray.Dataset, dim: str) -> bool:
    """Returns whether the order of a dimension's values has a meaning; seeds have none."""
    return by_number(data, dim) and dim not in UNORDERED


def at_cells(axes: Any, over: str) -> None:
    """Removes the lines between cells whose order has no meaning."""
    if over in UNORDERED:
        for line in axes.lines:
            line.set_linestyle("none")


def errors(axes: Any, data: xarray.Dataset, name: str, over: str, x: Any) -> None:
    """Draws bars of two standard errors if the file has the mean of the runs and its error."""
    known = f"{name}_error"
    if name.endswith("_mean") and known in data and set(data[known].dims) == {over}:
        axes.errorbar(x, finished(data, name).values, yerr=2 * data[known].values, fmt="none",
                      ecolor=curve(0)["color"], elinewidth=0.8, capsize=2)


def mark_diverged(axes: Any, x: Any, diverged: Any) -> None:
    """Draws crosses at the upper edge for diverged cells, so that the axis keeps its full range."""
    if not diverged.any():
        return
    style = {"color": "0.45", "transform": axes.get_xaxis_transform()}
    axes.plot(x[diverged], np.full(diverged.sum(), 0.97), "x", markersize=4, **style)
    axes.text(x[diverged].max(), 0.92, "diverged", ha="right", va="top", fontsize="small", **style)


def graded(axes: Any, data: xarray.Dataset, x: Any, cells: xarray.DataArray, over: str,
           other: str, log: str | None) -> None:
    """Draws a line per value of another axis, shaded by the value."""
    cells = cells.median("run") if "run" in cells.dims else cells
    y = cells.transpose(over, other).values
    shaded(axes, data, x, above(y, floors(y, log)[0]), other, "o")


def shaded(axes: Any, data: xarray.Dataset, x: Any, y: Any, by: str, marker: str = "") -> None:
    """Draws lines (columns of y) in the shades of an axis's values."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    place, _ = places(data, by)
    logarithmic = spaced_by_factors(place) and bool((place > 0).all())
    bar = many(axes, x, y, np.log10(place) if logarithmic else place,
               wrapped(name_along(data, by), 26), marker)
    if len(place) <= MOST_TICKS:
        bar.set_ticks(np.log10(place) if logarithmic else place,
                      labels=[short(value) for value in place])
    elif logarithmic:
        bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        bar.ax.yaxis.set_major_formatter(
            FuncFormatter(lambda power, _: f"$10^{{{power:.0f}}}$"))


def only_words(axes: Any, words: list[str], heights: list[Any]) -> None:
    """Draws words as points without lines, and names the words that occur."""
    for row, line in enumerate(axes.lines):
        line.set_linestyle("none")
        line.set_ydata(line.get_ydata() + 0.1 * (row - (len(axes.lines) - 1) / 2))
    found = np.unique(np.concatenate(heights))
    found = found[np.isfinite(found)].astype(int)
    axes.set_yticks(found, [words[number] for number in found])
    axes.margins(y=0.3)


def label_lines(axes: Any, data: xarray.Dataset, names: list[str], word: str | None,
                several: bool) -> None:
    """Names the drawn variable above the panel or beside its axis, and what distinguishes lines."""
    if len(names) == 1:
        heading(axes, meaning_of_finished(data, names[0]))
        if not words_of(data, names[0]) or word:
            axes.set_ylabel(f"fraction of runs: {word}" if word else symbol(data, names[0]))
        if several:
            key_of_page(axes)
        return
    if all("time_of_" in name for name in names):
        axes.set_ylabel("time of the event, $t$")
    key(axes)


def draw(axes: Any, x: Any, parts: list[Any], row: int, label: str | None) -> None:
    style = curve(row)
    axes.plot(x, parts[0], marker="o", markersize=3, label=label, **style)
    if parts[1] is not None:
        axes.fill_between(x, parts[1], parts[2], color=style["color"], alpha=0.2, linewidth=0)


def name_of(data: xarray.Dataset, name: str) -> str:
    """Returns the label of a line among others; an event has its name."""
    made = MADE.match(name)
    return spoken(made[2]) if made else both(data, name)


def line_label(data: xarray.Dataset, name: str, others: list[Any], row: int) -> str:
    """Returns the values of the other axes as a label."""
    place = np.unravel_index(row, [data.sizes[dim] for dim in others])
    return ", ".join(value_label(data, str(dim), where) for dim, where in zip(others, place))


def value_label(data: xarray.Dataset, dim: str, place: Any) -> str:
    return ", ".join(f"{symbol(data, name)} = {short(data[name].values[place])}"
                     for name in swept(data, dim)) or f"{dim} {place}"


def short(value: Any) -> str:
    return str(value) if isinstance(value, str) else number(float(value))


def places(data: xarray.Dataset, over: str) -> tuple[Any, list[str] | None]:
    """Returns the cells' positions along an axis, and their labels if they are not numbers."""
    if (numbers := numbers_along(data, over)) is not None:
        return numbers, None
    if by_number(data, over):
        return data[over].values.astype(float), None
    along = np.arange(data.sizes[over])
    if data[over].dtype.kind in "OU":
        return along, [str(word) for word in data[over].values]
    told = ["\n".join(f"{symbol(data, name)} = {short(data[name].values[place])}"
                      for name in swept(data, over)) for place in along]
    return along, told if len(told) <= 8 else None


def name_along(data: xarray.Dataset, over: str) -> str:
    """Returns the label of an axis: the meaning of its parameter, or the axis's own name."""
    plain = "option" not in data[over].attrs and swept(data, over)
    return over.replace("_", " ") if plain or places(data, over)[1] is not None \
        else both(data, over)


def series(axes: Any, data: xarray.Dataset, name: str, over: str, log: str | None = None) -> None:
    """Draws a variable over time, one curve per value of an axis."""
    saved = "time" if "time" in data[name].dims else "save"
    cells = data[name]
    if "run" in cells.dims:
        cells = of_those_well(data, name).median("run")
    y = cells.transpose(saved, over).values
    x = data["time"].transpose(..., saved).values if "time" in data else data[saved].values
    drawn = above(y, floors(y, log)[0])
    bar_beside = False
    if over in UNORDERED and y.shape[1] > MOST_LINES:
        for row, column in enumerate(drawn.T):
            axes.plot(x[row] if x.ndim > 1 else x, column, color=curve(0)["color"], linewidth=0.6,
                      label=f"each {over.replace('_', ' ')}" if row == 0 else None)
        key_of_page(axes)
    elif y.shape[1] < FEWEST_GRADED or (y.shape[1] <= MOST_LINES and not ordered(data, over)):
        for row, column in enumerate(drawn.T):
            axes.plot(x[row] if x.ndim > 1 else x, column,
                      label=value_label(data, over, row), **curve(row))
        key_of_page(axes)
    else:
        shaded(axes, data, x, drawn, over)
        bar_beside = True
    heading(axes, meaning(data, name), *([BESIDE_BAR] if bar_beside else []))
    set_scales(axes, x, y, log)
    axes.set_xlabel(axis(data, "time"))
    axes.set_ylabel(symbol(data, name))
    if x.ndim == 1:
        over_time(axes, x)
    else:
        axes.set_xlim(left=np.nanmin(x) if axes.get_xscale() == "linear" else None,
                      right=np.nanmax(x))
