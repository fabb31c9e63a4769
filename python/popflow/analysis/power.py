"""Power laws with errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .estimate import Estimate
from .line import line, log_line, logarithm
from .threshold import Threshold


@dataclass(frozen=True)
class PowerLaw:
    """y = prefactor x^exponent; `misfit` as of a Line in the logarithms."""

    exponent: Estimate
    log_prefactor: Estimate
    misfit: Any

    @property
    def prefactor(self) -> Any:
        return np.exp(self.log_prefactor.value)

    def __call__(self, x: Any) -> Any:
        return self.prefactor * x**self.exponent.value

    def __str__(self) -> str:
        return f"power {self.exponent}"


def power_law(x: Any, y: Any, error: Any = None) -> PowerLaw:
    """The line through log(y) against log(x), with the standard errors of y, if given, as weights:
    an error of y is one of error/y in log(y), which takes errors that are small against y. A
    Threshold for y has its own, in the logarithm.
    """
    if isinstance(y, Threshold):
        fitted = log_line(x, y.log_dose.value, y.log_dose.error)
        return PowerLaw(fitted.slope, fitted.intercept, fitted.misfit)
    relative = None if error is None else error / y
    fitted = line(logarithm(x, "x"), logarithm(y, "y"), relative)
    return PowerLaw(fitted.slope, fitted.intercept, fitted.misfit)
