# label: slow
"""Models of data in a file beside the plug-in: numbers against NumPy, and what is refused."""

import resource

import h5py
import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow  # noqa: E402
from popflow.errors import Error  # noqa: E402
from popflow.model import Model, ModelError, cross_entropy, dataset, file  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
N, T, D, H, C = 301, 77, 5, 7, 3  # the last batch of either set is not full
random = np.random.default_rng(0)
X, Y = random.normal(size=(N + T, D)), random.integers(0, C, size=N + T)
A0, B0 = random.normal(size=(H, D)) / 2, random.normal(size=(C, H)) / 2


def network(**options):
    m = Model("net", "a network of two layers")
    A = m.weights("A", A0, "first layer")
    B = m.weights("B", B0, "second layer")
    x, label = m.data(dataset(X[:N], Y[:N], test=(X[N:], Y[N:]), **options))
    logits = B @ np.tanh(A @ x)
    m.loss(cross_entropy(logits, label))
    right = np.where(logits[label] >= np.max(logits), 1, 0)
    m.observable("accuracy", m.train_mean(right), "share of right labels")
    m.observable("test_accuracy", m.test_mean(right), "share of right labels of the test set")
    guess = np.where(logits >= np.max(logits), 1.0, 0.0)
    m.field("confusion", m.test_mean(np.stack([guess * np.where(label == k, 1.0, 0.0)
                                               for k in range(C)])), "labels and guesses")
    return m


