"""Numbers of symbols whose arguments are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from .symbol import Symbol, in_order

EVALUATE: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
    "!=": np.not_equal, "and": np.logical_and, "or": np.logical_or, "neg": np.negative}


def evaluated(roots: Sequence[Symbol], known: dict[int, Any],
              each: Callable[[Symbol, Any], None] | None = None) -> list[Any]:
    """Values of symbols; `known` has those of the symbols with these ids. Calls each(symbol,
    value)."""
    values: dict[int, Any] = {}
    for node in in_order(roots):
        args = [values[id(arg)] for arg in node.args]
        with np.errstate(all="ignore"):
            if id(node) in known:
                value = np.asarray(known[id(node)], dtype=float)
            else:
                value = np.asarray(evaluate(node, args), dtype=float)
        values[id(node)] = value
        if each is not None:
            each(node, value)
    return [values[id(root)] for root in roots]


def evaluate(node: Symbol, args: list[Any]) -> Any:
    op = node.op
    if op == "constant":
        return node.value
    if op == "take":
        return args[0].ravel()[node.value]
    if op == "join":
        return np.concatenate([arg.ravel() for arg in args]).reshape(node.shape)
    if op == "rows":
        return (args[1][..., None] == np.arange(len(args[0]))) @ args[0]
    if op == "sum":
        return args[0].sum(axis=-1)
    if op in ("max", "top"):
        return args[0].max(axis=-1)
    if op == "logsumexp":
        top = args[0].max(axis=-1)
        return top + np.log(np.exp(args[0] - top[..., None]).sum(axis=-1))
    if op == "erf":
        from scipy.special import erf as of_scipy
        return of_scipy(args[0])
    if op in EVALUATE:
        return EVALUATE[op](*args)
    if hasattr(np, op):
        return getattr(np, op)(*args)
    raise ModelError(f"{node.label} has no value here")
