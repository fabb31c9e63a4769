"""Errors of models."""

from __future__ import annotations

from ..errors import UsageError


class ModelError(UsageError):
    """A model is wrong: the sentence names the term, its value or shape, and what is allowed."""
