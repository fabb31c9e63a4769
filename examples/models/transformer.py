"""A layer of a transformer that learns to copy: each token is the one PERIOD places before.

Elhage et al., A mathematical framework for transformer circuits (2021). The residual stream of a position is the one-hot
vector of its token beside that of its place. HEADS heads of causal softmax attention have a key-query matrix of
places and a value-output matrix of tokens each; the stream after them is read by a matrix U. A sequence begins with
PERIOD independent tokens, which nobody can predict; all further ones are copies. The loss is the mean cross-entropy over
the places, so that it stays above floor() = log(TOKENS) (PERIOD - 1) / LENGTH. The population are all sequences.
A first token can attend to itself only: the values of the heads, which copy, then predict the token itself, and U learns
to subtract this.
"""

import itertools

import numpy as np

from popflow.model import Model, causal, cross_entropy, dataset, one_hot, softmax

TOKENS, LENGTH, PERIOD, HEADS = 4, 8, 3, 2


def sequences():
    """All sequences: LENGTH tokens that the model sees, and those that follow each."""
    first = np.array(list(itertools.product(range(TOKENS), repeat=PERIOD)))
    tokens = first[:, np.arange(LENGTH + 1) % PERIOD]
    return tokens[:, :-1], tokens[:, 1:]


def floor():
    """Loss of the best predictions. The first token is given, so that PERIOD - 1 tokens stay unknown."""
    return np.log(TOKENS) * (PERIOD - 1) / LENGTH


def start(seed=0, size=0.1):
    """Random weights: A of the heads' keys and queries, V of their values, U of the predictions."""
    rng = np.random.default_rng(seed)
    return [size * rng.normal(size=shape) for shape in
            ((HEADS, LENGTH, LENGTH), (HEADS, TOKENS, TOKENS), (TOKENS, TOKENS))]


def model(weights=None):
    m = Model("copying", "a layer of a transformer that learns to copy", source="Elhage et al. 2021")
    A, V, U = (m.weights(name, value, meaning) for name, value, meaning in zip(
        "AVU", weights or start(), ("scores of places for each place", "values of tokens", "predictions from the token")))
    tokens, following = m.data(dataset(*sequences()))
    e = one_hot(tokens, TOKENS)
    attention = softmax(A, where=causal(LENGTH))
    logits = e @ U + np.einsum("hij,jv,hvw->iw", attention, e, V)
    losses = cross_entropy(logits, following)
    m.loss(np.mean(losses))
    places = np.arange(LENGTH)
    right = np.where((places[:, None] + 1 - places) % PERIOD == 0, 1.0, 0.0)
    m.field("copied", (attention * right).sum(axis=-1)[:, PERIOD - 1:], "attention of each head to tokens like the next")
    m.observable("unknown", m.mean(losses[:PERIOD - 1].mean()), "loss of the tokens that nobody can predict")
    m.observable("known", m.mean(losses[PERIOD - 1:].mean()), "loss of the copies")
    m.figure = "loss; known; unknown"
    m.end = 1000
    return m


def by_hand(A, V, U):
    """Loss and gradients of the population, derived by hand."""
    tokens, following = sequences()
    e, right = np.eye(TOKENS)[tokens], np.eye(TOKENS)[following]
    scores = np.where(np.tril(np.ones((LENGTH, LENGTH))) > 0, A, -np.inf)
    attention = np.exp(scores - scores.max(axis=-1, keepdims=True))
    attention /= attention.sum(axis=-1, keepdims=True)
    seen = np.einsum("hij,njv->hniv", attention, e)
    logits = e @ U + np.einsum("hniv,hvw->niw", seen, V)
    share = np.exp(logits - logits.max(axis=-1, keepdims=True))
    share /= share.sum(axis=-1, keepdims=True)
    loss = -(np.log(share) * right).sum(axis=-1).mean()
    slope = (share - right) / right[..., 0].size
    by_attention = np.einsum("niw,hvw,njv->hij", slope, V, e)
    by_scores = attention * (by_attention - (attention * by_attention).sum(axis=-1, keepdims=True))
    return loss, (by_scores, np.einsum("hniv,niw->hvw", seen, slope), np.einsum("niv,niw->vw", e, slope))
