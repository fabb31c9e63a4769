"""Symbols of a model: arrays of up to two axes whose numbers are not known yet.

A symbol remembers how it was computed. NumPy's operators and functions work on symbols; what they
return is a symbol, too. Nothing here needs CasADi: a model whose plug-in is in the cache is found
by the digest of its symbols.
"""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from .errors import ModelError

LONGEST_LABEL = 60

# NumPy's elementwise functions of one argument, by their names here.
UNARY = {"negative": "neg", "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p",
         "sqrt": "sqrt", "square": "square", "absolute": "abs", "fabs": "abs", "sign": "sign",
         "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "arcsin", "arccos": "arccos",
         "arctan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "arcsinh",
         "floor": "floor", "ceil": "ceil", "reciprocal": "reciprocal", "positive": "positive"}
BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/",
          "power": "**", "float_power": "**", "maximum": "maximum", "minimum": "minimum",
          "fmax": "maximum", "fmin": "minimum", "less": "<", "less_equal": "<=", "greater": ">",
          "greater_equal": ">=", "equal": "==", "not_equal": "!=", "logical_and": "and",
          "logical_or": "or"}
EVALUATE: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "<": np.less, "<=": np.less_equal,
    ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "and": np.logical_and, "or": np.logical_or, "neg": np.negative, "abs": np.abs,
    "positive": np.positive, "where": np.where, "matmul": np.matmul}


