# label: slow
"""Words for transformers: values and gradients against formulas in NumPy."""

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

from model_matrices_test import in_matrices, values  # noqa: E402

import popflow  # noqa: E402
from popflow.model import (  # noqa: E402
    Model,
    causal,
    cross_entropy,
    dataset,
    embed,
    erf,
    finite,
    layer_norm,
    normal,
    rms_norm,
    softmax,
)
from popflow.model.emit import generating  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
V, T, D, N = 4, 3, 3, 37  # the last batch is not full
random = np.random.default_rng(5)
TOKENS = random.integers(0, V, size=(N, T + 1))


def softmax_of(z):
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    return z / z.sum(axis=-1, keepdims=True)


def losses_of(logits, labels):
    """Returns the cross-entropy of each row."""
    return -np.log(np.take_along_axis(softmax_of(logits), labels[..., None], -1))[..., 0]


def layer_norm_of(x, scale=1.0, shift=0.0):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def rms_norm_of(x, scale=1.0):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def slopes(loss, start):
    """Returns central differences of a loss by each entry of arrays, one after the other."""
    found = []
    for number, array in enumerate(start):
        for place in np.ndindex(array.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [one.copy() for one in start]
                moved[number][place] += step
                ends.append(loss(*moved))
            found.append((ends[0] - ends[1]) / 2e-5)
    return np.array(found)


def one_head(law):
    """Returns a model with one head of causal attention, its start, and its loss in NumPy."""
    start = [random.normal(size=shape) for shape in ((V, D), (T, D), D, D, D, (D, D), (D, V))]
    m = Model("head", "one head of causal attention")
    E, P, g, b, r, A, U = (m.weights(name, one, "weights") for name, one in zip("EPgbrAU", start))
    tokens, labels = m.data(law(TOKENS[:, :-1], TOKENS[:, 1:]))
    x = embed(E, tokens) + P
    h = layer_norm(x, g, b)
    x = x + softmax(h @ A @ h.T, where=causal(T)) @ h
    m.loss(np.mean(cross_entropy(rms_norm(x, r) @ U, labels)))

    def loss(E, P, g, b, r, A, U):
        x = E[TOKENS[:, :-1]] + P
        h = layer_norm_of(x, g, b)
        scores = np.where(np.tri(T) > 0, h @ A @ h.swapaxes(1, 2), -np.inf)
        return losses_of(rms_norm_of(x + softmax_of(scores) @ h, r) @ U, TOKENS[:, 1:]).mean()
    return m, start, loss


def heads(law):
    """Returns a model with three heads of attention by lists of matrices, its start, and its loss
    in NumPy. Weights have heads first (K), last (R), and as a list of biases (c)."""
    H, F = 3, 2
    start = [random.normal(size=shape)
             for shape in ((V, D), (H, D, F), (H, 1, F), (F, D, H), (D, V))]
    m = Model("heads", "three heads")
    E, K, c, R, U = (m.weights(name, one, "weights") for name, one in zip("EKcRU", start))
    tokens, labels = m.data(law(TOKENS[:, :-1], TOKENS[:, 1:]))
    x = embed(E, tokens)
    k = x @ K + c
    q = (K.mT @ x.mT).mT + c
    share = softmax(q @ k.mT, where=causal(T))
    mixed = np.einsum("hij,hjf->hif", share, np.tanh(k[::-1]))
    x = x + np.einsum("hif,fdh->id", mixed, R)
    m.loss(np.mean(cross_entropy(x @ U, labels)) + np.max(k, axis=(0, 2)).sum() / 10
           + ((K.mT @ K) ** 2).sum() / 100)

    def loss(E, K, c, R, U):
        x = E[TOKENS[:, :-1]]
        k = x[:, None] @ K + c
        scores = np.where(np.tri(T) > 0, k @ k.swapaxes(-1, -2), -np.inf)
        mixed = softmax_of(scores) @ np.tanh(k[:, ::-1])
        x = x + np.einsum("nhif,fdh->nid", mixed, R)
        return (losses_of(x @ U, TOKENS[:, 1:]).mean(axis=1)
                + k.max(axis=(1, 3)).sum(axis=1) / 10).mean() \
            + ((K.swapaxes(1, 2) @ K) ** 2).sum() / 100
    return m, start, loss


def check(m, start, loss, monkeypatch, most):
    for limit in ("MOST_UNROLLED", "MOST_UNROLLED_WITHOUT_LANES"):
        monkeypatch.setattr(generating, limit, most)
    monkeypatch.setattr(generating, "MOST_DERIVED", 0)  # the Jacobian would take long to compile
    system = m.build(check=False)
    assert in_matrices(system) == (most == 0)
    rate, found = values(system, [], m.entries)
    assert found == pytest.approx(loss(*start), rel=1e-12)
    expected = -slopes(loss, start)
    assert np.abs(expected).max() > 1e-2
    assert np.allclose(rate, expected, rtol=1e-6, atol=1e-9)
    return system


@pytest.mark.parametrize("most, law", [(10**9, finite), (0, finite), (0, dataset)])
@pytest.mark.parametrize("make", [one_head, heads])
def test_attention_has_the_loss_and_the_gradient_of_numpy(make, most, law, monkeypatch):
    m, start, loss = make(law)
    system = check(m, start, loss, monkeypatch, most)
    if make is heads and law is dataset:
        run = popflow.run(system, mode="sgd", learning_rate=0.1, batch_size=5, steps=4)
        assert run.K.dims == ("run", "time", "K_matrix", "K_row", "K_column")
        assert (run.K.isel(run=0, time=0).values == start[1]).all()
        last = [run[name].isel(run=0, time=-1).values for name in "EKcRU"]
        assert float(run.loss.isel(run=0, time=-1)) == pytest.approx(loss(*last), rel=1e-12)


def test_lists_of_matrices_see_normal_data_through_forms():
    """Two students of three units each: as a list of matrices, and as one matrix."""
    rates = []
    start, teachers = random.normal(size=(2, 3, 20)) / 4, random.normal(size=(2, 20)) / 4
    for shape in ((2, 3, 20), (6, 20)):
        m = Model(f"students-{len(shape)}", "two committees")
        J = m.weights("J", start.reshape(shape), "students")
        A = m.weights("A", np.ones((2, 1, 3)) / 2, "second layers")
        x = m.data(normal(20))
        units = erf(J @ x).reshape(2, 3, 1)
        m.loss((((A @ units).ravel() - teachers @ x) ** 2).sum())
        rates.append(values(m.build(check=False), [], m.entries))
    assert np.allclose(rates[0][0], rates[1][0], rtol=1e-12) and np.abs(rates[0][0]).max() > 0.1
    assert rates[0][1] == pytest.approx(rates[1][1], rel=1e-13)


class Residual:
    """A residual stream of list of matrices, h <- h + V_l tanh(W_l h), on a finite set."""

    layers, width, hidden, samples = 3, 4, 2, 7
    random = np.random.default_rng(1)
    X, Y = random.normal(size=(2, samples, width))
    start = {"W": random.normal(size=(layers, hidden, width)),
             "V": random.normal(size=(layers, width, hidden)) / 2,
             "b": random.normal(size=width)}

    def system(self):
        m = Model("residual", "a residual stream")
        W, V, b = (m.weights(name, value, name) for name, value in self.start.items())
        h, y = m.data(finite(self.X, self.Y))
        for k in range(self.layers):
            h = h + V[k] @ np.tanh(W[k] @ h)
        m.loss(((h + b - y) ** 2).sum() / 2)
        return m.build(check=False)

    def descent(self, W, V, b):
        """Minus the gradient of the mean loss."""
        streams, active = [self.X], []
        for w, v in zip(W, V):
            active.append(np.tanh(streams[-1] @ w.T))
            streams.append(streams[-1] + active[-1] @ v.T)
        slope = (streams[-1] + b - self.Y) / self.samples
        found = {"W": np.zeros_like(W), "V": np.zeros_like(V), "b": -slope.sum(axis=0)}
        for k in reversed(range(self.layers)):
            found["V"][k] = -slope.T @ active[k]
            inner = (slope @ V[k]) * (1 - active[k] ** 2)
            found["W"][k] = -inner.T @ streams[k]
            slope = slope + inner @ W[k]
        return found


def polar(m, newton_schulz):
    if not newton_schulz:
        u, _, v = np.linalg.svd(m, full_matrices=False)
        return u @ v
    x = m.T if m.shape[0] > m.shape[1] else m
    x = x / np.linalg.norm(x)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.T if m.shape[0] > m.shape[1] else x


@pytest.mark.parametrize("newton_schulz", [False, True])
def test_muon_orthogonalises_each_matrix_of_a_list(newton_schulz):
    stream, rate, steps = Residual(), 0.02, 30
    run = popflow.run(stream.system(), mode="sde", method="gradient_descent", noise="isotropic",
                      noise_scale=0, runs=1, optimizer="muon", learning_rate=rate, weight_decay=0.1,
                      orthogonalise="newton-schulz" if newton_schulz else "exact", steps=steps,
                      saves=steps + 1, save_spacing="linear")
    x = {name: value.copy() for name, value in stream.start.items()}
    m = {name: np.zeros_like(value) for name, value in x.items()}
    second = np.zeros_like(x["b"])
    for k in range(1, steps + 1):
        g = stream.descent(**x)
        for name in "WV":
            m[name] = 0.9 * m[name] + g[name]
            along = np.array([polar(one, newton_schulz) for one in m[name]])
            x[name] = x[name] * (1 - rate * 0.1) + rate * along
        m["b"] = 0.9 * m["b"] + 0.1 * g["b"]
        second = 0.999 * second + 0.001 * g["b"] ** 2
        x["b"] = x["b"] * (1 - rate * 0.1) + rate * (m["b"] / (1 - 0.9**k)) / (
            np.sqrt(second / (1 - 0.999**k)) + 1e-8)
        for name, value in x.items():
            assert np.abs(run[name].isel(run=0, time=k).values - value).max() < 1e-11 * k, (name, k)


def test_the_flow_of_muon_orthogonalises_each_matrix_of_a_list():
    stream, step, rate = Residual(), 1e-3, 0.02
    run = popflow.run(stream.system(), optimizer="muon", learning_rate=rate, method="euler",
                      dt=step, t_end=20 * step, saves=21, save_spacing="linear")
    x = {name: value.copy() for name, value in stream.start.items()}
    m = {name: np.zeros_like(x[name]) for name in "WV"}
    for k in range(1, 21):
        g = stream.descent(x["W"], x["V"], run.b.values[k - 1])
        for name in "WV":
            along = [polar(one if one.any() else other, False)
                     for one, other in zip(m[name], g[name])]
            x[name] = x[name] + step * np.array(along)
            m[name] = m[name] + step * np.log(1 / 0.9) / rate * (g[name] / (1 - 0.9) - m[name])
            assert np.abs(run[name].values[k] - x[name]).max() < 1e-11, (name, k)
