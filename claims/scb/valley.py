"""What l1 does after the loss has converged (claim 4)."""

from __future__ import annotations

from typing import Any

import xarray

import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import SUPPORT, TWO_STAGES


@claim(4, BIGRAM, "after the loss has converged the distances to P and Q grow, and normalising "
       "recovers both", experiments=["scb-valley", "scb-pretraining"], picture="claim-04.png")
def growing_distances(long: bool) -> list[Number]:
    """(Picture: `popflow run --config scb-valley`.) The flow in two stages (N = 10, T = 5000)
    without the stop on a plateau. The loss counts as converged when it is within a factor of two of
    its last value. From then on, the growth of the distances to P and to Q is that from the least
    to the end, and it counts if both grow by a tenth of the norm at least; at convergence they are
    at 0.04 of it. At the end P and Q after rounding and normalising are measured, too, as shares of
    their norms.

    The state slides along the valley (cP, Q/c), through (P, Q), where the distances are nearly
    zero, and beyond. Its pace is that of lambda: at 0.16/lambda after the beginning of stage 2 the
    state has come equally far with every lambda from the default one (6.3e-7) to 1e-3, and
    normalising finds both P and Q. At t = 1600 the default lambda is still on its way to
    (P, Q): nothing has grown by then, and normalising leaves P as it is. It finds P once the
    attention off the positions rests at zero, a time that goes as 1/lambda, too
    ([scb-claims](scb-claims.md)). It finds Q always."""
    del long
    found: list[Number] = []
    for penalty in (None, 1e-5, 1e-4, 1e-3):
        name = "the default lambda" if penalty is None else f"lambda = {penalty:g}"
        found += slide(penalty, None, f"{name} to 0.16/lambda")
    return found + slide(None, 1600, "the default lambda to t = 1600")


def slide(penalty: float | None, t_end: float | None, name: str) -> list[Number]:
    """What both distances do, with the solver's own error."""
    run, tighter = (valley(penalty, t_end, rtol) for rtol in (1e-8, 1e-9))
    growths, again = ({what: growth(of, what) for what in "PQ"} for of in (run, tighter))
    found: list[Number] = [Number("time at the end", float(run.time[-1]), name)]
    for what in "PQ":
        found += [Check(f"growth of the distance to {what}, of its norm", growths[what],
                        f"growth with {name}", least=0.1),
                  Number("the same: change at a tenth of the tolerance",
                         abs(growths[what] - again[what]), f"growth with {name}")]
    final = run.popflow.group("final")
    return found + [Check(f"distance to {what}, normalised, of its norm",
                          float(final[f"distance_{what}_after"]) / norm(run, what),
                          f"normalising with {name}", most=0.01) for what in "PQ"]


def valley(penalty: float | None, t_end: float | None, rtol: float) -> xarray.Dataset:
    """By default to 0.16/lambda after stage 2 begins. The method is for long slides."""
    options: dict[str, Any] = {
        "vocab_size": 10, "context_length": 5000, **SUPPORT, **TWO_STAGES, "l1": penalty,
        "plateau_time": 0, "rtol": rtol, "atol": rtol / 100, "method": "rosenbrock4",
        "show": False}
    if t_end is None:
        first = popflow.run("scb", **options, t_end=100, saves=2)
        t_end = first.time_of.stage2 + 0.16 / first.popflow.parameters["l1"]
    return popflow.run("scb", **options, t_end=t_end, saves=1601, save_spacing="linear")


def growth(run: xarray.Dataset, what: str) -> float:
    """Of a distance, from its least after the loss has converged to the end, in its norm."""
    after = run[f"distance_{what}"].values[(run.excess_loss <= 2 * run.excess_loss[-1]).values]
    return float(after[-1] - after.min()) / norm(run, what)


def norm(run: xarray.Dataset, what: str) -> float:
    problem = run.popflow.group("problem")
    return float((problem["P" if what == "P" else "Q_value"]**2).sum()**0.5)
