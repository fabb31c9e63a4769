"""Effects of softmax: losses at the end, samples of stage 1, adaptive rules (claims 30, 31 and
33)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, stats

import popflow
from popflow.analysis import Estimate

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from ..training import FULL_BATCH
from .chance import curvature
from .common import SMALL, SUPPORT, completed, flow, mean, noisy
from .softmax import PROBLEM, SOFTMAX, trained

KINDS: dict[str, dict[str, Any]] = {"linear": {}, "softmax": SOFTMAX}
WEIGHTS = {"equal": 0, "unequal": 1}


@claim(30, BIGRAM, "Linear and softmax attention end at similar losses",
       forms=("", ""))
def similar_losses(long: bool) -> list[Number]:
    """The flow (N = 5, T = 100, four problems with equal weights of Q and four with unequal ones)
    is compared at 2, 8 and 64 times the boosting time of each attention's own flow. SGD (T = 25, in
    the long form 50; rate 1/T, batches of 64) is compared at 8 times. The difference is relative to
    the initial excess loss, which is the largest possible fall of the loss."""
    found: list[Number] = []
    for words, concentration in WEIGHTS.items():
        if not long:
            found += losses_of_flows(words, concentration)
        T = 50 if long else 25
        sampled = {name: trained(T, kind, 1 / T, 4, (8,), position_concentration=concentration)
                   for name, kind in KINDS.items()}
        gained = {name: runs.excess_loss[:, -1] / float(runs.excess_loss[0, 0])
                  for name, runs in sampled.items()}
        place = f"SGD at 8 boosting times, T = {T}, {words} weights"
        difference = mean(gained["softmax"].values - gained["linear"].values)
        found += [Check("difference of the losses, softmax less linear, relative to the initial "
                        "excess loss",
                        difference, place, least=-0.05, most=0.05),
                  *(Number(f"excess loss with {name} attention, relative to the initial one",
                           mean(of), place) for name, of in gained.items())]
    return found


def losses_of_flows(words: str, concentration: float) -> list[Number]:
    found: list[Number] = []
    course = np.array([[ends(kind, seed, concentration) for kind in KINDS.values()]
                       for seed in range(1, 5)])
    for column, multiple in enumerate((2, 8, 64)):
        place = f"flow at {multiple} boosting times, {words} weights"
        apart = np.abs(course[:, 0, column] - course[:, 1, column])
        found += [Check("largest difference of the losses, relative to the initial excess loss",
                        float(apart.max()), place, most=0.05),
                  *(Number(f"mean excess loss with {name} attention, relative to the initial one",
                           float(course[:, row, column].mean()), place)
                    for row, name in enumerate(KINDS))]
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


@claim(31, BIGRAM, "Softmax does not lower the number of samples of stage 1",
       forms=("", ""))
def samples_of_stage1(long: bool) -> list[Number]:
    """SGD trains from scratch (N = 3), to the boosting time of the flow with the same attention.
    The noise depends only on the dose, the batch size over the learning rate. Linear attention has
    several batch sizes at a rate of 0.1. Softmax has the right sign at this rate even with a batch
    of 1, so it has larger rates at a batch of 1. A run that diverges counts as one with the wrong
    sign. The probability that signal_A has the right sign at the end is fitted by a probit in the
    logarithm of the dose. The dose at which it is 0.9, times the boosting time, is the number of
    samples. Softmax needs far smaller doses, but the boosting time is longer by a larger factor."""
    found: list[Number] = []
    for T in (100,) if long else (25, 50):
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
            samples[name] = Estimate(dose.value * time, dose.error * time)
            place = f"{name} attention, T = {T}"
            found += [Number("dose at which 90% of the runs have the right sign", dose,
                             place),
                      Number("boosting time", time, place),
                      *(Number(f"share of runs with the right sign, dose {of:g}",
                               float(row.mean()), place) for of, row in zip(doses, shares))]
        softmax, linear = samples["softmax"], samples["linear"]
        ratio = softmax.value / linear.value
        error = ratio * float(np.hypot(softmax.error / softmax.value, linear.error / linear.value))
        found.append(Check("samples of softmax relative to linear attention",
                           Estimate(ratio, error), f"T = {T}", least=0.5))
    return found


def at_nine_tenths(doses: np.ndarray, right: np.ndarray) -> Estimate:
    """Returns the dose at which the fitted probit is 0.9, with its error from the curvature of the
    likelihood; NaN if the probability does not rise with the dose."""
    counts, trials = right.sum(axis=1), right.shape[1]
    x = np.log(doses)

    def unlikely(parameters: np.ndarray) -> float:
        z = parameters[0] + parameters[1] * x
        return -float((counts * stats.norm.logcdf(z)
                       + (trials - counts) * stats.norm.logcdf(-z)).sum())

    best = optimize.minimize(unlikely, (0.0, 0.5), method="Nelder-Mead").x
    a, b = best
    if b <= 0:
        return Estimate(float("nan"), float("nan"))
    log_dose = (stats.norm.ppf(0.9) - a) / b
    slope = np.array([-1 / b, -log_dose / b])
    variance = slope @ np.linalg.inv(curvature(unlikely, best)) @ slope
    return Estimate(float(np.exp(log_dose)), float(np.exp(log_dose) * np.sqrt(variance)))


@claim(33, BIGRAM, "With adaptive rules, linear and softmax attention train alike")
def adaptive(long: bool) -> list[Number]:
    """Full-batch training by the discrete rules (N = 5), until signal_V signal_A is 1/2. The rules
    need raw gradients, so there is no preconditioner, and linear attention has no projection. The
    ratio of the steps that the two kinds of attention take must lie between 1/2 and 2. So must the
    ratio of the excess losses at an equal number of steps, three times the larger of the two
    numbers of steps, up to a time of 30. Plain gradient descent, for contrast, is represented by
    its flow, against linear attention with and without the projection; it decides nothing."""
    del long
    found: list[Number] = []
    for T in (100, 400):
        for rule in ("adam", "rmsprop", "signsgd"):
            for rate in (0.01, 0.003, 0.0003):
                found += alike(T, rule, rate)
        found += plain_rule(T)
    return found


def alike(T: int, rule: str, rate: float) -> list[Number]:
    steps, losses = {}, {}
    t_end, saves = max(30, 3000 * rate), 3001
    for name, kind in KINDS.items():
        run = popflow.run("scb", **PROBLEM, **kind, context_length=T, preconditioner="none",
                          **({} if kind else {"project": "none"}), optimizer=rule,
                          learning_rate=rate, **FULL_BATCH, t_end=t_end, saves=saves,
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
    at = 3 * max(steps.values()) * rate / t_end * (saves - 1)
    if at < saves:
        found.append(Check("excess loss of softmax relative to linear attention at three times "
                           "the larger number of steps",
                           float(losses["softmax"][int(at)] / losses["linear"][int(at)]),
                           place, least=0.5, most=2))
    return found


def plain_rule(T: int) -> list[Number]:
    """Plain gradient descent at small equal rates, represented by its flow."""
    kinds = {"softmax": {**SOFTMAX, "t_end": 300 * T}, "without": {"project": "none"},
             "with": {"project": "attention"}}
    times = {name: float(popflow.run("scb", **PROBLEM, **SUPPORT, context_length=T, saves=2,
                                     preconditioner="none", state="none",
                                     **{"t_end": 1000, **kind}).time_of.boosted)
             for name, kind in kinds.items()}
    return [Number("steps of softmax relative to linear attention until signal_V signal_A = 1/2",
                   times["softmax"] / times[name], f"sgd, T = {T}, {name} the projection")
            for name in ("without", "with")]
