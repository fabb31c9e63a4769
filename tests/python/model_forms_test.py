# label: slow
"""Means over normal data of many dimensions that a loss sees through few linear forms."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

from scipy.special import erf as erf_of_numbers  # noqa: E402

import popflow  # noqa: E402
from popflow.model import (  # noqa: E402
    Model,
    ModelError,
    cross_entropy,
    erf,
    finite,
    mixture,
    normal,
)

pytestmark = pytest.mark.usefixtures("own_cache")


def committee(d, unit, students=3, teachers=2):
    """Unit(J x) summed against unit(B x) summed."""
    rng = np.random.default_rng(1)
    m = Model("committee", "students of a committee of teachers")
    J = m.weights("J", rng.normal(size=(students, d)) / np.sqrt(d), "students")
    x = m.data(normal(d))
    B = rng.normal(size=(teachers, d)) / np.sqrt(d)
    m.loss((unit(J @ x).sum() - unit(B @ x).sum()) ** 2 / 2)
    m.end = 10
    return m, B


def loss_by(kernel, J, B):
    """Half the mean squared difference, from the mean of the product of two units."""
    P, v = np.vstack([J, B]), np.r_[np.ones(len(J)), -np.ones(len(B))]
    return v @ kernel(P @ P.T) @ v / 2


def arcsine(Q):
    """Saad and Solla 1995, for g(z) = erf(z / sqrt(2))."""
    a = 1 + np.diag(Q)
    return 2 / np.pi * np.arcsin(Q / np.sqrt(np.outer(a, a)))


def arccosine(Q):
    """Cho and Saul 2009, for ReLU."""
    size = np.sqrt(np.outer(np.diag(Q), np.diag(Q)))
    angle = np.arccos(np.clip(Q / size, -1, 1))
    return size / (2 * np.pi) * (np.sin(angle) + (np.pi - angle) * np.cos(angle))


@pytest.mark.parametrize("unit, kernel", [(lambda z: erf(z / np.sqrt(2)), arcsine),
                                          (lambda z: np.maximum(z, 0), arccosine)],
                         ids=["erf", "relu"])
def test_the_flow_of_a_committee_has_the_closed_form(unit, kernel):
    """build() checks the right-hand side with differences and with the mean of samples."""
    m, B = committee(40, unit)
    run = popflow.run(m.build(), t_end=10, saves=6, rtol=1e-10)
    for k in range(6):
        assert abs(float(run.loss[k]) - loss_by(kernel, run.J.values[k], B)) < 1e-14
    assert run.loss[-1] < run.loss[0] / 2


def test_a_thousand_dimensions_descend_and_train():
    m, B = committee(1000, lambda z: erf(z / np.sqrt(2)))
    system = m.build(check=False)
    flow = popflow.run(system, t_end=0.5, saves=3)
    assert abs(float(flow.loss[-1]) - loss_by(arcsine, flow.J.values[-1], B)) < 1e-14
    # Steps of a single sample add eta d = 0.02, times numbers of order 1, to the loss.
    sgd = popflow.run(system, mode="sgd", learning_rate=2e-5, batch_size=1, t_end=0.5, saves=3)
    assert np.allclose(sgd.loss.values.ravel(), flow.loss, rtol=0.04)


def positive(z):
    return np.maximum(z, 0)


# Expressions of u, v and w, which are forms of 30 numbers. Their exact means are compared with
# means of samples.
EXPRESSIONS = {
    "relu relu": lambda erf, u, v, w: positive(u) * positive(v),
    "relu erf": lambda erf, u, v, w: positive(u) * erf(v),
    "sign erf": lambda erf, u, v, w: np.sign(u) * erf(v - w),
    "abs of a sum": lambda erf, u, v, w: np.abs(u + 2 * v) * w * w,
    "abs abs": lambda erf, u, v, w: np.abs(u) * np.abs(v - w),
    "three": lambda erf, u, v, w: u * v * np.sign(w) * positive(w),
    "step": lambda erf, u, v, w: np.where(u > v, w * u, 2.0),
    "exponential": lambda erf, u, v, w: np.exp(u / 2 + 1) * positive(v) * w,
    "exponential of erf": lambda erf, u, v, w: np.exp(u / 2) * erf(v),
    "waves": lambda erf, u, v, w: np.sin(u) * np.cos(2 * v + 1) * w * np.exp(w / 3),
    "sine squared": lambda erf, u, v, w: np.sin(u + v) ** 2,
    "shifted erf": lambda erf, u, v, w: erf(u + 0.5) * v * v * w,
    "shifted relu": lambda erf, u, v, w: positive(u - 0.3) * v,
    "shifted abs": lambda erf, u, v, w: np.abs(u + v - 0.7) * (v - w) ** 2,
    "polynomial": lambda erf, u, v, w: (u * v - w**2 + 0.5) ** 3,
    "maximum": lambda erf, u, v, w: np.maximum(u, v) * w,
    "powers": lambda erf, u, v, w: np.abs(u - 0.2) ** 3 * positive(u - 0.2) + np.sign(v) ** 3 * w,
    "stacked": lambda erf, u, v, w: np.stack([u, v])[0] * positive(np.stack([v, w])[1]),
    "minimum": lambda erf, u, v, w: np.minimum(u, v + 1.0) * w,
    "shifted relu relu": lambda erf, u, v, w: positive(u - 0.3) * positive(v + 0.5) * w * w,
    "shifted step abs": lambda erf, u, v, w: np.where(u > 0.4, np.abs(v - w), u),
    "shifted erf relu": lambda erf, u, v, w: erf(u - 0.2) * positive(v) + erf(u) * erf(v - 1),
    "exponential relu relu": lambda erf, u, v, w: np.exp(w / 2) * positive(u) * positive(v),
    "kinks of a form": lambda erf, u, v, w: positive(u - 0.1) * positive(0.7 - u),
    "powers and signs": lambda erf, u, v, w: u * w * w * v * np.sign(u) * np.sign(v),
}


def test_exact_means_agree_with_samples():
    rng = np.random.default_rng(5)
    d, rows = 30, rng.normal(size=(3, 30)) / np.sqrt(30)
    m = Model("means", "means of functions of three forms")
    W = m.weights("W", rows, "rows")
    x = m.data(normal(d))
    forms = W @ x
    m.loss(positive(forms[0]) ** 2)
    for number, expression in enumerate(EXPRESSIONS.values()):
        m.observable(f"mean_{number}", m.mean(expression(erf, *forms)), "mean")
    run = popflow.run(m.build(check=False), t_end=0.01, saves=2)
    count = 400_000
    z = rows @ rng.normal(size=(d, count))
    for number, (name, expression) in enumerate(EXPRESSIONS.items()):
        values = expression(erf_of_numbers, *z)
        error = values.std() / np.sqrt(count)
        found = float(run[f"mean_{number}"][0])
        # 25 tests at 4.5 standard errors fail by chance for 1 of 6000 seeds.
        assert abs(found - values.mean()) < 4.5 * error, (name, found, values.mean(), error)


@pytest.mark.parametrize("unit", [lambda z: positive(z), lambda z: erf(z), lambda z: z * z],
                         ids=["relu", "erf", "square"])
def test_a_student_at_its_teacher_stays_with_all_numbers_finite(unit):
    """The matrix of overlaps is singular: a student is at 0, another one at the teacher."""
    d = 12
    rng = np.random.default_rng(3)
    teacher = rng.normal(size=d)
    m = Model("equal", "students at a teacher")
    J = m.weights("J", np.stack([teacher, np.zeros(d)]), "students")
    x = m.data(normal(d))
    m.loss((unit(J @ x).sum() - unit(teacher @ x)) ** 2 / 2)
    run = popflow.run(m.build(check=False), t_end=1, saves=2)
    assert np.isfinite(run.J).all()
    assert np.abs(run.loss).max() < 1e-14
    assert np.allclose(run.J[-1, 0], teacher, atol=1e-6)


def test_classes_with_means_and_label_noise_have_exact_means():
    """Two classes at plus and minus a centre, a covariance, and a label with noise of its own."""
    d = 20
    rng = np.random.default_rng(4)
    centre = rng.normal(size=d) / 3
    root = rng.normal(size=(d, d)) / np.sqrt(d)
    m = Model("classes", "two classes by a unit of erf")
    w = m.weights("w", rng.normal(size=d) / 4, "weights")
    share = m.parameter("share", 0.3, "probability of the first class", low=0, high=1)
    label, noise, x = m.data(finite(np.array([1.0, -1.0]),
                                    probability=np.stack([share, 1 - share])),
                             normal(), normal(d, covariance=root @ root.T))
    m.loss((label + 0.2 * noise - w @ (x + label * centre)) ** 2 / 2
           + 0.1 * erf(w @ x + label) + 0.05 * (w @ w))
    system = m.build()
    found = popflow.run(system, t_end=0.01, saves=2)
    w0 = found.w.values[0]
    s = w0 @ root @ root.T @ w0
    wanted = ((1 - w0 @ centre) ** 2 + 0.04 + s) / 2 + 0.05 * w0 @ w0 \
        + 0.1 * (0.3 - 0.7) * erf_of_numbers(1 / np.sqrt(1 + 2 * s))
    assert abs(float(found.loss[0]) - wanted) < 1e-14


def test_a_mixture_of_normal_laws_is_seen_through_forms():
    d = 150
    rng = np.random.default_rng(6)
    centre = np.ones(d) / np.sqrt(d)
    m = Model("mixed", "a mixture of two normal laws")
    w = m.weights("w", rng.normal(size=d) / np.sqrt(d), "weights")
    x = m.data(mixture(normal(d, mean=centre), normal(d, mean=-2 * centre), probability=[1, 3]))
    m.loss((np.maximum(w @ x, 0) - 1) ** 2 / 2 + (w @ w) / 10)
    run = popflow.run(m.build(), t_end=0.01, saves=2)
    w0 = run.w.values[0]
    z = rng.normal(size=4_000_000)
    side = np.where(rng.random(z.size) < 0.25, 1.0, -2.0)
    values = (np.maximum(np.sqrt(w0 @ w0) * z + side * (w0 @ centre), 0) - 1) ** 2 / 2
    assert abs(float(run.loss[0]) - w0 @ w0 / 10 - values.mean()) < 4.5 * values.std() / 2000


def test_rows_of_a_matrix_are_independent_and_a_diagonal_is_a_covariance():
    d = 20
    rng = np.random.default_rng(8)
    w0, variances = rng.normal(size=d) / 4, np.arange(1.0, d + 1) / 10
    m = Model("tokens", "two tokens, and an input with variances")
    w = m.weights("w", w0, "weights")
    tokens, x = m.data(normal((2, d)), normal(d, covariance=variances))
    m.loss(positive(w @ x - 1) + (erf(tokens @ w).sum() - w @ x) ** 2 / 2)
    m.observable("apart", m.mean(np.abs(tokens[0] @ w) * np.abs(tokens[1] @ w)), "two tokens")
    m.observable("same", m.mean(np.abs(tokens[1] @ w) * np.abs(w @ tokens[1])), "a token")
    m.observable("size", m.overlap(w, w), "variance of the form")
    run = popflow.run(m.build(check=False), t_end=0.01, saves=2)
    a, s = w0 @ w0, w0**2 @ variances
    assert np.allclose([run.apart[0], run.same[0], run["size"][0]], [2 / np.pi * a, a, s],
                       rtol=1e-14)
    density = np.exp(-1 / (2 * s)) * np.sqrt(s / (2 * np.pi))
    above = density - (1 - erf_of_numbers(1 / np.sqrt(2 * s))) / 2
    squares = 2 * 2 / np.pi * np.arcsin(2 * a / (1 + 2 * a))
    assert abs(float(run.loss[0]) - above - (squares + s) / 2) < 1e-14


@pytest.mark.parametrize("loss, why", [
    (lambda w, x: np.floor(w @ x), "floor of the data"),
    (lambda w, x: np.abs((w @ x) ** 2 - 1), "is not linear in the data"),
    (lambda w, x: (w @ x) * (x * x).sum(), "sees all 200 numbers of data_0"),
    (lambda w, x: positive(w @ x) * positive(x[0]) * positive(x[1]),
     "abs(w @ data_0) * abs(data_0[0]) * abs(data_0[1]), a product of more functions"),
    (lambda w, x: np.sign(w @ x) * np.sin(x[0]), "a product of sin or cos with a function"),
    (lambda w, x: np.tanh(positive(w @ x)), "is tanh of a function with a kink"),
    (lambda w, x: np.tanh(w @ x) * positive(x[0]), "tanh(w @ data_0) * abs(data_0[0]), a product "
     "with a function that has a kink, for which Gauss-Hermite rules do not converge"),
    (lambda w, x: np.tanh(w @ x) / (1 + (w @ x) ** 2), "no Gauss-Hermite rule gives it: "
     "tanh(w @ data_0) * 1 / (1 + ((w @ data_0) ** 2)), in the term"),
    (lambda w, x: np.sqrt((x[0] - w @ x) ** 2), "sqrt((data_0[0] - (w @ data_0)) ** 2)"),
    (lambda w, x: np.log(w @ x), "log(w @ data_0)"),
    (lambda w, x: np.tanh(w @ x + x[0] * x[1] + x[2] * x[3]), "a function of 5 linear forms"),
    (lambda w, x: cross_entropy(np.stack([w @ x, *x[:5]]), 0), "a function of 5 linear forms"),
    (lambda w, x: (w @ x) ** 9 * erf(w @ x), "** 9 is a power above 8"),
])
def test_what_has_no_exact_mean_is_refused_with_the_term(loss, why):
    m = Model("refused", "no exact mean")
    w = m.weights("w", np.ones(200), "weights")
    x = m.data(normal(200))
    m.loss(loss(w, x))
    with pytest.raises(ModelError, match=re.escape(why)) as refused:
        m.build()
    assert "population_loss()" in str(refused.value)
    assert "stream()" in str(refused.value)


def saad_solla(d):
    """The committee machine of examples/models/committee.py, and Saad and Solla's equations."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "models"))
    import committee as given
    from experiments import saad_solla as equations
    m = given.committee(d)
    J, B = m.fields[0].symbol, np.eye(2, d)
    m.observable("other", J[0] @ J[1], "overlap of the students")
    m.observable("teacher", m.overlap(J[0], B[1]), "overlap with a teacher")
    m.end = 5
    return m, lambda eta, times: equations.integrated(given.Q0, given.R0, eta, times)


