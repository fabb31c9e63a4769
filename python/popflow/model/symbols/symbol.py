"""The class Symbol, and the operations of which NumPy's functions are made."""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ..errors import ModelError

LONGEST_LABEL = 60
MOST_AXES = 4
CONDITIONS = ("<", "<=", ">", ">=", "==", "!=", "and", "or")
# Operations whose result is a condition if all arguments are conditions.
PASSING = ("take", "join", "max", "maximum", "minimum", "abs")
NO_NUMBERS = (" in NumPy, which has no such function of conditions or computes it in another "
              "precision; multiply the condition by 1.0")

# NumPy's functions and methods, by the function, the ufunc's name and the method's name. The module
# functions.py fills these tables.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
UFUNCS: dict[str, Callable[..., Any]] = {}
UFUNC_REDUCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}


class Symbol:
    """An array of a model: `shape` is that of NumPy. Made by Model.weights(), data() and others.

    `is_condition` says whether NumPy's array would be one of truth values.
    """

    __slots__ = ("op", "args", "shape", "label", "value", "samples", "limits", "is_condition",
                 "_digest")

    def __init__(self, op: str, args: Sequence[Symbol], shape: Sequence[int], label: str,
                 value: Any = None) -> None:
        self.op = op
        self.args = tuple(args)
        self.shape = tuple(int(length) for length in shape)
        self.label = label if len(label) <= LONGEST_LABEL else f"{label[:LONGEST_LABEL - 4]} ..."
        self.value = value
        self.samples: np.ndarray | None = None  # of a finite law: a row for each sample
        self.limits: dict[int, int] = {}  # of entries that are places: the number of places
        parts = self.args[1:] if op == "where" else self.args if op in PASSING else ()
        self.is_condition: bool = op in CONDITIONS or (
            bool(parts) and all(arg.is_condition for arg in parts))
        self._digest: bytes | None = None
        if len(self.shape) > MOST_AXES:
            raise ModelError(f"{self.label} has {len(self.shape)} axes; symbols have at most "
                             f"{MOST_AXES}: use a list of arrays for the other axes")

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

    @property
    def mT(self) -> Symbol:
        """Transposes the last two axes, as in NumPy 2."""
        return cast(Symbol, self.swapaxes(-1, -2))

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return functools.partial(METHODS[name], self)
        raise AttributeError(f"{self.label} has no attribute {name}; symbols of models have T, "
                             f"mT, ndim, shape, size and the methods {', '.join(sorted(METHODS))}")

    def __len__(self) -> int:
        if not self.shape:
            raise ModelError(f"{self.label} is a scalar and has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Symbol:
        label = f"{self.label}[{key_in_words(key)}]"
        if isinstance(key, Symbol):
            if key.is_condition:
                raise ModelError(f"{label}: which entries a condition selects is known only when "
                                 "the model runs; use np.where(condition, a, b)")
            what = f"{enclosed(self)}[{key.label}]: the index"
            if key.shape or self.ndim > 2:
                rows = self.reshape(len(self), -1)
                found = chosen_rows(rows, key, what) if key.shape else \
                    at_place(key, len(self), what) @ rows
                return cast(Symbol, found.reshape(*key.shape, *self.shape[1:]))
            return at_place(key, len(self), what) @ self
        try:
            places = np.arange(self.size).reshape(self.shape)[key]
        except (IndexError, TypeError, ValueError) as error:
            raise ModelError(f"{label}: {error}; its shape is {told(self.shape)}") from None
        return taken(self, places, f"{enclosed(self)}[{key_in_words(key)}]")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ModelError(f"{self.label} cannot be changed in place; build a new array, for example "
                         "by np.concatenate or np.where")

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
    def __floordiv__(self, other: Any) -> Any: return UFUNCS["floor_divide"](self, other)
    def __rfloordiv__(self, other: Any) -> Any: return UFUNCS["floor_divide"](other, self)
    def __mod__(self, other: Any) -> Any: return UFUNCS["remainder"](self, other)
    def __rmod__(self, other: Any) -> Any: return UFUNCS["remainder"](other, self)
    def __rpow__(self, other: Any) -> Symbol: return binary("**", other, self)
    def __matmul__(self, other: Any) -> Symbol: return product(self, as_symbol(other))
    def __rmatmul__(self, other: Any) -> Symbol: return product(as_symbol(other), self)
    def __neg__(self) -> Symbol: return unary("neg", self)
    def __pos__(self) -> Symbol: return unary("positive", self)
    def __abs__(self) -> Symbol: return unary("abs", self)
    def __lt__(self, other: Any) -> Symbol: return binary("<", self, other)
    def __le__(self, other: Any) -> Symbol: return binary("<=", self, other)
    def __gt__(self, other: Any) -> Symbol: return binary(">", self, other)
    def __ge__(self, other: Any) -> Symbol: return binary(">=", self, other)
    def __eq__(self, other: Any) -> Symbol:  # type: ignore[override]
        return binary("==", self, other)

    def __ne__(self, other: Any) -> Symbol:  # type: ignore[override]
        return binary("!=", self, other)

    def __pow__(self, other: Any, modulus: Any = None) -> Symbol:
        if modulus is not None:
            raise ModelError(f"pow({self.label}, ...) takes no third argument in models")
        return binary("**", self, other)

    def __and__(self, other: Any) -> Symbol: return logical("and", "&", self, other)
    def __rand__(self, other: Any) -> Symbol: return logical("and", "&", other, self)
    def __or__(self, other: Any) -> Symbol: return logical("or", "|", self, other)
    def __ror__(self, other: Any) -> Symbol: return logical("or", "|", other, self)
    def __xor__(self, other: Any) -> Symbol: return logical("!=", "^", self, other)
    def __rxor__(self, other: Any) -> Symbol: return logical("!=", "^", other, self)
    def __invert__(self) -> Symbol: return logical("==", "~", self, False)

    def __bool__(self) -> bool:
        raise ModelError(f"whether {self.label} holds is known only when the model runs; in a "
                         "formula use np.where(condition, a, b) instead of `if`")

    def __float__(self) -> float:
        raise ModelError(f"{self.label} has no value before the model runs; use NumPy's functions "
                         "on it (np.exp, not math.exp), and np.take(array, index) for an index")

    __int__ = __index__ = __complex__ = __float__

    def __round__(self, *_: Any) -> Any:
        raise ModelError(f"{self.label} takes no round(), divmod(), << or >> in models")

    __divmod__ = __rdivmod__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __round__

    def __repr__(self) -> str:
        return f"<{self.label}: {told(self.shape)}>"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ModelError(f"{self.label} cannot become an array of numbers: it has no value before "
                         "the model runs; join symbols by np.stack([a, b]), not np.array([a, b])")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **others: Any) -> Any:
        table = {"__call__": UFUNCS, "reduce": UFUNC_REDUCTIONS}.get(method, {})
        found = table.get(ufunc.__name__)
        if found is None:
            at = "" if method == "__call__" else f".{method}"
            raise ModelError(f"np.{ufunc.__name__}{at} is not available in models; there are "
                             f"{', '.join(sorted(table or UFUNCS))}, and those of popflow.model")
        return found(*inputs, **others)

    def __array_function__(self, function: Callable, _: Any, args: Any, kwargs: Any) -> Any:
        found = FUNCTIONS.get(function)
        if found is None:
            name = f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1)
            raise ModelError(f"{name} is not available in models; there are "
                             + ", ".join(sorted({one.__name__ for one in FUNCTIONS.values()})))
        return found(*args, **kwargs)

    # ---- Contents.

    def digest(self) -> bytes:
        """Identifies the formula."""
        waiting = [self]
        while waiting:
            node = waiting[-1]
            unknown = [arg for arg in node.args if arg._digest is None]
            if node._digest is None and not unknown:
                made = hashlib.sha256(repr((node.op, node.shape)).encode())
                made.update(contents(node.value))
                for arg in node.args:
                    made.update(arg._digest or b"")
                node._digest = made.digest()
            if node._digest is not None:
                waiting.pop()
            waiting += unknown if node._digest is None else []
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
    return "..." if key is Ellipsis else key.label if isinstance(key, Symbol) else str(key)


