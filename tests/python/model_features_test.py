# label: slow
"""Features of models beyond a loss: epochs, noise by equations, exact solutions, passages,
outcomes, preconditioners, projections, means over the data, and a separate state for training."""

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
    mixture,
    normal,
    rademacher,
    uniform,
)

pytestmark = pytest.mark.usefixtures("own_cache")

DATA = np.array([0.0, 1.0, 4.0, 9.0])


def in_epochs(sampling="epochs"):
    m = Model("epochs", "a scalar on a training set")
    w = m.weights("w", 3.0, "weight")
    x = m.data(finite(DATA, sampling=sampling))
    m.loss((w - x) ** 2 / 2)
    m.end = 2
    return m


def test_an_epoch_visits_every_sample_once_also_after_resuming(tmp_path):
    system = in_epochs().build()
    words = {"mode": "sgd", "learning_rate": 0.1}
    # If every batch is the whole set, training is exact gradient descent.
    run = popflow.run(system, batch_size=4, t_end=2, **words)
    steps = np.round(run.time.values / 0.1)
    assert np.allclose(run.w, DATA.mean() + (3 - DATA.mean()) * 0.9**steps, rtol=1e-12)
    # With one sample per step, the steps reveal the order of each pass.
    run = popflow.run(system, batch_size=1, t_end=1.2, saves=13, **words)
    w = np.ravel(run.w)
    seen = (w[1:] - 0.9 * w[:-1]) / 0.1
    passes = np.round(seen).reshape(3, 4)
    assert np.allclose(seen, np.round(seen), atol=1e-9)
    assert all(sorted(one) == list(DATA) for one in passes)
    assert len({tuple(one) for one in passes}) > 1
    other = popflow.run(system, batch_size=1, t_end=1.2, saves=13, seed=2, **words)
    assert not np.array_equal(other.w, run.w)
    # A run resumed within a pass continues it.
    half = popflow.run(system, batch_size=1, t_end=0.6, saves=7, output=tmp_path / "a.h5", **words)
    half.close()
    whole = popflow.resume(tmp_path / "a.h5", t_end=1.2, system=system)
    assert np.ravel(whole.w)[-1] == w[-1]


def test_the_sde_has_the_noise_of_independent_draws():
    epochs, replaced = in_epochs().build(), in_epochs("replacement").build()
    words = {"mode": "sde", "learning_rate": 0.1, "batch_size": 2, "t_end": 1, "seed": 4}
    assert np.array_equal(popflow.run(epochs, **words).w, popflow.run(replaced, **words).w)


def of_normal_data():
    m = Model("estimated", "a scalar on normal data")
    w = m.weights("w", 3.0, "weight")
    x = m.data(normal(1))
    m.loss((w - x[0]) ** 2 / 2 * (1 + w * w))
    return m


def by_equations():
    m = Model("given", "a number with noise")
    x = m.weights("x", 1.0, "place")
    m.rate(x, -x)
    m.noise(factor=[[1.0]])
    return m


@pytest.mark.parametrize("model, said, depends", [
    (in_epochs, "exact: the covariance of a sample is a sum over the finite data", False),
    (of_normal_data, "estimated from sampled gradients (--noise-samples)", True),
    (by_equations, "given by the model's equations", False)])
def test_info_says_whether_the_noise_is_exact(model, said, depends, tmp_path):
    """Only estimated noise depends on --noise-samples."""
    system = model().build()
    runs = [popflow.run(system, mode="sde", learning_rate=0.1, t_end=0.5, saves=3,
                        noise_samples=samples, output=tmp_path / f"{samples}.h5")
            for samples in (4, 8)]
    page = popflow.executable.ask("info", str(tmp_path / "4.h5"))
    row, = [line for line in page.splitlines() if line.strip().startswith("noise of a sample")]
    assert row.endswith(said)
    numbers = [np.ravel(run.w if model is not by_equations else run.x)[-1] for run in runs]
    assert (numbers[0] != numbers[1]) == depends


