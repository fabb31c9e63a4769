"""The package's own functions of symbols, in numerically stable forms."""

from __future__ import annotations

from typing import Any, cast

from ..errors import ModelError
from .functions import checked
from .symbol import Symbol, as_symbol, at_place, reduced, told, unary, where

_logsumexp = checked("logsumexp", lambda z, axis=None: reduced("logsumexp", z, axis))


def erf(x: Any) -> Any:
    """The error function."""
    return unary("erf", x)


def logsumexp(z: Any, axis: int | None = None) -> Symbol:
    """log(sum(exp(z))), without overflow."""
    symbol = as_symbol(z)
    return cast(Symbol, _logsumexp(symbol, axis))


def softmax(z: Any) -> Symbol:
    """exp(z) / sum(exp(z)) of a vector, without overflow."""
    symbol = as_symbol(z)
    if symbol.ndim != 1:
        raise ModelError(f"softmax({symbol.label}) needs a vector; it is {told(symbol.shape)}")
    return unary("exp", symbol - logsumexp(symbol))


def cross_entropy(logits: Any, label: Any) -> Symbol:
    """-log softmax(logits)[label], without overflow; `label` may be a vector of probabilities."""
    z, y = as_symbol(logits), as_symbol(label)
    if z.ndim != 1:
        raise ModelError(f"cross_entropy needs a vector of logits; {z.label} is {told(z.shape)}")
    if y.shape not in ((), z.shape):
        raise ModelError(f"cross_entropy: the label {y.label} is {told(y.shape)}; it must be a "
                         f"whole number or {told(z.shape)} probabilities, like {z.label}")
    wanted = at_place(y, len(z), "cross_entropy: the label") if y.ndim == 0 else y
    total = 1.0 if y.ndim == 0 else reduced("sum", y)
    return logsumexp(z) * total - reduced("sum", wanted * z)


def logistic_loss(margin: Any) -> Symbol:
    """log(1 + exp(-margin)), without overflow."""
    m = as_symbol(margin)
    # Both branches have all derivatives of the loss at 0; abs() and maximum() would lack them.
    return where(m > 0, 0, -m) + unary("log1p", unary("exp", -where(m > 0, m, -m)))
