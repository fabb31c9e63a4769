"""The package's own functions of symbols, in numerically stable forms."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..errors import ModelError
from .functions import checked
from .symbol import Symbol, as_symbol, at_place, chosen_rows, counted, reduced, told, unary
from .symbol import where as where_symbol

LOWEST = -1e300  # stands for minus infinity, of which formulas have no derivatives

_logsumexp = checked("logsumexp", lambda z, axis=None, keepdims=False:
                     reduced("logsumexp", z, axis, keepdims))


def erf(x: Any) -> Any:
    """The error function."""
    return unary("erf", x)


def logsumexp(z: Any, axis: int | None = None) -> Symbol:
    """log(sum(exp(z))), without overflow."""
    symbol = as_symbol(z)
    return cast(Symbol, _logsumexp(symbol, axis))


def softmax(z: Any, axis: int = -1, where: Any = None) -> Symbol:
    """exp(z) / sum(exp(z)) along an axis, without overflow. Entries where the condition `where` is
    false have the result 0, such as those outside of a mask of attention."""
    symbol = as_symbol(z)
    if symbol.ndim == 0:
        raise ModelError(f"softmax({symbol.label}) needs one or more axes; it is a scalar")
    if where is not None:
        symbol = masked(symbol, as_symbol(where))
    if symbol.ndim == 1 and axis in (0, -1):
        return unary("exp", symbol - logsumexp(symbol))
    return unary("exp", symbol - cast(Symbol, _logsumexp(symbol, axis, True)))


def masked(z: Symbol, mask: Symbol) -> Symbol:
    if not mask.is_condition:
        raise ModelError(f"softmax({z.label}): where is {mask.label}, which is no condition; give "
                         "causal(n), or compare numbers, as in x > 0")
    if mask.op == "constant" and not mask.value.any(axis=-1).all():
        raise ModelError(f"softmax({z.label}): the condition `where` has a row in which no entry "
                         "is true; the result would have no values there")
    return where_symbol(mask, z, LOWEST)


def cross_entropy(logits: Any, label: Any) -> Symbol:
    """-log softmax(logits)[label], without overflow; `label` may be a vector of probabilities. A
    matrix of logits has a row and a label, or a row of probabilities, for each result."""
    z, y = as_symbol(logits), as_symbol(label)
    if z.ndim == 0:
        raise ModelError(f"cross_entropy needs a vector of logits; {z.label} is {told(z.shape)}")
    has_places = y.shape == z.shape[:-1]
    if not has_places and y.shape != z.shape:
        labels = "a whole number" if z.ndim == 1 else f"{told(z.shape[:-1])} whole numbers"
        raise ModelError(f"cross_entropy: the label {y.label} is {told(y.shape)}; it must be "
                         f"{labels} or {told(z.shape)} probabilities, like {z.label}")
    wanted = at_place(y, z.shape[-1], "cross_entropy: the label") if has_places else y
    total = 1.0 if has_places else reduced("sum", y, -1)
    return reduced("logsumexp", z, -1) * total - reduced("sum", wanted * z, -1)


def logistic_loss(margin: Any) -> Symbol:
    """log(1 + exp(-margin)), without overflow."""
    m = as_symbol(margin)
    # Both branches have all derivatives of the loss at 0; abs() and maximum() would lack them.
    return where_symbol(m > 0, 0, -m) + unary("log1p", unary("exp", -where_symbol(m > 0, m, -m)))


def layer_norm(x: Any, scale: Any = None, shift: Any = None, epsilon: float = 1e-5) -> Symbol:
    """(x - mean) / sqrt(variance + epsilon) along the last axis, times `scale` plus `shift`."""
    symbol = of_rows(x, "layer_norm", epsilon)
    centred = symbol - average_of(symbol)
    return normalised(centred, "layer_norm", scale, shift, epsilon)


def rms_norm(x: Any, scale: Any = None, epsilon: float = 1e-5) -> Symbol:
    """x / sqrt(mean of squares + epsilon) along the last axis, times `scale`."""
    return normalised(of_rows(x, "rms_norm", epsilon), "rms_norm", scale, None, epsilon)


def of_rows(x: Any, function: str, epsilon: Any) -> Symbol:
    symbol = as_symbol(x)
    if symbol.ndim == 0 or symbol.size == 0:
        raise ModelError(f"{function}({symbol.label}) is {told(symbol.shape)}; it needs one or "
                         "more axes, and normalises along the last one")
    if not isinstance(epsilon, (int, float)) or not 0 <= epsilon < float("inf"):
        raise ModelError(f"{function}: epsilon is {epsilon}; it must be a finite number from 0 on")
    return symbol


def average_of(x: Symbol) -> Symbol:
    return reduced("sum", x, -1, True) / x.shape[-1]


def normalised(x: Symbol, function: str, scale: Any, shift: Any, epsilon: float) -> Symbol:
    found = x * (1.0 / unary("sqrt", average_of(x * x) + epsilon))
    for name, value in (("scale", scale), ("shift", shift)):
        if value is None:
            continue
        one = as_symbol(value)
        if one.shape not in ((), x.shape[-1:]):
            raise ModelError(f"{function}: the {name} {one.label} is {told(one.shape)}; it must be "
                             f"a scalar or a vector of {x.shape[-1]}, one for each entry of the "
                             "last axis")
        found = found * one if name == "scale" else found + one
    return found


def causal(length: int) -> Symbol:
    """Mask of causal attention, `length` x `length`: row i is true up to column i. Use it as
    softmax(scores, where=causal(length))."""
    return as_symbol(np.tri(counted(length, "causal: the length"), dtype=bool))


def embed(table: Any, tokens: Any) -> Symbol:
    """Rows of a matrix: a row for each token, which is a whole number of the data."""
    rows = as_symbol(table)
    if rows.ndim != 2:
        raise ModelError(f"embed: the table {rows.label} is {told(rows.shape)}; it must be a "
                         "matrix with a row for each token")
    return chosen_rows(rows, as_symbol(tokens), "embed: the token")