def test_noise_by_equations_moves_the_sde():
    m = Model("noisy", "two numbers with one source of noise")
    x = m.weights("x", [1.0, 0.5], "places")
    m.rate(x, -x)
    m.noise(factor=[[1.0], [0.5]])
    m.solution(x, np.array([1.0, 0.5]) * np.exp(-m.time))
    m.passage("crossed", 0.3 - x, "time at which an entry falls below 0.3", axes=["entry"])
    m.outcome("small", x[0] < 0.2, "the first entry is small")
    m.outcome("large", x[0] > 0.5, "the first entry is large")
    m.end = 3
    system = m.build()
    made = {str(name) for name in popflow.verify(system).checks.check.values}
    assert {"covariance", "closed form"} <= made
    run = popflow.run(system, t_end=3, rtol=1e-10)
    assert np.allclose(run.crossed, np.log([1 / 0.3, 0.5 / 0.3]), rtol=1e-6)
    assert run.attrs["outcome"] == "small"
    noisy = popflow.run(system, mode="sde", learning_rate=0.1, batch_size=1, runs=400, t_end=3,
                        seed=2)
    # Stationary covariance eta G G^T / 2, along (1, 0.5) only.
    last = noisy.x.isel(time=-1).values
    assert np.allclose(np.cov(last.T), 0.05 * np.array([[1, 0.5], [0.5, 0.25]]), rtol=0.25)
    moved = last - last.mean(axis=0)
    assert np.allclose(moved[:, 1], moved[:, 0] / 2, atol=1e-9)


def test_passages_of_a_matrix_are_swept_in_lanes_and_compared_with_noise():
    m = Model("matrix", "a matrix that decays")
    k = m.parameter("k", 1.0, "rate", low=0)
    x = m.weights("x", [[1.0, 0.5]], "places")
    m.rate(x, -k * x)
    m.noise(factor=[[1.0], [0.5]])
    m.passage("crossed", 0.3 - x, "time at which an entry falls below 0.3", axes=["row", "place"])
    m.observable("size", (x * x).sum(), "size")
    m.invariant("ratio", x @ [[0.5], [-1.0]], "linear relation of the entries")
    m.outcome("settled", x[0, 0] < 0.2, "the first entry is small")
    m.end = 3
    system = m.build()
    assert [row.name for row in m.invariants] == ["ratio"]
    swept = popflow.sweep(system, over={"k": [0.5, 1.0, 2.0]}, t_end=3)
    for value in (0.5, 1.0, 2.0):
        assert np.allclose(swept.crossed.sel(k=value), [np.log([1 / 0.3, 0.5 / 0.3]) / value],
                           rtol=1e-5)
    compared = popflow.compare(system, learning_rate=0.05, batch_size=1, runs=8, t_end=1,
                               rungs=["flow", "sde"])
    assert list(compared.rung.values) == ["flow", "sde"]
    with pytest.raises(popflow.UsageError, match="has no sampled model"):
        popflow.run(system, mode="sgd", learning_rate=0.1, t_end=1)


def test_each_entry_of_a_vector_or_matrix_is_an_invariant():
    m = Model("conserved", "constants")
    v, W = m.weights("v", [1.0, 2.0], "vector"), m.weights("W", np.eye(2), "matrix")
    m.invariant("entry", v, "entries of v")
    m.invariant("cell", W, "entries of W")
    assert [row.name for row in m.invariants] == ["entry_0", "entry_1", "cell_0_0", "cell_0_1",
                                                  "cell_1_0", "cell_1_1"]
    assert m.invariants[3].meaning == "entries of W, entry 0, 1"


def test_a_wrong_noise_or_solution_is_refused():
    def made(covariance=None, solution=None):
        m = Model("wrong", "a wrong part")
        x = m.weights("x", [1.0, 0.5], "places")
        m.rate(x, -x)
        if covariance is not None:
            m.noise(covariance=covariance)
        if solution is not None:
            m.solution(x, solution(m.time))
        m.end = 1
        return m
    with pytest.raises(ModelError, match="covariance"):
        made(covariance=[[1.0, 2.0], [2.0, 1.0]]).build()
    with pytest.raises(ModelError, match="closed form"):
        made(solution=lambda t: np.array([1.0, 0.5]) * np.exp(-1.1 * t)).build()


