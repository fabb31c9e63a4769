"""Thresholds by logistic regression.

The chance of success is 1/(1 + exp(-a - b log dose)), or 1/(1 + exp(-a - b dose)) on a linear axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .along import along
from .estimate import Estimate
from .threshold import Half, checked_doses, checked_scale, dose_at, threshold


@dataclass(frozen=True)
class Logistic:
    """Threshold at which the chance of success is one half, and the slope b of its logit.

    The slope is taken in log(dose), or in the dose on a linear axis.
    """

    threshold: Half
    slope: Estimate


def logistic(dose: Any, fraction: Any, trials: Any, undetermined: str = "refuse",
             scale: str = "log") -> Logistic:
    """Fits a logistic curve by maximum likelihood; `fraction` of `trials` runs succeed at a `dose`.

    Standard errors come from the curvature of the likelihood. The curve is logistic in log(dose),
    and its threshold is a Threshold. With scale="linear" the curve is logistic in the dose, which
    may be negative, and its threshold is a LinearThreshold.

    If all runs fail up to some dose and all succeed above it, the likelihood has no maximum: only
    the two doses around the threshold are known. `undetermined="refuse"` then raises an error that
    names them; `"nan"` returns NaN.
    """
    if undetermined not in ("refuse", "nan"):
        raise ValueError(f"undetermined is refuse or nan, not {undetermined!r}")
    checked_scale(scale)
    found = along(lambda *row: fit(scale, undetermined, *row), dose, fraction, trials, outputs=4)
    return Logistic(threshold(scale, *found[:2]), Estimate(*found[2:]))


def fit(scale: str, undetermined: str, dose: np.ndarray, fraction: np.ndarray,
        trials: np.ndarray) -> tuple:
    """Returns the position on the axis at one half and the slope, each with its standard error."""
    import statsmodels.api as models  # takes a second to load

    x, p, n = checked_doses(scale, dose, fraction, trials)
    if complaint := separated(scale, x, p):
        if undetermined == "nan":
            return (np.nan,) * 4
        raise ValueError(complaint)
    # Centred, so that the two coefficients are nearly uncorrelated, and of order 1.
    centre, width = np.average(x, weights=n), np.ptp(x) if scale == "linear" else 1.0
    successes = np.rint(p * n)
    fitted = models.GLM(np.column_stack([successes, n - successes]),
                        models.add_constant((x - centre) / width),
                        family=models.families.Binomial()).fit()
    (a, b), covariance = fitted.params, fitted.cov_params()
    at = -a / b
    error = np.sqrt(np.array([1, at]) @ covariance @ np.array([1, at])) / abs(b)
    return centre + width * at, width * error, b / width, np.sqrt(covariance[1, 1]) / width


def separated(scale: str, x: np.ndarray, p: np.ndarray) -> str | None:
    """Returns why the likelihood has no maximum; empty if it has one."""
    succeeding, failing = x[p > 0], x[p < 1]
    if len(succeeding) == 0 or len(failing) == 0:
        return f"all runs {'succeed' if len(succeeding) else 'fail'}: there is no threshold"
    if succeeding.min() < failing.max() and failing.min() < succeeding.max():
        return None
    rising = failing.max() <= succeeding.min()
    low, high = ((failing.max(), succeeding.min()) if rising else
                 (succeeding.max(), failing.min()))
    return ("failures and successes do not overlap: the threshold lies between "
            f"{dose_at(scale, low):g} and {dose_at(scale, high):g}, and no slope is too steep; "
            "spearman_kaerber() needs none")
