# label: fast
"""Messages about mistakes in models; none of these tests needs CasADi or a compiler."""

import math

import numpy as np
import pytest

from popflow.model import (
    Model,
    ModelError,
    categorical,
    causal,
    cross_entropy,
    embed,
    finite,
    layer_norm,
    logsumexp,
    mixture,
    normal,
    one_hot,
    rms_norm,
    softmax,
    uniform,
    where,
)
from popflow.model.derive.isserlis import degree, normal_mean
from popflow.model.derive.rules import used_entries
from popflow.model.symbols import Symbol, evaluated


def model():
    m = Model("toy", "a toy")
    a = m.parameter("a", 1.0, "a number", low=0)
    W = m.weights("W", np.zeros((4, 3)), "matrix")
    x, y = m.data(finite(np.ones((5, 3)), np.arange(5.0)))
    return m, a, W, x, y


def selected(samples, entry=None):
    """Returns one of four weights. Its index is a sample, or an entry of a sample."""
    m = Model("toy", "a toy")
    w = m.weights("w", np.zeros(4), "numbers")
    place = m.data(finite(np.array(samples)))
    return w[place if entry is None else place[entry]]


def log_of_negative():
    m, a, W, x, _ = model()
    m.loss(np.log(W.sum() - a) + x.sum())
    m.require_finite()


def probabilities_by_parameter():
    m = Model("toy", "a toy")
    a = m.parameter("a", 1.0, "a number")
    w = m.weights("w", 0.0, "weight")
    x = m.data(finite(np.arange(3.0), probability=np.array([1.0, 1.0, -1.0]) * a))
    m.loss((w - x) ** 2)
    m.require_finite()


def another_model():
    m, _, W, x, _ = model()
    other = Model("other", "another")
    v = other.weights("v", np.zeros(3), "vector")
    m.loss((W @ x).sum() + (v * x).sum())


def two_laws_in_epochs():
    m = Model("toy", "a toy")
    w = m.weights("w", 0.0, "weight")
    x, y = m.data(finite(np.ones(2), sampling="epochs"), finite(np.ones(3)))
    m.loss((w * x - y) ** 2)
    m.require_complete()


def equations():
    m = Model("toy", "a toy")
    return m, m.weights("x", np.ones(3), "numbers")


def part_of_a_solution():
    m, x = equations()
    y = m.weights("y", 1.0, "another")
    m.rate(x, -x)
    m.rate(y, -y)
    m.solution(x, np.ones(3) * np.exp(-m.time))
    m.require_complete()


def mapped(kind, map_):
    m, _, W, x, _ = model()
    m.loss((W @ x).sum())
    getattr(m, kind)(W, map_)
    m.require_complete()
    m.require_finite()


def training_without():
    m, x = equations()
    m.rate(x, -x)
    m.observable("size", x @ x, "size")
    m.observable("loss", x @ x / 2, "loss")
    other = m.training()
    w = other.weights("w", np.ones(3), "weights")
    z = other.data(normal(3))
    other.loss((w @ z) ** 2 / 2)
    m.require_complete()


