"""Samples from a generator: stream() and scan()."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import ModelError
from .laws import Law, shape_of
from .symbols import Symbol, as_symbol
from .symbols.symbol import stacked


def stream(function: Callable[..., Any], *laws: Law, samples: int, seed: int = 0) -> Law:
    """Samples that a function makes of numbers from laws: `function(symbols) -> symbols`.

    The population is estimated: the mean over this number of samples, drawn once with this seed.
    Sampled training draws fresh samples.
    """
    if not callable(function):
        raise ModelError(f"stream() takes a function of symbols first; {function!r} is none")
    if not laws or any(not isinstance(law, Law) or law.kind == "stream" for law in laws):
        raise ModelError("stream() takes laws after the function, such as normal(3) or uniform()")
    if any(law.table is not None or law.stored or law.epochs for law in laws):
        raise ModelError("stream() takes neither dataset() nor array() nor sampling='epochs': "
                         "every sample of training is a fresh one")
    if not isinstance(samples, (int, np.integer)) or samples < 2:
        raise ModelError(f"stream() has samples={samples!r}; give the number of samples of the "
                         "population, from 2 on")
    law = Law("stream", parts=list(laws))
    law.function, law.count, law.seed = function, int(samples), int(seed)
    return law


def scan(step: Callable[[Any, int], tuple[Any, Any]], start: Any, length: int) -> Symbol:
    """Stacks the outputs of `state, output = step(state, place)` at the places 0 to length - 1:
    a chain whose next state depends on the last one."""
    (length,) = shape_of(length)
    state, outputs = start, []
    for place in range(length):
        state, output = step(state, place)
        outputs.append(as_symbol(output))
    return stacked(outputs)


def drawn_numbers(laws: Sequence[tuple[Law, list[Symbol]]], count: int,
                  seed: int) -> np.ndarray:
    """Draws the numbers of samples, a row each: those that a model's formulas start from."""
    rng = np.random.default_rng(seed)
    columns = []
    for law, symbols in laws:
        size = sum(symbol.size for symbol in symbols)
        if law.kind == "finite":
            weight = law.probability
            if weight is None or weight.op != "constant":
                raise ModelError("the probabilities of laws in stream() must be numbers; they "
                                 "depend on parameters")
            which = rng.choice(law.samples, count, p=weight.value / weight.value.sum())
            columns.append(np.hstack([array.reshape(law.samples, -1)[which]
                                      for array in law.arrays]))
        elif law.kind == "normal":
            columns.append(rng.normal(size=(count, size)))
        elif law.kind == "uniform":
            columns.append(rng.uniform(law.low, law.high, size=(count, size)))
        else:
            columns.append(rng.choice([-1.0, 1.0], size=(count, size)))
    return np.hstack(columns)
