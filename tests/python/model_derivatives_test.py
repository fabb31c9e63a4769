# label: fast
"""Derivatives of models at ties, kinks and zeros follow one rule in both compilers."""

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

from both_compilers import in_matrices, unrolled  # noqa: E402

from popflow.model import (  # noqa: E402
    Model,
    ModelError,
    finite,
    logistic_loss,
    logsumexp,
)
from popflow.model.symbols import Symbol, evaluated  # noqa: E402

COMPILERS = {"unrolled": unrolled, "matrices": in_matrices}
TINY = np.finfo(float).tiny
ROOT = 0.5 / np.sqrt(TINY)  # slope of the square root at the smallest normal number

# Formula of a vector w, the point, and the gradient there.
RULES = {
    # Arguments that tie share the derivative equally.
    "maximum": (lambda w: np.maximum(w[0], w[1]), [2, 2], [0.5, 0.5]),
    "minimum": (lambda w: np.minimum(w[0], 3 * w[1]), [3, 1], [0.5, 1.5]),
    "relu": (lambda w: np.maximum(0, w).sum(), [-1, 0, 2], [0, 0.5, 1]),
    "relu, other order": (lambda w: np.maximum(w, 0).sum(), [-1, 0, 2], [0, 0.5, 1]),
    "clip": (lambda w: np.clip(w, -1, 1).sum(), [-2, -1, 0, 1, 2], [0, 0.5, 1, 0.5, 0]),
    "fmax": (lambda w: np.fmax(w[0], w[1]), [2, 2], [0.5, 0.5]),
    "largest entry": (lambda w: w.max(), [1, 4, 4, 2, 4], [0, 1 / 3, 1 / 3, 0, 1 / 3]),
    "smallest entry": (lambda w: w.min(), [1, 4, 1], [0.5, 0, 0.5]),
    "largest entries": (lambda w: np.max(w.reshape(2, 2), axis=0) @ [1.0, 10.0], [1, 2, 1, 3],
                        [0.5, 0, 0.5, 10]),
    "span": (lambda w: np.ptp(w), [1, 1], [0, 0]),
    # Kinks: the mean of both sides.
    "abs": (lambda w: np.abs(w).sum(), [-2, 0, 3], [-1, 0, 1]),
    "sign": (lambda w: (w * np.sign(w)).sum(), [-2, 0, 3], [-1, 0, 1]),
    "norm": (lambda w: np.linalg.norm(w), [0, 0], [0, 0]),
    "norm by hand": (lambda w: np.sqrt(w @ w), [0, 0], [0, 0]),
    "norm by einsum": (lambda w: np.sqrt(np.einsum("i,i->", w, w)) ** 2, [0, 0], [0, 0]),
    "norm by vdot": (lambda w: np.sqrt(np.vdot(np.outer(w, w), np.outer(w, w))) ** 2, [0, 0],
                     [0, 0]),
    "entropy": (lambda w: np.where(w > 0, w * np.log(w), 0).sum(), [0, 1], [0, 1]),
    "arctanh": (lambda w: np.where(np.abs(w) < 1, np.arctanh(w), w).sum(), [0, 1, -3], [1, 1, 1]),
    "norm of a matrix": (lambda w: np.linalg.norm(w.reshape(2, 2)), [0] * 4, [0] * 4),
    "norms of rows": (lambda w: np.linalg.norm(w.reshape(2, 2), axis=1).sum(), [0, 0, 3, 4],
                      [0, 0, 0.6, 0.8]),
    "norm of order 1": (lambda w: np.linalg.norm(w, 1), [0, -1], [0, -1]),
    "norm of order 3": (lambda w: np.linalg.norm(w, 3), [0, 0], [0, 0]),
    "largest norm": (lambda w: np.linalg.norm(w, np.inf), [1, -1], [0.5, -0.5]),
    "hypot": (lambda w: np.hypot(w[0], w[1]), [0, 0], [0, 0]),
    "hypot of large numbers": (lambda w: np.hypot(w[0], w[1]), [3e200, 4e200], [0.6, 0.8]),
    "hypot of small numbers": (lambda w: np.hypot(w[0], w[1]), [3e-200, 4e-200], [0.6, 0.8]),
    "logarithm of large numbers": (lambda w: np.log1p(w[0]) * w[1], [1.5e308, 1],
                                   [0, np.log(1.5e308)]),
    "heaviside": (lambda w: np.heaviside(w, 0.5).sum(), [-1, 0, 1], [0, 0, 0]),
    "steps": (lambda w: (np.floor(w) + np.ceil(w) + np.trunc(w)).sum(), [1, 0.5], [0, 0]),
    "remainder": (lambda w: np.remainder(w[0], w[1]) + w[0] % 2, [7, -3], [2, 3]),
    # Squares of kinks are smooth.
    "norm squared": (lambda w: np.linalg.norm(w) ** 2, [0, 0], [0, 0]),
    "norm times norm": (lambda w: np.linalg.norm(w) * np.linalg.norm(w), [0, 0], [0, 0]),
    "variance from deviation": (lambda w: np.std(w) ** 2, [1, 1], [0, 0]),
    "abs squared": (lambda w: (np.abs(w) ** 2).sum(), [0, -1], [0, -2]),
    "abs cubed": (lambda w: (np.abs(w) ** 3).sum(), [0, -1], [0, -3]),
    "hypot squared": (lambda w: np.hypot(w[0], w[1]) ** 2, [0, 1], [0, 2]),
    # Powers at zero.
    "power 0": (lambda w: (w**0).sum(), [0, 1], [0, 0]),
    "power 1": (lambda w: (w**1.0).sum(), [0, 1], [1, 1]),
    "power 2": (lambda w: (w**2).sum(), [0, 1], [0, 2]),
    "power 1.5": (lambda w: (w**1.5).sum(), [0, 4], [0, 3]),
    "power 12": (lambda w: (w**12).sum(), [0, 1], [0, 12]),
    "powers": (lambda w: (w ** np.array([0, 1, 2, 3.5])).sum(), [0] * 4, [0, 1, 0, 0]),
    "power of a weight": (lambda w: w[0] ** w[1], [0, 2], [0, 0]),
    "power 1 of a weight": (lambda w: w[0] ** w[1], [0, 1], [1, 0]),
    "negative power of a weight": (lambda w: w[0] ** w[1], [2, -1.5],
                                   [-1.5 * 2**-2.5, 2**-1.5 * np.log(2)]),
    "power 0 of a weight": (lambda w: w[0] ** w[1], [0, 0], [0, 0]),
    "zero to a weight": (lambda w: (np.array([0.0, 2.0]) ** w).sum(), [3, 3],
                         [0, 8 * np.log(2)]),
    # Infinite slopes: those at the smallest number inside of the domain.
    "root": (lambda w: np.sqrt(w).sum(), [0, 4], [ROOT, 0.25]),
    "power 0.5": (lambda w: (w**0.5).sum(), [0, 4], [ROOT, 0.25]),
    "power 0.25": (lambda w: (w**0.25).sum(), [0, 1], [0.25 * TINY**-0.75, 0.25]),
    "cube root": (lambda w: np.cbrt(w).sum(), [0, -8], [TINY ** (-2 / 3) / 3, 1 / 12]),
    "arcsin": (lambda w: np.arcsin(w).sum(), [-1, 0, 1], [6.7108864e7, 1, 6.7108864e7]),
    "arccos": (lambda w: np.arccos(w).sum(), [-1, 1], [-6.7108864e7] * 2),
    # Zero times an infinite slope is zero.
    "root of relu": (lambda w: np.sqrt(np.maximum(w, 0)).sum(), [-1, 4], [0, 0.25]),
    "root of a square": (lambda w: np.sqrt(w * w).sum(), [0, 2], [0, 1]),
    "square of a root": (lambda w: (np.abs(w) ** 0.5).sum(), [0, -1], [0, -0.5]),
    # A branch that is not chosen gives nothing.
    "log": (lambda w: np.where(w > 0, np.log(w), w).sum(), [-2, 2], [1, 0.5]),
    "log at zero": (lambda w: np.where(w > 0, np.log(w), w).sum(), [0, 2], [1, 0.5]),
    "root of a negative number": (lambda w: np.where(w > 0, np.sqrt(w), w**2).sum(), [-2, 4],
                                  [-4, 0.25]),
    "quotient": (lambda w: np.where(w == 0, 1, np.sin(w) / w).sum(), [0, np.pi], [0, -1 / np.pi]),
    "overflow": (lambda w: np.where(w < 9, np.exp(w), w).sum(), [0, 1e4], [1, 1]),
    "overflow of a sum": (lambda w: np.where(w[0] < 9, np.exp(w).sum(), w.sum()), [1e4, 1],
                          [1, 1]),
    "nested branches": (lambda w: np.where(w > 0, np.where(w > 1, np.log(w - 1), np.sqrt(w)),
                                           np.arcsin(w + 1)).sum(), [-1, 0.25, 2], [1, 1, 1]),
    "condition in a branch": (lambda w: np.where(w > 0, np.where(np.log(w) > 0, w, 2 * w),
                                                 -w).sum(), [-1, 0.5, 2], [-1, 2, 1]),
    "a row": (lambda w: np.where(w[0] > 0, np.log(w), w).sum(), [-1, 2], [1, 1]),
    "moved entries": (lambda w: np.where(w < 0, np.log(w)[::-1], 1).sum(), [-1, 3], [0, 1 / 3]),
    "parts of entries": (lambda w: np.where(w[:2] > 0, np.log(w[1:]), 0).sum(), [-1, 1, 2],
                         [0, 0, 0.5]),
    "repeated entries": (lambda w: np.where(w > 0, np.outer([1, 2], np.log(w)), w).sum(),
                         [-1, 2], [2, 1.5]),
    "a product": (lambda w: np.where(w > 0, np.eye(2) @ np.log(np.where(w > 0, w, 1)), w).sum(),
                  [-1, 2], [1, 0.5]),
    "joined": (lambda w: np.where([True, False, False, True], np.concatenate(
        [np.log(w), 1 / w]), 1).sum(), [2, 0.5], [0.5, -4]),
    "rows of logarithms": (lambda w: np.where(w > 0, logsumexp(np.log(np.outer(w, [1, 3])), axis=1),
                                              w).sum(), [-1, 2], [1, 0.5]),
    "logsumexp of ties": (lambda w: logsumexp(w), [1, 1], [0.5, 0.5]),
    "logaddexp of ties": (lambda w: np.logaddexp(w[0], w[1]), [1, 1], [0.5, 0.5]),
    "logistic loss": (lambda w: logistic_loss(w).sum(), [0, 1e4, -1e4], [-0.5, 0, -1]),
}


