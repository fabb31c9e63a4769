# label: fast
"""NumPy's functions mean in models what they mean in NumPy, or are refused by name."""

import warnings

import numpy as np
import pytest

from popflow.model import ModelError
from popflow.model.symbols import Symbol, evaluated
from popflow.model.symbols.functions import FUNCTIONS, METHODS, NO, TABLE, UFUNC_REDUCTIONS, UFUNCS

DRAWS = 80  # of each function, from a seed of its own
SHAPES = [(), (1,), (2,), (3,), (4,), (1, 1), (1, 3), (3, 1), (2, 3), (3, 2), (3, 3), (4, 3),
          (2, 3, 2), (2, 1, 3), (1, 3, 3), (3, 2, 2, 1)]
AXES = [None, None, 0, 1, -1, -2, 2, (0,), (0, 1), (1, 0), (-1,), (0, 0), (),
        (0, 2), (2, 1), -3]
DROPPED = object()


class Draw:
    """Random arrays, each with a symbol that stands for it, and random other arguments."""

    def __init__(self, seed):
        self.random, self.known, self.kept = np.random.default_rng(seed), {}, []

    def one_of(self, values):
        return values[self.random.integers(len(values))]

    def array(self, shape=None, positive=False, conditions=True):
        """Returns an array, and a symbol with the same values: of few numbers, so that there are
        ties and zeros; of any numbers; or of conditions."""
        shape = self.one_of(SHAPES) if shape is None else shape
        kind = self.random.integers(4 if conditions else 3)
        numbers = self.random.integers(-2, 3, size=shape) * 1.0 if kind == 0 else \
            self.random.normal(size=shape)
        numbers = np.asarray(np.abs(numbers) + 0.1 if positive else numbers)
        symbol = Symbol("weights", (), shape, f"a{len(self.kept)}", len(self.kept))
        self.known[id(symbol)] = numbers
        self.kept.append(symbol)
        return (np.asarray(numbers > 0), symbol > 0) if kind == 3 else (numbers, symbol)

    def arrays(self):
        """Returns a list of arrays, most of them of shapes that fit."""
        shape = self.one_of(SHAPES)
        return [self.array(shape if self.random.random() < 0.8 else None)
                for _ in range(self.random.integers(1, 4))]

    def pair(self):
        a = self.array()
        shape = a[0].shape
        turned = (*shape[:-2], *shape[:-3:-1])  # with the last two axes transposed
        return a, self.array(self.one_of([shape, shape[::-1], shape[-1:], turned, turned[-2:],
                                          None]))


def axis(d): return d.one_of([DROPPED, *AXES])
def keep(d): return d.one_of([DROPPED, False, True])
def small(d): return int(d.random.integers(-3, 4))
def places(d): return d.one_of([0, -1, 2, [0, 1], [-1, 0, 0], [[0, 1], [1, 0]], 7])


def one(**others):
    return lambda d: ([d.array()], {name: make(d) for name, make in others.items()})


def two(d):
    return list(d.pair()), {}


def of_list(**others):
    return lambda d: ([d.arrays()], {name: make(d) for name, make in others.items()})


def reshaped(d):
    a = d.array()
    shape = d.one_of([-1, a[0].size, a[0].shape[::-1], (-1, 1), (1, -1), (2, -1), (3, 2), (5,)])
    return [a, shape], {"order": d.one_of([DROPPED, "C", "F"])}


def clipped(d):
    a = d.array()
    bounds = [d.one_of([None, -0.5, 0, d.array(a[0].shape)]), d.one_of([0.7, 1, d.array(())])]
    return [a, *bounds], {}


def averaged(d):
    a = d.array()
    shape = d.one_of([a[0].shape, a[0].shape[:1], a[0].shape[-1:], (2,)])
    return [a], {"axis": axis(d), "weights": d.one_of([None, d.array(shape, positive=True)]),
                 "keepdims": keep(d)}


def contracted(d):
    text = d.one_of(["ij,jk->ik", "ij,kj->ik", "ij,ij->", "ij->j", "ij->ji", "ij", "ji",
                     "ii->i", "ii", "i,j->ij", "i,i", "i,i->i", "ij,j", "j,ij->i", "ij,jk,k->i",
                     "ij,ik->jk", "ij,kjl->kil", "kij,kjl->kil", "kij,kjl->ilk", "kij,kj->ki",
                     "kij,kji->k", "kij,ijk->", "kij,jl->li", "kij,jlm->klmi", "ij,jk,kl->il",
                     "ijk->kji", "ij,k->kij", "iij,ij->j"])
    lengths = {letter: int(d.random.integers(1, 4)) for letter in "ijklm"}
    parts = [d.array(tuple(lengths[letter] for letter in part), conditions=False)
             for part in text.split("->")[0].split(",")]
    return [text, *parts], {}


