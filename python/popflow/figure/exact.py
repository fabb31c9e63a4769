"""Draws boundaries and curves that are known in closed form."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import xarray

from .labels import key_of_page

SADDLE = -np.sqrt(0.5)
EXACT = {"color": "black", "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 2.5}


def valley(axes: Any, data: xarray.Dataset) -> None:
    """Draws scb's curve of least loss up to 1/T, `signal_V signal_A = 1`."""
    low, high = axes.get_xlim()
    x = np.geomspace(max(low, 1e-3 * high), high, 400)
    over(axes, x, 1 / x, r"valley, $V$ signal $\times$ $A$ signal = 1")


def separatrix(axes: Any, data: xarray.Dataset) -> None:
    """Draws markov's separatrix: the energy level of the saddle (0, -1/sqrt 2), for w < 0.

    The panel is widened to show the whole curve. Chains of independent symbols have no saddle, and
    with a free bias the basins have other boundaries in three dimensions; both cases show the
    minima instead.
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
    """Returns e at which the energy e^2 - w^2 + log|w| equals that of the saddle, for w < 0."""
    return np.sqrt(np.maximum(-(1 + np.log(2)) / 2 + w**2 - np.log(-w), 0))


def boundary(axes: Any, data: xarray.Dataset) -> None:
    """Draws the part of markov's separatrix that bounds the basin of local minima.

    This part lies left of the saddle for p + q < 1 and right of it for p + q > 1. For p + q = 1 all
    starts end in a global minimum.
    """
    if independent(data):
        return
    p, q = transitions(data)
    low, _ = axes.get_xlim()
    w = np.linspace(min(low, SADDLE), SADDLE, 400) if p + q < 1 else \
        SADDLE * np.geomspace(1, 1e-4, 600)
    over(axes, w, energy_of_saddle(w), "exact boundary")


def no_memory(axes: Any, data: xarray.Dataset) -> None:
    """Draws markov's line p + q = 1 over p and q.

    On this line the symbols are independent and there is nothing to learn; across it the basins are
    exchanged.
    """
    left, right = axes.get_xlim()
    p = np.linspace(left, right, 200)
    over(axes, p, 1 - p, "$p + q = 1$")


def minima(axes: Any, data: xarray.Dataset) -> None:
    """Draws markov's global minima, (1 + 2w|w|) e^2 = log[(1 - p)(1 - q)/(pq)].

    For independent symbols these are the two lines on which the left side is 0.
    """
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


def erf_law(axes: Any, data: xarray.Dataset) -> None:
    """Draws theorem 3 of JoMA on the weights of a linear activation with exponential attention:

    erf(v/(sqrt 2 tau)) = erf(v(0)/(sqrt 2 tau)) + sqrt(2/pi) e^c Delta t/tau. It has no parameter
    that is fitted.
    """
    from scipy.special import erf, erfinv

    parameters = data.popflow.parameters
    if (parameters["activation"], parameters["attention"]) != ("linear", "exp"):
        return
    if axes.get_label() != "over time" or "drive" not in data.popflow.group("problem"):
        return
    tau, drive = float(parameters["temperature"]), data.popflow.group("problem")["drive"]
    time = np.linspace(float(data.time[0]), float(data.time[-1]), 400)
    start = data["v"].isel({data["v"].dims[0]: 0}).transpose(*drive.dims).values.ravel()
    rate = np.sqrt(2 / np.pi) * np.exp(float(parameters["offset"])) / tau * drive.values.ravel()
    law = erf(start / (np.sqrt(2) * tau)) + rate * time[:, np.newaxis]
    v = np.sqrt(2) * tau * erfinv(np.where(np.abs(law) < 1, law, np.nan))
    for number, entry in enumerate(v.T):
        over(axes, time, entry, "law of erf(v), theorem 3" if number == 0 else "_", linewidth=0.7,
             linestyle=(0, (1, 2)))


def transitions(data: xarray.Dataset) -> tuple[float, float]:
    """Returns markov's p and q."""
    p, q = (float(data.popflow.parameters[name]) for name in "pq")
    return p, q


def independent(data: xarray.Dataset) -> bool:
    """Returns whether 1 - p - q is at most the rounding of p and q; as in markov/chain.cpp."""
    p, q = transitions(data)
    return abs((1 - max(p, q)) - min(p, q)) <= 4 * sys.float_info.epsilon


def over(axes: Any, x: Any, y: Any, label: str, **style: Any) -> None:
    """Draws a curve without changing the panel's limits; its label goes into the key of the page.

    A white rim keeps the curve visible on dark maps.
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
    if not label.startswith("_"):
        key_of_page(axes, axes.lines[-1:])
