"""What l1 does after the loss has converged (claim 4)."""

from __future__ import annotations

import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import SUPPORT, TWO_STAGES


@claim(4, BIGRAM, "after the loss has converged the distances to P and Q grow, and normalising "
       "recovers both", experiments=["scb-valley", "scb-pretraining"], picture="claim-04.png")
def growing_distances(long: bool) -> list[Number]:
    """(Picture: `popflow run --config scb-valley`.) The flow in two stages (N = 10, T = 5000)
    without the stop on a plateau, to t = 1600. The loss counts as converged when it is within a
    factor of two of its last value; from then on, the largest growth of the distance to P is
    measured, and at the end P and Q after rounding and normalising, as shares of their norms.
    The state slides along the valley (cP, Q/c), through (P, Q) and beyond, faster with more l1;
    with a lambda of 1e-5 it is still on its way to (P, Q) at the end.

    Normalising finds Q always. It finds P once the attention off the positions rests at zero, a
    time that goes as 1/lambda ([scb-claims](scb-claims.md)): with the default lambda that is
    longer than the run, nothing grows by then, and normalising leaves P as it is."""
    del long
    found: list[Number] = []
    for penalty in (None, 1e-5, 1e-4, 1e-3):
        name = "the default lambda" if penalty is None else f"lambda = {penalty:g}"
        growth, *recovered = slide(penalty, 1e-8)
        again, *_ = slide(penalty, 1e-9)
        found += [Check("growth of the distance to P", growth, f"growth with {name}", least=1.5),
                  Number("the same: change at a tenth of the tolerance", abs(again - growth), name)]
        found += [Check(f"distance to {what}, normalised, of its norm", value,
                        f"normalising with {name}", most=0.01)
                  for what, value in zip("PQ", recovered)]
    return found


def slide(penalty: float | None, rtol: float) -> list[float]:
    run = popflow.run("scb", vocab_size=10, context_length=5000, **SUPPORT, **TWO_STAGES,
                      l1=penalty, plateau_time=0, t_end=1600, saves=321, rtol=rtol,
                      atol=rtol / 100, show=False)
    final, problem = run.popflow.group("final"), run.popflow.group("problem")
    converged = run.distance_P.values[(run.excess_loss <= 2 * run.excess_loss[-1]).values]
    before = converged[:1 + converged.argmax()].min()
    return [float(converged.max() / before),
            float(final.distance_P_after) / float((problem.P**2).sum()**0.5),
            float(final.distance_Q_after) / float((problem.Q_value**2).sum()**0.5)]
