# label: slow
"""Models of generated samples: the estimated population, its standard error, and fresh draws."""

import h5py
import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow  # noqa: E402
from popflow.model import Model, ModelError, dataset, finite, normal, scan, stream  # noqa: E402
from popflow.model import uniform as uniform_law  # noqa: E402
from popflow.model.streams import drawn_numbers  # noqa: E402
from popflow.model.symbols.values import evaluated  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
N, D = 37, 3
TEACHER = np.array([1.0, -2.0, 0.5])


def student(samples=N):
    m = Model("student", "least squares on fresh samples")
    w = m.weights("w", np.zeros(D), "slopes")
    x, y = m.data(stream(lambda x, noise: (x, TEACHER @ x + noise), normal(D), normal(),
                         samples=samples, seed=5))
    m.loss((w @ x - y) ** 2 / 2)
    return m


@pytest.fixture(scope="module")
def built(own_cache):
    return student().build()  # runs verify


def test_population_is_the_mean_over_fixed_samples(built):
    numbers = np.random.default_rng(5)
    x, noise = numbers.normal(size=(N, D)), numbers.normal(size=(N, 1))[:, 0]
    run = popflow.run(built, t_end=1e-3, method="euler", dt=1e-3, saves=2)
    w = np.zeros(D)
    for k in range(2):
        residual = x @ w - (x @ TEACHER + noise)
        losses = residual**2 / 2
        assert run.loss.values[k] == pytest.approx(losses.mean(), rel=1e-12)
        assert run.loss_standard_error.values[k] == pytest.approx(
            losses.std(ddof=1) / np.sqrt(N), rel=1e-9)
        np.testing.assert_allclose(run.w.values[k], w, rtol=1e-10, atol=1e-14)
        w = w - 1e-3 * x.T @ residual / N
    with h5py.File(run.attrs["path"]) as kept:
        assert kept["provenance"].attrs["plugin_population"] == "estimated"
        assert int(kept["provenance"].attrs["plugin_population_samples"]) == N


def test_training_draws_fresh_samples(built):
    """The mean of many tiny steps is the gradient of the true population, within five standard
    errors, and not that of the fixed samples."""
    steps, rate = 20_000, 1e-9
    run = popflow.run(built, mode="sgd", learning_rate=rate, batch_size=1, steps=steps, runs=1,
                      saves=2)
    moved = run.w.isel(run=0).values[-1] / (steps * rate)
    fixed = -popflow.run(built, t_end=1e-3, method="euler", dt=1e-3, saves=2).w.values[-1] / 1e-3
    # A sample's gradient is (x . teacher + noise) x; its variance is at most |teacher|^2 + 1 +
    # teacher_i^2.
    error = np.sqrt((TEACHER @ TEACHER + 1 + TEACHER**2) / steps)
    assert (np.abs(moved - TEACHER) < 5 * error).all()
    assert (np.abs(moved + fixed) > 10 * error).any()


def test_scan_makes_chains():
    m = Model("chain", "a chain of two states")

    def chain(u):
        def step(state, place):
            state = np.where(u[place] < 0.2, 1.0 - state, state)
            return state, state
        return scan(step, np.where(u[0] < 0.5, 1.0, 0.0), 6)

    states = m.data(stream(chain, uniform_law(shape=6), samples=50, seed=1))
    rows = drawn_numbers(m.laws, 50, 1)
    assert (rows == np.random.default_rng(1).uniform(size=(50, 6))).all()
    for row in rows[:5]:
        (found,) = evaluated([states], {id(m.base[0]): row})
        state, expected = float(row[0] < 0.5), []
        for u in row:
            state = 1 - state if u < 0.2 else state
            expected.append(state)
        assert found.tolist() == expected


@pytest.mark.parametrize("make, message", [
    (lambda: stream(lambda x: x, samples=10), "takes laws after the function"),
    (lambda: stream(normal(2), normal(), samples=10), "takes a function of symbols first"),
    (lambda: stream(lambda x: x, normal(2), samples=1), "samples=1"),
    (lambda: stream(lambda x: x, dataset(np.ones(3)), samples=10), "neither dataset"),
    (lambda: stream(lambda x: x, finite([1, 2], sampling="epochs"), samples=10), "fresh one"),
])
def test_wrong_streams_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_streams_are_the_only_data():
    m = student()
    with pytest.raises(ModelError, match="only law of the data"):
        m.data(normal(2))
    m.population_loss((m.fields[0].symbol ** 2).sum())
    with pytest.raises(ModelError, match="leave population_loss.. out"):
        m.build()