ARGUMENTS = {
    **{name: one(axis=axis, keepdims=keep) for name in (
        "sum", "mean", "prod", "max", "min", "ptp", "all", "any", "count_nonzero")},
    **{name: one(axis=axis, keepdims=keep, ddof=lambda d: d.one_of([DROPPED, 0, 1])) for name in (
        "var", "std")},
    "average": averaged, "clip": clipped, "cumsum": one(axis=axis), "einsum": contracted,
    "diff": one(n=lambda d: d.one_of([DROPPED, 1, 2, 0, 3, -1]), axis=axis),
    "linalg.norm": one(ord=lambda d: d.one_of(
        [DROPPED, None, 1, 2, np.inf, -np.inf, -1, 0, 3, 1.5, "fro", "nuc", "f"]), axis=axis,
        keepdims=keep),
    **{name: two for name in ("dot", "inner", "vdot", "outer")},
    "polyval": lambda d: ([d.array(d.one_of([(1,), (3,), (2, 2)])), d.array()], {}),
    "where": lambda d: ([d.array(), *d.pair()], {}),
    **{name: one(offset=small, axis1=lambda d: d.one_of([DROPPED, 0, 1, -1]),
                 axis2=lambda d: d.one_of([DROPPED, 0, 1, 2])) for name in ("trace", "diagonal")},
    **{name: one(k=small) for name in ("diag", "tril", "triu")},
    "take": lambda d: ([d.array(), places(d)], {
        "axis": axis(d), "mode": d.one_of([DROPPED, "raise", "clip", "wrap"])}),
    "transpose": one(axes=lambda d: d.one_of(
        [DROPPED, None, (1, 0), (0, 1), (0,), (-1, 0), (0, 0), (0, 2, 1), (2, 0, 1)])),
    "swapaxes": lambda d: ([d.array(), d.one_of([0, 1, -1, 2]), d.one_of([0, 1, -2])], {}),
    "moveaxis": lambda d: ([d.array(), d.one_of([0, 1, -1, 2, (0, 1)]),
                            d.one_of([0, 1, -2, (1, 0)])], {}),
    "ravel": one(order=lambda d: d.one_of([DROPPED, "C", "F"])), "reshape": reshaped,
    "squeeze": one(axis=axis), "expand_dims": lambda d: ([d.array()], {
        "axis": d.one_of([0, 1, -1, 2, (0, 1), 5])}),
    "broadcast_to": lambda d: ([d.array(), d.one_of([(3,), (2, 3), (3, 3), 3, (4, 1), ()])], {}),
    "flip": one(axis=axis), "fliplr": one(), "flipud": one(),
    "roll": lambda d: ([d.array(), d.one_of([1, -2, 0, (1, 2)])], {"axis": axis(d)}),
    "rot90": one(k=small, axes=lambda d: d.one_of([DROPPED, (0, 1), (1, 0), (0, 0)])),
    "repeat": lambda d: ([d.array(), d.one_of([2, 0, [1, 2], [2, 0, 1]])], {"axis": axis(d)}),
    "tile": lambda d: ([d.array(), d.one_of([2, (2,), (2, 1), (1, 2), (2, 2, 1)])], {}),
    **{name: one() for name in ("atleast_1d", "atleast_2d", "zeros_like", "ones_like", "ndim",
                                "shape")},
    "full_like": lambda d: ([d.array(), d.one_of([2.0, -1, d.array(())])], {}),
    "size": one(axis=lambda d: d.one_of([DROPPED, None, 0, 1, -1, 2])),
    "stack": of_list(axis=lambda d: d.one_of([DROPPED, 0, 1, -1, -2, 2])),
    "concatenate": of_list(axis=lambda d: d.one_of([DROPPED, None, 0, 1, -1, -2, 2])),
    **{name: of_list() for name in ("vstack", "hstack", "column_stack")}}

