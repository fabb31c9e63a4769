# label: slow
"""Overlaps of normal data whose covariance has few distinct eigenvalues: one set for each."""

import re

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

from scipy.linalg import expm  # noqa: E402

import popflow  # noqa: E402
from popflow.model import Model, ModelError, erf, mixture, normal  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
D = 12
DIAGONAL = np.array([1.0] * 5 + [3.0] * 4 + [0.0] * 3)
BASIS = np.linalg.qr(np.random.default_rng(1).normal(size=(D, D)))[0]
DENSE = BASIS @ np.diag([1.0] * 8 + [4.0] * 4) @ BASIS.T
CENTRE = np.linspace(0, 0.5, D)
LAWS = {"multiple of the identity": (normal(D, covariance=2.5 * np.eye(D)), [2.5]),
        "two eigenvalues": (normal(D, covariance=DENSE), [1, 4]),
        "repeated and zero": (normal(D, covariance=DIAGONAL), [0, 1, 3]),
        "mean": (normal(D, mean=CENTRE), []),
        "variances and mean": (normal(D, covariance=DIAGONAL, mean=CENTRE), [0, 1, 3]),
        "covariance and mean": (normal(D, covariance=DENSE, mean=CENTRE), [1, 4]),
        "mixture": (mixture(normal(D, covariance=DIAGONAL, mean=CENTRE), normal(D, mean=-CENTRE)),
                    [])}


def pairs(J, B, x):
    return (erf(J @ x).sum() - erf(B @ x).sum()) ** 2 / 2


def singles(J, B, x):
    """Without products of erf, whose means have no closed form if those of forms are not 0."""
    return ((J @ x - B @ x) ** 2).sum() / 2 + erf(J @ x + 0.3).sum() - erf(J[1] @ x) * (B[0] @ x)


def students(law, loss, on_sphere=False):
    rng = np.random.default_rng(3)
    m = Model("students", "two students and two teachers")
    J = m.weights("J", rng.normal(size=(2, D)) / np.sqrt(D), "students")
    x = m.data(law)
    B = rng.normal(size=(2, D)) / np.sqrt(D)
    if on_sphere:
        m.sphere(J)
    m.loss(loss(J, B, x))
    m.observable("size", J[0] @ J[0], "squared norm")
    m.observable("teacher", B[0] @ J[1], "product with a teacher")
    m.observable("both", (J @ B.T).sum() + (B @ J.T)[1, 0], "products with teachers")
    if law.kind == "normal":
        m.observable("seen", m.overlap(J[0], J[1]), "covariance of two forms")
        m.observable("seen_teacher", m.overlap(J[0], B[1]), "covariance with a teacher's form")
    return m


@pytest.mark.parametrize("law, on_sphere", [
    *((law, False) for law in LAWS), ("two eigenvalues", True), ("variances and mean", True)])
def test_overlaps_in_each_eigenspace_have_the_flow_of_the_weights(law, on_sphere):
    law, eigenvalues = LAWS[law]
    loss = pairs if law.kind == "normal" and law.mean is None else singles
    words = {"t_end": 3, "rtol": 1e-11, "atol": 1e-13, "saves": 4}
    reduced = students(law, loss, on_sphere).overlaps()
    assert np.allclose([float(row.symbol.value) for row in reduced.constants], eigenvalues,
                       rtol=1e-14, atol=0)
    overlaps = popflow.run(reduced.build(check=False), **words)
    weights = popflow.run(students(law, loss, on_sphere).build(check=False), **words)
    names = [row.name for row in reduced.observables]
    assert len(names) == (6 if law.kind == "normal" else 4)
    for name in names:
        assert np.allclose(overlaps[name], weights[name], rtol=0, atol=1e-10), name
        if not on_sphere or name != "size":
            assert np.ptp(weights[name].values) > 0.05, name
    J = weights.J.values[-1]
    if len(eigenvalues) > 1:
        assert overlaps.J_J.dims == ("time", "eigenvalue", "J_J_row", "J_J_column")
        spaces = [np.diag(1.0 * (DIAGONAL == value)) for value in eigenvalues] \
            if len(eigenvalues) == 3 else [BASIS[:, :8] @ BASIS[:, :8].T,
                                           BASIS[:, 8:] @ BASIS[:, 8:].T]
        for k, space in enumerate(spaces):
            assert np.allclose(overlaps.J_J[-1, k], J @ space @ J.T, rtol=0, atol=1e-10)
    elif law.kind == "normal":
        assert np.allclose(overlaps.J_J[-1], J @ J.T, rtol=0, atol=1e-10)


def test_the_checks_of_a_build_compare_both_flows():
    students(LAWS["two eigenvalues"][0], pairs).overlaps().build()


def test_forms_of_single_rows_and_of_scaled_data_close():
    def made():
        m = Model("rows", "rows of weights, one by one")
        rng = np.random.default_rng(4)
        J = m.weights("J", rng.normal(size=(3, D)) / 3, "students")
        x = m.data(normal(D))
        u = x * np.where(np.arange(D) < 4, 2.0, 0.5)
        m.loss((erf(J[2] @ u) - erf(J[0] @ u) * 0.5 - erf(u[1])) ** 2 + (J[1] @ u) ** 2)
        return m

    words = {"t_end": 3, "rtol": 1e-11, "atol": 1e-13, "saves": 3}
    overlaps, weights = (popflow.run(m.build(check=False), **words)
                         for m in (made().overlaps(), made()))
    assert np.allclose(overlaps.loss, weights.loss, rtol=0, atol=1e-10)
    assert np.ptp(weights.loss.values) > 0.1


