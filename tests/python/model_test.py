# label: slow
"""Models from a loss: building, checks against samples and differences, runs, comparisons,
resuming."""

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow  # noqa: E402
from popflow.model import (  # noqa: E402
    Model,
    ModelError,
    cross_entropy,
    finite,
    logistic_loss,
    normal,
    rademacher,
    softmax,
    uniform,
    where,
)
from popflow.model.symbols import evaluated  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")


def scalar():
    """Returns a model with one weight and three samples: L = sum p (w - x)^2 / 2, with a
    parameter."""
    m = Model("scalar", "a scalar")
    a = m.parameter("steepness", 2.0, "factor of the loss", low=0)
    w = m.weights("w", 3.0, "weight")
    x = m.data(finite([0.0, 1.0, 4.0], probability=[1.0, 2.0, 1.0]))
    m.loss(a * (w - x) ** 2 / 2)
    m.event("halved", m.initial_loss / 2 - m.population, "the loss is half of what it was")
    m.end = 3
    return m


def test_a_scalar_model_runs_and_is_verified(capsys):
    system = scalar().build()
    assert "checks hold" in capsys.readouterr().err
    run = popflow.run(system, t_end=2, rtol=1e-10)
    mean, t = 1.5, run.time.values
    assert np.allclose(run.w, mean + (3 - mean) * np.exp(-2 * t), rtol=1e-8)
    variance = np.average((np.array([0, 1, 4]) - mean) ** 2, weights=[1, 2, 1])
    assert np.allclose(run.loss, (run.w - mean) ** 2 + variance)
    # The loss is half of its start when (w - mean)^2 has fallen from 2.25 to 2.25 / 2 - variance /
    # 2.
    half = np.log(2.25 / (2.25 / 2 - variance / 2)) / 4 if variance < 2.25 else None
    if half:
        assert float(run.popflow.time_of("halved")) == pytest.approx(half, rel=1e-5)
    verified = popflow.verify(system)
    assert verified
    made = " ".join(map(str, verified.checks.check.values)).split()
    assert {"gradient", "covariance"} <= set(made)
    assert run.attrs["system"] == "scalar"


def test_a_sweep_over_a_models_parameter_has_the_numbers_of_single_runs():
    system = scalar().build()
    swept = popflow.sweep(system, over={"steepness": [0.5, 1.0, 2.0]}, t_end=1, rtol=1e-9)
    for value in (0.5, 1.0, 2.0):
        alone = popflow.run(system, steepness=value, t_end=1, rtol=1e-9)
        assert np.allclose(swept.sel(steepness=value).loss, alone.loss[-1], rtol=1e-7)


def test_training_has_the_exact_stationary_variance():
    system = scalar().build()
    compared = popflow.compare(system, learning_rate=0.05, batch_size=4, runs=64, t_end=1, seed=3,
                               rungs=["flow", "sde", "sgd"])
    assert "sgd" in list(compared.rung.values)
    runs = popflow.run(system, mode="sgd", learning_rate=0.05, batch_size=4, runs=400, t_end=4,
                       seed=5)
    # Stationary variance of w' = w - eta a (w - mean of B samples): eta a V / (B (2 - eta a)).
    variance = np.average((np.array([0, 1, 4]) - 1.5) ** 2, weights=[1, 2, 1])
    expected = 0.1 * variance / (4 * 1.9)
    assert float(runs.w.isel(time=-1).var("run", ddof=1)) == pytest.approx(expected, rel=0.3)