METHOD_ARGUMENTS = {
    **{name: ARGUMENTS[name] for name in METHODS if name in ARGUMENTS},
    "clip": lambda d: ([d.array(), d.one_of([None, -0.5]), d.one_of([0.5, 1.0])], {}),
    "reshape": lambda d: ([d.array(), *d.one_of([(-1,), (1, -1), (3, 2), ((2, -1),), (2, 2)])],
                          {"order": d.one_of([DROPPED, "C", "F"])}),
    "transpose": lambda d: ([d.array(), *d.one_of([(), (1, 0), ((1, 0),), (None,), (0,)])], {}),
    "flatten": one(order=lambda d: d.one_of([DROPPED, "C", "F"])), "copy": one()}

# NumPy's own ufuncs; erf is SciPy's.
ELEMENTWISE = sorted({*UFUNCS} - {"erf", "matmul"})
DOMAINS = {"log": 3, "log2": 3, "log10": 3, "sqrt": 3, "power": 3, "float_power": 3, "arccosh": 3}


def values(argument, which):
    """Replaces pairs of an array and its symbol by one of the two."""
    if isinstance(argument, tuple) and len(argument) == 2 and isinstance(argument[1], Symbol):
        return argument[which]
    if isinstance(argument, list):
        return [values(item, which) for item in argument]
    return argument


def called(function, args, kwargs, which):
    kwargs = {name: values(value, which) for name, value in kwargs.items() if value is not DROPPED}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*[values(one, which) for one in args], **kwargs)


def agrees(function, draw, args, kwargs):
    """Calls a function with arrays and with symbols; returns whether both have a value, and fails
    if these differ or if an error is not the package's own."""
    try:
        expected = called(function, args, kwargs, 0)
    except Exception:  # whatever NumPy refuses
        with pytest.raises((ModelError, TypeError)) as raised:
            called(function, args, kwargs, 1)
        assert isinstance(raised.value, ModelError) or "unexpected keyword" in str(raised.value)
        return False
    try:
        found = called(function, args, kwargs, 1)
    except ModelError as error:
        allowed = ("have at most 4", "a condition", "conditions", "no numbers", "more numbers",
                   "has ord =", "takes conditions",
                   *(["shapes do not fit"] if isinstance(expected, (bool, type(NotImplemented)))
                     else []))
        assert any(reason in str(error) for reason in allowed), (args, kwargs, str(error))
        return False
    if isinstance(found, Symbol):
        assert found.shape == np.shape(expected), (args, kwargs)
        assert found.is_condition == (np.asarray(expected).dtype == bool), (args, kwargs)
        (found,) = evaluated([found], draw.known)
    assert np.allclose(found, np.asarray(expected, dtype=float), rtol=1e-12, atol=1e-13,
                       equal_nan=True), (args, kwargs, found, expected)
    return True


def test_every_function_is_tested():
    assert set(ARGUMENTS) == set(TABLE) and set(METHOD_ARGUMENTS) == set(METHODS)
    assert set(FUNCTIONS.values()) and all(callable(one) for one in FUNCTIONS.values())


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_function_is_numpys(name):
    function = np.linalg.norm if name == "linalg.norm" else getattr(np, name)
    held = 0
    for seed in range(DRAWS):
        draw = Draw(seed)
        held += agrees(function, draw, *ARGUMENTS[name](draw))
    assert held >= DRAWS / 20


# NumPy 2 took ptp away from arrays.
@pytest.mark.parametrize("name", sorted(name for name in METHODS if hasattr(np.zeros(1), name)))
def test_a_method_is_numpys(name):
    held = 0
    for seed in range(DRAWS):
        draw = Draw(seed)
        args, kwargs = METHOD_ARGUMENTS[name](draw)
        held += agrees(lambda a, *more, **words: getattr(a, name)(*more, **words), draw,
                       args, kwargs)
    assert held >= DRAWS / 20


@pytest.mark.parametrize("name", [*ELEMENTWISE, "matmul"])
def test_a_ufunc_is_numpys(name):
    function, held = getattr(np, name), 0
    for seed in range(DRAWS):
        draw = Draw(seed)
        args = [draw.array(positive=name in DOMAINS)] if function.nin == 1 else list(draw.pair())
        held += agrees(function, draw, args, {})
    assert held >= DRAWS / 20


@pytest.mark.parametrize("name", sorted(UFUNC_REDUCTIONS))
def test_a_reduction_by_a_ufunc_is_numpys(name):
    for seed in range(DRAWS):
        draw = Draw(seed)
        agrees(getattr(np, name).reduce, draw, [draw.array()], {"axis": axis(draw),
                                                               "keepdims": keep(draw)})


