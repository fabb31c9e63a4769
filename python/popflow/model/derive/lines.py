"""Rows of weights, or of numbers, of which the operands of products consist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..symbols import Symbol, in_order
from ..symbols.values import evaluated
from .eigenspaces import composed, transposed


@dataclass
class Line:
    """A row of a base times a map (eigenspaces.py), or a row of numbers."""

    base: Symbol | None
    row: int
    map: Any  # numbers of the row, if there is no base


class Lines:
    """Finds the rows of formulas. `is_base` says which symbols are bases."""

    def __init__(self, is_base: Callable[[Symbol], bool]) -> None:
        self.is_base = is_base
        self.values: dict[int, tuple[Symbol, np.ndarray | None]] = {}
        self.maps: list[np.ndarray] = []

    def value(self, node: Symbol) -> np.ndarray | None:
        """The numbers of a formula, if it has no symbols."""
        if id(node) not in self.values:
            is_known = all(one.args or one.op == "constant" for one in in_order([node]))
            self.values[id(node)] = (node, evaluated([node], {})[0] if is_known else None)
        return self.values[id(node)][1]

    def mapped(self, lines: list[Line] | None, map_: np.ndarray) -> list[Line] | None:
        """Lines times a map. Equal maps are one object."""
        if lines is None:
            return None
        found = []
        for line in lines:
            new = composed(line.map, map_) if line.base is not None or map_.ndim == 1 else \
                line.map @ map_
            if line.base is not None:
                known = next((one for one in self.maps if np.array_equal(one, new)), None)
                if known is None:
                    self.maps.append(new)
                new = known if known is not None else new
            found.append(Line(line.base, line.row, new))
        return found

    def rows(self, node: Symbol) -> list[Line] | None:
        """The rows along the last axis of a formula; None: unknown."""
        if not node.shape:
            return None
        width = node.shape[-1]
        if self.is_base(node):
            return [Line(node, i, None) for i in range(node.size // width)]
        value = self.value(node)
        if value is not None:
            return [Line(None, 0, row) for row in value.reshape(-1, width)]
        op, args = node.op, node.args
        if op == "take":
            return self.chosen(args[0], np.asarray(node.value).reshape(-1, width))
        if op == "join" and all(arg.shape and arg.shape[-1] == width for arg in args):
            parts = [self.rows(arg) for arg in args]
            return None if any(part is None for part in parts) else \
                [line for part in parts for line in part or []]
        if op == "neg":
            return self.mapped(self.rows(args[0]), np.full(width, -1.0))
        if op == "matmul":
            right = self.value(args[1])
            if right is not None and right.ndim == 2 and args[0].ndim <= 2:
                return self.mapped(self.rows(args[0]), right)
            left = self.value(args[0])
            if left is not None and left.ndim == 2 and args[1].ndim == 1:
                return self.mapped(self.rows(args[1]), transposed(left))
        if op in "*/":
            for arg, other in ((args[0], args[1]), (args[1], args[0])):
                factor = self.value(other)
                if factor is None or arg.shape != node.shape or (op == "/" and other is args[0]):
                    continue
                table = np.broadcast_to(factor, node.shape).reshape(-1, width)
                if (table == table[0]).all():
                    return self.mapped(self.rows(arg), 1.0 / table[0] if op == "/" else table[0])
        if any(one.op == "weights" for one in in_order([node])):
            return None
        return [Line(node, i, None) for i in range(node.size // width)]  # rows of parameters

    def columns(self, node: Symbol) -> list[Line] | None:
        """The columns of a formula with two axes, or a vector; None: unknown."""
        if node.ndim != 2:
            return self.rows(node) if node.ndim == 1 else None
        value = self.value(node)
        if value is not None:
            return [Line(None, 0, column) for column in value.T]
        if node.op == "take":
            return self.chosen(node.args[0], np.asarray(node.value).T)
        if node.op == "neg":
            return self.mapped(self.columns(node.args[0]), np.full(len(node), -1.0))
        if node.op == "matmul":
            left = self.value(node.args[0])
            if left is not None and left.ndim == 2:
                return self.mapped(self.columns(node.args[1]), transposed(left))
        return None

    def chosen(self, inner: Symbol, places: np.ndarray) -> list[Line] | None:
        """The rows of `inner` that have these places, a row each; None: no whole rows."""
        width = inner.shape[-1] if inner.shape else 1
        first, column = np.divmod(places[:, 0], width)
        if places.shape[1] != width or column.any() or (
                places != places[:, :1] + np.arange(width)).any():
            return None
        lines = self.rows(inner)
        return None if lines is None else [lines[int(row)] for row in first]
