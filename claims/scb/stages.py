"""Reduction of training to two signals (claim 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import mean


@claim(1, BIGRAM, "Training reduces to a system of two signals that is linear in stage 1",
       experiments=["scb-two-stages"])
def two_signals(long: bool) -> list[Number]:
    """The flow of all weights is compared with that of the two signals, from the same start to its
    end. At fixed steps of equal length (Runge-Kutta of order four) the two differ by rounding only.
    With adaptive steps they differ by more, and a smaller tolerance does not help: rounding makes
    the two runs choose different steps, and then they differ by about the solver's error. This
    error is shown beside the difference; it is the change at a far smaller tolerance. At 1e-6 the
    two runs happen to choose the same steps.

    In stage 1 the linear system with its drift, d(V, A)/dt = (1/T + kappa A, K_P V) from zero, has
    the solution V = sinh(wt)/(wT), A = (cosh(wt) - 1)/(kappa T) with w = sqrt(kappa K_P). Both
    signals of the flow are compared with this solution from the start until signal_V signal_A is
    0.01, for several N and T and eight drawn problems each. The linear system leaves out the term
    -signal_V/T, so short contexts deviate more from it."""
    del long
    found: list[Number] = []
    for dt in (0.2, 0.05):
        pair = [reduced(word, method="rk4", dt=dt) for word in ("full", "signal")]
        found += [Check(f"largest difference in {item} between all weights and two signals",
                        apart(*pair, item), f"reduction at steps of {dt:g}", most=1e-12)
                  for item in ("signal_V", "signal_A")]
    for rtol in (1e-6, 1e-9):
        full, signal, exact = (reduced(word, rtol=tolerance, atol=tolerance / 100)
                               for word, tolerance in (("full", rtol), ("signal", rtol),
                                                       ("signal", 1e-12)))
        for item in ("signal_V", "signal_A"):
            where = f"steps chosen at rtol = {rtol:g}"
            found += [Number(f"largest difference in {item} between all weights and two signals",
                             apart(full, signal, item), where),
                      Number(f"solver error of {item}", apart(signal, exact, item),
                             where)]
    for T in (200, 1000, 5000):
        for N in (3, 10, 20):
            off = np.array([off_linear(N, T, seed, 1e-8) for seed in range(1, 9)])
            again = np.array(off_linear(N, T, 1, 1e-9))
            where = f"linear in stage 1, N = {N} and T = {T}"
            found += [Check(f"largest relative distance of {item} from the linear system",
                            float(off[:, index].max()), where, most=0.05)
                      for index, item in enumerate(("signal_V", "signal_A"))]
            found += [Number("larger of the two relative distances, mean over problems",
                             mean(off.max(axis=1)), where),
                      Number("largest change of a distance at a tenth of the tolerance, one "
                             "problem",
                             float(np.abs(again - off[0]).max()), where)]
    return found


def off_linear(N: int, T: int, seed: int, rtol: float) -> tuple[float, float]:
    """Largest relative distances of signal_V and signal_A from the linear system with its drift,
    until their product is 0.01."""
    run = popflow.run("scb", vocab_size=N, context_length=T, problem_seed=seed, t_end=400,
                      coordinates="signal", saves=1601, save_spacing="linear", rtol=rtol,
                      atol=rtol / 100, state="none", show=False)
    beyond = np.flatnonzero((run.signal_V * run.signal_A).values > 0.01)
    stage = run.isel(time=slice(1, beyond[0] if beyond.size else None))
    kappa = run.attrs["kappa"]
    rate = np.sqrt(kappa * run.attrs["K_P"])
    t = stage.time.values
    linear = np.sinh(rate * t) / (rate * T), (np.cosh(rate * t) - 1) / (kappa * T)
    off_V, off_A = (float(np.abs(stage[item].values / of - 1).max())
                    for item, of in zip(("signal_V", "signal_A"), linear))
    return off_V, off_A


def reduced(coordinates: str, **options: Any) -> xarray.Dataset:
    return popflow.run("scb", vocab_size=5, context_length=200, coordinates=coordinates, show=False,
                       **options)


def apart(one: xarray.Dataset, other: xarray.Dataset, item: str) -> float:
    return float(np.abs(one[item] - other[item]).max())
