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

    `misfit` is the sum of squared deviations, in units of the errors where these were given, over
    the degrees of freedom: then near 1 if the line describes the data.
    """

    intercept: Estimate
    slope: Estimate
    misfit: Any

    def __call__(self, x: Any) -> Any:
        return self.intercept.value + self.slope.value * x


def line(x: Any, y: Any, error: Any = None) -> Line:
    """The line through (x, y) by least squares.

    With the standard errors of y given, points are weighted by them and the line's errors follow
    from them. Without, the scatter about the line tells (three points at least). NaNs are left out.
    """
    given = error is not None
    found = along(lambda *row: fit(given, *row), x, y, error if given else 1.0, outputs=6)
    intercept, intercept_error, slope, slope_error, misfit, freedom = found
    known = np.inf if given else freedom
    return Line(Estimate(intercept, intercept_error, known), Estimate(slope, slope_error, known),
                misfit)


def log_line(x: Any, y: Any, error: Any = None) -> Line:
    """The line y = a + b log(x), with the natural logarithm."""
    return line(logarithm(x, "x"), y, error)


def logarithm(values: Any, name: str) -> Any:
    values = values if hasattr(values, "dims") else np.asarray(values, float)
    if bool((values <= 0).any()):
        raise ValueError(f"{name} has a value that is not positive, which has no logarithm")
    return np.log(values)


def fit(given: bool, x: np.ndarray, y: np.ndarray, error: np.ndarray) -> tuple:
    """Intercept and slope, each with its error, misfit and degrees of freedom of one line."""
    known = np.isfinite(x) & np.isfinite(y) & np.isfinite(error)
    x, y, error = x[known], y[known], error[known]
    if (error <= 0).any():
        raise ValueError("a standard error is positive")
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