def by_numpy(x, y, weight, A, B):
    """Returns the loss, its gradient and the accuracy, derived by hand."""
    hidden = np.tanh(x @ A.T)
    logits = hidden @ B.T
    share = np.exp(logits - logits.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    rows = np.arange(len(y))
    loss = -(weight * np.log(share[rows, y])).sum()
    right = (weight * (logits.argmax(1) == y)).sum()
    share[rows, y] -= 1
    share *= weight[:, None]
    dB = share.T @ hidden
    dA = ((share @ B) * (1 - hidden**2)).T @ x
    return loss, dA, dB, right, logits.argmax(1)


def uniform(count):
    return np.full(count, 1 / count)


@pytest.fixture(scope="module")
def built(own_cache):
    return network().build(check=False)


def test_flow_and_observables_are_those_of_numpy(built):
    h = 1e-3
    run = popflow.run(built, t_end=5 * h, method="euler", dt=h, saves=6)
    A, B = A0, B0
    for k in range(6):
        loss, dA, dB, right, _ = by_numpy(X[:N], Y[:N], uniform(N), A, B)
        tested, _, _, right_tests, guess = by_numpy(X[N:], Y[N:], uniform(T), A, B)
        assert run.loss.values[k] == pytest.approx(loss, rel=1e-12)
        assert run.test_loss.values[k] == pytest.approx(tested, rel=1e-12)
        assert run.accuracy.values[k] == pytest.approx(right, abs=1e-12)
        assert run.test_accuracy.values[k] == pytest.approx(right_tests, abs=1e-12)
        counts = np.zeros((C, C))
        np.add.at(counts, (Y[N:], guess), 1 / T)
        np.testing.assert_allclose(run.confusion.values[k], counts, atol=1e-12)
        np.testing.assert_allclose(run.A.values[k], A, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(run.B.values[k], B, rtol=1e-11, atol=1e-13)
        A, B = A - h * dA, B - h * dB


def test_checks_of_verify_hold(built):
    assert popflow.verify(built)


def test_epochs_visit_every_sample_once():
    system = network(sampling="epochs").build(check=False)
    # With a rate this small, a pass is a single step of gradient descent.
    rate, batch = 1e-6, 43  # 7 batches of 43 samples are a pass
    run = popflow.run(system, mode="sgd", learning_rate=rate, batch_size=batch, steps=7, runs=2)
    _, dA, dB, *_ = by_numpy(X[:N], Y[:N], uniform(N), A0, B0)
    for one in range(2):
        np.testing.assert_allclose(A0 - run.A.isel(run=one).values[-1], 7 * rate * dA, rtol=1e-3,
                                   atol=1e-9)
        np.testing.assert_allclose(B0 - run.B.isel(run=one).values[-1], 7 * rate * dB, rtol=1e-3,
                                   atol=1e-9)


def test_weighted_samples_have_their_share():
    weight = np.arange(1.0, N + 1)
    system = network(probability=weight).build(check=False)
    run = popflow.run(system, t_end=1e-3, method="euler", dt=1e-3, saves=2)
    loss, dA, *_ = by_numpy(X[:N], Y[:N], weight / weight.sum(), A0, B0)
    tested, *_ = by_numpy(X[N:], Y[N:], uniform(T), A0, B0)
    assert run.loss.values[0] == pytest.approx(loss, rel=1e-12)
    assert run.test_loss.values[0] == pytest.approx(tested, rel=1e-12)
    np.testing.assert_allclose(A0 - run.A.values[-1], 1e-3 * dA, rtol=1e-9, atol=1e-13)
    # Draws follow the weights: the mean of many steps of a tiny rate is the gradient. The bound is
    # five standard errors.
    steps, rate = 20_000, 1e-9
    run = popflow.run(system, mode="sgd", learning_rate=rate, batch_size=1, steps=steps, runs=1)
    moved = (A0 - run.A.isel(run=0).values[-1]) / (steps * rate)
    spread = np.sqrt(sum(weight[i] / weight.sum() * by_numpy(X[i:i + 1], Y[i:i + 1], uniform(1), A0,
                                                             B0)[1] ** 2 for i in range(N)))
    assert (np.abs(moved - dA) < 5 * spread / np.sqrt(steps)).all()


def test_files_name_the_samples(built):
    run = popflow.run(built, t_end=0.01)
    other = network(probability=np.arange(1.0, N + 1))
    with h5py.File(run.attrs["path"]) as kept:
        found = dict(kept["provenance"].attrs)
    assert int(found["plugin_train_samples"]) == N
    assert int(found["plugin_test_samples"]) == T
    assert len(found["plugin_train_hash"]) == len(found["plugin_test_hash"]) == 32
    assert found["plugin_train_hash"] != found["plugin_test_hash"]
    with pytest.raises(Error, match="another version of the plug-in"):
        popflow.resume(run.attrs["path"], system=other.build(check=False), t_end=0.02)


def test_samples_are_stored_once_and_not_compiled_in(built):
    (stored,) = built.path.parent.glob("*.samples")
    assert stored.stat().st_nlink > 1
    assert built.path.stat().st_size < 400_000
    assert stored.stat().st_size == 128 + 8 * (N + T) * (D + 1)


@pytest.mark.parametrize("damage, message", [("missing", "is missing"), ("short", "another size"),
                                             ("changed", "is damaged"), ("other", "other samples")])
def test_damaged_samples_are_refused_and_made_again(built, damage, message):
    (path,) = built.path.parent.glob("*.samples")
    whole = path.read_bytes()
    path.unlink()
    changed = bytearray(whole)
    changed[5000 if damage == "changed" else 40] ^= 1
    if damage != "missing":
        path.write_bytes(whole[:-8] if damage == "short" else bytes(changed))
    with pytest.raises(Error, match=message):
        popflow.run(built, t_end=0.01)
    again = network().build(check=False)
    assert again.path == built.path  # the model has the same key, so that nothing is compiled
    assert path.read_bytes() == whole
    popflow.run(again, t_end=0.01)


def test_preconditioner_and_projection_act_on_sums():
    m = Model("line", "a line through points")
    w = m.weights("w", np.ones(D), "slopes")
    x, y = m.data(dataset(X, X @ np.arange(1.0, D + 1)))
    m.loss((w @ x - y) ** 2 / 2)
    m.precondition(w, lambda v: 2 * v)
    m.projection(w, lambda v: v - v.mean())
    system = m.build()
    run = popflow.run(system, t_end=1e-3, method="euler", dt=1e-3, saves=2)
    v = -2 * X.T @ (X @ (np.ones(D) - np.arange(1.0, D + 1))) / len(X)
    np.testing.assert_allclose(run.w.values[-1] - 1, 1e-3 * (v - v.mean()), rtol=1e-9)


def test_arrays_of_files_are_those_of_numpy(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, Y=Y)
    np.save(tmp_path / "a.npy", X)
    with h5py.File(tmp_path / "a.h5", "w") as out:
        out["group/X"] = X
        out["Y"] = Y
    with open(tmp_path / "a.csv", "w") as out:
        out.write("label, a, b\n" + "".join(f"{y},{x[0]!r},{x[1]!r}\n"
                                            for x, y in zip(X.tolist(), Y)))
    assert (file(tmp_path / "a.npz", "X") == X).all()
    assert (file(tmp_path / "a.npy") == X).all()
    assert (file(tmp_path / "a.h5", "group/X") == X).all()
    assert (file(tmp_path / "a.csv", "label") == Y).all()
    assert (file(tmp_path / "a.csv", ["a", "b"]) == X[:, :2]).all()
    for path, variable, message in (("a.npz", "Z", "no array Z; it has X, Y"),
                                    ("a.csv", "c", "no column c"), ("a.txt", None, "no file of d"),
                                    ("b.npz", "X", "cannot be read")):
        with pytest.raises(ModelError, match=message):
            file(tmp_path / path, variable)


@pytest.mark.parametrize("make, message", [
    (lambda: dataset(np.where(X == X[8, 2], np.nan, X), Y), "sample 8 of dataset.. is nan"),
    (lambda: dataset(X, Y[1:]), "have 378, 377 rows"),
    (lambda: dataset(X, Y, test=(X[:, 1:], Y)), "the samples of the test set are 4, a scalar"),
    (lambda: dataset(X, Y, sampling="epochs", probability=np.ones(N + T)), "equally often"),
    (lambda: dataset(X, Y, sampling="once"), "'replacement' or 'epochs'"),
    (lambda: dataset(np.array(["a", "b"])), "must be numbers"),
    (lambda: dataset(X, Y, probability=-np.ones(N + T)), "not negative"),
])
def test_wrong_data_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_wrong_labels_are_refused():
    m = Model("net", "a network")
    B = m.weights("B", np.zeros((2, D)), "layer")
    x, label = m.data(dataset(X, Y))
    with pytest.raises(ModelError, match="it must be a whole number from 0 to 1"):
        cross_entropy(B @ x, label)


def test_networks_of_images_are_built_in_loops():
    """A 784-128-10 network on 1000 samples takes at most 10 s of processor, without its checks."""
    images, digits = random.normal(size=(1000, 784)), random.integers(0, 10, size=1000)
    m = Model("digits", "a network on images of digits")
    A = m.weights("A", random.normal(size=(128, 784)) / 28, "first layer")
    a = m.weights("a", np.zeros(128), "biases")
    B = m.weights("B", random.normal(size=(10, 128)) / 11, "second layer")
    x, label = m.data(dataset(images, digits, test=(images[:100], digits[:100])))
    logits = B @ np.maximum(A @ x + a, 0)
    m.loss(cross_entropy(logits, label))
    m.observable("accuracy", m.test_mean(np.where(logits[label] >= np.max(logits), 1, 0)), "share")
    before = processor_seconds()
    system = m.build(check=False)
    taken = processor_seconds() - before
    assert taken < 10
    run = popflow.run(system, mode="sgd", learning_rate=0.1, batch_size=32, steps=20, runs=1)
    assert run.loss.isel(run=0).values[-1] < run.loss.isel(run=0).values[0]


def processor_seconds():
    return sum(sum(resource.getrusage(of)[:2])
               for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def visits(drop_last, batch=3, steps=40):
    """Visits to each of seven samples in pairs of steps: each weight moves with one sample."""
    m = Model("visits", "weights that count visits")
    w = m.weights("w", np.zeros(7), "counts")
    x = m.data(dataset(np.eye(7), sampling="epochs", drop_last=drop_last))
    m.loss(-w @ x)
    run = popflow.run(m.build(check=False), mode="sgd", learning_rate=1, batch_size=batch,
                      steps=steps, runs=2, saves=steps // 2 + 1, save_spacing="linear")
    return np.diff(np.rint(run.w.values * batch), axis=1)


def test_passes_may_drop_the_samples_of_a_last_batch():
    kept, whole = visits(drop_last=False), visits(drop_last=True)
    assert (kept.sum(axis=-1) == 6).all() and (whole.sum(axis=-1) == 6).all()
    # Two steps are a pass, which leaves out one of the seven samples: not always the same.
    assert whole.max() == 1 and (whole.min(axis=1) == 0).all()
    assert kept.max() == 2  # batches span passes
    with pytest.raises(Error, match="batches that are not full are dropped"):
        visits(drop_last=True, batch=8, steps=2)
    with pytest.raises(ModelError, match="needs sampling='epochs'"):
        dataset(np.eye(7), drop_last=True)
