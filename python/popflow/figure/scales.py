"""Linear or logarithmic? As the user says, or as the numbers are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .labels import number, seen

WORDS = ("none", "x", "y", "xy")


def set_scales(axes: Any, x: Any, y: Any, log: str | None, early: bool = False) -> None:
    """Logarithmic where `log` says so; where it is None, where the numbers ask for it.

    `y` has the values of an observable, or is a list of those of several. An axis is linear where
    nothing on it is above 0. A curve has a gap where it is not positive; a band there goes on to
    the foot of the panel. `early` says that much happens in a small first part of x.
    """
    if logarithmic_x(x, log) or (early and log is None):
        axes.set_xscale("log", nonpositive="mask")
    if logarithmic_y(y, log):
        axes.set_yscale("log", nonpositive="mask")
        bands_to_the_foot(axes)
        without_roundings(axes, y)
    for scale, along in ((axes.get_xscale(), axes.xaxis), (axes.get_yscale(), axes.yaxis)):
        if scale == "log":
            decades(along)


def logarithmic_x(x: Any, log: str | None) -> bool:
    x = np.asarray(x, float)
    return ("x" in log if log else log is None and spaced_by_factors(x)) \
        and bool(x.size == 0 or (x > 0).any())


def logarithmic_y(y: Any, log: str | None) -> bool:
    together = np.concatenate([values.ravel() for values in listed(y)])
    return ("y" in log if log else log is None and over_decades(y)) \
        and bool(together.size == 0 or (together > 0).any())


def listed(y: Any) -> list[Any]:
    """The values of each observable, of which `y` is one or a list."""
    return [np.asarray(values, float) for values in y] if isinstance(y, list) and y else \
        [np.asarray(y, float)]


def rounding(y: Any) -> float:
    """The rounding of an observable's largest value in size: on a logarithmic axis, what lies
    below it is no data."""
    y = np.abs(np.asarray(y, float))
    y = y[np.isfinite(y)]
    return float(np.finfo(float).eps * y.max()) if y.size else 0.0


def floors(y: Any, log: str | None) -> list[float]:
    """For each observable, the rounding on a logarithmic axis; on a linear one minus infinity."""
    logarithmic = logarithmic_y(y, log)
    return [rounding(values) if logarithmic else -np.inf for values in listed(y)]


def above(y: Any, floor: float) -> Any:
    """The values above the floor, NaN in place of others."""
    return y if floor == -np.inf else np.where(y > floor, y, np.nan)


def significant(y: Any) -> Any:
    """All values above the rounding of their observable."""
    return np.concatenate([values[values > rounding(values)] for values in
                           (one[np.isfinite(one)] for one in listed(y))])


def bands_to_the_foot(axes: Any) -> None:
    """Without the corners that are not positive, the rest of a band's outline would be joined."""
    from matplotlib.collections import PolyCollection

    for band in axes.collections:
        if isinstance(band, PolyCollection):
            for outline in band.get_paths():
                heights = outline.vertices[:, 1]
                heights[heights <= 0] = np.finfo(float).tiny


def without_roundings(axes: Any, y: Any) -> None:
    """Leaves out what lies many decades below all else: the rounding of a start at 0."""
    data = significant(y)
    if not len(data):
        return
    if data.min() < 1e-6 * (low := np.quantile(data, 0.05)):
        axes.set_ylim(low / 10, 2 * data.max())
    elif any(((0 < values) & (values <= rounding(values))).any() for values in listed(y)):
        spare = (data.max() / data.min())**0.05 * 1.2  # as the margins of an axis
        axes.set_ylim(data.min() / spare, data.max() * spare)


def decades(along: Any) -> None:
    """At most seven powers of ten; over less than two decades some numbers between, too."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = np.log10(along.get_view_interval())
    along.set_minor_formatter(NullFormatter())
    if high - low > 1.5:
        along.set_major_locator(LogLocator(numticks=7))
    else:
        along.set_major_locator(LogLocator(subs=(1, 2, 5) if high - low > 0.5 else range(1, 10)))
        along.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


MOST_TICKS = 7


def own_ticks(along: Any, places: Any) -> None:
    """Ticks at the axis's own values where they are few and their numbers fit beside each other;
    otherwise, if all values are whole, at whole numbers."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    places = np.unique(np.asarray(places, float)[np.isfinite(places)])
    logarithmic = along.get_scale() == "log"
    if 0 < len(places) <= MOST_TICKS and (not logarithmic or places[0] > 0):
        texts = [number(value) for value in places]
        if apart(along, np.log(places) if logarithmic else places, texts):
            along.set_major_locator(FixedLocator(places))
            along.set_minor_locator(NullLocator())
            along.set_ticks(places, texts)
            return
    if not logarithmic and len(places) and (places == np.round(places)).all():
        along.set_major_locator(MaxNLocator(nbins="auto", integer=True))


def apart(along: Any, places: Any, texts: list[str]) -> bool:
    """Do the numbers fit along the axis? Its panel is about 2 inches wide and 1.4 high."""
    low, high = along.get_view_interval()
    if along.get_scale() == "log":
        low, high = np.log([low, high])
    upright = along.axis_name == "y"
    sizes = [0.16 if upright else 0.06 * seen(text) + 0.1 for text in texts]
    inches = (places - low) / (high - low) * (1.4 if upright else 1.9)
    return bool((np.diff(inches) >= (np.array(sizes[1:]) + sizes[:-1]) / 2).all())


def to_hold(axes: Any, x: Any) -> None:
    """Widens the panel to all places of an axis, where a line has no numbers at some of them:
    panels of one sweep have one axis."""
    x = np.asarray(x, float)
    axes.update_datalim(np.column_stack([x, np.zeros(len(x))]), updatey=False)
    axes.autoscale_view()


def spaced_by_factors(x: Any) -> bool:
    """Were the places chosen equally far apart in their logarithm?"""
    x = np.unique(np.asarray(x, float))
    x = x[np.isfinite(x) & (x > 0)]
    if len(x) < 4 or x[-1] / x[0] < 8:
        return False
    ways, factors = np.diff(x), np.diff(np.log(x))
    return np.std(factors) / factors.mean() < np.std(ways) / ways.mean() / 2


def over_decades(y: Any) -> bool:
    """Positive, but for roundings and starts at 0, and over more than a decade and a half."""
    together = np.concatenate([values.ravel() for values in listed(y)])
    together = together[np.isfinite(together)]
    data = significant(y)
    return bool(len(data) and (together > 0).sum() >= 0.9 * len(together)
                and data.max() > 30 * np.quantile(data, 0.05))
