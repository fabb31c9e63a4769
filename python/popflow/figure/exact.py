"""Boundaries and curves that are known exactly, drawn over what was computed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import xarray

from .labels import key_of_page

SADDLE = -np.sqrt(0.5)
EXACT = {"color": "black", "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 2.5}


def valley(axes: Any, data: xarray.Dataset) -> None:
    """scb: along `signal_V signal_A = 1` the loss is least, up to 1/T."""
    low, high = axes.get_xlim()
    x = np.geomspace(max(low, 1e-3 * high), high, 400)
    over(axes, x, 1 / x, r"valley, $V$ signal $\times$ $A$ signal = 1")


def separatrix(axes: Any, data: xarray.Dataset) -> None:
    """markov: the energy of the saddle (0, -1/sqrt 2), which separates basins where w < 0.

    The panel is widened to show it whole. Where symbols are independent there is no saddle and
    nothing to separate, and with a free bias basins have other boundaries, in three dimensions; the
    panel shows the minima, then.
    """
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    axes.set_xlim(min(left, -1.5), max(right + 0.1, 0.1))
    axes.set_ylim(min(low, -0.05), max(high + 0.05, 1.1))
    if independent(data) or data.popflow.parameters["bias"] == "free":
        return
    w = SADDLE * np.concatenate([np.linspace(-axes.get_xlim()[0] / -SADDLE, 1, 300),
                                 np.geomspace(1, 1e-4, 300)])
    over(axes, w, energy_of_saddle(w), "separatrix")
    axes.plot([SADDLE], [0], "x", color="black")


def energy_of_saddle(w: Any) -> Any:
    """e where the energy e^2 - w^2 + log|w| is that of the saddle, for w < 0."""
    return np.sqrt(np.maximum(-(1 + np.log(2)) / 2 + w**2 - np.log(-w), 0))


def boundary(axes: Any, data: xarray.Dataset) -> None:
    """markov: the part of the separatrix that bounds the starts which end in a local minimum: left
    of the saddle for p + q < 1, right of it for p + q > 1; for p + q = 1 all end in a global one.
    """
    if independent(data):
        return
    p, q = transitions(data)
    low, _ = axes.get_xlim()
    w = np.linspace(min(low, SADDLE), SADDLE, 400) if p + q < 1 else \
        SADDLE * np.geomspace(1, 1e-4, 600)
    over(axes, w, energy_of_saddle(w), "exact boundary")


def no_memory(axes: Any, data: xarray.Dataset) -> None:
    """markov, over p and q: on p + q = 1 the chain forgets, and there is nothing to learn; across
    it the basins are exchanged."""
    left, right = axes.get_xlim()
    p = np.linspace(left, right, 200)
    over(axes, p, 1 - p, "$p + q = 1$")


def minima(axes: Any, data: xarray.Dataset) -> None:
    """markov: the global minima, (1 + 2w|w|) e^2 = log[(1 - p)(1 - q)/(pq)]; for independent
    symbols both lines on which the left side is 0."""
    p, q = transitions(data)
    left, right = axes.get_xlim()
    if independent(data):
        w = np.array([left, right, np.nan, SADDLE, SADDLE])
        e = np.array([0, 0, np.nan, *axes.get_ylim()])
    else:
        w = np.linspace(left, right, 800)
        with np.errstate(divide="ignore", invalid="ignore"):
            e = np.sqrt(np.log((1 - p) * (1 - q) / (p * q)) / (1 + 2 * w * np.abs(w)))
    over(axes, w, e, "global minima", linestyle=(0, (1, 1)))


def transitions(data: xarray.Dataset) -> tuple[float, float]:
    """markov: p and q."""
    p, q = (float(data.popflow.parameters[name]) for name in "pq")
    return p, q


def independent(data: xarray.Dataset) -> bool:
    """markov: is 1 - p - q no more than the rounding of p and q? dynamics/markov/chain.cpp asks
    the same."""
    p, q = transitions(data)
    return abs((1 - max(p, q)) - min(p, q)) <= 4 * sys.float_info.epsilon


def over(axes: Any, x: Any, y: Any, label: str, **style: Any) -> None:
    """The curve inside the panel as it is: nothing is moved for it. Its key is that of the page.

    A white rim keeps it visible on dark maps.
    """
    from matplotlib.patheffects import withStroke

    limits = axes.get_xlim(), axes.get_ylim()
    (left, right), (low, high) = limits
    if not ((x >= left) & (x <= right) & (y >= low) & (y <= high)).any():
        return
    axes.plot(x, y, label=label, path_effects=[withStroke(linewidth=2.2, foreground="white")],
              **{**EXACT, **style})
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
    key_of_page(axes, axes.lines[-1:])
