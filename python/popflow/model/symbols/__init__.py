"""Symbols of a model: arrays whose numbers are not known yet.

A symbol remembers how it was computed. NumPy's operators and functions work on symbols; what they
return is a symbol, too. Nothing here needs CasADi: a model whose plug-in is in the cache is found
by its key (key.py).
"""

from . import functions  # noqa: F401  (fills the tables of NumPy's functions)
from .own import (
    causal,
    cross_entropy,
    embed,
    erf,
    layer_norm,
    logistic_loss,
    logsumexp,
    rms_norm,
    softmax,
)
from .symbol import (
    Symbol,
    as_symbol,
    binary,
    broadcast,
    chosen_rows,
    contents,
    fixed,
    in_order,
    joined,
    one_hot,
    product,
    reduced,
    taken,
    told,
    unary,
    where,
)
from .values import evaluate, evaluated

__all__ = ["Symbol", "as_symbol", "binary", "broadcast", "causal", "chosen_rows", "contents",
           "cross_entropy", "embed", "erf", "evaluate", "evaluated", "fixed", "in_order", "joined",
           "layer_norm", "logistic_loss", "logsumexp", "one_hot", "product", "reduced", "rms_norm",
           "softmax", "taken", "told", "unary", "where"]
