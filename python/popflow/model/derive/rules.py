"""Formulas in a form whose derivatives are right everywhere: also at ties, kinks and zeros.

The two compilers differentiate by the smooth rules of calculus. Everything else that derivatives
need is decided here, once: docs/models.md states the rules.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, cast

import numpy as np

from ..symbols import Symbol, as_symbol, binary, broadcast, joined, product, taken, unary, where
from .bounds import Bounds, bounds

# Functions whose value or derivative may be infinite or undefined: the argument that decides, and a
# number at which both are finite.
SAFE = {"log": (0, 1.0), "log1p": (0, 0.0), "sqrt": (0, 1.0), "/": (1, 1.0), "**": (0, 1.0),
        "arcsin": (0, 0.0), "arccos": (0, 0.0), "exp": (0, 0.0), "expm1": (0, 0.0),
        "sinh": (0, 0.0), "cosh": (0, 0.0), "fmod": (1, 1.0), "hypot": (0, 1.0)}
TINY = float(np.finfo(float).tiny)
BELOW_ONE = 2.0**-53  # from 1 to the next smaller number
HALF_PI = float(np.pi / 2)
LARGEST_EXPONENT = 700.0
LONGEST_PRODUCT = 8  # whole exponents up to this one are products
# A computation that yields those that it waits for, so that deep formulas need no deep stack.
Steps = Generator[Any, Symbol, Symbol]


class Rules:
    """Rewrites formulas for a use: the values are always the same. Of a "loss", all derivatives are
    those of the rules; of a "rate", which is differentiated for its Jacobian only, slopes may be
    infinite; of "values", derivatives are not needed."""

    def __init__(self, use: str) -> None:
        self.derivatives, self.steep = use != "values", use == "loss"
        self.made: dict[tuple[int, int], Symbol] = {}
        self.facts: dict[tuple[str, int], Any] = {}
        self.masks: dict[tuple[Any, ...], Symbol] = {}
        self.kept: list[Symbol] = []  # keeps symbols alive, so that ids stay unique

    def __call__(self, formula: Symbol) -> Symbol:
        waiting: list[Steps] = [self.rewritten(formula, None)]
        found: Any = None
        while waiting:
            try:
                waiting.append(waiting[-1].send(found))
                found = None
            except StopIteration as finished:
                waiting.pop()
                found = finished.value
        self.kept.append(formula)
        return found

    # ---- Branches that are not chosen.

    def rewritten(self, node: Symbol, mask: Symbol | None) -> Steps:
        """A formula whose entries outside of the mask are not used: there, functions get an
        argument at which they and their derivatives are finite, since 0 times infinity is not 0."""
        key = (id(node), id(mask))
        if key in self.made:
            return self.made[key]
        self.kept += [node, *([mask] if mask is not None else [])]
        same = self.same(node)
        if same is not None:
            self.made[key] = yield self.rewritten(same, mask)
            return self.made[key]
        args: list[Symbol] = []
        for place, arg in enumerate(node.args):
            of_arg = None
            if self.derivatives and self.has_hazard(arg):
                if mask is not None:
                    of_arg = self.mask_of(node, place, mask)
                if node.op == "where" and place > 0:
                    chosen = self.condition(args[0], place == 1)
                    of_arg = self.both(of_arg, chosen, arg)
            args.append((yield self.rewritten(arg, of_arg)))
        if mask is not None and self.is_hazard(node):
            place, value = SAFE[node.op]
            used = self.mask_of(node, place, mask)
            safe = Symbol("where", (used, args[place], as_symbol(value)), args[place].shape,
                          args[place].label)
            args = [safe if k == place else arg for k, arg in enumerate(args)]
        self.made[key] = self.ruled(node, args)
        return self.made[key]

    def has_hazard(self, node: Symbol) -> bool:
        """Returns whether a formula contains a function that may be infinite or undefined."""
        return bool(self.fact("hazard", node, lambda one, of: any(of) or self.is_hazard(one)))

    def is_hazard(self, node: Symbol) -> bool:
        if node.op not in SAFE:
            return False
        low, high = self.bounds(node.args[SAFE[node.op][0]])
        if node.op == "**" and node.args[1].op == "constant":
            return low <= 0 and not bool(np.isin(node.args[1].value, (0, 1, 2)).all())
        if node.op in ("arcsin", "arccos"):
            return not -1 < low <= high < 1
        if node.op in ("/", "fmod", "hypot"):
            return low <= 0 <= high
        if node.op in ("log", "log1p", "sqrt", "**"):
            return low <= (-1 if node.op == "log1p" else 0)
        return max(-low if node.op in ("sinh", "cosh") else high, high) > LARGEST_EXPONENT

    def moves(self, node: Symbol) -> bool:
        """Returns whether a formula depends on weights, so that it is differentiated."""
        return bool(self.fact("moves", node, lambda one, of: any(of) or one.op == "weights"))

    def bounds(self, node: Symbol) -> Bounds:
        return cast(Bounds, self.fact("bounds", node, bounds))

    def fact(self, what: str, node: Symbol, found: Any) -> Any:
        """A property of a formula that follows from those of its arguments."""
        waiting = [node]
        while waiting:
            one = waiting[-1]
            unknown = [arg for arg in one.args if (what, id(arg)) not in self.facts]
            if (what, id(one)) not in self.facts and unknown:
                waiting += unknown
                continue
            if (what, id(one)) not in self.facts:
                self.facts[what, id(one)] = found(one, [self.facts[what, id(arg)]
                                                        for arg in one.args])
                self.kept.append(one)
            waiting.pop()
        return self.facts[what, id(node)]

    def condition(self, chosen: Symbol, holds: bool) -> Symbol:
        if holds and chosen.is_condition:
            return chosen
        return self.known((holds, id(chosen)),
                          lambda: binary("!=" if holds else "==", chosen, 0.0), chosen)

    def both(self, one: Symbol | None, other: Symbol, arg: Symbol) -> Symbol:
        """Both masks; a mask of a branch that is a scalar says whether any entry is used."""
        if other.shape and not arg.shape:
            other = self.known(("any", id(other)), lambda: any_of(other.reshape(-1)), other)
        if one is None:
            return other
        key = ("and", id(one), id(other))
        return self.known(key, lambda: binary("and", one, other), one, other)

    def known(self, key: tuple[Any, ...], make: Any, *of: Symbol) -> Symbol:
        if key not in self.masks:
            self.masks[key] = make()
            self.kept += of
        return self.masks[key]

    def mask_of(self, node: Symbol, place: int, mask: Symbol) -> Symbol:
        """The entries of an argument on which the entries of a mask depend."""
        if not mask.shape:
            return mask
        return self.known(("of", id(node), place, id(mask)),
                          lambda: used_entries(node, node.args[place], place, mask), node, mask)

    # ---- Rules.

    def ruled(self, node: Symbol, args: Sequence[Symbol]) -> Symbol:
        op = node.op
        if op == "logsumexp":
            # The shift has no derivative: the result does not depend on it.
            shift = Symbol("top", args, node.shape, node.label)
            terms = unary("exp", args[0] - along_last(shift, args[0].shape))
            return shift + unary("log", terms.sum(axis=-1))
        if op == "**":
            return self.power(node, args[0], args[1])
        if self.steep and any(map(self.moves, node.args)):
            if op == "sqrt" and self.is_hazard(node):
                zero = 1.0 * binary("==", args[0], 0.0)
                return unary("sqrt", args[0] + TINY * zero) - float(np.sqrt(TINY)) * zero
            if op in ("arcsin", "arccos") and self.is_hazard(node):
                edge = unary("sign", args[0]) * binary("==", unary("abs", args[0]), 1.0)
                inside = unary(op, args[0] - BELOW_ONE * edge)
                value = HALF_PI * edge if op == "arcsin" else HALF_PI - HALF_PI * edge
                return inside + binary("!=", edge, 0.0) * (value - constant(inside))
            if op == "hypot" and self.is_hazard(node):
                zero = binary("and", binary("==", args[0], 0.0), binary("==", args[1], 0.0))
                return where(zero, 0.0, binary("hypot", where(zero, 1.0, args[0]), args[1]))
            if op == "max":
                # Entries that tie for the maximum share its derivative equally.
                largest = Symbol("top", args, node.shape, node.label)
                top = along_last(largest, args[0].shape)
                ties = binary("==", args[0], top)
                above = where(ties, args[0] - top, 0.0).sum(axis=-1)
                return largest + above / (1.0 * ties).sum(axis=-1)
        if op == "max" and self.steep:
            op = "top"  # nothing to differentiate
        if op == node.op and all(new is old for new, old in zip(args, node.args)):
            return node
        return Symbol(op, args, node.shape, node.label, node.value)

    def same(self, node: Symbol) -> Symbol | None:
        """A formula with the same values: squares of functions with a kink are smooth."""
        if node.op == "*" and node.args[0].op in ("sqrt", "abs", "hypot") \
                and node.args[0].digest() == node.args[1].digest():
            of, power = node.args[0], 2.0
        elif node.op == "**":
            of, power = node.args[0], exponent(node)
        else:
            return None
        if power == 0.5:
            return unary("sqrt", spread(of, node.shape))
        if not self.derivatives or power % 2 != 0 or power < 2:
            return None
        if of.op == "sqrt" and self.bounds(of.args[0])[0] >= 0:
            base = of.args[0]
        elif of.op == "abs":
            base = of.args[0] * of.args[0]
        elif of.op == "hypot":
            base = of.args[0] * of.args[0] + of.args[1] * of.args[1]
        else:
            return None
        return spread(base, node.shape) if power == 2 else \
            binary("**", spread(base, node.shape), power / 2)

    def power(self, node: Symbol, a: Symbol, b: Symbol) -> Symbol:
        p = exponent(node)
        if p == 0:
            return as_symbol(np.ones(node.shape))
        base = spread(a, node.shape)
        if p.is_integer() and 1 <= p <= LONGEST_PRODUCT:
            found = base
            for _ in range(int(p) - 1):
                found = found * base
            return found
        kept = Symbol("**", (a, b), node.shape, node.label)
        low, _ = self.bounds(node.args[0])
        if not self.steep or low > 0 or p > 1 or p < 0 or not (
                self.moves(node.args[0]) or self.moves(node.args[1])):
            return kept
        zero = binary("==", base, 0.0)
        if p == p:
            steep = binary("**", base + TINY * zero, b)
            return steep - zero * constant(steep)
        # At 0 the slope by the base is 0, 1 or steep, by the exponent; that by the exponent is 0.
        # Its factor is finite for every b, since adjoints of 0 are multiplied by it.
        within = where(b > 0.0, where(b < 1.0, b - 1.0, 0.0), 0.0)
        steep = constant(b * binary("**", TINY, within)) * base
        at_zero = where(b > 1.0, 0.0, where(b == 1.0, base, where(b > 0.0, steep, where(
            b == 0.0, 1.0, 1.0 / where(b < 0.0, base, 1.0)))))
        return where(zero, at_zero, binary("**", where(zero, 1.0, base), b))


def exponent(node: Symbol) -> float:
    """The exponent of a power, if it is one constant; else NaN."""
    values = np.unique(node.args[1].value) if node.args[1].op == "constant" else np.zeros(0)
    return float(values[0]) if len(values) == 1 else np.nan


def constant(symbol: Symbol) -> Symbol:
    """The values of a symbol, without derivative."""
    flat = Symbol("top", (symbol.reshape(-1, 1),), (symbol.size,), symbol.label)
    return cast(Symbol, flat.reshape(symbol.shape))


def used_entries(node: Symbol, arg: Symbol, place: int, mask: Symbol) -> Symbol:
    op = node.op
    if not arg.shape:
        return any_of(mask.reshape(-1))
    if op == "take":
        return any_at(mask.reshape(-1), node.value.ravel(), arg.shape)
    if op == "join":
        begin = sum(one.size for one in node.args[:place])
        return taken(mask, np.arange(begin, begin + arg.size).reshape(arg.shape), "used")
    if op in ("sum", "max", "logsumexp"):
        return along_last(mask, arg.shape)
    if op == "matmul":
        left, right = as_matrices(*node.args)
        whole = mask.reshape(*left.shape[:-1], right.shape[-1])
        lines = any_of(whole if place == 0 else whole.mT)
        if place == 0:
            return along_last(lines, left.shape).reshape(arg.shape)
        return along_last(lines, right.mT.shape).mT.reshape(arg.shape)
    return mask if arg.shape == mask.shape and op != "rows" else any_of(mask.reshape(-1))


def any_of(mask: Symbol) -> Symbol:
    """Whether a condition holds anywhere along the last axis."""
    return Symbol("top", (mask,), mask.shape[:-1], "any")


def any_at(mask: Symbol, places: np.ndarray, shape: tuple[int, ...]) -> Symbol:
    """For each entry of an array, whether the mask holds where the entry was taken to."""
    size = int(np.prod(shape, dtype=int))
    order = np.argsort(places, kind="stable")
    counts = np.bincount(places, minlength=size)
    table = np.full((size, max(int(counts.max(initial=0)), 1)), mask.size)
    rows = places[order]
    table[rows, np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]] = order
    padded = joined([mask, as_symbol(np.zeros(1, bool))], (mask.size + 1,), "used")
    found = taken(padded, table, "used")
    return (found.reshape(shape) if table.shape[1] == 1 else any_of(found).reshape(shape))


def along_last(symbol: Symbol, shape: tuple[int, ...]) -> Symbol:
    """Repeats the entries of a symbol along the last axis of a shape."""
    if not symbol.shape:
        return taken(symbol, np.zeros(shape, dtype=int), symbol.label)
    return broadcast(symbol.reshape(*symbol.shape, 1), shape)


def spread(symbol: Symbol, shape: tuple[int, ...]) -> Symbol:
    return symbol if symbol.shape == shape else taken(symbol, np.zeros(shape, dtype=int), "spread")


def as_matrices(a: Symbol, b: Symbol) -> tuple[Symbol, Symbol]:
    """The arguments of a product, with vectors as matrices of one row or column."""
    return (a if a.ndim > 1 else a.reshape(1, -1)), (b if b.ndim > 1 else b.reshape(-1, 1))


def times(a: Symbol, b: Symbol) -> Symbol:
    """A product of matrices, or of two lists of matrices; entry by entry if the inner length is
    1."""
    if a.shape[-1] == 1:
        shape = (*a.shape[:-1], b.shape[-1])
        return binary("*", broadcast(a, shape), broadcast(b, shape))
    return product(a, b)