def scalar_of(formula, count):
    w = Symbol("weights", (), (count,), "w")
    return w, formula(w)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", RULES)
def test_a_derivative_follows_the_rule(name, compiler):
    formula, at, expected = RULES[name]
    at = np.array(at, dtype=float)
    w, symbol = scalar_of(formula, len(at))
    value, (gradient,) = COMPILERS[compiler](symbol, [w], [at])
    with np.errstate(all="ignore"):
        assert value == pytest.approx(float(evaluated([symbol], {id(w): at})[0]), rel=1e-12)
    assert np.allclose(gradient, expected, rtol=1e-7, atol=1e-12), (gradient, expected)


@pytest.mark.parametrize("name", [
    "norm squared", "norm times norm", "norm by einsum", "variance from deviation", "abs squared",
    "hypot squared", "logsumexp of ties", "logaddexp of ties", "log", "nested branches"])
def test_a_jacobian_is_finite_and_symmetric(name):
    formula, at, _ = RULES[name]
    at = np.array(at, dtype=float)
    w, symbol = scalar_of(formula, len(at))
    if name == "nested branches":
        at[0] = -0.5
    _, _, jacobian = unrolled(symbol, [w], [at], second=True)
    step = 1e-6
    differences = [(unrolled(symbol, [w], [at + step * e])[1][0]
                    - unrolled(symbol, [w], [at - step * e])[1][0]) / (2 * step)
                   for e in np.eye(len(at))]
    assert np.allclose(jacobian, differences, atol=1e-5)


def test_a_model_is_not_refused_for_a_branch_that_is_not_chosen():
    def model(otherwise):
        m = Model("softened", "t")
        w = m.weights("w", np.array([-2.0, 2.0]), "w")
        x = m.data(finite([[1.0]]))
        m.loss(np.sum(np.where(w > 0, np.log(w), otherwise(w))) * x[0])
        return m
    model(lambda w: w).require_finite()
    with pytest.raises(ModelError, match=r"the term sqrt\(w\) is nan"):
        model(np.sqrt).require_finite()
    m = Model("rate", "t")
    w = m.weights("w", np.array([-2.0, 2.0]), "w")
    m.rate(w, np.where(w > 0, np.log(w), w))
    m.require_finite()