def test_outcomes_and_final_values_are_reported(tmp_path):
    m = Model("ends", "an end with words")
    speed = m.parameter("speed", 1.0, "rate of growth")
    x = m.weights("x", 1.0, "place")
    m.rate(x, speed * x)
    m.outcome("small", x < 1, "smaller than the start")
    m.outcome("large", x > 2, "larger than twice the start")
    m.final("square", x * x, "square of the last state")
    m.end = 1
    system = m.build()
    import h5py
    for value, word in ((1.0, "large"), (-1.0, "small"), (0.1, "undecided")):
        run = popflow.run(system, speed=value, output=tmp_path / f"{word}.h5")
        assert run.attrs["outcome"] == word
        with h5py.File(tmp_path / f"{word}.h5") as file:
            assert np.isclose(np.ravel(file["final/square"][()])[0], float(run.x[-1]) ** 2)


def test_a_preconditioner_and_a_projection_hold_for_flow_samples_and_noise():
    rng = np.random.default_rng(3)
    inputs, outputs = rng.normal(size=(12, 3)), rng.normal(size=12)
    m = Model("mirror", "a preconditioned flow that conserves a sum")
    w = m.weights("w", [0.5, 0.3, 0.2], "positive weights")
    b = m.weights("b", [0.1, 0.4], "biases")
    x, y = m.data(finite(inputs, outputs))
    m.loss((w @ x + b[0] * x[0] - b[1] - y) ** 2 / 2)
    m.precondition(w, lambda v: w * v)
    m.projection(b, lambda v: v - v.mean())
    m.invariant("total", b.sum(), "sum of the biases")
    m.end = 1
    system = m.build()  # `verify` checks both with samples, loss and covariance
    made = {str(name) for name in popflow.verify(system).checks.check.values}
    assert {"gradient", "covariance", "noise projection"} <= made
    run = popflow.run(system, t_end=1, saves=2, rtol=1e-11)
    # The rate of log w is minus the gradient.
    from scipy.integrate import solve_ivp

    def rate(_, z):
        error = inputs @ z[:3] + z[3] * inputs[:, 0] - z[4] - outputs
        slope = np.array([error @ inputs[:, 0], -error.sum()]) / 12
        return np.concatenate([-z[:3] * (inputs.T @ error) / 12, -(slope - slope.mean())])
    exact = solve_ivp(rate, (0, 1), [0.5, 0.3, 0.2, 0.1, 0.4], rtol=1e-11, atol=1e-12).y[:, -1]
    assert np.allclose(np.concatenate([run.w.values[-1], run.b.values[-1]]), exact, rtol=1e-8)
    noisy = popflow.run(system, mode="sde", learning_rate=0.1, batch_size=2, t_end=1)
    assert np.allclose(noisy.b.sum("b_index"), 0.5, atol=1e-12)
    for noise in "isotropic", "diagonal":
        other = popflow.run(system, mode="sde", noise=noise, learning_rate=0.1, batch_size=2,
                            t_end=1)
        assert np.ptp(other.b.values) > 1e-3
        assert np.allclose(other.b.sum("b_index"), 0.5, atol=1e-12)


def test_functions_of_events_must_be_negative_before_they_rise_through_zero():
    m = Model("clock", "t")
    x = m.weights("x", 0.0, "time")
    m.rate(x, 1.0 + 0 * x)
    m.event("zero", x * (x - 0.5), "0 at the start, then negative")
    m.event("again", np.abs(x - 0.5) - 0.2, "positive at the start, negative from 0.3")
    m.event("left", x, "0 at the start, then positive")
    times = popflow.run(m.build(check=False), t_end=1, show=False).time_of
    assert np.allclose([times["zero"], times["again"]], [0.5, 0.7], atol=1e-6)
    assert np.isnan(times["left"])


