"""Linear or logarithmic? As the user says, or as the numbers are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .labels import number

WORDS = ("none", "x", "y", "xy")


def set_scales(axes: Any, x: Any, y: Any, log: str | None) -> None:
    """Logarithmic where `log` says so; where it is None, where the numbers ask for it.

    A curve has a gap where it is not positive; a band there goes on to the foot of the panel.
    """
    if "x" in log if log else log is None and spaced_by_factors(x):
        axes.set_xscale("log", nonpositive="mask")
    if "y" in log if log else log is None and over_decades(y):
        axes.set_yscale("log", nonpositive="mask")
        bands_to_the_foot(axes)
        without_roundings(axes, y)
    for scale, along in ((axes.get_xscale(), axes.xaxis), (axes.get_yscale(), axes.yaxis)):
        if scale == "log":
            decades(along)


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
    y = np.asarray(y, float).ravel()
    y = y[np.isfinite(y) & (y > 0)]
    if len(y) and y.min() < 1e-6 * (low := np.quantile(y, 0.05)):
        axes.set_ylim(low / 10, 2 * y.max())


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
    y = np.asarray(y, float).ravel()
    y = y[np.isfinite(y)]
    positive = y[y > 0]
    return (len(positive) >= 0.9 * len(y) > 0
            and positive.max() > 30 * np.quantile(positive, 0.05))
