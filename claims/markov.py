"""Markov chains: energy, basins, and where the starts end (claims 16 to 20)."""

from __future__ import annotations

import numpy as np

import popflow

from .claim import Check, Number, claim
from .papers import MARKOV


@claim(16, MARKOV, "the flow conserves the energy",
       experiments=["markov-small-start-correlated", "markov-high-energy"])
def energy(long: bool) -> list[Number]:
    """The largest change of the energy along the flow, over starts in the plane and both signs of
    p + q - 1. It is the solver's error, since it falls with the tolerance."""
    del long
    found = []
    for rtol in (1e-6, 1e-10):
        runs = popflow.sweep("markov", {"e0": popflow.linear(-1.5, 1.5, 8),
                                        "w0": popflow.linear(-1.5, 1.5, 8), "q": [0.3, 0.9]},
                             record="series", p=0.3, t_end=50, rtol=rtol, atol=rtol / 100)
        drift = np.abs(runs.energy - runs.energy.isel(time=0)).max()
        found.append(Check("largest change of the energy", float(drift), f"rtol = {rtol:g}",
                           most=100 * rtol))
    return found
