"""Sparse contextual bigrams (claims 1 to 9 and 28 to 38)."""

from . import (  # noqa: F401
    attention,
    divergence,
    penalty,
    samples,
    size,
    softmax,
    stages,
    start,
    transfer,
    valley,
)
