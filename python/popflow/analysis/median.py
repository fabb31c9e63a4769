"""Medians with confidence intervals that need no assumption about the distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray
from scipy import stats


@dataclass(frozen=True)
class Median:
    """Median of a sample, with a confidence interval for the distribution's median.

    The interval's coverage is at least `level`.
    """

    value: Any
    low: Any
    high: Any
    level: float

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"{self.value} [{self.low}, {self.high}]"
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def median(values: Any, dim: str | None = None, level: float = 0.95,
           missing: str = "refuse", followed: Any = None) -> Median:
    """Returns the median along `dim`, by default the last dimension.

    The interval's ends are order statistics, since the number of values below the true median is
    binomial. With too few values for the level (five or fewer for 95%) the ends are infinite.

    `missing` says what a NaN means: "omit" leaves it out; "late" takes it for an event later than
    all others, for runs that ended before the event. By default NaNs are refused.

    Late events lie above all known ones, and above `followed`, the time up to which the runs were
    observed (a number, or an array over the other dimensions). If the lower end falls on a late
    event, the lower end is `followed`, or without it the latest known event, and the upper end is
    infinite.
    """
    if missing not in ("refuse", "omit", "late"):
        raise ValueError(f"missing is refuse, omit or late, not {missing!r}")
    if followed is not None and missing != "late":
        raise ValueError(f'followed is for missing="late", not "{missing}"')
    until = -np.inf if followed is None else followed

    def row(x: np.ndarray, until: float) -> tuple:
        return of(x, until, level, missing)

    if isinstance(values, xarray.DataArray) or isinstance(until, xarray.DataArray):
        if not isinstance(values, xarray.DataArray):
            raise ValueError("followed is an xarray.DataArray, so the values must be one, too")
        found = xarray.apply_ufunc(row, values.astype(float), until,
                                   input_core_dims=[[dim or values.dims[-1]], []],
                                   output_core_dims=[[]] * 3, vectorize=True)
        found = [item if item.ndim else float(item) for item in found]
    else:
        found = [item[()] for item in np.vectorize(row, signature="(n),()->(),(),()")(
            np.asarray(values, float), np.asarray(until, float))]
    value, low, high = found
    return Median(value, low, high, level)


def of(values: np.ndarray, until: float, level: float, missing: str) -> tuple:
    """Returns the median of one sample and the ends of its interval."""
    absent = np.isnan(values)
    if absent.any() and missing == "refuse":
        raise ValueError(f"{absent.sum()} of {len(values)} values are NaN: say by missing= whether "
                         'to "omit" them or to take them for "late"')
    values = values[~absent] if missing == "omit" else np.where(absent, np.inf, values)
    if len(values) == 0:
        return np.nan, -np.inf, np.inf
    values = np.sort(values)
    n = len(values)
    # The largest k with P(fewer than k values below the median) < (1 - level)/2, on either side.
    k = int(stats.binom.ppf((1 - level) / 2, n, 0.5))
    low, high = (values[k - 1], values[n - k]) if k > 0 else (-np.inf, np.inf)
    known = values[values < np.inf]
    if len(known) and known[-1] > until > -np.inf:
        raise ValueError(f"an event at {known[-1]:g} is later than {until:g}, up to which the runs "
                         "were followed")
    if low == np.inf:  # a late event: known only to lie above this bound
        low = until if until > -np.inf else known[-1] if len(known) else -np.inf
    with np.errstate(invalid="ignore"):
        return np.median(values), low, high