class Symbol:
    """An array of a model: `shape` is that of NumPy. Made by Model.weights(), data() and others."""

    __slots__ = ("op", "args", "shape", "label", "value", "samples", "_digest")

    def __init__(self, op: str, args: Sequence[Symbol], shape: Sequence[int], label: str,
                 value: Any = None) -> None:
        self.op = op
        self.args = tuple(args)
        self.shape = tuple(int(length) for length in shape)
        self.label = label if len(label) <= LONGEST_LABEL else f"{label[:LONGEST_LABEL - 4]} ..."
        self.value = value
        self.samples: np.ndarray | None = None  # of a finite law: a row for each sample
        self._digest: bytes | None = None
        if len(self.shape) > 2:
            raise ModelError(f"{self.label} has {len(self.shape)} axes; symbols have at most two: "
                             "use one matrix for each entry of the other axes")

    # ---- Attributes of NumPy's arrays.

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    @property
    def T(self) -> Symbol:
        return taken(self, np.arange(self.size).reshape(self.shape).T, f"{enclosed(self)}.T")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self.label} is a scalar and has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Symbol:
        if isinstance(key, Symbol):
            require_places(key, len(self), f"{enclosed(self)}[{key.label}]: the index")
            return one_hot(key, len(self)) @ self
        try:
            places = np.arange(self.size).reshape(self.shape)[key]
        except IndexError as error:
            raise ModelError(f"{self.label}[{key_in_words(key)}]: {error}; its shape is "
                             f"{told(self.shape)}") from None
        return taken(self, places, f"{enclosed(self)}[{key_in_words(key)}]")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ModelError(f"{self.label} cannot be changed in place; build a new array, for example "
                         "by np.concatenate or np.where")

    def reshape(self, *shape: Any) -> Symbol:
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        try:
            places = np.arange(self.size).reshape(wanted)
        except ValueError:
            raise ModelError(f"{self.label} has the shape {told(self.shape)}; it cannot become "
                             f"{told(tuple(wanted))}") from None
        return taken(self, places, self.label)

    def ravel(self) -> Symbol:
        return self.reshape(self.size)

    flatten = ravel

    def transpose(self) -> Symbol:
        return self.T

    def sum(self, axis: int | None = None, **others: Any) -> Symbol:
        return reduced("sum", self, axis, others)

    def mean(self, axis: int | None = None, **others: Any) -> Symbol:
        count = self.size if axis is None else self.shape[axis]
        return self.sum(axis, **others) / count

    def max(self, axis: int | None = None, **others: Any) -> Symbol:
        return reduced("max", self, axis, others)

    def min(self, axis: int | None = None, **others: Any) -> Symbol:
        return -reduced("max", -self, axis, others)

    def prod(self, axis: int | None = None, **others: Any) -> Symbol:
        return product_along(self, axis, others)

    def var(self, axis: int | None = None, ddof: int = 0, **others: Any) -> Symbol:
        return variance(self, axis, ddof, others)

    def std(self, axis: int | None = None, ddof: int = 0, **others: Any) -> Symbol:
        return unary("sqrt", variance(self, axis, ddof, others))

    def clip(self, min: Any = None, max: Any = None) -> Symbol:
        return clipped(self, min, max)

    def cumsum(self, axis: int | None = None) -> Symbol:
        return cumulative_sum(self, axis)

    def squeeze(self) -> Symbol:
        return self.reshape(tuple(length for length in self.shape if length != 1))

    def dot(self, other: Any) -> Symbol:
        return product(self, as_symbol(other))

    def trace(self) -> Symbol:
        return self[np.arange(min(self.shape)), np.arange(min(self.shape))].sum()

    # ---- Operators.

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Symbol: return binary("+", self, other)
    def __radd__(self, other: Any) -> Symbol: return binary("+", other, self)
    def __sub__(self, other: Any) -> Symbol: return binary("-", self, other)
    def __rsub__(self, other: Any) -> Symbol: return binary("-", other, self)
    def __mul__(self, other: Any) -> Symbol: return binary("*", self, other)
    def __rmul__(self, other: Any) -> Symbol: return binary("*", other, self)
    def __truediv__(self, other: Any) -> Symbol: return binary("/", self, other)
    def __rtruediv__(self, other: Any) -> Symbol: return binary("/", other, self)
    def __pow__(self, other: Any) -> Symbol: return binary("**", self, other)
    def __rpow__(self, other: Any) -> Symbol: return binary("**", other, self)
    def __matmul__(self, other: Any) -> Symbol: return product(self, as_symbol(other))
    def __rmatmul__(self, other: Any) -> Symbol: return product(as_symbol(other), self)
    def __neg__(self) -> Symbol: return unary("neg", self)
    def __pos__(self) -> Symbol: return self
    def __abs__(self) -> Symbol: return unary("abs", self)
    def __lt__(self, other: Any) -> Symbol: return binary("<", self, other)
    def __le__(self, other: Any) -> Symbol: return binary("<=", self, other)
    def __gt__(self, other: Any) -> Symbol: return binary(">", self, other)
    def __ge__(self, other: Any) -> Symbol: return binary(">=", self, other)
    def __eq__(self, other: Any) -> Symbol:  # type: ignore[override]
        return binary("==", self, other)

    def __ne__(self, other: Any) -> Symbol:  # type: ignore[override]
        return binary("!=", self, other)

    def __and__(self, other: Any) -> Symbol: return binary("and", self, other)
    def __or__(self, other: Any) -> Symbol: return binary("or", self, other)

    def __bool__(self) -> bool:
        raise ModelError(f"whether {self.label} holds is known only when the model runs; in a "
                         "formula use np.where(condition, a, b) instead of `if`")

    def __float__(self) -> float:
        raise ModelError(f"{self.label} has no value before the model runs; use NumPy's functions "
                         "on it (np.exp, not math.exp)")

    __int__ = __index__ = __float__

    def __repr__(self) -> str:
        return f"<{self.label}: {told(self.shape)}>"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ModelError(f"{self.label} cannot become an array of numbers: it has no value before "
                         "the model runs; join symbols by np.stack([a, b]), not np.array([a, b])")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **others: Any) -> Any:
        name = ufunc.__name__
        if method == "reduce" and name == "add":
            return as_symbol(inputs[0]).sum(others.get("axis", 0))
        if method == "reduce" and name in ("maximum", "minimum", "multiply"):
            shortened = {"maximum": "max", "minimum": "min", "multiply": "prod"}[name]
            return getattr(as_symbol(inputs[0]), shortened)(others.get("axis", 0))
        if method == "__call__" and not others.get("out"):
            if name == "matmul":
                return product(as_symbol(inputs[0]), as_symbol(inputs[1]))
            if name in UNARY:
                return unary(UNARY[name], inputs[0])
            if name in BINARY:
                return binary(BINARY[name], *inputs)
            if name == "logaddexp":
                return logsumexp(stacked([as_symbol(one) for one in inputs]), axis=0)
            if name == "hypot":
                return np.sqrt(inputs[0] * inputs[0] + inputs[1] * inputs[1])
            if name == "erf":  # scipy.special
                return erf(inputs[0])
            if name in COMPOSED:
                return COMPOSED[name](*(as_symbol(one) for one in inputs))
        at = "" if method == "__call__" else f".{method}"
        known = ", ".join(sorted({*UNARY, *BINARY, *COMPOSED, "matmul"}))
        raise ModelError(f"np.{name}{at} is not available in models; there are {known}, and those "
                         "of popflow.model")

    def __array_function__(self, function: Callable, _: Any, args: Any, kwargs: Any) -> Any:
        found = FUNCTIONS.get(function.__name__)
        if found is None:
            raise ModelError(f"np.{function.__name__} is not available in models; there are "
                             f"{', '.join(sorted(FUNCTIONS))}")
        return found(*args, **kwargs)

    # ---- Contents.

    def digest(self) -> bytes:
        """Identifies the formula."""
        for node in in_order([self]):
            if node._digest is None:
                made = hashlib.sha256(repr((node.op, node.shape)).encode())
                made.update(contents(node.value))
                for arg in node.args:
                    made.update(arg._digest or b"")
                node._digest = made.digest()
        assert self._digest is not None
        return self._digest


