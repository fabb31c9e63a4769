"""The C++ source of a model's plug-in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..derive.reverse import Tidy, gradient, is_known
from ..parts import Parts
from ..symbols import Symbol, as_symbol, in_order
from .lowering import Lowering
from .matrices import LARGEST_BATCH, SHARED, Batch, operations
from .printing import CHUNK_OF_JACOBIAN, Printer, literal

# Above this many instructions of a sample's gradient, lanes gain nothing and take long to compile.
MOST_IN_LANES = 4000
MOST_IN_AVX512 = 400  # compiling for AVX-512 in addition to AVX2 takes half as long again
LARGEST_IN_LANES = 64  # entries of a state
MOST_IN_COVARIANCE = 256  # entries of a state
MOST_IN_COVARIANCE_OF_TABLE = 10**8  # samples times squared entries
# The Jacobian is left out where deriving or compiling it would take most of the build's time.
MOST_IN_JACOBIAN = 8000  # instructions
MOST_DERIVED = 1_000_000  # entries of the state times instructions of the rate
# Above this many operations of a sample's gradient, code keeps the formula's matrices. The second
# limit holds for models that lanes do not serve.
MOST_UNROLLED = MOST_IN_LANES
MOST_UNROLLED_WITHOUT_LANES = 500
# Formulas beside a batch's keep their matrices above this many operations and entries.
MOST_UNROLLED_BESIDE = 500
# Each part of a batch adds its gradient to those of other parts, which takes some passes over all
# entries. A part has so many samples that their formulas have this number of operations an entry.
PASSES_OF_PART = 12  # times the 16 samples of a pack
PARTS_OF_BATCH = 4  # least parts that a batch of the population has
LARGEST_BATCH_OF_TABLE = 262_144  # numbers of the working space, for samples in a file


@dataclass
class BatchCode:
    """Code of a batch of samples, its operations for each sample, and its packs of samples: those
    of a batch of the population, and the least of a part that a thread computes."""

    text: str
    operations: int
    packs: int
    part: int


class Generator:
    """Derives the formulas of a model, and prints them as C++."""

    def __init__(self, model: Parts) -> None:
        self.model = model
        self.lowering = Lowering()
        self.printer = Printer()
        self.no_jacobian = ""
        self.records_error = False  # whether quadrature_error is an observable
        ca = self.ca = self.lowering.ca
        self.p = ca.SX.sym("p", len(model.parameters))
        self.x = ca.SX.sym("x", model.entries)
        self.s = ca.SX.sym("s", model.inputs + 4 * model.uses_step)
        self.losses = ca.SX.sym("l", 2 + self.summed())
        self.v = ca.SX.sym("v", model.entries)
        self.t = ca.SX.sym("t", 1)
        for i, row in enumerate(model.parameters):
            self.lowering.leaf(row.symbol, self.p[i])
        begin = 0
        for field in model.fields:
            size = field.symbol.size
            self.lowering.leaf(field.symbol, self.x[begin:begin + size])
            for one in model.maps.get(id(field.symbol), []):
                self.lowering.leaf(one.direction, self.v[begin:begin + size])
            begin += size
        begin = 0
        for symbol in model.base:
            self.lowering.leaf(symbol, self.s[begin:begin + symbol.size])
            begin += symbol.size
        if model.uses_step:
            for place, symbol in enumerate((model.step, model.epoch, model.learning_rate,
                                            model.batch_size)):
                self.lowering.leaf(symbol, self.s[model.inputs + place])
        self.lowering.leaf(model.time, self.t)
        self.lowering.data = self.normal_numbers()
        self.lowering.leaf(model.population, self.losses[0])
        self.lowering.leaf(model.initial_loss, self.losses[1])
        begin = 2
        for found, value in [*model.means, *model.test_means]:
            if model.is_summed:
                self.lowering.leaf(found, self.losses[begin:begin + found.size])
                begin += found.size
            else:
                self.lowering.leaf(found, self.lowering.entries(model.mean_formula(value)))

    def summed(self) -> int:
        """Number of means that are sums over the nodes of the population, or over a test set."""
        return sum(found.size for found, _ in [*self.model.means, *self.model.test_means]) \
            if self.model.is_summed else 0

    def pointers(self) -> dict[int, str]:
        """Returns the arrays of the entries of leaves, by the leaves' ids, as matrices' code has
        them."""
        model = self.model
        found = {id(model.population): "l", id(model.initial_loss): "(l + 1)",
                 id(model.time): "t"}
        for name, symbols, unit in (
                ("p", [row.symbol for row in model.parameters], ""),
                ("x", [row.symbol for row in model.fields], ""),
                ("s", model.base, " * packs"),
                ("(l + 2)", [one for one, _ in [*model.means, *model.test_means]], "")):
            begin = 0
            for symbol in symbols:
                found[id(symbol)] = f"({name} + {begin}{unit})"
                begin += symbol.size
        begin = 0
        for field in model.fields:
            for one in model.maps.get(id(field.symbol), []):
                found[id(one.direction)] = f"(v + {begin})"
            begin += field.symbol.size
        return found

    def normal_numbers(self) -> Any:
        """Numbers of a sample that are no finite data, as a column."""
        begin, parts = 0, [self.ca.SX(0, 1)]
        for law, symbols in self.model.laws:
            size = sum(symbol.size for symbol in symbols)
            if law.kind != "finite":
                parts.append(self.s[begin:begin + size])
            begin += size
        return self.ca.vertcat(*parts)

    def moved(self, v: Any, projections_only: bool = False) -> Any:
        """Directions in which the weights move along v: preconditioned, then projected."""
        begin, parts = 0, []
        for field in self.model.fields:
            size = field.symbol.size
            part = v[begin:begin + size]
            for one in self.model.maps.get(id(field.symbol), []):
                if one.is_projection or not projections_only:
                    result = self.lowering.entries(one.result, "rate")
                    part = self.ca.substitute(result, self.v[begin:begin + size], part)
            parts.append(part)
            begin += size
        return self.ca.vertcat(*parts)

    def descent(self, formula: Symbol) -> Any:
        """The direction that descends a loss, and the loss."""
        loss = self.lowering.entries(formula, "loss")
        return self.ca.vertcat(self.moved(-self.ca.gradient(loss, self.x)), loss)

    def column(self, symbols: Sequence[Any]) -> Any:
        """The entries of all symbols, one after the other."""
        columns = [self.lowering.entries(as_symbol(one)) for one in symbols]
        return self.ca.vertcat(*columns) if columns else self.ca.SX(0, 1)

    def printed(self, name: str, arguments: str, out: Any, **limits: int) -> str:
        of = {"p": self.p, "x": self.x, "s": self.s, "l": self.losses, "v": self.v, "t": self.t}
        (finished,) = self.lowering.with_shifts([out])
        return self.printer.function(name, [(a, of[a]) for a in arguments.split()], finished,
                                     **limits)

    def struct(self, name: str) -> str:
        """The struct of the formulas, as model.hpp describes it."""
        model, ca = self.model, self.ca
        functions: list[str] = []

        def add(name: str, arguments: str, out: Any) -> None:
            functions.append(self.printed(name, arguments, out))

        def add_symbols(name: str, arguments: str, symbols: Sequence[Any]) -> None:
            symbols = [as_symbol(one) for one in symbols]
            in_loops = self.in_loops(name, arguments, symbols) if batch is not None else ""
            if in_loops:
                functions.append(in_loops)
            else:
                add(name, arguments, self.column(symbols))

        nodes, weights = model.nodes()
        drawn, chances = model.drawn()
        table = model.table if model.sample_loss is not None else None
        batch = self.batch(len(nodes))
        add_symbols("start", "p", [field.start for field in model.fields])
        if len(nodes) and table is None:
            add("weights", "p", self.column([weights]))
        if len(drawn):
            add("chances", "p", self.column([chances]))
        has_loss, sampled = model.has_loss, model.sample_loss is not None
        entries = slice(0, model.entries)
        rate = None
        if batch is not None:
            functions.append(batch.text)
        if model.sample_loss is not None and (batch is None or self.may_have_jacobian(batch)):
            column = self.descent(model.sample_loss)
            if batch is None:
                add("sample", "p x s", column)
            if model.has_means:
                column = self.descent(model.population_formula())
                add("mean", "p x s", column)
            rate = column[entries]
        if not len(nodes):
            if has_loss:
                column = self.descent(model.population_formula())
                rate = column[entries]
            else:
                rate = ca.vertcat(*[self.lowering.entries(model.rates[id(field.symbol)], "rate")
                                    for field in model.fields])
                column = ca.vertcat(rate, 0)
            add("population", "p x", column)
        observed = self.observed()
        add_symbols("observe", "p x l", observed)
        add_symbols("event", "p x l", [one.symbol for one in model.events])
        add_symbols("constant", "p l", [one.symbol for one in model.constants])
        add_symbols("derive", "p x l", [one.symbol for one in model.derived])
        if self.summed() and table is None:
            add("mean_of", "p x s", self.column([model.mean_formula(value)
                                                 for _, value in model.means]))
        if table is not None:
            functions += self.means_in_batches()
        self.add_others(add, add_symbols)
        sums_in_matrices = batch is not None and len(nodes) > 0
        main = batch.operations if batch is not None and sums_in_matrices else \
            self.printer.instructions["mean" if model.has_means else
                                      "sample" if len(nodes) else "population"]
        has_jacobian = self.add_jacobian(rate, main, functions)
        draws_nodes = sampled and model.draws_nodes(len(nodes))
        in_packs = main <= MOST_IN_LANES and not sums_in_matrices
        # Formulas of lanes know the parameters of a problem, not its arrays.
        in_lanes = (in_packs and model.entries <= LARGEST_IN_LANES and not model.arrays
                    and model.flow is None)
        columns = model.columns_of_arrays()
        places = model.places_in_arrays()
        if sampled and model.draws_numbers:
            functions.append(self.draw())
        flags = {"has_loss": has_loss, "is_sampled": sampled, "draws_nodes": draws_nodes,
                 "signed_weights": not draws_nodes,
                 "has_covariance": has_exact_covariance(model),
                 "has_jacobian": has_jacobian, "has_lanes": in_lanes, "in_packs": in_packs,
                 **({"in_matrices": True} if batch is not None else {}),
                 **({"is_stored": True, "weighted": table.weighted,
                     "is_estimated": table.estimates} if table is not None else {}),
                 "in_avx512": main <= MOST_IN_AVX512,
                 "observed_need_loss": self.need(model.observables + model.invariants),
                 "events_need_loss": self.need(model.events), **self.other_flags()}
        derived = np.cumsum([0, *(one.symbol.size for one in model.derived)])
        passing = np.cumsum([0, *(one.symbol.size for one in model.passages)])
        sizes = {"parameters": len(model.parameters), "entries": model.entries,
                 "inputs": model.inputs, "nodes": len(nodes),
                 "observed": len(observed),
                 "events": len(model.events), "constants": len(model.constants),
                 "derived": int(derived[-1]), "arrays": len(columns),
                 **({"places": len(places)} if places else {}), **self.other_sizes(),
                 **({"batch_packs": batch.packs, "part_packs": batch.part,
                     "operations": batch.operations} if batch is not None else {}),
                 **({"tested": table.test, "columns": table.columns}
                    if table is not None else {})}
        arrays: dict[str, Any] = {
            "derived_begin": derived, **({"passage_begin": passing} if model.passages else {}),
            **{f"array_{name}": [column[place] for column in columns] or [0]
               for place, name in enumerate(("begin", "width"))},
            **({f"place_{name}": [one[k] for one in places]
                for k, name in enumerate(("column", "count"), 1)} if places else {})}
        names = ", ".join(quoted(name) for name, _, _ in places)
        numbers: dict[str, Any] = {"node": nodes if table is None else (),
                                   **({"drawn_node": drawn} if len(drawn) else {})}
        if table is not None:
            functions.insert(0, f"  static constexpr const char* stored_name = "
                                f"{quoted(table.digest)};\n"
                                f"  static constexpr std::uint64_t checksum = {table.checksum}U;\n")
        return self.text(name, sizes, flags, arrays, names, numbers, functions)

    def text(self, name: str, sizes: dict[str, int], flags: dict[str, bool],
             arrays: dict[str, Any], names: str, numbers: dict[str, Any],
             functions: Sequence[str]) -> str:
        """The text of a struct of formulas."""
        return "".join(
            [f"struct {name} : Defaults {{\n  static const char* const description;\n",
             "  using Training = TrainingFormulas;\n" if self.model.other_state is not None else
             "",
             *(f"  static constexpr std::size_t {name} = {size};\n"
               for name, size in sizes.items()),
             *(f"  static constexpr bool {name} = {str(flag).lower()};\n"
               for name, flag in flags.items()),
             *(f"  static constexpr std::size_t {name}[] = {{{', '.join(map(str, values))}}};\n"
               for name, values in arrays.items()),
             f"  static constexpr const char* place_array[] = {{{names}}};\n" if names else "",
             *(f"  static constexpr double {name}[] = {{"
               + (", ".join(float(value).hex() for value in np.ravel(rows)) or "0") + "};\n"
               for name, rows in numbers.items()),
             "\n", *functions, "};\n"])

    def observed(self) -> list[Symbol]:
        """The observables and invariants."""
        return [*(row.symbol for row in self.model.observables),
                *([self.quadrature_error()] if self.records_error else []),
                *(row.symbol for row in self.model.invariants)]

    def quadrature_error(self) -> Symbol:
        return as_symbol(0.0)

    def in_loops(self, name: str, arguments: str, symbols: Sequence[Symbol]) -> str:
        """Prints a function that keeps its matrices, if it is large."""
        rules = self.lowering.rules["values"]
        roots = Tidy()([rules(one) for one in symbols])
        if operations(roots) + sum(one.size for one in roots) <= MOST_UNROLLED_BESIDE:
            return ""
        made, begin, outputs = Batch(self.pointers(), roots), 0, []
        for root in roots:
            outputs.append((root, "out", begin, "="))
            begin += root.size
        struct = f"{name.title().replace('_', '')}InLoops"
        given = arguments.split()
        return (made.function(struct, outputs) + f"  static void {name}("
                + ", ".join(f"const double* {one}" for one in given) + ", double* out) {\n"
                f"    in_loops<{struct}>("
                + ", ".join(one if one in given else "nullptr" for one in SHARED)
                + ", out);\n  }\n")

    def means_in_batches(self) -> list[str]:
        """Prints how a batch of samples adds to the means over the training and the test set."""
        found, begin = [], 0
        weight = Symbol("sample weight", (), (), "weight of the sample")
        for name, means in (("MeanBatch", self.model.means), ("TestBatch", self.model.test_means)):
            sums = [Symbol("batch sum", (weight * self.lowering.rules["values"](value),),
                           value.shape, "mean") for _, value in means]
            roots = Tidy()(sums)
            outputs = []
            for root in roots:
                outputs.append((root, "out", begin, "+="))
                begin += root.size
            if roots:
                found.append(Batch({**self.pointers(), id(weight): "q"}, roots).function(
                    name, outputs))
        return found

    def add_others(self, add: Any, add_symbols: Any) -> None:
        """Functions that most models lack."""
        model = self.model
        for name, rows in (("pass", model.passages), ("finish", model.finals),
                           ("outcome_holds", model.outcomes)):
            if rows:
                add_symbols(name, "p x l", [row.symbol for row in rows])
        if model.solutions:
            add_symbols("solve", "p t", [model.solutions[id(field.symbol)]
                                         for field in model.fields])
        if model.noise_factor is not None:
            add("noise", "p x", self.column([model.noise_factor]))
        if model.noise_covariance is not None:
            add("noise", "p x", self.column([model.noise_covariance]))
        if model.maps:
            add("precondition", "p x v", self.moved(self.v))
        if self.projects():
            add("project", "p x v", self.moved(self.v, projections_only=True))

    def projects(self) -> bool:
        return any(one.is_projection for maps in self.model.maps.values() for one in maps)

    def other_flags(self) -> dict[str, bool]:
        model = self.model
        using_means = {"observed": model.observables + model.invariants, "events": model.events,
                       "passages": model.passages, "ends": model.finals + model.outcomes,
                       "derived": model.derived}
        return {name: True for name, flag in {
            "has_noise": model.noise_factor is not None or model.noise_covariance is not None,
            "has_solution": bool(model.solutions), "has_precondition": bool(model.maps),
            "has_projection": self.projects(), "passages_need_loss": self.need(model.passages),
            "ends_need_loss": self.need(model.finals + model.outcomes),
            **{f"{name}_need_means": self.summed() > 0 and self.need(items, "mean")
               for name, items in using_means.items()},
            "draws_numbers": model.sample_loss is not None and model.draws_numbers,
            "uses_step": model.uses_step, "has_means": model.has_means}.items() if flag} | (
            {} if self.need(model.derived) or not model.derived else {"derived_need_loss": False})

    def other_sizes(self) -> dict[str, int]:
        model = self.model
        factor, drawn = model.noise_factor, len(model.drawn()[0])
        return {name: size for name, size in {
            "means": self.summed(), "passing": sum(one.symbol.size for one in model.passages),
            "finals": len(model.finals), "outcomes": len(model.outcomes),
            "noise_columns": factor.shape[1] if factor is not None else 0, "drawn": drawn,
            "chosen": (drawn or len(model.nodes()[0])) if model.in_epochs else 0}.items() if size}

    def add_jacobian(self, rate: Any, operations: int, functions: list[str]) -> bool:
        """Adds the Jacobian of a rate with this number of operations, unless the Jacobian would
        take most of the build's time."""
        ca, entries = self.ca, self.model.entries
        if entries > MOST_IN_COVARIANCE or (rate is None and entries * operations <= MOST_DERIVED):
            self.no_jacobian = (f"the model's Jacobian has {entries} x {entries} entries; models "
                                f"have one for up to {MOST_IN_COVARIANCE} weights")
            return False
        if entries * operations > MOST_DERIVED:
            self.no_jacobian = (f"the model's Jacobian, {entries} derivatives of {operations} "
                                "operations, takes too long to derive")
            return False
        jacobian = ca.jacobian(rate, self.x)
        text = self.printed("jacobian", "p x s", ca.vec(ca.densify(jacobian).T),
                            most=MOST_IN_JACOBIAN, chunk=CHUNK_OF_JACOBIAN)
        count = self.printer.instructions["jacobian"]
        if count > MOST_IN_JACOBIAN:
            self.no_jacobian = (f"the model's Jacobian has {count} operations, which take too long "
                                f"to compile; models have one of up to {MOST_IN_JACOBIAN}")
            return False
        functions.append(text)
        return True

    def batch(self, nodes: int) -> BatchCode | None:
        """Code of a batch of samples that keeps matrices, if the gradient of a sample is large."""
        model = self.model
        if model.sample_loss is None or model.has_means or (model.maps and model.table is None):
            return None
        sample_loss = self.lowering.rules["loss"](model.sample_loss)
        if not is_known(sample_loss):
            return None
        weight = Symbol("sample weight", (), (), "weight of the sample")
        fields = [row.symbol for row in model.fields]
        loss, slopes = gradient(sample_loss, fields, weight)
        count = operations([loss, *slopes])
        has_lanes = model.entries <= LARGEST_IN_LANES and not model.arrays
        most = 0 if model.table is not None else MOST_UNROLLED if has_lanes else \
            MOST_UNROLLED_WITHOUT_LANES
        if count <= most:
            return None
        begins = np.cumsum([0, *(one.size for one in fields)])
        made = Batch({**self.pointers(), id(weight): "q"}, [loss, *slopes])
        outputs = [(slope, "out", int(begin), "-=") for slope, begin in zip(slopes, begins)]
        text = made.function("Batch", [*outputs, (loss, "loss", 0, "+=")])
        part = max(1, -(-PASSES_OF_PART * model.entries // count))
        return BatchCode(text, count, made.packs(
            nodes, LARGEST_BATCH if model.table is None else LARGEST_BATCH_OF_TABLE,
            PARTS_OF_BATCH * part), part)

    def may_have_jacobian(self, batch: BatchCode) -> bool:
        entries = self.model.entries
        return entries <= MOST_IN_COVARIANCE and entries * batch.operations <= MOST_DERIVED

    def need(self, items: Sequence[Any], op: str = "population") -> bool:
        """Returns whether items use the population loss, or a mean (op "mean")."""
        return any(node.op == op for node in in_order([one.symbol for one in items]))

    def draw(self) -> str:
        """Prints how the numbers of a sample outside of finite data are drawn, law by law."""
        lines: list[str] = []
        begin = 0
        for law, symbols in self.model.laws:
            size = sum(symbol.size for symbol in symbols)
            if law.kind == "finite":
                begin += size
                continue
            number = {"normal": "random.normal(random.stream)",
                      "uniform": f"{literal(law.low)} + {literal(law.high - law.low)} * "
                                 "random.uniform(random.stream)",
                      "rademacher": "(random.word(random.stream) >> 63) != 0 ? N(1.0) : N(-1.0)"}
            lines.append(f"for (std::size_t i = {begin}; i < {begin + size}; ++i) "
                         f"s[i] = {number[law.kind]};".replace("N(", "("))
            begin += size
        return ("  static void draw(const double*, const popflow_random& random, double* s) {\n"
                + "".join(f"    {line}\n" for line in lines) + "  }\n")


def has_exact_covariance(model: Parts) -> bool:
    return (model.sample_loss is not None and model.is_finite and not model.uses_step
            and model.entries <= MOST_IN_COVARIANCE and model.stream_table is None
            and (model.table is None
                 or model.table.train * model.entries**2 <= MOST_IN_COVARIANCE_OF_TABLE))


def noise_of(model: Parts) -> str:
    """Says, for result files, whether the noise of an SDE is exact."""
    trained = model.other_state or model
    if has_exact_covariance(trained):
        return "exact: the covariance of a sample is a sum over the finite data"
    if trained.sample_loss is not None:
        return "estimated from sampled gradients (--noise-samples)"
    has_noise = trained.noise_factor is not None or trained.noise_covariance is not None
    return "given by the model's equations" if has_noise else ""


def formulas_source(body: str) -> str:
    """The source of a plug-in but for its description."""
    return (f"extern \"C\" const char popflow_description[];\n{body}\n"
            "const char* const Formulas::description = popflow_description;\n\n"
            "}  // namespace\n\nextern \"C\" __attribute__((visibility(\"default\"))) const "
            "popflow_table* popflow_plugin() {\n  return &Functions<Formulas>::table();\n}\n")


def description_source(description: dict[str, Any], provenance: dict[str, str]) -> str:
    """The source of a plug-in's description."""
    text = json.dumps({**description, "provenance": provenance})
    pieces = [text[i:i + 8000] for i in range(0, len(text), 8000)]
    literals = "\n    ".join(quoted(piece) for piece in pieces)
    return (f"extern \"C\" const char popflow_description[];\n"
            f"const char popflow_description[] =\n    {literals};\n")


def quoted(text: str) -> str:
    """A string literal of C."""
    printable = {ord('"'): '\\"', ord("\\"): "\\\\"}
    return '"' + "".join(printable.get(byte, chr(byte) if 32 <= byte < 127 and byte != ord("?")
                                       else f"\\{byte:03o}")
                         for byte in text.encode()) + '"'
