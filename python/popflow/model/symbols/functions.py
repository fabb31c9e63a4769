"""NumPy's functions, ufuncs and methods for symbols, with their whole signatures.

A row of a table is a function with NumPy's own arguments. The mark NO is the default of an argument
that models do not take. Functions that only move entries run NumPy's own function on the entries'
places, and reductions let NumPy check the axes, so that both mean what NumPy means.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..errors import ModelError
from .symbol import (
    FUNCTIONS,
    METHODS,
    MOST_AXES,
    UFUNC_REDUCTIONS,
    UFUNCS,
    Symbol,
    as_symbol,
    binary,
    broadcast,
    holds_symbols,
    logical,
    moved,
    product,
    reduced,
    taken,
    told,
    unary,
    where,
)


class Unsupported:
    """Marks arguments that models do not take."""


NO: Any = Unsupported()
MISSING = cast(Any, np)._NoValue
SAME = {"where": (True,), "dtype": (float, np.float64, "float64", np.dtype(float)),
        "casting": ("same_kind",), "subok": (True, False), "returned": (False,),
        "order": ("C", "K")}  # values that change nothing
# Slope of the cube root at the smallest positive number.
STEEPEST_CUBE_ROOT = float(np.finfo(float).tiny ** (-2 / 3) / 3)


def checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose errors name the function and the argument."""
    signature = inspect.signature(function)
    taken_ones = [one.name for one in signature.parameters.values() if one.default is not NO]

    def call(*args: Any, **kwargs: Any) -> Any:
        refused = f"; in models its arguments are {', '.join(taken_ones)}"
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ModelError(f"{name}: {error}{refused}") from None
        for argument, value in list(bound.arguments.items()):
            unsupported = signature.parameters[argument].default is NO
            if unsupported and value is not None and value is not MISSING and not any(
                    type(value) is type(one) and value == one for one in SAME.get(argument, ())):
                raise ModelError(f"{name} takes no {argument} in models: leave it out{refused}")
            if unsupported or value is MISSING:
                del bound.arguments[argument]
        try:
            return function(*bound.args, **bound.kwargs)
        except ModelError:
            raise
        except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError,
                MemoryError, AttributeError) as error:
            raise ModelError(f"{name}: {error}{refused}") from None

    call.__name__ = name
    return call


# ---- Moves of entries.


def moves(function: Callable[..., Any], filled: bool = False) -> Callable[..., Symbol]:
    """A function of one array that only moves entries, or fills up with zeros."""
    def of(a: Any, *others: Any, **more: Any) -> Symbol:
        symbol = as_symbol(a)
        if more.get("order", "C") not in ("C", "F"):
            raise ModelError(f"order is {more['order']!r}; symbols have no order in memory, so "
                             "that it must be 'C' or 'F'")
        return moved(lambda places: function(places, *others, **more), [symbol], symbol.label,
                     filled)
    return of


def joins(function: Callable[..., Any]) -> Callable[..., Symbol]:
    """A function that joins a sequence of arrays."""
    def of(arrays: Any, *others: Any) -> Symbol:
        parts = [as_symbol(one) for one in arrays]
        label = f"[{', '.join(part.label for part in parts)}]"
        return moved(lambda *places: function(places, *others), parts, label)
    return of


def of_each(function: Callable[..., Any]) -> Callable[..., Any]:
    def of(*arrays: Any) -> Any:
        found = [moves(function)(one) for one in arrays]
        return found[0] if len(found) == 1 else found
    return of


def takes(a: Any, indices: Any, axis: Any, mode: str) -> Symbol:
    symbol = as_symbol(a)
    if not holds_symbols(indices):
        return moves(np.take)(symbol, indices, axis, None, mode)
    if mode != "raise" or axis not in (None, 0) or (axis is None and symbol.ndim > 1):
        raise ModelError(f"np.take({symbol.label}) takes an index of the model along the first "
                         "axis only: axis=0, without mode")
    return symbol[as_symbol(indices)]


def filled_like(a: Any, value: Any) -> Symbol:
    symbol = as_symbol(a)
    given = holds(value) if symbol.is_condition else numbers(value)
    return moves(np.broadcast_to)(given, symbol.shape)


