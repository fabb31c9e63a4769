"""Equations of a model's overlaps: the flow of losses that see standard normal data through forms
closes in the products of rows, whatever the number of dimensions."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..symbols import Symbol, as_symbol, in_order, joined, taken
from .forms import Block, replaced
from .reverse import KNOWN, gradient
from .rules import Rules
from .small import Small, small_formulas

ROWS = ("observables", "invariants", "events", "passages", "outcomes", "finals")


@dataclass
class Overlap:
    """A product of the rows of moving weights with other rows, and its symbol."""

    weights: Symbol
    other: Symbol  # weights, or rows that do not move
    symbol: Symbol


class Reduction:
    """Writes the equations of overlaps to an empty model `to`."""

    def __init__(self, model: Any, to: Any, step: tuple[Symbol, Symbol] | None,
                 has_noise: bool = False) -> None:
        """`step` has the learning rate times the dimension, and the batch size, for the limit of
        one-pass SGD; None: the flow. `has_noise`: with the noise of many, but finite dimensions."""
        self.model, self.to = model, to
        if model.sample_loss is None or not model.sees_forms:
            raise ModelError(f"the overlaps of {model.name} are not known: they need a loss of "
                             "normal data that is seen through linear forms such as W @ x, without "
                             "population_loss() or quadrature()")
        if model.other_state is not None or model.flow is not None or \
                len(model.maps) > len(model.spheres) or any(len(maps) > 1 for maps in
                                                            model.maps.values()):
            raise ModelError(f"the overlaps of {model.name} need a model without another training "
                             "state, preconditioner or projection")
        if model.derived:
            raise ModelError(f"the field {model.derived[0].name} cannot be recorded with overlaps")
        self.forms, self.formulas, share = small_formulas(model, [model.sample_loss])
        self.fields = {id(field.symbol): field for field in model.fields}
        self.moving = [self.moves(block) for block in self.forms.blocks]
        self.overlaps: list[Overlap] = []
        self.declare()
        self.means: dict[int, Symbol] = {}
        mean = Small(self.forms, self.formulas, share, "mean_of_loss", True, self.over)
        self.keep(mean)
        self.rates(mean, share, step)
        if has_noise and step is not None:
            to.noise(covariance=self.covariance(share, *step))
        self.rows(mean)

    def keep(self, small: Small) -> None:
        for node in in_order([small.inputs]):
            if id(node) in self.fields and not any(node is row.symbol for row in self.to.fields):
                raise ModelError(f"the loss depends on {node.label} by more than its overlaps with "
                                 f"the rows of forms ({small.inputs.args[0].label}): the flow of "
                                 "the overlaps does not close")
        self.to.smalls.append(small)

    # ---- Declarations.

    def moves(self, block: Block) -> Symbol | None:
        """The weights that are a block's rows; None: the rows do not move."""
        rows, places = block.rows, None
        if rows.op == "take":
            rows, places = rows.args[0], np.asarray(rows.value).ravel()
        if id(rows) in self.fields and (places is None or np.array_equal(places,
                                                                         np.arange(rows.size))):
            return rows
        wrong = next((node for node in in_order([rows]) if node.op == "weights"), None)
        if wrong is not None:
            raise ModelError(f"the overlaps of {wrong.label} do not close: the rows of the form "
                             f"{block.leaf.label} are {block.rows.label}, not weights as they are "
                             "(a covariance other than the identity, or a product of weights)")
        return None

    def declare(self) -> None:
        blocks, to = self.forms.blocks, self.to
        moved = {id(one) for one in self.moving if one is not None}
        for field in self.model.fields:
            if id(field.symbol) not in moved:
                to.fields.append(field)
        fixed: list[Symbol] = []
        for a, weights in enumerate(self.moving):
            for b, other in enumerate(self.moving) if weights is not None else []:
                if blocks[a].source != blocks[b].source or (other is not None and b < a):
                    continue
                rows = blocks[b].rows if other is None else other
                assert weights is not None
                if self.found(weights, rows) is not None:
                    continue
                name = self.fields[id(weights)].name
                if other is None:
                    if not any(rows is one for one in fixed):
                        fixed.append(rows)
                    number = next(k for k, one in enumerate(fixed) if one is rows)
                    name, what = f"{name}_fixed{number or ''}", "rows that do not move"
                    start = two(self.start(weights)) @ two(rows).T
                else:
                    name, what = f"{name}_{self.fields[id(rows)].name}", self.fields[id(rows)].name
                    start = two(self.start(weights)) @ two(self.start(rows)).T
                (start,) = replaced([start], {})
                symbol = to.weights(name, start, f"overlaps of {self.fields[id(weights)].name} "
                                    f"and {what}", axes=(f"{name}_row", f"{name}_column"))
                self.overlaps.append(Overlap(weights, rows, symbol))

    def start(self, weights: Symbol) -> Symbol:
        start = self.fields[id(weights)].start
        assert start is not None
        return start

    def found(self, a: Symbol, b: Symbol) -> Symbol | None:
        """The product of rows a and b^T."""
        for one in self.overlaps:
            if one.weights is a and same(one.other, b):
                return one.symbol
            if one.weights is b and one.other is a:
                return one.symbol.T
        return None

    # ---- Formulas of weights as formulas of overlaps.

    def over(self, root: Symbol) -> Symbol:
        """A formula of the full model's weights, with overlaps in the place of products of rows."""
        places: dict[int, Symbol] = {}
        for node in in_order([root]):
            if node.op == "matmul":
                found = self.product(node)
                if found is not None:
                    places[id(node)] = found
        return replaced([root], places)[0]

    def product(self, node: Symbol) -> Symbol | None:
        """The entries of a product of rows, from the overlaps."""
        left, right = self.rows_of(node.args[0], False), self.rows_of(node.args[1], True)
        if left is None or right is None:
            return None
        entries: list[Symbol] = []
        for base, i in left:
            for other, j in right:
                overlap = self.found(base, other)
                if overlap is None:
                    return None
                entries.append(taken(overlap, np.array([i * overlap.shape[1] + j]), node.label))
        return joined(entries, (len(entries),), node.label).reshape(node.shape)

    def rows_of(self, node: Symbol, are_columns: bool) -> list[tuple[Symbol, int]] | None:
        """The rows of weights, or rows that do not move, of which an operand of a product
        consists."""
        base, places = node, np.arange(node.size).reshape(node.shape)
        if node.op == "take":
            base, places = node.args[0], np.asarray(node.value)
        if places.ndim == 1:
            places = places[None, :]
        elif are_columns:
            places = places.T
        if base.op == "constant":
            rows = base.value.ravel()[places]
            found = [self.fixed_row(row) for row in rows]
            return None if any(one is None for one in found) else found  # type: ignore
        width = base.shape[-1] if base.shape else 1
        first, column = np.divmod(places[:, 0], width)
        if places.shape[1] != width or column.any() or (
                places != places[:, :1] + np.arange(width)).any():
            return None
        known = id(base) in self.fields or any(same(base, one.other) for one in self.overlaps)
        return [(base, int(row)) for row in first] if known else None

    def fixed_row(self, row: np.ndarray) -> tuple[Symbol, int] | None:
        for one in self.overlaps:
            if one.other.op == "constant":
                values = two(one.other).value if one.other.ndim == 2 else \
                    one.other.value.reshape(1, -1)
                if values.shape[1] == row.size:
                    for k in np.flatnonzero((values == row).all(axis=1)):
                        return one.other, int(k)
        return None

    # ---- Equations.

    def rates(self, mean: Small, share: Symbol, step: tuple[Symbol, Symbol] | None) -> None:
        to = self.to
        slopes = dict(zip([id(row.symbol) for row in to.fields],
                          mean.derivatives([row.symbol for row in to.fields])))
        gamma: Any = 1.0 if step is None else step[0]
        second = self.second_moments(share) if step is not None else {}
        for row in to.fields:
            if id(row.symbol) in self.fields:
                if any(row.symbol is one for one in self.model.spheres):
                    raise ModelError(f"the overlaps of {row.name} do not close: sphere() needs "
                                     "weights that are the rows of forms")
                to.rate(row.symbol, -gamma * slopes[id(row.symbol)])
        rates: list[Symbol] = []
        for one in self.overlaps:
            change = self.moved(one.weights, one.other, slopes)
            if id(one.other) in self.fields:
                change = change + self.moved(one.other, one.weights, slopes).T
            rate = -gamma * change
            noise = second.get((id(one.weights), id(one.other)))
            if noise is not None and step is not None:
                rate = rate + gamma**2 / step[1] * noise
            rates.append(rate)
        for one, rate in zip(self.overlaps, rates):
            for symbol, are_rows in ((one.weights, True), (one.other, False)):
                if any(symbol is sphere for sphere in self.model.spheres):
                    own = next(k for k, other in enumerate(self.overlaps)
                               if other.weights is symbol and other.other is symbol)
                    shrink = diagonal(rates[own]) / (2.0 * diagonal(self.overlaps[own].symbol))
                    rate = rate - one.symbol * shrink.reshape((-1, 1) if are_rows else (1, -1))
            to.rate(one.symbol, rate)

    def moved(self, weights: Symbol, other: Symbol, slopes: dict[int, Symbol]) -> Symbol:
        """The derivative of the loss by weights, times other rows."""
        found: Symbol | None = None
        for one in self.overlaps:
            for mine, others, slope in ((one.weights, one.other, slopes[id(one.symbol)]),
                                        (one.other, one.weights, slopes[id(one.symbol)].T)):
                if mine is weights:
                    overlap = self.found(others, other)
                    if overlap is None:  # rows that do not move
                        overlap = two(others) @ two(other).T
                    term = slope @ overlap
                    found = term if found is None else found + term
        assert found is not None
        return found

    def slopes(self) -> list[list[Symbol]]:
        """The loss's derivatives by its forms, for each sample of finite laws and each block."""
        formulas = []
        for (formula,) in self.formulas:
            loss = Rules("loss")(formula)
            if any(node.args and node.op not in KNOWN for node in in_order([loss])):
                raise ModelError("the loss has an operation without a derivative by its forms")
            _, by_forms = gradient(loss, [block.leaf for block in self.forms.blocks],
                                   as_symbol(1.0))
            formulas.append(by_forms)
        return formulas

    def covariance(self, share: Symbol, gamma: Symbol, batch: Symbol) -> Symbol:
        """Covariance of the change of the overlaps by one sample, in units of 1 / d per step.

        With the derivatives g of a sample's loss by the forms z = J x, a step changes J J^T by
        (-gamma (g z^T + z g^T) + gamma^2 / batch g g^T) / d, because |x|^2 is d up to a number of
        order sqrt(d); and J B^T by -gamma g (B x)^T / d for rows B that do not move.
        """
        blocks = self.forms.blocks
        if len(self.to.fields) > len(self.overlaps) or self.model.spheres or \
                len({block.source for block in blocks}) > 1:
            raise ModelError("the noise of the overlaps needs weights that are all rows of forms "
                             "of a single normal vector, without sphere()")

        def forms_of(rows: Symbol) -> Symbol:
            for block, moving in zip(blocks, self.moving):
                if (moving is rows) if moving is not None else same(block.rows, rows):
                    return block.leaf.reshape(-1)
            raise ModelError(f"the noise of the overlaps needs a form of {rows.label}")

        changes: list[list[Symbol]] = []
        for slopes in self.slopes():
            found: list[Symbol] = []

            def of(weights: Symbol, slopes: list[Symbol] = slopes) -> list[list[Symbol]]:
                return [[slope.reshape(-1)[i] for slope, moving in zip(slopes, self.moving)
                         if moving is weights] for i in range(two(weights).shape[0])]

            products: list[Symbol] = []  # of derivatives, where both rows move
            for one in self.overlaps:
                z, y, g = forms_of(one.weights), forms_of(one.other), of(one.weights)
                moves = id(one.other) in self.fields
                h = of(one.other) if moves else []
                for i in range(one.symbol.shape[0]):
                    for j in range(one.symbol.shape[1]):
                        mine = sum(g[i], as_symbol(0.0))
                        change = mine * y[j]
                        if moves:
                            other = sum(h[j], as_symbol(0.0))
                            change = change + z[i] * other
                            products.append(mine * other)
                        found.append(change)
            changes.append(found + products)
        n, number = sum(one.symbol.size for one in self.overlaps), len(changes[0])
        pairs = [(a, b) for a in range(number) for b in range(a, number)]
        small = Small(self.forms, [found + [found[a] * found[b] for a, b in pairs]
                                   for found in changes], share, "noise_of_overlaps", False,
                      self.over)
        self.keep(small)
        places = np.zeros((number, number), dtype=int)
        for k, (a, b) in enumerate(pairs):
            places[a, b] = places[b, a] = number + k
        mean = taken(small.result, np.arange(number), "means")
        covariance = taken(small.result, places, "second moments") - \
            mean.reshape(-1, 1) @ mean.reshape(1, -1)
        # The second part of a change belongs to overlaps of moving rows, which are not all.
        of_moving = np.concatenate([np.full(one.symbol.size, id(one.other) in self.fields)
                                    for one in self.overlaps])
        first = np.eye(n, number)
        second = np.zeros((n, number))
        second[np.flatnonzero(of_moving), n + np.arange(number - n)] = 1
        weights = as_symbol(second) * (gamma**2 / batch) - as_symbol(first) * gamma
        return weights @ covariance @ weights.T

    def second_moments(self, share: Symbol) -> dict[tuple[int, int], Symbol]:
        """Means of products of the loss's derivatives by two forms."""
        formulas = self.slopes()
        found: dict[tuple[int, int], Symbol] = {}
        for one in self.overlaps:
            if id(one.other) not in self.fields:
                continue
            blocks = [(a, b) for a, mine in enumerate(self.moving)
                      for b, other in enumerate(self.moving)
                      if mine is one.weights and other is one.other
                      and self.forms.blocks[a].source == self.forms.blocks[b].source]
            total: Symbol | None = None
            for a, b in blocks:
                pairs = [[slopes[a].reshape(-1)[i] * slopes[b].reshape(-1)[j]
                          for i in range(slopes[a].size) for j in range(slopes[b].size)]
                         for slopes in formulas]
                small = Small(self.forms, pairs, share, f"second_{len(self.to.smalls)}", False,
                              self.over)
                self.keep(small)
                part = small.result.reshape(one.symbol.shape)
                total = part if total is None else total + part
            if total is not None:
                found[id(one.weights), id(one.other)] = total
        return found

    # ---- What is recorded.

    def rows(self, mean: Small) -> None:
        model, to = self.model, self.to
        to.observable("loss", mean.result[0], "population loss", floor=model.loss_floor)
        known = {id(model.population): mean.result[0]}
        for symbol, value in model.means:
            entries = [value.reshape(-1)[k] for k in range(value.size)]
            forms, formulas, share = small_formulas(model, entries)
            small = Small(forms, formulas, share, f"mean_{len(to.smalls)}", False, self.over)
            self.keep(small)
            known[id(symbol)] = taken(small.result, np.arange(value.size).reshape(value.shape),
                                      symbol.label)
        for name in ROWS:
            for row in getattr(model, name):
                (symbol,) = replaced([self.over(row.symbol)], known)
                wrong = next((node for node in in_order([symbol]) if id(node) in self.fields
                              and not any(node is one.symbol for one in to.fields)), None)
                if wrong is not None or any(node.op == "initial loss"
                                            for node in in_order([symbol])):
                    raise ModelError(f"{row.name} is no function of overlaps: {row.symbol.label}")
                new = copy.copy(row)
                new.symbol = symbol
                getattr(to, name).append(new)


def two(rows: Symbol) -> Symbol:
    return rows if rows.ndim == 2 else rows.reshape(1, -1)


def diagonal(square: Symbol) -> Symbol:
    size = square.shape[0]
    return taken(square, np.arange(size) * (size + 1), "diagonal")


def same(a: Symbol, b: Symbol) -> bool:
    return a is b or (a.op == b.op == "constant" and a.digest() == b.digest())


def training_state(model: Any, flow: Any) -> Any:
    """A copy of a model that noise and sampled training move."""
    other = copy.copy(model)
    for name in ROWS:
        setattr(other, name, list(getattr(model, name)))
    other.parameters, other.flow = flow.parameters, flow
    other.maps = {key: list(maps) for key, maps in model.maps.items()}
    flow.other_state = other
    return other
