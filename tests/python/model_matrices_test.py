# label: slow
"""Large models keep their matrices, with the same numbers as unrolled code up to rounding."""

import ctypes as c

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

from model_derivatives_test import RULES  # noqa: E402

import popflow  # noqa: E402
from popflow.model import (  # noqa: E402
    Model,
    cross_entropy,
    dataset,
    finite,
    logsumexp,
    normal,
    where,
)
from popflow.model.emit import generating  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
random = np.random.default_rng(3)


def memory():
    m = Model("memory", "associative memory")
    zipf = m.parameter("zipf", 0.7, "exponent", low=0)
    W = m.weights("W", random.normal(size=(9, 10)), "matrix")
    inputs, outputs = random.normal(size=(21, 10)), random.normal(size=(21, 9))
    x, fact = m.data(finite(inputs, np.arange(21), probability=np.arange(1.0, 22) ** -zipf))
    m.loss(cross_entropy(outputs @ W @ x, fact))
    return m


def network():
    """Returns a network of two layers with 37 samples, so that the last batch is not full."""
    m = Model("network", "a two-layer network")
    ridge = m.parameter("ridge", 0.1, "weight decay", low=0)
    A = m.weights("A", random.normal(size=(12, 7)) / 3, "first layer")
    b = m.weights("b", random.normal(size=12), "biases")
    v = m.weights("v", random.normal(size=12), "second layer")
    x, y = m.data(finite(random.normal(size=(37, 7)), random.normal(size=37)))
    m.loss((v @ np.tanh(A @ x + b) - y) ** 2 / 2 + ridge * ((A * A).sum() + (v ** 4).sum()))
    return m


def medley():
    """Returns a model with operations of every kind, products of samples, and rearranged
    entries."""
    m = Model("medley", "many operations")
    A = m.weights("A", random.normal(size=(8, 6)), "a matrix")
    B = m.weights("B", random.normal(size=(6, 6)), "a matrix")
    X, s = m.data(finite(random.normal(size=(5, 4, 6)), random.uniform(1, 2, size=5)))
    scores = X @ (B.T @ B) @ X.T / 4
    attention = np.exp(scores - logsumexp(scores, axis=1).reshape(-1, 1))
    hidden = (attention @ X) @ A.T
    parts = np.concatenate([hidden.ravel(), A[1:5, ::2].ravel(), A[[0, 3, 0], [1, 1, 1]]])
    smooth = np.sqrt(1 + parts * parts) + np.log1p(np.exp(-np.abs(parts))) / (2 + np.sin(parts))
    bent = where(parts > 0, smooth, np.arctan(parts)) * np.maximum(parts, -0.5)
    m.loss(bent.mean() * s + np.log(s + (A @ B).sum(axis=0) @ (A @ B).sum(axis=0)) + X[0] @ B[0])
    return m


class Table(c.Structure):
    """First members of popflow_table."""

    _fields_ = [("abi", c.c_uint32), ("bytes", c.c_uint32), ("description", c.c_char_p),
                ("create", c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p, c.c_size_t)),
                ("destroy", c.c_void_p), ("start", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)),
                *((name, c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_double, c.c_void_p))
                  for name in ("rate", "loss"))]


def values(system, parameters, entries):
    """Returns rate and loss at the start."""
    library = c.CDLL(str(system.path))
    library.popflow_plugin.restype = c.POINTER(Table)
    table = library.popflow_plugin().contents
    p = (c.c_double * 4)(*parameters)
    request = (c.c_void_p * 2)(c.addressof(p), None)
    problem = table.create(c.addressof(request), c.create_string_buffer(1024), 1024)
    x, rate, loss = np.zeros(entries), np.zeros(entries), np.zeros(1)
    table.start(problem, x.ctypes.data)
    table.rate(problem, x.ctypes.data, 0.0, rate.ctypes.data)
    table.loss(problem, x.ctypes.data, 0.0, loss.ctypes.data)
    return rate, float(loss[0])


def has(system, flag):
    """Returns whether a flag of the generated code is set. The searched text is composed, since the
    generated code also contains the text of this file."""
    return f"bool {flag} = {True};".lower() in system.path.with_suffix(".cpp").read_text()


def in_matrices(system):
    return has(system, "in_matrices")


@pytest.mark.parametrize("make", [memory, network, medley])
def test_matrices_give_the_numbers_of_unrolled_code(make, monkeypatch):
    m = make()
    monkeypatch.setattr(generating, "MOST_DERIVED", 0)  # the Jacobian would take long to compile
    kept = m.build(check=False)
    assert in_matrices(kept)
    parameters = [row.default for row in m.parameters]
    rate, loss = values(kept, parameters, m.entries)
    monkeypatch.setattr(generating, "MOST_UNROLLED", 10 ** 9)
    monkeypatch.setattr(generating, "MOST_UNROLLED_WITHOUT_LANES", 10 ** 9)
    m.name = f"{m.name}-unrolled"  # a library under another name
    unrolled = m.build(check=False)
    assert not in_matrices(unrolled)
    expected, expected_loss = values(unrolled, parameters, m.entries)
    assert np.abs(expected).max() > 1e-3
    assert np.allclose(rate, expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())
    assert loss == pytest.approx(expected_loss, rel=1e-13)


