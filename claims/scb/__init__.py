"""Sparse contextual bigrams (claims 1 to 9)."""

from . import penalty, samples, stages, start, transfer  # noqa: F401
