"""The parts of a model, and what follows from them: samples, means and the population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .derive.isserlis import HIGHEST, degree, normal_mean
from .derive.small import Small
from .errors import ModelError
from .laws import MOST_NODES, Law, Stored, finite
from .streams import drawn_numbers
from .symbols import Symbol, as_symbol, in_order, joined, where
from .tables import stored as in_file

MOST_NODES_OF_QUADRATURE = 20_000
MOST_DIMENSIONS, MOST_POINTS = 4, 100  # of a Gauss rule over the numbers of the data
MOST_EXPANDED = 128  # numbers of a sample whose polynomials are expanded number by number
STEP = ("step", "epoch", "learning_rate", "batch_size")  # of training, for losses


@dataclass
class Row:
    """A declared item."""

    name: str
    meaning: str
    symbol: Symbol
    sign: str = ""  # how papers write it
    default: float = 0.0
    low: float | None = None
    high: float | None = None
    start: Symbol | None = None
    scale: float = 1.0
    axes: tuple[str, ...] = ()
    floor: float = 0.0


@dataclass
class Map:
    """A linear map of the directions in which weights move."""

    direction: Symbol
    result: Symbol
    is_projection: bool


class Parts:
    """What a model declares. The class Model has the calls that declare."""

    def __init__(self, name: str, title: str, source: str) -> None:
        self.name, self.title, self.source = name, title, source
        self.parameters: list[Row] = []
        self.fields: list[Row] = []
        self.observables: list[Row] = []
        self.invariants: list[Row] = []
        self.events: list[Row] = []
        self.constants: list[Row] = []
        self.derived: list[Row] = []
        self.arrays: list[Stored] = []
        self.notes: list[str] = []
        self.laws: list[tuple[Law, list[Symbol]]] = []
        self.base: list[Symbol] = []
        self.sample_loss: Symbol | None = None
        self.given_population: Symbol | None = None
        self.points: int | None = None
        self.rates: dict[int, Symbol] = {}
        self.end: float | None = None
        self.first_stage_time = 0.0
        self.figure, self.figure_of_sweeps, self.equations = "", "", ""
        self.population = Symbol("population", (), (), "population")
        self.initial_loss = Symbol("initial loss", (), (), "initial_loss")
        self.loss_floor = 0.0
        self.time = Symbol("time", (), (), "time", "time")
        self.step, self.epoch, self.learning_rate, self.batch_size = (
            Symbol("training", (), (), name, place) for place, name in enumerate(STEP))
        self.stream_table: Any = None  # the file of the samples that estimate the population
        self.means: list[tuple[Symbol, Symbol]] = []  # a mean, and the expression of a sample
        self.test_means: list[tuple[Symbol, Symbol]] = []  # over the test set
        self.solutions: dict[int, Symbol] = {}
        self.passages: list[Row] = []
        self.outcomes: list[Row] = []
        self.finals: list[Row] = []
        self.noise_factor: Symbol | None = None
        self.noise_covariance: Symbol | None = None
        self.maps: dict[int, list[Map]] = {}  # by weights: preconditioner, then projection
        self.spheres: list[Symbol] = []  # weights whose rows keep their norms
        self.flow: Parts | None = None  # of a training state: the model of the flow
        self.other_state: Parts | None = None
        self.limit = ""
        self.smalls: list[Small] = []  # means of forms that equations use

    @property
    def entries(self) -> int:
        return sum(field.symbol.size for field in self.fields)

    @property
    def inputs(self) -> int:
        return sum(symbol.size for symbol in self.base)

    @property
    def is_finite(self) -> bool:
        return bool(self.laws) and all(law.kind == "finite" for law, _ in self.laws)

    @property
    def has_loss(self) -> bool:
        return self.sample_loss is not None or self.given_population is not None

    @property
    def draws_numbers(self) -> bool:
        """Returns whether a sample contains numbers from a continuous law."""
        return any(law.kind != "finite" for law, _ in self.laws)

    @property
    def table(self) -> Any:
        """Returns the file of samples, if the data are a dataset() or a stream()."""
        if self.stream_table is not None:
            return self.stream_table
        return next((law.table for law, _ in self.laws if law.table is not None), None)

    @property
    def in_epochs(self) -> bool:
        return any(law.epochs for law, _ in self.laws)

    @property
    def drops_last(self) -> bool:
        return any(law.drop_last for law, _ in self.laws)

    @property
    def uses_step(self) -> bool:
        """Returns whether the loss of a sample depends on the step of training."""
        return self.sample_loss is not None and any(node.op == "training"
                                                    for node in in_order([self.sample_loss]))

    @property
    def points_of_nodes(self) -> int | None:
        """Returns the points of a Gauss rule over the numbers of the data; None if there is none.
        Normal data of more numbers have rules over the forms that the loss sees."""
        laws = [law for law, _ in self.laws if law.kind != "finite"]
        is_large = all(law.kind == "normal" for law in laws) and \
            sum(law.size for law in laws) > MOST_DIMENSIONS
        return None if is_large else self.points

    @property
    def has_means(self) -> bool:
        """Returns whether the population sums, over finite samples, means over normal numbers."""
        return (self.sample_loss is not None and self.given_population is None
                and self.points_of_nodes is None and self.draws_numbers and not self.sees_forms
                and self.stream_table is None
                and any(law.kind == "finite" for law, _ in self.laws))

    @property
    def sees_forms(self) -> bool:
        """Returns whether means over normal data are found from the few linear forms of the data
        that the loss sees (derive/forms.py): for many numbers, or a loss that is no polynomial."""
        if (self.sample_loss is None or self.given_population is not None
                or self.points_of_nodes is not None or self.uses_step or not self.draws_numbers
                or self.stream_table is not None
                or any(law.kind not in ("finite", "normal") or law.epochs or law.stored
                       for law, _ in self.laws)):
            return False
        finite = frozenset(id(symbol) for law, symbols in self.laws if law.kind == "finite"
                           for symbol in symbols)
        return self.inputs > MOST_EXPANDED or any(
            degree(one, finite) > HIGHEST
            for one in [self.sample_loss, *(value for _, value in self.means)])

    @property
    def is_summed(self) -> bool:
        """Returns whether means over the data are sums over samples, or nodes of a Gauss rule."""
        return (self.sample_loss is not None and self.given_population is None
                and (not self.draws_numbers or self.points_of_nodes is not None or self.has_means
                     or self.stream_table is not None))

    def nodes(self) -> tuple[np.ndarray, Symbol]:
        """Returns samples, a row each, and the weights with which they sum to the population."""
        if not self.is_summed:
            return np.zeros((0, self.inputs)), as_symbol(np.zeros(0))
        if self.table is not None:  # the rows stay in their file, with their weights
            return self.table.numbers()[:self.table.train], as_symbol(np.zeros(0))
        return self.combined(self.points_of_nodes)

    def drawn(self) -> tuple[np.ndarray, Symbol]:
        """Returns the samples of finite laws from which training draws, and their probabilities.

        Without rows if these samples are the nodes of the population.
        """
        rows, _ = self.nodes()
        finite = any(law.kind == "finite" for law, _ in self.laws)
        if self.sample_loss is None or not finite or self.draws_nodes(len(rows)):
            return np.zeros((0, self.inputs)), as_symbol(np.zeros(0))
        return self.combined(None)

    def draws_nodes(self, nodes: int) -> bool:
        """Returns whether the nodes of the population are the samples of the finite laws."""
        return nodes > 0 and self.stream_table is None and (not self.draws_numbers
                                                            or self.has_means)

    def combined(self, points: int | None) -> tuple[np.ndarray, Symbol]:
        """Returns all combinations of finite laws' samples and of a Gauss rule's other nodes.

        Without points, the numbers of the other laws are 0.
        """
        rows, weight = np.zeros((1, 0)), as_symbol(np.ones(1))
        for law, symbols in self.laws:
            if law.kind != "finite" and points is None:
                size = sum(symbol.size for symbol in symbols)
                rows = np.hstack([rows, np.zeros((len(rows), size))])
                continue
            own, probability = nodes_of(law, points)
            if len(rows) * len(own) > MOST_NODES:
                raise ModelError(f"the laws of the data have more than {MOST_NODES} combinations; "
                                 "give population_loss()")
            rows = np.hstack([np.repeat(rows, len(own), axis=0), np.tile(own, (len(rows), 1))])
            weight = (weight.reshape(-1, 1) * probability.reshape(1, -1)).ravel()
        return rows, weight

    def population_formula(self) -> Symbol:
        """Returns the population loss if it is not a sum over samples."""
        if self.given_population is not None:
            return self.given_population
        assert self.sample_loss is not None
        return normal_mean(self.laws, self.sample_loss)

    def mean_formula(self, value: Symbol) -> Symbol:
        """Returns the mean of an expression of a sample over normal data: of all data or, if sums
        over finite laws remain, of those that are not finite."""
        if self.is_summed and not self.has_means:
            return value
        parts = [normal_mean(self.laws, value.ravel()[k], "expression")
                 for k in range(value.size)]
        return joined(parts, value.shape, value.label) if value.shape else parts[0]

    def columns_of_arrays(self) -> list[tuple[int, int]]:
        """Returns, for each array of the problem, its first column among the nodes' and its number
        of columns."""
        found: dict[str, tuple[int, int]] = {}
        begin = 0
        for law, symbols in self.laws:
            for number, symbol in enumerate(symbols):
                for place, stored in law.stored:
                    if place == number:
                        found[stored.name] = (begin, symbol.size)
                begin += symbol.size
        return [found[stored.name] for stored in self.arrays]

    def places_in_arrays(self) -> list[tuple[str, int, int]]:
        """Returns the entries of the problem's arrays that are labels or indices: the array, the
        column among the nodes', and the number of places."""
        begins = {stored.name: begin for stored, (begin, _) in zip(self.arrays,
                                                                   self.columns_of_arrays())}
        return [(stored.name, begins[stored.name] + column, count)
                for law, symbols in self.laws for place, stored in law.stored
                for column, count in sorted(symbols[place].limits.items())]

    # ---- Samples.

    def drawn_from(self, law: Law) -> list[Symbol]:
        """Symbols of a sample's part, one for each array of a finite law."""
        if self.stream_table is not None or (law.kind == "stream" and self.laws):
            raise ModelError("stream() must be the only law of the data: give it the other laws")
        if law.kind == "stream":
            return self.streamed(law)
        if law.kind == "mixture":
            return [self.mixed(law)]
        own: list[Symbol] = []
        for shape in [a.shape[1:] for a in law.arrays] if law.kind == "finite" else [law.shape]:
            if len(shape) > 3:
                raise ModelError(f"a sample has an array of {len(shape)} axes; samples have at "
                                 "most three")
            own.append(Symbol("data", (), shape, f"data_{len(self.base)}", len(self.base)))
            if law.kind == "finite":
                own[-1].samples = law.arrays[len(own) - 1]
            self.base.append(own[-1])
        self.laws.append((law, own))
        return own if law.kind == "finite" else [placed(law, own[0])]

    def streamed(self, law: Law) -> list[Symbol]:
        """Returns what a generator makes of draws, and stores the samples of the population."""
        drawn = [symbol for part in law.parts for symbol in self.drawn_from(part)]
        made = law.function(*drawn)
        numbers = drawn_numbers(self.laws, law.count, law.seed)
        self.stream_table = in_file([numbers], [], None)
        self.stream_table.estimates = True
        return [as_symbol(one) for one in (made if isinstance(made, tuple) else (made,))]

    def mixed(self, law: Law) -> Symbol:
        """Returns a draw of a mixture. Its normal laws share standard normal numbers, and its
        uniform laws share uniform ones, so that a Gauss rule has few dimensions."""
        which = self.drawn_from(finite(np.arange(len(law.parts)), probability=law.probability))[0]
        shared: dict[str, Symbol] = {}
        values: list[Symbol] = []
        for part in law.parts:
            if part.kind in ("normal", "uniform"):
                if part.kind not in shared:
                    shared[part.kind] = self.drawn_from(Law(part.kind, shape=part.shape))[0]
                drawn = shared[part.kind]
                values.append(placed(part, drawn) if part.kind == "normal" else
                              part.low + (part.high - part.low) * drawn)
            else:
                values.append(self.drawn_from(part)[0])
        found = values[-1]
        for k in reversed(range(len(values) - 1)):
            found = where(which == float(k), values[k], found)
        return found


