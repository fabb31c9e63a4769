"""Checks and experiments of the models in examples/models, a module for each."""

from dataclasses import dataclass

FLOW, EXACT, NOISY, OTHER = "#1f4e79", "black", "#d95f02", "#7570b3"


@dataclass(frozen=True)
class Check:
    """A number that an exact result bounds; for other kinds of numbers, the two ends of its range."""

    what: str
    found: float
    high: float
    low: float = 0.0

    @property
    def holds(self):
        return bool(self.low <= self.found <= self.high)


def order(errors):
    """Order of convergence of a method: the mean exponent when steps are halved."""
    import numpy as np
    return float(np.log2(np.array(errors[:-1]) / errors[1:]).mean())
