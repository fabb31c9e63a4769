"""Softmax and linear attention (claims 8 and 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
import popflow
import xarray

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .common import SUPPORT, mean, noisy

PROBLEM: dict[str, Any] = {"vocab_size": 5, "sparsity": 2, "transition_concentration": 0.3,
                           "show": False}


@claim(8, BIGRAM, "softmax behaves like linear attention near the start at a rate slower by T^2, "
       "and later sparsifies like l1", experiments=["scb-softmax"], has_long=True)
def softmax(long: bool) -> list[Number]:
    """..."""
    return [*slower(), *sparser(long)]


def slower() -> list[Number]:
    """How fast signal_A moves against how fast it does with linear attention, times T^2, along
    the flow. The attention of both starts alike and sees the same V, so that the ratio of the
    signals is that of the rates."""
    found: list[Number] = []
    for T in (100, 1000, 10000):
        for share, most in ((0.1, 0.01), (1, 0.05)):
            time = share * T
            # With linear attention signal_A would be large by then: its rate is made smaller, too.
            found.append(rate_ratio(T, time, most))
    return found


def rate_ratio(T: int, time: float, most: float) -> Number:
    signals = {}
    for attention in ("linear", "softmax"):
        run = popflow.run("scb", **PROBLEM, **SUPPORT, context_length=T, attention=attention,
                          t_end=time, saves=2, rtol=1e-10, atol=1e-12)
        signals[attention] = float(run.signal_A[-1])
    return Number("T^2 times", signals["softmax"] * T**2 / signals["linear"], f"T = {T}, t = {time}")
