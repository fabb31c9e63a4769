"""Systems from a loss and a law of the data.

    from popflow.model import Model, finite, cross_entropy

The class `Model` has a method for each part of a model; docs/models.md is the full documentation.

A call of Model checks a declaration (checks/) and keeps it (parts.py). `build()` rewrites formulas
of symbols (symbols/) by the rules of derivatives (derive/), prints them as C++ (emit/), and
compiles them into the cache (compilers.py, building.py, key.py).
"""

from .definition import Model, System
from .errors import ModelError
from .laws import categorical, finite, mixture, normal, rademacher, uniform
from .streams import scan, stream
from .symbols import (
    Symbol,
    causal,
    cross_entropy,
    embed,
    erf,
    layer_norm,
    logistic_loss,
    logsumexp,
    one_hot,
    rms_norm,
    softmax,
    where,
)
from .tables import dataset, file

__all__ = ["Model", "ModelError", "Symbol", "System", "categorical", "causal", "cross_entropy",
           "dataset", "embed", "erf", "file", "finite", "layer_norm", "logistic_loss", "logsumexp",
           "mixture", "normal", "one_hot", "rademacher", "rms_norm", "scan", "softmax", "stream",
           "uniform", "where"]
