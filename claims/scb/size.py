"""The paper's sizes (claim 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import SUPPORT, TWO_STAGES, completed, noisy, stage2_bound


@claim(5, BIGRAM, "training works at N = 100, 500 and T = 100 000 with Gaussian noise",
       experiments=["scb-large"], has_long=True)
def large(long: bool) -> list[Number]:
    """..."""
    sizes = ((100, 100_000), (500, 100_000)) if long else ((20, 1000),)
    batches = (1e4, 1e6, 1e8) if long else (1e2, 1e3, 1e4, 1e5, 1e6)
    found: list[Number] = []
    for N, T in sizes:
        problem = {"vocab_size": N, "context_length": T, "sparsity": 2,
                   "transition_concentration": 0.1, "rounding": 0.125, "show": False}
        flow = popflow.run("scb", **problem, **SUPPORT, saves=2)
        end = 1.15 * flow.time_of.boosted
        second = stage2_bound(flow.popflow.group("problem").mu, T) / 4
        scale = noise_of_a_sample(problem, str(flow.popflow.path))
        found.append(Number("noise of one sample, a coordinate", scale, f"N = {N}, T = {T}"))
        for B in batches:
            noise = {"mode": "sde", "method": "gradient_descent", "noise": "isotropic",
                     "noise_scale": scale, "batch_size": int(B)}
            first = noisy(**problem, **noise, learning_rate=0.5, t_end=end, saves=2, state="ends")
            where = f"N = {N}, T = {T}, B = {B:g}"
            well, signal = bool(completed(first).all()), float(first.signal_A[0, -1])
            found.append(Number("signal_A at the end of stage 1", signal if well else np.nan, where))
            missed = 1.0
            if well and signal > 0.1:
                run = noisy(**problem, **noise, **TWO_STAGES, plateau_time=0, learning_rate=second,
                            init_from=first.popflow.path, t_end=20, saves=2)
                missed = float(np.ravel(run.popflow.group("final").distance_Q_after)[0])
                missed /= float(np.sqrt((flow.popflow.group("problem").Q_value**2).sum()))
            found.append(Check("distance to Q after two stages, rounded, of its norm", missed, where,
                               most=0.1))
    return found


def noise_of_a_sample(problem: dict[str, Any], flow: str) -> float:
    """The standard deviation of one sample's gradient at V = P and uniform attention, its root mean
    square over all weights: from a single step of length 1, in which noise is far above drift."""
    batch = 256
    step = noisy(**problem, init_from=flow, init_mix=1, steps=1, learning_rate=1, batch_size=batch,
                 saves=2, state="ends")
    moved = [step[name].diff("time_state") for name in ("V", "A")]
    squares = sum(float((of**2).sum()) for of in moved) / sum(of.size for of in moved)
    return float(np.sqrt(batch * squares))
