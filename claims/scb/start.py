"""Other starts: a uniform V (claim 7), and a start with noise (claim 32)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

import popflow
from popflow.analysis import power_law

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import SUPPORT, mean


@claim(7, BIGRAM, "A uniform start differs from the stationary one by O(1/N)",
       experiments=["scb-uniform-start"], forms=("", ""))
def uniform_start(long: bool) -> list[Number]:
    """mu has equally spaced values from 1/(2N) to 2/N for every N, so that its conditioning is
    fixed. Joint probabilities are drawn and scaled to this mu on both sides. Two runs (T = 100) are
    compared up to twice the boosting time. Their differences are averaged over chains, and the
    exponent of N in this mean is fitted.

    At the start the excess loss differs by |1/N - mu|^2 / 2 under every training, which falls as
    1/N at a fixed spread of mu. With the projection, as the paper trains, V's mean relaxes by
    itself. The difference of the losses then decays as e^(-2t), which is checked, and the signals
    do not differ beyond rounding. Without the projection the signals differ along the flow, and so
    does the loss when they grow. The loss is compared after half the boosting time, when the
    initial difference has decayed. SGD runs on the same samples, with the projection. All of these
    differences fall about as 1/N or faster, except that of signal_V without projection. That is no
    power of N. So it is shown at each N and T, and the exponent is that between two sizes whose
    ratio is four, in three chains. The solver error is the
    largest change of a difference at a tenth of the tolerance, in one chain of each N."""
    vocabularies, chains = (5, 10, 20, 40, 80, *((160,) if long else ())), 8
    drawn = {(N, seed): chain(N, seed) for N in vocabularies for seed in range(1, chains + 1)}
    upto = f"(N to {vocabularies[-1]})"
    flow = pairs(drawn, {**SUPPORT, "rtol": 1e-11})
    free = pairs(drawn, FREE)
    tighter = pairs({key: one for key, one in drawn.items() if key[1] == 1},
                    {**FREE, "rtol": 1e-10})
    sampled = pairs({key: one for key, one in drawn.items() if key[1] <= 4},
                    {"mode": "sgd", "batch_size": 64, "learning_rate": 0.05})
    start = {key: pair.loss[0] for key, pair in flow.items()}
    found = [*power(start, "difference of excess_loss at the start", f"start {upto}"),
             Check("largest difference of signal_V",
                   max(float(pair.signal.max()) for pair in flow.values()), f"flow {upto}",
                   most=1e-10),
             Check("largest deviation of the difference of excess_loss, over its first value, "
                   "from e^(-2t)",
                   max(float(np.abs(pair.loss / pair.loss[0] - np.exp(-2 * pair.time)).max())
                       for pair in flow.values()), f"flow {upto}", most=1e-6)]
    for name, all_pairs in (("flow without the projection", free), ("SGD", sampled)):
        late = {key: float(pair.loss[pair.time >= pair.time[-1] / 4].max())
                for key, pair in all_pairs.items()}
        if all_pairs is not free:
            found += power({key: float(pair.signal.max()) for key, pair in all_pairs.items()},
                           "largest difference of signal_V", f"signals of {name} {upto}")
        found += power(late, "largest difference of excess_loss after half the boosting time",
                       f"loss of {name} {upto}")
        found.append(Check("difference of the final losses relative to the initial excess loss",
                           mean([pair.loss[-1] / pair.gain for pair in all_pairs.values()]),
                           f"end of {name} {upto}", most=0.01))
        if all_pairs is free:
            found.append(Number("largest change of a difference of signal_V at a tenth of the "
                                "tolerance", max(float(np.abs(free[key].signal - one.signal).max())
                                                 for key, one in tighter.items()),
                                f"without the projection {upto}"))
    lengths, sizes = ((25, 100, 400), (20, 80, 320)) if long else ((25, 100), (10, 40))
    return [*found, *(one for T in lengths for one in against_size(T, sizes))]


FREE = {"project": "none", "rtol": 1e-9}


def against_size(T: int, sizes: tuple[int, ...]) -> list[Number]:
    """Measures the difference of signal_V without the projection at each N, and its exponent of N
    between two sizes."""
    found: list[Number] = []
    before = None
    for N in sizes:
        largest = np.array([pair.signal.max() for pair in pairs(
            {(N, seed): chain(N, seed, T) for seed in (1, 2, 3)}, FREE).values()])
        found.append(Number("largest difference of signal_V", mean(largest),
                            f"without the projection, T = {T}, N = {N}"))
        if before is not None:
            found.append(Check("exponent of N in the largest difference of signal_V",
                               mean(np.log(largest / before[1]) / np.log(N / before[0])),
                               f"signals of flow without the projection, T = {T}, "
                               f"N = {before[0]} to {N}", most=-0.8))
        before = N, largest
    return found


def chain(N: int, seed: int, T: int = 100) -> dict[str, Any]:
    """Draws a problem with a fixed spread of mu: equally spaced values over [1/2, 2]/N,
    normalised."""
    draw = np.random.default_rng([N, seed])
    mu = np.linspace(0.5, 2, N)
    mu /= mu.sum()
    joint = draw.gamma(0.3, size=(N, N)) + 1e-6
    for _ in range(3000):  # alternate scaling of rows and columns converges to both marginals
        joint *= (mu / joint.sum(axis=1))[:, None]
        joint *= mu / joint.sum(axis=0)
    position = np.array([draw.choice(T, 2, replace=False) for _ in range(N)])
    return {"P": joint / joint.sum(axis=0), "Q_value": np.full((2, N), 0.5),
            "Q_position": position.T, "context_length": T}


@dataclass(frozen=True)
class Pair:
    """Absolute differences between the two starts along a run, and the initial excess loss
    (`gain`)."""

    time: np.ndarray
    signal: np.ndarray
    loss: np.ndarray
    gain: float


def pairs(drawn: dict[tuple[int, int], dict[str, Any]],
          options: dict[str, Any]) -> dict[tuple[int, int], Pair]:
    """Runs both starts of each chain to twice its boosting time."""
    found = {}
    for key, problem in drawn.items():
        boosted = popflow.run("scb", problem=problem, **SUPPORT, saves=2, show=False,
                              state="none").time_of.boosted
        one, other = (popflow.run("scb", problem=problem, t_end=2 * boosted, saves=51, state="none",
                                  save_spacing="linear", show=False, init_value=word,
                                  **options).squeeze()
                      for word in ("stationary", "uniform"))
        found[key] = Pair(one.time.values, apart(one, other, "signal_V"),
                          apart(one, other, "excess_loss"), float(one.excess_loss[0]))
    return found


def apart(one: xarray.Dataset, other: xarray.Dataset, item: str) -> np.ndarray:
    return np.abs(one[item].values - other[item].values)


def power(differences: dict[tuple[int, int], float], what: str, where: str) -> list[Number]:
    """Measures the exponent of N in the mean over chains."""
    sizes = sorted({N for N, _ in differences})
    means = [mean([value for (N, _), value in differences.items() if N == size])
             for size in sizes]
    exponent = power_law(sizes, np.array([one.value for one in means]),
                         np.array([one.error for one in means])
                         if all(one.error > 1e-9 * one.value for one in means) else None).exponent
    return [Check(f"exponent of N in the {what}", exponent, where, most=-0.8),
            Number(f"{what}, N = {sizes[-1]}", means[-1], where)]


@claim(32, BIGRAM, "Training is stable under small perturbations of the start")
def perturbed(long: bool) -> list[Number]:
    """The flow (N = 5) starts from A = 1/T and V = mu 1' plus independent normals of a given size
    in A or in V, which leave the sums of V's columns unchanged. There are sixteen draws. The
    boosting time may change by a tenth at most, and both signals at eight boosting times by 0.05. A
    draw whose signals grow with the wrong sign has no boosting time, so its change is infinite.

    Boundary: the median over eight draws of the change is measured for noise in V of 1/(4 T) to
    16/T, in factors of 2, at three context lengths. The size at which it is a tenth is
    interpolated, and its exponent of T is fitted."""
    del long
    found: list[Number] = []
    for T in (100, 1000):
        plain = Plain(T)
        for name, in_A, in_V in (("A of 0.1/T", 0.1 / T, 0.0), ("V of 0.1/T", 0.0, 0.1 / T),
                                 ("V of 0.1/N", 0.0, 0.1 / plain.N)):
            late, apart, wrong = zip(*(plain.perturbed(in_A, in_V, seed)
                                       for seed in range(1, 17)), strict=True)
            where = f"noise in {name}, T = {T}"
            found += [Check("largest relative change of the boosting time", max(late), where,
                            most=0.1),
                      Check("largest change of a signal at eight boosting times", max(apart), where,
                            most=0.05),
                      Number("draws of 16 that grow with the wrong sign", float(sum(wrong)), where)]
    lengths, sizes = (100, 400, 1600), 2.0 ** np.arange(-2, 5)
    limits = []
    for T in lengths:
        plain = Plain(T)
        changes = [float(np.median([plain.perturbed(0.0, size / T, seed)[0]
                                    for seed in range(1, 9)])) for size in sizes]
        limits.append(crossing(sizes, changes, 0.1) / T)
        found.append(Number("size of the noise in V that changes the boosting time by a tenth, "
                            "times T", limits[-1] * T, f"boundary at T = {T}"))
    return [*found, Number("exponent of T in the size of the noise in V that changes the boosting "
                           "time by a tenth",
                           float(power_law(lengths, np.array(limits)).exponent.value), "boundary")]


def crossing(sizes: np.ndarray, changes: list[float], level: float) -> float:
    """Returns the size at which the change first reaches the level, interpolated between two
    sizes."""
    at = int(np.argmax(np.array(changes) >= level))
    if at == 0 or not np.isfinite(changes[at]):
        raise ValueError(f"the changes {changes} do not cross {level:g} inside the sizes "
                         f"{sizes[0]:g} to {sizes[-1]:g}; widen them or take more")
    part = np.log(level / changes[at - 1]) / np.log(changes[at] / changes[at - 1])
    return float(sizes[at - 1] * (sizes[at] / sizes[at - 1]) ** part)


class Plain:
    """A problem and its flow from the unperturbed start."""

    def __init__(self, T: int) -> None:
        self.options: dict[str, Any] = {"saves": 2, "show": False, "state": "none"}
        first = popflow.run("scb", vocab_size=5, context_length=T, **self.options)
        self.boosted = float(first.time_of.boosted)
        own = first.popflow.group("problem")
        self.mu, self.N = own.mu.values, len(own.mu)
        self.problem = {"P": own.P, "Q_value": own.Q_value, "Q_position": own.Q_position,
                        "context_length": T}
        self.options["t_end"] = 8 * self.boosted
        self.end = popflow.run("scb", problem=self.problem, **self.options)

    def perturbed(self, in_A: float, in_V: float, seed: int) -> tuple[float, float, bool]:
        """Returns the relative change of the boosting time, the largest change of a signal at the
        end, and whether the signals grow with the wrong sign."""
        noise = np.random.default_rng(seed).normal(0, in_V, (self.N, self.N))
        problem = {**self.problem, "V0": self.mu[:, None] + noise - noise.mean(axis=0)}
        begin = {"init_from": with_noise_in_A(problem, in_A, seed)} if in_A else {}
        run = popflow.run("scb", problem=problem, **begin, **self.options)
        late = float(run.time_of.boosted)
        apart = max(abs(float(run[item][-1] - self.end[item][-1]))
                    for item in ("signal_V", "signal_A"))
        return (abs(late / self.boosted - 1) if np.isfinite(late) else np.inf, apart,
                bool(run.signal_A[-1] < 0))


def with_noise_in_A(problem: dict[str, Any], size: float, seed: int) -> str:
    """Returns a file whose last state has a perturbed A. It holds one step of noise, so short that
    the flow itself does not move."""
    rate = 1e-9
    step = popflow.run("scb", problem=problem, mode="sde", method="gradient_descent",
                       noise="isotropic", noise_scale=size / rate, batch_size=1,
                       learning_rate=rate, steps=1, seed=seed, saves=2, show=False)
    return str(step.popflow.path)