def wide():
    """Returns a model that uses all kinds of functions, on vectors and matrices."""
    rng = np.random.default_rng(4)
    m = Model("wide", "every function", source="a test")
    a = m.parameter("a", 0.5, "a number", low=0)
    W = m.weights("W", rng.normal(size=(3, 2)) / 2, "matrix")
    v = m.weights("v", rng.normal(size=2) / 2, "vector")
    x, y, label = m.data(finite(rng.normal(size=(20, 2)), rng.normal(size=20),
                                rng.integers(0, 3, size=20), probability=np.arange(1.0, 21) ** -a))
    h = np.tanh(W @ (x + v)) + softmax(W @ v)
    m.loss(cross_entropy(h, label) + logistic_loss(y * (v @ x)) + np.log1p(v @ v)
           + np.exp(-v @ v) * np.sin(y) + where(x[0] > 0, np.sqrt(1 + v[0] ** 2), np.cos(v[0]))
           + np.maximum(W[0, 0] * y, 0) ** 3 + np.expm1(v[1] / 4) + np.abs(2 + v[0])
           + (1 + v @ v) ** a)
    m.observable("norm", np.sum(W * W) + a, "squared norm", floor=1e-16)
    m.field("logits", W @ v, "logits")
    m.constant("twice", 2 * a, "twice a")
    m.end = 1
    return m


def test_a_model_with_all_functions_passes_its_checks():
    m = wide()
    system = m.build()  # checks the rate against differences and samples, and checks the covariance
    run = popflow.run(system, t_end=0.5, saves=3)
    assert np.isclose(float(run.constants_twice) if "constants_twice" in run else 1.0, 1.0)
    # The loss in the file agrees with NumPy's at the recorded state.
    rows, weight = m.nodes()
    p = np.arange(1.0, 21) ** -0.5
    p /= p.sum()
    for t in range(3):
        known = {id(m.parameters[0].symbol): 0.5}
        for field, name in zip(m.fields, ("W", "v")):
            known[id(field.symbol)] = run[name].values[t]
        total = 0.0
        for row, q in zip(rows, p):
            begin = 0
            for symbol in m.base:
                known[id(symbol)] = row[begin:begin + symbol.size].reshape(symbol.shape)
                begin += symbol.size
            total += q * float(evaluated([m.sample_loss], known)[0])
        assert run.loss.values[t] == pytest.approx(total, rel=1e-12)
    swept = popflow.sweep(system, over={"a": [0.2, 0.5, 0.9]}, t_end=0.5, rtol=1e-9)
    alone = popflow.run(system, a=0.9, t_end=0.5, rtol=1e-9)
    assert np.allclose(swept.sel(a=0.9).loss, alone.loss[-1], rtol=1e-7)


def test_a_normal_law_has_the_exact_mean_of_a_polynomial():
    """Loss (w x - teacher x)^2 x^2 / 2 of correlated normal data: its mean has a closed form."""
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    m = Model("polynomial", "regression with normal inputs")
    w = m.weights("w", np.zeros(2), "weights")
    x = m.data(normal(2, covariance=S))
    m.loss((w @ x - x[0]) ** 2 * x[1] ** 2 / 2)
    m.end = 1
    system = m.build()
    run = popflow.run(system, t_end=1, saves=3)
    for t in range(3):
        d = run.w.values[t] - [1, 0]
        mean = (d @ S @ d * S[1, 1] + 2 * (S @ d)[1] ** 2) / 2
        assert run.loss.values[t] == pytest.approx(mean, rel=1e-12)


def test_quadrature_is_exact_for_polynomials_and_a_wrong_closed_form_is_caught():
    def made(name, population=None, points=None):
        m = Model(name, "a scalar")
        w = m.weights("w", 0.5, "weight")
        x, s = m.data(uniform(-1, 1), uniform(0, 1))
        m.loss((w - x - s) ** 2 / 2)
        if population is not None:
            m.population_loss(population(w))
        if points is not None:
            m.quadrature(points)
        m.end = 1
        return m
    variance = 4 / 12 + 1 / 12
    right = made("right", points=3).build()
    run = popflow.run(right, t_end=1, saves=2)
    assert np.allclose(run.loss, (run.w - 0.5) ** 2 / 2 + variance / 2, rtol=1e-12)
    made("given", population=lambda w: (w - 0.5) ** 2 / 2 + variance / 2).build()
    with pytest.raises(ModelError, match="does not hold what it declares"):
        made("wrong", population=lambda w: (w - 0.6) ** 2 / 2).build()


