"""Divergence at small batches, with l1 and without (claim 28)."""

from __future__ import annotations

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


@claim(28, BIGRAM, "Batches below 64 make SGD diverge, with l1 or without",
       forms=("T = 50", "T = 200"))
def smaller_batches(long: bool) -> list[Number]:
    """A run diverges if its excess loss at the end is above that at the start, or overflows; the
    share that overflows is shown beside it. N = 3, to three boosting times. Rates are factors of
    sqrt 2 apart, in units of the rate 2/(T |mu|^2) at which a flow without projection becomes
    unstable. The search for the largest rate goes up until one of 32 runs with a batch of 64
    diverges, so the rate never is the end of a grid. Smaller batches then train at this rate, and
    at half of it for comparison, in 100 runs."""
    T = 200 if long else 50
    start = flow(T, **SMALL)
    bound = stage2_bound(start.popflow.group("problem").mu, T)
    common = {**SMALL, "context_length": T, "t_end": 3 * start.time_of.boosted, "saves": 2}
    found: list[Number] = []
    for name, options in METHODS.items():
        largest = search({**common, **options}, bound)
        found.append(Number("largest learning rate without divergence at B = 64, relative to "
                            "2/(T |mu|^2)", largest, name))
        trained = noisy({"batch_size": BATCHES, "learning_rate": [bound * largest / 2,
                                                                  bound * largest]},
                        **common, **options, runs=100)
        above = diverged(trained)
        for batch in BATCHES:
            where = f"{name}, B = {batch}"
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
    """Returns the largest rate, in units of the bound, up to which no run with a batch of 64
    diverges."""
    exponent = -2.5
    while exponent < 10:
        parts = 2.0 ** np.arange(exponent, exponent + 3, 0.5)
        trained = noisy({"learning_rate": list(bound * parts)}, **options, batch_size=64, runs=32)
        fails = diverged(trained).any("run").values
        if fails.any():
            return float(parts[0] * 2 ** ((np.argmax(fails) - 1) / 2))
        exponent += 3
    raise ValueError(f"no rate up to 2^{exponent:g} times the bound makes batches of 64 diverge; "
                     f"widen the search")
