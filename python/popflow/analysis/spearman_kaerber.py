"""Thresholds without a model of the curve: the Spearman-Kaerber estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from .along import along
from .threshold import checked_doses, checked_scale, dose_at, threshold

# A curve with more than this fraction beyond an end is refused: too little is known of the tail.
MOST_BEYOND = 0.25


def spearman_kaerber(dose: Any, fraction: Any, trials: Any, ends: str = "refuse",
                     undetermined: str = "refuse", scale: str = "log") -> Any:
    """Estimates the mean log dose at which a run begins to succeed, as a Threshold.

    With scale="linear" the function estimates the mean dose, which may be negative, as a
    LinearThreshold.

    `fraction` of `trials` runs succeed at a `dose`. Made monotone by pooling neighbours, the
    fractions are the distribution function of the runs' own thresholds, whose mean is returned. For
    a symmetric curve this is the dose at which half of the runs succeed.

    The estimate needs the whole curve, from 0 to 1. If the doses do not reach that far,
    ends="refuse" raises an error that names the end where doses are missing. ends="extend" adds one
    dose with a fraction of 0 or 1, at the distance of the last two doses. A curve with more than a
    quarter beyond an end is still refused. undetermined="nan" returns NaN in place of an error.

    The standard error combines the binomial error of the fractions with the uncertainty of the
    thresholds' positions between two doses, which makes intervals conservative.
    """
    for name, value, words in (("ends", ends, ("refuse", "extend")),
                               ("undetermined", undetermined, ("refuse", "nan"))):
        if value not in words:
            raise ValueError(f"{name} is {' or '.join(words)}, not {value!r}")
    checked_scale(scale)

    def row(*own: np.ndarray) -> tuple:
        try:
            return estimate(*reaching(scale, *checked_doses(scale, *own), extend=ends == "extend"))
        except Unreached:
            if undetermined == "nan":
                return np.nan, np.nan
            raise

    return threshold(scale, *along(row, dose, fraction, trials, outputs=2))


def estimate(x: np.ndarray, p: np.ndarray, n: np.ndarray) -> tuple:
    """Returns the mean and its standard error for a curve from 0 to 1."""
    p = rising(p, n)
    share, width = np.diff(p), np.diff(x)
    middle = (share * (x[1:] + x[:-1]) / 2).sum()
    sampling = (((x[2:] - x[:-2]) / 2)**2 * (p * (1 - p) / np.maximum(n - 1, 1))[1:-1]).sum()
    # The position of each share within its interval is unknown and independent of the others.
    placing = (share**2 * width**2 / 12).sum()
    return middle, np.sqrt(sampling + placing)


class Unreached(ValueError):
    """The fractions do not reach from 0 to 1."""


def reaching(scale: str, x: np.ndarray, p: np.ndarray, n: np.ndarray, extend: bool) -> tuple:
    """Returns the curve from 0 to 1, extended by one dose at an end that falls short."""
    pooled = rising(p, n)
    low, high = pooled[0], 1 - pooled[-1]
    for beyond, end, place, there, wanted in (
            (low, "lowest", x[0], low, "lower"), (high, "highest", x[-1], 1 - high, "higher")):
        if beyond > (MOST_BEYOND if extend else 0):
            hint = ' or ends="extend"' if beyond <= MOST_BEYOND else ""
            raise Unreached(f"at the {end} dose, {dose_at(scale, place):g}, the fraction is "
                            f"{there:.3g}: the estimate needs {wanted} doses{hint}")
    if low > 0:
        x, p, n = np.r_[2 * x[0] - x[1], x], np.r_[0, p], np.r_[n[0], n]
    if high > 0:
        x, p, n = np.r_[x, 2 * x[-1] - x[-2]], np.r_[p, 1], np.r_[n, n[-1]]
    return x, p, n


def rising(p: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Returns the nearest non-decreasing sequence, which pools decreasing neighbours."""
    means: list[float] = []
    weights: list[float] = []
    lengths: list[int] = []
    for value, own in zip(p, weight):
        length = 1
        while means and means[-1] >= value:
            other = weights.pop()
            value = (means.pop() * other + value * own) / (other + own)
            own += other
            length += lengths.pop()
        means.append(value)
        weights.append(own)
        lengths.append(length)
    return np.repeat(means, lengths)
