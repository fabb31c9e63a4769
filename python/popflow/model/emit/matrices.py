"""C++ for batches of samples that keeps a formula's matrices, as loops over rows of packs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..derive.reverse import depends_on_samples
from ..errors import ModelError
from ..symbols import Symbol, in_order
from .printing import BINARY, UNARY, literal

# Symbols' operations entry by entry, as C++ prints them.
ENTRYWISE = {
    "+": BINARY["ADD"], "-": BINARY["SUB"], "*": BINARY["MUL"], "/": BINARY["DIV"],
    "**": BINARY["POW"], "<": BINARY["LT"], "<=": BINARY["LE"], ">": "truth<N>({0} > {1})",
    ">=": "truth<N>({0} >= {1})", "==": BINARY["EQ"], "!=": BINARY["NE"], "and": BINARY["AND"],
    "or": BINARY["OR"], "hypot": BINARY["HYPOT"], "fmod": BINARY["FMOD"],
    "minimum": BINARY["FMIN"], "maximum": BINARY["FMAX"],
    "where": "math::select({0} != N(0.0), {1}, {2})", "neg": UNARY["NEG"], "exp": UNARY["EXP"],
    "expm1": UNARY["EXPM1"], "log": UNARY["LOG"], "log1p": UNARY["LOG1P"], "sqrt": UNARY["SQRT"],
    "abs": UNARY["FABS"], "sign": UNARY["SIGN"], "sin": UNARY["SIN"], "cos": UNARY["COS"],
    "arcsin": UNARY["ASIN"], "arccos": UNARY["ACOS"], "arctan": UNARY["ATAN"],
    "sinh": UNARY["SINH"], "cosh": UNARY["COSH"], "tanh": UNARY["TANH"],
    "arcsinh": UNARY["ASINH"], "floor": UNARY["FLOOR"], "ceil": UNARY["CEIL"], "erf": UNARY["ERF"]}
REDUCTIONS = {"sum": "sum += {0};", "top": "sum = k == 0 ? {0} : math::max(sum, {0});",
              "max": "sum = k == 0 ? {0} : math::max(sum, {0});",
              "batch sum": "sum += {0};"}
LARGEST_BATCH = 32_768  # numbers of the working space, where the population is larger


def operations(roots: Sequence[Symbol]) -> int:
    """Returns the number of scalar operations that unrolled code of the formulas would have."""
    count = 0
    for node in in_order(roots):
        if node.op == "matmul":
            count += 2 * node.size * node.args[0].shape[-1]
        elif node.op == "contract":
            count += 2 * node.size * node.args[0].shape[-1]
        elif node.op in REDUCTIONS or node.op == "rows added":
            count += node.args[-1].size
        elif node.op in ENTRYWISE or node.op == "rows":
            count += node.size
    return count


@dataclass
class Step:
    """Statements that compute a symbol, and the symbols whose arrays they read."""

    made: Symbol
    text: str
    read: list[Symbol] = field(default_factory=list)


@dataclass
class Operand:
    """A list of matrices in the array of a symbol: the text of its pointer, and the strides of a
    matrix, a row and a column."""

    source: Symbol
    pointer: str
    strides: tuple[int, ...]
    is_sampled: bool

    def at(self, count: int) -> str:
        """The pointer to matrix h of a list of `count`."""
        if count == 1 or self.strides[0] == 0:
            return self.pointer
        return f"{self.pointer} + h * {self.strides[0]}" + " * packs" * self.is_sampled


# Statements of a function: compilers take far longer for one long function than for several short
# ones.
STEPS_OF_PART = 6
# Arguments of printed functions, except those of a batch of samples.
SHARED = ("p", "x", "l", "t", "v")


class Batch:
    """Prints a function of matrices: one that adds results of a batch of samples to `out`, or one
    that does not depend on samples and writes to `out`."""

    def __init__(self, leaves: dict[int, str], roots: Sequence[Symbol]) -> None:
        self.leaves = leaves  # by the ids of parameters, weights and data: the pointer's text
        self.roots = list(roots)
        self.order = in_order(self.roots)
        self.sampled = depends_on_samples(self.roots)
        self.users: dict[int, list[Symbol]] = {}
        for node in self.order:
            for arg in {id(arg): arg for arg in node.args}.values():
                self.users.setdefault(id(arg), []).append(node)
        self.steps: list[Step] = []
        self.stored: dict[int, str] = {}
        self.copies: dict[int, Symbol] = {}
        self.constants: list[str] = []
        self.kept: list[Symbol] = []
        self.row_count = self.shared_count = 0
        self.space = [0, 0]  # packs that contractions need: for each pack of samples, and beside

    # ---- Places.

    def inlined(self, node: Symbol) -> bool:
        """Returns whether a symbol is computed within the loop of its only user."""
        users = self.users.get(id(node), [])
        if node.op not in ENTRYWISE or len(users) != 1 or any(node is one for one in self.roots):
            return False
        (user,) = users
        if user.op == "batch sum":
            return self.sampled[id(node)]
        return (user.op in ("sum", "top", "max")
                or (user.op in ENTRYWISE and user.size == node.size)) \
            and self.sampled[id(user)] == self.sampled[id(node)]

    def source(self, node: Symbol) -> tuple[Symbol, np.ndarray | None]:
        """The symbol whose array holds a node's entries, and their places; None: all in order."""
        if node.op == "take":
            places = np.asarray(node.value).ravel()
            source = node.args[0]
            if places.size == source.size and np.array_equal(places, np.arange(source.size)):
                return source, None
            return source, places
        return node, None

    def index(self, places: np.ndarray | None, shape: tuple[int, ...], e: str = "e") -> str:
        """C++ of the place of entry e."""
        if places is None:
            return e
        strides = strides_of(places, shape)
        if strides is None:
            return f"{self.constant(places, 'std::uint32_t')}[{e}]"
        offset, along = strides
        parts: list[str] = []
        inner = 1  # entries that a step along the axis passes
        for number, (length, stride) in reversed(list(enumerate(merged(shape, along)))):
            at = f"{e} / {inner}" if inner > 1 else e
            at = f"{at} % {length}" if number else at
            if stride:
                parts.insert(0, at if stride == 1 and at == e else f"{stride} * ({at})")
            inner *= length
        found = " + ".join([*parts, *([str(offset)] if offset else [])])
        return f"({found})" if found else "0"

    def constant(self, values: np.ndarray, kind: str = "double") -> str:
        flat = np.ravel(values)
        text = ", ".join(str(int(v)) if kind != "double" else float(v).hex() for v in flat)
        line = f"[{flat.size}] = {{{text}}};\n"
        for number, known in enumerate(self.constants):
            if known.endswith(line) and f" {kind} " in known:
                return f"array_{number}"
        name = f"array_{len(self.constants)}"
        self.constants.append(f"    alignas(64) static constexpr {kind} {name}{line}")
        return name

    def pointer(self, node: Symbol) -> str:
        """The array of a symbol: of packs if it depends on the sample, else of doubles."""
        if node.op == "constant":
            return self.constant(node.value)
        return self.leaves.get(id(node)) or self.stored[id(node)]

    # ---- Loops.

    def entry(self, node: Symbol, lines: list[str], read: list[Symbol], known: dict[str, str],
              size: int, in_packs: bool) -> str:
        """Prints the statements for entry e of a node, and returns the name of the value."""
        source, places = self.source(node)
        if source.op == "constant":
            values = source.value.ravel() if places is None else source.value.ravel()[places]
            if (values == values[0]).all():
                return literal(float(values[0]))
        if node.op in ENTRYWISE and self.inlined(node) and id(node) not in self.stored:
            key = f"node {id(node)}"
            if key not in known:
                args = [self.entry(arg, lines, read, known, size, in_packs) for arg in node.args]
                text = ENTRYWISE[node.op].format(*args)
                known[key] = f"t{len(known)}"
                lines.append(f"const N {known[key]} = {text};")
            return known[key]
        at = self.index(places, node.shape) if node.size > 1 or places is not None else "0"
        at = "0" if node.size == 1 and places is None else at
        read.append(source)
        if self.sampled[id(source)]:
            packs = "l" if at == "0" else f"{at} * packs + l"
            text = f"{self.pointer(source)}[{packs}]"
        else:
            text = f"N({self.pointer(source)}[{at}])"
        if text not in known:
            known[text] = f"t{len(known)}"
            lines.append(f"const N {known[text]} = {text};")
        return known[text]

    def store(self, node: Symbol) -> str:
        name = f"b{len(self.stored)}"
        self.stored[id(node)] = name
        self.kept.append(node)
        return name

    def computed(self, node: Symbol) -> None:
        """Adds the step that fills a symbol's array."""
        lines: list[str] = []
        read: list[Symbol] = []
        in_packs = self.sampled[id(node)]
        known: dict[str, str] = {}
        if node.op in REDUCTIONS:
            of = node.args[0]
            batch = node.op == "batch sum"
            value = self.entry(of, lines, read, known, of.size, in_packs or batch)
            name = self.store(node)
            width = 1 if batch or not of.shape else of.shape[-1]
            body = " ".join(lines) + " " + REDUCTIONS[node.op].format(value)
            if batch:
                text = (f"for (std::size_t e = 0; e < {node.size}; ++e) {{ N sum(0.0); "
                        f"for (std::size_t l = 0; l < packs; ++l) {{ {body} }} "
                        f"{name}[e] = matrices::total(sum); }}")
            else:
                l_loop = "for (std::size_t l = 0; l < packs; ++l) " if in_packs else ""
                at = f"{name}[i * packs + l]" if in_packs else f"{name}[i]"
                text = (f"for (std::size_t i = 0; i < {node.size}; ++i) {l_loop}{{ N sum(0.0); "
                        f"for (std::size_t k = 0; k < {width}; ++k) {{ "
                        f"[[maybe_unused]] const std::size_t e = i * {width} + k; {body} }} "
                        f"{at} = sum; }}")
            self.step(node, text, read, in_packs or batch)
            return
        if node.op in ENTRYWISE:
            args = [self.entry(arg, lines, read, known, node.size, in_packs) for arg in node.args]
            value = ENTRYWISE[node.op].format(*args)
        else:  # a copy of a take
            value = self.entry(node, lines, read, known, node.size, in_packs)
        name = self.store(node)
        self.step(node, self.loop(node.size, lines, name, value, in_packs), read, in_packs)

    def loop(self, size: int, lines: list[str], name: str, value: str, in_packs: bool,
             offset: int = 0, add: str = "=") -> str:
        body = " ".join(lines)
        at = f"e + {offset}" if offset else "e"
        if in_packs:
            return (f"for (std::size_t e = 0; e < {size}; ++e) "
                    f"for (std::size_t l = 0; l < packs; ++l) {{ {body} "
                    f"{name}[({at}) * packs + l] {add} {value}; }}")
        return (f"\n#pragma GCC ivdep\n    for (std::size_t e = 0; e < {size}; ++e) "
                f"{{ {body} {name}[{at}] {add} {value}; }}")

    def step(self, node: Symbol, text: str, read: list[Symbol], in_packs: bool) -> None:
        if not in_packs:
            text = f"{{ using N = double; {text} }}"
        self.steps.append(Step(node, text, read))

    def joined(self, node: Symbol) -> None:
        name = self.store(node)
        in_packs = self.sampled[id(node)]
        begin = 0
        texts: list[str] = []
        read: list[Symbol] = []
        for arg in node.args:
            lines: list[str] = []
            value = self.entry(arg, lines, read, {}, arg.size, in_packs)
            texts.append(self.loop(arg.size, lines, name, value, in_packs, begin))
            begin += arg.size
        self.step(node, " ".join(texts), read, in_packs)

    def scattered(self, node: Symbol) -> None:
        in_packs = self.sampled[id(node)]
        lines: list[str] = []
        read: list[Symbol] = []
        (of,) = node.args
        value = self.entry(of, lines, read, {}, of.size, in_packs)
        to = self.index(node.value, of.shape)
        name = self.store(node)
        body = " ".join(lines)
        if in_packs:
            text = (f"std::fill_n({name}, {node.size} * packs, N(0.0)); "
                    f"for (std::size_t e = 0; e < {of.size}; ++e) "
                    f"for (std::size_t l = 0; l < packs; ++l) {{ {body} "
                    f"{name}[{to} * packs + l] += {value}; }}")
        else:
            text = (f"std::fill_n({name}, {node.size}, 0.0); "
                    f"for (std::size_t e = 0; e < {of.size}; ++e) {{ {body} "
                    f"{name}[{to}] += {value}; }}")
        self.step(node, text, read, in_packs)

    # ---- Products.

    def rows(self, node: Symbol) -> Symbol:
        """A symbol whose array has the entries of a node in order, for each sample."""
        source, places = self.source(node)
        if places is None and self.sampled[id(source)]:
            return source
        if id(node) not in self.copies:
            copy = Symbol("copy", (node,), node.shape, node.label)
            self.copies[id(node)] = copy
            self.sampled[id(copy)] = True
            lines: list[str] = []
            read: list[Symbol] = []
            value = self.entry(node, lines, read, {}, node.size, True)
            name = self.store(copy)
            self.step(copy, self.loop(node.size, lines, name, value, True), read, True)
        return self.copies[id(node)]

    def strided(self, node: Symbol, shape: tuple[int, int, int]) -> Operand:
        """A list of matrices as an operand of a product."""
        source, places = self.source(node)
        standard = (shape[1] * shape[2], shape[2], 1)
        strides = (0, standard) if places is None else strides_of(places, shape)
        if strides is None:
            if id(node) not in self.stored:
                self.computed(node)
            return Operand(node, self.stored[id(node)], standard, self.sampled[id(node)])
        offset, along = strides
        at, packs = self.pointer(source), " * packs" if self.sampled[id(source)] else ""
        return Operand(source, f"{at} + {offset}{packs}" if offset else at, along,
                       self.sampled[id(source)])

    def in_rows(self, node: Symbol, shape: tuple[int, int, int]) -> Operand:
        """A list of matrices, each of which has its entries in order, for each sample."""
        source, places = self.source(node)
        _, rows, columns = shape
        strides = (0, (rows * columns, columns, 1)) if places is None else strides_of(places, shape)
        if strides is None or not self.sampled[id(source)] or \
                (rows > 1 and strides[1][1] != columns) or (columns > 1 and strides[1][2] != 1):
            copy = self.rows(node)
            return Operand(copy, self.pointer(copy), (rows * columns, columns, 1), True)
        return self.strided(node, shape)

    def multiplied(self, node: Symbol) -> None:
        a, b = node.args
        count, m, k, n = sizes_of_product(node)
        each = f"for (std::size_t h = 0; h < {count}; ++h) " if count > 1 else ""
        of_a, of_b = self.sampled[id(a)], self.sampled[id(b)]
        packs = " * packs" if of_a or of_b else ""
        one = (self.in_rows if of_a and not of_b else self.strided)(a, (count, m, k))
        other = (self.in_rows if of_b and not of_a else self.strided)(b, (count, k, n))
        name = self.store(node)
        out = f"{name} + h * {m * n}{packs}" if count > 1 else name
        (_, ra, ca), (_, rb, cb) = one.strides, other.strides
        pa, pb = one.at(count), other.at(count)
        if of_a and of_b:
            text = (f"matrices::multiply_samples({m}, {k}, {n}, packs, {pa}, {ra}, {ca}, "
                    f"{pb}, {rb}, {cb}, {out});")
        elif of_b:
            text = f"matrices::multiply({m}, {k}, {n} * packs, {{{pa}, {ra}, {ca}}}, {pb}, {out});"
        elif of_a:
            text = (f"for (std::size_t i = 0; i < {m}; ++i) matrices::multiply({n}, {k}, "
                    f"packs, {{{pb}, {cb}, {rb}}}, {pa} + i * {k} * packs, "
                    f"{out} + i * {n} * packs);")
        else:
            self.space[1] = max(self.space[1], -(-n // 16) * (k + m))
            text = (f"matrices::multiply_shared({m}, {k}, {n}, {{{pa}, {ra}, {ca}}}, "
                    f"{{{pb}, {rb}, {cb}}}, space, {out});")
        self.step(node, each + text, [one.source, other.source], of_a or of_b)

    def contracted(self, node: Symbol) -> None:
        count, m, k = (1, *node.shape)[-3:]
        length = node.args[0].shape[-1]
        a, b = self.in_rows(node.args[0], (count, m, length)), \
            self.in_rows(node.args[1], (count, k, length))
        row, column = k, 1
        if m > k:  # the longer side lies along the packs
            a, b, m, k, row, column = b, a, k, m, 1, k
        self.space[1] = max(self.space[1], m)
        name = self.store(node)
        each = f"for (std::size_t h = 0; h < {count}; ++h) " if count > 1 else ""
        out = f"{name} + h * {m * k}" if count > 1 else name
        self.step(node, f"{each}matrices::contract({m}, {k}, {length} * packs * kLanes, "
                  f"{a.at(count)}, {b.at(count)}, space, {out}, {row}, {column});",
                  [a.source, b.source], True)

    # ---- Rows at places that are data.

    def in_order(self, node: Symbol, in_packs: bool) -> Symbol:
        """A symbol whose array has the entries of a node in order."""
        source, places = self.source(node)
        if places is None and self.sampled[id(source)] == in_packs:
            return source
        if in_packs:
            return self.rows(node)
        if id(node) not in self.stored:
            self.computed(node)
        return node

    def rows_at_places(self, node: Symbol) -> None:
        table, index = node.args if node.op == "rows" else (node, node.args[0])
        in_packs = self.sampled[id(index)]
        count, packs = index.size, "packs" if in_packs else "1"
        places = self.in_order(index, in_packs)
        if node.op == "rows":
            of = self.in_order(table, False)
            name = self.store(node)
            call = f"rows({count}, {table.shape[1]}, {len(table)}, {packs}, {self.pointer(of)}, "
        else:
            of = self.in_order(node.args[1], in_packs)
            name = self.store(node)
            call = f"add_rows({count}, {node.shape[1]}, {len(node)}, {packs}, {self.pointer(of)}, "
        self.step(node, f"matrices::{call}{self.pointer(places)}, {name});", [of, places],
                  in_packs)

    # ---- The function.

    def added(self, node: Symbol) -> None:
        """Adds the steps that fill a symbol's array."""
        if node.op == "matmul":
            self.multiplied(node)
        elif node.op == "contract":
            self.contracted(node)
        elif node.op in ("rows", "rows added"):
            self.rows_at_places(node)
        elif node.op == "join":
            self.joined(node)
        elif node.op == "scatter":
            self.scattered(node)
        elif node.op in ENTRYWISE or node.op in REDUCTIONS:
            self.computed(node)
        else:
            raise ModelError(f"models have no operation {node.op}")

    def fill(self, outputs: Sequence[tuple[Symbol, str, int, str]]) -> None:
        """Adds all steps. Each output has a root, the array to which the root goes, the place of
        its entries there, and +=, -= or =."""
        for node in self.order:
            if id(node) in self.leaves or id(node) in self.stored or self.inlined(node) \
                    or node.op in ("constant", "take"):
                continue
            self.added(node)
        for root, into, begin, add in outputs:
            lines: list[str] = []
            read: list[Symbol] = []
            value = self.entry(root, lines, read, {}, root.size, False)
            self.step(root, self.loop(root.size, lines, into, value, False, begin, add), read,
                      False)

    def function(self, name: str, outputs: Sequence[tuple[Symbol, str, int, str]]) -> str:
        """Prints the struct of the function with these outputs."""
        self.fill(outputs)
        return self.text(name, any(add != "=" for *_, add in outputs))

    def text(self, name_of_struct: str, of_samples: bool) -> str:
        """All steps, with room in the working space for arrays while they are read."""
        last = {id(symbol): place for place, step in enumerate(self.steps)
                for symbol in [step.made, *step.read]}
        in_packs, shared = Room(), Room()
        declared: dict[str, str] = {}
        for place, step in enumerate(self.steps):
            name = self.stored.get(id(step.made))
            if name is not None and name not in declared:
                if self.sampled[id(step.made)]:
                    begin = in_packs.take(id(step.made), step.made.size)
                    declared[name] = f"N* const {name} = rows + {begin} * packs;"
                else:
                    begin = shared.take(id(step.made), -(-step.made.size // 16))
                    declared[name] = (f"double* const {name} = "
                                      f"reinterpret_cast<double*>(shared + {begin});")
            for symbol in [step.made, *step.read]:
                if last[id(symbol)] == place:
                    in_packs.give(id(symbol))
                    shared.give(id(symbol))
        self.row_count, self.shared_count = in_packs.size, shared.size
        arrays = ([f"N* const rows = shared + {max(shared.size, 1)};",
                   f"[[maybe_unused]] N* const space = rows + {in_packs.size} * packs;"]
                  if of_samples else
                  [f"[[maybe_unused]] N* const space = shared + {max(shared.size, 1)};"])
        given = ({"p": "const double*", "x": "const double*", "s": "const Packs*",
                  "q": "const Packs*",
                  "packs": "std::size_t", "out": "double*", "loss": "double*"} if of_samples else
                 {**dict.fromkeys(SHARED, "const double*"), "out": "double*"})
        typed = "".join(f", [[maybe_unused]] {kind} {one}" for one, kind in given.items())
        text, calls = "", ""
        for number, first in enumerate(range(0, len(self.steps), STEPS_OF_PART)):
            steps = self.steps[first:first + STEPS_OF_PART]
            names = {self.stored[id(one)]: None for step in steps
                     for one in [step.made, *step.read] if id(one) in self.stored}
            lines = ["using N = Packs;", "[[maybe_unused]] N* const shared = w;", *arrays,
                     *(declared[name] for name in names), *(step.text for step in steps)]
            text += (f"    struct Part{number} {{\n      template <class Packs>\n"
                     f"      static POPFLOW_MATH_INLINE void compute(Packs* w{typed}) {{\n"
                     + "".join(f"        {line}\n" for line in lines) + "      }\n    };\n")
            calls += f"      matrices::apart<Part{number}>(w, {', '.join(given)});\n"
        return (f"  struct {name_of_struct} {{\n" + "".join(self.constants)
                + f"    static constexpr std::size_t each = {self.each}, beside = {self.beside};\n"
                + text + "    template <class Packs>\n"
                f"    static POPFLOW_MATH_INLINE void compute(Packs* w{typed}) {{\n"
                + calls + "    }\n  };\n")

    @property
    def each(self) -> int:
        """Packs of the working space for each pack of samples."""
        return self.row_count + self.space[0]

    @property
    def beside(self) -> int:
        """Packs of the working space beside these."""
        return max(self.shared_count, 1) + self.space[1]

    def packs(self, nodes: int, largest: int = LARGEST_BATCH, least: int = 1) -> int:
        """Returns the number of packs of a batch of the population: `least`, if there are so many,
        or more."""
        most = max(least, largest // (16 * max(self.each, 1)))
        return max(1, min(most, -(-nodes // 16)))


class Room:
    """Places of arrays in a working space, reused after an array's last reader."""

    def __init__(self) -> None:
        self.begin: dict[int, tuple[int, int]] = {}
        self.size = 0

    def take(self, key: int, length: int) -> int:
        at = 0
        for begin, end in sorted(self.begin.values()):
            if begin - at >= length:
                break
            at = max(at, end)
        self.begin[key] = (at, at + length)
        self.size = max(self.size, at + length)
        return at

    def give(self, key: int) -> None:
        self.begin.pop(key, None)


def sizes_of_product(node: Symbol) -> tuple[int, int, int, int]:
    """Number of matrices, rows, inner length and columns of a product."""
    a, b = node.args
    return (len(a) if a.ndim == 3 else 1, a.shape[-2] if a.ndim > 1 else 1, a.shape[-1],
            b.shape[-1] if b.ndim > 1 else 1)


def strides_of(places: np.ndarray, shape: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
    """Offset of an array's places and their strides along its axes, if they have such."""
    grid = np.asarray(places).reshape(shape)
    offset = int(grid.flat[0])
    ends = [grid[(0,) * axis + (1,)].flat[0] if length > 1 else offset
            for axis, length in enumerate(shape)]
    strides = tuple(int(end) - offset for end in ends)
    expected = np.full(shape, offset)
    for axis, stride in enumerate(strides):
        expected += stride * np.arange(shape[axis]).reshape([-1] + [1] * (len(shape) - axis - 1))
    return (offset, strides) if min(strides, default=0) >= 0 and np.array_equal(grid, expected) \
        else None


def merged(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Lengths and strides of axes, with neighbours that are walked as one axis merged."""
    found: list[tuple[int, int]] = []
    for length, stride in zip(shape, strides):
        if found and found[-1][1] == stride * length:
            found[-1] = (found[-1][0] * length, stride)
        elif length > 1:
            found.append((length, stride))
    return found