@pytest.mark.parametrize("batch", [1, 4])
def test_the_limit_of_sgd_has_the_equations_of_least_squares(batch):
    """dD_k/dt = -2 gamma l_k D_k + gamma^2 / B l_k (d_k / d) sum_j l_j D_j for the squared distance
    D_k from the teacher in the space of the eigenvalue l_k."""
    d, gamma = 150, 0.7
    values, sizes = np.array([0.5, 2.0]), np.array([100, 50])
    rng = np.random.default_rng(5)
    start, teacher = rng.normal(size=(2, d)) / np.sqrt(d)
    m = Model("least-squares", "least squares with two eigenvalues")
    w = m.weights("w", start, "weights")
    x = m.data(normal(d, covariance=np.repeat(values, sizes)))
    m.loss((w @ x - teacher @ x) ** 2 / 2)
    m.observable("distance", w @ w - 2 * (w @ teacher) + teacher @ teacher, "squared distance")
    system = m.high_dimension().build(check=False)
    run = popflow.run(system, gamma=gamma, batch=batch, t_end=3, rtol=1e-11, saves=5)
    rates = -2 * gamma * np.diag(values) + gamma**2 / batch * np.outer(values * sizes / d, values)
    D = np.array([((start - teacher)[:100] ** 2).sum(), ((start - teacher)[100:] ** 2).sum()])
    for k, t in enumerate(run.time.values):
        found = expm(rates * t) @ D
        assert abs(float(run.distance[k]) - found.sum()) < 1e-9
        assert abs(float(run.loss[k]) - values @ found / 2) < 1e-9


def test_the_limit_of_sgd_is_near_sgd_of_many_dimensions():
    d, gamma = 400, 1.5
    variances = np.where(np.arange(d) % 2, 0.25, 1.75)
    m = Model("committee", "two students and a teacher, with two variances")
    start = np.zeros((2, d))
    start[:, :6] = np.random.default_rng(6).normal(size=(2, 6)) / 3
    J = m.weights("J", start, "students")
    x = m.data(normal(d, covariance=variances))
    m.loss((erf(J @ x).sum() - erf(x[0] + x[1])) ** 2 / 2)
    system = m.high_dimension().build(check=False)
    run = popflow.run(system, gamma=gamma, t_end=4, rtol=1e-9, saves=5)
    sgd = popflow.run(system, mode="sgd", gamma=gamma, learning_rate=1 / d, batch_size=1, runs=32,
                      t_end=4, saves=5, seed=3)
    # The mean of SGD is off by a number of order 1/d.
    mean, error = sgd.loss.values.mean(axis=0), sgd.loss.values.std(axis=0) / np.sqrt(32)
    assert (np.abs(mean - run.loss.values) < 4 * error + 4 / d).all()
    flow = popflow.run(m.overlaps().build(check=False), t_end=4 * gamma, saves=5)
    assert np.abs(mean[-1] - float(flow.loss[-1])) > 3 * (4 * error[-1] + 4 / d)


def open_model(covariance=None, more=0.0, loss=lambda w, x: np.maximum(w @ x - x[0], 0), law=None):
    m = Model("open", "no closed overlaps")
    w = m.weights("w", np.ones(10), "weights")
    x = m.data(law or normal(10, covariance=covariance))
    m.loss(loss(w, x) + more * (w**4).sum() if more else loss(w, x))
    return m


def test_what_does_not_close_in_overlaps_is_refused():
    with pytest.raises(ModelError, match="has 10 distinct eigenvalues.* take up to 8"):
        open_model(np.diag(np.arange(1.0, 11))).overlaps()
    with pytest.raises(ModelError, match="has 9 distinct eigenvalues.* take up to 8"):
        basis = np.linalg.qr(np.random.default_rng(1).normal(size=(10, 10)))[0]
        open_model(basis @ np.diag(np.arange(1.0, 11).clip(0, 9)) @ basis.T).overlaps()
    with pytest.raises(ModelError, match="no common eigenvectors"):
        rng = np.random.default_rng(2)
        bases = [np.linalg.qr(rng.normal(size=(10, 10)))[0] for _ in range(2)]
        one, other = (normal(10, covariance=basis @ np.diag([1.0] * 5 + [2.0] * 5) @ basis.T)
                      for basis in bases)
        open_model(law=mixture(one, other)).overlaps()
    with pytest.raises(ModelError, match="by more than its overlaps"):
        open_model(more=1.0).overlaps()
    with pytest.raises(ModelError, match="seen through linear forms"):
        open_model(loss=lambda w, x: w @ x).overlaps()
    with pytest.raises(ModelError, match=re.escape("rows of the form (w * w) @ data_0")):
        open_model(loss=lambda w, x: np.maximum((w * w) @ x, 0)).overlaps()
    with pytest.raises(ModelError, match="standard normal vector"):
        open_model(2 * np.eye(10), loss=lambda w, x: (w @ x) ** 2 + erf(w @ x)).high_dimension(
            noise=True)
    with pytest.raises(ModelError, match="other is no function of overlaps"):
        m = open_model()
        m.observable("other", m.fields[0].symbol @ np.arange(10.0), "another product")
        m.overlaps()
    with pytest.raises(ModelError, match="not rows of one array of weights"):
        open_model(loss=lambda w, x: np.maximum(np.stack([w, np.ones(10)]) @ x, 0).sum()).overlaps()
