"""Random formulas of NumPy's functions: a model has NumPy's values, and both compilers have the
derivatives that finite differences show."""

import warnings

import numpy as np
from both_compilers import in_matrices, unrolled

from popflow.model import ModelError
from popflow.model.symbols import Symbol, as_symbol, evaluated

ONE = [np.exp, np.log, np.sqrt, np.tanh, np.sin, np.cos, np.tan, np.arctan, np.arcsin, np.arccos,
       np.sinh, np.cosh, np.arcsinh, np.arctanh, np.arccosh, np.abs, np.sign, np.floor, np.square,
       np.reciprocal, np.expm1, np.log1p, np.log2, np.exp2, np.cbrt, np.negative, np.deg2rad]
TWO = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.hypot, np.logaddexp,
       np.remainder, np.fmax, np.fmin, np.power, lambda a, b: np.where(a > b, a, b * b),
       lambda a, b: np.where((a > 0) & ~(b > 0), np.log(np.abs(a) + 1), np.sqrt(b)),
       lambda a, b: np.where(a > 0, np.log(a), np.where(b > 0, np.sqrt(b), a))]
POWERS = [0, 0.5, 1, 1.5, 2, 3, 4, -1, 9]
SHAPES = [(3,), (2, 3), (), (3, 1)]


def product(a, b):
    if not a.ndim or not b.ndim:
        return np.dot(a, b)
    return np.inner(a, b) if a.shape[-1] == b.shape[-1] else np.outer(a, b)


def least_norm(a):
    return np.linalg.norm(a) ** 2 if a.ndim else np.abs(a)


RESHAPE = [lambda a: a.T, lambda a: a.ravel(), lambda a: np.flip(a), lambda a: a * 2.0,
           lambda a: np.diff(a, axis=0) if a.ndim and a.shape[0] > 1 else a,
           lambda a: np.cumsum(a), lambda a: np.concatenate([a.ravel(), a.ravel()[:1]]),
           lambda a: np.tril(a) if a.ndim == 2 else a, lambda a: np.roll(a, 1),
           lambda a: np.repeat(a, 2), lambda a: a[..., None] if a.ndim == 1 else a,
           lambda a: np.stack([a, a * a]) if a.ndim == 1 else a]
REDUCE = [np.sum, np.mean, np.max, np.min, np.std, np.var, np.prod, np.ptp, least_norm,
          np.linalg.norm]


class Formula:
    """A function of three arrays, drawn from a seed, that both NumPy and models can compute."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.steps = [self.step() for _ in range(int(self.random.integers(2, 8)))]

    def step(self):
        kind = self.random.choice(["one", "two", "two", "power", "product", "shape", "reduce"])
        places = self.random.integers(0, 100, size=2)
        axis = [None, 0, -1][self.random.integers(3)]
        keep = bool(self.random.integers(2))

        def made(values):
            a, b = (values[-1 - int(place) % len(values)] for place in places)
            if kind == "one":
                return ONE[places[0] % len(ONE)](a)
            if kind == "two":
                return TWO[int(places.sum()) % len(TWO)](a, b)
            if kind == "power":
                return a ** POWERS[places[1] % len(POWERS)]
            if kind == "product":
                return product(a, b)
            if kind == "shape":
                return RESHAPE[places[1] % len(RESHAPE)](a)
            reduce = REDUCE[places[1] % len(REDUCE)]
            if reduce is least_norm or not a.ndim:
                return least_norm(a)
            return reduce(a, axis=axis, keepdims=keep)
        return made

    def __call__(self, *arrays):
        values = list(arrays)
        for step in self.steps:
            found = step(values)
            if np.ndim(found) <= 2 and np.size(found) <= 40:
                values.append(found)
        last = values[-1]
        return np.sum(last * last / (1.0 + np.abs(last))) + np.sum(np.tanh(values[0]))


def check(seed):
    """Compares a formula's value and derivatives; returns whether it has a finite value."""
    random = np.random.default_rng([seed, 1])
    arrays = [random.normal(size=SHAPES[random.integers(len(SHAPES))]) for _ in range(3)]
    symbols = [Symbol("weights", (), one.shape, f"w{k}", k) for k, one in enumerate(arrays)]
    formula = Formula(seed)

    def value(*numbers):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(formula(*numbers))

    try:
        expected = value(*[np.asarray(one) for one in arrays])
    except (ValueError, TypeError):
        try:
            formula(*symbols)
        except (ModelError, ValueError):
            return False
        raise AssertionError(f"formula {seed}: NumPy refuses it, and a model does not") from None
    found = as_symbol(formula(*symbols))
    known = {id(symbol): one for symbol, one in zip(symbols, arrays)}
    (own,) = evaluated([found], known)
    if not np.isfinite(expected) or abs(expected) > 1e8:
        assert not np.isfinite(own) or abs(own) > 1e7, f"formula {seed}: {own}, {expected}"
        return False
    assert np.isclose(own, expected, rtol=1e-9, atol=1e-9), f"formula {seed}: {own}, {expected}"
    results = [compiler(found, symbols, arrays) for compiler in (unrolled, in_matrices)]
    slopes = [np.concatenate([np.ravel(one) for one in result[1]]) for result in results]
    for result in results:
        assert np.isclose(result[0], expected, rtol=1e-9, atol=1e-9), f"formula {seed}"
    size = max(1.0, float(np.abs(slopes[0]).max()))
    assert np.allclose(*slopes, rtol=1e-7, atol=1e-9 * size, equal_nan=True), \
        f"formula {seed}: {slopes}"
    flat = np.concatenate([np.ravel(one) for one in arrays])
    ends = np.cumsum([one.size for one in arrays])[:-1]

    def at(x):
        return value(*[part.reshape(one.shape) for part, one in zip(np.split(x, ends), arrays)])
    for k, unit in enumerate(np.eye(len(flat))):
        sides = [[(at(flat + sign * step * unit) - expected) / (sign * step)
                  for sign in (1, -1)] for step in (1e-5, 1e-6)]
        differences = np.array(sides)
        # Kinks, jumps and steep places are told by one-sided differences that do not agree.
        if np.isfinite(differences).all() and np.ptp(differences) < 1e-4 * size:
            assert abs(differences.mean() - slopes[0][k]) < 1e-3 * size, \
                f"formula {seed}, entry {k}: {slopes[0][k]}, differences {differences}"
    return True
