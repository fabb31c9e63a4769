"""Bounds of formulas' values, for all weights, parameters and data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..symbols import Symbol

Bounds = tuple[float, float]
ALL: Bounds = (-np.inf, np.inf)
# Functions that grow everywhere, and functions between two numbers.
GROWING: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "expm1": np.expm1, "tanh": np.tanh, "arctan": np.arctan, "sinh": np.sinh,
    "arcsinh": np.arcsinh, "sign": np.sign, "floor": np.floor, "ceil": np.ceil,
    "max": lambda x: x, "top": lambda x: x, "take": lambda x: x}
BETWEEN: dict[str, Bounds] = {"sin": (-1.0, 1.0), "cos": (-1.0, 1.0), "erf": (-1.0, 1.0)}


def bounds(node: Symbol, of: Sequence[Bounds]) -> Bounds:
    """Returns bounds of a formula's entries from those of its arguments."""
    with np.errstate(all="ignore"):
        found = unchecked(node, of)
    return ALL if np.isnan(found).any() else found


def unchecked(node: Symbol, of: Sequence[Bounds]) -> Bounds:
    op = node.op
    if op == "constant" and node.size:
        return float(node.value.min()), float(node.value.max())
    if node.is_condition:
        return 0.0, 1.0
    if op in GROWING:
        return float(GROWING[op](of[0][0])), float(GROWING[op](of[0][1]))
    if op in BETWEEN:
        return BETWEEN[op]
    if op in ("join", "where"):
        parts = of[1:] if op == "where" else of
        return min(one[0] for one in parts), max(one[1] for one in parts)
    if op in ("maximum", "minimum"):
        choose = max if op == "maximum" else min
        return choose(of[0][0], of[1][0]), choose(of[0][1], of[1][1])
    if op == "neg":
        return -of[0][1], -of[0][0]
    if op == "+":
        return of[0][0] + of[1][0], of[0][1] + of[1][1]
    if op == "-":
        return of[0][0] - of[1][1], of[0][1] - of[1][0]
    if op == "abs" or (op in ("*", "matmul") and (op == "*" or node.args[0].ndim == 1)
                       and node.args[0].digest() == node.args[1].digest()):
        low, high = of[0]
        least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        most = max(abs(low), abs(high))
        if op == "abs":
            return least, most
        count = 1 if op == "*" else node.args[0].size
        return count * least**2, count * most**2
    if op == "*" or (op == "/" and not of[1][0] <= 0 <= of[1][1]):
        ends = of[1] if op == "*" else (1 / of[1][1], 1 / of[1][0])
        products = [0.0 if 0 in (a, b) else a * b for a in of[0] for b in ends]
        return min(products), max(products)
    if op == "**" and node.args[1].op == "constant" and (node.args[1].value % 2 == 0).all():
        return 0.0, np.inf
    if op == "sum":
        count = node.args[0].shape[-1]
        return count * of[0][0], count * of[0][1]
    if op == "sqrt":
        return float(np.sqrt(max(of[0][0], 0.0))), float(np.sqrt(max(of[0][1], 0.0)))
    if op in ("hypot", "cosh"):
        return (0.0 if op == "hypot" else 1.0), np.inf
    return ALL
