"""Another start of V (claim 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

import popflow
from popflow.analysis import power_law

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import SUPPORT, mean


@claim(7, BIGRAM, "a uniform start differs from the stationary one by O(1/N)",
       experiments=["scb-uniform-start"], has_long=True)
def uniform_start(long: bool) -> list[Number]:
    """Two runs along the way to twice the boosting time, T = 100; their differences, the mean over
    problems, and the power of N with which that falls.

    At the start the excess loss differs by |1/N - mu|^2 / 2, whatever trains, which falls as 1/N^2.
    With the projection, as the paper trains, V's mean relaxes by itself: this difference decays as
    e^(-2t), which is checked, and the signals do not differ at all: what is found is rounding.
    Without the projection the signals differ along the flow, and so does the loss when they grow.
    These differences are therefore looked for in the loss after half the boosting time, when
    that of the start has decayed: signal_V differs by what falls a little faster than 1/N, and the
    loss by what falls faster than that. SGD on the same samples, with the projection, differs by
    less, in both. The solver's own error is the largest change of a difference at a tenth of the
    tolerance, in one problem of each N."""
    vocabularies, problems = (5, 10, 20, 40, 80, *((160,) if long else ())), 12
    chains = popflow.sweep("scb", {"vocab_size": vocabularies,
                                   "problem_seed": range(1, problems + 1)},
                           context_length=100, **SUPPORT, show=False).time_of.boosted
    flow = both(chains, {**SUPPORT, "rtol": 1e-11})
    free = both(chains, FREE)
    tighter = both(chains.sel(problem_seed=[1]), {**FREE, "rtol": 1e-10})
    sampled = both(chains, {"mode": "sgd", "batch_size": 64, "learning_rate": 0.05,
                            "same_seed": True})
    loss, start = apart(flow, "excess_loss"), "start"
    decay = loss.isel(save=0) * np.exp(-2 * flow.time.sel(init_value="uniform"))
    found: list[Number] = [
        *power(loss.isel(save=0), flow.vocab_size, "difference of excess_loss at the start", start),
        Check("largest difference of signal_V", float(apart(flow, "signal_V").max()), "flow",
              most=1e-10),
        Check("largest deviation of the difference of excess_loss from e^(-2t) of the first",
              float((np.abs(loss - decay) / loss.isel(save=0)).max()), "flow", most=1e-6)]
    for name, runs in (("flow without the projection", free), ("SGD", sampled)):
        late = runs.time.sel(init_value="uniform") >= runs.time.isel(save=-1).max("init_value") / 4
        for item, words, difference in (
                ("signal_V", "", apart(runs, "signal_V")),
                ("excess_loss", " after half the boosting time",
                 apart(runs, "excess_loss").where(late))):
            found += power(difference.max("save"), runs.vocab_size,
                           f"largest difference of {item}{words}", name)
            if runs is free:
                found.append(Number("the same: change at a tenth of the tolerance",
                                    change(free, tighter, item), name))
    return found


FREE = {"project": "none", "rtol": 1e-9}


def both(chains: xarray.DataArray, options: dict[str, Any]) -> xarray.Dataset:
    """From either start, to twice the boosting time of each chain."""
    chains = chains.stack(chain=("vocab_size", "problem_seed"))
    over = {"chain": {"vocab_size": chains.vocab_size.values, "t_end": 2 * chains.values,
                      "problem_seed": chains.problem_seed.values},
            "init_value": ["stationary", "uniform"]}
    return popflow.sweep("scb", over, record="series", saves=51, context_length=100, state="none",
                         show=False, **options).squeeze()


def apart(runs: xarray.Dataset, item: str) -> xarray.DataArray:
    return np.abs(runs[item].sel(init_value="stationary") - runs[item].sel(init_value="uniform"))


def change(runs: xarray.Dataset, others: xarray.Dataset, item: str) -> float:
    """Of the difference, in the chains that `others` has."""
    chosen = (runs.problem_seed == 1).values
    return float(np.abs(apart(runs, item).values[chosen] - apart(others, item).values).max())


def power(differences: xarray.DataArray, sizes: xarray.DataArray, what: str,
          where: str) -> list[Number]:
    """How the mean over problems falls with N."""
    means = {int(N): mean(values) for N, values in differences.groupby(sizes)}
    exponent = power_law(list(means), np.array([one.value for one in means.values()]),
                         np.array([one.error for one in means.values()])).exponent
    N, last = list(means.items())[-1]
    return [Check(f"power of N of the {what}", exponent, where, most=-0.8),
            Number(f"{what}, N = {N}", last, where)]
