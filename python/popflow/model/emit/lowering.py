"""Symbols as expressions of CasADi, which differentiates them. Only this module needs CasADi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..derive.rules import Rules
from ..errors import ModelError
from ..symbols import Symbol, in_order


def casadi() -> Any:
    try:
        import casadi as module
    except ImportError:
        raise ModelError("models need CasADi, which differentiates them: `pip install "
                         "'popflow[model]'` or `pip install casadi`") from None
    return module


class Lowering:
    """Turns symbols into matrices of CasADi's scalar expressions, each computed once."""

    def __init__(self) -> None:
        self.ca = casadi()
        self.known: dict[int, Any] = {}
        self.kept: list[Symbol] = []  # keeps symbols alive, so that ids stay unique
        self.shifts: list[tuple[Any, Any]] = []
        self.rules = {use: Rules(use) for use in ("values", "rate", "loss")}
        self.data: Any = None  # the normal numbers of a sample

    def leaf(self, symbol: Symbol, entries: Any) -> None:
        """Sets the expressions of a symbol, given in row-major order."""
        self.known[id(symbol)] = self.matrix(entries, symbol.shape)
        self.kept.append(symbol)

    def matrix(self, entries: Any, shape: Sequence[int]) -> Any:
        """A column of row-major entries as a matrix; more than two axes have a row for each entry
        of all but the last."""
        ca = self.ca
        if len(shape) > 1:
            return ca.reshape(entries, shape[-1], entries.numel() // shape[-1]).T
        return entries

    def column(self, matrix: Any, shape: Sequence[int]) -> Any:
        """The entries of a matrix, row-major."""
        return self.ca.vec(matrix.T) if len(shape) > 1 else matrix

    def entries(self, symbol: Symbol, use: str = "values") -> Any:
        """Row-major entries of a symbol for a use, see Rules."""
        return self.ca.densify(self.column(self(symbol, use), symbol.shape))

    def __call__(self, symbol: Symbol, use: str = "values") -> Any:
        symbol = self.rules[use](symbol)
        for node in in_order([symbol]):
            if id(node) not in self.known:
                self.known[id(node)] = self.lowered(node, [self.known[id(a)] for a in node.args])
                self.kept.append(node)
        return self.known[id(symbol)]

    def lowered(self, node: Symbol, args: list[Any]) -> Any:
        ca, op = self.ca, node.op
        if op == "constant":
            return self.matrix(ca.SX(ca.DM(node.value.reshape(-1, 1))), node.shape)
        if op == "take":
            entries = self.column(args[0], node.args[0].shape)
            places = [int(i) for i in node.value.ravel()]
            return self.matrix(ca.vec(entries[places]), node.shape)
        if op == "join":
            parts = [self.column(arg, one.shape) for arg, one in zip(args, node.args)]
            return self.matrix(ca.vertcat(*parts), node.shape)
        if op == "matmul" and node.ndim == 3:
            m, k = node.shape[1], node.args[1].shape[1]
            return ca.vertcat(*[ca.mtimes(args[0][h * m:(h + 1) * m, :],
                                          args[1][h * k:(h + 1) * k, :])
                                for h in range(len(node))])
        if op == "matmul":
            left = args[0].T if node.args[0].ndim == 1 else args[0]
            found = ca.mtimes(left, args[1])
            return found.T if node.args[0].ndim == 1 and node.args[1].ndim == 2 else found
        if op == "rows":
            index = self.column(args[1], node.args[1].shape)
            at = ca.horzcat(*[index == row for row in range(len(node.args[0]))])
            return self.matrix(ca.vec(ca.mtimes(at, args[0]).T), node.shape)
        if op == "sum":
            return self.matrix(ca.sum2(args[0]), node.shape) if node.args[0].ndim > 1 else \
                ca.sum1(args[0])
        if op == "max":
            return self.matrix(self.largest(args[0], node), node.shape)
        if op == "top":
            return self.matrix(self.constant_while_differentiated(self.largest(args[0], node)),
                               node.shape)
        if op == "normal mean":
            return self.normal_mean(args[0], node.value)
        if op == "where":
            return ca.if_else(args[0] != 0, args[1], args[2])
        simple = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
                  "/": lambda a, b: a / b, "**": lambda a, b: a**b,
                  "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
                  ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "==": lambda a, b: a == b,
                  "!=": lambda a, b: a != b, "maximum": ca.fmax, "minimum": ca.fmin,
                  "and": ca.logic_and, "or": ca.logic_or, "neg": lambda a: -a, "abs": ca.fabs}
        function = simple.get(op) or getattr(ca, op, None)
        if function is None:
            raise ModelError(f"{node.label} has no value where it is used: initial_loss and "
                             "population belong in events and observables")
        return function(*args)

    def normal_mean(self, polynomial: Any, degree: int) -> Any:
        """Mean of a polynomial of independent standard normals: exp(Laplacian / 2) at 0, which sums
        over all pairings, as Isserlis' theorem does."""
        ca, term, found, factor = self.ca, polynomial, polynomial, 1.0
        for k in range(1, degree // 2 + 1):
            gradient = ca.gradient(term, self.data)
            term = ca.sum1(ca.vertcat(*[ca.jacobian(gradient[i], self.data[i])
                                        for i in range(self.data.shape[0])]))
            factor /= 2.0 * k
            found = found + factor * term
        return ca.substitute(found, self.data, ca.SX.zeros(*self.data.shape))

    def largest(self, rows: Any, node: Symbol) -> Any:
        """Maxima along the last axis."""
        ca = self.ca
        lines = [rows] if node.args[0].ndim < 2 else [rows[i, :].T for i in range(rows.shape[0])]
        found = []
        for line in lines:
            top = line[0]
            for i in range(1, line.shape[0]):
                top = ca.fmax(top, line[i])
            found.append(top)
        return ca.vertcat(*found)

    def constant_while_differentiated(self, values: Any) -> Any:
        """Variables in the place of values: derivatives do not see how these are computed."""
        variables = self.ca.SX.sym(f"shift_{len(self.shifts)}", *values.shape)
        self.shifts.append((variables, values))
        return variables

    def with_shifts(self, expressions: Sequence[Any]) -> list[Any]:
        """Expressions with the shifts' own expressions in place."""
        found = list(expressions)
        for shift, value in reversed(self.shifts):
            found = self.ca.substitute(found, [shift], [value])
        return found
