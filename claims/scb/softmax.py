"""Comparison of softmax with linear attention (claims 8 and 9)."""

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


@claim(8, BIGRAM, "Softmax behaves like linear attention near the start, slower by T^2, and "
       "later sparsifies like l1",
       experiments=["scb-softmax"], forms=("", ""))
def softmax(long: bool) -> list[Number]:
    """Near the start both kinds of attention see the same V. T^2 times the ratio of the signal_A's
    is compared with 1 after one unit of time (flow, N = 5). Later the linear flow has long
    amplified its signals. Softmax is then compared with what linear attention would do with the V
    of the softmax flow: `T^2 dA/dt = K_P V (1 - V A)` for signals V and A. Up to t = T/10 this is
    met within a per cent; the deviation grows with t/T.

    Sparsity is the share of the sum of |A| that lies at the positions of Q. It is measured in SGD
    at equal learning rates and batches (1/T and 64), at 1, 2, 4 and 8 times the boosting time of
    the flow with the same attention. Softmax is compared with linear attention without l1, with l1
    throughout, and in two stages, whose threshold sets weights to zero at once. Softmax reduces
    weights multiplicatively, and its boosting time is T times as long. The result depends on the
    time: training in two stages is ahead at twice the boosting time. Softmax, whose share goes on
    growing, is ahead at eight times."""
    return sparser(50) if long else [*slower(), *sparser(25)]


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
                  Number("change of this number at ten times the tolerance",
                         abs(changes[1e-10] - changes[1e-11]), f"start at T = {T}")]
    T = 1000
    run = popflow.run("scb", **PROBLEM, **SUPPORT, **SOFTMAX, context_length=T, t_end=2 * T,
                      saves=2001, rtol=1e-10, atol=1e-12)
    linear = run.attrs["K_P"] * run.signal_V * (1 - run.signal_V * run.signal_A)
    ratio = T**2 * run.signal_A.differentiate("time") / linear
    for share, most in ((0.1, 0.01), (0.5, None), (1, None), (2, None)):
        value = float(ratio.sel(time=share * T - 1, method="nearest"))
        words = "T^2 times the ratio of the growth rates of signal_A at equal signal_V"
        where = f"t = {share:g} T at T = {T}"
        found.append(Number(words, value, where) if most is None else
                     Check(words, value, where, least=1 - most, most=1 + most))
    return found


#: Times at which the sparsity is compared, in boosting times of the flow.
MULTIPLES = (1, 2, 4, 8)
#: Opponents of softmax, and the least ratio of the shares that is required.
OPPONENTS: dict[str, tuple[dict[str, Any], float]] = {
    "linear attention without l1": ({}, 1.0),
    "l1 throughout (0.01)": ({"l1": 1e-2}, 0.9),
    "two stages (0.003)": ({**TWO_STAGES, "l1": 3e-3, "plateau_time": 0}, 0.9)}


def boosting_times(multiple: int) -> str:
    return f"{multiple} boosting {'time' if multiple == 1 else 'times'}"


def sparser(T: int) -> list[Number]:
    own = shares(T, SOFTMAX)
    found = [Number("share of |A| at the positions of Q", mean(own[:, column]),
                    f"softmax at {boosting_times(multiple)}, T = {T}")
             for column, multiple in enumerate(MULTIPLES)]
    for name, (options, least) in OPPONENTS.items():
        other = shares(T, options)
        for column, multiple in enumerate(MULTIPLES):
            place = f"against {name} at {boosting_times(multiple)}, T = {T}"
            found.append(Number("share of |A| at the positions of Q", mean(other[:, column]),
                                f"{name} at {boosting_times(multiple)}, T = {T}"))
            what = "share of |A| at the positions of Q, softmax relative to the opponent"
            ratio = mean(own[:, column] / other[:, column])
            found.append(Check(what, ratio, place, least=least) if multiple in (2, 8) else
                         Number(what, ratio, place))
    return found


def shares(T: int, options: dict[str, Any]) -> np.ndarray:
    """Returns the share at the positions of Q for each run of SGD and each time, averaged over
    columns."""
    runs = trained(T, options, learning_rate=1 / T,  # 0.4 of the largest stable rate of stage 2
                   multiples=MULTIPLES, state="all")
    A = np.abs(runs.A)
    at_Q = A.where(runs.popflow.group("problem").Q > 0, 0).sum("position")
    by_time = (at_Q / A.sum("position")).mean("query")
    return by_time.transpose("run", ...).values[:, -len(MULTIPLES):]


