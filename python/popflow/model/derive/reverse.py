"""Gradients of formulas by reverse differentiation, as formulas that keep their matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..symbols import Symbol, as_symbol, evaluate, in_order, taken, where
from .rules import along_last, as_matrices, spread, times

# Operations between the samples of a batch. "batch sum" adds an array over the samples; "contract"
# adds the products a[i, n] b[j, n] over n and the samples; "rows added" adds rows with the same
# index. "scatter" adds entries at places, for each sample.
BATCH_OPS = ("batch sum", "contract", "rows added")
FLAT = {"<", "<=", ">", ">=", "==", "!=", "and", "or", "sign", "floor", "ceil", "top"}


def share(wins: Symbol, ties: Symbol) -> Symbol:
    return where(wins, 1, where(ties, 0.5, 0))


# Derivatives of functions of one argument a with the value f, times the adjoint g.
UNARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "neg": lambda g, a, f: -g, "exp": lambda g, a, f: g * f, "expm1": lambda g, a, f: g * (f + 1),
    "log": lambda g, a, f: g / a, "log1p": lambda g, a, f: g / (a + 1),
    "sqrt": lambda g, a, f: g / (f + f), "abs": lambda g, a, f: g * np.sign(a),
    "sin": lambda g, a, f: g * np.cos(a), "cos": lambda g, a, f: -(g * np.sin(a)),
    "arcsin": lambda g, a, f: g / np.sqrt(1 - a * a),
    "arccos": lambda g, a, f: -(g / np.sqrt(1 - a * a)),
    "arctan": lambda g, a, f: g / (1 + a * a), "sinh": lambda g, a, f: g * np.cosh(a),
    "cosh": lambda g, a, f: g * np.sinh(a), "tanh": lambda g, a, f: g * (1 - f * f),
    "arcsinh": lambda g, a, f: g / np.sqrt(1 + a * a),
    "erf": lambda g, a, f: g * (2 / np.sqrt(np.pi) * np.exp(-(a * a)))}
BINARY: dict[str, Callable[[Any, Any, Any, Any], tuple[Any, Any]]] = {
    "+": lambda g, a, b, f: (g, g), "-": lambda g, a, b, f: (g, -g),
    "*": lambda g, a, b, f: (g * b, g * a), "/": lambda g, a, b, f: (g / b, -(g * f / b)),
    "**": lambda g, a, b, f: (g * (b * a ** (b - 1)),
                              None if b.op == "constant" else g * (f * np.log(a))),
    "hypot": lambda g, a, b, f: (g * (a / f), g * (b / f)),
    "fmod": lambda g, a, b, f: (g, g * ((f - a) / b)),
    # Arguments that tie share the derivative equally, as CasADi has it.
    "maximum": lambda g, a, b, f: (g * share(a > b, a == b), g * share(b > a, a == b)),
    "minimum": lambda g, a, b, f: (g * share(a < b, a == b), g * share(b < a, a == b))}
KNOWN = {*UNARY, *BINARY, *FLAT, "constant", "parameter", "weights", "data", "take", "join",
         "matmul", "rows", "sum", "where"}


def is_known(formula: Symbol) -> bool:
    """Returns whether this module has derivatives of all operations of a formula."""
    return all(node.op in KNOWN for node in in_order([formula]))


def depends_on_samples(roots: Sequence[Symbol]) -> dict[int, bool]:
    """Returns the ids of the symbols that have a value for each sample."""
    found: dict[int, bool] = {}
    for node in in_order(roots):
        found[id(node)] = node.op in ("data", "sample weight") or (
            node.op not in BATCH_OPS and any(found[id(arg)] for arg in node.args))
    return found


class Tidy:
    """Rebuilds formulas: each value is computed once, and constants are evaluated."""

    def __init__(self) -> None:
        self.known: dict[bytes, Symbol] = {}

    def __call__(self, roots: Sequence[Symbol]) -> list[Symbol]:
        made: dict[int, Symbol] = {}
        for node in in_order(roots):
            args = [made[id(arg)] for arg in node.args]
            new = node if all(a is b for a, b in zip(args, node.args)) else \
                Symbol(node.op, args, node.shape, node.label, node.value)
            if node.op == "take":
                new = taken(args[0], node.value, node.label)
            elif args and all(arg.op == "constant" for arg in args) and node.op not in BATCH_OPS:
                new = as_symbol(evaluate(new, [arg.value for arg in args]))
            elif node.op == "*" and is_constant(args[1], 1.0) and args[0].shape == node.shape:
                new = args[0]
            elif node.op == "*" and is_constant(args[0], 1.0) and args[1].shape == node.shape:
                new = args[1]
            made[id(node)] = self.known.setdefault(new.digest(), new)
        return [made[id(root)] for root in roots]


def is_constant(symbol: Symbol, value: float) -> bool:
    return symbol.op == "constant" and bool((symbol.value == value).all())


def gradient(loss: Symbol, weights: Sequence[Symbol], seed: Symbol) -> tuple[Symbol, list[Symbol]]:
    """The sum of seed * loss over the samples of a batch, and its derivatives by the weights. The
    loss is one that Rules has rewritten."""
    (loss,) = Tidy()([loss])
    of_samples = depends_on_samples([loss, seed])
    value = seed * loss
    if of_samples[id(loss)] or of_samples[id(seed)]:
        value = Symbol("batch sum", (value,), (), "loss")
        of_samples[id(loss)] = True
    needed: dict[int, bool] = {}
    for node in in_order([loss]):
        needed[id(node)] = any(node is one for one in weights) or (
            node.op not in FLAT and any(needed[id(arg)] for arg in node.args))
    adjoints: dict[int, Symbol] = {id(loss): seed}
    for node in reversed(in_order([loss])):
        if id(node) not in adjoints or not needed[id(node)]:
            continue
        makers = adjoints_of_arguments(node, adjoints[id(node)], of_samples)
        for arg, make in zip(node.args, makers):
            if not needed[id(arg)]:
                continue
            own = make()
            if own is None:
                continue
            summed = (own.args[0] if own.op == "take" else own).op in ("contract", "rows added")
            if of_samples[id(node)] and not of_samples[id(arg)] and not summed:
                own = Symbol("batch sum", (own,), own.shape, "batch sum")
            before = adjoints.get(id(arg))
            adjoints[id(arg)] = own if before is None else before + own
    found = [adjoints.get(id(one)) for one in weights]
    zero = [as_symbol(np.zeros(one.shape)) for one in weights]
    tidy = Tidy()([value, *(a if a is not None else b for a, b in zip(found, zero))])
    return tidy[0], tidy[1:]


def adjoints_of_arguments(node: Symbol, g: Symbol, of_samples: dict[int, bool]
                          ) -> list[Callable[[], Any]]:
    """Returns, for each argument of a node, a function that makes its adjoint from the node's."""
    op, args = node.op, node.args

    def fitted(adjoint: Any, arg: Symbol) -> Any:
        """Adds over the entries to which a scalar was spread."""
        if adjoint is None or adjoint.shape == arg.shape:
            return adjoint
        return adjoint.sum() if not arg.shape else spread(adjoint, arg.shape)

    if op in UNARY:
        return [lambda: UNARY[op](g, args[0], node)]
    if op in BINARY:
        def side(which: int) -> Any:
            found = BINARY[op](spread(g, node.shape), args[0], args[1], node)[which]
            return fitted(found, args[which])
        return [lambda: side(0), lambda: side(1)]
    if op == "where":
        wide = spread(g, node.shape)
        return [lambda: None, lambda: fitted(where(args[0], wide, 0), args[1]),
                lambda: fitted(where(args[0], 0, wide), args[2])]
    if op == "sum":
        return [lambda: along_last(g, args[0].shape)]
    if op == "take":
        return [lambda: scattered(g, node.value, args[0].shape)]
    if op == "join":
        ends = np.cumsum([arg.size for arg in args])

        def part(end: int, shape: tuple[int, ...], size: int) -> Callable[[], Any]:
            return lambda: taken(g, np.arange(end - size, end).reshape(shape), "part")
        return [part(int(end), arg.shape, arg.size) for end, arg in zip(ends, args)]
    if op == "rows":
        return [lambda: Symbol("rows added", (args[1], spread(g, node.shape)), args[0].shape,
                               "rows added"), lambda: None]
    if op == "matmul":
        return product_adjoints(node, g, of_samples)
    return [lambda: None for _ in args]


