# label: slow
"""Means of smooth functions of few linear forms of normal data, by Gauss-Hermite rules."""

import warnings

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
    logistic_loss,
    normal,
)
from popflow.model.derive.hermite import factor_of, whole_rule  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")


def committee(d, unit, students, teachers):
    """Units of students summed against those of teachers summed."""
    m = Model("smooth", "students of a committee of teachers")
    J = m.weights("J", students, "students")
    x = m.data(normal(d))
    m.loss((unit(J @ x).sum() - unit(teachers @ x).sum()) ** 2 / 2)
    m.end = 3
    return m


@pytest.mark.parametrize("points", [8, 65, 300, 700, 1024])
def test_rules_are_exact_for_polynomials_and_exponentials(points):
    nodes, weights = whole_rule(points)
    assert np.isfinite(nodes).all() and (weights >= 0).all()
    assert abs(weights @ nodes**14 / 135135 - 1) < 1e-13
    if points > 8:
        assert abs(weights @ np.exp(2 * nodes) / np.exp(2) - 1) < 1e-13


def test_a_singular_covariance_has_a_factor():
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
    root = factor_of(rows @ rows.T)
    assert np.allclose(root @ root.T, rows @ rows.T, rtol=0, atol=1e-15)


def test_a_student_of_tanh_descends_along_the_exact_gradient():
    """build() checks the right-hand side with differences of the loss and with the mean of sampled
    gradients. The second student is at 0 and the first one at the teacher: the covariance of the
    forms is singular."""
    d = 8
    teacher = np.random.default_rng(3).normal(size=(1, d)) / np.sqrt(d)
    students = np.vstack([teacher, 0 * teacher])
    run = popflow.run(committee(d, lambda z: np.tanh(z + 0.2), students, teacher).build(), t_end=3,
                      saves=4)
    assert (run.quadrature_error < 1e-10).all()
    z = np.random.default_rng(1).normal(size=(d, 1_000_000))
    for k in (0, 3):
        students = np.tanh(run.J.values[k] @ z + 0.2).sum(axis=0)
        values = (students - np.tanh(teacher @ z + 0.2)[0]) ** 2
        # Fails by chance for 1 of 70 000 seeds.
        assert abs(float(run.loss[k]) - values.mean() / 2) < 4.5 * values.std() / 2000 + 1e-12


def test_pairs_of_erf_by_the_rule_are_the_arcsine_kernel():
    """A product with cosh has no closed form. Divided by cosh, it has that of erf."""
    d, rng = 12, np.random.default_rng(1)
    students, teachers = (rng.normal(size=(2, d)) / np.sqrt(d) for _ in range(2))
    by_rule = Model("by-rule", "erf times cosh over cosh")
    J = by_rule.weights("J", students, "students")
    x = by_rule.data(normal(d))

    def unit(z):
        return erf(z / np.sqrt(2)) * np.cosh(z / np.sqrt(2)) / np.cosh(z / np.sqrt(2))

    by_rule.loss((unit(J @ x).sum() - unit(teachers @ x).sum()) ** 2 / 2)
    closed = committee(d, lambda z: erf(z / np.sqrt(2)), students, teachers)
    found, wanted = (popflow.run(m.build(check=False), t_end=20, saves=5, rtol=1e-10)
                     for m in (by_rule, closed))
    assert "quadrature_error" not in wanted
    assert (found.quadrature_error < 1e-10).all()
    assert np.allclose(found.loss, wanted.loss, rtol=0, atol=1e-10)
    assert np.allclose(found.J, wanted.J, rtol=0, atol=1e-10)


def softplus(z):
    return np.logaddexp(z, 0)


# Expressions of forms u, v, w and y, for symbols and for numbers.
EXPRESSIONS = {
    "factors": (lambda u, v, w, y: np.tanh(u + 0.3) * np.tanh(v) * w * w,) * 2,
    "logistic": (lambda u, v, w, y: logistic_loss(2 * u - v),
                 lambda u, v, w, y: softplus(v - 2 * u)),
    "logaddexp": (lambda u, v, w, y: np.logaddexp(u, v) * w,) * 2,
    "cross-entropy": (lambda u, v, w, y: cross_entropy(np.stack([u, v, w]), 1),
                      lambda u, v, w, y: np.logaddexp(w, np.logaddexp(u, v)) - v),
    "exponential": (lambda u, v, w, y: np.exp(u / 2) * np.tanh(v) * w,) * 2,
    "ratio": (lambda u, v, w, y: (u * v + 1) / (2 + np.sin(w)),) * 2,
    "gelu": (lambda u, v, w, y: u * (1 + erf(u)) * v * (1 + erf(v + 0.1)),
             lambda u, v, w, y: u * (1 + erf_of_numbers(u)) * v * (1 + erf_of_numbers(v + 0.1))),
    "three": (lambda u, v, w, y: erf(u / 2) * erf(v / 2) * erf(w / 2 + 0.2),
              lambda u, v, w, y: erf_of_numbers(u / 2) * erf_of_numbers(v / 2)
              * erf_of_numbers(w / 2 + 0.2)),
    "four": (lambda u, v, w, y: np.tanh((u + 1) / 4) * np.tanh(v / 4) * np.tanh(w / 4)
             * np.tanh(y / 4 + 0.5),) * 2,
}


