"""Draws sweeps as maps over two axes: heat maps, and regions of outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray

from .cells import finished, fraction, meaning_of_finished, without_single, words_of
from .fields import bar
from .labels import BESIDE_BAR, axis, heading, key_of_page, symbol, upright, wrapped
from .over_axis import name_along, places, value_label
from .scales import above, over_decades, own_ticks, rounding, significant, spaced_by_factors
from .style import GRADED, PALE, UNDECIDED, colour


def heat_map(axes: Any, data: xarray.Dataset, name: str, x: str, y: str,
             word: str | None = None, at: Mapping[str, int] | None = None,
             log: str | None = None) -> None:
    """Draws a number per cell as a colour, or a word per cell as a region.

    Cells with several runs show the median, or the fraction of runs with `word`. `at` selects
    positions on the other axes by index. Cells without a number are hatched.
    """
    cells = fraction(data, name, word) if word else finished(data, name)
    cells = cells.median("run", keep_attrs=True) if "run" in cells.dims else cells
    every = cells.values  # maps along a third axis share one colour scale
    cells = without_single(cells.isel(dict(at or {})), x, y).transpose(y, x)
    across, up = edges(axes.xaxis, data, x, log), edges(axes.yaxis, data, y, log)
    axes.patch.set(hatch="xxxx", edgecolor="0.85")
    if (missing := ~np.isfinite(cells.values)).any():
        explain_missing(axes, data.isel(dict(at or {})), name, cells, missing)
    words = words_of(data, name)
    if words and word is None:
        regions(axes, across, up, cells.values, words)
    elif missing.all():
        axes.set_xlim(*across[[0, -1]])
        axes.set_ylim(*up[[0, -1]])
    else:
        shades = norm(every, word or name.startswith("fraction_of_"))
        image = axes.pcolormesh(across, up, on_scale(cells.values, shades), cmap=GRADED,
                                rasterized=True, norm=shades)
        bar(axes, image, f"fraction of runs: {word}" if word else symbol(data, name),
            extend=beyond(every, shades))
    axes.spines[["top", "right"]].set_visible(True)
    for along, dim in ((axes.xaxis, x), (axes.yaxis, y)):
        if places(data, dim)[1] is None:
            own_ticks(along, places(data, dim)[0])
    named(axes, data, x, y)
    where = ", ".join(value_label(data, dim, place) for dim, place in (at or {}).items())
    said = meaning_of_finished(data, name)
    heading(axes, f"{said}, {where}" if where else said, BESIDE_BAR)


def explain_missing(axes: Any, data: xarray.Dataset, name: str, cells: xarray.DataArray,
                    missing: Any) -> None:
    """Explains in the key of the page why hatched cells have no number."""
    from matplotlib.patches import Patch

    why = "not by the end" if "time_of_" in name or "time_to_" in name else "no number"
    if "status" in data and set(cells.dims) <= set(data.status.dims):
        gone = data.status == data.status.attrs["flag_meanings"].split().index("diverged")
        gone = gone.all([dim for dim in gone.dims if dim not in cells.dims])
        why = "diverged" if gone.transpose(*cells.dims).values[missing].all() else why
    key_of_page(axes, [Patch(facecolor="white", edgecolor="0.6", hatch="xxxx", linewidth=0.4,
                             label=why)])


def regions(axes: Any, across: Any, up: Any, cells: Any, words: list[str]) -> None:
    """Draws each cell in the pale colour of its word."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    found = [number for number in range(len(words)) if (cells == number).any()]
    order = np.full(cells.shape, np.nan)
    tints = [tint(words, number) for number in found]
    for place, number in enumerate(found):
        order[cells == number] = place
    some = max(len(found), 1)
    axes.pcolormesh(across, up, order, cmap=ListedColormap(tints or PALE), rasterized=True,
                    norm=BoundaryNorm(np.arange(some + 1) - 0.5, some))
    patches = [Patch(facecolor=tints[place], edgecolor="0.4", linewidth=0.4, label=words[number])
               for place, number in enumerate(found)]
    key_of_page(axes, patches)


def tint(words: list[str], number: int) -> str:
    """Returns a word's colour, the same in all maps; undecided cells are grey."""
    known = [word for word in words if word != "undecided"]
    word = words[number]
    return UNDECIDED if word == "undecided" else PALE[known.index(word) % len(PALE)]


