# label: slow
"""Words for transformers: values and gradients against formulas in NumPy."""

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

from model_matrices_test import in_matrices, values  # noqa: E402

from popflow.model import (  # noqa: E402
    Model,
    causal,
    cross_entropy,
    dataset,
    embed,
    finite,
    layer_norm,
    rms_norm,
    softmax,
)
from popflow.model.emit import generating  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
V, T, D, N = 5, 4, 3, 37  # the last batch is not full
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


@pytest.mark.parametrize("most, law", [(10**9, finite), (0, finite), (0, dataset)])
def test_a_head_has_the_loss_and_the_gradient_of_numpy(most, law, monkeypatch):
    check(*one_head(law), monkeypatch, most)
