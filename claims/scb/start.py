"""Another start of V (claim 7)."""

from __future__ import annotations

from typing import Any

import numpy as np

import popflow
from popflow.analysis import power_law

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import SUPPORT, mean


@claim(7, BIGRAM, "a uniform start differs from the stationary one by O(1/N)",
       experiments=["scb-uniform-start"], has_long=True)
def uniform_start(long: bool) -> list[Number]:
    """The largest difference between the two runs along the way to twice the boosting time, its
    mean over problems, and the power of N with which that falls (T = 100).

    With the projection, as the paper trains, V's mean relaxes by itself and the signals do not
    differ at all: what is found is rounding. The excess loss then differs by
    e^(-2t) |1/N - mu|^2 / 2, which falls as 1/N^2. Without the projection signal_V differs along
    the flow, by what falls a little faster than 1/N. SGD on the same samples differs by less
    than the claim allows, in both."""
    vocabularies, problems = ((5, 10, 20, 40, 80, 160), 40) if long else ((5, 10, 20, 40, 80), 12)
    seeds = range(1, problems + 1)
    times = popflow.sweep("scb", {"vocab_size": vocabularies, "problem_seed": seeds},
                          context_length=100, **SUPPORT, show=False)
    chains = times.time_of.boosted.stack(chain=("vocab_size", "problem_seed"))
    over = {"chain": {"vocab_size": chains.vocab_size.values, "t_end": 2 * chains.values,
                      "problem_seed": chains.problem_seed.values},
            "init_value": ["stationary", "uniform"]}
    found: list[Number] = []
    for name, options in (
            ("flow", {**SUPPORT, "rtol": 1e-11}),
            ("flow without the projection", {"project": "none", "rtol": 1e-9}),
            ("SGD", {"mode": "sgd", "batch_size": 64, "learning_rate": 0.05, "same_seed": True})):
        runs = popflow.sweep("scb", over, record="series", saves=51, context_length=100,
                             state="none", show=False, **options)
        for item in ("signal_V", "excess_loss"):
            found += powers(runs, item, name, vocabularies)
    return found


def powers(runs: Any, item: str, where: str, vocabularies: tuple[int, ...]) -> list[Number]:
    """How one observable's largest difference falls with N."""
    both = runs[item].squeeze()
    apart = np.abs(both.sel(init_value="stationary") - both.sel(init_value="uniform")).max("save")
    means = [mean(values) for _, values in apart.groupby(runs.vocab_size)]
    what = f"largest difference of {item}"
    last = Number(f"{what} at N = {vocabularies[-1]}", means[-1], where)
    if means[0].value < 1e-10:
        return [Check(what, max(one.value for one in means), where, most=1e-10)]
    power = power_law(vocabularies, np.array([one.value for one in means]),
                      np.array([one.error for one in means])).exponent
    return [Check(f"power of N of the {what}", power, where, most=-0.8), last]
