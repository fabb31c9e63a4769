"""Share of runs with a given outcome."""

from __future__ import annotations

from typing import Any

import numpy as np

from popflow.analysis import Estimate


def share(happened: Any) -> Estimate:
    """Estimates a probability from counts of runs. Following Agresti and Coull, two runs of either
    outcome are added, so that an outcome that was never seen does not count as impossible."""
    happened = np.asarray(happened)
    trials = happened.size + 4
    probability = (np.count_nonzero(happened) + 2) / trials
    return Estimate(probability, np.sqrt(probability * (1 - probability) / trials))
