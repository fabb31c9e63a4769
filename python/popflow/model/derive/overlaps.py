"""Equations of a model's overlaps: the flow of losses that see normal data through forms closes in
the products of rows, whatever the number of dimensions.

With data of covariance S = sum of l_k P_k, where P_k are the projectors on the eigenspaces, forms
have the covariances sum of l_k W P_k V^T. The flow dW/dt = -dL/dW closes in the overlaps
R_k = W P_k V^T: since P_j P_k = 0 for j != k, dR_k/dt has the overlaps of the same space only.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ModelError
from ..symbols import Symbol, as_symbol, in_order, joined, taken
from .eigenspaces import Spaces, composed, transposed
from .forms import Block, replaced
from .lines import Line, Lines
from .reverse import KNOWN, gradient
from .rules import Rules
from .small import Small, small_formulas

ROWS = ("observables", "invariants", "events", "passages", "outcomes", "finals")


@dataclass
class Part:
    """What forms of the same data see, and the eigenspaces of the covariances of these forms.
    `members` are weights and rows that do not move."""

    spaces: Spaces
    axis: str
    members: list[Symbol] = field(default_factory=list)

    def has(self, rows: Symbol) -> bool:
        return any(rows is one for one in self.members)


@dataclass
class Fixed:
    """Rows that do not move, and their parts in the eigenspaces."""

    rows: Symbol
    part: Part
    parts: list[Symbol]


@dataclass
class Overlap:
    """Products of the rows of moving weights with other rows, in each eigenspace, and their symbol:
    a matrix, or one for each eigenspace if there are several."""

    weights: Symbol
    other: Symbol  # weights, or rows that do not move
    symbol: Symbol
    part: Part
    begin: int  # among the entries of all overlaps

    def wide(self) -> Symbol:
        """The symbol with an axis of eigenspaces."""
        return three(self.symbol)


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
        self.fixed: list[Fixed] = []
        self.lines = Lines(lambda node: id(node) in self.fields or any(
            one.rows.op != "constant" and same(node, one.rows) for one in self.fixed))
        self.rows_of = [self.rows_of_block(block) for block in self.forms.blocks]
        self.moving = [rows[0].base if rows[0].base is not None and id(rows[0].base) in self.fields
                       else None for rows in self.rows_of]
        self.parts = self.parts_of_blocks()
        self.overlaps: list[Overlap] = []
        self.declare()
        self.means: dict[int, Symbol] = {}
        mean = Small(self.forms, self.formulas, share, "mean_of_loss", True, self.over)
        self.keep_mean(mean)
        self.rates(mean, share, step)
        if has_noise and step is not None:
            to.noise(covariance=self.covariance(share, *step))
        self.rows(mean)

    def keep_mean(self, small: Small) -> None:
        for node in in_order([small.inputs]):
            if id(node) in self.fields and not any(node is row.symbol for row in self.to.fields):
                raise ModelError(f"the loss depends on {node.label} by more than its overlaps with "
                                 f"the rows of forms ({small.inputs.args[0].label}): the flow of "
                                 "the overlaps does not close")
        self.to.smalls.append(small)

    # ---- Declarations.

    def rows_of_block(self, block: Block) -> list[Line]:
        """The rows of a block of forms: all of the same weights, or none of weights."""
        found = self.lines.rows(two(block.rows))
        moving = [line for line in found or []
                  if line.base is not None and id(line.base) in self.fields]
        if found and (not moving or all(line.base is found[0].base and line.map is found[0].map
                                        for line in found)):
            return found
        wrong = next(node for node in in_order([block.rows]) if node.op == "weights")
        raise ModelError(f"the overlaps of {wrong.label} do not close: the rows of the form "
                         f"{block.leaf.label} are {block.rows.label}, not rows of one array of "
                         "weights, times numbers at most")

    def parts_of_blocks(self) -> list[Part | None]:
        """The part of each block: those of blocks that share data or weights are the same. None:
        no weights."""
        blocks = self.forms.blocks
        number = list(range(len(blocks)))
        for a in range(len(blocks)):
            for b in range(a):
                if blocks[a].source == blocks[b].source or (
                        self.moving[a] is not None and self.moving[a] is self.moving[b]):
                    number = [number[b] if one == number[a] else one for one in number]
        found: dict[int, Part] = {}
        for one in sorted(set(number), key=number.index):
            own = [(k, weights) for k, weights in enumerate(self.moving)
                   if number[k] == one and weights is not None]
            if own:
                maps = [composed(self.rows_of[a][0].map, transposed(self.rows_of[b][0].map))
                        for a, _ in own for b, _ in own
                        if a >= b and blocks[a].source == blocks[b].source]
                found[one] = Part(Spaces(maps, two(own[0][1]).shape[1]),
                                  f"eigenvalue{len(found) or ''}")
        return [found.get(one) for one in number]

    def part_of(self, weights: Symbol | None) -> Part | None:
        return None if weights is None else \
            next((part for part in self.parts if part is not None and part.has(weights)), None)

    def declare(self) -> None:
        to, parts = self.to, list({id(one): one for one in self.parts if one is not None}.values())
        for row in self.model.fields:
            if not any(row.symbol is weights for weights in self.moving):
                new = copy.copy(row)
                new.name = f"{row.name}_flow"  # the training state has the weights themselves
                to.fields.append(new)
        for k, (weights, part) in enumerate(zip(self.moving, self.parts)):
            if part is not None and weights is None:
                self.keep_rows(k, part)
            elif part is not None and weights is not None and not part.has(weights):
                part.members.append(weights)
        self.keep_offsets()
        for place, part in enumerate(parts):
            moving = [one for one in part.members if id(one) in self.fields]
            for k, one in enumerate(moving):
                for other in part.members:
                    if not any(other is before for before in moving[:k]):
                        self.declare_overlap(one, other, part)
            self.declare_eigenvalues(part, str(place or ""))

    def declare_eigenvalues(self, part: Part, place: str) -> None:
        """Records the eigenvalues of the data's covariance, unless it is the identity."""
        maps = [rows[0].map for rows, own, weights in zip(self.rows_of, self.parts, self.moving)
                if own is part and weights is not None]
        numbers = part.spaces.numbers_of_pair(maps[0], maps[0])
        if maps[0] is None or numbers is None or any(map_ is not maps[0] for map_ in maps):
            return
        for k, (value, size) in enumerate(zip(numbers, part.spaces.sizes)):
            self.to.constant(f"eigenvalue{place}_{k}", value,
                             f"eigenvalue {k} of the data's covariance, of {size} dimensions")

    # ---- Rows that do not move.

    def keep(self, rows: Symbol, part: Part) -> None:
        if not any(same(one.rows, rows) and one.part is part for one in self.fixed):
            self.fixed.append(Fixed(rows, part, part.spaces.split(two(rows))))
            part.members.append(rows)

    def keep_rows(self, block: int, part: Part) -> None:
        """Keeps the rows of a block of forms, if their products with weights are not known."""
        lines, rows = self.rows_of[block], self.forms.blocks[block].rows
        if lines[0].base is not None:  # they depend on parameters
            self.keep(lines[0].base if len(lines) == two(lines[0].base).shape[0] else rows, part)
            return
        maps = [self.rows_of[k][0].map for k, weights in enumerate(self.moving)
                if weights is not None
                and self.forms.blocks[k].source == self.forms.blocks[block].source]
        given = rows if all(map_ is None for map_ in maps) else None
        if given is None and rows.op in ("matmul", "*"):  # rows times a map of the data
            value = self.lines.value(rows.args[0])
            given = as_symbol(value) if value is not None else None
        for map_ in maps:
            table = [applied(map_, line.map) for line in lines]
            if all(self.multiple(row, part) is not None for row in table):
                continue
            if given is not None and two(given).shape[1:] == (part.spaces.size,):
                self.keep(given, part)
            if any(self.multiple(row, part) is None for row in table):
                self.keep(as_symbol(np.stack(table)), part)

    def keep_offsets(self) -> None:
        """Keeps rows that inputs multiply by weights, such as the mean of the data."""
        for symbol, _ in self.forms.inputs:
            for node in in_order([symbol]):
                if node.op != "matmul" or node.args[0].ndim > 2:
                    continue
                sides = [self.lines.rows(node.args[0]), self.lines.columns(node.args[1])]
                for mine, others in (sides, sides[::-1]):
                    part = self.part_of(mine[0].base) if mine else None
                    if not mine or not others or part is None or others[0].base is not None:
                        continue
                    for row in [applied(mine[0].map, line.map) for line in others]:
                        if len(row) == part.spaces.size and self.multiple(row, part) is None:
                            self.keep(as_symbol(row.reshape(1, -1)), part)

    def multiple(self, row: np.ndarray, part: Part) -> tuple[Fixed, int, np.ndarray] | None:
        """Rows that do not move, the number of one of them, and the factors by which its parts in
        the eigenspaces add up to the given row."""
        for one in self.fixed:
            if one.part is not part or one.rows.op != "constant":
                continue
            for j in range(len(one.parts[0])):
                found = part.spaces.multiples(row, [each.value[j] for each in one.parts])
                if found is not None:
                    return one, j, found
        return None

    # ---- Overlaps.

    def declare_overlap(self, weights: Symbol, other: Symbol, part: Part) -> None:
        name = self.fields[id(weights)].name
        if id(other) in self.fields:
            what, rows = self.fields[id(other)].name, self.start(other)
            name = f"{name}_{what}"
        else:
            number = next(k for k, one in enumerate(self.fixed) if one.rows is other)
            name, what, rows = f"{name}_fixed{number or ''}", "rows that do not move", other
        table = two(rows).T
        found = [one @ table for one in part.spaces.split(two(self.start(weights)))]
        shape = found[0].shape if len(found) == 1 else (len(found), *found[0].shape)
        (start,) = replaced([joined(found, shape, "start")], {})
        axes = (f"{name}_row", f"{name}_column")
        symbol = self.to.weights(name, start, f"overlaps of {self.fields[id(weights)].name} and "
                                 f"{what}", axes=axes if len(found) == 1 else (part.axis, *axes))
        begin = sum(one.symbol.size for one in self.overlaps)
        self.overlaps.append(Overlap(weights, other, symbol, part, begin))

    def start(self, weights: Symbol) -> Symbol:
        start = self.fields[id(weights)].start
        assert start is not None
        return start

    def found(self, a: Symbol, b: Symbol) -> Symbol | None:
        """The products of rows a and b^T, with an axis of eigenspaces."""
        for one in self.overlaps:
            if one.weights is a and same(one.other, b):
                return one.wide()
            if one.weights is b and one.other is a:
                return one.wide().mT
        return None

    # ---- Formulas of weights as formulas of overlaps.

    def over(self, root: Symbol) -> Symbol:
        """A formula of the full model's weights, with overlaps in the place of products of rows."""
        places: dict[int, Symbol] = {}
        for node in in_order([root]):
            if node.op == "matmul" and node.args[0].ndim <= 2:
                found = self.product(node)
                if found is not None:
                    places[id(node)] = found
        return replaced([root], places)[0]

    def product(self, node: Symbol) -> Symbol | None:
        """The entries of a product of rows, from the overlaps: sums over the eigenspaces."""
        left, right = self.lines.rows(node.args[0]), self.lines.columns(node.args[1])
        if left is None or right is None or not any(
                line.base is not None and id(line.base) in self.fields for line in left + right):
            return None
        entries = [self.entry(one, other) for one in left for other in right]
        most = max((len(numbers) for _, numbers in entries if numbers is not None), default=1)
        if any(numbers is None for _, numbers in entries):
            return None
        flat = joined([one.symbol for one in self.overlaps],
                      (sum(one.symbol.size for one in self.overlaps),), "overlaps")
        found: Symbol | None = None
        for k in range(most):
            places = np.array([of[k] for of, _ in entries])
            factors = np.array([numbers[k] for _, numbers in entries])  # type: ignore
            if not factors.any() and most > 1:
                continue
            term = taken(flat, places, node.label)
            term = term if (factors == 1).all() else term * factors
            found = term if found is None else found + term
        return as_symbol(np.zeros(node.shape)) if found is None else found.reshape(node.shape)

    def entry(self, one: Line, other: Line) -> tuple[list[int], np.ndarray | None]:
        """The product of two rows as places among all overlaps, and their factors; None: it is no
        sum of overlaps."""
        if one.base is None or id(one.base) not in self.fields:
            one, other = other, one
        unknown: tuple[list[int], np.ndarray | None] = ([], None)
        part = self.part_of(one.base) if one.base is not None else None
        if part is None:
            return unknown
        if other.base is None:
            row = applied(one.map, other.map)
            if len(row) != part.spaces.size:
                return unknown
            known = self.multiple(row, part)
            if known is None:
                return unknown
            other_base, j, numbers = known[0].rows, known[1], known[2]
        else:
            found = part.spaces.numbers_of_pair(one.map, other.map)
            if found is None:
                return unknown
            other_base, j, numbers = other.base, other.row, found
        for overlap in self.overlaps:
            rows, columns = overlap.symbol.shape[-2:]
            for i, k, is_one in ((one.row, j, overlap.weights is one.base
                                  and same(overlap.other, other_base)),
                                 (j, one.row, overlap.weights is other_base
                                  and overlap.other is one.base)):
                if is_one:
                    first = overlap.begin + i * columns + k
                    return [first + n * rows * columns for n in range(len(numbers))], numbers
        return unknown

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
                change = change + self.moved(one.other, one.weights, slopes).mT
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
                    shrink = diagonal(rates[own].sum(axis=0)) / (
                        2.0 * diagonal(self.overlaps[own].wide().sum(axis=0)))
                    rate = rate - one.wide() * shrink.reshape((1, -1, 1) if are_rows
                                                              else (1, 1, -1))
            to.rate(one.symbol, rate.reshape(one.symbol.shape))

    def moved(self, weights: Symbol, other: Symbol, slopes: dict[int, Symbol]) -> Symbol:
        """The derivative of the loss by weights, times other rows, in each eigenspace. Projectors
        are orthogonal, so that each space has equations of its own overlaps."""
        found: Symbol | None = None
        for one in self.overlaps:
            slope = three(slopes[id(one.symbol)])
            for mine, others, own in ((one.weights, one.other, slope),
                                      (one.other, one.weights, slope.mT)):
                if mine is weights:
                    overlap = self.found(others, other)
                    if overlap is None:
                        overlap = self.products_of_fixed(others, other)
                    term = own @ overlap
                    found = term if found is None else found + term
        assert found is not None
        return found

    def products_of_fixed(self, a: Symbol, b: Symbol) -> Symbol:
        """The products of rows that do not move, in each eigenspace."""
        one, other = (next(each for each in self.fixed if each.rows is rows) for rows in (a, b))
        found = [mine @ two(other.rows).T for mine in one.parts]
        return joined(found, (len(found), *found[0].shape), "products of rows that do not move")

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
                len({block.source for block in blocks}) > 1 or \
                any(moving is not None and (lines[0].map is not None
                                            or len(lines) < two(moving).shape[0])
                    for lines, moving in zip(self.rows_of, self.moving)):
            raise ModelError("the noise of the overlaps needs weights that are all rows of forms "
                             "of a single standard normal vector, without sphere()")

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
        self.keep_mean(small)
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
                self.keep_mean(small)
                # A step of rows by g x^T changes their products in a space by g g^T |P x|^2.
                spaces = one.part.spaces
                numbers = spaces.numbers_of_pair(self.rows_of[a][0].map, self.rows_of[b][0].map)
                assert numbers is not None
                weight = numbers * np.array(spaces.sizes) / spaces.size
                rows = [np.eye(two(of).shape[0])[:, [line.row for line in self.rows_of[k]]]
                        for k, of in ((a, one.weights), (b, one.other))]
                part = rows[0] @ small.result.reshape(slopes_size(formulas, a),
                                                      slopes_size(formulas, b)) @ rows[1].T
                part = part.reshape(1, *part.shape) * weight.reshape(-1, 1, 1)
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
            self.keep_mean(small)
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


def three(matrices: Symbol) -> Symbol:
    return matrices if matrices.ndim == 3 else matrices.reshape(1, *matrices.shape)


def applied(map_: Any, row: np.ndarray) -> np.ndarray:
    """The product of a map and a column."""
    if map_ is None:
        return row
    return np.asarray(map_ * row if map_.ndim == 1 else map_ @ row)


def slopes_size(formulas: list[list[Symbol]], block: int) -> int:
    return formulas[0][block].size


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