def test_finite_and_normal_data_together_have_an_exact_mean():
    """Labels have finitely many values and inputs are normal: the mean is exact for each label."""
    m = Model("beside", "regression with signs and normal inputs")
    w = m.weights("w", [0.3, -0.2], "weights")
    sign, x = m.data(rademacher(), normal(2))
    m.loss((w @ x - sign * (1 + x[0])) ** 2 / 2)
    m.end = 1
    system = m.build()
    run = popflow.run(system, t_end=1, saves=2)
    for w1, w2, loss in zip(*run.w.values.T, run.loss.values):
        # Mean E (w x - s - s x0)^2 / 2 over both signs.
        assert loss == pytest.approx((w1**2 + w2**2 + 2) / 2, rel=1e-12)


def test_a_mixture_of_normal_laws_has_an_exact_mean_without_quadrature():
    m = Model("clusters", "two clusters")
    w = m.weights("w", [0.5, 0.2], "weights")
    x = m.data(mixture(normal(2, mean=[1.0, 0.0]), normal(2, mean=[0.0, -1.0])))
    m.loss((w @ x) ** 4 / 4 + (w @ w) / 2)
    m.end = 1
    run = popflow.run(m.build(), t_end=1, saves=2)
    for at, loss in zip(run.w.values, run.loss.values):
        size = at @ at  # E (mean + sd z)^4 = mean^4 + 6 mean^2 sd^2 + 3 sd^4
        fourth = np.mean([c**4 + 6 * c**2 * size + 3 * size**2 for c in (at[0], -at[1])])
        assert loss == pytest.approx(fourth / 4 + size / 2)


def test_a_mixture_has_the_mean_of_its_laws():
    S, centre, share = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0]), 0.25
    m = Model("mixed", "a quadratic loss of a mixture")
    w = m.weights("w", [0.5, 0.2], "weights")
    x = m.data(mixture(normal(2, covariance=S, mean=centre), uniform(0, 2, shape=2),
                       normal(2, mean=-centre), probability=[share, share, 1 - 2 * share]))
    m.loss((w @ x - 1) ** 2 / 2)
    m.quadrature(3)
    m.end = 1
    run = popflow.run(m.build(), t_end=1, saves=2)  # `verify` compares samples with the mean
    laws = [(centre, S), (np.ones(2), np.eye(2) / 3), (-centre, np.eye(2))]
    for at, loss in zip(run.w.values, run.loss.values):
        means = [((at @ mean - 1) ** 2 + at @ covariance @ at) / 2 for mean, covariance in laws]
        assert loss == pytest.approx(np.average(means, weights=[share, share, 1 - 2 * share]))


def test_a_loss_may_depend_on_the_step_of_training():
    """Label noise is proportional to the learning rate, and the mean is given."""
    m = Model("steps", "a scalar with a step")
    w = m.weights("w", 1.0, "weight")
    x = m.data(uniform(-1, 1))
    m.loss(w * w / 2 + w * x * m.learning_rate * m.batch_size * (1 + m.step))
    m.population_loss(w * w / 2)
    m.end = 1
    system = m.build()
    run = popflow.run(system, mode="sgd", learning_rate=0.1, batch_size=1, t_end=0.5, saves=6)
    w = np.ravel(run.w)
    steps = np.arange(5)
    drawn = -(w[1:] - 0.9 * w[:-1]) / (0.1 * 0.1 * (1 + steps))
    assert (np.abs(drawn) < 1).all() and len(set(np.round(drawn, 9))) == 5
    other = popflow.run(system, mode="sgd", learning_rate=0.2, batch_size=1, t_end=1, saves=6)
    w = np.ravel(other.w)
    assert np.allclose(-(w[1:] - 0.8 * w[:-1]) / (0.2 * 0.2 * (1 + steps)), drawn, rtol=1e-9)