OPERATORS = {name: getattr(np.ndarray, f"__{name}__") for name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv",
    "mod", "rmod", "pow", "rpow", "matmul", "rmatmul", "lt", "le", "gt", "ge", "eq", "ne", "and",
    "rand", "or", "ror", "xor", "rxor")}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_numpys(name):
    for seed in range(DRAWS):
        draw = Draw(seed)
        agrees(lambda a, b: getattr(a, f"__{name}__")(b), draw, list(draw.pair()), {})


def test_an_index_is_numpys():
    keys = [0, -1, slice(None), slice(1, None), slice(None, None, -1), (0, 1), (slice(None), 0),
            (Ellipsis, 0), None, (slice(None), None), [0, 1], ([0, 1], [1, 0]), np.array([1, 0]),
            7, (0, 0, 0), "a", 1.5, [0.5], (slice(None), [True, False]), slice(0, 0)]
    for seed in range(DRAWS):
        draw = Draw(seed)
        for key in keys:
            agrees(lambda a, key=key: a[key], draw, [draw.array()], {})


@pytest.mark.parametrize("name", sorted(TABLE))
def test_an_argument_that_is_not_supported_is_refused_by_its_name(name):
    import inspect
    call = FUNCTIONS[np.linalg.norm if name == "linalg.norm" else getattr(np, name)]
    assert call.__name__ == f"np.{name}"
    signature = inspect.signature(TABLE[name])
    for argument, parameter in signature.parameters.items():
        if parameter.default is not NO:
            continue
        draw = Draw(0)
        args, _ = ARGUMENTS[name](draw)
        args = [values(one, 1) for one in args]
        wrong = {"dtype": np.float32, "where": [True], "subok": 2, "casting": "unsafe",
                 "order": "A"}.get(argument, 3)
        with pytest.raises(ModelError, match=f"np.{name} takes no {argument} in models"):
            call(*args, **{argument: wrong})


@pytest.mark.parametrize("axes, shape", [
    ((1,), (2,)), ((0, 2), (3, 4)), ((2, 0), (4, 3)), ((-1, 1), (4, 2))])
def test_weights_of_an_average_have_the_shape_of_its_axes(axes, shape):
    draw = Draw(2)
    weights = draw.array(shape, conditions=False)
    both = agrees(np.average, draw, [draw.array((3, 2, 4), conditions=False)],
                  {"axis": axes, "weights": weights})
    assert both or np.__version__ < "2"  # which refuses them


def test_arguments_of_ufuncs_are_refused_by_their_names():
    draw = Draw(1)
    a, symbol = draw.array((3,), conditions=False)
    for words in ({"where": [True, False, True]}, {"out": (np.zeros(3),)}, {"dtype": np.float32},
                  {"casting": "unsafe"}):
        with pytest.raises(ModelError, match=f"np.exp takes no {next(iter(words))} in models"):
            np.exp(symbol, **words)
        with pytest.raises(ModelError, match=f"np.add takes no {next(iter(words))} in models"):
            np.add(symbol, a, **words)
    for wrong in (lambda: np.add.outer(symbol, a), lambda: np.add.accumulate(symbol),
                  lambda: np.arctan2(symbol, a), lambda: np.linalg.inv(symbol),
                  lambda: np.fft.fft(symbol), lambda: np.modf(symbol)):
        with pytest.raises(ModelError, match="np.*is not available in models"):
            wrong()


def test_an_operator_that_models_lack_is_refused_in_the_models_terms():
    draw = Draw(2)
    symbol = draw.array((3,), conditions=False)[1]
    for wrong in (lambda: divmod(symbol, 2), lambda: symbol << 1, lambda: 1 >> symbol,
                  lambda: round(symbol), lambda: complex(symbol), lambda: pow(symbol, 2, 3),
                  lambda: symbol & 1, lambda: ~symbol, lambda: -(symbol > 0),
                  lambda: len(symbol[0]), lambda: list(symbol[0]),
                  lambda: symbol[symbol > 0], lambda: symbol + None,
                  lambda: symbol * "3", lambda: symbol + 1j, lambda: np.arange(3)[symbol],
                  lambda: symbol + np.ma.masked_equal([1, 2, 3], 2)):
        with pytest.raises(ModelError):
            wrong()