def test_means_by_rules_agree_with_samples():
    rng = np.random.default_rng(5)
    d, rows = 30, 0.8 * rng.normal(size=(4, 30)) / np.sqrt(30)
    m = Model("means", "means of smooth functions of forms")
    W = m.weights("W", rows, "rows")
    x = m.data(normal(d))
    forms = W @ x
    m.loss(np.maximum(forms[0], 0) ** 2)
    for number, (expression, _) in enumerate(EXPRESSIONS.values()):
        m.observable(f"mean_{number}", m.mean(expression(*forms)), "mean")
    run = popflow.run(m.build(check=False), t_end=0.01, saves=2)
    assert run.quadrature_error[0] < 1e-10
    count = 400_000
    z = rows @ rng.normal(size=(d, count))
    for number, (name, (_, expression)) in enumerate(EXPRESSIONS.items()):
        values = expression(*z)
        error = values.std() / np.sqrt(count)
        found = float(run[f"mean_{number}"][0])
        # 9 tests at 4.5 standard errors fail by chance for 1 of 16 000 seeds.
        assert abs(found - values.mean()) < 4.5 * error, (name, found, values.mean(), error)


def growing(points=None):
    """A student whose variance grows from 0.25 to 25 until about t = 0.6."""
    d = 20
    m = Model("growing", "the variance of a form grows")
    w = m.weights("w", np.full(d, 0.5 / np.sqrt(d)), "weights")
    x = m.data(normal(d))
    m.loss(erf(w @ x) * np.sin(w @ x) - 2 * (w @ w))
    if points is not None:
        m.quadrature(points)
    return m.build(check=False)


def test_the_error_grows_with_the_variance_and_warns():
    system = growing()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = popflow.run(system, t_end=0.1, saves=2)
    assert (run.quadrature_error < 1e-10).all()
    with pytest.warns(UserWarning, match="quadrature_error is .* at t = 0.6, above 1e-08"):
        run = popflow.run(system, t_end=0.6, saves=25)
    assert run.quadrature_error[0] < 1e-10
    assert run.quadrature_error[-1] > 1e-8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        better = popflow.run(growing(512), t_end=0.6, saves=25)
    assert better.quadrature_error[-1] < run.quadrature_error[-1] / 100


def test_variances_that_are_too_large_at_the_start_are_refused():
    m = Model("large", "tanh of variance 400")
    w = m.weights("w", np.ones(100), "weights")
    x = m.data(normal(100))
    m.loss(np.tanh(2 * (w @ x) + 1) ** 2)
    with pytest.raises(ModelError, match="variances 400 at the start. The ways out") as refused:
        m.build()
    assert "(tanh((2 * (w @ data_0)) + 1)) ** 2" in str(refused.value)


def test_overlaps_of_tanh_have_the_flow_of_the_weights():
    d, rng = 12, np.random.default_rng(2)
    students, teacher = rng.normal(size=(2, d)) / 4, rng.normal(size=(1, d)) / 4
    m = committee(d, np.tanh, students, teacher)
    words = {"t_end": 5, "rtol": 1e-9, "saves": 3}
    overlaps = popflow.run(m.overlaps().build(check=False), **words)
    weights = popflow.run(m.build(check=False), **words)
    assert np.allclose(overlaps.loss, weights.loss, rtol=0, atol=1e-8)
    J = weights.J.values[-1]
    assert np.allclose(overlaps.J_J[-1], J @ J.T, rtol=0, atol=1e-8)
    assert (overlaps.quadrature_error < 1e-10).all()


def test_comparisons_have_no_verdict_on_the_error():
    d, rng = 6, np.random.default_rng(2)
    m = committee(d, np.tanh, rng.normal(size=(1, d)) / 2, rng.normal(size=(1, d)) / 2)
    verdicts = popflow.compare(m.build(check=False), learning_rate=0.1, batch_size=4, runs=4,
                               t_end=2, saves=3, rungs=["flow", "sgd"])
    assert "loss" in str(verdicts)
    assert "quadrature_error" not in str(verdicts)
