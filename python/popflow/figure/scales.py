"""Chooses linear or logarithmic axes: by the user's option, or from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .labels import number, seen

WORDS = ("none", "x", "y", "xy")


def set_scales(axes: Any, x: Any, y: Any, log: str | None, early: bool = False) -> None:
    """Sets logarithmic axes as `log` says or, if it is None, as the numbers suggest.

    `y` has the values of an observable, or is a list of such arrays. An axis without positive
    values is linear. On a logarithmic axis a curve has a gap where it is not positive; a band
    continues to the foot of the panel. `early` says that much happens in a small first part of x.
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
    """Returns `y` as a list of arrays, one per observable."""
    return [np.asarray(values, float) for values in y] if isinstance(y, list) and y else \
        [np.asarray(y, float)]


def rounding(y: Any) -> float:
    """Returns the rounding error of an observable's largest absolute value.

    On a logarithmic axis, smaller values are not data.
    """
    y = np.abs(np.asarray(y, float))
    y = y[np.isfinite(y)]
    return float(np.finfo(float).eps * y.max()) if y.size else 0.0


def floors(y: Any, log: str | None) -> list[float]:
    """Returns each observable's rounding on a logarithmic axis; -inf on a linear one."""
    logarithmic = logarithmic_y(y, log)
    return [rounding(values) if logarithmic else -np.inf for values in listed(y)]


def above(y: Any, floor: float) -> Any:
    """Returns the values, with NaN for those not above the floor."""
    return y if floor == -np.inf else np.where(y > floor, y, np.nan)


def significant(y: Any) -> Any:
    """Returns all values above the rounding of their observable."""
    return np.concatenate([values[values > rounding(values)] for values in
                           (one[np.isfinite(one)] for one in listed(y))])


def bands_to_the_foot(axes: Any) -> None:
    """Extends bands to the foot: dropping non-positive corners would distort a band's outline."""
    from matplotlib.collections import PolyCollection

    for band in axes.collections:
        if isinstance(band, PolyCollection):
            for outline in band.get_paths():
                heights = outline.vertices[:, 1]
                heights[heights <= 0] = np.finfo(float).tiny


def without_roundings(axes: Any, y: Any) -> None:
    """Drops values many decades below all others: the rounding of a start at 0."""
    data = significant(y)
    if not len(data):
        return
    if data.min() < 1e-6 * (low := np.quantile(data, 0.05)):
        axes.set_ylim(low / 10, 2 * data.max())
    elif any(((0 < values) & (values <= rounding(values))).any() for values in listed(y)):
        spare = (data.max() / data.min())**0.05 * 1.2  # like the margins of an axis
        axes.set_ylim(data.min() / spare, data.max() * spare)


def decades(along: Any) -> None:
    """Sets ticks at up to seven powers of ten, with numbers between them below two decades."""
    from matplotlib.ticker import (
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullFormatter,
        NullLocator,
    )

    low, high = np.log10(along.get_view_interval())
    along.set_minor_formatter(NullFormatter())
    if high - low > 1.5:
        along.set_major_locator(LogLocator(numticks=7))
    else:
        if high - low > 0.5:
            along.set_major_locator(LogLocator(subs=(1, 2, 5)))
        else:  # equal distances: leading digits would leave all of 1 to 2 without a number
            along.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
            along.set_minor_locator(NullLocator())
        along.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


MOST_TICKS = 7


def own_ticks(along: Any, places: Any) -> None:
    """Sets ticks at the axis's own values if they are few and their labels fit.

    Otherwise, if all values are whole, ticks are at whole numbers.
    """
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
    """Returns whether the labels fit along the axis of a panel of about 2 by 1.4 inches."""
    low, high = along.get_view_interval()
    if along.get_scale() == "log":
        low, high = np.log([low, high])
    upright = along.axis_name == "y"
    sizes = [0.16 if upright else 0.06 * seen(text) + 0.1 for text in texts]
    inches = (places - low) / (high - low) * (1.4 if upright else 1.9)
    return bool((np.diff(inches) >= (np.array(sizes[1:]) + sizes[:-1]) / 2).all())


def to_hold(axes: Any, x: Any) -> None:
    """Widens the panel to all positions of an axis, also those where a line has no number.

    All panels of one sweep then have the same axis.
    """
    x = np.asarray(x, float)
    axes.update_datalim(np.column_stack([x, np.zeros(len(x))]), updatey=False)
    axes.autoscale_view()


def spaced_by_factors(x: Any) -> bool:
    """Returns whether the positions are equally spaced in the logarithm."""
    x = np.unique(np.asarray(x, float))
    x = x[np.isfinite(x) & (x > 0)]
    if len(x) < 3 or x[-1] / x[0] < 8:
        return False
    ways, factors = np.diff(x), np.diff(np.log(x))
    return np.std(factors) / factors.mean() < np.std(ways) / ways.mean() / 2


def over_decades(y: Any) -> bool:
    """Returns whether values are positive over 1.5 decades, apart from rounding and starts at 0.

    An observable below -0.01 of its largest value, such as a correlation, needs a linear axis,
    however few these values are.
    """
    each = [values[np.isfinite(values)] for values in listed(y)]
    if any(len(values) and values.min() < -0.01 * values.max() for values in each):
        return False
    together = np.concatenate(each)
    data = significant(y)
    return bool(len(data) and (together > 0).sum() >= 0.9 * len(together)
                and data.max() > 30 * np.quantile(data, 0.05))