MISTAKES = {
    "shapes": (lambda: np.ones((16, 8)) @ model()[2],
               "shapes do not fit in array @ W: array is 16 x 8, W is 4 x 3"),
    "sum of shapes": (lambda: model()[2] + np.ones(4), "W is 4 x 3, array is 4"),
    "no scalar": (lambda: (lambda m, a, W, x, y: m.loss(W @ x))(*model()),
                  "the loss is 4; it must be a scalar"),
    "if": (lambda: 1 if model()[1] > 0 else 2, "np.where(condition, a, b) instead of `if`"),
    "math.exp": (lambda: math.exp(model()[1]), "np.exp, not math.exp"),
    "in place": (lambda: model()[2].__setitem__((0, 0), 1.0), "cannot be changed in place"),
    "index": (lambda: model()[2][7], "W[7]: index 7 is out of bounds"),
    "slices": (lambda: model()[2][:, :2] @ np.ones(3), "(W[:, :2]) @ array"),
    "two indices": (lambda: model()[2][0, 7], "W[0, 7]: index 7 is out of bounds"),
    "probability's shape": (lambda: finite(np.ones(3), probability=np.ones(2)),
                            "has the shape 2; it must be a vector of 3"),
    "unknown function": (lambda: np.linalg.inv(model()[2]),
                         "np.linalg.inv is not available in models"),
    "unknown ufunc": (lambda: np.arctan2(model()[1], 1.0), "np.arctan2 is not available"),
    "four axes": (lambda: Model("t", "t").weights("W", np.zeros((2, 2, 2, 1)), "m"),
                  "the start of W has 4 axes; weights have at most three"),
    "five axes": (lambda: model()[2][:, None, :, None, None], "symbols have at most 4"),
    "shapes of lists": (lambda: model()[2].reshape(2, 2, 3) @ np.ones((3, 3, 4)),
                        "is 2 x 2 x 3, array is 3 x 3 x 4"),
    "sphere of a list": (lambda: (lambda m: m.sphere(m.weights("w", np.ones((2, 3, 2)), "m")))(
        Model("t", "t")), "sphere() takes a vector, or a matrix of rows; w is 2 x 3 x 2"),
    "rows": (lambda: finite(np.ones((5, 3)), np.ones(4)), "have 5, 4 rows"),
    "negative probability": (lambda: finite(np.ones(2), probability=[1, -1]),
                             "probability of sample 1 of finite() is -1.0"),
    "no probability": (lambda: finite(np.ones(2), probability=[0, 0]), "sum to 0"),
    "NaN in data": (lambda: finite([1.0, np.nan]), "is nan at [1]"),
    "NaN in the start": (lambda: Model("t", "t").weights("w", [0, np.inf], "m"),
                         "the start of w is inf at [1]"),
    "NaN of a term": (log_of_negative, "the term log(sum(W) - a) is nan"),
    "probability by parameter": (probabilities_by_parameter, "must be finite, not negative"),
    "another model": (another_model, "uses v, which belongs to another model"),
    "twice": (lambda: (lambda m, *_: m.parameter("W", 1.0, "m"))(*model()),
              "the name W is given twice"),
    "the name of an error": (
        lambda: (lambda m, *_: m.observable("quadrature_error", 1.0, "m"))(*model()),
        "is the name of the error of Gauss-Hermite rules"),
    "name": (lambda: Model("My Model", "t"), "its name must be lower-case letters"),
    "no meaning": (lambda: Model("t", "t").parameter("b", 1.0, ""), "has no meaning"),
    "range": (lambda: Model("t", "t").parameter("b", -1.0, "m", low=0), "outside of its own range"),
    "no data": (lambda: (lambda m: m.loss(m.weights("w", 0.0, "m") ** 2))(Model("t", "t")),
                "has no data"),
    "no weights in the loss": (lambda: (lambda m, a, W, x, y: m.loss(x.sum()))(*model()),
                               "does not depend on any weights"),
    "a law": (lambda: Model("t", "t").data(np.ones(3)), "data() takes laws"),
    "start by data": (lambda: (lambda m, a, W, x, y: m.weights("v", x, "m"))(*model()),
                      "the start of v depends on data_0 (of a single sample)"),
    "event by data": (lambda: (lambda m, a, W, x, y: m.event("e", y, "m"))(*model()),
                      "the event e depends on data_1"),
    "observable by data": (lambda: (lambda m, a, W, x, y: m.observable("o", x[0], "m"))(*model()),
                           "put numbers in the place of the sample"),
    "array of symbols": (lambda: (lambda m, a, W, x, y: np.array([x[0], y]))(*model()),
                         r"np.stack(["),
    "no loss": (lambda: model()[0].require_complete(), "has no loss and no equations"),
    "rate's shape": (lambda: (lambda m, a, W, x, y: m.rate(W, np.ones(3)))(*model()),
                     "the rate of W is 3; W is 4 x 3"),
    "label's shape": (lambda: cross_entropy(np.ones(3), np.ones(4)), "the label array is 4"),
    "label of a sample": (lambda: (lambda m, a, W, x, y: cross_entropy(W @ x, y))(*model()),
                          "the label data_1 of sample 4 is 4; it must be a whole number from 0 to "
                          "3"),
    "label below 0": (lambda: cross_entropy(np.ones(3), -1.0), "the label is -1; it must be"),
    "label's fraction": (lambda: selected([1.0, 0.5]), "data_0 of sample 1 is 0.5"),
    "index of a sample": (lambda: selected([[0, 3], [0, 4]], 1),
                          "the index data_0[1] of sample 1 is 4; it must be a whole number"),
    "one_hot's place": (lambda: one_hot(4, 4), "one_hot: the index is 4; it must be a whole number "
                                               "from 0 to 3"),
    "one_hot of a sample": (lambda: (lambda m, a, W, x, y: one_hot(y, 4))(*model()),
                            "one_hot: the index data_1 of sample 4 is 4; it must be"),
    "one_hot of a vector": (lambda: one_hot(np.array([0.0, 4.0]), 4),
                            "one_hot: the index is 4; it must be a whole number"),
    "one_hot's classes": (lambda: one_hot(1, 2.5), "classes is 2.5; it must be a whole number"),
    "matrix of logits": (lambda: cross_entropy(np.ones((3, 4)), 1.0),
                         "the label 1 is a scalar; it must be 3 whole numbers or 3 x 4"),
    "scalar of logits": (lambda: cross_entropy(1.0, 1.0), "needs a vector of logits"),
    "softmax of a scalar": (lambda: softmax(1.0), "needs one or more axes"),
    "softmax's axis": (lambda: softmax(np.ones(3), 1), "axis 1 is out of bounds"),
    "softmax's mask": (lambda: softmax(np.ones(3), where=np.ones(3)), "which is no condition"),
    "softmax of nothing": (lambda: softmax(np.ones((2, 3)), where=np.eye(2, 3) > 2),
                           "has a row in which no entry is true"),
    "causal": (lambda: causal(0), "causal: the length is 0; it must be a whole number above 0"),
    "norm of a scalar": (lambda: layer_norm(1.0), "layer_norm(1) is a scalar; it needs one or"),
    "norm's scale": (lambda: rms_norm(np.ones((2, 3)), scale=np.ones(2)),
                     "rms_norm: the scale array is 2; it must be a scalar or a vector of 3"),
    "norm's shift": (lambda: layer_norm(model()[2], 1.0, np.ones((4, 3))),
                     "layer_norm: the shift array is 4 x 3; it must be"),
    "norm's epsilon": (lambda: rms_norm(np.ones(3), epsilon=-1), "rms_norm: epsilon is -1"),
    "embed's table": (lambda: embed(np.ones(3), 1), "embed: the table array is 3; it must be a "
                                                    "matrix with a row for each token"),
    "embed of a sample": (lambda: (lambda m, a, W, x, y: embed(W, y))(*model()),
                          "embed: the token data_1 of sample 4 is 4; it must be a whole number "
                          "from 0 to 3"),
    "embed of a number": (lambda: embed(model()[2], [0, 4]), "embed: the token is 4; it must be"),
    "uniform": (lambda: uniform(1, 0), "low must be below high"),
    "covariance": (lambda: normal(2, covariance=np.eye(3)), "must be 2 x 2"),
    "indefinite": (lambda: normal(2, covariance=-np.eye(2)), "negative eigenvalue"),
    "axes": (lambda: Model("t", "t").weights("w", np.zeros((2, 3)), "m", axes=["one"]),
             "w has 2 axes (2 x 3), and 1 names"),
    "text": (lambda: model()[2] * "three", "'three' is no number, array or symbol"),
    "einsum": (lambda: np.einsum("ij,jk->iij", model()[2], model()[2].T),
               "the result must have up to 4 different indices"),
    "einsum's shapes": (lambda: np.einsum("ij,jk->ik", model()[2], model()[2]),
                        "the index j has the lengths 3 and 4"),
    "norm": (lambda: np.linalg.norm(model()[2], "nuc"),
             "in models ord of a matrix is None, fro, 1, -1, inf, -inf"),
    "mixture": (lambda: mixture(normal(2), uniform(0, 1)),
                "the laws of mixture() are 2, a scalar; all must have the same shape"),
    "mixture's probability": (lambda: mixture(normal(2), normal(2), probability=[1.0, 2.0, 3.0]),
                              "the probability of mixture() is 3; there are 2 laws"),
    "mean of a normal law": (lambda: normal(2, mean=[1.0, 2.0, 3.0]),
                             "the mean of normal() is 3; its shape is 2"),
    "sampling": (lambda: finite(np.ones(2), sampling="epoch"), "must be 'replacement' or 'epochs'"),
    "epochs with probabilities": (
        lambda: finite(np.ones(2), probability=[1, 2], sampling="epochs"),
        "leave out probability=, or sampling='epochs'"),
    "epochs of two laws": (two_laws_in_epochs, "sampling='epochs' needs a single law of data"),
    "noise of samples": (lambda: (lambda m, a, W, x, y: (m.loss((W @ x).sum()),
                                                         m.noise(covariance=np.eye(12)),
                                                         m.require_complete()))(*model()),
                         "noise() is for models by equations"),
    "noise's shape": (lambda: equations()[0].noise(covariance=np.eye(2)),
                      "the covariance of the noise is 2 x 2; the state has 3 numbers"),
    "two noises": (lambda: equations()[0].noise(factor=np.eye(3), covariance=np.eye(3)),
                   "either factor= or covariance="),
    "solution of weights": (lambda: (lambda m, x: m.solution(x, x * m.time))(*equations()),
                            "the solution of x depends on x (which training moves)"),
    "time in a rate": (lambda: (lambda m, x: m.rate(x, x * m.time))(*equations()),
                       "the rate of x depends on time (the time, for solution())"),
    "part of a solution": (part_of_a_solution, "the weights y have no exact solution, but others"),
    "outcome": (lambda: (lambda m, x: m.outcome("undecided", x[0] > 0, "m"))(*equations()),
                "stands for no outcome"),
    "no linear map": (lambda: mapped("precondition", lambda v: v * v),
                      "the preconditioner of W is not linear"),
    "no projection": (lambda: mapped("projection", lambda v: 2 * v),
                      "the projection of W is no projection: applied twice"),
    "map of equations": (lambda: (lambda m, x: (m.rate(x, -x),
                                                m.projection(x, lambda v: v)))(*equations()),
                         "the model has equations, and takes no projection"),
    "step": (lambda: (lambda m, a, W, x, y: (m.loss((W @ x).sum() * m.step),
                                             m.require_complete()))(*model()),
             "the loss depends on step, which the flow does not know: give its mean"),
    "training without loss": (lambda: (lambda m, x: (m.rate(x, -x), m.training(),
                                                     m.require_complete()))(*equations()),
                              "the training state has no weights"),
    "training without the observable": (training_without, "the training state lacks size, one of"),
    "parameter of training": (lambda: equations()[0].training().parameter("b", 1.0, "m"),
                              "the parameter b belongs to both states"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_in_the_models_terms(mistake):
    make, sentence = MISTAKES[mistake]
    with pytest.raises(ModelError) as raised:
        make()
    assert sentence in str(raised.value)


def test_a_mean_without_an_exact_form_says_what_to_do():
    m = Model("toy", "a toy")
    w = m.weights("w", 0.5, "weight")
    x = m.data(normal())
    m.loss(np.exp(w * x))
    with pytest.raises(ModelError, match="no polynomial of the data.*population_loss.*quadrature"):
        normal_mean(m.laws, m.sample_loss)
    assert degree((w * x - 1) ** 2 * x) == 3
    assert degree(np.sin(w) * x @ np.ones(1) if x.ndim else x * np.sin(w)) == 1


def test_symbols_have_numpys_values():
    rng = np.random.default_rng(3)
    m = Model("toy", "a toy")
    A, b = rng.normal(size=(3, 4)), rng.normal(size=4)
    W, v = m.weights("W", A, "matrix"), m.weights("v", b, "vector")
    pairs = [(lambda W, v: W @ v, None), (lambda W, v: (W * 2 - v) / (1 + v * v), None),
             (lambda W, v: W.T @ W, None), (lambda W, v: np.sum(W, axis=0) + np.exp(v), None),
             (lambda W, v: W[1:, [0, 2]], None), (lambda W, v: np.trace(W.T @ W), None),
             (lambda W, v: np.outer(v, v), None), (lambda W, v: np.concatenate([v, v[:2]]), None),
             (lambda W, v: np.tanh(W).mean(), None), (lambda W, v: abs(v) ** 1.5, None),
             (lambda W, v: np.maximum(v, 0).sum() + W.max(), None),
             (lambda W, v: 1.0 / np.linalg.norm(v), None), (lambda W, v: W.reshape(2, 6), None),
             (lambda W, v: np.where(v > 0, v, -v), None), (lambda W, v: 2.0 ** v - v @ v, None),
             (lambda W, v: np.min(W, axis=0) + np.clip(v, -0.2, 0.3), None),
             (lambda W, v: W.min() + np.max(v) + np.ptp(v) + np.prod(v), None),
             (lambda W, v: np.var(W) + W.std() + np.var(v, ddof=1), None),
             (lambda W, v: np.var(W, axis=0) + np.std(W.T, axis=1), None),
             (lambda W, v: np.linalg.norm(W) + np.linalg.norm(v, 1) + np.linalg.norm(v, np.inf),
              None), (lambda W, v: np.linalg.norm(W, axis=1) + np.linalg.norm(W, 1), None),
             (lambda W, v: np.einsum("ij,kj->ik", W, W), None),
             (lambda W, v: np.einsum("ij,j->i", W, v), None),
             (lambda W, v: np.einsum("ij,ik,j->k", W, W, v), None),
             (lambda W, v: np.einsum("ii", W[:, :3]) + np.einsum("ij,ij->", W, W), None),
             (lambda W, v: np.average(W, axis=1, weights=np.arange(1.0, 5)), None),
             (lambda W, v: np.cumsum(v) + np.roll(v, 1) + np.flip(v), None),
             (lambda W, v: np.cumsum(W, axis=1) + np.tile(v, 3).reshape(3, 4), None),
             (lambda W, v: np.diff(v) @ np.tril(np.outer(v[:3], v[:3])), None),
             (lambda W, v: np.log2(v * v) + np.log10(v * v) + np.exp2(v) + np.cbrt(v), None),
             (lambda W, v: np.arctanh(v / 9) + np.arccosh(v * v + 1), None),
             (lambda W, v: np.heaviside(v, 0.5) + np.remainder(v, 0.3) + np.trunc(9 * v), None),
             (lambda W, v: np.polyval([1.0, -2.0, 3.0], v) + np.logical_not(v > 0), None),
             (lambda W, v: np.column_stack([v, v * v]) + np.vdot(W, W) * np.any(v > 0), None),
             (lambda W, v: np.broadcast_to(v, (3, 4)) * np.ones_like(W) + W.prod(axis=0), None),
             (lambda W, v: np.stack([v, v]) @ W.T, None), (lambda W, v: np.diag(v) @ W.T, None)]
    for formula, _ in pairs:
        found, = evaluated([formula(W, v)], {id(W): A, id(v): b})
        assert np.allclose(found, formula(A, b), rtol=1e-14, atol=1e-14)
        assert found.shape == np.shape(formula(A, b))
    soft, lse, hot, entropy, chosen = evaluated(
        [softmax(v), logsumexp(v), one_hot(2.0, 4), cross_entropy(v, 2.0), where(v > 0, v, 0)],
        {id(v): b})
    assert np.allclose(soft, np.exp(b) / np.exp(b).sum())
    assert np.isclose(lse, np.log(np.exp(b).sum())) and list(hot) == [0, 0, 1, 0]
    assert np.isclose(entropy, -np.log(soft[2])) and (chosen == np.maximum(b, 0)).all()
    big, = evaluated([logsumexp(v * 1000)], {id(v): np.ones(4)})
    assert np.isclose(big, 1000 + np.log(4))


def test_words_for_sequences_mean_what_their_formulas_say():
    W, A = Symbol("weights", (), (4, 3), "W"), np.random.default_rng(2).normal(size=(4, 3))
    tokens = Symbol("data", (), (5,), "tokens")
    places, labels = np.array([3.0, 0, 1, 3, 2]), np.array([2, 0, 0, 1])
    a, b = np.array([1.0, 2, 3]), np.array([0.5, 0, -1])
    share = np.exp(A) / np.exp(A).sum(axis=1, keepdims=True)
    mask = A > A.min(axis=1, keepdims=True)
    part = np.where(mask, np.exp(A), 0)
    pairs = [(softmax(W), share), (softmax(W, 0), np.exp(A) / np.exp(A).sum(axis=0)),
             (softmax(W + 1024), share),
             (softmax(W, where=mask), part / part.sum(axis=1, keepdims=True)),
             (softmax(W, where=W > W.min(axis=1, keepdims=True)),
              part / part.sum(axis=1, keepdims=True)),
             (softmax(W[:3], where=causal(3))[0], [1, 0, 0]),
             (1.0 * causal(3), np.tri(3)),
             (cross_entropy(W, labels), -np.log(share[np.arange(4), labels])),
             (cross_entropy(W, share), -(share * np.log(share)).sum(axis=1)),
             (one_hot(tokens, 4), np.eye(4)[places.astype(int)]),
             (layer_norm(W, a, b), (A - A.mean(1, keepdims=True))
              / np.sqrt(A.var(1, keepdims=True) + 1e-5) * a + b),
             (layer_norm(W[0], epsilon=0.5), (A[0] - A[0].mean()) / np.sqrt(A[0].var() + 0.5)),
             (rms_norm(W, a), A / np.sqrt((A * A).mean(1, keepdims=True) + 1e-5) * a),
             (embed(W, tokens), A[places.astype(int)]), (W[tokens], A[places.astype(int)]),
             (W[:, 1][tokens], A[places.astype(int), 1]), (embed(W, tokens[0]), A[3]),
             (embed(W, [1, 1]), A[[1, 1]])]
    found = evaluated([one for one, _ in pairs], {id(W): A, id(tokens): places})
    for number, (value, (_, expected)) in enumerate(zip(found, pairs)):
        assert np.allclose(value, expected, rtol=1e-12, atol=1e-14), (number, value, expected)
        assert value.shape == np.shape(expected), number


def test_masks_of_lists_of_matrices_are_those_of_each_matrix():
    rng = np.random.default_rng(4)
    A, B, C = (Symbol("weights", (), shape, "a") for shape in ((3, 2, 5), (3, 5, 4), (3, 2, 4)))
    mask = C > 0
    given = rng.normal(size=(3, 2, 4)) - 1
    for place, arg in enumerate((A, B)):
        whole = used_entries(A @ B, arg, place, mask)
        each = [used_entries(A[h] @ B[h], arg[h], place, mask[h]) for h in range(3)]
        found = evaluated([whole, *each], {id(C): given})
        assert (found[0] == np.stack(found[1:])).all() and 0 < found[0].mean() < 1


def test_a_categorical_law_counts_classes():
    m = Model("toy", "a toy")
    label = m.data(categorical([1.0, 2.0, 1.0]))
    rows, weight = m.laws[0][0].arrays[0], m.laws[0][0].probability
    assert label.shape == () and list(rows) == [0, 1, 2] and list(weight.value) == [1, 2, 1]
