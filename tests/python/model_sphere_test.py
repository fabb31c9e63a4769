# label: slow
"""Weights that stay on spheres: flow, gradient descent, SGD and SDE."""

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow  # noqa: E402
from popflow.model import Model, ModelError, finite, normal  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")

NOISY = {"learning_rate": 0.1, "batch_size": 2, "runs": 2}
STEPS = {"mode": "sde", "method": "gradient_descent", "noise": "isotropic", "noise_scale": 0,
         "batch_size": 1}


def regression():
    """A vector, and a matrix of two rows with norms of their own, beside free weights."""
    rng = np.random.default_rng(2)
    m = Model("spheres", "least squares with weights on spheres")
    w = m.weights("w", np.array([0.6, 0.0, 0.8]), "a vector of norm 1")
    W = m.weights("W", np.array([[2.0, 0.0, 0.0], [0.0, 0.3, 0.4]]), "rows of norms 2 and 1/2")
    b = m.weights("b", 0.0, "free")
    m.sphere(w)
    m.sphere(W)
    x, y = m.data(finite(rng.normal(size=(12, 3)), rng.normal(size=12)))
    m.loss((np.tanh(W @ x).sum() + w @ x + b - y) ** 2 / 2)
    m.end = 2
    return m


def norms(run):
    """Norms of the three rows, over their norms at the start, for all times and runs."""
    rows = np.concatenate([np.expand_dims(run.w.values, -2), run.W.values], axis=-2)
    return np.linalg.norm(rows, axis=-1) / [1.0, 2.0, 0.5]


@pytest.fixture(scope="module")
def spheres():
    return regression().build()


@pytest.mark.parametrize("more", [{"mode": "sgd", **NOISY}, {**STEPS, "learning_rate": 0.1}],
                         ids=["sgd", "gd"])
