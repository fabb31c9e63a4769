"""Divergence at small batches, with l1 and without (claim 28)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import xarray

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from ..share import share
from .common import SMALL, TWO_STAGES, completed, flow, noisy, stage2_bound

METHODS: dict[str, dict[str, Any]] = {
    "plain SGD": {"project": "none"}, "projected SGD": {},
    "two stages without l1": {**TWO_STAGES, "l1": 0, "plateau_time": 0},
    "two stages with l1": {**TWO_STAGES, "l1": 1e-3, "plateau_time": 0}}
BATCHES = (4, 16, 32)


@claim(28, BIGRAM, "Batches below 64 make SGD diverge, with l1 or without", forms=("", ""))
def smaller_batches(long: bool) -> list[Number]:
    """A run diverges if its excess loss at the end is above that at the start, or overflows; the
    share that overflows is shown beside it. N = 3, to three boosting times. Rates are factors of
    sqrt 2 apart, in units of the rate 2/(T |mu|^2) at which a flow without projection becomes
    unstable. The search for the largest rate comes down from 1024 times this unit, until none of 32
    runs with a batch of 64 diverges. Large rates take few steps, so most of the search is cheap.
    Smaller batches then train at this rate, and at half of it for comparison, in 100 runs.

    The short form has T = 50. The long form has T = 200, and the paper's T = 5000 for projected SGD
    alone. Without the projection the largest rate is 1.4 times the unit at T = 50 and T = 200. At
    such a rate 32 runs with a batch of 64 take about an hour at T = 5000."""
    if not long:
        return [number for name in METHODS for number in at_largest_rate(name, 50)]
    return [*(number for name in METHODS for number in at_largest_rate(name, 200)),
            *at_largest_rate("projected SGD", 5000)]


def at_largest_rate(name: str, T: int) -> list[Number]:
    """Measures how often smaller batches diverge at the largest rate of batches of 64."""
    start = flow(T, **SMALL)
    bound = stage2_bound(start.popflow.group("problem").mu, T)
    common = {**SMALL, **METHODS[name], "context_length": T, "t_end": 3 * start.time_of.boosted,
              "saves": 2}
    largest = search(common, bound)
    found: list[Number] = [
        Number("largest learning rate without divergence at B = 64, relative to 2/(T |mu|^2)",
               largest, f"{name} (T = {T})")]
    trained = noisy({"batch_size": BATCHES, "learning_rate": [bound * largest / 2,
                                                              bound * largest]},
                    **common, runs=100)
    above = diverged(trained)
    for batch in BATCHES:
        where = f"{name}, B = {batch} (T = {T})"
        half, full = above.sel(batch_size=batch).transpose("learning_rate", "run").values
        overflown = ~completed(trained).sel(batch_size=batch).isel(learning_rate=1)
        found += [Check("share of runs that diverge", share(full), where, least=0.95),
                  Number("share of runs that overflow", float(overflown.mean()), where),
                  Number("share of runs that diverge at half of the rate", share(half), where)]
    return found


def diverged(trained: xarray.Dataset) -> xarray.DataArray:
    """Tells which runs have not come below their initial loss."""
    first, last = (trained.excess_loss.isel({trained.excess_loss.dims[-1]: at}) for at in (0, -1))
    return ~(last <= first) | ~completed(trained)


def search(options: dict[str, Any], bound: float) -> float:
    """Returns the largest rate, in units of the bound, at which no run with a batch of 64 diverges.
    Eight runs suffice to reject a rate; a rate that they leave has 32 runs. At the next lower rate
    none of eight may diverge either, so that a gap between rates that diverge does not count."""
    def stable(exponent: float, runs: int) -> bool:
        trained = noisy({"learning_rate": [bound * 2.0**exponent]}, **options, batch_size=64,
                        runs=runs)
        return not diverged(trained).any()

    exponents = np.arange(10, -5.5, -0.5)
    for exponent, lower in itertools.pairwise(exponents):
        if stable(exponent, 8) and stable(exponent, 32) and stable(lower, 8):
            if exponent == exponents[0]:
                break
            return float(2.0**exponent)
    raise ValueError("the largest rate without divergence is not between 2^-5 and 2^10 times the "
                     "bound; widen the search")