# ---- Reductions.


def numbers(a: Any) -> Symbol:
    """The numbers 0 and 1 of a condition; other numbers as they are."""
    symbol = as_symbol(a)
    return symbol * 1.0 if symbol.is_condition else symbol


def holds(a: Any) -> Symbol:
    symbol = as_symbol(a)
    return symbol if symbol.is_condition else symbol != 0.0


def mean(a: Any, axis: Any, keepdims: Any) -> Symbol:
    symbol = as_symbol(a)
    if not symbol.size:
        raise ModelError(f"mean({symbol.label}): the array has no numbers")
    np.mean(np.broadcast_to(1.0, symbol.shape), axis)  # checks the axis
    found = reduced("sum", symbol, axis, keepdims)
    return found / (symbol.size // found.size)


def minimum_of(a: Any, axis: Any, keepdims: Any) -> Symbol:
    symbol = as_symbol(a)
    negative = Symbol("neg", (symbol,), symbol.shape, symbol.label)
    largest = reduced("max", negative, axis, keepdims)
    found = Symbol("neg", (largest,), largest.shape, f"min({symbol.label})")
    found.is_condition = symbol.is_condition
    return found


def multiplied(a: Any, axis: Any, keepdims: Any) -> Symbol:
    symbol = numbers(a)
    shape = np.any(np.broadcast_to(False, symbol.shape), axis=axis, keepdims=keepdims).shape
    if symbol.size == 0:
        return as_symbol(np.ones(shape))
    axes = range(symbol.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    along = {operator.index(one) % symbol.ndim for one in axes} if symbol.ndim else set()
    parts: list[Symbol] = [symbol]
    if len(along) == symbol.ndim:
        parts = list(symbol.ravel())
    elif along:
        others = [one for one in range(symbol.ndim) if one not in along]
        parts = list(symbol.transpose([*sorted(along), *others]).reshape(
            [-1] + [symbol.shape[one] for one in others]))
    found = functools.reduce(operator.mul, parts)
    return cast(Symbol, found.reshape(shape))


def variance(a: Any, axis: Any, ddof: Any, keepdims: Any) -> Symbol:
    symbol = as_symbol(a)
    centre = mean(symbol, axis, True)
    count = symbol.size // centre.size
    if count <= ddof:
        raise ModelError(f"var({symbol.label}) has {count} numbers and ddof = {ddof}; it needs "
                         "more numbers")
    return reduced("sum", (symbol - centre) ** 2, axis, keepdims) / (count - ddof)


def cumulative_sum(a: Any, axis: Any) -> Symbol:
    symbol = as_symbol(a)
    np.cumsum(np.zeros(symbol.shape), axis)  # checks the axis
    if axis is None or symbol.ndim <= 1:
        return product(as_symbol(np.tri(symbol.size)), symbol.ravel())
    front = moves(np.moveaxis)(symbol, axis, 0)
    count = len(front)
    found = product(as_symbol(np.tri(count)), front.reshape(count, -1)).reshape(front.shape)
    return moves(np.moveaxis)(found, 0, axis)


def differences(a: Any, n: Any, axis: Any) -> Symbol:
    symbol = as_symbol(a)
    np.diff(np.zeros(symbol.shape), n, axis)  # checks the arguments
    for _ in range(n):
        count = symbol.shape[axis]
        symbol = moves(np.take)(symbol, range(1, count), axis) \
            - moves(np.take)(symbol, range(count - 1), axis)
    return symbol


def average(a: Any, axis: Any, weights: Any, keepdims: Any) -> Symbol:
    symbol = as_symbol(a)
    if weights is None:
        return mean(symbol, axis, keepdims)
    w = as_symbol(weights)
    np.average(np.zeros(symbol.shape), axis, np.ones(w.shape))  # checks the shapes
    if w.shape != symbol.shape:  # along one axis, or (NumPy 2) some axes in their order
        axes = [one % symbol.ndim for one in (axis if isinstance(axis, tuple) else (axis,))]
        w = w.transpose(tuple(np.argsort(axes).tolist()))
        shape = [size if i in axes else 1 for i, size in enumerate(symbol.shape)]
        w = broadcast(w.reshape(shape), symbol.shape)
    return reduced("sum", symbol * w, axis, keepdims) / reduced("sum", w, axis, keepdims)


def norm(x: Any, ord: Any, axis: Any, keepdims: Any) -> Symbol:
    """np.linalg.norm of vectors and matrices, except for norms that need singular values."""
    symbol = numbers(x)
    if ord in (2, -2, "nuc") and (len(axis) if isinstance(axis, tuple) else
                                  symbol.ndim if axis is None else 1) == 2:
        raise ModelError(f"np.linalg.norm({symbol.label}) has ord = {ord!r}; in models ord of a "
                         "matrix is None, fro, 1, -1, inf, -inf")
    np.linalg.norm(np.ones(symbol.shape), ord, axis, keepdims)  # checks the arguments
    if axis is None:
        axis = tuple(range(symbol.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if ord in (None, 2, "fro", "f"):
        return unary("sqrt", reduced("sum", symbol * symbol, axis, keepdims))
    size = unary("abs", symbol)
    if len(axes) == 2:
        lines = reduced("sum", size, axes[0] if abs(ord) == 1 else axes[1], True)
        return reduced("max", lines, axes, keepdims) if ord > 0 else \
            minimum_of(lines, axes, keepdims)
    if ord == np.inf:
        return reduced("max", size, axis, keepdims)
    if ord == -np.inf:
        return minimum_of(size, axis, keepdims)
    if ord == 0:
        return reduced("sum", symbol != 0.0, axis, keepdims)
    if ord == 1:
        return reduced("sum", size, axis, keepdims)
    return reduced("sum", size ** ord, axis, keepdims) ** (1 / ord)


MOST_IN_EINSUM = 1_000_000  # products


def einsum(subscripts: Any, *operands: Any) -> Symbol:
    """np.einsum with subscripts in a text."""
    symbols = [as_symbol(one) for one in operands]
    given, arrow, out = str(subscripts).replace(" ", "").partition("->")
    if not isinstance(subscripts, str) or not (given + out).replace(",", "").isalpha():
        raise ModelError("np.einsum in models takes its subscripts as a text of letters without "
                         "'...', such as 'ij,jk->ik'")
    parts = given.split(",")
    if not arrow:
        out = "".join(sorted(one for one in set(given) - {","} if given.count(one) == 1))
    if len(parts) != len(symbols):
        raise ModelError(f"np.einsum('{subscripts}') has {len(parts)} terms and {len(symbols)} "
                         "arrays")
    if symbols and all(symbol.is_condition for symbol in symbols):
        raise ModelError(f"np.einsum('{subscripts}') has conditions only, which NumPy does not "
                         "count; multiply one of them by 1.0")
    sizes: dict[str, int] = {}
    for part, symbol in zip(parts, symbols):
        if len(part) != symbol.ndim:
            raise ModelError(f"np.einsum('{subscripts}'): {part} stands for {symbol.label}, which "
                             f"is {told(symbol.shape)}")
        for letter, size in zip(part, symbol.shape):
            if sizes.setdefault(letter, size) != size:
                raise ModelError(f"np.einsum('{subscripts}'): the index {letter} has the lengths "
                                 f"{sizes[letter]} and {size}")
    if len(out) > MOST_AXES or len(set(out)) < len(out) or any(one not in sizes for one in out):
        raise ModelError(f"np.einsum('{subscripts}'): the result must have up to {MOST_AXES} "
                         "different indices of the arrays")
    if len(parts) == 2 and all(len(set(part)) == len(part) for part in parts) and any(
            one in parts[1] and one not in out for one in parts[0]):
        return product_of_two(parts, symbols, out, sizes)
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
    return cast(Symbol, reduced("sum", found.reshape(rows, -1), 1).reshape(shape))


def product_of_two(parts: list[str], symbols: list[Symbol], out: str, sizes: dict[str, int]
                   ) -> Symbol:
    """An einsum of two arrays that share indices which the result lacks, as a product."""
    for place, other in ((0, 1), (1, 0)):  # indices of one array that the result lacks
        lonely = [one for one in parts[place] if one not in out and one not in parts[other]]
        if lonely:
            symbols[place] = numbers(reduced("sum", symbols[place], tuple(
                parts[place].index(one) for one in lonely)))
            parts[place] = "".join(one for one in parts[place] if one not in lonely)
    left, right = parts
    batch = [one for one in left if one in right and one in out]
    inner = [one for one in left if one in right and one not in out]
    rows, columns = ([one for one in part if one in out and one not in batch] for part in parts)

    def arranged(place: int, *groups: list[str]) -> Symbol:
        order = [parts[place].index(one) for group in groups for one in group]
        return cast(Symbol, symbols[place].transpose(order).reshape(
            [int(np.prod([sizes[one] for one in group], dtype=int)) for group in groups if group]))

    first, second = arranged(0, batch, rows, inner), arranged(1, batch, inner, columns)
    if batch and not rows:
        first = first[:, None, :]
    if batch and not columns:
        second = second[:, :, None]
    found = product(first, second)
    made = [*batch, *rows, *columns]
    return cast(Symbol, found.reshape([sizes[one] for one in made]).transpose(
        [made.index(one) for one in out]))


# ---- Products.


def dot(a: Any, b: Any) -> Symbol:
    one, other = as_symbol(a), as_symbol(b)
    if not one.shape or not other.shape:
        return binary("*", one, other)
    if max(one.ndim, other.ndim) < 3 or one.shape[-1] != other.shape[max(other.ndim - 2, 0)]:
        return product(one, other)
    if other.ndim > 2:
        along = moves(np.moveaxis)(other, -2, 0)
        found = product(one.reshape(-1, one.shape[-1]), along.reshape(len(along), -1))
        return cast(Symbol, found.reshape(*one.shape[:-1], *along.shape[1:]))
    return product(one, other)


def inner(a: Any, b: Any) -> Symbol:
    one, other = as_symbol(a), as_symbol(b)
    if not one.shape or not other.shape or one.shape[-1] == other.shape[-1]:
        if one.ndim and other.ndim > 1 and one.ndim + other.ndim > 3:
            return dot(one, other.mT)
        return dot(one, other) if other.ndim < 2 else dot(other, one)
    raise ModelError(f"np.inner({one.label}, {other.label}): the last axes of {told(one.shape)} "
                     f"and {told(other.shape)} differ")


# ---- Functions entry by entry.


def maximum_of_numbers(a: Any, b: Any) -> Symbol:
    """np.fmax: the larger one, or that which is not NaN."""
    one, other = as_symbol(a), as_symbol(b)
    is_number = (other >= 0.0) | (other < 0.0)
    return where(is_number & ~(one >= other) & ~(one < other), other,
                 where(is_number, binary("maximum", one, other), one))


def remainder(a: Any, b: Any) -> Symbol:
    """np.remainder: of the sign of the divisor."""
    divisor = as_symbol(b)
    rest = binary("fmod", a, divisor)
    return where((rest != 0.0) & ((rest < 0.0) ^ (divisor < 0.0)), rest + divisor, rest)


def floor_divide(a: Any, b: Any) -> Symbol:
    divisor = as_symbol(b)
    quotient = binary("-", a, remainder(a, divisor)) / divisor
    return where(divisor == 0.0, binary("/", a, divisor), unary("floor", quotient + 0.5))


def log_of_sum(a: Any, b: Any) -> Symbol:
    one, other = as_symbol(a), as_symbol(b)
    # Both branches have all derivatives of the function where a = b.
    above = one > other
    return where(above, one, other) + unary(
        "log1p", unary("exp", where(above, other - one, one - other)))


def arccosh(x: Any) -> Symbol:
    above = as_symbol(x) - 1.0
    return unary("log1p", above + unary("sqrt", above) * unary("sqrt", as_symbol(x) + 1.0))


def cbrt(x: Any) -> Symbol:
    symbol = as_symbol(x)
    size = where(symbol == 0.0, 1.0, unary("abs", symbol))
    return where(symbol == 0.0, STEEPEST_CUBE_ROOT * symbol,
                 unary("sign", symbol) * size ** (1 / 3))


def heaviside(x: Any, h: Any) -> Symbol:
    symbol = as_symbol(x)
    return where(symbol == 0.0, h, where(symbol < 0.0, 0.0, where(symbol > 0.0, 1.0, symbol)))


def clip(a: Any, low: Any, high: Any) -> Symbol:
    found = as_symbol(a)
    found = found if low is None else binary("maximum", found, low)
    return found if high is None else binary("minimum", found, high)


def ufunc(name: str, function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """A ufunc with the arguments that all ufuncs have."""
    if inputs == 1:
        return checked(name, lambda x, /, out=NO, *, where=NO, casting=NO, order=NO, dtype=NO,
                       subok=NO, signature=NO: function(x))
    return checked(name, lambda x1, x2, /, out=NO, *, where=NO, casting=NO, order=NO, dtype=NO,
                   subok=NO, signature=NO: function(x1, x2))


_ONE: dict[str, Callable[[Any], Symbol]] = {
    **{name: functools.partial(unary, op) for name, op in {
        "negative": "neg", "absolute": "abs",
        **{same: same for same in (
            "positive", "exp", "expm1", "log", "log1p", "sqrt", "sign", "sin", "cos", "arcsin",
            "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "floor", "ceil",
            "erf")}}.items()},
    "fabs": lambda x: unary("abs", unary("positive", x)),
    "square": lambda x: unary("positive", x) * x,
    "reciprocal": lambda x: 1.0 / unary("positive", x),
    "tan": lambda x: unary("sin", x) / unary("cos", x),
    "log2": lambda x: unary("log", x) / float(np.log(2)),
    "log10": lambda x: unary("log", x) / float(np.log(10)),
    "exp2": lambda x: 2.0 ** unary("positive", x), "cbrt": cbrt, "arccosh": arccosh,
    "arctanh": lambda x: unary("log1p", 2 * unary("positive", x) / (1 - as_symbol(x))) / 2,
    "logical_not": lambda x: logical("==", "~", holds(x), False),
    "invert": lambda x: logical("==", "~", x, False),
    "trunc": lambda x: where(as_symbol(x) < 0, unary("ceil", x), unary("floor", x)),
    **dict.fromkeys(["deg2rad", "radians"], lambda x: unary("positive", x) * float(np.pi / 180)),
    **dict.fromkeys(["rad2deg", "degrees"], lambda x: unary("positive", x) * float(180 / np.pi))}
_TWO: dict[str, Callable[[Any, Any], Symbol]] = {
    **{name: functools.partial(binary, op) for name, op in {
        "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**",
        "float_power": "**", "maximum": "maximum", "minimum": "minimum", "less": "<",
        "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==",
        "not_equal": "!=", "fmod": "fmod", "hypot": "hypot"}.items()},
    "fmax": maximum_of_numbers,
    "fmin": lambda a, b: -maximum_of_numbers(-as_symbol(a), -as_symbol(b)),
    "logical_and": lambda a, b: binary("and", holds(a), holds(b)),
    "logical_or": lambda a, b: binary("or", holds(a), holds(b)),
    "logical_xor": lambda a, b: binary("!=", holds(a), holds(b)),
    "bitwise_and": functools.partial(logical, "and", "&"),
    "bitwise_or": functools.partial(logical, "or", "|"),
    "bitwise_xor": functools.partial(logical, "!=", "^"),
    "heaviside": heaviside, "remainder": remainder, "floor_divide": floor_divide,
    "logaddexp": log_of_sum}

# Functions by their names in NumPy.
TABLE: dict[str, Callable[..., Any]] = {
    "sum": lambda a, axis=None, dtype=NO, out=NO, keepdims=False, initial=NO, where=NO:
        reduced("sum", a, axis, keepdims),
    "mean": lambda a, axis=None, dtype=NO, out=NO, keepdims=False, *, where=NO:
        mean(a, axis, keepdims),
    "prod": lambda a, axis=None, dtype=NO, out=NO, keepdims=False, initial=NO, where=NO:
        multiplied(a, axis, keepdims),
    "max": lambda a, axis=None, out=NO, keepdims=False, initial=NO, where=NO:
        reduced("max", a, axis, keepdims),
    "min": lambda a, axis=None, out=NO, keepdims=False, initial=NO, where=NO:
        minimum_of(a, axis, keepdims),
    "ptp": lambda a, axis=None, out=NO, keepdims=False:
        reduced("max", a, axis, keepdims) - minimum_of(a, axis, keepdims),
    "var": lambda a, axis=None, dtype=NO, out=NO, ddof=0, keepdims=False, *, where=NO, mean=NO,
    correction=NO: variance(a, axis, ddof, keepdims),
    "std": lambda a, axis=None, dtype=NO, out=NO, ddof=0, keepdims=False, *, where=NO, mean=NO,
    correction=NO: unary("sqrt", variance(a, axis, ddof, keepdims)),
    "all": lambda a, axis=None, out=NO, keepdims=False, *, where=NO:
        minimum_of(holds(a), axis, keepdims),
    "any": lambda a, axis=None, out=NO, keepdims=False, *, where=NO:
        reduced("max", holds(a), axis, keepdims),
    "count_nonzero": lambda a, axis=None, *, keepdims=False:
        reduced("sum", holds(a), axis, keepdims),
    "average": lambda a, axis=None, weights=None, returned=NO, *, keepdims=False:
        average(a, axis, weights, keepdims),
    "clip": lambda a, a_min=None, a_max=None, out=NO, *, min=None, max=None, where=NO, casting=NO,
    order=NO, dtype=NO, subok=NO:
        clip(a, min if a_min is None else a_min, max if a_max is None else a_max),
    "cumsum": lambda a, axis=None, dtype=NO, out=NO: cumulative_sum(a, axis),
    "diff": lambda a, n=1, axis=-1, prepend=NO, append=NO: differences(a, n, axis),
    "linalg.norm": lambda x, ord=None, axis=None, keepdims=False: norm(x, ord, axis, keepdims),
    "einsum": lambda *operands, out=NO, dtype=NO, order=NO, casting=NO, optimize=False:
        einsum(*operands),
    "dot": lambda a, b, out=NO: dot(a, b), "inner": lambda a, b, /: inner(a, b),
    "vdot": lambda a, b, /: product(as_symbol(a).reshape(-1), as_symbol(b).reshape(-1)),
    "outer": lambda a, b, out=NO:
        binary("*", as_symbol(a).reshape(-1, 1), as_symbol(b).reshape(1, -1)),
    "polyval": lambda p, x: functools.reduce(lambda found, one: found * x + one, as_symbol(p),
                                             filled_like(x, 0.0)),
    "where": lambda condition, x, y, /: where(condition, x, y),
    "trace": lambda a, offset=0, axis1=0, axis2=1, dtype=NO, out=NO:
        reduced("sum", moves(np.diagonal)(a, offset, axis1, axis2), -1),
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: moves(np.diagonal)(a, offset, axis1, axis2),
    "diag": lambda v, k=0: moves(np.diag, True)(v, k),
    "tril": lambda m, k=0: moves(np.tril, True)(m, k),
    "triu": lambda m, k=0: moves(np.triu, True)(m, k),
    "take": lambda a, indices, axis=None, out=NO, mode="raise": takes(a, indices, axis, mode),
    "transpose": lambda a, axes=None: moves(np.transpose)(a, axes),
    "swapaxes": lambda a, axis1, axis2: moves(np.swapaxes)(a, axis1, axis2),
    "moveaxis": lambda a, source, destination: moves(np.moveaxis)(a, source, destination),
    "ravel": lambda a, order="C": moves(np.ravel)(a, order=order),
    "reshape": lambda a, newshape=MISSING, order="C", *, shape=MISSING, copy=NO:
        moves(np.reshape)(a, shape if newshape is MISSING else newshape, order=order),
    "squeeze": lambda a, axis=None: moves(np.squeeze)(a, axis),
    "expand_dims": lambda a, axis: moves(np.expand_dims)(a, axis),
    "broadcast_to": lambda array, shape, subok=NO: moves(np.broadcast_to)(array, shape),
    "flip": lambda m, axis=None: moves(np.flip)(m, axis),
    "fliplr": lambda m: moves(np.fliplr)(m), "flipud": lambda m: moves(np.flipud)(m),
    "roll": lambda a, shift, axis=None: moves(np.roll)(a, shift, axis),
    "rot90": lambda m, k=1, axes=(0, 1): moves(np.rot90)(m, k, axes),
    "repeat": lambda a, repeats, axis=None: moves(np.repeat)(a, repeats, axis),
    "tile": lambda A, reps: moves(np.tile)(A, reps),
    "atleast_1d": lambda *arys: of_each(np.atleast_1d)(*arys),
    "atleast_2d": lambda *arys: of_each(np.atleast_2d)(*arys),
    "stack": lambda arrays, axis=0, out=NO, *, dtype=NO, casting=NO: joins(np.stack)(arrays, axis),
    "concatenate": lambda arrays, /, axis=0, out=NO, *, dtype=NO, casting=NO:
        joins(np.concatenate)(arrays, axis),
    "vstack": lambda tup, *, dtype=NO, casting=NO: joins(np.vstack)(tup),
    "hstack": lambda tup, *, dtype=NO, casting=NO: joins(np.hstack)(tup),
    "column_stack": lambda tup: joins(np.column_stack)(tup),
    "zeros_like": lambda a, dtype=NO, order=NO, subok=NO, shape=NO: filled_like(a, 0.0),
    "ones_like": lambda a, dtype=NO, order=NO, subok=NO, shape=NO: filled_like(a, 1.0),
    "full_like": lambda a, fill_value, dtype=NO, order=NO, subok=NO, shape=NO:
        filled_like(a, fill_value),
    "ndim": lambda a: as_symbol(a).ndim, "shape": lambda a: as_symbol(a).shape,
    "size": lambda a, axis=None: np.size(np.broadcast_to(0, as_symbol(a).shape), axis)}

# Methods whose arguments differ from those of the function with the same name.
OWN_METHODS: dict[str, Callable[..., Any]] = {
    "clip": lambda a, min=None, max=None, out=NO, *, where=NO, casting=NO, order=NO, dtype=NO,
    subok=NO: clip(a, min, max),
    "reshape": lambda a, *shape, order="C", copy=NO:
        moves(np.ndarray.reshape)(a, *shape, order=order),
    "transpose": lambda a, *axes: moves(np.ndarray.transpose)(a, *axes),
    "flatten": lambda a, order="C": moves(np.ravel)(a, order=order),
    "copy": lambda a, order="C": a}
SAME_METHODS = ("sum", "mean", "prod", "max", "min", "ptp", "var", "std", "all", "any", "cumsum",
                "dot", "trace", "diagonal", "take", "swapaxes", "ravel", "squeeze", "repeat")
REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod",
              "logical_and": "all", "logical_or": "any"}

for _name, _function in TABLE.items():
    FUNCTIONS[operator.attrgetter(_name)(np)] = checked(f"np.{_name}", _function)
for _name in SAME_METHODS:
    METHODS[_name] = checked(_name, TABLE[_name])
for _name, _function in OWN_METHODS.items():
    METHODS[_name] = checked(_name, _function)
for _name, _of_one in _ONE.items():
    UFUNCS[_name] = ufunc(f"np.{_name}", _of_one, 1)
for _name, _of_two in _TWO.items():
    UFUNCS[_name] = ufunc(f"np.{_name}", _of_two, 2)
UFUNCS["matmul"] = checked(
    "np.matmul", lambda x1, x2, /, out=NO, *, casting=NO, order=NO, dtype=NO, subok=NO,
    signature=NO, axes=NO, axis=NO, keepdims=NO: product(as_symbol(x1), as_symbol(x2)))
for _name, _of in REDUCTIONS.items():
    UFUNC_REDUCTIONS[_name] = checked(
        f"np.{_name}.reduce", lambda array, axis=0, dtype=NO, out=NO, keepdims=False, initial=NO,
        where=NO, _of=_of: TABLE[_of](array, axis=axis, keepdims=keepdims))
