"""What training is made of: two signals (claim 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

import popflow

from ..claim import Check, Number, claim
from ..papers import BIGRAM


@claim(1, BIGRAM, "training reduces to a system of two signals that is linear in stage 1",
       experiments=["scb-two-stages"])
def two_signals(long: bool) -> list[Number]:
    """The flow of all weights beside that of the two signals, from the same start to its end. At
    steps of the same fixed length (Runge-Kutta of order four) they differ by rounding, at each
    length. At steps that an error estimate chooses they differ by more, and not by less where the
    tolerance is smaller: rounding lets the two choose other steps, and then they differ by about as
    much as the solver is wrong by (told beside it, as the change at a far smaller tolerance); at
    1e-6 they happen to choose the same.

    In stage 1 both signals should grow at the rate sqrt(kappa K_P) of the linear system, once the
    drift that starts it has been left behind and before the product signal_V signal_A matters; this
    is measured at T = 10^6, between signal_A = 10^-4 and 10^-2, where a fit of the exponential is
    off by what is left of the drift."""
    del long
    found: list[Number] = []
    for dt in (0.2, 0.05):
        pair = [reduced(word, method="rk4", dt=dt) for word in ("full", "signal")]
        found += [Check(f"largest difference of {item}, all weights against two signals",
                        apart(*pair, item), f"reduction at steps of {dt:g}", most=1e-12)
                  for item in ("signal_V", "signal_A")]
    for rtol in (1e-6, 1e-9):
        full, signal, exact = (reduced(word, rtol=tolerance, atol=tolerance / 100)
                               for word, tolerance in (("full", rtol), ("signal", rtol),
                                                       ("signal", 1e-12)))
        for item in ("signal_V", "signal_A"):
            where = f"steps chosen at rtol = {rtol:g}"
            found += [Number(f"largest difference of {item}, all weights against two signals",
                             apart(full, signal, item), where),
                      Number(f"the solver's own error of {item}", apart(signal, exact, item),
                             where)]
    for rtol in (1e-8, 1e-9):
        run = popflow.run("scb", context_length=1_000_000, coordinates="signal", saves=4001,
                          t_end=60, save_spacing="linear", rtol=rtol, atol=rtol / 100, show=False)
        stage = run.isel(time=((run.signal_A > 1e-4) & (run.signal_A < 1e-2)).values)
        rate = np.sqrt(run.attrs["kappa"] * run.attrs["K_P"])
        for item in ("signal_V", "signal_A"):
            slope = np.polyfit(stage.time, np.log(stage[item]), 1)[0] / rate
            found.append(Check(f"growth of {item}, in units of sqrt(kappa K_P)", float(slope),
                               f"linear in stage 1 at rtol = {rtol:g}", least=0.98, most=1.02))
    return found


def reduced(coordinates: str, **options: Any) -> xarray.Dataset:
    return popflow.run("scb", vocab_size=5, context_length=200, coordinates=coordinates, show=False,
                       **options)


def apart(one: xarray.Dataset, other: xarray.Dataset, item: str) -> float:
    return float(np.abs(one[item] - other[item]).max())
