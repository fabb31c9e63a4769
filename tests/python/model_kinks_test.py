# label: slow
"""Products of two functions with a kink of normal numbers whose means are not 0."""

from types import SimpleNamespace

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import casadi  # noqa: E402
from scipy.special import erf as erf_of_numbers  # noqa: E402

import popflow  # noqa: E402
from popflow.model import Model, erf, finite, mixture, normal  # noqa: E402
from popflow.model.emit.kinks import ShiftedPair  # noqa: E402
from popflow.model.emit.moments import Moments  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
ORDERS = [(0, 0), (0, 1), (1, 0), (1, 1)]
FUNCTIONS = [np.abs, np.sign]


def means_of(orders):
    """The means for given m, n, a, b, c."""
    given = [casadi.SX.sym(name) for name in "mnabc"]
    pair = ShiftedPair(casadi, lambda order, a, m: Moments.single_value(
        SimpleNamespace(ca=casadi), order, a, m, False), (given[0], given[1]),
        (given[2], given[3]), given[4])
    function = casadi.Function("means", given, [casadi.vertcat(*[pair.value(*one)
                                                                for one in orders])])
    return lambda *numbers: np.asarray(function(*numbers)).ravel()


def single(order, m, a):
    """The mean of |v| or sign(v) for v ~ N(m, a)."""
    if a == 0:
        return FUNCTIONS[order](m)
    t = m / np.sqrt(a)
    if order == 1:
        return erf_of_numbers(t / np.sqrt(2))
    return m * erf_of_numbers(t / np.sqrt(2)) + np.sqrt(2 * a / np.pi) * np.exp(-t * t / 2)


def integrated(j, k, m, n, a, b, c):
    """The mean over u, by Gauss-Legendre rules between the kinks, of the mean given u."""
    points, weights = np.polynomial.legendre.leggauss(40)
    rest = max(b - c * c / a, 0.0)
    kink = m - n * a / c if c else 0.0  # where the mean of v given u is 0
    width = np.sqrt(rest) * a / abs(c) if c else 1.0
    ends = [m - 10 * np.sqrt(a), m + 10 * np.sqrt(a)]
    inner = [0.0, *(kink + width * np.arange(-10, 11)), *(m + np.sqrt(a) * np.arange(-9, 10))]
    edges = np.sort(np.clip([*ends, *inner], *ends))
    found = 0.0
    for low, high in zip(edges[:-1], edges[1:]):
        u = (low + high) / 2 + (high - low) / 2 * points
        density = np.exp(-(u - m) ** 2 / (2 * a)) / np.sqrt(2 * np.pi * a)
        inner_means = single(k, n + c / a * (u - m), rest)
        found += (high - low) / 2 * weights @ (FUNCTIONS[j](u) * density * inner_means)
    return found


def cases():
    rng = np.random.default_rng(0)
    for number in range(60):
        a, b = np.exp(rng.normal(size=2))
        near = 10.0 ** rng.uniform(-8, -1)
        r = [rng.uniform(-1, 1), 1 - near, near - 1, 1.0, -1.0, 0.0][number % 6]
        m, n = rng.normal(size=2) * [0.1, 1, 4][number % 5 % 3] * np.sqrt([a, b])
        if number % 4 == 1:  # lines that almost meet
            n = m * np.sqrt(b / a) * np.sign(r) * (1 + 1e-3 * rng.normal())
        yield m * (number % 7 != 3), n * (number % 8 != 2), a, b, r * np.sqrt(a * b)


def test_means_agree_with_integrals_to_rounding():
    means = means_of(ORDERS)
    for case in cases():
        scale = np.sqrt((case[0] ** 2 + case[2]) * (case[1] ** 2 + case[3]))
        for (j, k), found in zip(ORDERS, means(*case)):
            wanted = integrated(j, k, *case)
            # Near correlations of 1, rounding of a, b and c moves a mean of signs by 1e-8.
            is_near = abs(case[4]) > (1 - 1e-6) * np.sqrt(case[2] * case[3])
            allowed = 2e-8 if is_near and j + k else 1e-13
            assert abs(found - wanted) < allowed * max(1.0, scale), (case, j, k, found, wanted)