def norm(cells: Any, is_fraction: Any) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    if is_fraction:
        return Normalize(0, 1)
    if over_decades(cells):
        return LogNorm(significant(cells).min(), np.nanmax(cells))
    return Normalize(*inner(cells)) if np.isfinite(cells).any() else None


FEW = 0.05  # part of the cells that may lie beyond the colours
FAR = 3  # times the range of the other cells, beyond which such cells would flatten the colours


def inner(cells: Any) -> tuple[float, float]:
    """Returns the range of the numbers; without a few outliers that would flatten the colours."""
    found = cells[np.isfinite(cells)]
    low, high = np.quantile(found, (FEW, 1 - FEW))
    room = FAR * (high - low)
    if room == 0:
        return float(found.min()), float(found.max())
    return (float(low if found.min() < low - room else found.min()),
            float(high if found.max() > high + room else found.max()))


def beyond(cells: Any, shades: Any) -> str:
    """Returns the ends of a colour bar beyond which there are numbers."""
    if shades is None:
        return "neither"
    found = cells[np.isfinite(cells)]
    below, above_all = (found < shades.vmin).any(), (found > shades.vmax).any()
    ends = {(True, False): "min", (False, True): "max", (True, True): "both"}
    return ends.get((bool(below), bool(above_all)), "neither") if not on_log(shades) else "neither"


def on_log(shades: Any) -> bool:
    from matplotlib.colors import LogNorm

    return isinstance(shades, LogNorm)


def on_scale(cells: Any, shades: Any) -> Any:
    """Returns the cells, with NaN where a logarithmic scale cannot show the number."""
    return above(cells, rounding(cells)) if on_log(shades) else cells


def edges(along: Any, data: xarray.Dataset, dim: str, log: str | None) -> Any:
    """Returns the edges of the cells along an axis, and sets the axis's scale."""
    middles, ticks = places(data, dim)
    if ticks is not None:
        along.set_ticks(middles, ticks)
    letter = along.axis_name
    logarithmic = ticks is None and (letter in log if log else
                                     log is None and spaced_by_factors(middles)) \
        and bool((middles > 0).all())
    if logarithmic:
        getattr(along.axes, f"set_{letter}scale")("log")
        middles = np.log(middles)
    between = (middles[1:] + middles[:-1]) / 2
    first = middles[0] - (between[0] - middles[0] if len(between) else 0.5)
    last = middles[-1] + (middles[-1] - between[-1] if len(between) else 0.5)
    found = np.concatenate([[first], between, [last]])
    return np.exp(found) if logarithmic else found


def named(axes: Any, data: xarray.Dataset, x: str, y: str) -> None:
    axes.set_xlabel(wrapped(name_along(data, x), 38))
    axes.set_ylabel(wrapped(name_along(data, y), 26))


def scatter(axes: Any, data: xarray.Dataset, name: str, x: str, y: str,
            log: str | None = None) -> None:
    """Draws sampled cells, or all cells' ends, as points; words are colours, numbers shades."""
    cells = finished(data, name)
    across, up, value = (part.values.ravel() for part in xarray.broadcast(
        finished(data, x), finished(data, y), cells))
    words = words_of(data, name)
    if words:
        for place, number in enumerate(sorted(set(value[np.isfinite(value)].astype(int)))):
            at = value == number
            axes.plot(across[at], up[at], "os^D"[place % 4], markersize=2.5, color=colour(place),
                      markeredgewidth=0, label=words[number])
        key_of_page(axes)
    else:
        shades = norm(value, name.startswith("fraction_of_"))
        points = axes.scatter(across, up, c=on_scale(value, shades), s=5, linewidth=0, cmap=GRADED,
                              norm=shades, rasterized=True)
        bar(axes, points, symbol(data, name))
    heading(axes, meaning_of_finished(data, name), BESIDE_BAR)
    for letter, given, at in (("x", x, across), ("y", y, up)):
        if (letter in log if log else log is None and "log" in option_of(data, given)) \
                and (at > 0).any():
            getattr(axes, f"set_{letter}scale")("log")
    axes.set_xlabel(axis(data, x))
    axes.set_ylabel(upright(data, y))


def option_of(data: xarray.Dataset, name: str) -> str:
    """Returns the words of the parameter's --over, which tell its spacing."""
    if "sweep" not in data.popflow.groups:
        return ""
    option = data[name].attrs.get("option", name)
    given = str(data.popflow.group("sweep").attrs.get("over", "")).split()
    return next((words for words in given if words.split("=")[0].split(":")[-1] == option), "")
