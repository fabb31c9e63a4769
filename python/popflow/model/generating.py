"""The C++ source of a model's plug-in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ModelError
from .lowering import Lowering
from .printing import Printer, literal
from .symbols import as_symbol, in_order

if TYPE_CHECKING:
    from .definition import Model

# Above this many instructions of a sample's gradient, lanes gain nothing and take long to compile.
MOST_IN_LANES = 4000
MOST_IN_AVX512 = 400  # compiling for AVX-512 in addition to AVX2 takes half as long again
LARGEST_IN_LANES = 64  # entries of a state
MOST_IN_COVARIANCE = 256  # entries of a state
MOST_IN_JACOBIAN = 20_000  # instructions


def source_of(model: Model) -> tuple[str, str]:
    """The generated source, and its hash."""
    return Generator(model).source()


class Generator:
    """Derives what a model needs, and prints it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.lowering = Lowering()
        self.printer = Printer()
        ca = self.ca = self.lowering.ca
        self.p = ca.SX.sym("p", len(model.parameters))
        self.x = ca.SX.sym("x", model.entries)
        self.s = ca.SX.sym("s", model.inputs)
        self.losses = ca.SX.sym("l", 2)
        for i, row in enumerate(model.parameters):
            self.lowering.leaf(row.symbol, self.p[i])
        begin = 0
        for field in model.fields:
            self.lowering.leaf(field.symbol, self.x[begin:begin + field.symbol.size])
            begin += field.symbol.size
        begin = 0
        for symbol in model.base:
            self.lowering.leaf(symbol, self.s[begin:begin + symbol.size])
            begin += symbol.size
        self.lowering.data = self.s
        self.lowering.leaf(model.population, self.losses[0])
        self.lowering.leaf(model.initial_loss, self.losses[1])

    def column(self, symbols: Sequence[Any]) -> Any:
        """The entries of all symbols, one after the other."""
        columns = [self.lowering.entries(as_symbol(one)) for one in symbols]
        found = self.ca.vertcat(*columns) if columns else self.ca.SX(0, 1)
        return self.lowering.with_shifts([found])[0]

    def printed(self, name: str, arguments: str, out: Any) -> str:
        of = {"p": self.p, "x": self.x, "s": self.s, "l": self.losses}
        return self.printer.function(name, [(a, of[a]) for a in arguments.split()], out)

    def source(self) -> tuple[str, str]:
        model, ca = self.model, self.ca
        functions: list[str] = []

        def add(name: str, arguments: str, out: Any) -> None:
            functions.append(self.printed(name, arguments, out))

        add("start", "p", self.column([field.start for field in model.fields]))
        nodes, weights = model.nodes()
        if len(nodes):
            add("weights", "p", self.column([weights]))
        has_loss = model.has_loss
        jacobian = None
        if model.sample_loss is not None:
            loss = self.lowering.entries(model.sample_loss)
            gradient = ca.gradient(loss, self.x)
            add("sample", "p x s", self.lowering.with_shifts([ca.vertcat(-gradient, loss)])[0])
            if len(nodes):
                jacobian = self.lowering.with_shifts([-ca.jacobian(gradient, self.x)])[0]
        if not len(nodes):
            if has_loss:
                loss = self.lowering.entries(model.population_formula())
                gradient = ca.gradient(loss, self.x)
                column, rate = ca.vertcat(-gradient, loss), -gradient
            else:
                rate = ca.vertcat(*[self.lowering.entries(model.rates[id(field.symbol)])
                                    for field in model.fields])
                column = ca.vertcat(rate, 0)
            add("population", "p x", self.lowering.with_shifts([column])[0])
            jacobian = self.lowering.with_shifts([ca.jacobian(rate, self.x)])[0]
        add("observe", "p x l", self.column([one.symbol for one in
                                             [*model.observables, *model.invariants]]))
        add("event", "p x l", self.column([one.symbol for one in model.events]))
        add("constant", "p l", self.column([one.symbol for one in model.constants]))
        add("derive", "p x l", self.column([one.symbol for one in model.derived]))
        main = self.printer.instructions["sample" if len(nodes) else "population"]
        has_jacobian = False
        if jacobian is not None and model.entries <= MOST_IN_COVARIANCE:
            text = self.printed("jacobian", "p x s", ca.vec(ca.densify(jacobian).T))
            if self.printer.instructions["jacobian"] <= MOST_IN_JACOBIAN:
                has_jacobian = True
                functions.append(text)
        sampled = model.sample_loss is not None
        draws_nodes = sampled and model.is_finite
        in_packs = main <= MOST_IN_LANES
        # Formulas of lanes know the parameters of a problem, not its arrays.
        in_lanes = in_packs and model.entries <= LARGEST_IN_LANES and not model.arrays
        columns = model.columns_of_arrays()
        if sampled and not draws_nodes:
            functions.append(self.draw())
        flags = {"has_loss": has_loss, "is_sampled": sampled, "draws_nodes": draws_nodes,
                 "signed_weights": not draws_nodes,
                 "has_covariance": draws_nodes and model.entries <= MOST_IN_COVARIANCE,
                 "has_jacobian": has_jacobian, "has_lanes": in_lanes, "in_packs": in_packs,
                 "in_avx512": main <= MOST_IN_AVX512,
                 "observed_need_loss": self.need(model.observables + model.invariants),
                 "events_need_loss": self.need(model.events)}
        derived = np.cumsum([0, *(one.symbol.size for one in model.derived)])
        sizes = {"parameters": len(model.parameters), "entries": model.entries,
                 "inputs": model.inputs, "nodes": len(nodes),
                 "observed": len(model.observables) + len(model.invariants),
                 "events": len(model.events), "constants": len(model.constants),
                 "derived": int(derived[-1]), "arrays": len(columns)}
        values = ", ".join(float(value).hex() for value in np.ravel(nodes)) or "0"
        body = "".join(
            ["#include \"popflow/model.hpp\"\n\nnamespace {\n\nusing namespace popflow;\n"
             "using namespace popflow::model;\n\nstruct Formulas {\n"
             "  static const char* const description;\n",
             *(f"  static constexpr std::size_t {name} = {size};\n"
               for name, size in sizes.items()),
             *(f"  static constexpr bool {name} = {str(flag).lower()};\n"
               for name, flag in flags.items()),
             "  static constexpr std::size_t derived_begin[] = {"
             + ", ".join(map(str, derived)) + "};\n",
             *(f"  static constexpr std::size_t array_{name}[] = {{"
               + (", ".join(str(column[place]) for column in columns) or "0") + "};\n"
               for place, name in enumerate(("begin", "width"))),
             f"  static constexpr double node[] = {{{values}}};\n\n", *functions, "};\n"])
        digest = hashlib.sha256(body.encode()).hexdigest()[:32]
        return body, digest

    def need(self, items: Sequence[Any]) -> bool:
        return any(node is self.model.population
                   for node in in_order([one.symbol for one in items]))

    def draw(self) -> str:
        """Draws the numbers of a sample, law by law."""
        lines: list[str] = []
        begin = 0
        for law, symbols in self.model.laws:
            size = sum(symbol.size for symbol in symbols)
            if law.kind == "finite":
                raise ModelError("a product of a finite law and a continuous one needs "
                                 "population_loss, and cannot be sampled yet: draw the finite part "
                                 "by functions of uniform()")
            number = {"normal": "random.normal(random.stream)",
                      "uniform": f"{literal(law.low)} + {literal(law.high - law.low)} * "
                                 "random.uniform(random.stream)",
                      "rademacher": "(random.word(random.stream) >> 63) != 0 ? N(1.0) : N(-1.0)"}
            lines.append(f"for (std::size_t i = {begin}; i < {begin + size}; ++i) "
                         f"s[i] = {number[law.kind]};".replace("N(", "("))
            begin += size
        return ("  static void draw(const double*, const popflow_random& random, double* s) {\n"
                + "".join(f"    {line}\n" for line in lines) + "  }\n")


def whole_source(body: str, description: dict[str, Any], provenance: dict[str, str]) -> str:
    """The generated source with the description that it returns."""
    text = json.dumps({**description, "provenance": provenance})
    pieces = [text[i:i + 8000] for i in range(0, len(text), 8000)]
    literals = "\n    ".join(quoted(piece) for piece in pieces)
    return (f"{body}\nconst char* const Formulas::description =\n    {literals};\n\n"
            "}  // namespace\n\nextern \"C\" __attribute__((visibility(\"default\"))) const "
            "popflow_table* popflow_plugin() {\n  return &Functions<Formulas>::table();\n}\n")


def quoted(text: str) -> str:
    """A string literal of C."""
    printable = {ord('"'): '\\"', ord("\\"): "\\\\"}
    return '"' + "".join(printable.get(byte, chr(byte) if 32 <= byte < 127 and byte != ord("?")
                                       else f"\\{byte:03o}")
                         for byte in text.encode()) + '"'