def distances(limit):
    """Returns least squares in d dimensions: the distance from the teacher, and the weights for
    training."""
    d = 50
    m = Model("distances", "least squares in high dimension", source="a test")
    gamma = m.parameter("gamma", 0.5, "learning rate times d", low=0)
    D = m.weights("D", 1.0, "squared distance from the teacher")
    m.rate(D, -2 * gamma * D + (gamma**2 * D if limit else 0 * D))
    m.observable("loss", D / 2, "mean loss")
    m.observable("distance", D, "squared distance")
    other = m.training(limit=limit)
    start = np.zeros(d)
    start[0] = 1.0
    w = other.weights("w", start, "weights minus those of the teacher")
    x = other.data(normal(d))
    other.loss((w @ x) ** 2 / 2)
    other.precondition(w, lambda v: gamma * v)
    other.observable("distance", w @ w, "squared distance")
    m.end = 2
    return m


def test_a_model_may_have_a_separate_training_state():
    system = distances("the flow is the limit of many dimensions, at the rate 1 / d").build()
    flow = popflow.run(system, t_end=2)
    assert "D" in flow and "w" not in flow
    runs = popflow.run(system, mode="sgd", learning_rate=1 / 50, batch_size=1, runs=400, t_end=2)
    assert "w" in runs and "D" not in runs
    exact = np.exp((-2 * 0.5 + 0.25) * 2)
    mean = float(runs.distance.isel(time=-1).mean())
    error = float(runs.distance.isel(time=-1).std()) / 20
    # At finite d the mean differs by order 1/d: E D_(k+1) = D_k (1 - 2 gamma/d + gamma^2 (d +
    # 2)/d^2).
    finite_size = (1 - 1 / 50 + 0.25 * 52 / 50**2) ** 100
    assert abs(mean - finite_size) < 4 * error
    assert float(flow.distance[-1]) == pytest.approx(exact, rel=1e-5)
    compared = popflow.compare(system, learning_rate=1 / 50, batch_size=1, runs=8, t_end=1,
                               rungs=["flow", "sgd"])
    assert list(compared.rung.values) == ["flow", "sgd"]


def test_a_training_state_without_a_limit_must_have_the_flow_of_its_observables():
    with pytest.raises(ModelError, match="noisy coordinates"):
        m = distances("")
        m.rates.clear()
        m.rate(m.fields[0].symbol, -3 * m.fields[0].symbol)
        m.build()
    distances("").build()  # the gradient flow has dD/dt = -2 gamma D


def test_an_expensive_jacobian_is_left_out_with_a_reason():
    rng = np.random.default_rng(1)
    m = Model("many", "many weights")
    W = m.weights("W", rng.normal(size=(8, 8)), "matrix")
    x, label = m.data(finite(rng.normal(size=(16, 8)), np.arange(16)))
    m.loss(cross_entropy(rng.normal(size=(16, 8)) @ W @ x, label))
    m.end = 1
    system = m.build()
    checks = popflow.verify(system).checks
    place = [str(name) for name in checks.check.values].index("Jacobian")
    assert str(checks.verdict.values[place]) == "skipped"
    assert "too long to compile" in str(checks.note.values[place])
    with pytest.raises(popflow.UsageError, match="too long to compile"):
        popflow.run(system, t_end=1, method="rosenbrock4")


