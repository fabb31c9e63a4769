"""C++ of formulas that keep their arrays, for one state at a time: models of normal data that are
seen through few linear forms (derive/forms.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..derive.forms import replaced
from ..derive.reverse import gradient, is_known
from ..derive.rules import Rules
from ..derive.small import Small, small_formulas
from ..errors import ModelError
from ..parts import Parts
from ..symbols import Symbol, as_symbol, evaluated, joined, taken
from .generating import Generator
from .hermite import Call, Integrals
from .lowering import Lowering
from .matrices import Batch, Room, sizes_of_product
from .moments import Formula, Moments, array_of
from .printing import Printer

NO_JACOBIAN = "models of normal data seen through linear forms have no Jacobian"


class Whole(Batch):
    """Prints a function of arrays in double precision."""

    def added(self, node: Symbol) -> None:
        if node.op != "small":
            super().added(node)
            return
        (inputs,) = node.args  # a join, which has an array of its own
        name = self.store(node)
        self.step(node, f"{node.value}({self.pointer(inputs)}, {name});", [inputs], False)

    def multiplied(self, node: Symbol) -> None:
        count, m, k, n = sizes_of_product(node)
        one = self.strided(node.args[0], (count, m, k))
        other = self.strided(node.args[1], (count, k, n))
        (_, ra, ca), (_, rb, cb) = one.strides, other.strides
        name = self.store(node)
        each, out = (f"for (std::size_t h = 0; h < {count}; ++h) ", f"{name} + h * {m * n}") \
            if count > 1 else ("", name)
        self.step(node, f"{each}dense::multiply({m}, {k}, {n}, {{{one.at(count)}, {ra}, {ca}}}, "
                  f"{{{other.at(count)}, {rb}, {cb}}}, {out});", [one.source, other.source], False)

    def whole(self, name: str, arguments: str) -> str:
        """The function, after its steps were made."""
        last = {id(symbol): place for place, step in enumerate(self.steps)
                for symbol in [step.made, *step.read]}
        room, lines, declared = Room(), [], set()
        for place, step in enumerate(self.steps):
            own = self.stored.get(id(step.made))
            if own is not None and own not in declared:
                declared.add(own)
                begin = room.take(id(step.made), -(-step.made.size // 16))
                lines.append(f"double* const {own} = space.data()[{begin}].lane;")
            lines.append(step.text)
            for symbol in [step.made, *step.read]:
                if last[id(symbol)] == place:
                    room.give(id(symbol))
        given = ", ".join([*(f"[[maybe_unused]] const double* {one}" for one in arguments.split()),
                           "[[maybe_unused]] double* out"])
        space = "" if not declared else (
            "    thread_local std::vector<Row> space;\n"
            f"    if (space.size() < {room.size}) space.resize({room.size});\n")
        return (f"  static void {name}({given}) {{\n" + "".join(self.constants) + space
                + "".join(f"    {line}\n" for line in lines) + "  }\n")


class WholeGenerator(Generator):
    """Derives the formulas of a model of forms, and prints them."""

    def __init__(self, model: Parts) -> None:
        self.model = model
        self.lowering = Lowering()
        self.printer = Printer()
        self.no_jacobian = NO_JACOBIAN
        self.functions: list[str] = []
        self.integrals = Integrals(self.lowering.ca, model.points or 0)
        self.known: dict[int, Any] = {}  # parameters and weights at the start
        self.records_error = False
        self.changes: list[Symbol] = []  # of means by rules, when the points are doubled
        self.leaves: dict[int, str] = {}
        self.data: dict[int, Symbol] = {}  # a sample's numbers, as symbols without samples
        for i, row in enumerate(model.parameters):
            self.leaves[id(row.symbol)] = f"(p + {i})"
        begin = 0
        for field in model.fields:
            self.leaves[id(field.symbol)] = f"(x + {begin})"
            begin += field.symbol.size
        begin = 0
        for symbol in model.base:
            number = Symbol("number", (), symbol.shape, symbol.label, symbol.value)
            self.data[id(symbol)] = number
            self.leaves[id(number)] = f"(s + {begin})"
            begin += symbol.size
        self.leaves[id(model.population)] = "(l + 0)"
        self.leaves[id(model.initial_loss)] = "(l + 1)"
        self.leaves[id(model.time)] = "t"
        self.means: dict[int, Symbol] = {}

    # ---- Means over the data.

    def mean(self, values: Sequence[Symbol], has_slopes: bool) -> Small:
        """Prints the means of scalars of a sample."""
        forms, formulas, share = small_formulas(self.model, values)
        return self.printed_mean(Small(forms, formulas, share, f"mean_{len(self.functions)}",
                                       has_slopes))

    def printed_mean(self, small: Small) -> Small:
        """Prints the function of a small formula's means."""
        ca, forms = self.lowering.ca, small.forms
        size, begin = small.inputs.size, small.begin
        given = ca.SX.sym("s", size)
        count = sum(block.leaf.size for block in forms.blocks)
        covariance = ca.SX(count, count)
        for (i, j), value in [*small.numbers.items(), *((pair, given[place])
                                                        for pair, place in small.places.items())]:
            if i <= j:
                covariance[i, j] = covariance[j, i] = value
        moments = Moments(self.lowering, [ca.SX(0)] * count, covariance, self.integrals,
                          self.printer)
        leaves: dict[int, Any] = {}
        first = 0
        for block in forms.blocks:
            moments.names.update({first + i: block.leaf.label + f"[{i}]" * (block.leaf.ndim > 0)
                                  for i in range(block.leaf.size)})
            leaves[id(block.leaf)] = array_of(
                [Formula({(moments.atom("z", first + i),): ca.SX(1)}, block.leaf.label)
                 for i in range(block.leaf.size)], block.leaf.shape)
            first += block.leaf.size
        for free, leaf in forms.inputs:
            leaves[id(leaf)] = array_of([Formula({(): given[begin + i]}, leaf.label)
                                         for i in range(leaf.size)], leaf.shape)
            begin += free.size
        chances = [one.terms[()] for one in moments.expanded(small.share, leaves)]
        found = [sum((chance * moments.mean(moments.expanded(formulas[k], leaves)[0])
                      for chance, formulas in zip(chances, small.formulas)), ca.SX(0))
                 for k in range(small.count)]
        out = ca.vertcat(*found)
        if small.has_slopes:
            out = ca.vertcat(out, moments.gradient(found[0], given))
        out = moments.with_kernels(out)
        if moments.calls:
            self.add_calls(small, moments.calls, given, out)
        else:
            self.functions.append(self.printer.function(small.name, [("s", given)], out))
        return small

    def add_calls(self, small: Small, calls: Sequence[Call], given: Any, out: Any) -> None:
        """Prints the function of a small formula whose means need rules, and chooses their
        points."""
        ca, name = self.lowering.ca, small.name
        order = {one.name: place for place, one in enumerate(self.integrals.integrands.values())}
        calls = sorted(calls, key=lambda call: order[call.integrand.name])
        arguments = ca.vertcat(*[one for call in calls for one in call.arguments])
        (inputs,) = evaluated([small.inputs], self.start())
        numbers = np.asarray(ca.Function("a", [given], [ca.densify(arguments)])(inputs)).ravel()
        ends = np.cumsum([call.integrand.arguments for call in calls])
        self.integrals.choose(calls, np.split(numbers, ends[:-1]))
        self.functions += [
            self.printer.function(f"{name}_given", [("s", given)], arguments),
            self.printer.function(f"{name}_of", [("s", given), (
                "r", ca.vertcat(*[call.results for call in calls]))], out),
            self.integrals.mean_code(name, calls, small.result.size)]
        self.changes.append(Symbol("small", (small.inputs,), (1,), "change", f"{name}_change"))

    def start(self) -> dict[int, Any]:
        """The parameters' defaults and the weights' start, by their symbols' ids."""
        if not self.known:
            self.known.update({id(row.symbol): row.default for row in self.model.parameters})
            for field in self.model.fields:
                assert field.start is not None
                (self.known[id(field.symbol)],) = evaluated([field.start], self.known)
        return self.known

    def descent(self) -> list[Symbol]:  # type: ignore[override]
        """The direction that descends the population loss, and the loss."""
        model = self.model
        assert model.sample_loss is not None
        mean = self.mean([model.sample_loss], True)
        slopes = mean.derivatives([row.symbol for row in model.fields])
        return [*self.moved([-one for one in slopes]), mean.result[0]]

    def moved(self, directions: Any, projections_only: bool = False) -> list[Symbol]:
        """Directions in which the weights move: preconditioned, then projected."""
        found = []
        for field, part in zip(self.model.fields, directions):
            for one in self.model.maps.get(id(field.symbol), []):
                if projections_only and not one.is_projection:
                    continue
                (part,) = replaced([Rules("rate")(one.result)], {id(one.direction): part})
            found.append(part)
        return found

    def of_sample(self) -> list[Symbol]:
        """The direction of a sample, and its loss."""
        model = self.model
        assert model.sample_loss is not None
        loss = Rules("loss")(model.sample_loss)
        if not is_known(loss):
            raise ModelError("the loss has an operation without a derivative for models of normal "
                             "data seen through linear forms")
        (loss,) = replaced([loss], self.data)
        value, slopes = gradient(loss, [row.symbol for row in model.fields], as_symbol(1.0))
        return [*self.moved([-one for one in slopes]), value]

    # ---- Functions.

    def add(self, name: str, arguments: str, roots: Sequence[Any], use: str = "values") -> None:
        """Prints a function that writes formulas, one after the other; a use of "" stands for
        formulas that are as they should be."""
        symbols = replaced([as_symbol(root) for root in roots], self.means)
        if use:
            rules = Rules(use)
            symbols = [rules(one) for one in symbols]
        code = Whole(self.leaves, symbols)
        outputs, begin = [], 0
        for symbol in symbols:
            outputs.append((symbol, "out", begin, "="))
            begin += symbol.size
        code.fill(outputs)
        self.functions.append(code.whole(name, arguments))

    def struct(self, name: str) -> str:
        model = self.model
        for found, value in model.means:
            of = value.reshape(-1)
            mean = self.mean([of[k] for k in range(value.size)], False)
            self.means[id(found)] = taken(mean.result, np.arange(value.size).reshape(value.shape),
                                          found.label)
        self.add("start", "p", [field.start for field in model.fields])
        drawn, chances = model.drawn()
        if len(drawn):
            self.add("chances", "p", [chances])
        if model.sample_loss is not None:
            self.add("sample", "p x s", self.of_sample(), "")
            self.add("population", "p x", self.descent(), "")
            self.functions.append(self.draw())
        else:
            for small in model.smalls:
                self.printed_mean(small)
            self.add("population", "p x", [*(model.rates[id(field.symbol)]
                                             for field in model.fields), 0.0], "rate")
        self.records_error = self.records_error or bool(self.changes)
        observed = self.observed()
        self.add("observe", "p x l", observed)
        for what, arguments, rows in (
                ("event", "p x l", model.events), ("constant", "p l", model.constants),
                ("derive", "p x l", model.derived), ("pass", "p x l", model.passages),
                ("finish", "p x l", model.finals), ("outcome_holds", "p x l", model.outcomes)):
            self.add(what, arguments, [row.symbol for row in rows])
        if model.solutions:
            self.add("solve", "p t", [model.solutions[id(field.symbol)] for field in model.fields])
        for noise in (model.noise_factor, model.noise_covariance):
            if noise is not None:
                self.add("noise", "p x", [noise])
        if model.maps:
            directions = [Symbol("number", (), field.symbol.shape, "v") for field in model.fields]
            begins = np.cumsum([0, *(one.size for one in directions)])
            for one, begin in zip(directions, begins):
                self.leaves[id(one)] = f"(v + {begin})"
            self.add("precondition", "p x v", self.moved(directions), "")
            if self.projects():
                self.add("project", "p x v", self.moved(directions, projections_only=True), "")
        flags = {"has_loss": model.has_loss, "is_sampled": model.sample_loss is not None,
                 "draws_nodes": False, "signed_weights": True, "has_covariance": False,
                 "has_jacobian": False, "has_lanes": False, "in_packs": False, "in_avx512": False,
                 "observed_need_loss": self.need(model.observables + model.invariants),
                 "events_need_loss": self.need(model.events), **self.other_flags()}
        derived = np.cumsum([0, *(one.symbol.size for one in model.derived)])
        passing = np.cumsum([0, *(one.symbol.size for one in model.passages)])
        sizes = {"parameters": len(model.parameters), "entries": model.entries,
                 "inputs": model.inputs, "nodes": 0,
                 "observed": len(observed),
                 "events": len(model.events), "constants": len(model.constants),
                 "derived": int(derived[-1]), "arrays": 0, **self.other_sizes()}
        arrays = {"derived_begin": derived, "array_begin": [0], "array_width": [0],
                  **({"passage_begin": passing} if model.passages else {})}
        numbers = {"node": np.zeros((0, 1)), **({"drawn_node": drawn} if len(drawn) else {})}
        functions = [self.integrals.tables(), *self.integrals.functions, *self.functions]
        return self.text(name, sizes, flags, arrays, "", numbers, functions)

    def quadrature_error(self) -> Symbol:
        """The largest change of a mean when the points of rules are doubled."""
        if not self.changes:
            return as_symbol(0.0)
        return np.max(joined(self.changes, (len(self.changes),), "changes"))