def test_singular_laws_have_finite_and_exact_means():
    means = means_of([*ORDERS, (2, 0), (1, 2), (2, 2), (3, 1)])
    for m, n in ((0.7, -0.3), (0.0, 0.4), (0.0, 0.0), (-1.0, 0.0)):
        for a, b in ((0.0, 2.0), (0.5, 0.0), (0.0, 0.0)):
            found = means(m, n, a, b, 0.0)
            assert np.isfinite(found).all()
            wanted = [single(j, m, a) * single(k, n, b) for j, k in ORDERS]
            assert np.allclose(found[:4], wanted, rtol=1e-15, atol=1e-16)
        for a in (0.5, 0.3, 0.7 / 3):  # a student at its teacher, and at some of its multiples
            for factor in (1.0, 3.0, -0.3):
                same = means(m, factor * m, a, factor * (factor * a), factor * a)
                side = np.sign(factor)
                assert np.isfinite(same).all()
                wanted = np.array([side * factor * (m * m + a), side * m, side * factor * m, side])
                assert np.allclose(same[[0, 3]], wanted[[0, 3]], rtol=3e-8)
                assert np.allclose(same[1:3], wanted[[1, 2]], rtol=0, atol=3e-8)
    # Zero means have the kernel of means that are 0 by construction.
    assert np.allclose(means(0, 0, 1.0, 4.0, 1.2)[3], 2 / np.pi * np.arcsin(0.6), rtol=1e-15)


def test_higher_orders_are_derivatives():
    """By the means, and by variances and the covariance (Price's theorem)."""
    orders = [(j, k) for j in range(4) for k in range(4)]
    means, step = means_of(orders), 1e-4
    case = np.array([0.4, -0.7, 1.3, 0.8, -0.5])
    found = dict(zip(orders, means(*case)))
    slopes = []
    for place in range(5):
        change = step * (np.arange(5) == place)
        near = [means(*(case + factor * change)) for factor in (-2, -1, 1, 2)]
        slopes.append(dict(zip(orders, (near[0] - 8 * near[1] + 8 * near[2] - near[3])
                               / (12 * step))))
    for j, k in orders:
        for place, (up, over, factor) in enumerate([(1, 0, 1), (0, 1, 1), (2, 0, 0.5),
                                                    (0, 2, 0.5), (1, 1, 1)]):
            if (j + up, k + over) in found:
                assert abs(slopes[place][j, k] - factor * found[j + up, k + over]) < 1e-10


def network(start, biases):
    m = Model("biases", "students with biases learn from teachers with biases")
    J, b = m.weights("J", start, "students"), m.weights("b", biases, "biases")
    v = m.weights("v", [0.5, -0.5], "second layer")
    x = m.data(normal(20))
    m.loss((np.maximum(J @ x + b, 0) @ v - np.maximum(B @ x + SHIFT, 0).sum()) ** 2 / 2)
    return m


B, SHIFT = np.random.default_rng(2).normal(size=(2, 20)) / np.sqrt(20), np.array([0.0, 0.6])


def test_a_network_of_relu_with_biases_descends():
    """build() checks the gradient with differences, and with the mean of sampled gradients."""
    rng = np.random.default_rng(3)
    m = network(rng.normal(size=(2, 20)) / np.sqrt(20), [0.0, 0.3])
    run = popflow.run(m.build(), t_end=60, saves=6)
    assert (np.diff(run.loss) < 0).all() and run.loss[-1] < run.loss[0] / 20
    z = rng.normal(size=(20, 200_000))
    w, c, u = (run[name].values[-1] for name in "Jbv")
    values = (u @ np.maximum(w @ z + c[:, None], 0)
              - np.maximum(B @ z + SHIFT[:, None], 0).sum(axis=0)) ** 2 / 2
    assert abs(float(run.loss[-1]) - values.mean()) < 4.5 * values.std() / np.sqrt(values.size)