def enclosed(symbol: Symbol) -> str:
    return f"({symbol.label})" if " " in symbol.label else symbol.label


def fixed(value: Any, what: str) -> np.ndarray:
    """Returns a copy of an array of numbers that nobody can change: a model keeps the numbers that
    it was given."""
    try:
        given = np.asarray(value)
    except (TypeError, ValueError):
        given = np.asarray(None)
    if given.dtype.kind not in "biuf" or np.ma.is_masked(value):
        raise ModelError(f"{what} is {type(value).__name__}; it must be numbers")
    array = np.array(given, dtype=float)
    array.setflags(write=False)
    return array


def as_symbol(value: Any) -> Symbol:
    if isinstance(value, Symbol):
        return value
    if isinstance(value, (list, tuple)) and holds_symbols(value):
        return stacked([as_symbol(one) for one in value])
    if isinstance(value, np.ndarray) and value.dtype == object:
        parts = [as_symbol(one) for one in value.ravel()]
        return joined([part.reshape(1) for part in parts], value.shape, "array")
    try:
        array = fixed(value, "a term")
    except ModelError:
        raise ModelError(f"{value!r} is no number, array or symbol of the model") from None
    found = Symbol("constant", (), array.shape, f"{array:.4g}" if array.ndim == 0 else "array",
                   array)
    found.is_condition = np.asarray(value).dtype == bool
    return found