def trained(T: int, options: dict[str, Any], learning_rate: float, runs: int = 4,
            multiples: tuple[int, ...] = (2,), state: str = "ends",
            **problem: Any) -> xarray.Dataset:
    """Runs SGD with records at multiples of the boosting time of the flow with the same kind of
    attention."""
    kind = {name: word for name, word in options.items() if name == "attention"}
    problem = {**PROBLEM, **problem}
    flow = popflow.run("scb", **problem, **SUPPORT, **kind, context_length=T, saves=2,
                       t_end=100 * T if kind else None)
    times = [multiple * float(flow.time_of.boosted) for multiple in multiples]
    return noisy(**problem, **options, context_length=T, batch_size=64, runs=runs,
                 learning_rate=learning_rate, state=state, t_end=times[-1],
                 save_at=",".join(f"{time!r}" for time in [0.0, *times[:-1]]))


@claim(9, BIGRAM, "Softmax and linear attention both recover the pattern of Q",
       experiments=["scb-softmax", "scb-two-stages"], forms=("", ""))
def same_pattern(long: bool) -> list[Number]:
    """A position of Q is found if its weight is larger than all weights off Q. In the flow, the
    lead of the least position is measured relative to the least weight of Q in its column. This is
    done at twice the boosting time and at 200 T, for four problems with equal weights of Q and four
    with unequal ones (uniform on the simplex). In SGD (N = 5, T = 100, B = 64, to twice the
    boosting time, each kind of attention at its own learning rate) 19 of 20 runs must find all
    positions of all columns. A run of softmax takes a second, so the short form has four of them;
    so few can refute the claim but not confirm it."""
    found: list[Number] = []
    for words, concentration in (("equal", 0), ("unequal", 1)):
        for name, options, rate, runs in (("linear", {}, 0.02, 100),
                                          ("softmax", SOFTMAX, 0.2, 100 if long else 4)):
            if not long:
                found += flows(name, options, words, concentration)
            elif name == "linear":
                continue  # the short form has as many runs
            sampled = trained(100, options, rate, runs, position_concentration=concentration)
            where = f"{name} SGD, {words} weights, {runs} runs"
            found += [Check("share of runs in which all positions of Q are found",
                            share_of(stands_out(sampled)), where, least=0.95),
                      Number("distance to Q relative to the norm of Q",
                             mean(sampled.distance_Q[:, -1] / norm_of_Q(sampled)), where)]
    return found


def flows(name: str, options: dict[str, Any], words: str, concentration: float) -> list[Number]:
    found: list[Number] = []
    leads = np.array([lead(options, seed, concentration) for seed in range(1, 5)])
    for column, when in enumerate(("at 2 boosting times", "at 200 T")):
        where = f"{name} flow, {words} weights, {when}"
        found += [Check("least lead of a position of Q, relative to the least weight of Q",
                        float(leads[:, column].min()), where, least=0.1),
                  Number("median of this lead over problems", float(np.median(leads[:, column])),
                         where)]
    return found


def lead(options: dict[str, Any], seed: int, concentration: float) -> tuple[float, float]:
    """Returns the least lead of the positions of Q over the others, relative to the least weight of
    Q in the same column, at twice the boosting time and at 200 T."""
    problem = {**PROBLEM, **SUPPORT, **options, "context_length": 100, "problem_seed": seed,
               "position_concentration": concentration}
    boosted = float(popflow.run("scb", **problem, saves=2, t_end=1e4).time_of.boosted)
    run = popflow.run("scb", **problem, t_end=max(2e4, 2.1 * boosted),
                      save_at=f"0,{2 * boosted!r}")
    least = run.popflow.group("problem").Q_value.min("slot").values
    leads = ((run.A_support.min("slot") - run.A_off).transpose("time", ...).values / least).min(1)
    return float(leads[1]), float(leads[-1])


def norm_of_Q(run: xarray.Dataset) -> float:
    return float((run.popflow.group("problem").Q_value**2).sum()**0.5)
