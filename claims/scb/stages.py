"""What training is made of: two signals (claim 1)."""

from __future__ import annotations

import numpy as np

import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM


@claim(1, BIGRAM, "training reduces to a system of two signals that is linear in stage 1",
       experiments=["scb-two-stages"])
def two_signals(long: bool) -> list[Number]:
    """The flow of all weights beside that of the two signals, from the same start to its end:
    they differ by far less than the tolerance of a step. In stage 1 both signals should grow at
    the rate sqrt(kappa K_P) of the linear system, once the drift that starts it has been left
    behind and before the product signal_V signal_A matters; this is measured at T = 10^6,
    between signal_A = 10^-4 and 10^-2, where a fit of the exponential is off by what is left of
    the drift."""
    del long
    found: list[Number] = []
    for rtol in (1e-6, 1e-9):
        runs = {word: popflow.run("scb", vocab_size=5, context_length=200, coordinates=word,
                                  rtol=rtol, atol=rtol / 100, show=False)
                for word in ("full", "signal")}
        for item in ("signal_V", "signal_A"):
            apart = float(np.abs(runs["full"][item] - runs["signal"][item]).max())
            found.append(Check(f"largest difference of {item}, all weights against two signals",
                               apart, f"reduction at rtol = {rtol:g}", most=100 * rtol))
    for rtol in (1e-8, 1e-9):
        run = popflow.run("scb", context_length=1_000_000, coordinates="signal", saves=4001,
                          t_end=60, rtol=rtol, atol=rtol / 100, show=False)
        stage = run.isel(time=((run.signal_A > 1e-4) & (run.signal_A < 1e-2)).values)
        rate = np.sqrt(run.attrs["kappa"] * run.attrs["K_P"])
        for item in ("signal_V", "signal_A"):
            slope = np.polyfit(stage.time, np.log(stage[item]), 1)[0] / rate
            found.append(Check(f"growth of {item}, in units of sqrt(kappa K_P)", float(slope),
                               f"linear in stage 1 at rtol = {rtol:g}", least=0.98, most=1.02))
    return found
