"""C++ templates over the number, printed from CasADi's list of instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from .lowering import casadi

# Instructions of a function: compilers take far longer for one long function. Jacobians are called
# seldom, so that fast compiling matters more for them.
CHUNK, CHUNK_OF_JACOBIAN = 200, 100
INLINE = 40  # instructions of a function that is compiled into its callers

# Format of a statement, by CasADi's name of its operation.
BINARY = {"ADD": "{0} + {1}", "SUB": "{0} - {1}", "MUL": "{0} * {1}", "DIV": "{0} / {1}",
          "POW": "power({0}, {1})", "CONSTPOW": "power({0}, {1})",
          "LT": "truth<N>({0} < {1})", "LE": "truth<N>({0} <= {1})",
          "EQ": "truth<N>({0} == {1})", "NE": "truth<N>({0} != {1})",
          "AND": "truth<N>({0} != N(0.0) && {1} != N(0.0))",
          "OR": "truth<N>({0} != N(0.0) || {1} != N(0.0))",
          "IF_ELSE_ZERO": "math::select({0} != N(0.0), {1}, N(0.0))",
          "FMIN": "least({0}, {1})", "FMAX": "largest({0}, {1})",
          "HYPOT": "hypotenuse({0}, {1})", "FMOD": "rest({0}, {1})"}
UNARY = {"ASSIGN": "{0}", "NEG": "-{0}", "EXP": "math::exp({0})", "LOG": "math::log({0})",
         "SQRT": "math::sqrt({0})", "SQ": "{0} * {0}", "TWICE": "{0} + {0}",
         "INV": "N(1.0) / {0}", "SIN": "sine({0})", "COS": "cosine({0})",
         "ASIN": "arc_sine({0})", "ACOS": "arc_cosine({0})", "ATAN": "arc_tangent({0})",
         "SINH": "hyperbolic_sine({0})", "COSH": "hyperbolic_cosine({0})",
         "TANH": "math::tanh({0})", "ASINH": "area_hyperbolic_sine({0})",
         "NOT": "truth<N>({0} == N(0.0))", "FLOOR": "round_down({0})", "CEIL": "round_up({0})",
         "FABS": "math::abs({0})", "SIGN": "sign({0})", "ERF": "math::erf({0})",
         "LOG1P": "math::log1p({0})", "EXPM1": "math::expm1({0})"}


def literal(value: float) -> str:
    """A number in C++, to the last digit."""
    if not np.isfinite(value):
        raise ModelError(f"the model has the constant {value}; constants must be finite")
    return f"N({float(value).hex()})" if value != int(value) or abs(value) > 1e15 \
        else f"N({int(value)}.0)"


class Printer:
    """Prints functions; counts their instructions."""

    def __init__(self) -> None:
        self.ca = casadi()
        self.names = {getattr(self.ca, name): name[3:] for name in dir(self.ca)
                      if name.startswith("OP_")}
        self.instructions: dict[str, int] = {}

    def function(self, name: str, arguments: Sequence[tuple[str, Any]], out: Any,
                 most: float = float("inf"), chunk: int = CHUNK) -> str:
        """A static template `name(const N* ARGUMENT ..., N* out)` that writes the column `out`; no
        text if that takes more than `most` instructions."""
        ca = self.ca
        (out,) = ca.cse([ca.densify(out)])
        of = ca.Function("f", [symbols for _, symbols in arguments], [out])
        count = sum(of.instruction_id(k) not in (ca.OP_CONST, ca.OP_INPUT)
                    for k in range(of.n_instructions()))
        self.instructions[name] = count
        if count > most:
            return ""
        parameters = ", ".join([*(f"[[maybe_unused]] const N* {given}" for given, _ in arguments),
                                "[[maybe_unused]] N* out"])
        call = ", ".join([*(given for given, _ in arguments), "out"])
        chunks, slots = self.chunks(of, [given for given, _ in arguments], chunk)
        if len(chunks) == 1 and count <= INLINE:
            return (f"  template <class N>\n  static POPFLOW_MATH_INLINE void {name}({parameters}) "
                    "{\n" + "".join(f"    {line}\n" for line in chunks[0]) + "  }\n")
        text = ""
        for number, lines in enumerate(chunks):
            text += (f"  struct {name}_{number} {{\n    template <class N>\n"
                     f"    static POPFLOW_MATH_INLINE void compute({parameters}, "
                     "[[maybe_unused]] N* w) {\n"
                     + "".join(f"      {line}\n" for line in lines) + "    }\n  };\n")
        calls = "".join(f"    isolated<{name}_{number}>({call}, w);\n"
                        for number in range(len(chunks)))
        return (text + f"  template <class N>\n  static POPFLOW_MATH_INLINE void {name}"
                f"({parameters}) {{\n    N w[{max(slots, 1)}];\n{calls}  }}\n")

    def chunks(self, of: Any, arguments: Sequence[str],
               size: int) -> tuple[list[list[str]], int]:
        """Statements in chunks; the size of the array that carries values between chunks."""
        steps = self.steps(of, arguments)
        last_use: dict[int, int] = {}
        for place, (_, _, used) in enumerate(steps):
            for value in used:
                last_use[value] = place
        chunks: list[list[str]] = []
        stored: dict[int, int] = {}  # value -> its place in w
        free: list[int] = []
        slots = 0
        for begin in range(0, max(len(steps), 1), size):
            end = min(begin + size, len(steps))
            lines: list[str] = []
            loaded: set[int] = set()
            for made, text, used in steps[begin:end]:
                for value in used:
                    if value in stored and value not in loaded:
                        lines.append(f"const N t{value} = w[{stored[value]}];")
                        loaded.add(value)
                if made is None:
                    lines.append(f"{text};")
                    continue
                lines.append(f"const N t{made} = {text};")
                loaded.add(made)
                if last_use.get(made, -1) >= end:
                    if not free:
                        free.append(slots)
                        slots += 1
                    stored[made] = free.pop()
                    lines.append(f"w[{stored[made]}] = t{made};")
            for value in [value for value in stored if last_use[value] < end]:
                free.append(stored.pop(value))
            chunks.append(lines)
        return chunks, slots

    def steps(self, of: Any, arguments: Sequence[str]) -> list[tuple[int | None, str, list[int]]]:
        """Statements in static single assignment: the value made, its expression, values used."""
        ca = self.ca
        held: dict[int, str] = {}  # place in CasADi's working memory -> text
        steps: list[tuple[int | None, str, list[int]]] = []

        def used(*texts: str) -> list[int]:
            return [int(text[1:]) for text in texts if text.startswith("t") and text[1:].isdigit()]

        for k in range(of.n_instructions()):
            operation = of.instruction_id(k)
            into, given = of.instruction_output(k), of.instruction_input(k)
            if operation == ca.OP_CONST:
                held[into[0]] = literal(of.instruction_constant(k))
            elif operation == ca.OP_INPUT:
                held[into[0]] = f"{arguments[given[0]]}[{given[1]}]"
            elif operation == ca.OP_OUTPUT:
                text = held[given[0]]
                steps.append((None, f"out[{into[1]}] = {text}", used(text)))
            else:
                name = self.names[operation]
                texts = [held[place] for place in given]
                form = UNARY.get(name) or BINARY.get(name)
                if form is None:
                    raise ModelError(f"models have no operation {name.lower()}")
                number = len(steps)
                steps.append((number, form.format(*texts), used(*texts)))
                held[into[0]] = f"t{number}"
        return steps