def test_the_overlaps_have_the_flow_of_the_weights():
    """`verify`, which build() runs, compares the observables of the overlaps and the weights."""
    reduced, full = saad_solla(12)[0].overlaps().build(), saad_solla(12)[0].build(check=False)
    words = {"t_end": 20, "rtol": 1e-10, "saves": 5}
    overlaps, weights = popflow.run(reduced, **words), popflow.run(full, **words)
    for name in ("loss", "other", "teacher"):
        assert np.allclose(overlaps[name], weights[name], rtol=0, atol=1e-9)
    J = weights.J.values[-1]
    assert np.allclose(overlaps.J_J[-1], J @ J.T, rtol=0, atol=1e-9)
    assert np.allclose(overlaps.J_fixed[-1], J[:, :2], rtol=0, atol=1e-9)


def test_the_limit_of_many_dimensions_is_that_of_saad_and_solla():
    m, integrated = saad_solla(300)
    system = m.high_dimension().build(check=False)
    run = popflow.run(system, gamma=1.5, t_end=4, rtol=1e-11, saves=5)
    Q, R = integrated(1.5, run.time.values)
    assert np.allclose(run.J_J, Q, rtol=0, atol=1e-8)
    assert np.allclose(run.J_fixed, R, rtol=0, atol=1e-8)
    # The mean of SGD in 300 dimensions is off by a number of order 1/300.
    sgd = popflow.run(system, mode="sgd", gamma=1.5, learning_rate=1 / 300, batch_size=1, runs=16,
                      t_end=4, saves=5, seed=3)
    mean, error = sgd.loss.values.mean(axis=0), sgd.loss.values.std(axis=0) / 4
    assert (np.abs(mean - run.loss.values) < 4 * error + 0.01).all()
