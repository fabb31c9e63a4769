"""The model: checks each declaration of a user when it is made."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import building
from .completeness import require_complete, require_linear
from .errors import ModelError
from .laws import MOST_NODES, Law, Stored, finite
from .symbols import Symbol, as_symbol, contents, evaluated, in_order, joined, told, where

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
MOST_NODES_OF_QUADRATURE = 20_000
STEP = ("step", "epoch", "learning_rate", "batch_size")  # of training, for losses
LONGEST_OUTCOME = 16  # letters
KINDS = {"parameter": "a parameter", "data": "of a single sample",
         "weights": "which training moves", "population": "the population loss",
         "initial loss": "the loss at the start", "mean": "a mean over the data",
         "time": "the time, for solution()",
         "training": "the step of training, for loss()", "direction": "of another map"}


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


class System:
    """A built model: a plug-in, which can be given wherever a system's name can."""

    def __init__(self, path: Path, name: str, hash_: str) -> None:
        self.path, self.name, self.hash = path, name, hash_

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<popflow system {self.name}: {self.path}>"


class Model:
    """A system from a per-sample loss and a law of the data, or from equations.

        m = Model("memory", "associative memory", source="a paper")
        W = m.weights("W", np.zeros((8, 8)), "association matrix")
        x, fact = m.data(finite(inputs, labels))
        m.loss(cross_entropy(outputs @ W @ x, fact))
        memory = m.build()
        popflow.run(memory)

    NumPy's operators and functions work on what parameter(), weights() and data() return.
    """

    def __init__(self, name: str, title: str, source: str = "") -> None:
        if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
            raise ModelError(f"the model is called {name!r}; its name must be lower-case letters, "
                             "digits and dashes, and begin with a letter")
        if not isinstance(title, str) or not title.strip() or "\n" in title:
            raise ModelError(f"the title of {name} is {title!r}; it must be one line of text")
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
        self.means: list[tuple[Symbol, Symbol]] = []  # a mean, and the expression of a sample
        self.solutions: dict[int, Symbol] = {}
        self.passages: list[Row] = []
        self.outcomes: list[Row] = []
        self.finals: list[Row] = []
        self.noise_factor: Symbol | None = None
        self.noise_covariance: Symbol | None = None
        self.maps: dict[int, list[Map]] = {}  # by weights: preconditioner, then projection
        self.flow: Model | None = None  # of a training state: the model of the flow
        self.other_state: Model | None = None
        self.limit = ""

    # ---- Declarations.

    def parameter(self, name: str, default: float, meaning: str, low: float | None = None,
                  high: float | None = None, sign: str = "") -> Symbol:
        """A number that the user of the model gives: an option of the command line."""
        if self.flow is not None:
            raise ModelError(f"the parameter {name} belongs to both states: declare it by "
                             "parameter() of the model itself")
        self._new(name, meaning, "parameter")
        value = number_of(default, f"the default of the parameter {name}")
        if (low is not None and value < low) or (high is not None and value > high):
            raise ModelError(f"the default of the parameter {name} is {value:g}, outside of its "
                             f"own range from {low} to {high}")
        symbol = Symbol("parameter", (), (), name, name)
        self.parameters.append(Row(name, meaning, symbol, sign, value, low, high))
        return symbol

    def weights(self, name: str, start: Any, meaning: str, sign: str = "", scale: float = 1.0,
                axes: Sequence[str] = ()) -> Symbol:
        """Numbers that training moves, with their start: a part of the state."""
        self._new(name, meaning, "weights")
        if not isinstance(start, Symbol) and np.ndim(start) > 2:
            raise ModelError(f"the start of {name} has {np.ndim(start)} axes; weights have at most "
                             "two: use one matrix for each entry of the other axes")
        begin = as_symbol(start)
        if begin.op == "constant" and not np.isfinite(begin.value).all():
            place = [int(i) for i in np.argwhere(~np.isfinite(begin.value))[0]]
            raise ModelError(f"the start of {name} is {begin.value[tuple(place)]} at {place}; it "
                             "must be finite")
        if begin.size == 0:
            raise ModelError(f"the start of {name} has no numbers: its shape is "
                             f"{told(begin.shape)}")
        self._allowed(begin, {"parameter"}, f"the start of {name}")
        if not scale > 0:
            raise ModelError(f"the scale of {name} is {scale}; it must be positive")
        symbol = Symbol("weights", (), begin.shape, name, name)
        self.fields.append(Row(name, meaning, symbol, sign, start=begin, scale=float(scale),
                               axes=self._axes(name, axes, begin.shape)))
        return symbol

    def data(self, *laws: Law) -> Any:
        """Declares the parts of a sample; returns one symbol for each array or law, in order."""
        if not laws or any(not isinstance(law, Law) for law in laws):
            wrong = next((law for law in laws if not isinstance(law, Law)), None)
            raise ModelError(f"data() takes laws, such as finite(inputs, labels) or normal(3); "
                             f"{type(wrong).__name__} is none")
        found = [symbol for law in laws for symbol in self._drawn_from(law)]
        return found[0] if len(found) == 1 else tuple(found)

    def _drawn_from(self, law: Law) -> list[Symbol]:
        """Symbols of a sample's part, one for each array of a finite law."""
        if law.kind == "mixture":
            return [self._mixed(law)]
        if law.probability is not None:
            self._allowed(law.probability, {"parameter"}, "the probability of finite()")
        own: list[Symbol] = []
        for shape in [a.shape[1:] for a in law.arrays] if law.kind == "finite" else [law.shape]:
            if len(shape) > 2:
                raise ModelError(f"a sample has an array of {len(shape)} axes; symbols have at "
                                 "most two")
            own.append(Symbol("data", (), shape, f"data_{len(self.base)}", len(self.base)))
            if law.kind == "finite":
                own[-1].samples = law.arrays[len(own) - 1]
            self.base.append(own[-1])
        self.laws.append((law, own))
        return own if law.kind == "finite" else [placed(law, own[0])]

    def _mixed(self, law: Law) -> Symbol:
        """Returns a draw of a mixture. Its normal laws share standard normal numbers, and its
        uniform laws share uniform ones, so that a Gauss rule has few dimensions."""
        which = self._drawn_from(finite(np.arange(len(law.parts)), probability=law.probability))[0]
        shared: dict[str, Symbol] = {}
        values: list[Symbol] = []
        for part in law.parts:
            if part.kind in ("normal", "uniform"):
                if part.kind not in shared:
                    shared[part.kind] = self._drawn_from(Law(part.kind, shape=part.shape))[0]
                drawn = shared[part.kind]
                values.append(placed(part, drawn) if part.kind == "normal" else
                              part.low + (part.high - part.low) * drawn)
            else:
                values.append(self._drawn_from(part)[0])
        found = values[-1]
        for k in reversed(range(len(values) - 1)):
            found = where(which == float(k), values[k], found)
        return found

    def array(self, name: str, values: Any, meaning: str, axes: Sequence[str] = ()) -> Stored:
        """An array of the problem for finite(): every file keeps it, and --problem replaces it."""
        self._new(name, meaning, "array")
        numbers = np.array(values, dtype=float)
        if numbers.ndim not in (1, 2) or not np.isfinite(numbers).all():
            raise ModelError(f"the array {name} must have one or two axes and finite numbers; its "
                             f"shape is {told(numbers.shape)}")
        stored = Stored(name, meaning, numbers, self._axes(name, axes, numbers.shape))
        self.arrays.append(stored)
        return stored

    def loss(self, loss: Any, floor: float = 0.0) -> None:
        """Loss of one sample. The flow descends its mean over the law of the data."""
        if self.sample_loss is not None:
            raise ModelError("loss() was called twice; add the terms of the loss")
        if self.rates:
            raise ModelError("the model has equations (rate()), and takes no loss beside them")
        symbol = scalar(loss, "the loss")
        self._allowed(symbol, {"parameter", "weights", "data", "training"}, "the loss")
        if not self.laws:
            raise ModelError("the loss has no data: call data() first, or give population_loss()")
        if not any(node.op == "weights" for node in in_order([symbol])):
            raise ModelError(f"the loss {symbol.label} does not depend on any weights")
        self.sample_loss, self.loss_floor = symbol, float(floor)

    def population_loss(self, loss: Any, floor: float = 0.0) -> None:
        """Mean of the loss over the law of the data, in closed form."""
        symbol = scalar(loss, "the population loss")
        self._allowed(symbol, {"parameter", "weights"}, "the population loss")
        self.given_population, self.loss_floor = symbol, float(floor)

    def quadrature(self, points: int) -> None:
        """Takes the mean over normal and uniform data of up to four dimensions by a Gauss rule with
        this number of points in each. The rule is exact for polynomials of degree 2 points - 1."""
        if not 1 <= points <= 100:
            raise ModelError(f"quadrature() has {points} points; it takes 1 to 100")
        self.points = int(points)

    def rate(self, weights: Symbol, rate: Any) -> None:
        """Equation of weights: their time derivative."""
        if self.sample_loss is not None or self.given_population is not None:
            raise ModelError("the model has a loss, and takes no equations beside it")
        if self.maps:
            raise ModelError("the model has a preconditioner or a projection, and takes no "
                             "equations")
        field = self._field(weights, "rate()")
        self.rates[id(weights)] = self._like(field, rate, "rate", {"parameter", "weights"})

    def observable(self, name: str, value: Any, meaning: str, sign: str = "",
                   floor: float = 0.0) -> None:
        """A scalar that is recorded."""
        self.observables.append(self._value(name, value, meaning, sign, "observable", floor=floor))

    def mean(self, value: Any) -> Symbol:
        """Mean of an expression of a sample over the law of the data, such as the accuracy, for
        observables, fields, events and so on. Like the population loss, it is exact."""
        symbol = as_symbol(value)
        self._allowed(symbol, {"parameter", "weights", "data"}, "the mean")
        if not any(node.op == "data" for node in in_order([symbol])):
            raise ModelError(f"mean() takes an expression of a sample; {symbol.label} depends on "
                             "no data")
        found = Symbol("mean", (), symbol.shape, f"the mean of {symbol.label}", len(self.means))
        self.means.append((found, symbol))
        return found

    def noise(self, factor: Any = None, covariance: Any = None) -> None:
        """Noise of a model by equations, for the SDE: dx = rate dt + sqrt(eta / B) G dW.

        `factor` is G, a row for each number of the state and a column for each source of noise;
        `covariance` is G G^T, that of one sample. The state has the weights in the order in which
        they were declared.
        """
        if self.noise_factor is not None or self.noise_covariance is not None:
            raise ModelError("noise() was called twice; give a single factor or covariance")
        if (factor is None) == (covariance is None):
            raise ModelError("noise() takes either factor= or covariance=")
        what = "factor" if covariance is None else "covariance"
        symbol, n = as_symbol(factor if covariance is None else covariance), self.entries
        if symbol.shape == () and n == 1:
            symbol = symbol.reshape(1, 1)
        if symbol.ndim != 2 or symbol.shape[0] != n or (what == "covariance"
                                                        and symbol.shape[1] != n):
            wanted = f"{n} x {n}" if what == "covariance" else f"{n} rows, one for each number"
            raise ModelError(f"the {what} of the noise is {told(symbol.shape)}; the state has {n} "
                             f"numbers, so that it must be {wanted}")
        self._allowed(symbol, {"parameter", "weights"}, f"the {what} of the noise")
        if what == "factor":
            self.noise_factor = symbol
        else:
            self.noise_covariance = symbol

    def solution(self, weights: Symbol, value: Any) -> None:
        """Exact value of weights at the time m.time of a run from the start, for `verify`."""
        field = self._field(weights, "solution()")
        symbol = self._like(field, value, "solution", {"parameter", "time"})
        if id(weights) in self.solutions:
            raise ModelError(f"the solution of {field.name} is given twice")
        self.solutions[id(weights)] = symbol

    def precondition(self, weights: Symbol, map_: Callable[[Symbol], Any]) -> None:
        """Preconditioner: weights move along map(v), where v is minus the gradient of the loss.

        The map is linear in v, and acts on each sample: `m.precondition(W, lambda v: W * v)`.
        """
        self._map(weights, map_, False)

    def projection(self, weights: Symbol, map_: Callable[[Symbol], Any]) -> None:
        """Projection of weights' movements, those of noise included, onto a subspace:
        `m.projection(W, lambda v: v - v.mean())` conserves the sum."""
        self._map(weights, map_, True)

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

    def passage(self, name: str, value: Any, meaning: str, axes: Sequence[str] = ()) -> None:
        """First-passage times: for each entry, the first time at which it rises through zero."""
        row = self._value(name, value, meaning, "", "passage", any_shape=True)
        row.axes = self._axes(name, axes, row.symbol.shape)
        self.passages.append(row)

    def outcome(self, name: str, condition: Any, meaning: str) -> None:
        """A possible outcome of a run: the first one whose condition holds for the last state."""
        row = self._value(name, condition, meaning, "", "outcome")
        if len(name) > LONGEST_OUTCOME or name == "undecided":
            raise ModelError(f"the outcome is called {name}; it must have at most "
                             f"{LONGEST_OUTCOME} letters, and not be 'undecided', which stands for "
                             "no outcome")
        self.outcomes.append(row)

    def final(self, name: str, value: Any, meaning: str, sign: str = "") -> None:
        """A number of the last state, which is reported at the end of a run."""
        self.finals.append(self._value(name, value, meaning, sign, "final value"))

    def training(self, limit: str = "") -> Model:
        """A model of the state that noise and sampled training use in place of this flow's state,
        such as the weights in place of order parameters.

        The new model has the same parameters, its own weights and loss, and the same observables,
        events and so on. `limit` says why the observables differ from those of the flow, if they
        do.
        """
        if self.flow is not None:
            raise ModelError("training() belongs to the model of the flow")
        if self.other_state is not None:
            raise ModelError("training() was called twice")
        other = self.other_state = Model(self.name, self.title, self.source)
        other.parameters, other.flow, other.limit = self.parameters, self, limit
        return other

    def invariant(self, name: str, value: Any, meaning: str, sign: str = "") -> None:
        """A quantity that the flow conserves; of an array, each entry, recorded as NAME_0, NAME_1
        and so on (NAME_0_0 for a matrix). `verify` checks it."""
        symbol = as_symbol(value)
        if symbol.size == 1:
            self.invariants.append(self._value(name, symbol, meaning, sign, "invariant"))
            return
        for place in np.ndindex(*symbol.shape):
            number = "_".join(map(str, place))
            self.invariants.append(self._value(f"{name}_{number}", symbol[place],
                                               f"{meaning}, entry {', '.join(map(str, place))}",
                                               sign, "invariant"))

    def event(self, name: str, value: Any, meaning: str) -> None:
        """The first time at which a scalar rises through zero."""
        self.events.append(self._value(name, value, meaning, "", "event"))

    def constant(self, name: str, value: Any, meaning: str, sign: str = "") -> None:
        """A number that depends on parameters and the start only."""
        row = self._value(name, value, meaning, sign, "constant",
                          of={"parameter", "initial loss"})
        self.constants.append(row)

    def field(self, name: str, value: Any, meaning: str, sign: str = "",
              axes: Sequence[str] = ()) -> None:
        """An array that is recorded with the state."""
        row = self._value(name, value, meaning, sign, "field", any_shape=True)
        row.axes = self._axes(name, axes, row.symbol.shape)
        self.derived.append(row)

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

    def note(self, text: str) -> None:
        """A note that is shown at the start of a run."""
        self.notes.append(text)

    # ---- Properties that generation needs.

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
    def in_epochs(self) -> bool:
        return any(law.epochs for law, _ in self.laws)

    @property
    def uses_step(self) -> bool:
        """Returns whether the loss of a sample depends on the step of training."""
        return self.sample_loss is not None and any(node.op == "training"
                                                    for node in in_order([self.sample_loss]))

    @property
    def has_means(self) -> bool:
        """Returns whether the population sums, over finite samples, means over normal numbers."""
        return (self.sample_loss is not None and self.given_population is None
                and self.points is None and self.draws_numbers
                and any(law.kind == "finite" for law, _ in self.laws))

    @property
    def is_summed(self) -> bool:
        """Returns whether means over the data are sums over samples, or nodes of a Gauss rule."""
        return (self.sample_loss is not None and self.given_population is None
                and (not self.draws_numbers or self.points is not None or self.has_means))

    def nodes(self) -> tuple[np.ndarray, Symbol]:
        """Returns samples, a row each, and the weights with which they sum to the population."""
        if not self.is_summed:
            return np.zeros((0, self.inputs)), as_symbol(np.zeros(0))
        return self.combined(self.points)

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
        return nodes > 0 and (not self.draws_numbers or self.has_means)

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
        from .isserlis import normal_mean
        assert self.sample_loss is not None
        return normal_mean(self, self.sample_loss)

    def mean_formula(self, value: Symbol) -> Symbol:
        """Returns the mean of an expression of a sample over normal data: of all data or, if sums
        over finite laws remain, of those that are not finite."""
        from .isserlis import normal_mean
        if self.is_summed and not self.has_means:
            return value
        parts = [normal_mean(self, value.ravel()[k], "expression")
                 for k in range(value.size)]
        return joined(parts, value.shape, value.label) if value.shape else parts[0]

    # ---- Building.

    def build(self, check: bool = True, cache: bool = True) -> System:
        """Makes the plug-in, and runs the quick part of `popflow verify` unless check is False.

        A model that was built before is taken from the user's cache folder, already checked.
        """
        self.require_complete()
        target = building.place_of(self.digest(), self.name)
        mark = target.with_suffix(".checked")
        if not (cache and building.is_built(target)):
            mark.unlink(missing_ok=True)
            self.require_finite()
            from .generating import source_of, whole_source
            body, digest, reasons = source_of(self)
            description = self.description()
            for of, reason in zip((description, description.get("training", {})), reasons):
                if reason:
                    of["no_jacobian"] = reason
            provenance = {"hash": digest, "generated": body, "source": model_source(),
                          "compiler": building.version_of(building.compiler()),
                          "flags": " ".join(building.FLAGS)}
            building.compiled(whole_source(body, description, provenance), target, digest)
        system = System(target, self.name, target.with_suffix(".hash").read_text())
        if check and not mark.is_file():
            self.checked(system)
            mark.touch()
        return system

    def checked(self, system: System) -> None:
        """Checks the plug-in with samples and finite differences, and prints one line."""
        from ..commands import verify
        result = verify(system, show=False)
        failed = [str(name) for name, verdict in zip(result.checks.check.values,
                                                     result.checks.verdict.values)
                  if verdict == "fails"]
        made = sum(1 for verdict in result.checks.verdict.values if verdict == "ok")
        if failed:
            raise ModelError(f"the model {self.name} does not hold what it declares "
                             f"({', '.join(failed)}):\n{result.table}")
        print(f"{self.name}: {made} checks hold (popflow verify {system.path})", file=sys.stderr)

    def digest(self) -> bytes:
        """Returns a digest of everything that the plug-in depends on."""
        made = hashlib.sha256(repr(self.description()).encode())
        roots = [*(one.symbol for one in [*self.observables, *self.invariants, *self.events,
                                          *self.constants, *self.derived, *self.passages,
                                          *self.outcomes, *self.finals]),
                 *(field.start for field in self.fields if field.start is not None),
                 *(self.rates[key] for key in self.rates)]
        roots += [one for one in (self.sample_loss, self.given_population, self.noise_factor,
                                  self.noise_covariance) if one is not None]
        roots += [self.solutions[key] for key in self.solutions]
        roots += [of for _, of in self.means]
        for field in self.fields:
            for one in self.maps.get(id(field.symbol), []):
                made.update(f"{field.name} {one.is_projection}".encode())
                roots.append(one.result)
        made.update(repr((self.noise_factor is None, len(self.solutions))).encode())
        for root in roots:
            made.update(root.digest())
        if self.other_state is not None:
            made.update(self.other_state.digest())
        for law, _ in self.laws:
            made.update(repr((law.kind, law.shape, law.low, law.high, law.epochs,
                              self.points)).encode())
            for array in law.arrays:
                made.update(contents(array))
            if law.probability is not None:
                made.update(law.probability.digest())
        for path in sorted(Path(__file__).parent.glob("*.py")):
            made.update(path.read_bytes())
        return made.digest()

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

    def require_complete(self) -> None:
        require_complete(self)

    def require_finite(self) -> None:
        """Evaluates the model at its start, and names the first term that is not finite."""
        known: dict[int, Any] = {id(row.symbol): row.default for row in self.parameters}
        for field in self.fields:
            assert field.start is not None
            (value,) = evaluated([field.start], known, self.refuse(f"the start of {field.name}"))
            known[id(field.symbol)] = value
        if self.is_finite:
            weights = [law.probability for law, _ in self.laws if law.probability is not None]
            for weight, value in zip(weights, evaluated(weights, known)):
                bad = np.flatnonzero(~np.isfinite(value) | (value < 0))
                if len(bad) or value.sum() <= 0:
                    raise ModelError(f"the probabilities {weight.label} are {value[:4]} ... with "
                                     "the default parameters; they must be finite, not negative, "
                                     "and not all 0")
        for root in self.rates.values():
            evaluated([root], known, self.refuse("the rate"))
        for noise in (self.noise_factor, self.noise_covariance):
            if noise is not None:
                evaluated([noise], known, self.refuse("the noise"))
        for field in self.fields:
            for one in self.maps.get(id(field.symbol), []):
                require_linear(one, field.name, known)
        if self.other_state is not None:
            self.other_state.require_finite()
        if self.given_population is not None:
            evaluated([self.given_population], known, self.refuse("the population loss"))
        if self.sample_loss is not None and self.is_finite:
            rows, _ = self.nodes()
            for row in rows[:16]:
                begin = 0
                for symbol in self.base:
                    known[id(symbol)] = row[begin:begin + symbol.size].reshape(symbol.shape)
                    begin += symbol.size
                evaluated([self.sample_loss], known, self.refuse("the loss"))

    def refuse(self, what: str) -> Any:
        def look(node: Symbol, value: Any) -> None:
            if not np.isfinite(value).all():
                raise ModelError(f"{what} is not finite at the start: the term {node.label} is "
                                 f"{np.ravel(value)[~np.isfinite(np.ravel(value))][0]}, with the "
                                 "default parameters")
        return look

    def description(self) -> dict[str, Any]:
        """Returns the plug-in's description, in the form that docs/models.md documents."""
        dimensions: dict[str, int] = {}
        other = self.other_state
        shapes = [(row.name, row.axes, row.symbol.shape)
                  for row in [*self.fields, *self.derived, *self.passages,
                              *(other.fields + other.derived if other is not None else [])]]
        shapes += [(stored.name, stored.axes, stored.values.shape) for stored in self.arrays]
        for name, axes, shape in shapes:
            for axis, size in zip(axes, shape):
                if dimensions.setdefault(axis, size) != size:
                    raise ModelError(f"the axis {axis} has two lengths, {dimensions[axis]} and "
                                     f"{size} ({name})")

        def item(row: Row, **more: Any) -> dict[str, Any]:
            return {"name": row.name, "meaning": row.meaning,
                    **({"symbol": row.sign} if row.sign else {}), **more}

        def parameter(row: Row) -> dict[str, Any]:
            found = item(row, kind="real", default=row.default, makes_problem=True)
            found["name"] = option(row.name)
            found.pop("makes_problem")
            for bound in ("low", "high"):
                if getattr(row, bound) is not None:
                    found[bound] = float(getattr(row, bound))
            return found

        def state(of: Model) -> dict[str, Any]:
            chosen = len(of.nodes()[0]) or len(of.drawn()[0])
            return {"fields": [item(row, dimensions=list(row.axes), scale=row.scale)
                               for row in of.fields],
                    "derived": [item(row, dimensions=list(row.axes)) for row in of.derived],
                    "loss": of.has_loss, "loss_floor": of.loss_floor,
                    **({"samples": chosen, "sampling": "epochs"} if of.in_epochs else {})}

        found: dict[str, Any] = {
            "name": self.name, "title": self.title,
            "source": self.source or "no source is given",
            "equations": self.equations or self.formula(),
            "parameters": [parameter(row) for row in self.parameters],
            "dimensions": [{"name": axis, "size": size} for axis, size in dimensions.items()],
            **state(self),
            "passages": [item(row, dimensions=list(row.axes)) for row in self.passages],
            "outcomes": [item(row) for row in self.outcomes],
            "finals": [item(row) for row in self.finals],
            "observables": [item(row, floor=row.floor) for row in self.observables],
            "invariants": [item(row) for row in self.invariants],
            "events": [item(row) for row in self.events],
            "constants": [item(row) for row in self.constants],
            "arrays": [{"name": stored.name, "meaning": stored.meaning,
                        "dimensions": list(stored.axes)} for stored in self.arrays],
            "notes": [{"text": text} for text in self.notes],
            "first_stage_time": self.first_stage_time,
            "figure": self.figure, "figure_of_sweeps": self.figure_of_sweeps,
            "lane_parameters": len(self.parameters) + len(self.nodes()[0]) + 1}
        if self.end is not None:
            found["end"] = self.end
        if other is not None:
            found["training"] = {**state(other), "approximation": other.limit}
        return found

    def formula(self) -> str:
        if self.rates:
            return "\n".join(f"d{field.name}/dt = {self.rates[id(field.symbol)].label}"
                             for field in self.fields)
        loss = self.sample_loss if self.sample_loss is not None else self.given_population
        assert loss is not None
        weights = ", ".join(field.name for field in self.fields)
        mean = "E " if self.sample_loss is loss else ""
        return f"d({weights})/dt = -grad L\nL = {mean}{loss.label}"

    # ---- Checks of declarations.

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
        return tuple(f"{name}_{end}" for end in ("row", "column")[:len(shape)])


def placed(law: Law, numbers: Symbol) -> Symbol:
    """Returns the numbers of a normal law, made from standard normal ones; numbers of other laws
    are unchanged."""
    found = numbers if law.root is None else as_symbol(law.root) @ numbers
    return found if law.mean is None else found + law.mean


def option(name: str) -> str:
    return name.replace("_", "-")


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
    if law.size > 4 or points ** law.size > MOST_NODES_OF_QUADRATURE:
        raise ModelError(f"quadrature({points}) of {law.size} dimensions has {points}^{law.size} "
                         f"nodes; it takes up to four dimensions and {MOST_NODES_OF_QUADRATURE} "
                         "nodes: give population_loss()")
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


def model_source() -> str:
    """Text of the file that defines the model: the nearest caller outside of this package."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for frame in inspect.stack():
        path = os.path.abspath(frame.filename)
        if not path.startswith(package) and os.path.isfile(path):
            return Path(path).read_text(errors="replace")
    return ""