def test_means_over_finite_data_are_those_of_numpy_in_single_flows_and_sweeps(tmp_path):
    rng = np.random.default_rng(3)
    inputs, p = rng.normal(size=(40, 5)), rng.random(40)
    labels = np.where(inputs @ rng.normal(size=5) > 0, 1.0, -1.0)
    m = Model("logistic", "logistic regression")
    tilt = m.parameter("tilt", 1.0, "exponent of the probabilities")
    w = m.weights("w", np.zeros(5), "weights")
    x, y = m.data(finite(inputs, labels, probability=p**tilt))
    m.loss(logistic_loss(y * (w @ x)))
    m.observable("accuracy", m.mean(np.where(y * (w @ x) > 0, 1, 0)), "share of right predictions")
    m.field("output", m.mean(x * (w @ x)), "mean of input times output")
    m.event("sure", m.mean(y * (w @ x)) - 0.5, "the mean margin is 1/2")
    m.passage("signed", m.mean(x * y) * w - 0.1, "times at which weights have the data's sign")
    m.final("margin", m.mean(y * (w @ x)), "mean margin")
    m.end = 5
    system = m.build()
    run = popflow.run(system, saves=4, output=tmp_path / "a.h5")
    p = p / p.sum()
    for at in range(4):
        output = inputs @ run.w.values[at]
        assert run.accuracy[at] == pytest.approx(p @ (labels * output > 0), abs=1e-12)
        assert np.allclose(run.output[at], (p * output) @ inputs, rtol=1e-12, atol=1e-15)
    import h5py
    with h5py.File(tmp_path / "a.h5") as file:
        assert float(file["final/margin"][()]) == pytest.approx(p @ (labels * output), rel=1e-12)
    sure = popflow.run(system, t_end=float(run.time_of.sure), saves=2)
    assert p @ (labels * (inputs @ sure.w.values[-1])) == pytest.approx(0.5, rel=1e-6)
    sweep = popflow.sweep(system, over={"tilt": popflow.linear(0, 2, 16)})  # in lanes
    alone = popflow.run(system, tilt=2)
    assert float(sweep.time_of.sure[-1]) == pytest.approx(float(alone.time_of.sure), rel=1e-6)
    assert float(sweep.accuracy[-1]) == float(alone.accuracy[-1])


def test_means_over_other_laws_are_exact():
    def normal_data(m, w):
        x = m.data(normal(2))
        return w @ x - x.sum(), x

    def beside_finite(m, w):
        k, x = m.data(finite(np.array([1.0, 2.0])), normal(2))
        return w @ x - k * x.sum(), x

    def by_quadrature(m, w):
        m.quadrature(4)
        x = m.data(uniform(-1, 1, 2))
        return w @ x - x.sum(), x

    for name, make in (("normal", normal_data), ("beside", beside_finite),
                       ("gauss", by_quadrature)):
        m = Model(name, "a mean that equals the loss")
        w = m.weights("w", np.array([0.3, -0.2]), "weights")
        error, x = make(m, w)
        m.loss(error**2 / 2)
        m.observable("same", m.mean(error**2 / 2), "mean loss")
        m.field("slope", m.mean(-error * x), "minus the gradient")
        m.end = 1
        system = m.build()
        run = popflow.run(system, rtol=1e-10, saves=11)
        assert np.allclose(run.same, run.loss, rtol=1e-12)
        nearby = popflow.run(system, method="euler", dt=1e-6, t_end=1e-6, saves=2)
        assert np.allclose(np.diff(nearby.w, axis=0)[0] / 1e-6, nearby.slope[0], rtol=1e-6)


def test_means_without_an_exact_form_are_refused_with_the_reason():
    def made(take, closed=False, law=None):
        m = Model("refused", "a mean")
        w = m.weights("w", np.ones(2), "weights")
        x = m.data(law or normal(2))
        m.loss((w @ x) ** 2)
        if closed:
            m.population_loss((w**2).sum())
        m.observable("value", m.mean(take(w, x)), "value")
        m.build()

    with pytest.raises(ModelError, match="floor of the data.*quadrature"):
        made(lambda w, x: np.floor(w @ x))
    with pytest.raises(ModelError, match="depends on no data"):
        made(lambda w, x: w.sum())
    with pytest.raises(ModelError, match="leave population_loss\\(\\) out"):
        made(lambda w, x: w @ x, closed=True, law=finite(np.eye(2)))


def test_the_logistic_loss_has_its_derivatives_at_zero_and_far_away():
    for size in (0.0, 800.0):
        m = Model("margin", "logistic loss")
        w = m.weights("w", size, "weight")
        x = m.data(finite(np.array([1.0, -1.0, 2.0])))
        m.loss(logistic_loss(w * x))
        m.end = 1
        run = popflow.run(m.build(), saves=2)  # build() checks the Jacobian
        margins = size * np.array([1.0, -1.0, 2.0])
        assert float(run.loss[0]) == pytest.approx(np.logaddexp(0, -margins).mean(), rel=1e-14)