def test_signs_are_enumerated():
    m = Model("signs", "parity of signs")
    w = m.weights("w", np.array([0.3, 0.2, 0.1]), "weights")
    x = m.data(rademacher(3))
    m.loss((np.tanh(w @ x) - x[0] * x[1] * x[2]) ** 2 / 2)
    m.end = 1
    run = popflow.run(m.build(), t_end=1, saves=2)
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    for t in range(2):
        found = np.mean((np.tanh(signs @ run.w.values[t]) - signs.prod(axis=1)) ** 2) / 2
        assert run.loss.values[t] == pytest.approx(found, rel=1e-12)


def test_arrays_of_the_problem_are_stored_and_can_be_replaced(tmp_path):
    rng = np.random.default_rng(6)
    inputs, outputs = rng.normal(size=(10, 2)), rng.normal(size=10)
    m = Model("stored", "regression on a stored set")
    w = m.weights("w", np.zeros(2), "weights")
    x, y = m.data(finite(m.array("inputs", inputs, "inputs", axes=["example", "feature"]),
                         m.array("outputs", outputs, "outputs", axes=["example"])))
    m.loss((w @ x - y) ** 2 / 2)
    m.end = 300
    system = m.build()
    import h5py
    run = popflow.run(system, output=tmp_path / "a.h5")
    assert np.allclose(run.w.values[-1], np.linalg.lstsq(inputs, outputs, rcond=None)[0], atol=1e-6)
    with h5py.File(tmp_path / "a.h5") as file:
        assert (file["problem/inputs"][()] == inputs).all()
    other = rng.normal(size=10)
    run = popflow.run(system, problem={"outputs": other}, output=tmp_path / "b.h5")
    assert np.allclose(run.w.values[-1], np.linalg.lstsq(inputs, other, rcond=None)[0], atol=1e-6)
    with pytest.raises(popflow.InputError, match="outputs"):
        popflow.run(system, problem={"outputs": other[:5]}, output=tmp_path / "c.h5")


def test_labels_of_a_problem_file_must_be_places():
    m = Model("labels", "classification of a stored set")
    W = m.weights("W", np.zeros((3, 2)), "weights")
    x, y = m.data(finite(m.array("inputs", np.eye(2), "inputs"),
                         m.array("labels", [[5, 0], [6, 2]], "labels", axes=["example", "two"])))
    m.loss(cross_entropy(W @ x, y[1]))
    m.end = 1
    system = m.build(check=False)
    popflow.run(system, problem={"labels": np.array([[9.5, 2.0], [6, 1]])})
    for wrong in (3.0, -1.0, 0.5):
        with pytest.raises(popflow.Error, match=f"sample 1 in the array labels is {wrong:g}; it "
                                                "must be a whole number from 0 to 2"):
            popflow.run(system, problem={"labels": np.array([[0, 0], [0, wrong]])})


def test_equal_models_share_a_library_and_files_record_the_source(tmp_path):
    first, again = scalar().build(), scalar().build()
    assert first.path == again.path and first.hash == again.hash
    run = popflow.run(first, t_end=1, saves=5, output=tmp_path / "a.h5")
    import h5py
    with h5py.File(tmp_path / "a.h5") as file:
        kept = dict(file["provenance"].attrs)
    assert kept["plugin_hash"] == first.hash
    assert "def scalar()" in kept["plugin_source"] and "struct Formulas" in kept["plugin_generated"]
    assert "-ffp-contract=off" in kept["plugin_flags"] and "-march" not in kept["plugin_flags"]
    run.close()
    with pytest.raises(popflow.UsageError, match="--system"):
        popflow.resume(tmp_path / "a.h5", t_end=2)
    assert float(popflow.resume(tmp_path / "a.h5", t_end=2, system=first).time[-1]) == 2


def test_a_message_names_a_missing_compiler(monkeypatch):
    monkeypatch.setenv("POPFLOW_CXX", "no-such-compiler")
    with pytest.raises(ModelError, match="no-such-compiler, which is no program; install g"):
        scalar().build()
    monkeypatch.delenv("POPFLOW_CXX")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("popflow.model.compilers.zig_program", lambda: None)
    with pytest.raises(ModelError, match="apt-get install g"):
        scalar().build()