def contents(value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        return repr((value.shape, value.dtype.str)).encode() + value.tobytes()
    return repr(value).encode()


def in_order(roots: Sequence[Symbol]) -> list[Symbol]:
    """Symbols on which the roots depend, each after its arguments."""
    order: list[Symbol] = []
    seen: set[int] = set()
    waiting: list[tuple[Symbol, bool]] = [(root, False) for root in reversed(roots)]
    while waiting:
        node, complete = waiting.pop()
        if complete:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.append((node, True))
            waiting.extend((arg, False) for arg in reversed(node.args) if id(arg) not in seen)
    return order


def told(shape: Sequence[int]) -> str:
    """A shape in words."""
    return " x ".join(map(str, shape)) if shape else "a scalar"


def key_in_words(key: Any) -> str:
    """Key of an index as it is written between brackets: `:, 0` for (slice(None), 0)."""
    if isinstance(key, tuple) and key:
        return ", ".join(map(key_in_words, key))
    if isinstance(key, slice):
        ends = [key.start, key.stop] if key.step is None else [key.start, key.stop, key.step]
        return ":".join("" if end is None else str(end) for end in ends)
    return "..." if key is Ellipsis else str(key)


def enclosed(symbol: Symbol) -> str:
    return f"({symbol.label})" if " " in symbol.label else symbol.label


def as_symbol(value: Any) -> Symbol:
    if isinstance(value, Symbol):
        return value
    if isinstance(value, (list, tuple)) and holds_symbols(value):
        return stacked([as_symbol(one) for one in value])
    if isinstance(value, np.ndarray) and value.dtype == object:
        parts = [as_symbol(one) for one in value.ravel()]
        return joined([part.reshape(1) for part in parts], value.shape, "array")
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{value!r} is no number, array or symbol of the model") from None
    label = f"{array:.4g}" if array.ndim == 0 else "array"
    return Symbol("constant", (), array.shape, label, array)


def holds_symbols(value: Any) -> bool:
    return isinstance(value, Symbol) or (isinstance(value, (list, tuple))
                                         and any(holds_symbols(one) for one in value))


def taken(symbol: Symbol, places: Any, label: str) -> Symbol:
    """Entries of a symbol at flat places."""
    places = np.asarray(places)
    if symbol.op == "constant":
        return Symbol("constant", (), places.shape, label, symbol.value.ravel()[places])
    if symbol.op == "take":  # merge nested takes into one
        places = symbol.value.ravel()[places]
        symbol = symbol.args[0]
    if places.shape == symbol.shape and np.array_equal(places.ravel(), np.arange(symbol.size)):
        return symbol
    return Symbol("take", (symbol,), places.shape, label, places)


def joined(parts: Sequence[Symbol], shape: Sequence[int], label: str) -> Symbol:
    """All entries of the parts, one after the other, in a new shape."""
    return Symbol("join", parts, shape, label)


def stacked(parts: Sequence[Symbol], axis: int = 0) -> Symbol:
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        raise ModelError("arrays of different shapes cannot be stacked: "
                         + ", ".join(f"{part.label} is {told(part.shape)}" for part in parts))
    (shape,) = shapes
    all_parts = joined(parts, (len(parts), *shape), f"[{', '.join(p.label for p in parts)}]")
    return all_parts if axis == 0 else cast(Symbol, np.transpose(cast(Any, all_parts)))


def concatenated(parts: Sequence[Any], axis: int = 0) -> Symbol:
    symbols = [as_symbol(part) for part in parts]
    if axis not in (0, -1) and any(part.ndim == 2 for part in symbols):
        return concatenated([part.T for part in symbols]).T
    if len({part.shape[1:] for part in symbols}) > 1 or any(p.ndim == 0 for p in symbols):
        raise ModelError("arrays cannot be concatenated: "
                         + ", ".join(f"{part.label} is {told(part.shape)}" for part in symbols))
    rows = sum(part.shape[0] for part in symbols)
    return joined(symbols, (rows, *symbols[0].shape[1:]), "concatenated arrays")


def broadcast(symbol: Symbol, shape: tuple[int, ...]) -> Symbol:
    if symbol.shape == shape or not symbol.shape:
        return symbol
    places = np.broadcast_to(np.arange(symbol.size).reshape(symbol.shape), shape)
    return taken(symbol, places, symbol.label)


def unary(op: str, of: Any) -> Symbol:
    symbol = as_symbol(of)
    if op == "positive":
        return symbol
    if op == "square":
        return binary("*", symbol, symbol)
    if op == "reciprocal":
        return binary("/", 1.0, symbol)
    if op == "tan":
        return binary("/", unary("sin", symbol), unary("cos", symbol))
    label = f"-{enclosed(symbol)}" if op == "neg" else f"{op}({symbol.label})"
    return Symbol(op, (symbol,), symbol.shape, label)


def binary(op: str, a: Any, b: Any) -> Symbol:
    one, other = as_symbol(a), as_symbol(b)
    label = (f"{op}({one.label}, {other.label})" if op.isalpha() and op not in ("and", "or")
             else f"{enclosed(one)} {op} {enclosed(other)}")
    try:
        shape = np.broadcast_shapes(one.shape, other.shape)
    except ValueError:
        raise ModelError(f"shapes do not fit in {label}: {one.label} is {told(one.shape)}, "
                         f"{other.label} is {told(other.shape)}") from None
    return Symbol(op, (broadcast(one, shape), broadcast(other, shape)), shape, label)


def product(a: Symbol, b: Symbol) -> Symbol:
    label = f"{enclosed(a)} @ {enclosed(b)}"
    if not a.shape or not b.shape or a.shape[-1] != b.shape[0]:
        raise ModelError(f"shapes do not fit in {label}: {a.label} is {told(a.shape)}, "
                         f"{b.label} is {told(b.shape)}"
                         + ("; use * for scalars" if not a.shape or not b.shape else ""))
    if b.ndim == 1 and a.op == "matmul" and a.ndim == 2:  # (A B) x costs more than A (B x)
        vector = product(a.args[1], b)
        return Symbol("matmul", (a.args[0], vector), a.args[0].shape[:-1], label)
    return Symbol("matmul", (a, b), (*a.shape[:-1], *b.shape[1:]), label)


def reduced(op: str, of: Symbol, axis: Any, others: dict[str, Any]) -> Symbol:
    """The sum or maximum along an axis; None: of all entries."""
    for name, value in others.items():
        if value not in (None, False) and not (name == "dtype" and value is float) \
                and not isinstance(value, type(cast(Any, np)._NoValue)):
            raise ModelError(f"{op}({of.label}) takes no {name} in models")
    label = f"{op}({of.label})"
    if axis is None or of.ndim <= 1:
        return Symbol(op, (of.reshape(of.size),), (), label)
    if axis not in (0, 1, -1, -2):
        raise ModelError(f"{label}: there is no axis {axis} in the shape {told(of.shape)}")
    rows = of if axis % 2 == 1 else of.T
    return Symbol(op, (rows,), rows.shape[:1], label)


def product_along(of: Symbol, axis: Any, others: dict[str, Any]) -> Symbol:
    """The product along an axis; None: of all entries."""
    reduced("prod", of, axis, others)  # refuses other arguments
    if axis is None or of.ndim <= 1:
        parts = [of.ravel()[i] for i in range(of.size)]
    else:
        parts = list(of if axis % 2 == 0 else of.T)
    found = parts[0]
    for part in parts[1:]:
        found = found * part
    return found


def variance(of: Symbol, axis: Any, ddof: int, others: dict[str, Any]) -> Symbol:
    mean = of.mean(axis, **others)
    if mean.ndim == 1 and axis % 2 == 1:
        mean = mean.reshape(-1, 1)
    count = of.size if axis is None else of.shape[axis]
    if count <= ddof:
        raise ModelError(f"var({of.label}) has {count} numbers and ddof = {ddof}; it needs more "
                         "numbers")
    return (of - mean).__pow__(2).sum(axis) / (count - ddof)


def clipped(a: Any, low: Any = None, high: Any = None, **names: Any) -> Symbol:
    low = names.get("a_min", names.get("min", low))
    high = names.get("a_max", names.get("max", high))
    found = as_symbol(a)
    if low is not None:
        found = binary("maximum", found, low)
    return found if high is None else binary("minimum", found, high)


def cumulative_sum(of: Any, axis: int | None = None) -> Symbol:
    symbol = as_symbol(of)
    if axis is None or symbol.ndim <= 1:
        return product(as_symbol(np.tri(symbol.size)), symbol.ravel())
    if axis % 2 == 1:
        return cumulative_sum(symbol.T, 0).T
    return product(as_symbol(np.tri(symbol.shape[0])), symbol)


def where(condition: Any, yes: Any, no: Any) -> Symbol:
    """np.where for symbols."""
    parts = [as_symbol(one) for one in (condition, yes, no)]
    label = f"where({', '.join(part.label for part in parts)})"
    try:
        shape = np.broadcast_shapes(*(part.shape for part in parts))
    except ValueError:
        raise ModelError(f"shapes do not fit in {label}: "
                         + ", ".join(f"{p.label} is {told(p.shape)}" for p in parts)) from None
    return Symbol("where", [broadcast(part, shape) for part in parts], shape, label)


# ---- The package's own functions.


def erf(x: Any) -> Any:
    """The error function."""
    return unary("erf", x)


def logsumexp(z: Any, axis: int | None = None) -> Symbol:
    """log(sum(exp(z))), without overflow."""
    symbol = as_symbol(z)
    if symbol.ndim == 0:
        return symbol
    return reduced("logsumexp", symbol, axis, {})


def softmax(z: Any) -> Symbol:
    """exp(z) / sum(exp(z)) of a vector, without overflow."""
    symbol = as_symbol(z)
    if symbol.ndim != 1:
        raise ModelError(f"softmax({symbol.label}) needs a vector; it is {told(symbol.shape)}")
    return cast(Symbol, np.exp(cast(Any, symbol - logsumexp(symbol))))


def require_places(index: Symbol, count: int, what: str) -> None:
    """Refuses an index that is not a place among `count` entries in some sample of a finite law.

    Formulas select an entry by comparing its place with the index: a wrong index selects nothing.
    """
    taken_from = index.args[0] if index.op == "take" else index
    if index.op == "constant":
        rows = np.reshape(index.value, (1, -1))
    elif taken_from.samples is None:
        return  # computed numbers are known only when the model runs
    else:
        rows = taken_from.samples.reshape(len(taken_from.samples), -1)
        rows = rows[:, index.value.ravel()] if index.op == "take" else rows
    wrong = np.argwhere(~np.isin(rows, np.arange(count)))
    if len(wrong):
        value = rows[tuple(wrong[0])]
        place = "" if index.op == "constant" else f" {index.label} of sample {wrong[0][0]}"
        raise ModelError(f"{what}{place} is {value:g}; it must be a whole number from 0 to "
                         f"{count - 1}")


def one_hot(index: Any, classes: int) -> Symbol:
    """Vector that is 1 at a whole number's place, and 0 elsewhere."""
    symbol = as_symbol(index)
    if symbol.shape:
        raise ModelError(f"one_hot({symbol.label}) needs a scalar; it is {told(symbol.shape)}")
    return binary("==", np.arange(float(classes)), symbol)


def cross_entropy(logits: Any, label: Any) -> Symbol:
    """-log softmax(logits)[label], without overflow; `label` may be a vector of probabilities."""
    z, y = as_symbol(logits), as_symbol(label)
    if z.ndim != 1:
        raise ModelError(f"cross_entropy needs a vector of logits; {z.label} is {told(z.shape)}")
    if y.shape not in ((), z.shape):
        raise ModelError(f"cross_entropy: the label {y.label} is {told(y.shape)}; it must be a "
                         f"whole number or {told(z.shape)} probabilities, like {z.label}")
    if y.ndim == 0:
        require_places(y, len(z), "cross_entropy: the label")
    wanted = one_hot(y, len(z)) if y.ndim == 0 else y
    return logsumexp(z) * (1.0 if y.ndim == 0 else y.sum()) - (wanted * z).sum()


def logistic_loss(margin: Any) -> Symbol:
    """log(1 + exp(-margin)), without overflow."""
    m = as_symbol(margin)
    # Both branches have all derivatives of the loss at 0; abs() and maximum() would lack them.
    return where(m > 0, 0, -m) + np.log1p(np.exp(-where(m > 0, m, -m)))


def norm(x: Any, ord: Any = None, axis: int | None = None, keepdims: bool = False) -> Symbol:
    """np.linalg.norm: of vectors, also along an axis, and of matrices (None, "fro", 1, inf)."""
    symbol = as_symbol(x)
    all_entries = axis is None and symbol.ndim == 2
    known = (None, "fro", 1, np.inf) if all_entries else (None, 1, 2, np.inf)
    if keepdims or ord not in known:
        raise ModelError(f"np.linalg.norm({symbol.label}) has ord = {ord!r}"
                         f"{' and keepdims' if keepdims else ''}; in models ord is "
                         f"{', '.join(map(str, known))}, without keepdims")
    if all_entries and ord in (1, np.inf):
        return unary("abs", symbol).sum(0 if ord == 1 else 1).max()
    if ord == 1:
        return unary("abs", symbol).sum(axis)
    if ord == np.inf:
        return unary("abs", symbol).max(axis)
    return unary("sqrt", (symbol * symbol).sum(axis))


MOST_IN_EINSUM = 1_000_000  # products


def einsum(subscripts: Any, *operands: Any, optimize: Any = None) -> Symbol:
    """np.einsum with subscripts in a text; the result has up to two axes."""
    symbols = [as_symbol(one) for one in operands]
    if not isinstance(subscripts, str) or "." in subscripts:
        raise ModelError("np.einsum in models takes its subscripts as a text without '...', such "
                         "as 'ij,jk->ik'")
    given, arrow, out = subscripts.replace(" ", "").partition("->")
    parts = given.split(",")
    if not arrow:
        out = "".join(sorted(one for one in set(given) - {","} if given.count(one) == 1))
    if len(parts) != len(symbols):
        raise ModelError(f"np.einsum('{subscripts}') has {len(parts)} terms and {len(symbols)} "
                         "arrays")
    sizes: dict[str, int] = {}
    for part, symbol in zip(parts, symbols):
        if len(part) != symbol.ndim:
            raise ModelError(f"np.einsum('{subscripts}'): {part} stands for {symbol.label}, which "
                             f"is {told(symbol.shape)}")
        for letter, size in zip(part, symbol.shape):
            if sizes.setdefault(letter, size) != size:
                raise ModelError(f"np.einsum('{subscripts}'): the index {letter} has the lengths "
                                 f"{sizes[letter]} and {size}")
    if len(out) > 2 or len(set(out)) < len(out) or any(one not in sizes for one in out):
        raise ModelError(f"np.einsum('{subscripts}'): the result must have up to two different "
                         "indices of the arrays")
    if len(parts) == 2 and all(len(part) == 2 for part in parts) and len(sizes) == 3 and \
            parts[0][1] == parts[1][0] and out == parts[0][0] + parts[1][1]:
        return product(*symbols)
    letters = list(out) + [one for one in sizes if one not in out]
    lengths = [sizes[one] for one in letters]
    if np.prod(lengths) > MOST_IN_EINSUM:
        raise ModelError(f"np.einsum('{subscripts}') has {np.prod(lengths)} products; models take "
                         f"up to {MOST_IN_EINSUM}: use @")
    grid = dict(zip(letters, np.indices(lengths).reshape(len(letters), -1)))
    found: Symbol | None = None
    for part, symbol in zip(parts, symbols):
        places = np.zeros(int(np.prod(lengths)), dtype=int)
        for letter, size in zip(part, symbol.shape):
            places = places * size + grid[letter]
        factor = taken(symbol, places, symbol.label)
        found = factor if found is None else found * factor
    assert found is not None
    shape = tuple(sizes[one] for one in out)
    rows = int(np.prod(shape, dtype=int))
    return found.reshape(rows, -1).sum(1).reshape(shape)


def average(a: Any, axis: int | None = None, weights: Any = None) -> Symbol:
    symbol = as_symbol(a)
    if weights is None:
        return symbol.mean(axis)
    w = as_symbol(weights)
    if w.ndim == 1 and symbol.ndim == 2 and axis is not None and axis % 2 == 0:
        w = w.reshape(-1, 1)
    return (symbol * w).sum(axis) / w.sum(None if w.shape != symbol.shape else axis)


def _places(function: Callable[..., Any]) -> Callable[..., Symbol]:
    """A function of NumPy that only moves entries."""
    def moved(a: Any, *others: Any, **more: Any) -> Symbol:
        symbol = as_symbol(a)
        places = np.arange(symbol.size).reshape(symbol.shape)
        return taken(symbol, function(places, *others, **more), symbol.label)
    return moved


def _masked(function: Callable[..., Any]) -> Callable[..., Symbol]:
    """A function of NumPy that sets entries of a matrix to 0."""
    return lambda a, k=0: as_symbol(a) * function(np.ones(as_symbol(a).shape), k)


def _log_to(base: float) -> Callable[[Symbol], Symbol]:
    return lambda x: unary("log", x) / float(np.log(base))


# Functions of NumPy that are made of others.
COMPOSED: dict[str, Callable[..., Symbol]] = {
    "log2": _log_to(2), "log10": _log_to(10), "exp2": lambda x: unary("exp", x * float(np.log(2))),
    "cbrt": lambda x: unary("sign", x) * unary("abs", x) ** (1 / 3),
    "arctanh": lambda x: unary("log1p", 2 * x / (1 - x)) / 2,
    "arccosh": lambda x: unary("log", x + unary("sqrt", x * x - 1)),
    "logical_not": lambda x: x == 0.0, "logical_xor": lambda a, b: (a != 0.0) != (b != 0.0),
    "heaviside": lambda x, h: where(x < 0, 0.0, where(x > 0, 1.0, h)),
    "remainder": lambda a, b: a - b * unary("floor", a / b),
    "floor_divide": lambda a, b: unary("floor", a / b),
    "trunc": lambda x: where(x < 0, unary("ceil", x), unary("floor", x)),
    "deg2rad": lambda x: x * float(np.pi / 180), "rad2deg": lambda x: x * float(180 / np.pi)}

FUNCTIONS: dict[str, Callable] = {
    "sum": lambda a, axis=None, **others: as_symbol(a).sum(axis, **others),
    "mean": lambda a, axis=None, **others: as_symbol(a).mean(axis, **others),
    "max": lambda a, axis=None, **others: as_symbol(a).max(axis, **others),
    "amax": lambda a, axis=None, **others: as_symbol(a).max(axis, **others),
    "min": lambda a, axis=None, **others: as_symbol(a).min(axis, **others),
    "amin": lambda a, axis=None, **others: as_symbol(a).min(axis, **others),
    "prod": lambda a, axis=None, **others: as_symbol(a).prod(axis, **others),
    "var": lambda a, axis=None, **others: as_symbol(a).var(axis, **others),
    "std": lambda a, axis=None, **others: as_symbol(a).std(axis, **others),
    "ptp": lambda a, axis=None: as_symbol(a).max(axis) - as_symbol(a).min(axis),
    "all": lambda a, axis=None, **others: (as_symbol(a) != 0.0).min(axis, **others),
    "any": lambda a, axis=None, **others: (as_symbol(a) != 0.0).max(axis, **others),
    "count_nonzero": lambda a, axis=None: (as_symbol(a) != 0.0).sum(axis),
    "clip": clipped, "einsum": einsum, "average": average, "cumsum": cumulative_sum,
    "diff": lambda a: as_symbol(a)[..., 1:] - as_symbol(a)[..., :-1],
    "vdot": lambda a, b: product(as_symbol(a).ravel(), as_symbol(b).ravel()),
    "tril": _masked(np.tril), "triu": _masked(np.triu),
    "polyval": lambda p, x: functools.reduce(lambda found, one: found * x + one,
                                             as_symbol(p), as_symbol(0.0) * x),
    **{name: _places(getattr(np, name)) for name in (
        "broadcast_to", "expand_dims", "flip", "fliplr", "flipud", "repeat", "roll", "rot90",
        "squeeze", "swapaxes", "take", "tile", "diagonal", "atleast_1d", "atleast_2d")},
    **{name: functools.partial(lambda value, a, **_: as_symbol(np.full(as_symbol(a).shape, value)),
                               value)
       for name, value in (("zeros_like", 0.0), ("ones_like", 1.0))},
    "column_stack": lambda parts: concatenated(
        [as_symbol(one).reshape(-1, 1) if as_symbol(one).ndim == 1 else one for one in parts], 1),
    "dot": lambda a, b: product(as_symbol(a), as_symbol(b)),
    "inner": lambda a, b: product(as_symbol(a), as_symbol(b)),
    "outer": lambda a, b: binary("*", as_symbol(a).reshape(-1, 1), as_symbol(b).reshape(1, -1)),
    "trace": lambda a: as_symbol(a).trace(),
    "transpose": lambda a: as_symbol(a).T,
    "ravel": lambda a: as_symbol(a).ravel(),
    "reshape": lambda a, *shape, **_: as_symbol(a).reshape(*shape),
    "diag": lambda a: _diagonal(as_symbol(a)),
    "where": where, "norm": norm,
    "stack": lambda parts, axis=0: stacked([as_symbol(one) for one in parts], axis),
    "vstack": lambda parts: stacked([as_symbol(one) for one in parts]),
    "concatenate": concatenated, "hstack": concatenated,
    **{name: operator.attrgetter(name) for name in ("ndim", "shape", "size")},
}


def _diagonal(a: Symbol) -> Symbol:
    if a.ndim == 2:
        return a[np.arange(min(a.shape)), np.arange(min(a.shape))]
    return binary("*", np.eye(len(a)), a.reshape(-1, 1))


# ---- Numbers of symbols whose arguments are given.


def evaluated(roots: Sequence[Symbol], known: dict[int, Any],
              each: Callable[[Symbol, Any], None] | None = None) -> list[Any]:
    """Values of symbols; `known` has those of the symbols with these ids. Calls each(symbol,
    value)."""
    values: dict[int, Any] = {}
    for node in in_order(roots):
        args = [values[id(arg)] for arg in node.args]
        with np.errstate(all="ignore"):
            if id(node) in known:
                value = np.asarray(known[id(node)], dtype=float)
            else:
                value = np.asarray(evaluate(node, args), dtype=float)
        values[id(node)] = value
        if each is not None:
            each(node, value)
    return [values[id(root)] for root in roots]


def evaluate(node: Symbol, args: list[Any]) -> Any:
    op = node.op
    if op == "constant":
        return node.value
    if op == "take":
        return args[0].ravel()[node.value]
    if op == "join":
        return np.concatenate([arg.ravel() for arg in args]).reshape(node.shape)
    if op == "sum":
        return args[0].sum(axis=-1)
    if op == "max":
        return args[0].max(axis=-1)
    if op == "logsumexp":
        top = args[0].max(axis=-1)
        return top + np.log(np.exp(args[0] - top[..., None]).sum(axis=-1))
    if op == "erf":
        from scipy.special import erf as of_scipy
        return of_scipy(args[0])
    if op in EVALUATE:
        return EVALUATE[op](*args)
    if hasattr(np, op):
        return getattr(np, op)(*args)
    raise ModelError(f"{node.label} has no value here")
