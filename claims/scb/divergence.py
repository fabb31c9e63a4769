"""Divergence at small batches, with l1 and without (claim 28)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from ..share import share
from .common import SMALL, TWO_STAGES, completed, flow, noisy, stage2_bound

METHODS: dict[str, dict[str, Any]] = {
    "plain SGD": {"project": "none"}, "projected SGD": {},
    "two stages without l1": {**TWO_STAGES, "l1": 0, "plateau_time": 0},
    "two stages with l1": {**TWO_STAGES, "l1": 1e-3, "plateau_time": 0}}
BATCHES = (4, 16, 32, 64)


@claim(28, BIGRAM, "Batches below 64 make SGD diverge, with l1 or without", has_long=True,
       headline=("share of runs that diverge", "two stages with l1, B = 4"),
       conditions=["plain SGD, B = 4", "two stages with l1, B = 4", "two stages with l1, B = 32"])
def smaller_batches(long: bool) -> list[Number]:
    """The paper takes the largest learning rate without divergence. For each method, rates are
    factors of sqrt 2 apart, in units of the rate 2/(T |mu|^2) at which a flow without projection
    becomes unstable. The chosen rate is the largest at which no run with a batch of 64 diverges
    until three boosting times; N = 3, T = 50 (200 in the long form). Smaller batches then train at
    the same rate, and at half of it for comparison."""
    T, runs = (200, 32) if long else (50, 12)
    start = flow(T, **SMALL)
    bound = stage2_bound(start.popflow.group("problem").mu, T)
    parts = 2.0 ** np.arange(-2.5, 1.5, 0.5)
    found: list[Number] = []
    for name, options in METHODS.items():
        trained = noisy({"batch_size": BATCHES, "learning_rate": list(bound * parts)}, **SMALL,
                        **options, context_length=T, t_end=3 * start.time_of.boosted, saves=2,
                        runs=runs)
        diverged = ~completed(trained).transpose("batch_size", "learning_rate", "run")
        works = ~diverged.sel(batch_size=64).any("run").values
        # The largest rate below which all rates work.
        chosen = int(np.argmin(works)) - 1 if not works.all() else len(parts) - 1
        found.append(Number("largest learning rate without divergence at B = 64, relative to 2/(T "
                            "|mu|^2)",
                            float(parts[chosen]) if chosen >= 0 else float("nan"), name))
        for batch in BATCHES[:-1]:
            here = diverged.sel(batch_size=batch)
            found += [Check("share of runs that diverge", share(here[max(chosen, 0)].values),
                            f"{name}, B = {batch}", least=0.95),
                      Number("share of runs that diverge at half of the rate",
                             float(here[max(chosen - 2, 0)].mean()), f"{name}, B = {batch}")]
    return found
