"""Finds the linear forms of normal data of which a formula is a function.

A loss such as `(erf(J @ x) @ v - y) ** 2` sees normal data x of any dimension through few numbers
z = P x only. This module finds the rows P in the formula, and puts symbols in the place of z. What
remains is a small formula of z and of small inputs that do not depend on the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import ModelError
from ..symbols import Symbol, as_symbol, chosen_rows, evaluate, in_order, joined, product, taken
from .rules import along_last, spread

MOST_FORMS = 48  # forms of a formula
FEW = 8  # numbers of a law that are forms themselves
MOST_INPUTS = 4096  # numbers of the small formula's inputs
MOST_SAMPLES = 64  # combinations of finite laws' samples
ELEMENTWISE = ("+", "-", "*", "/")


def replaced(roots: Sequence[Symbol], by: dict[int, Symbol]) -> list[Symbol]:
    """Returns formulas with other symbols in the place of those with these ids. Of a `where` whose
    condition becomes known, as that of a class of the data, the branch remains."""
    made = dict(by)
    for node in in_order(roots):
        if id(node) in made:
            continue
        args = [made[id(arg)] for arg in node.args]
        if args and all(arg.op == "constant" for arg in args):
            made[id(node)] = as_symbol(evaluate(node, [arg.value for arg in args]))
        elif all(new is old for new, old in zip(args, node.args)):
            made[id(node)] = node
        elif node.op == "take":
            made[id(node)] = taken(args[0], node.value, node.label)
        elif node.op == "rows":
            made[id(node)] = chosen_rows(args[0], args[1], "the index")
        else:
            chosen = branch(node, args)
            made[id(node)] = chosen if chosen is not None else \
                Symbol(node.op, args, node.shape, node.label, node.value)
    return [made[id(root)] for root in roots]


@dataclass
class Linear:
    """A linear function of one law's numbers x: M x + b, with M dense or, in `scale`, diagonal.

    None stands for the identity (matrix and scale) and for 0 (offset).
    """

    source: int  # place among the sources
    shape: tuple[int, ...]
    matrix: Symbol | None = None
    scale: Symbol | None = None
    offset: Symbol | None = None


@dataclass
class Block:
    """Rows P of a source, and the symbol in the place of P x."""

    source: int
    rows: Symbol
    leaf: Symbol


@dataclass
class Forms:
    """Formulas of few forms. `blocks` are the forms, `inputs` pairs of what does not depend on data
    and its symbol in the small formulas."""

    normal: dict[int, Symbol]  # the data of normal laws, by id
    blocks: list[Block] = field(default_factory=list)
    inputs: list[tuple[Symbol, Symbol]] = field(default_factory=list)
    sources: list[tuple[Symbol, int]] = field(default_factory=list)  # the law's symbol, and its row

    # ---- Leaves of the small formula.

    def input(self, free: Symbol) -> Symbol:
        """The symbol in the place of a formula that does not depend on the data."""
        if free.op == "constant":
            return free
        for known, leaf in self.inputs:
            if known.digest() == free.digest() and self.same(known, free):
                return leaf
        leaf = Symbol("input", (), free.shape, free.label, len(self.inputs))
        self.inputs.append((free, leaf))
        if sum(one.size for one, _ in self.inputs) > MOST_INPUTS:
            raise ModelError(f"the term {free.label} has {told_size(free)} beside forms of the "
                             f"data; these take up to {MOST_INPUTS} numbers in all")
        return leaf

    @staticmethod
    def same(a: Symbol, b: Symbol) -> bool:
        """Returns whether two formulas with the same digest have the same leaves."""
        leaves = [[node for node in in_order([one]) if not node.args and node.op != "constant"]
                  for one in (a, b)]
        return len(leaves[0]) == len(leaves[1]) and all(x is y for x, y in zip(*leaves))

    def form(self, source: int, rows: Symbol, shape: tuple[int, ...], label: str) -> Symbol:
        """The symbol in the place of rows @ x."""
        for block in self.blocks:
            if block.source == source and block.leaf.shape == shape \
                    and block.rows.digest() == rows.digest() and self.same(block.rows, rows):
                return block.leaf
        leaf = Symbol("form", (), shape, label, len(self.blocks))
        self.blocks.append(Block(source, rows, leaf))
        count = sum(block.leaf.size for block in self.blocks)
        if count > MOST_FORMS:
            raise ModelError(f"the term {label} is one of {count} linear forms of normal data; "
                             f"their mean is found for up to {MOST_FORMS} forms. The ways out: "
                             "give the mean by population_loss(), or estimate it from samples by "
                             "stream()")
        return leaf

    def source(self, data: Symbol, row: int) -> int:
        for place, (known, other) in enumerate(self.sources):
            if known is data and other == row:
                return place
        self.sources.append((data, row))
        return len(self.sources) - 1

    def products(self) -> tuple[list[Symbol], dict[tuple[int, int], int],
                                dict[tuple[int, int], float]]:
        """Returns the covariances of pairs of forms: symbols of the products of rows, the places of
        pairs among the entries of all these, and the numbers of constant ones."""
        begins = np.cumsum([0, *(block.leaf.size for block in self.blocks)])
        parts: list[Symbol] = []
        places: dict[tuple[int, int], int] = {}
        numbers: dict[tuple[int, int], float] = {}
        size = 0
        for a, one in enumerate(self.blocks):
            for b, other in enumerate(self.blocks):
                if b < a or one.source != other.source:
                    continue
                pairs = [(int(begins[a]) + i, int(begins[b]) + j) for i in range(one.leaf.size)
                         for j in range(other.leaf.size)]
                if one.rows.op == other.rows.op == "constant":
                    values = (one.rows.value @ other.rows.value.T).ravel()
                    numbers.update(zip(pairs, map(float, values)))
                    continue
                parts.append((one.rows @ other.rows.T).reshape(-1))
                places.update(zip(pairs, range(size, size + len(pairs))))
                size += len(pairs)
        return parts, places, numbers

    # ---- The pass over a formula.

    def __call__(self, root: Symbol) -> Symbol:
        """The small formula of a formula."""
        free: dict[int, bool] = {}
        linear: dict[int, Linear] = {}
        small: dict[int, Symbol] = {}

        def leafed(arg: Symbol) -> Symbol:
            if free[id(arg)]:
                return self.input(arg)
            if id(arg) in linear:
                small[id(arg)] = self.cut(linear.pop(id(arg)), arg)
            return small[id(arg)]

        for node in in_order([root]):
            free[id(node)] = id(node) not in self.normal and all(free[id(arg)]
                                                                for arg in node.args)
            if free[id(node)]:
                continue
            if id(node) in self.normal:
                if node.size <= FEW:
                    rows = as_symbol(np.eye(node.size))
                    small[id(node)] = self.form(self.source(node, -1), rows, node.shape, node.label)
                elif node.ndim == 1:
                    linear[id(node)] = Linear(self.source(node, -1), node.shape)
                else:
                    linear[id(node)] = Linear(-1, node.shape)  # rows that are sources themselves
                continue
            if any(id(arg) in linear for arg in node.args):
                found = self.linear_node(node, linear, free)
                if isinstance(found, Linear):
                    linear[id(node)] = found
                    continue
                if isinstance(found, Symbol):
                    small[id(node)] = found
                    continue
            small[id(node)] = Symbol(node.op, [leafed(arg) for arg in node.args], node.shape,
                                     node.label, node.value)
        return leafed(root)

    def cut(self, one: Linear, node: Symbol) -> Symbol:
        """Forms in the place of all entries of a linear function of the data."""
        if one.source < 0 or node.size > MOST_FORMS or node.ndim > 1:
            raise ModelError(f"the loss sees all {node.size} numbers of {node.label} in a way that "
                             "is not linear; exact means need formulas of few linear forms of the "
                             "data, such as W @ x. The ways out: give the mean by "
                             "population_loss(), or estimate it from samples by stream()")
        dense = one.matrix
        if dense is None:
            dense = as_symbol(np.eye(node.size))
            dense = dense if one.scale is None else dense * one.scale
        return self.placed(one, dense, one.offset, node.shape, node.label)

    def placed(self, one: Linear, rows: Symbol, offset: Symbol | None, shape: tuple[int, ...],
               label: str) -> Symbol:
        leaf = self.form(one.source, rows, shape, label)
        return leaf if offset is None else leaf + self.input(offset)

    def linear_node(self, node: Symbol, linear: dict[int, Linear], free: dict[int, bool]
                    ) -> Linear | Symbol | None:
        """A linear function, or small formula, of a node that has linear arguments; None: any
        other function."""
        args = node.args
        of = [linear.get(id(arg)) for arg in args]
        first = next(one for one in of if one is not None)
        if node.op == "neg" and first.source >= 0:
            return scaled(first, as_symbol(-1.0), node.shape)
        if node.op in ELEMENTWISE and first.source >= 0:
            if all(one is not None for one in of):
                return added(of[0], of[1], node) if node.op in "+-" else None  # type: ignore
            other, place = (args[1], 0) if of[0] is not None else (args[0], 1)
            if not free[id(other)]:
                return None
            if node.op == "*" or (node.op == "/" and place == 0):
                return scaled(first, other if node.op == "*" else 1.0 / other, node.shape)
            if node.op in "+-":
                sign = -1.0 if node.op == "-" and place == 1 else 1.0
                found = first if sign == 1.0 else scaled(first, as_symbol(-1.0), node.shape)
                shift = -other if node.op == "-" and place == 0 else other
                shift = spread(shift, node.shape)
                offset = shift if found.offset is None else found.offset + shift
                return Linear(found.source, node.shape, found.matrix, found.scale, offset)
            return None
        if node.op == "sum" and args[0].ndim == 1 and first.source >= 0:
            return self.contracted(first, as_symbol(np.ones((1, args[0].size))), node)
        if node.op == "matmul":
            other = args[1] if of[0] is not None else args[0]
            if not free[id(other)]:
                return None
            left = other if of[0] is None else other.T
            if first.source >= 0 and args[0 if of[0] is not None else 1].ndim == 1:
                return self.contracted(first, left if left.ndim == 2 else left.reshape(1, -1),
                                       node)
            data = args[0] if of[0] is not None else args[1]
            if first.source == -1 and of[0] is not None and id(data) in self.normal:
                # A matrix of data: each row is a source of its own.
                rows = left if left.ndim == 2 else left.reshape(1, -1)
                parts = [self.form(self.source(data, row), rows, (rows.shape[0],),
                                   f"{data.label}[{row}] @ {other.label}")
                         for row in range(data.shape[0])]
                return joined(parts, node.shape, node.label)
            return None
        if node.op == "take":
            places = np.asarray(node.value)
            if first.source == -1 and id(args[0]) in self.normal:
                width = args[0].shape[1]
                row, columns = np.divmod(places.ravel(), width)
                if places.ndim == 1 and (row == row[0]).all() \
                        and np.array_equal(columns, np.arange(width)):
                    return Linear(self.source(args[0], int(row[0])), node.shape)
                return None
            if first.source >= 0 and places.size <= MOST_FORMS:
                chosen = np.zeros((places.size, args[0].size))
                chosen[np.arange(places.size), places.ravel()] = 1.0
                return self.contracted(first, as_symbol(chosen), node, flat=True)
            if first.source >= 0 and places.ndim == 1:
                part = [None if one is None else taken(one, places, one.label)
                        for one in (first.scale, first.offset)]
                if first.matrix is not None:
                    matrix = first.matrix[places]
                    return Linear(first.source, node.shape, matrix, None, part[1])
        return None

    def contracted(self, one: Linear, rows: Symbol, node: Symbol,
                   flat: bool = False) -> Linear | Symbol:
        """The product of rows and a linear function."""
        dense = rows if one.scale is None else rows * one.scale.reshape(1, -1)
        if one.matrix is not None:
            dense = product(rows, one.matrix)
        offset = None if one.offset is None else \
            product(rows, one.offset).reshape((rows.shape[0],) if flat else node.shape)
        if node.ndim == 1 and (node.size > MOST_FORMS or node.size >= dense.shape[1] > FEW):
            return Linear(one.source, node.shape, dense, None, offset)
        if flat:
            found = self.placed(one, dense, offset, (rows.shape[0],), node.label)
            return found.reshape(node.shape)
        return self.placed(one, dense, offset, node.shape, node.label)


def told_size(symbol: Symbol) -> str:
    return "one number" if symbol.size == 1 else f"{symbol.size} numbers"


def branch(node: Symbol, args: Sequence[Symbol]) -> Symbol | None:
    """The branch of a `where` whose condition is known."""
    if node.op != "where" or args[0].op != "constant":
        return None
    holds = args[0].value != 0
    chosen = args[1] if holds.all() else args[2] if not holds.any() else None
    return None if chosen is None else spread(chosen, node.shape) \
        if not chosen.shape or chosen.shape == node.shape else None


def scaled(one: Linear, factor: Symbol, shape: tuple[int, ...]) -> Linear:
    if one.matrix is not None:
        rows = along_last(factor, one.matrix.shape) if factor.shape else factor
        matrix, scale = one.matrix * rows, None
    else:
        wide = spread(factor, shape)
        matrix, scale = None, wide if one.scale is None else one.scale * wide
    offset = None if one.offset is None else one.offset * factor
    return Linear(one.source, shape, matrix, scale, offset)


def added(a: Linear, b: Linear, node: Symbol) -> Linear | None:
    """The sum or difference of two linear functions of the same numbers."""
    if a.source != b.source or a.shape != b.shape:
        return None
    if node.op == "-":
        b = scaled(b, as_symbol(-1.0), b.shape)
    offset = a.offset if b.offset is None else b.offset if a.offset is None else \
        a.offset + b.offset
    if a.matrix is None and b.matrix is None:
        one = as_symbol(np.ones(a.shape))
        scale = (a.scale if a.scale is not None else one) + (b.scale if b.scale is not None
                                                             else one)
        return Linear(a.source, node.shape, None, scale, offset)
    if a.matrix is not None and b.matrix is not None:
        return Linear(a.source, node.shape, a.matrix + b.matrix, None, offset)
    return None
