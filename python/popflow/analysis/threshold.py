"""Thresholds: doses at which half of the runs succeed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .estimate import Estimate

SCALES = ("log", "linear")


class Half:
    """A threshold: `dose` and `interval()`, as numbers or along the dimensions of a map."""

    @property
    def dose(self) -> Any:
        raise NotImplementedError

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        raise NotImplementedError

    def __str__(self) -> str:
        low, high = self.interval()
        if np.ndim(low):
            return f"{self.dose} [{low}, {high}]"
        return f"{self.dose:.3g} [{low:.3g}, {high:.3g}]"


@dataclass(frozen=True)
class Threshold(Half):
    """A dose on a logarithmic axis; the standard error is that of its natural logarithm."""

    log_dose: Estimate

    @property
    def dose(self) -> Any:
        return np.exp(self.log_dose.value)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        low, high = self.log_dose.interval(level)
        return np.exp(low), np.exp(high)


@dataclass(frozen=True)
class LinearThreshold(Half):
    """A dose on a linear axis, which may be negative; the standard error is that of the dose."""

    place: Estimate

    @property
    def dose(self) -> Any:
        return self.place.value

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        return self.place.interval(level)


def threshold(scale: str, value: Any, error: Any) -> Any:
    """Returns the threshold at `value` on an axis of scale "log" or "linear"."""
    return {"log": Threshold, "linear": LinearThreshold}[scale](Estimate(value, error))


def dose_at(scale: str, place: float) -> float:
    """Returns the dose at a position on the axis."""
    return float(np.exp(place)) if scale == "log" else float(place)


def checked_scale(scale: str) -> None:
    if scale not in SCALES:
        raise ValueError(f"scale is {' or '.join(SCALES)}, not {scale!r}")


def checked_doses(scale: str, dose: np.ndarray, fraction: np.ndarray,
                  trials: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the doses' positions on the axis in rising order, with their fractions and trials.

    Doses without a fraction or a trial are left out.
    """
    known = np.isfinite(fraction) & (trials > 0)
    dose, fraction, trials = dose[known], fraction[known], trials[known]
    if scale == "log" and (dose <= 0).any():
        raise ValueError(f"a dose on a logarithmic axis is positive; {dose.min():g} is not "
                         '(scale="linear" takes any)')
    if ((fraction < 0) | (fraction > 1)).any():
        raise ValueError("a fraction lies between 0 and 1")
    order = np.argsort(dose, kind="stable")
    dose, fraction, trials = dose[order], fraction[order], trials[order]
    if len(dose) < 2 or (np.diff(dose) == 0).any():
        raise ValueError("a threshold needs at least two doses, all of them different")
    return np.log(dose) if scale == "log" else dose, fraction, trials
