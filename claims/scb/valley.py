"""Effects of l1 after the loss has converged (claims 4 and 29)."""

from __future__ import annotations

from typing import Any

import xarray

import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import SMALL, SUPPORT, TWO_STAGES, mean, noisy, stage2_bound, thresholded


@claim(4, BIGRAM, "After the loss has converged, the distances to P and Q grow, and normalising "
       "recovers both",
       experiments=["scb-valley", "scb-pretraining"])
def growing_distances(long: bool) -> list[Number]:
    """(Picture: `popflow run --config scb-valley`.) The flow runs in two stages (N = 10, T = 5000)
    without the stop on a plateau. The loss counts as converged when it is within a factor of two of
    its last value. From then on, the growth of each distance is measured from its least value to
    its value at the end. This growth must be at least a tenth of the norm for both; at convergence
    the distances are 0.04 of the norm. The final distances to P and Q after rounding and
    normalising are measured too, relative to the norms.

    The state slides along the valley (cP, Q/c), through (P, Q), where the distances are nearly
    zero, and beyond. The speed is proportional to lambda. At 0.16/lambda after the beginning of
    stage 2 the state has come equally far with every lambda from the default (6.3e-7) to 1e-3, and
    normalising recovers both P and Q. At t = 1600 the state with the default lambda has not reached
    (P, Q): no distance has grown by then, and normalising leaves P as it is. Normalising recovers P
    once the attention off the positions rests at zero, after a time that is proportional to
    1/lambda, too ([scb-claims](scb-claims.md)). Q is recovered in every case."""
    del long
    found: list[Number] = []
    for penalty in (None, 1e-5, 1e-4, 1e-3):
        name = "the default lambda" if penalty is None else f"lambda = {penalty:g}"
        found += slide(penalty, None, f"{name} to 0.16/lambda")
    return found + slide(None, 1600, "the default lambda to t = 1600")


def slide(penalty: float | None, t_end: float | None, name: str) -> list[Number]:
    """Measures the growth of both distances and the solver error."""
    run, tighter = (valley(penalty, t_end, rtol) for rtol in (1e-8, 1e-9))
    growths, again = ({what: growth(of, what) for what in "PQ"} for of in (run, tighter))
    found: list[Number] = [Number("time at the end", float(run.time[-1]), name)]
    for what in "PQ":
        found += [Check(f"growth of the distance to {what}, relative to the norm of {what}",
                        growths[what],
                        f"growth with {name}", least=0.1),
                  Number(f"change of the growth of the distance to {what} at a tenth of the "
                         f"tolerance",
                         abs(growths[what] - again[what]), f"growth with {name}")]
    final = run.popflow.group("final")
    return found + [Check(f"distance to {what} after normalising, relative to the norm of {what}",
                          float(final[f"distance_{what}_after"]) / norm(run, what),
                          f"normalising with {name}", most=0.01) for what in "PQ"]


def valley(penalty: float | None, t_end: float | None, rtol: float,
           **problem: Any) -> xarray.Dataset:
    """Runs the flow to `t_end`, by default to 0.16/lambda after the start of stage 2. The method,
    rosenbrock4, is for long slides."""
    options: dict[str, Any] = {
        "vocab_size": 10, "context_length": 5000, **SUPPORT, **TWO_STAGES, "l1": penalty,
        "plateau_time": 0, "rtol": rtol, "atol": rtol / 100, "method": "rosenbrock4",
        "show": False, **problem}
    if t_end is None:
        first = popflow.run("scb", **options, t_end=100, saves=2)
        t_end = first.time_of.stage2 + 0.16 / first.popflow.parameters["l1"]
    return popflow.run("scb", **options, t_end=t_end, saves=1601, save_spacing="linear")


def growth(run: xarray.Dataset, what: str) -> float:
    """Returns the growth of a distance from its least value after the loss has converged to its
    value at the end, relative to the norm."""
    after = run[f"distance_{what}"].values[(run.excess_loss <= 2 * run.excess_loss[-1]).values]
    return float(after[-1] - after.min()) / norm(run, what)


def norm(run: xarray.Dataset, what: str) -> float:
    problem = run.popflow.group("problem")
    return float((problem["P" if what == "P" else "Q_value"]**2).sum()**0.5)


@claim(29, BIGRAM, "The loss rises again if l1 goes on for long",
       forms=("", ""))
def rising_loss(long: bool) -> list[Number]:
    """Two stages with l1 run without the stop on a plateau. Flow (N = 10, T = 5000): until
    0.16/lambda after stage 2 begins, the excess loss must rise from its least value in stage 2 by a
    tenth of that value, for each of three drawn problems. SGD (N = 3, T = 100, B = 2048, a quarter
    of the largest stable rate): single records are too noisy to find a least value, so the loss is
    averaged over windows of one unit of time. The window with the least mean over the runs is
    compared with the last window. The rise relative to the initial excess loss is shown beside it:
    it is small, as the paper says."""
    found: list[Number] = []
    for penalty in () if long else (1e-5, 1e-4, 1e-3, 1e-2):
        rises, parts = [], []
        for seed in (1, 2, 3):
            run = valley(penalty, None, 1e-8, problem_seed=seed)
            excess = run.excess_loss.values[run.time.values > run.time_of.stage2]
            rises.append(float(excess[-1] / excess.min() - 1))
            parts.append(float((excess[-1] - excess.min()) / run.excess_loss[0]))
        where = f"flow, lambda = {penalty:g}"
        found += [Check("rise of the excess loss above its least value", min(rises), where,
                        least=0.1),
                  Number("largest rise over the three problems", max(rises), where),
                  Number("largest rise relative to the initial excess loss", max(parts), where)]
    start = thresholded(100, **SMALL)
    problem = popflow.open(start)
    rate = stage2_bound(problem.popflow.group("problem").mu, 100) / 4
    for penalty in (3e-3, 1e-2):
        runs = noisy(**SMALL, **TWO_STAGES, context_length=100, init_from=start, l1=penalty,
                     plateau_time=0, learning_rate=rate, batch_size=2048, t_end=16,
                     saves=161, save_spacing="linear", runs=(count := 32 if long else 8))
        windows = runs.excess_loss.values[:, 1:].reshape(runs.sizes["run"], 16, 10).mean(axis=2)
        least = int(windows.mean(axis=0).argmin())
        where = f"SGD, lambda = {penalty:g}, {count} runs"
        found += [Check("rise of the excess loss above its least value",
                        mean(windows[:, -1] / windows[:, least] - 1), where, least=0.1),
                  Number("window with the least loss", float(least), where)]
    return found