def holds_symbols(value: Any) -> bool:
    return isinstance(value, Symbol) or (isinstance(value, (list, tuple))
                                         and any(holds_symbols(one) for one in value))


# ---- Moves of entries.


def taken(symbol: Symbol, places: Any, label: str) -> Symbol:
    """Entries of a symbol at flat places."""
    places = np.asarray(places)
    if symbol.op == "constant":
        found = Symbol("constant", (), places.shape, label, symbol.value.ravel()[places])
        found.is_condition = symbol.is_condition
        return found
    if symbol.op == "take":  # merge nested takes into one
        places = symbol.value.ravel()[places]
        symbol = symbol.args[0]
    if places.shape == symbol.shape and np.array_equal(places.ravel(), np.arange(symbol.size)):
        return symbol
    return Symbol("take", (symbol,), places.shape, label, places)


def joined(parts: Sequence[Symbol], shape: Sequence[int], label: str) -> Symbol:
    """All entries of the parts, one after the other, in a new shape."""
    return Symbol("join", parts, shape, label)


def moved(move: Callable[..., Any], parts: Sequence[Symbol], label: str,
          filled: bool = False) -> Symbol:
    """Result of a function that moves entries of arrays: `move` gets arrays of the entries' places,
    so that NumPy itself decides where they go. With `filled`, the function fills up with zeros."""
    ends = np.cumsum([int(filled), *(part.size for part in parts)])
    places = np.asarray(move(*[np.arange(end, end + part.size).reshape(part.shape)
                               for end, part in zip(ends, parts)]))
    zero = as_symbol(np.zeros(1, bool if parts[0].is_condition else float))
    whole = [zero, *parts] if filled else list(parts)
    size = sum(part.size for part in whole)
    if len(whole) == 1:
        return taken(whole[0], places, label)
    if places.size == size and np.array_equal(places.ravel(), np.arange(size)):
        return joined(whole, places.shape, label)
    return taken(joined(whole, (size,), label), places, label)


