"""Sparse contextual bigrams (claims 1 to 9)."""

from . import penalty, samples, size, softmax, stages, start, transfer, valley  # noqa: F401
