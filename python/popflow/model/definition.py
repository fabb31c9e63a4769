"""The model: a user's calls declare its parts, and build() makes a plug-in of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from . import building, compilers
from .checks.completeness import require_complete
from .checks.declarations import Declarations, number_of, scalar
from .checks.start import require_finite
from .derive.hermite import LADDER
from .emit.description import description_of
from .errors import ModelError
from .key import key_of, machine, version
from .laws import Law, Stored
from .parts import Row
from .symbols import Symbol, as_symbol, fixed, in_order, told
from .tables import beside

LONGEST_OUTCOME = 16  # letters
CHECKED_WITHIN = 10  # seconds that checks of a model with dataset() or stream() may take


class System:
    """A built model: a plug-in, which can be given wherever a system's name can."""

    def __init__(self, path: Path, name: str, hash_: str) -> None:
        self.path, self.name, self.hash = path, name, hash_

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<popflow system {self.name}: {self.path}>"


class Model(Declarations):
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
        super().__init__(name, title, source)

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
        axes_of_start = start.ndim if isinstance(start, Symbol) else np.ndim(start)
        if axes_of_start > 3:
            raise ModelError(f"the start of {name} has {axes_of_start} axes; weights have at most "
                             "three: use one array for each entry of the other axes")
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
        for law in laws:
            if law.probability is not None:
                self._allowed(law.probability, {"parameter"}, "the probability of finite()")
        found = [symbol for law in laws for symbol in self.drawn_from(law)]
        return found[0] if len(found) == 1 else tuple(found)

    def array(self, name: str, values: Any, meaning: str, axes: Sequence[str] = ()) -> Stored:
        """An array of the problem for finite(): every file keeps it, and --problem replaces it."""
        self._new(name, meaning, "array")
        numbers = fixed(values, f"the array {name}")
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
        this number of points in each. The rule is exact for polynomials of degree 2 points - 1.

        Of normal data with more numbers, means of functions of up to four linear forms without a
        closed form take at least this number of points, if their rules can have as many."""
        if not 1 <= points <= LADDER[-1]:
            raise ModelError(f"quadrature() has {points} points; it takes 1 to {LADDER[-1]}")
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

    train_mean = mean

    def test_mean(self, value: Any) -> Symbol:
        """Mean of an expression of a sample over the test set of dataset()."""
        symbol = as_symbol(value)
        self._allowed(symbol, {"parameter", "weights", "data"}, "the mean")
        if self.table is None or not self.table.test:
            raise ModelError("test_mean() needs a test set: give the data as "
                             "dataset(inputs, labels, test=(inputs, labels))")
        found = Symbol("mean", (), symbol.shape, f"the test mean of {symbol.label}",
                       -1 - len(self.test_means))
        self.test_means.append((found, symbol))
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

    def sphere(self, weights: Symbol) -> None:
        """Keeps the norm of a vector of weights, or of each row of a matrix: weights move along the
        tangent, and sampled training and noise scale them back after each step."""
        field = self._field(weights, "sphere()")
        if weights.ndim not in (1, 2):
            what = "a single number, which would not move" if not weights.ndim else \
                told(weights.shape)
            raise ModelError(f"sphere() takes a vector, or a matrix of rows; {field.name} is "
                             f"{what}")
        if self.rates:
            raise ModelError("the model has equations, and takes no sphere()")

        def tangent(v: Symbol) -> Any:
            if weights.ndim == 1:
                return v - weights * ((weights @ v) / (weights @ weights))
            along = (weights * v).sum(axis=1) / (weights * weights).sum(axis=1)
            return v - weights * along.reshape(-1, 1)

        self._map(weights, tangent, True)
        self.spheres.append(weights)

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

    def overlap(self, one: Any, other: Any) -> Symbol:
        """The overlap w^T S v of rows of weights, where S is the covariance of the normal data."""
        w, v = as_symbol(one), as_symbol(other)
        laws = [law for law, _ in self.laws if law.kind == "normal" and law.size == v.shape[-1]]
        if len(laws) != 1:
            raise ModelError(f"overlap() needs one normal law of {v.shape[-1]} numbers; there are "
                             f"{len(laws)}")
        root = laws[0].root
        if root is None:
            return w @ v.T
        return (w * root) @ (v * root).T if root.ndim == 1 else (w @ root) @ (v @ root).T

    def overlaps(self) -> Model:
        """The same flow in the overlaps of the rows of weights: a few numbers, whatever the number
        of dimensions. Needs normal data whose covariance has few distinct eigenvalues. Noise and
        samples move the weights."""
        from .derive.overlaps import Reduction, training_state
        found = Model(self.name, f"{self.title}: overlaps", self.source)
        found.parameters = self.parameters
        Reduction(self, found, None)
        training_state(self, found)
        found.end, found.notes = self.end, list(self.notes)
        return found

    def high_dimension(self, noise: bool = False) -> Model:
        """The limit of one-pass SGD in many dimensions d at the learning rate gamma / d, in
        overlaps; time is the number of steps over d. Sampled training moves the weights at
        popflow's learning rate 1 / d, times gamma.

        With `noise`, there is no sampled training, and the SDE moves the overlaps by the noise of
        order 1 / sqrt(d) that SGD has: run it at the learning rate 1 / d, with `batch` as the batch
        size."""
        from .derive.overlaps import Reduction, training_state
        found = Model(self.name, f"{self.title}: limit of many dimensions", self.source)
        found.parameters = list(self.parameters)
        gamma = found.parameter("gamma", 1.0, "learning rate times the dimension", low=0)
        batch = found.parameter("batch", 1.0, "samples of a step", low=1)
        Reduction(self, found, (gamma, batch), noise)
        found.end, found.notes = self.end, list(self.notes)
        if noise:
            return found
        other = training_state(self, found)
        other.limit = "the flow is the limit of many dimensions d, at the learning rate 1 / d"
        for field in self.fields:
            other.precondition(field.symbol, lambda v: gamma * v)
        return found

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
        """The first time at which a scalar rises through zero, after it has been negative."""
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

    def note(self, text: str) -> None:
        """A note that is shown at the start of a run."""
        self.notes.append(text)

    # ---- Building.

    def build(self, check: bool = True, cache: bool = True) -> System:
        """Makes the plug-in, and runs the quick part of `popflow verify` unless check is False.

        A model that was built before is taken from the user's cache folder, already checked.
        """
        self.record_losses()
        self.require_complete()
        compiler = compilers.compiler()
        origin, surroundings = model_source(), (compiler.key(), compilers.digest_of_headers())
        folder = building.folder_of(key_of(self, origin, *surroundings))
        target = folder / f"{self.name}.so"
        marks = [target.with_suffix(".checked")]
        table = (self.other_state or self).table
        if table is not None:
            beside(table, folder)
        digest = building.built(target) if cache else None
        if digest is None:
            building.require_writable(folder)
            marks[0].unlink(missing_ok=True)
            self.require_finite()
            from .emit.generating import description_source, formulas_source, noise_of
            from .emit.source import source_of
            body, digest, reasons, has_error = source_of(self)
            description = description_of(self, has_error)
            for of, reason in zip((description, description.get("training", {})), reasons):
                if reason:
                    of["no_jacobian"] = reason
            provenance = {"hash": digest, "generated": body, "source": origin,
                          "compiler": compiler.version, "flags": " ".join(compiler.flags()),
                          "derived_by": f"CasADi {version('casadi')}", "noise": noise_of(self),
                          **(table.in_words() if table is not None else {})}
            source = formulas_source(body)
            key = building.digest_of(source, *surroundings, *machine())
            formulas = building.compiled(compiler, source, digest, key, anew=not cache)
            building.linked(compiler, target, formulas, description_source(description, provenance),
                            digest)
            # Checks hold for all plug-ins of the same formulas and description.
            marks.append(formulas.with_name(f"{building.digest_of(repr(description))}.checked"))
        if check and not (cache and any(mark.is_file() for mark in marks)):
            building.require_writable(folder)
            self.checked(System(target, self.name, digest),
                         None if table is None else CHECKED_WITHIN)
            for mark in marks:
                mark.touch()
        return System(target, self.name, digest)

    def checked(self, system: System, within: float | None) -> None:
        """Checks the plug-in with samples and finite differences, and prints one line. Checks that
        take longer than `within` seconds are left to `popflow verify`."""
        from ..commands import verify
        limits: dict[str, Any] = {} if within is None else {"within": within}
        result = verify(system, show=False, **limits)
        failed = [str(name) for name, verdict in zip(result.checks.check.values,
                                                     result.checks.verdict.values)
                  if verdict == "fails"]
        made = sum(1 for verdict in result.checks.verdict.values if verdict == "ok")
        if failed:
            raise ModelError(f"the model {self.name} does not hold what it declares "
                             f"({', '.join(failed)}):\n{result.table}")
        print(f"{self.name}: {made} checks hold (popflow verify {system.path})", file=sys.stderr)

    def record_losses(self) -> None:
        """Adds the mean loss over the test set, or the standard error of an estimated loss, to the
        observables."""
        loss, known = self.sample_loss, {row.name for row in self.observables}
        if self.stream_table is not None and loss is not None and \
                "loss_standard_error" not in known:
            variance = self.mean(loss * loss) - self.mean(loss) ** 2
            self.observable("loss_standard_error", np.sqrt(np.maximum(variance, 0.0)
                                                           / (self.stream_table.train - 1)),
                            f"standard error of the loss, estimated from {self.stream_table.train} "
                            "samples")
        if self.table is not None and self.table.test and loss is not None and \
                "test_loss" not in known:
            self.observable("test_loss", self.test_mean(loss), "loss of the test set")

    def require_complete(self) -> None:
        require_complete(self)

    def require_finite(self) -> None:
        require_finite(self)


def model_source() -> str:
    """Text of the file that defines the model: the nearest caller outside of this package."""
    package = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path = os.path.abspath(frame.f_code.co_filename)
        if not path.startswith(package) and os.path.isfile(path):
            return Path(path).read_text(errors="replace")
        frame = frame.f_back
    return ""
