"""Systems from a loss and a law of the data.

    from popflow.model import Model, finite, cross_entropy

The class `Model` has a method for each part of a model; docs/models.md is the full documentation.
"""

from .definition import Model, System
from .errors import ModelError
from .laws import categorical, finite, mixture, normal, rademacher, uniform
from .symbols import (
                      Symbol,
                      cross_entropy,
                      erf,
                      logistic_loss,
                      logsumexp,
                      one_hot,
                      softmax,
                      where,
)

__all__ = ["Model", "ModelError", "Symbol", "System", "categorical", "cross_entropy", "erf",
           "finite", "logistic_loss", "logsumexp", "mixture", "normal", "one_hot",
           "rademacher", "softmax", "uniform", "where"]