def test_small_models_are_unrolled_and_have_lanes():
    m = Model("small", "a small model")
    w = m.weights("w", np.ones(3), "weights")
    x = m.data(finite(np.eye(3)))
    m.loss((w @ x - 2) ** 2)
    system = m.build(check=False)
    assert not in_matrices(system)
    assert has(system, "has_lanes")


def test_continuous_data_are_sampled_in_batches():
    """The mean of sampled gradients is the closed form's, which verify checks."""
    m = Model("teacher", "linear regression from normal data")
    W = m.weights("W", np.zeros((12, 12)), "matrix")
    T = random.normal(size=(12, 12))
    x = m.data(normal(12))
    residual = (W - T) @ x
    m.loss(residual @ residual / 2)
    m.population_loss(((W - T) * (W - T)).sum() / 2)
    system = m.build()
    assert in_matrices(system)
    runs = popflow.run(system, mode="sgd", learning_rate=0.01, batch_size=20, runs=2, t_end=1,
                       seed=1)
    assert float(runs.loss.isel(time=-1).mean()) < float(runs.loss.isel(time=0).mean()) / 3


@pytest.mark.parametrize("most", [0, 10**9])
def test_compiled_code_has_the_derivatives_of_the_rules(most, monkeypatch):
    monkeypatch.setattr(generating, "MOST_DERIVED", 0)
    for limit in ("MOST_UNROLLED", "MOST_UNROLLED_WITHOUT_LANES"):
        monkeypatch.setattr(generating, limit, most)
    m = Model(f"rules-{most}", "every rule")
    x = m.data(finite([[1.0]]))
    total, expected = 0.0, []
    for number, (formula, at, gradient) in enumerate(RULES.values()):
        w = m.weights(f"w{number}", np.array(at, dtype=float), "weights")
        total = total + formula(w) * x[0]
        expected.append(np.array(gradient, dtype=float))
    m.loss(total)
    system = m.build(check=False)
    assert in_matrices(system) == (most == 0)
    rate, _ = values(system, [], m.entries)
    for name, part, right in zip(RULES, np.split(rate, np.cumsum([one.size for one in expected])),
                                 expected):
        assert np.allclose(-part, right, rtol=1e-7, atol=1e-12), (name, part, right)


class Threads(c.Structure):
    """popflow_threads."""

    TASK = c.CFUNCTYPE(None, c.c_void_p, c.c_size_t)
    RUN = c.CFUNCTYPE(None, c.c_void_p, c.c_size_t, c.c_size_t, c.c_void_p, c.c_void_p)
    _fields_ = [("pool", c.c_void_p), ("run", RUN)]


def wide():
    """Returns a network of two layers, with samples in a file, for several batches."""
    m = Model("wide", "a two-layer network")
    A = m.weights("A", random.normal(size=(20, 7)) / 3, "first layer")
    v = m.weights("v", random.normal(size=20), "second layer")
    x, y = m.data(dataset(random.normal(size=(20_003, 7)), random.normal(size=20_003)))
    m.loss((v @ np.tanh(A @ x) - y) ** 2 / 2)
    m.observable("last", m.mean(np.tanh(A @ x)[-1]), "mean of a unit")
    return m


def test_threads_share_the_samples_and_do_not_change_the_numbers(tmp_path):
    system = wide().build(check=False)
    rate, loss = values(system, [], 160)
    library = c.CDLL(str(system.path))
    library.popflow_plugin.restype = c.POINTER(Table)
    table = library.popflow_plugin()
    last = c.cast(table, c.c_void_p).value + table.contents.bytes - c.sizeof(c.c_void_p)
    use_threads = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)(c.c_void_p.from_address(last).value)
    counts = []

    def run(pool, count, work, task, context):
        assert pool == 7
        counts.append(count)
        for i in reversed(range(count)):  # as another thread may
            Threads.TASK(task)(context, i)

    request = (c.c_void_p * 2)(None, None)
    problem = table.contents.create(c.addressof(request), c.create_string_buffer(1024), 1024)
    use_threads(problem, c.byref(Threads(7, keep := Threads.RUN(run))))
    x, found = np.zeros(160), np.zeros(160)
    table.contents.start(problem, x.ctypes.data)
    table.contents.rate(problem, x.ctypes.data, 0.0, found.ctypes.data)
    assert max(counts) > 1 and keep
    assert np.array_equal(found, rate)

    for words in ({"t_end": 0.3, "method": "euler", "dt": 0.1},
                  {"mode": "sgd", "batch_size": 500, "learning_rate": 0.1, "steps": 5}):
        ends = [popflow.run(system, threads=threads, saves=2, output=tmp_path / f"{threads}.h5",
                            force=True, **words) for threads in (1, 2, 3)]
        for name in ("A", "v", "loss", "last"):
            assert all(np.array_equal(ends[0][name], other[name]) for other in ends[1:]), name