def stacked(parts: Sequence[Symbol], axis: int = 0) -> Symbol:
    shapes = {part.shape for part in parts}
    if len(shapes) != 1:
        raise ModelError("arrays of different shapes cannot be stacked: "
                         + ", ".join(f"{part.label} is {told(part.shape)}" for part in parts))
    return moved(lambda *places: np.stack(places, axis), parts,
                 f"[{', '.join(part.label for part in parts)}]")


def broadcast(symbol: Symbol, shape: tuple[int, ...]) -> Symbol:
    if symbol.shape == shape or not symbol.shape:
        return symbol
    places = np.broadcast_to(np.arange(symbol.size).reshape(symbol.shape), shape)
    return taken(symbol, places, symbol.label)


# ---- Operations.


def unary(op: str, of: Any) -> Symbol:
    symbol = as_symbol(of)
    label = f"-{enclosed(symbol)}" if op == "neg" else f"{op}({symbol.label})"
    if symbol.is_condition and op != "abs":
        raise ModelError(f"{label}: {symbol.label} is a condition" + NO_NUMBERS)
    return symbol if op == "positive" else Symbol(op, (symbol,), symbol.shape, label)


def binary(op: str, a: Any, b: Any) -> Symbol:
    one, other = as_symbol(a), as_symbol(b)
    label = (f"{op}({one.label}, {other.label})" if op.isalpha() and op not in ("and", "or")
             else f"{enclosed(one)} {op} {enclosed(other)}")
    if one.is_condition and other.is_condition:  # True + True is True
        op = {"+": "or", "*": "and"}.get(op, op)
        if op in ("-", "**", "fmod", "hypot"):
            raise ModelError(f"{label} has two conditions{NO_NUMBERS}")
    try:
        shape = np.broadcast_shapes(one.shape, other.shape)
    except ValueError:
        raise ModelError(f"shapes do not fit in {label}: {one.label} is {told(one.shape)}, "
                         f"{other.label} is {told(other.shape)}") from None
    return Symbol(op, (broadcast(one, shape), broadcast(other, shape)), shape, label)


def logical(op: str, sign: str, a: Any, b: Any) -> Symbol:
    """An operator of two conditions; NumPy has none for other numbers."""
    for one in (as_symbol(a), as_symbol(b)):
        if not one.is_condition:
            raise ModelError(f"the operator {sign} takes conditions, and {one.label} is none; "
                             "compare it, as in x > 0, or use np.logical_and")
    return binary(op, a, b)


def product(a: Symbol, b: Symbol) -> Symbol:
    label = f"{enclosed(a)} @ {enclosed(b)}"
    if not a.shape or not b.shape or a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise ModelError(f"shapes do not fit in {label}: {a.label} is {told(a.shape)}, "
                         f"{b.label} is {told(b.shape)}"
                         + ("; use * for scalars" if not a.shape or not b.shape else ""))
    if a.is_condition and b.is_condition:
        raise ModelError(f"{label} has two conditions: NumPy's product of these does not count; "
                         "multiply one of them by 1.0")
    if b.ndim == 1 and a.op == "matmul" and a.ndim == 2:  # (A B) x costs more than A (B x)
        vector = product(a.args[1], b)
        return Symbol("matmul", (a.args[0], vector), a.args[0].shape[:-1], label)
    if a.ndim > 2 or b.ndim > 2:
        return batched_product(a, b, label)
    return Symbol("matmul", (a, b), (*a.shape[:-1], *b.shape[1:]), label)


def batched_product(a: Symbol, b: Symbol, label: str) -> Symbol:
    """A product over leading axes, as one of two lists of matrices, or of two matrices."""
    if b.ndim <= 2:  # all rows at once
        return cast(Symbol, product(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1],
                                                                           *b.shape[1:]))
    if a.ndim == 1:
        return product(b.mT, a)
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ModelError(f"shapes do not fit in {label}: {a.label} is {told(a.shape)}, {b.label} "
                         f"is {told(b.shape)}") from None
    count = int(np.prod(lead, dtype=int))
    parts = [broadcast(one, (*lead, *one.shape[-2:])).reshape(
        *((count,) if count > 1 else ()), *one.shape[-2:]) for one in (a, b)]
    rows, columns = a.shape[-2], b.shape[-1]
    if count == 1:
        return cast(Symbol, product(*parts).reshape(*lead, rows, columns))
    found = Symbol("matmul", parts, (count, rows, columns), label)
    return cast(Symbol, found.reshape(*lead, rows, columns))


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


