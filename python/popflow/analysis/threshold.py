"""The dose at which half of the runs succeed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .estimate import Estimate


@dataclass(frozen=True)
class Threshold:
    """A dose on a logarithmic axis: the natural logarithm of it has the standard error."""

    log_dose: Estimate

    @property
    def dose(self) -> Any:
        return np.exp(self.log_dose.value)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        low, high = self.log_dose.interval(level)
        return np.exp(low), np.exp(high)

    def __str__(self) -> str:
        low, high = self.interval()
        if np.ndim(low):
            return f"{self.dose} [{low}, {high}]"
        return f"{self.dose:.3g} [{low:.3g}, {high:.3g}]"


def checked_doses(dose: np.ndarray, fraction: np.ndarray,
                  trials: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logarithms of the doses in rising order with the fractions and trials that belong to them.
    Doses without a fraction or a trial are left out."""
    known = np.isfinite(fraction) & (trials > 0)
    dose, fraction, trials = dose[known], fraction[known], trials[known]
    if (dose <= 0).any():
        raise ValueError(f"a dose on a logarithmic axis is positive; {dose.min():g} is not")
    if ((fraction < 0) | (fraction > 1)).any():
        raise ValueError("a fraction lies between 0 and 1")
    order = np.argsort(dose, kind="stable")
    dose, fraction, trials = dose[order], fraction[order], trials[order]
    if len(dose) < 2 or (np.diff(dose) == 0).any():
        raise ValueError("a threshold takes two doses at least, all of them different")
    return np.log(dose), fraction, trials
