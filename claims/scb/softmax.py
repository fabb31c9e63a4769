"""Softmax and linear attention (claims 8 and 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from ..share import share as share_of
from .common import SUPPORT, TWO_STAGES, mean, noisy, stands_out

PROBLEM: dict[str, Any] = {"vocab_size": 5, "sparsity": 2, "transition_concentration": 0.3,
                           "show": False}
SOFTMAX = {"attention": "softmax"}


@claim(8, BIGRAM, "softmax behaves like linear attention near the start at a rate slower by T^2, "
       "and later sparsifies like l1", experiments=["scb-softmax"], has_long=True)
def softmax(long: bool) -> list[Number]:
    """Near the start both kinds of attention see the same V, and signal_A after one unit of
    time, times T^2, is compared (flow, N = 5). Later the linear flow has amplified its signals
    long since, so softmax is held against what linear attention would do with the V of the
    softmax flow: `T^2 dA/dt = K_P V (1 - V A)` for signals V and A. Up to t = T/10 that is met
    within a per cent; the deviation grows with t/T.

    Sparsity: the share of the sum of |A| that lies at the positions of Q, in SGD at equal
    learning rates and batches (1/T and 64), each to twice the time at which its flow is boosted.
    Softmax, which multiplies weights away, has a larger share than linear attention without l1,
    the one that linear attention has with a lambda of 0.01 throughout; but a smaller one than
    training in two stages, whose threshold sets weights to zero at once. It takes T times as
    long to get there."""
    return [*slower(), *sparser((50, 100) if long else (50,))]


def slower() -> list[Number]:
    found: list[Number] = []
    for T in (100, 1000, 10000):
        ends, changes = {}, {}
        for rtol in (1e-10, 1e-11):
            for attention in ("linear", "softmax"):
                run = popflow.run("scb", **PROBLEM, **SUPPORT, context_length=T, t_end=1, saves=2,
                                  attention=attention, rtol=rtol, atol=rtol / 100)
                ends[attention] = float(run.signal_A[-1])
            changes[rtol] = ends["softmax"] * T**2 / ends["linear"]
        found += [Check("T^2 times the ratio of signal_A, softmax to linear", changes[1e-11],
                        f"start at T = {T}", least=0.99, most=1.01),
                  Number("the same: change at ten times the tolerance",
                         abs(changes[1e-10] - changes[1e-11]), f"start at T = {T}")]
    T = 1000
    run = popflow.run("scb", **PROBLEM, **SUPPORT, **SOFTMAX, context_length=T, t_end=2 * T,
                      saves=2001, rtol=1e-10, atol=1e-12)
    linear = run.attrs["K_P"] * run.signal_V * (1 - run.signal_V * run.signal_A)
    ratio = T**2 * run.signal_A.differentiate("time") / linear
    for share, most in ((0.1, 0.01), (0.5, None), (1, None), (2, None)):
        value = float(ratio.sel(time=share * T - 1, method="nearest"))
        words, where = "T^2 times the ratio of rates at the same V", f"t = {share:g} T at T = {T}"
        found.append(Number(words, value, where) if most is None else
                     Check(words, value, where, least=1 - most, most=1 + most))
    return found


def sparser(lengths: tuple[int, ...]) -> list[Number]:
    found: list[Number] = []
    for T in lengths:
        shares = {"softmax": share(T, SOFTMAX)}
        for penalty in (0, 3e-3, 1e-2):
            shares[f"linear with lambda = {penalty:g}"] = share(T, {"l1": penalty})
        staged = {**TWO_STAGES, "l1": 3e-3, "plateau_time": 0}
        shares["two stages with lambda = 0.003"] = share(T, staged)
        found += [Number("share of |A| where Q is", mean(of), f"{name} at T = {T}")
                  for name, of in shares.items()]
        found += [Check("that of softmax, of that of linear attention",
                        mean(shares["softmax"] / shares[name]),
                        f"share against {name} at T = {T}", least=1)
                  for name in ("linear with lambda = 0", "two stages with lambda = 0.003")]
    return found


def share(T: int, options: dict[str, Any]) -> np.ndarray:
    """For each run of SGD, its mean over the columns."""
    runs = trained(T, options, learning_rate=1 / T)  # 0.4 of what stage 2 bears
    A = np.abs(runs.A.isel(time_state=-1))
    at_Q = A.where(runs.popflow.group("problem").Q > 0, 0).sum("position")
    return (at_Q / A.sum("position")).mean("query").values


def trained(T: int, options: dict[str, Any], learning_rate: float,
            runs: int = 4) -> xarray.Dataset:
    """SGD to twice the time at which the flow with the same kind of attention is boosted."""
    kind = {name: word for name, word in options.items() if name == "attention"}
    flow = popflow.run("scb", **PROBLEM, **SUPPORT, **kind, context_length=T, saves=2,
                       t_end=100 * T if kind else None)
    return noisy(**PROBLEM, **options, context_length=T, batch_size=64, runs=runs, saves=2,
                 learning_rate=learning_rate, state="ends", t_end=2 * flow.time_of.boosted)


@claim(9, BIGRAM, "softmax and linear attention both recover the pattern of Q",
       experiments=["scb-softmax", "scb-two-stages"], has_long=True)
def same_pattern(long: bool) -> list[Number]:
    """Whether the positions of Q have the largest weights in every column: at the end of a long
    flow without l1 by their lead over all other positions, and in SGD (N = 5, B = 64, each kind
    of attention at a learning rate of its own, to twice the time at which its flow is boosted).
    There the share of such runs has to be 19 of 20. That all of 100 runs recover it decides; a run
    of softmax takes a second, so that the short form has four, which cannot decide.
    The pattern is recovered before Q is: V overshoots under softmax, and its attention comes in
    along the hyperbola as V comes back, so that it is still far from Q."""
    found: list[Number] = []
    for name, options, rate, runs in (("linear", {}, 0.02, 100),
                                      ("softmax", SOFTMAX, 0.2, 100 if long else 4)):
        for T in (100, 400):
            found += lead(T, options, f"{name} flow at T = {T}")
        sampled = trained(100, options, rate, runs)
        size = norm_of_Q(sampled)
        where = f"{name} SGD at T = 100"
        found += [Check("share of runs in which Q's positions have the largest weights",
                        share_of(stands_out(sampled)), where, least=0.95),
                  Number(f"runs of {runs} in which they have",
                         float(stands_out(sampled).sum()), where),
                  Number("distance to Q, of its norm", mean(sampled.distance_Q[:, -1] / size),
                         where)]
    return found


def lead(T: int, options: dict[str, Any], where: str) -> list[Number]:
    """Of the positions of Q over the others, at the end of a flow."""
    least = {}
    for rtol in (1e-9, 1e-8):
        run = popflow.run("scb", **PROBLEM, **SUPPORT, **options, context_length=T, saves=2,
                          t_end=200 * T, rtol=rtol, atol=rtol / 100)
        leads = run.A_support.isel(time=-1).min("slot") - run.A_off.isel(time=-1)
        least[rtol] = float(leads.min())
    return [Check("smallest lead of the positions of Q", least[1e-8], where, least=0.1),
            Number("the same: change at a tenth of the tolerance", abs(least[1e-9] - least[1e-8]),
                   where),
            Number("distance to Q, of its norm", float(run.distance_Q[-1]) / norm_of_Q(run), where)]


def norm_of_Q(run: xarray.Dataset) -> float:
    return float((run.popflow.group("problem").Q_value**2).sum()**0.5)