def test_averages_are_those_of_weights_on_the_sphere(spheres, more):
    run = popflow.run(spheres, t_end=2, saves=21, save_spacing="linear", average=0.8, **more)
    expected = run.w.values[..., :1, :]
    for k in range(1, 21):
        last = 0.8 * expected[..., -1:, :] + 0.2 * run.w.values[..., k:k + 1, :]
        expected = np.concatenate([expected, last], axis=-2)
    np.testing.assert_allclose(run.A_w.values, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("more, allowed", [
    ({"mode": "sgd", **NOISY}, 5e-16),
    ({"mode": "sgd", **NOISY, "optimizer": "momentum"}, 5e-16),
    ({"mode": "sgd", **NOISY, "svag": 4}, 5e-16),
    ({"mode": "sde", **NOISY, "dt": 0.01}, 5e-16),
    ({**STEPS, "learning_rate": 0.1}, 5e-16),
    ({"rtol": 1e-11, "atol": 1e-13}, 1e-9)],  # a flow: to the tolerance
    ids=["sgd", "momentum", "svag", "sde", "gd", "flow"])
def test_norms_stay(spheres, more, allowed):
    run = popflow.run(spheres, t_end=2, saves=5, **more)
    assert np.abs(norms(run) - 1).max() < allowed
    assert run.loss.values.reshape(-1)[-1] < run.loss.values.reshape(-1)[0]
    assert np.abs(run.b.values).max() > 0.01


def test_gradient_descent_tends_to_the_flow_with_order_one(spheres):
    flow = popflow.run(spheres, t_end=2, rtol=1e-11, atol=1e-13, saves=2).isel(time=-1)
    errors = []
    for steps in (64, 128, 256, 512):
        run = popflow.run(spheres, t_end=2, learning_rate=2 / steps, saves=2, **STEPS).isel(time=-1)
        run = run.isel(run=0) if "run" in run.dims else run
        errors.append(max(float(np.abs(run[name] - flow[name]).max()) for name in ("w", "W", "b")))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(orders - 1).max() < 0.05, (errors, orders)


def test_isotropic_noise_is_brownian_motion_on_the_sphere():
    """The gradient is normal, so that the flow rests. In n dimensions the mean of Brownian motion
    with variance s^2 per time falls as exp(-(n - 1) s^2 t / 2)."""
    n, s, t = 3, 1.0, 0.8
    m = Model("brownian", "a point on a sphere")
    w = m.weights("w", np.eye(n)[0], "point")
    m.sphere(w)
    x = m.data(finite(np.array([1.0, 2.0])))
    m.loss(x * (w @ w))
    run = popflow.run(m.build(), mode="sde", learning_rate=1, batch_size=1, noise="isotropic",
                      noise_scale=s, dt=0.002, t_end=t, runs=4000, saves=2, seed=5)
    end = run.w.values[:, -1]
    assert np.abs(np.linalg.norm(end, axis=1) - 1).max() < 5e-16
    wanted = np.exp(-(n - 1) * s * s * t / 2) * np.eye(n)[0]
    # 3 tests at 4.5 standard errors; the bias of the steps is of the order of dt.
    error = end.std(axis=0) / np.sqrt(len(end))
    assert (np.abs(end.mean(axis=0) - wanted) < 4.5 * error + 0.002).all()


@pytest.mark.parametrize("reduced", [False, True], ids=["weights", "overlaps"])
def test_a_single_neuron_on_the_sphere_has_its_closed_form(reduced):
    """The loss 1 - (w x)(t x) has the mean 1 - m for the overlap m: dm/dt = 1 - m^2."""
    d = 150
    m = Model("neuron", "a neuron on the sphere")
    teacher, beside = np.eye(2, d)
    w = m.weights("w", 0.1 * teacher + np.sqrt(0.99) * beside, "student")
    m.sphere(w)
    x = m.data(normal(d))
    m.loss(1 - (w @ x) * (teacher @ x))
    m.observable("overlap", w @ teacher, "overlap")
    system = (m.overlaps() if reduced else m).build()
    run = popflow.run(system, t_end=3, rtol=1e-11, atol=1e-13, saves=7)
    assert np.abs(run.overlap - np.tanh(run.time + np.arctanh(0.1))).max() < 1e-10


def test_the_limit_of_many_dimensions_shrinks_overlaps_by_the_noise():
    """One-pass SGD on the sphere at the rate gamma/d, for the same neuron: a sample moves w by
    gamma/d (t x) x, and the retraction divides by 1 + gamma^2 / (2 d), since the mean of (t x)^2 is
    1. So dm/dt = gamma (1 - m^2) - gamma^2 m / 2."""
    d, gamma = 400, 0.8
    m = Model("online", "a neuron on the sphere, online")
    teacher, beside = np.eye(2, d)
    w = m.weights("w", 0.1 * teacher + np.sqrt(0.99) * beside, "student")
    m.sphere(w)
    x = m.data(normal(d))
    m.loss(1 - (w @ x) * (teacher @ x))
    m.observable("overlap", w @ teacher, "overlap")
    system = m.high_dimension().build()
    run = popflow.run(system, gamma=gamma, t_end=3, rtol=1e-11, atol=1e-13, saves=4)
    assert np.abs(run.w_w - 1).max() < 1e-10
    # gamma (1 - m^2) - gamma^2 m / 2 = gamma (high - m) (m - low)
    root = np.sqrt(gamma**2 / 16 + 1)
    low, high = -gamma / 4 - root, -gamma / 4 + root
    ratio = (0.1 - low) / (high - 0.1) * np.exp(gamma * (high - low) * run.time.values)
    assert np.abs(run.overlap.values - (low + ratio * high) / (1 + ratio)).max() < 1e-9
    sgd = popflow.run(system, mode="sgd", gamma=gamma, learning_rate=1 / d, batch_size=1, t_end=3,
                      runs=64, saves=4, state="none").overlap.values
    error = sgd.std(axis=0) / np.sqrt(len(sgd))
    # The mean of SGD is off by a number of order 1/d.
    assert (np.abs(sgd.mean(axis=0) - run.overlap.values) < 4.5 * error + 3 / d).all()


def test_what_a_sphere_excludes_is_refused(spheres):
    m = Model("one", "a number")
    w = m.weights("w", 1.0, "number")
    with pytest.raises(ModelError, match="single number"):
        m.sphere(w)
    noisy = {"learning_rate": 0.1, "batch_size": 2}
    for more, why in (
            ({"optimizer": "momentum", "learning_rate": 0.1}, "the flow of the rule leaves"),
            ({"weight_decay": 0.1}, "has no effect on the sphere of w, W"),
            ({"mode": "sgd", **noisy, "optimizer": "adam"}, "raw gradients"),
            ({"mode": "sde", **noisy, "modified_equation": 2}, "not valid on the sphere of w"),
            ({"mode": "sde", **noisy, "noise": "isotropic", "method": "srk"}, "euler_maruyama")):
        with pytest.raises(popflow.UsageError, match=why):
            popflow.run(spheres, t_end=1, **more)
