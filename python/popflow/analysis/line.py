"""Straight lines with errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .along import along
from .estimate import Estimate


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x.

    `misfit` is the sum of squared deviations over the degrees of freedom. If errors of y were
    given, deviations are in their units, and a misfit near 1 means that the line fits.
    """

    intercept: Estimate
    slope: Estimate
    misfit: Any

    def __call__(self, x: Any) -> Any:
        return self.intercept.value + self.slope.value * x


def line(x: Any, y: Any, error: Any = None) -> Line:
    """Fits a line through (x, y) by least squares; NaNs are left out.

    With standard errors of y, the points are weighted by them and the line's errors follow from
    them. Without standard errors, the line's errors follow from the scatter about the line (at
    least three points).
    """
    given = error is not None
    found = along(lambda *row: fit(given, *row), x, y, error if given else 1.0, outputs=6)
    intercept, intercept_error, slope, slope_error, misfit, freedom = found
    known = np.inf if given else freedom
    return Line(Estimate(intercept, intercept_error, known), Estimate(slope, slope_error, known),
                misfit)


def log_line(x: Any, y: Any, error: Any = None) -> Line:
    """Fits y = a + b log(x), with the natural logarithm."""
    return line(logarithm(x, "x"), y, error)


def logarithm(values: Any, name: str) -> Any:
    values = values if hasattr(values, "dims") else np.asarray(values, float)
    if bool((values <= 0).any()):
        raise ValueError(f"{name} has a value that is not positive, which has no logarithm")
    return np.log(values)


def fit(given: bool, x: np.ndarray, y: np.ndarray, error: np.ndarray) -> tuple:
    """Returns intercept and slope with their errors, misfit and degrees of freedom of one line."""
    known = np.isfinite(x) & np.isfinite(y) & np.isfinite(error)
    x, y, error = x[known], y[known], error[known]
    if (error <= 0).any():
        raise ValueError("standard errors must be positive")
    freedom = len(x) - 2
    if freedom < (0 if given else 1) or np.ptp(x) == 0:
        return (np.nan,) * 5 + (max(freedom, 0),)
    weight = 1 / error**2
    centre = np.average(x, weights=weight)
    spread = (weight * (x - centre)**2).sum()
    middle = np.average(y, weights=weight)
    slope = (weight * (x - centre) * y).sum() / spread
    squares = (weight * (y - middle - slope * (x - centre))**2).sum()
    misfit = squares / freedom if freedom else np.nan
    scale = 1 if given else misfit
    return (middle - slope * centre, np.sqrt(scale * (1 / weight.sum() + centre**2 / spread)),
            slope, np.sqrt(scale / spread), misfit, freedom)