def scattered(g: Symbol, places: np.ndarray, shape: tuple[int, ...]) -> Symbol:
    """Adds entry i of g to the entry places[i] of an array of zeros."""
    flat = places.ravel()
    size = int(np.prod(shape, dtype=int))
    if flat.size == size and np.array_equal(np.sort(flat), np.arange(size)):
        return taken(g, np.argsort(flat).reshape(shape), "permuted")
    return Symbol("scatter", (g,), shape, "scattered", flat)


def product_adjoints(node: Symbol, g: Symbol, of_samples: dict[int, bool]
                     ) -> list[Callable[[], Any]]:
    a, b = node.args
    left, right = as_matrices(a, b)
    outer = g.reshape(*left.shape[:-1], right.shape[-1])

    def of_left() -> Symbol:
        if of_samples[id(node)] and not of_samples[id(a)]:
            return Symbol("contract", (outer, right), left.shape, "contracted").reshape(a.shape)
        return times(outer, right.mT).reshape(a.shape)

    def of_right() -> Symbol:
        if of_samples[id(node)] and not of_samples[id(b)]:
            return Symbol("contract", (left.mT, outer.mT), right.shape, "contracted").reshape(
                b.shape)
        return times(left.mT, outer).reshape(b.shape)

    return [of_left, of_right]

