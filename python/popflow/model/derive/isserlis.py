"""Exact means of polynomials of normal numbers (Isserlis' theorem)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..laws import Law
from ..symbols import Symbol, in_order

MOST = np.inf  # degree of a formula that is not a polynomial
HIGHEST = 8


def degree(formula: Symbol, finite: frozenset[int] = frozenset()) -> float:
    """Returns a bound on the degree of a formula in the data, except in the data `finite` (ids).

    The bound is infinite unless the formula is known to be a polynomial.
    """
    found: dict[int, float] = {}
    for node in in_order([formula]):
        of = [found[id(arg)] for arg in node.args]
        most = max(of, default=0.0)
        if node.op == "data":
            value = 0.0 if id(node) in finite else 1.0
        elif node.op in ("+", "-", "neg", "sum", "take", "join") or most == 0:
            value = most
        elif node.op in ("*", "matmul"):
            value = sum(of)
        elif node.op == "/" and of[1] == 0:
            value = of[0]
        elif node.op == "**" and is_power(node) and of[1] == 0:
            value = of[0] * float(node.args[1].value.ravel()[0])
        elif node.op == "where" and of[0] == 0:
            value = most
        else:
            value = MOST
        found[id(node)] = value
    return found[id(formula)]


def is_power(node: Symbol) -> bool:
    exponent = node.args[1]
    if exponent.op != "constant":
        return False
    values = np.unique(exponent.value)
    return len(values) == 1 and float(values[0]).is_integer() and values[0] >= 0


def normal_mean(laws: Sequence[tuple[Law, list[Symbol]]], loss: Symbol,
                what: str = "loss") -> Symbol:
    """The mean of the loss, or of another scalar of a sample, over the law of the data: a symbol
    that the lowering expands."""
    kinds = {law.kind for law, _ in laws if law.kind != "finite"}
    finite = frozenset(id(symbol) for law, symbols in laws if law.kind == "finite"
                       for symbol in symbols)
    found = degree(loss, finite)
    if kinds != {"normal"} or found > HIGHEST:
        why = (f"the law of the data is {', '.join(sorted(kinds))}, not normal"
               if kinds != {"normal"}
               else f"the {what} {loss.label} is no polynomial of the data" if found == MOST
               else f"the {what} is of degree {found:g} in the data, above {HIGHEST}")
        given = ("Give it by population_loss(), estimate it from samples by stream(), or take"
                 if what == "loss" else "Estimate it from samples by stream(), or take")
        raise ModelError(f"the mean of the {what} over the data has no exact form here: {why}. "
                         f"{given} it by quadrature(points) in up to four dimensions, a Gauss rule "
                         "that is exact for polynomials of degree 2 points - 1")
    return Symbol("normal mean", (loss,), (), f"E {loss.label}", int(found))