def reduced(op: str, of: Any, axis: Any = None, keepdims: Any = False) -> Symbol:
    """The sum, maximum or log-sum-exp along axes; None: of all entries."""
    symbol = as_symbol(of)
    label = f"{op}({symbol.label})"
    # NumPy checks the axes and finds the shape.
    shape = np.any(np.broadcast_to(False, symbol.shape), axis=axis, keepdims=keepdims).shape
    axes = range(symbol.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    along = {operator.index(one) % symbol.ndim for one in axes} if symbol.ndim else set()
    if not along:
        return binary("*", symbol, 1.0) if op == "sum" and symbol.is_condition else symbol
    if symbol.size == 0:
        if op == "sum":
            return as_symbol(np.zeros(shape))
        raise ModelError(f"{label}: the array is {told(symbol.shape)} and has no numbers")
    if len(along) == symbol.ndim:
        found = Symbol(op, (symbol.reshape(symbol.size),), (), label)
    else:
        others = [one for one in range(symbol.ndim) if one not in along]
        rows = symbol.transpose([*others, *sorted(along)]).reshape(
            [symbol.shape[one] for one in others] + [-1])
        found = Symbol(op, (rows,), rows.shape[:-1], label)
    return found.reshape(shape)


# ---- Places that are numbers of a model.


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
        columns = index.value.ravel() if index.op == "take" else np.arange(rows.shape[1])
        rows = rows[:, columns]
        for column in columns:  # a file of --problem may replace the samples
            known = taken_from.limits.get(int(column), count)
            taken_from.limits[int(column)] = min(count, known)
    wrong = np.argwhere(~np.isin(rows, np.arange(count)))
    if len(wrong):
        value = rows[tuple(wrong[0])]
        place = "" if index.op == "constant" else f" {index.label} of sample {wrong[0][0]}"
        raise ModelError(f"{what}{place} is {value:g}; it must be a whole number from 0 to "
                         f"{count - 1}")


def at_place(index: Symbol, count: int, what: str) -> Symbol:
    """Vector of `count` entries that is 1 at the place `index`, or such a row for each entry of an
    index; messages call the index `what`."""
    require_places(index, count, what)
    found = binary("==", np.arange(float(count)),
                   index.reshape(*index.shape, 1) if index.shape else index)
    found.is_condition = False  # numbers, which can be counted
    return found


def chosen_rows(table: Symbol, index: Symbol, what: str) -> Symbol:
    """Row index[i] of a matrix for each i."""
    require_places(index, len(table), what)
    if index.op == "constant":
        return taken(table, np.arange(table.size).reshape(table.shape)[index.value.astype(int)],
                     f"{enclosed(table)}[{index.label}]")
    is_of_data = [any(node.op == "data" for node in in_order([one])) for one in (table, index)]
    if is_of_data != [False, True]:
        return product(at_place(index, len(table), what), table)
    return Symbol("rows", (table, index), (*index.shape, table.shape[1]),
                  f"{enclosed(table)}[{index.label}]")


def counted(number: Any, what: str) -> int:
    """Returns a whole number above 0, or refuses the number, which messages call `what`."""
    try:
        count = operator.index(number)
    except TypeError:
        count = 0
    if count < 1:
        raise ModelError(f"{what} is {number}; it must be a whole number above 0")
    return count


def one_hot(index: Any, classes: int) -> Symbol:
    """Vector that is 1 at a whole number's place, and 0 elsewhere; a row for each entry of an
    index."""
    return at_place(as_symbol(index), counted(classes, "one_hot: classes"), "one_hot: the index")
