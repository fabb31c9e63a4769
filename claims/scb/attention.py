"""Effects of softmax: losses at the end, samples of stage 1, adaptive rules (claims 30, 31 and
33)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, stats

import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from ..training import FULL_BATCH
from .common import SMALL, SUPPORT, completed, flow, mean, noisy
from .softmax import PROBLEM, SOFTMAX, trained

KINDS: dict[str, dict[str, Any]] = {"linear": {}, "softmax": SOFTMAX}
WEIGHTS = {"equal": 0, "unequal": 1}


@claim(30, BIGRAM, "Linear and softmax attention end at similar losses", has_long=True,
       headline=("largest difference of the losses, relative to the initial excess loss",
                 "flow at 8 boosting times, unequal weights"),
       conditions=["flow at 8 boosting times, unequal weights", "SGD at 8 boosting times, "
                   "equal weights", "SGD at 8 boosting times, unequal weights"])
def similar_losses(long: bool) -> list[Number]:
    """The flow (N = 5, T = 100, four problems with equal weights of Q and four with unequal ones)
    is compared at 2, 8 and 64 times the boosting time of each attention's own flow. SGD (T = 25, in
    the long form 50; rate 1/T, batches of 64) is compared at 8 times. The difference is relative to
    the initial excess loss, which is the largest possible fall of the loss."""
    found: list[Number] = []
    for words, concentration in WEIGHTS.items():
        course = np.array([[ends(kind, seed, concentration) for kind in KINDS.values()]
                           for seed in range(1, 5)])
        for column, multiple in enumerate((2, 8, 64)):
            place = f"flow at {multiple} boosting times, {words} weights"
            apart = np.abs(course[:, 0, column] - course[:, 1, column])
            found += [Check("largest difference of the losses, relative to the initial excess loss",
                            float(apart.max()), place, most=0.05),
                      *(Number(f"mean excess loss with {name} attention, relative to the initial "
                               f"one",
                               float(course[:, row, column].mean()), place)
                        for row, name in enumerate(KINDS))]
        T = 50 if long else 25
        sampled = {name: trained(T, kind, 1 / T, 4, (8,), position_concentration=concentration)
                   for name, kind in KINDS.items()}
        gained = {name: runs.excess_loss[:, -1] / float(runs.excess_loss[0, 0])
                  for name, runs in sampled.items()}
        place = f"SGD at 8 boosting times, {words} weights"
        difference = mean(gained["softmax"].values - gained["linear"].values)
        found += [Check("difference of the losses, softmax less linear, relative to the initial "
                        "excess loss",
                        difference, place, least=-0.05, most=0.05),
                  *(Number(f"excess loss with {name} attention, relative to the initial one",
                           mean(of), place) for name, of in gained.items())]
    return found


def ends(kind: dict[str, Any], seed: int, concentration: float) -> list[float]:
    """Returns the excess loss at 2, 8 and 64 boosting times, relative to that at the start."""
    problem = {**PROBLEM, **SUPPORT, **kind, "context_length": 100, "problem_seed": seed,
               "position_concentration": concentration, "state": "none"}
    boosted = float(popflow.run("scb", **problem, saves=2, t_end=1e4).time_of.boosted)
    times = [multiple * boosted for multiple in (2, 8, 64)]
    run = popflow.run("scb", **problem, t_end=times[-1],
                      save_at=",".join(repr(time) for time in [0.0, *times[:-1]]))
    return [float(one) for one in run.excess_loss[1:] / run.excess_loss[0]]


@claim(31, BIGRAM, "Softmax does not lower the number of samples of stage 1", has_long=True,
       headline=("samples of softmax relative to linear attention", "T = 50"))
def samples_of_stage1(long: bool) -> list[Number]:
    """SGD trains from scratch (N = 3), to the boosting time of the flow with the same attention.
    The noise depends only on the dose, the batch size over the learning rate. Linear attention has
    several batch sizes at a rate of 0.1. Softmax has the right sign at this rate even with a batch
    of 1, so it has larger rates at a batch of 1. A run that diverges counts as one with the wrong
    sign. The probability that signal_A has the right sign at the end is fitted by a probit in the
    logarithm of the dose. The dose at which it is 0.9, times the boosting time, is the number of
    samples. Softmax needs far smaller doses, but the boosting time is longer by a larger factor."""
    found: list[Number] = []
    for T in (50, 100) if long else (25, 50):
        samples = {}
        for name, kind in KINDS.items():
            problem = {**SMALL, **kind, "context_length": T}
            time = float(flow(T, **SMALL, **kind, t_end=100 * T).time_of.boosted)
            over, same, doses = ({"learning_rate": (0.2, 0.4, 0.8, 1.6)}, {"batch_size": 1},
                                 (5, 2.5, 1.25, 0.625)) if kind else (
                {"batch_size": (1, 2, 4, 8, 16, 32, 64)}, {"learning_rate": 0.1},
                (10, 20, 40, 80, 160, 320, 640))
            runs = noisy(over, **problem, **same, t_end=time, saves=2, runs=64 if kind else 128)
            right = completed(runs) & (runs.signal_A[..., -1] > 0)
            shares = right.transpose(..., "run").values
            dose = at_nine_tenths(np.array(doses), shares)
            samples[name] = dose * time
            place = f"{name} attention, T = {T}"
            found += [Number("dose at which 90% of the runs have the right sign", dose,
                             place),
                      Number("boosting time", time, place),
                      *(Number(f"share of runs with the right sign, dose {of:g}",
                               float(row.mean()), place) for of, row in zip(doses, shares))]
        found.append(Check("samples of softmax relative to linear attention",
                           samples["softmax"] / samples["linear"], f"T = {T}", least=0.5))
    return found


def at_nine_tenths(doses: np.ndarray, right: np.ndarray) -> float:
    """Returns the dose at which the fitted probit is 0.9; NaN if the probability does not rise with
    the dose."""
    counts, trials = right.sum(axis=1), right.shape[1]
    x = np.log(doses)

    def unlikely(parameters: np.ndarray) -> float:
        z = parameters[0] + parameters[1] * x
        return -float((counts * stats.norm.logcdf(z)
                       + (trials - counts) * stats.norm.logcdf(-z)).sum())

    a, b = optimize.minimize(unlikely, (0.0, 0.5), method="Nelder-Mead").x
    return float(np.exp((stats.norm.ppf(0.9) - a) / b)) if b > 0 else float("nan")


@claim(33, BIGRAM, "With adaptive rules, linear and softmax attention train alike",
       headline=("steps of softmax relative to linear attention until signal_V signal_A = 1/2",
                 "adam at rate 0.01, T = 100"),
       conditions=["adam at rate 0.01, T = 100", "rmsprop at rate 0.01, T = 100",
                   "sgd, T = 100"])
def adaptive(long: bool) -> list[Number]:
    """Full-batch training by the discrete rules (N = 5), until signal_V signal_A is 1/2. The rules
    need raw gradients, so there is no preconditioner, and linear attention has no projection. The
    ratio of the steps that the two kinds of attention take must lie between 1/2 and 2. So must the
    ratio of the excess losses at an equal number of steps, three times the larger of the two
    numbers of steps (at most 3000). Plain gradient descent, for contrast, is represented by its
    flow.

    Adaptive rules remove the factor of order T by which softmax is slower under plain gradient
    descent. The remaining ratio depends on rule and rate: softmax is up to twenty times faster,
    since linear attention without the projection is stiff at these rates."""
    del long
    found: list[Number] = []
    for T in (100, 400):
        for rule in ("adam", "rmsprop", "signsgd"):
            for rate in (0.01, 0.003):
                found += alike(T, rule, rate)
        found.append(plain_rule(T))
    return found


def alike(T: int, rule: str, rate: float) -> list[Number]:
    steps, losses = {}, {}
    for name, kind in KINDS.items():
        run = popflow.run("scb", **PROBLEM, **kind, context_length=T, preconditioner="none",
                          **({} if kind else {"project": "none"}), optimizer=rule,
                          learning_rate=rate, **FULL_BATCH, t_end=3000 * rate, saves=1501,
                          save_spacing="linear").squeeze()
        product = (run.signal_V * run.signal_A).values
        reached = np.flatnonzero(product >= 0.5)
        steps[name] = float(run.time[reached[0]]) / rate if reached.size else float("inf")
        losses[name] = run.excess_loss.values / float(run.excess_loss[0])
    place = f"{rule} at rate {rate:g}, T = {T}"
    found: list[Number] = [
        Check("steps of softmax relative to linear attention until signal_V signal_A = 1/2",
              steps["softmax"] / steps["linear"] if np.isfinite(steps["linear"]) else float("nan"),
              place, least=0.5, most=2),
        *(Number(f"steps of {name} attention", count, place) for name, count in steps.items())]
    if np.isfinite(max(steps.values())):
        at = min(int(1.5 * max(steps.values())), 1500)
        found.append(Check("excess loss of softmax relative to linear attention at three times "
                           "the larger number of steps",
                           float(losses["softmax"][at] / losses["linear"][at]),
                           place, least=0.5, most=2))
    return found


def plain_rule(T: int) -> Check:
    """Plain gradient descent at small equal rates, represented by its flow."""
    times = [float(popflow.run("scb", **PROBLEM, **SUPPORT, **kind, context_length=T,
                               preconditioner="none", **({} if kind else {"project": "none"}),
                               t_end=300 * T if kind else 1000, saves=2,
                               state="none").time_of.boosted) for kind in KINDS.values()]
    return Check("steps of softmax relative to linear attention until signal_V signal_A = 1/2",
                 times[1] / times[0], f"sgd, T = {T}", least=0.5, most=2)
