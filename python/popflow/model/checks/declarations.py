"""Checks of a model's declarations, when they are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..parts import Map, Parts, Row
from ..symbols import Symbol, as_symbol, in_order, told

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
KINDS = {"parameter": "a parameter", "data": "of a single sample",
         "weights": "which training moves", "population": "the population loss",
         "initial loss": "the loss at the start", "mean": "a mean over the data",
         "time": "the time, for solution()",
         "training": "the step of training, for loss()", "direction": "of another map"}


class Declarations(Parts):
    """Parts that refuse what is wrong."""

    def _new(self, name: str, meaning: str, what: str) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ModelError(f"the {what} is called {name!r}; names are letters, digits and _, and "
                             "begin with a letter")
        if not isinstance(meaning, str) or not meaning.strip():
            raise ModelError(f"the {what} {name} has no meaning; say in a few words what it is")
        rows: list[Any] = [*self.parameters, *self.fields, *self.observables, *self.invariants,
                           *self.events, *self.constants, *self.derived, *self.arrays,
                           *self.passages, *self.outcomes, *self.finals]
        for row in rows:
            if row.name == name:
                raise ModelError(f"the name {name} is given twice")
        if name == "quadrature_error":
            raise ModelError(f"the {what} is called {name}, which is the name of the error of "
                             "Gauss-Hermite rules that popflow records; choose another")

    def _value(self, name: str, value: Any, meaning: str, sign: str, what: str, floor: float = 0.0,
               of: set[str] | None = None, any_shape: bool = False) -> Row:
        self._new(name, meaning, what)
        symbol = as_symbol(value) if any_shape else scalar(value, f"the {what} {name}")
        self._allowed(symbol, of or {"parameter", "weights", "population", "initial loss", "mean"},
                      f"the {what} {name}")
        return Row(name, meaning, symbol, sign, floor=float(floor))

    def _allowed(self, symbol: Symbol, ops: set[str], what: str,
                 more: frozenset[int] | set[int] = frozenset()) -> None:
        own = {id(one) for one in [*(row.symbol for row in [*self.parameters, *self.fields]),
                                   *self.base, *(one for one, _ in self.means),
                                   *(one for one, _ in self.test_means),
                                   self.population, self.initial_loss, self.time,
                                   self.step, self.epoch, self.learning_rate, self.batch_size]}
        for node in in_order([symbol]):
            if node.op not in KINDS:
                continue
            if id(node) not in own | more:
                raise ModelError(f"{what} uses {node.label}, which belongs to another model")
            if node.op not in ops:
                advice = (": put numbers in the place of the sample" if node.op == "data" else "")
                raise ModelError(f"{what} depends on {node.label} ({KINDS[node.op]}); it may "
                                 f"depend on {', '.join(sorted(ops))} only{advice}")

    def _axes(self, name: str, axes: Sequence[str], shape: tuple[int, ...]) -> tuple[str, ...]:
        if isinstance(axes, str):
            axes = [axes]
        if axes and len(axes) != len(shape):
            raise ModelError(f"{name} has {len(shape)} axes ({told(shape)}), and {len(axes)} names "
                             f"for them: {', '.join(axes)}")
        if axes:
            return tuple(axes)
        if len(shape) == 1:
            return (f"{name}_index",)
        ends = ("list", "matrix", "row", "column")
        return tuple(f"{name}_{end}" for end in ends[len(ends) - len(shape):])

    def _field(self, weights: Any, what: str) -> Row:
        field = next((one for one in self.fields if one.symbol is weights), None)
        if field is None:
            raise ModelError(f"{what} takes weights that weights() of this model returned")
        return field

    def _like(self, field: Row, value: Any, what: str, kinds: set[str]) -> Symbol:
        """Returns a value for a field's weights. Raises ModelError for another shape or
        symbols of other kinds."""
        symbol = as_symbol(value)
        if symbol.shape != field.symbol.shape:
            raise ModelError(f"the {what} of {field.name} is {told(symbol.shape)}; {field.name} is "
                             f"{told(field.symbol.shape)}")
        self._allowed(symbol, kinds, f"the {what} of {field.name}")
        return symbol

    def _map(self, weights: Symbol, map_: Callable[[Symbol], Any], is_projection: bool) -> None:
        what = "projection" if is_projection else "preconditioner"
        field = self._field(weights, f"the {what}")
        if self.rates:
            raise ModelError(f"the model has equations, and takes no {what}")
        maps = self.maps.setdefault(id(weights), [])
        if any(one.is_projection == is_projection for one in maps):
            raise ModelError(f"the {what} of {field.name} is given twice")
        direction = Symbol("direction", (), weights.shape, "v", field.name)
        result = as_symbol(map_(direction))
        if result.shape != weights.shape:
            raise ModelError(f"the {what} of {field.name} returns {told(result.shape)}; "
                             f"{field.name} is {told(weights.shape)}")
        self._allowed(result, {"parameter", "weights", "direction"}, f"the {what} of {field.name}",
                      {id(direction)})
        maps.append(Map(direction, result, is_projection))
        maps.sort(key=lambda one: one.is_projection)


def scalar(value: Any, what: str) -> Symbol:
    symbol = as_symbol(value)
    if symbol.size != 1:
        raise ModelError(f"{what} is {told(symbol.shape)}; it must be a scalar: take a sum or "
                         "a mean")
    return symbol.reshape(()) if symbol.shape else symbol


def number_of(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {value!r}; it must be a number") from None
    if not np.isfinite(number):
        raise ModelError(f"{what} is {number}; it must be finite")
    return number
