"""The share of runs in which something happened."""

from __future__ import annotations

from typing import Any

import numpy as np

from popflow.analysis import Estimate


def share(happened: Any) -> Estimate:
    """The probability behind runs that happened or not (Agresti and Coull: two more of either are
    counted, so that what was never seen is not taken for impossible)."""
    happened = np.asarray(happened)
    trials = happened.size + 4
    probability = (np.count_nonzero(happened) + 2) / trials
    return Estimate(probability, np.sqrt(probability * (1 - probability) / trials))
