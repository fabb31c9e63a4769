"""The paper's sizes (claim 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import SUPPORT, TWO_STAGES, completed, noisy, stage2_bound


@claim(5, BIGRAM, "training works at N = 100, 500 and T = 100 000 with Gaussian noise",
       experiments=["scb-large"], has_long=True)
def large(long: bool) -> list[Number]:
    """Population gradient plus isotropic Gaussian noise of the scale that one sample's gradient
    has, by the sampler, divided by the root of B. Stage 1 at a rate of 0.5, a quarter of what is
    stable, to 1.15 times the flow's boosting time, has to end with signal_A above 0.1; then
    stage 2 for 20 units of time at 0.8 of its stable rate (SGD: 0.2) has to find Q by rounding,
    to a tenth of its norm.

    Such noise lets it work at very large batches only, since a weight gathers it everywhere and
    from the first step on: the drift of order 1/T has to win against it, which takes B of order
    eta T^2. At a smaller rate a batch smaller in proportion does, as the table shows. The
    samples themselves are far kinder: near the start their noise is small, because a context
    averages T tokens, and SGD with a batch of 64 trains where isotropic noise needs one of 10^5.
    So the scale of the simulated noise decides this claim: one of 10^-4 with B = 128, as in
    data/experiments/scb-large.cfg, stands for batches of some 10^9 ([scb-claims](scb-claims.md)
    has what comes out with it)."""
    found = trained(20, 1000, (1e3, 1e4, 1e5, 1e6)) + smaller_rate() + sampled(20, 1000, 0.02)
    if long:
        found += trained(100, 100_000, (1e6, 1e8)) + trained(500, 100_000, (1e6, 1e8))
        return found + sampled_first_stage(100, 100_000, 0.004)
    return found + first_stages(100, 100_000, (1e6, 1e8, 1e10))


class Problem:
    """A problem with its flow and with runs of two stages, each at a rate of its own."""

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
        """The standard deviation of one sample's gradient at V = P and uniform attention, its
        root mean square over all weights: from a single step of length 1, mostly noise."""
        batch = 256
        step = noisy(**self.options, init_from=self.flow.popflow.path, init_mix=1, steps=1,
                     learning_rate=1, batch_size=batch, saves=2, state="ends")
        moved = [step[name].diff("time_state") for name in ("V", "A")]
        squares = sum(float((of**2).sum()) for of in moved) / sum(of.size for of in moved)
        return float(np.sqrt(batch * squares))

    def stage1(self, rate: float, noise: dict[str, Any]) -> xarray.Dataset:
        return noisy(**self.options, **noise, learning_rate=rate, saves=2, state="ends",
                     t_end=1.15 * self.flow.time_of.boosted)

    def distance(self, first: xarray.Dataset, noise: dict[str, Any], share: float = 0.8) -> float:
        """Of Q at the end of stage 2, rounded, as a share of its norm; 1 if stage 1 failed. The
        learning rate is a share of the largest that is stable without noise."""
        if not grown(first) > 0.1:
            return 1.0
        run = noisy(**self.options, **noise, **TWO_STAGES, plateau_time=0, t_end=20, saves=2,
                    learning_rate=share * self.bound, init_from=first.popflow.path)
        return float(np.ravel(run.popflow.group("final").distance_Q_after)[0]) / self.size_of_Q


def grown(first: xarray.Dataset) -> float:
    return float(first.signal_A[0, -1]) if bool(completed(first).all()) else np.nan


def isotropic(scale: float, batch: float) -> dict[str, Any]:
    return {"mode": "sde", "method": "gradient_descent", "noise": "isotropic", "noise_scale": scale,
            "batch_size": int(batch)}


def trained(N: int, T: int, batches: tuple[float, ...]) -> list[Number]:
    problem = Problem(N, T)
    scale = problem.sample()
    found = [Number("noise of one sample, a weight", scale, problem.where)]
    for B in batches:
        noise, where = isotropic(scale, B), f"{problem.where} with B = {B:g}"
        first = problem.stage1(0.5, noise)
        found += [Number("signal_A at the end of stage 1", grown(first), where),
                  Check("distance to Q after two stages, rounded, of its norm",
                        problem.distance(first, noise), where, most=0.1)]
    return found


def smaller_rate() -> list[Number]:
    """A tenth of the rate with a tenth of the batch: the noise that is gathered is the same."""
    problem = Problem(20, 1000)
    first = problem.stage1(0.05, isotropic(problem.sample(), 1e5))
    return [Number("signal_A at the end of stage 1, at a tenth of the rate", grown(first),
                   f"{problem.where} with B = 100000")]


def first_stages(N: int, T: int, batches: tuple[float, ...]) -> list[Number]:
    problem = Problem(N, T)
    scale = problem.sample()
    return [Number("noise of one sample, a weight", scale, problem.where),
            *(Check("signal_A at the end of stage 1",
                    grown(problem.stage1(0.5, isotropic(scale, B))),
                    f"stage 1 of {problem.where} with B = {B:g}", least=0.1) for B in batches)]


SAMPLES: dict[str, Any] = {"mode": "sgd", "batch_size": 64}


def sampled(N: int, T: int, rate: float) -> list[Number]:
    """SGD on samples, instead of Gaussian noise."""
    problem = Problem(N, T)
    first = problem.stage1(rate, SAMPLES)
    where = f"{problem.where} with samples in batches of 64"
    return [Number("signal_A at the end of stage 1", grown(first), where),
            Check("distance to Q after two stages, rounded, of its norm",
                  problem.distance(first, SAMPLES, share=0.2), where, most=0.1)]


def sampled_first_stage(N: int, T: int, rate: float) -> list[Number]:
    problem = Problem(N, T)
    return [Check("signal_A at the end of stage 1", grown(problem.stage1(rate, SAMPLES)),
                  f"stage 1 of {problem.where} with samples in batches of 64", least=0.1)]
