"""Power laws with errors, and their comparison with a logarithmic law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from .along import along
from .estimate import Estimate
from .line import line, log_line, logarithm
from .threshold import LinearThreshold, Threshold


@dataclass(frozen=True)
class PowerLaw:
    """y = prefactor x^exponent; `misfit` is that of a Line in the logarithms.

    `log_law_gain` is the AICc of the power law minus the AICc of the logarithmic law
    y = a + b log(x). Above 0 the logarithmic law fits better; 2 is a hint, 10 is clear.
    """

    exponent: Estimate
    log_prefactor: Estimate
    misfit: Any
    log_law_gain: Any = np.nan

    @property
    def prefactor(self) -> Any:
        return np.exp(self.log_prefactor.value)

    def __call__(self, x: Any) -> Any:
        return self.prefactor * x**self.exponent.value

    def __str__(self) -> str:
        told = f"power {self.exponent}"
        if np.ndim(self.log_law_gain):
            better = np.asarray(self.log_law_gain) > 0
            return f"{told}; a + b log(x) fits better in {better.sum()} of {better.size}" \
                if better.any() else told
        return f"{told}; a + b log(x) fits better, by {self.log_law_gain:.2g} in AICc" \
            if self.log_law_gain > 0 else told


def power_law(x: Any, y: Any, error: Any = None) -> PowerLaw:
    """Fits a line through log(y) against log(x), weighted by the standard errors of y if given.

    An error of y becomes error/y in log(y), which assumes errors that are small against y. A
    Threshold given as y brings its own error in the logarithm.
    """
    if isinstance(y, LinearThreshold):
        y, error = y.dose, y.place.error
    if isinstance(y, Threshold):
        log_y, relative = y.log_dose.value, y.log_dose.error
        fitted = log_line(x, log_y, relative)
    else:
        y = y if hasattr(y, "dims") else np.asarray(y, float)
        log_y, relative = logarithm(y, "y"), None if error is None else error / y
        fitted = line(logarithm(x, "x"), log_y, relative)
    given = relative is not None
    (gain,) = along(lambda *row: log_law_gain(given, *row), logarithm(x, "x"), log_y,
                    relative if given else 1.0, outputs=1)
    return PowerLaw(fitted.slope, fitted.intercept, fitted.misfit, gain)


def log_law_gain(given: bool, u: np.ndarray, log_y: np.ndarray, error: np.ndarray) -> float:
    """Returns the AICc of a line through log(y) against u = log(x) minus the AICc of y = a + b u.

    Both laws have two parameters, and residuals of both are taken in log(y). The difference is
    therefore one of sums of squares if the errors are known, else n times the difference of their
    logarithms.
    """
    known = np.isfinite(u) & np.isfinite(log_y) & np.isfinite(error)
    u, log_y, weight = u[known], log_y[known], 1 / error[known]**2
    n = len(u)
    if n < (2 if given else 3) or np.ptp(u) == 0:
        return np.nan
    u = u - np.average(u, weights=weight)
    centred = log_y - np.average(log_y, weights=weight)
    slope = (weight * u * centred).sum() / (weight * u**2).sum()
    power = (weight * (centred - slope * u)**2).sum()
    logarithmic = log_law_squares(u, log_y, weight, slope)
    # Sums of squares at the level of rounding carry no information.
    rounding = weight.sum() * (1e-12 * max(1, np.abs(log_y).max()))**2
    power, logarithmic = max(power, rounding), max(logarithmic, rounding)
    return float(power - logarithmic if given else n * np.log(power / logarithmic))


def log_law_squares(u: np.ndarray, log_y: np.ndarray, weight: np.ndarray, slope: float) -> float:
    """Returns the least sum of squares of log(y) - log(c (1 + s u)) over s and c.

    The logarithmic law must be positive at all u. For each s the best c has a closed form.
    """

    def squares(s: float) -> float:
        rest = log_y - np.log1p(s * u)
        return float((weight * (rest - np.average(rest, weights=weight))**2).sum())

    low, high = -1 / u.max(), -1 / u.min()
    # A grid first, dense at both ends: the sum may have several minima.
    inside = (1 + np.tanh(np.linspace(-8, 8, 65))) / 2
    grid = np.unique(np.r_[low + (high - low) * inside, np.clip(slope, 0.999 * low, 0.999 * high)])
    place = int(np.argmin([squares(s) for s in grid]))
    bounds = (grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)])
    found = minimize_scalar(squares, bounds=bounds, method="bounded",
                            options={"xatol": 1e-9 * (high - low)})
    return min(float(found.fun), squares(grid[place]))