@pytest.mark.parametrize("start, biases", [
    (B[[0, 1]], [0.0, 0.6]), (-2 * B[[0, 0]], [0.0, 0.3]), (0 * B, [0.0, 0.3])],
    ids=["teachers", "opposite", "zero"])
def test_slopes_are_right_where_laws_are_singular(start, biases):
    step, count = 1e-6, 400_000
    run = popflow.run(network(start, biases).build(check=False), method="euler", dt=step,
                      t_end=step, saves=2)
    rng = np.random.default_rng(4)
    x, v = rng.normal(size=(20, count)), np.array([0.5, -0.5])
    field = start @ x + np.array(biases)[:, None]
    error = v @ np.maximum(field, 0) - np.maximum(B @ x + SHIFT[:, None], 0).sum(axis=0)
    open_ = error * v[:, None] * np.heaviside(field, 0.5)
    sampled = {"J": (open_[:, None] * x).reshape(40, -1), "b": open_,
               "v": error * np.maximum(field, 0)}
    for name, values in sampled.items():
        found = -(run[name].values[-1] - run[name].values[0]).ravel() / step
        allowed = 4.9 * values.std(axis=1) / np.sqrt(count) + 1e-8  # 44 * 3 tests
        assert (np.abs(found - values.mean(axis=1)) < allowed).all(), name


def test_overlaps_of_shifted_kinks_have_the_flow_of_the_weights():
    d, rng = 15, np.random.default_rng(3)
    centre, start = np.ones(d) / np.sqrt(d), rng.normal(size=(2, d)) / np.sqrt(d)

    def made():
        m = Model("classes", "two classes by two units with a kink")
        J = m.weights("J", start, "units")
        b = m.weights("b", [0.2, 0.0], "biases")
        which = finite(np.array([1.0, -1.0]), probability=np.array([2.0, 1.0]))
        y, x = m.data(which, normal(d, covariance=np.where(np.arange(d) < 6, 2.0, 0.5)))
        m.loss((np.maximum(J @ (x + y * centre) + b, 0).sum() - y) ** 2 / 2)
        m.observable("product", J[0] @ J[1], "overlap of the units")
        return m

    words = {"t_end": 3, "rtol": 1e-11, "atol": 1e-13, "saves": 4}
    overlaps, weights = (popflow.run(m.build(check=False), **words)
                         for m in (made().overlaps(), made()))
    for name in ("loss", "product"):
        assert np.allclose(overlaps[name], weights[name], rtol=0, atol=1e-10)
        assert np.ptp(weights[name].values) > 0.05
    assert np.allclose(overlaps.b_flow, weights.b, rtol=0, atol=1e-10)


def test_products_of_erf_with_shifts_are_exact_for_large_variances():
    """Gauss-Hermite rules would need many points."""
    m = Model("steep", "a steep unit")
    w = m.weights("w", np.full(9, 4.0), "weights")
    x = m.data(mixture(normal(9, mean=np.ones(9)), normal(9)))
    m.loss((erf(w @ x + 1) - erf(x[0] - 0.5)) ** 2)
    run = popflow.run(m.build(), t_end=0.01, saves=2)
    assert "quadrature_error" not in run
    rng = np.random.default_rng(4)
    z = rng.normal(size=(9, 400_000)) + (rng.random(400_000) < 0.5)
    values = (erf_of_numbers(4 * z.sum(axis=0) + 1) - erf_of_numbers(z[0] - 0.5)) ** 2
    assert abs(float(run.loss[0]) - values.mean()) < 4.5 * values.std() / np.sqrt(values.size)
