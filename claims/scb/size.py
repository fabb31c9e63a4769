"""Training at the paper's sizes (claim 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray

import popflow
from popflow.analysis import log_line, spearman_kaerber

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from ..share import share
from .chance import power_of_length
from .common import SUPPORT, TWO_STAGES, completed, noisy, stage2_bound


@claim(5, BIGRAM, "Training works at N = 100 and 500, T = 100 000, with Gaussian noise",
       experiments=["scb-large"], forms=("", ""))
def large(long: bool) -> list[Number]:
    """The runs follow the population gradient plus isotropic Gaussian noise. Its scale is that of
    one sample's gradient, measured with the sampler, divided by the square root of B. Stage 1 runs
    at a rate of 0.5, a quarter of the largest stable rate, to 1.15 times the flow's boosting time.
    Stage 1 must end with signal_A above 0.1. The outcome varies with the noise, so the share of
    such runs decides; it must be nine tenths. At N = 20 there are 200 runs. At N = 100 and 500,
    where a run takes seconds, the long form has up to 200, since a few runs do not decide even if
    all of them train. Stage 2 starts from the first run of a condition, if stage 1 trained it, and
    lasts 20 units of time at 0.8 of its stable rate (SGD: 0.2). After rounding, its distance to Q
    must be at most a tenth of the norm.

    With such noise training works at very large batches only, since a weight accumulates noise at
    all positions and from the first step on. There are two thresholds. Below a B of order T (N =
    20: 15 T to 20 T at this rate) noise drowns the signals, and signal_A stays near zero. Above it
    the signals grow. The drift of order 1/T that decides for the right sign then has to win against
    noise at the start; where it loses, the signals go to -P and -Q. The sign is random until B is
    of order T^2 (the long form measures the exponents of both thresholds at N = 20).

    Real samples have far less noise near the start, because a context averages T tokens: SGD with a
    batch of 64 trains where isotropic noise needs more than 10^5. So the scale of the simulated
    noise decides this claim. A scale of 10^-4 with B = 128, as in data/experiments/scb-large.cfg,
    corresponds to batches of some 10^9 ([scb-claims](scb-claims.md) has its results)."""
    if long:
        found = thresholds(20, (1000, 10_000, 100_000))
        found += few(100, 100_000, {1e6: 8, 1e7: 60, 1e8: 200, 1e9: 100}, stage2=(1e8,))
        found += few(500, 100_000, {1e6: 4, 1e8: 60, 1e9: 60}, stage2=(1e8,))
        return found + sampled_first_stage(100, 100_000, 0.004)
    return [*shares(20, 1000, (1e3, 1e4, 1e5, 1e6)), *smaller_rate(), *sampled(20, 1000, 0.02),
            *few(100, 100_000, {1e6: 2, 1e8: 2})]


#: The least signal_A at the end of stage 1 from which stage 2 can continue.
GROWN = 0.1
MANY = 200
AT_A_TIME = 20  # runs of large problems in a file


class Problem:
    """A problem with its flow, and runs of both stages, each at its own learning rate."""

    def __init__(self, N: int, T: int) -> None:
        self.where = f"N = {N} and T = {T}"
        self.options: dict[str, Any] = {
            "vocab_size": N, "context_length": T, "sparsity": 2, "transition_concentration": 0.1,
            "rounding": 0.125, "show": False}
        self.flow = popflow.run("scb", **self.options, **SUPPORT, saves=2)
        problem = self.flow.popflow.group("problem")
        self.size_of_Q = float(np.sqrt((problem.Q_value**2).sum()))
        self.bound = stage2_bound(problem.mu, T)

    def sample(self) -> float:
        """Returns the standard deviation of one sample's gradient at V = P and uniform attention,
        as the root mean square over all weights. A single step of length 1, which is mostly noise,
        measures it."""
        batch = 256
        step = noisy(**self.options, init_from=self.flow.popflow.path, init_mix=1, steps=1,
                     learning_rate=1, batch_size=batch, saves=2, state="ends")
        moved = [step[name].diff("time_state") for name in ("V", "A")]
        squares = sum(float((of**2).sum()) for of in moved) / sum(of.size for of in moved)
        return float(np.sqrt(batch * squares))

    def stage1(self, rate: float, noise: dict[str, Any], runs: int = 1) -> xarray.Dataset:
        # The state of several runs is not kept.
        return noisy(**self.options, **noise, learning_rate=rate, saves=2, runs=runs,
                     state="ends" if runs == 1 else "none",
                     t_end=1.15 * self.flow.time_of.boosted)

    def signals(self, noise: dict[str, Any], runs: int) -> np.ndarray:
        """Returns signal_A of each run at the end of stage 1. Only a few runs are computed at a
        time, since the file of a large run has room to resume it."""
        parts = []
        for begin in range(0, runs, AT_A_TIME):
            part = self.stage1(0.5, {**noise, "first_run": begin}, min(AT_A_TIME, runs - begin))
            parts.append(grown(part))
            part.close()
            Path(part.popflow.path).unlink()
        return np.concatenate(parts)

    def distance(self, first: xarray.Dataset, noise: dict[str, Any], share: float = 0.8) -> float:
        """Returns the distance to Q after rounding at the end of stage 2, relative to the norm of
        Q. The learning rate is `share` times the largest that is stable without noise."""
        run = noisy(**self.options, **noise, **TWO_STAGES, plateau_time=0, t_end=20, saves=2,
                    learning_rate=share * self.bound, init_from=first.popflow.path)
        return float(np.ravel(run.popflow.group("final").distance_Q_after)[0]) / self.size_of_Q

    def second(self, rate: float, noise: dict[str, Any], where: str) -> list[Number]:
        """Runs stage 2 from the first run of stage 1, if that run trained."""
        first = self.stage1(rate, noise)
        if not grown(first)[0] > GROWN:
            return []
        return [Check("distance to Q after both stages and rounding, relative to the norm of Q",
                      self.distance(first, noise), where, most=0.1)]


def grown(first: xarray.Dataset) -> np.ndarray:
    """Returns signal_A of each run at the end of stage 1."""
    values: np.ndarray = first.signal_A[:, -1].where(completed(first)).values
    return values


def isotropic(scale: float, batch: float) -> dict[str, Any]:
    return {"mode": "sde", "method": "gradient_descent", "noise": "isotropic", "noise_scale": scale,
            "batch_size": int(batch)}


def shares(N: int, T: int, batches: tuple[float, ...]) -> list[Number]:
    """Measures the share of runs that train at each batch size, and stage 2 after the first run."""
    problem = Problem(N, T)
    scale = problem.sample()
    found: list[Number] = [Number("gradient noise of one sample in each weight", scale,
                                  problem.where)]
    for B in batches:
        noise, where = isotropic(scale, B), f"{problem.where} with B = {B:g}"
        signals = grown(problem.stage1(0.5, noise, MANY))
        found += [Check("share of runs with signal_A above 0.1 after stage 1",
                        share(signals > GROWN), where, least=0.9),
                  Number("share of runs with signal_A below -0.1", share(signals < -GROWN), where),
                  *problem.second(0.5, noise, where)]
    return found


def few(N: int, T: int, batches: dict[float, int],
        stage2: tuple[float, ...] = ()) -> list[Number]:
    """As `shares`, with a number of runs for each batch size, and stage 2 at some of them."""
    problem = Problem(N, T)
    scale = problem.sample()
    found: list[Number] = [Number("gradient noise of one sample in each weight", scale,
                                  f"{problem.where}, {sum(batches.values())} runs")]
    for B, runs in batches.items():
        noise, where = isotropic(scale, B), f"{problem.where} with B = {B:g}, {runs} runs"
        found += trained(problem.signals(noise, runs), where)
        if B in stage2:
            found += problem.second(0.5, noise, where)
    return found


def trained(signals: np.ndarray, where: str) -> list[Number]:
    """Tests whether enough of the runs have come through stage 1."""
    return [Check("share of runs with signal_A above 0.1 after stage 1", share(signals > GROWN),
                  where, least=0.9),
            Number(f"runs of {len(signals)} with signal_A above 0.1 after stage 1",
                   float((signals > GROWN).sum()), where)]


def thresholds(N: int, lengths: tuple[int, ...]) -> list[Number]:
    """Measures how two batch sizes depend on T: the one at which the signals grow, and the one at
    which their sign is right."""
    doses, found = [], []
    spans, sizes, right, either = [], [], [], []
    for T in lengths:
        problem = Problem(N, T)
        scale = problem.sample()
        batches = [T * m for m in (3, 10, 30, 100, 300, 1000)]
        runs = {1000: MANY, 10_000: 64}.get(T, 32)
        signals = [grown(problem.stage1(0.5, isotropic(scale, B), runs)) for B in batches]
        grew = [int((np.abs(of) > GROWN).sum()) for of in signals]
        well = [int((of > GROWN).sum()) for of in signals]
        doses.append(spearman_kaerber(batches, np.array(grew) / runs, runs, ends="extend"))
        spans += [T] * len(batches)
        sizes += batches
        right += well
        either += grew
        found += [Number("batch size at which half of the runs end with |signal_A| above 0.1",
                         doses[-1].dose, f"N = {N} and T = {T}"),
                  *(Number("share of the runs with |signal_A| above 0.1 whose sign is wrong",
                           share(np.arange(of) >= good), f"N = {N} and T = {T} with B = {B:g}")
                    for B, of, good in zip(batches, grew, well) if B >= 100 * T)]
    logs = [dose.log_dose for dose in doses]
    where = f"thresholds at N = {N}"
    return [Number("exponent of T in the batch size at which the signals grow",
                   log_line(lengths, [of.value for of in logs], [of.error for of in logs]).slope,
                   where),
            Number("exponent of T in the batch size that keeps the chance of the right sign",
                   power_of_length(spans, sizes, right, either), where), *found]


def smaller_rate() -> list[Number]:
    """A tenth of the rate with a tenth of the batch size accumulates the same noise."""
    problem = Problem(20, 1000)
    signals = grown(problem.stage1(0.05, isotropic(problem.sample(), 1e5), 64))
    return [Number("share of runs with signal_A above 0.1 after stage 1, at a tenth of the rate",
                   share(signals > GROWN), f"{problem.where} with B = 100000")]


SAMPLES: dict[str, Any] = {"mode": "sgd", "batch_size": 64}


def sampled(N: int, T: int, rate: float) -> list[Number]:
    """Runs SGD on samples in place of Gaussian noise."""
    problem = Problem(N, T)
    first = problem.stage1(rate, SAMPLES)
    where = f"{problem.where} with samples in batches of 64"
    return [*trained(grown(problem.stage1(rate, SAMPLES, 50)), where),
            Check("distance to Q after both stages and rounding, relative to the norm of Q",
                  problem.distance(first, SAMPLES, share=0.2), where, most=0.1)]


def sampled_first_stage(N: int, T: int, rate: float) -> list[Number]:
    """Makes one run of stage 1 on samples; it takes minutes."""
    problem = Problem(N, T)
    where = f"{problem.where} with samples in batches of 64"
    signals = grown(problem.stage1(rate, SAMPLES))
    return [*trained(signals, where),
            Number("signal_A at the end of stage 1", float(signals[0]), where)]