def placed(law: Law, numbers: Symbol) -> Symbol:
    """Returns the numbers of a normal law, made from standard normal ones; numbers of other laws
    are unchanged."""
    found = numbers if law.root is None else law.root * numbers if law.root.ndim == 1 else \
        as_symbol(law.root) @ numbers
    return found if law.mean is None else found + law.mean


def nodes_of(law: Law, points: int | None) -> tuple[np.ndarray, Symbol]:
    """Returns the nodes of a law, a row each, and their weights."""
    if law.kind == "finite":
        assert law.probability is not None
        rows = np.hstack([array.reshape(len(array), -1) for array in law.arrays])
        return rows, law.probability / law.probability.sum()
    if law.kind == "rademacher":
        raise ModelError(f"rademacher() with {law.size} signs has too many combinations; give "
                         "population_loss()")
    assert points is not None
    if law.size > MOST_DIMENSIONS or points ** law.size > MOST_NODES_OF_QUADRATURE:
        raise ModelError(f"quadrature({points}) of {law.size} dimensions has {points}^{law.size} "
                         f"nodes; it takes up to four dimensions and {MOST_NODES_OF_QUADRATURE} "
                         "nodes: give population_loss()")
    if points > MOST_POINTS:
        raise ModelError(f"quadrature({points}) has too many points for data of {law.size} "
                         f"numbers; it takes up to {MOST_POINTS}")
    if law.kind == "normal":
        line, weight = np.polynomial.hermite_e.hermegauss(points)
    else:
        line, weight = np.polynomial.legendre.leggauss(points)
        line = law.low + (line + 1) / 2 * (law.high - law.low)
    weight = weight / weight.sum()
    grid = np.stack(np.meshgrid(*[line] * law.size, indexing="ij"), axis=-1).reshape(-1, law.size)
    product = np.ones(1)
    for _ in range(law.size):
        product = np.multiply.outer(product, weight).ravel()
    return grid, as_symbol(product)
