"""Probability that noise turns the sign of a signal."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, stats

from popflow.analysis import Estimate


def power_of_length(length: Any, batch: Any, right: Any, trials: Any) -> Estimate:
    """Returns the exponent of T in the batch size that keeps the probability of the right sign
    fixed.

    Noise moves a signal at its start at random, while a drift pulls it one way. The signal has the
    sign of the drift with a probability Phi(a B^b / T^c), so the batch size at a given probability
    grows as T^(c/b). Maximum likelihood gives a, b and c; the error follows from its curvature."""
    x, y = np.log(np.asarray(batch, float)), np.log(np.asarray(length, float))
    x, y = x - x.mean(), y - y.mean()
    right, wrong = np.asarray(right), np.asarray(trials) - np.asarray(right)

    def unlikely(parameters: np.ndarray) -> float:
        a, b, c = parameters
        z = np.exp(a + b * x - c * y)
        return float(-(right * stats.norm.logcdf(z) + wrong * stats.norm.logcdf(-z)).sum())

    best = optimize.minimize(unlikely, (0.0, 0.5, 0.5), method="Nelder-Mead",
                             options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 4000}).x
    covariance = np.linalg.inv(curvature(unlikely, best))
    _, b, c = best
    slope = np.array([0, -c / b**2, 1 / b])
    return Estimate(c / b, float(np.sqrt(slope @ covariance @ slope)))


def curvature(function: Any, at: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Second derivatives by central differences."""
    ways = step * np.eye(len(at))
    return np.array([[(function(at + one + other) - function(at + one - other)
                       - function(at - one + other) + function(at - one - other)) / (4 * step**2)
                      for other in ways] for one in ways])


def at_most(successes: int, trials: int) -> float:
    """Returns the upper end of the exact, one-sided 95% interval for a probability."""
    return float(stats.beta.ppf(0.95, successes + 1, trials - successes))
