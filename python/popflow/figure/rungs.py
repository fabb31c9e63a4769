"""Draws comparisons: the rungs' means, their differences, and the verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from .labels import axis, heading, key, key_of_page, meaning, spoken, symbol, wrapped
from .labels import number as number_of
from .scales import above, decades, floors, set_scales
from .style import GREY, curve


def means(axes: Any, data: xarray.Dataset, name: str, log: str | None = None) -> None:
    """Draws the mean of each rung, with two standard errors to each side.

    On a logarithmic axis these are errors of the logarithm, which never reach the foot.
    """
    time = data.time.values
    (floor,) = floors(data[f"{name}_mean"].values, log)
    for number, rung in enumerate(data.rung.values):
        mean = data[f"{name}_mean"].values[number]
        error = np.nan_to_num(2 * data[f"{name}_mean_error"].values[number])
        style = curve(number)
        axes.plot(time, above(mean, floor), label=str(rung), **style)
        if np.isfinite(floor):  # on a logarithmic axis: the relative error to each side
            mean, error = above(mean, floor), np.exp(error / np.maximum(np.abs(mean), floor))
            low, high = mean / error, mean * error
        else:
            low, high = mean - error, mean + error
        axes.fill_between(time, low, high, color=style["color"], alpha=0.25, linewidth=0)
    set_scales(axes, time, data[f"{name}_mean"].values, log)
    axes.set_xlabel(axis(data, "time"))
    axes.set_ylabel(symbol_of(data, name))
    heading(axes, f"mean of {said(data, name)}")
    key_of_page(axes)
    within(axes, time)


def differences(axes: Any, data: xarray.Dataset, name: str, log: str | None = None) -> None:
    """Draws differences to sgd with simultaneous bands, the margin, and the verdicts.

    Rungs agree if the whole band lies between the dotted lines, the margin. With too few runs a
    band is infinite; then the differences alone are drawn.
    """
    time = data.time.values
    margin = float(data[f"{name}_margin"])
    if np.isfinite(margin):
        axes.axhspan(-margin, margin, color="0.93", linewidth=0, zorder=-2)
        for side in (-margin, margin):
            axes.axhline(side, color=GREY, linewidth=0.7, linestyle=":", zorder=-1)
    endless = False
    for pair, first, second, other in pairs(data):
        mean, band = (data[f"{name}_{what}"].values[pair] for what in ("difference", "band"))
        verdict = verdict_of_means(data, name, pair)
        style = curve(list(data.rung.values).index(other))
        axes.plot(time, mean, label=f"{second} $-$ {first}: {verdict}", **style)
        endless = endless or bool(np.isinf(band).any())
        band = np.where(np.isfinite(band), band, 0)
        axes.fill_between(time, mean - band, mean + band, color=style["color"], alpha=0.2,
                          linewidth=0)
    if endless:
        axes.annotate("no band: too few runs", (1, 1), ha="right", va="top", fontsize="small",
                      xycoords="axes fraction")
        axes.margins(y=0.2)
    else:
        to_lines(axes, [-margin, margin])
    set_scales(axes, time, [], (log or "").replace("y", "") or "none" if log else log)
    axes.set_xlabel(axis(data, "time"))
    axes.set_ylabel("difference of the means")
    key(axes)
    within(axes, time)


def ratios(axes: Any, data: xarray.Dataset, name: str, log: str | None = None) -> None:
    """Draws ratios of geometric means to sgd with simultaneous bands, and their margin."""
    time = data.time.values
    factor = float(data.attrs["delta_factor"])
    axes.axhspan(1 / factor, factor, color="0.93", linewidth=0, zorder=-2)
    for side in (1 / factor, factor):
        axes.axhline(side, color=GREY, linewidth=0.7, linestyle=":", zorder=-1)
    for pair, first, second, other in pairs(data):
        middle, band = (data[f"{name}_log_ratio{what}"].values[pair] for what in ("", "_band"))
        style = curve(list(data.rung.values).index(other))
        verdict = verdict_on(data, name, "depth", pair)
        axes.plot(time, np.exp(middle), **style,
                  label=f"{second} / {first}" + (f": {verdict}" if verdict else ""))
        band = np.where(np.isfinite(band), band, 0)
        axes.fill_between(time, np.exp(middle - band), np.exp(middle + band),
                          color=style["color"], alpha=0.2, linewidth=0)
    set_scales(axes, time, [], (log or "").replace("y", "") or "none" if log else log)
    axes.set_yscale("log")
    to_lines(axes, [1 / factor, factor])
    decades(axes.yaxis)
    axes.set_xlabel(axis(data, "time"))
    axes.set_ylabel("ratio of geometric means")
    key(axes)
    within(axes, time)


def verdict_of_means(data: xarray.Dataset, name: str, pair: int) -> str:
    """Returns the verdict on the means. If it is undecided although equal means are rejected, says
    so, as the table does ("differs by")."""
    verdict = str(data.popflow.words(f"{name}_verdict").values[pair])
    level = float(data.attrs.get("level", 0.95))
    rejected = f"{name}_p_value" in data and data[f"{name}_p_value"].values[pair] <= 1 - level
    return "differ, perhaps within the margin" if verdict == "undecided" and rejected \
        else verdict


def verdict_on(data: xarray.Dataset, name: str, question: str, pair: int) -> str:
    """Returns the verdict of the table on a question about an observable; empty without one."""
    table = data.verdicts
    found = (table.subject.values == name) & (table.question.values == question)
    return str(table.verdict.values[found][0, pair]) if found.any() else ""


SPARE = 0.6  # fraction of the height of lines and margin, kept for wider bands


def to_lines(axes: Any, margins: list[float]) -> None:
    """Limits the panel to its lines and the margin, plus some room: bands can be very wide."""
    from matplotlib.collections import PolyCollection

    logarithmic = axes.get_yscale() == "log"
    curves = [np.asarray(line.get_ydata(), float) for line in axes.lines]
    bands = [path.vertices[:, 1] for band in axes.collections
             if isinstance(band, PolyCollection) for path in band.get_paths()]

    def extent(parts: list[Any]) -> Any:
        together = np.concatenate([np.ravel(part) for part in parts])
        together = together[np.isfinite(together)]
        if logarithmic:
            together = np.log(together[together > 0])
        return np.array([together.min(), together.max()])

    inner = extent([*curves, np.array([side for side in margins if np.isfinite(side)])])
    room = (inner[1] - inner[0]) * SPARE
    if room <= 0:
        return
    outer = extent([*curves, *bands, margins]) if bands else inner
    pad = 0.06 * (inner[1] - inner[0])
    low = max(inner[0] - room, min(inner[0], outer[0]) - pad)
    high = min(inner[1] + room, max(inner[1], outer[1]) + pad)
    axes.set_ylim(*(np.exp([low, high]) if logarithmic else (low, high)))
    if low > outer[0] or high < outer[1]:
        axes.annotate("bands reach beyond", (1, 1), ha="right", va="top", fontsize="small",
                      xycoords="axes fraction",
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})


def when(axes: Any, data: xarray.Dataset) -> None:
    """Draws median times of events with intervals; an arrow marks a time after the end.

    Events that no rung reached are left out.
    """
    table = reached_times(data)
    names = [spoken(str(subject)) + (f"[{item}]" if item >= 0 else "")
             for subject, item in zip(table.subject.values, table["item"].values)]
    end = float(data.time[-1])
    rungs = data.sizes["rung"]
    for number in range(rungs):
        style = curve(number)
        place = np.arange(len(names)) + 0.2 * (number - (rungs - 1) / 2)
        middle, low, high = (table[f"value{what}"].values[:, number]
                             for what in ("", "_low", "_high"))
        reached = np.isfinite(middle)
        shown = np.where(reached, middle, end)
        error = [shown - np.clip(low, 0, shown), np.clip(high, shown, end) - shown]
        axes.errorbar(shown[reached], place[reached], xerr=np.array(error)[:, reached], fmt="o",
                      markersize=4, color=style["color"], capsize=2)
        later = np.isposinf(middle)
        axes.plot(shown[later], place[later], ">", color=style["color"])
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 1.02 * end)
    axes.set_xlabel(axis(data, "time"))
    heading(axes, "median time over all runs")
    key_of_page(axes)


def reached_times(data: xarray.Dataset) -> xarray.Dataset:
    """Returns the statements on median times of events that some rung reached."""
    table = data.verdicts
    return table.isel(statement=(table.question.values == "time")
                      & np.isfinite(table.value.values).any(axis=-1))


def pairs(data: xarray.Dataset) -> list[tuple[int, str, str, str]]:
    """Returns the pairs with the reference rung: index, both rungs, and the other one.

    The reference is the first training by another program, else sgd, else the last rung.
    """
    rungs = [str(rung) for rung in data.rung.values]
    given = str(data.attrs.get("trajectories", "")).split()
    wanted = given[0] if given else "sgd"
    reference = wanted if wanted in rungs else rungs[-1]
    ends = zip(data.popflow.words("first").values, data.popflow.words("second").values)
    return [(place, str(first), str(second), str(first if second == reference else second))
            for place, (first, second) in enumerate(ends) if reference in (first, second)]


def within(axes: Any, time: Any) -> None:
    if axes.get_xscale() == "linear":
        axes.set_xlim(time[0], time[-1])


def orders(axes: Any, data: xarray.Dataset, name: str, what: str = "mean",
           log: str | None = None) -> None:
    """Draws weak errors against the last rung over the learning rate, with fitted orders."""
    from matplotlib.ticker import NullLocator

    rate = data.learning_rate.values
    for number, rung in enumerate(data.rung.values):
        error, spread = (data[f"{name}_{what}_weak_error{end}"].values[number]
                         for end in ("", "_std"))
        if not np.isfinite(error).any() or not error.any():
            continue  # the reference rung
        style = curve(number)
        known = np.isfinite(spread)  # single runs have no spread
        if known.any():
            error = np.where(known, error, np.nan)
        axes.errorbar(rate, np.abs(error), yerr=np.where(known, spread, 0) if known.any() else None,
                      marker="o", capsize=2, elinewidth=0.8,
                      label=f"{rung}{order(data, name, what, number)}", **style)
    set_scales(axes, rate, [], "xy" if log is None else log)
    if axes.get_yscale() == "log":
        axes.set_yscale("log", nonpositive="clip")  # errors of 0 are drawn at the foot
        decades(axes.yaxis)
    axes.set_xticks(rate, [number_of(value) for value in rate])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(r"learning rate, $\eta$")
    last = data.rung.values[-1]
    axes.set_ylabel(wrapped(f"|{what} of {symbol_of(data, name)} $-$ {last}'s|", 34))
    key(axes)


# Verdicts in the words of the table of `popflow compare`.
WITHOUT_ORDER = {"no_signal": "no significant error", "no_power": "no power fits",
                 "rounding": "conserved to rounding"}


def order(data: xarray.Dataset, name: str, what: str, number: int) -> str:
    fit = data.popflow.words(f"{name}_{what}_fit").values[number]
    if fit != "fitted":
        return f": {WITHOUT_ORDER.get(fit, fit)}"
    middle, low, high = (float(data[f"{name}_{what}_order{end}"][number])
                         for end in ("", "_low", "_high"))
    if not np.isfinite(middle):  # errors at smaller learning rates are within chance
        return f": order above {low:.2f}" if np.isfinite(low) else ""
    return f": order {middle:.2f} ({low:.2f} to {high:.2f})"


def said(data: xarray.Dataset, name: str) -> str:
    """Returns the observable in words."""
    own = of_a_rung(data)
    return meaning(own, name) if name in own else name.replace("_", " ")


def symbol_of(data: xarray.Dataset, name: str) -> str:
    own = of_a_rung(data)
    return symbol(own, name) if name in own else name.replace("_", " ")


def of_a_rung(data: xarray.Dataset) -> xarray.Dataset:
    """Returns the file's first rung, which has the observables with symbols and meanings."""
    groups = [name for name in data.popflow.groups if name in set(map(str, data.rung.values))]
    if groups:
        return data.popflow.group(groups[0])
    return data.popflow.group(f"learning_rate_1/{data.rung.values[0]}")
