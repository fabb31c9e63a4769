"""A number with its standard error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and the degrees of freedom of that error.

    The degrees of freedom are infinite if the errors of the data were known.
    """

    value: Any
    error: Any
    freedom: Any = np.inf

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Returns the confidence interval of this `level`."""
        reach = stats.t.ppf((1 + level) / 2, self.freedom) * self.error
        return self.value - reach, self.value + reach

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"{self.value} ± {self.error}"
        if not np.isfinite(self.error) or self.error <= 0:
            return f"{self.value:.3g} ± {self.error:.2g}"
        # Two digits of the error, and the value rounded to the same place.
        places = max(0, 1 - int(np.floor(np.log10(self.error))))
        return f"{self.value:.{places}f} ± {self.error:.{places}f}"
