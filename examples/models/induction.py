"""Minimal two-layer induction head, in-context learning of Markov chains.

Edelman, Edelman, Goel, Malach and Tsilivis, The evolution of statistical induction heads (2024). A chain
of V states has transition rows drawn from a Dirichlet(alpha) prior. Layer 1 mixes the tokens before
position i by relative position, h_i = sum_l v_l e(x_{i-l}); layer 2 compares the last token with all h_i.
Linear attention with the prior's pseudo-counts predicts the next token with probabilities

    p_j = (alpha + sum_i e(x_T)'W h_i [x_i = j]) / (V alpha + sum_i e(x_T)'W h_i).

With v = (0, 1, 0, ...) and W = I these are Bayes-optimal, (alpha + n_j) / (V alpha + n), where n_j counts
the transitions from x_T to j. With v = (1, 0, ...) and W = c 11' they are smoothed frequencies of tokens
(unigrams). The population is the sum over all sequences; the prior is integrated exactly. Training
starts without attention in layer 2 (W = 0) and with equal attention to all positions in layer 1.
"""

import functools
import itertools

import numpy as np
from scipy.special import gammaln

from popflow.model import Model, finite, one_hot

STATES, LENGTH, ALPHA = 3, 5, 1.0  # tokens that the model sees, then the one that it predicts


@functools.cache
def sequences():
    return np.array(list(itertools.product(range(STATES), repeat=LENGTH + 1)))


def probability(tokens, alpha=ALPHA):
    """Dirichlet-multinomial probability of each sequence, with a uniform first token."""
    pairs = np.zeros((len(tokens), STATES, STATES))
    for a, b in zip(tokens.T[:-1], tokens.T[1:]):
        pairs[np.arange(len(tokens)), a, b] += 1
    rows = gammaln(alpha + pairs).sum(axis=2) - gammaln(STATES * alpha + pairs.sum(axis=2))
    rows += gammaln(STATES * alpha) - STATES * gammaln(alpha)
    return np.exp(rows.sum(axis=1)) / STATES


def model():
    m = Model("induction", "two-layer induction head on Markov chains of a Dirichlet prior",
              source="Edelman, Edelman, Goel, Malach and Tsilivis 2024")
    v0 = m.parameter("v0", 1.0, "start of all entries of v")
    w0 = m.parameter("w0", 0.0, "start of all entries of W")
    v = m.weights("v", v0 * np.ones(LENGTH), "weights of positions", axes=["lag"])
    W = m.weights("W", w0 * np.ones((STATES, STATES)), "weights of tokens", axes=["last", "earlier"])
    tokens = m.data(finite(sequences(), probability=probability(sequences())))
    e = [one_hot(tokens[i], STATES) for i in range(LENGTH + 1)]
    key = e[LENGTH - 1] @ W
    scores = [sum(v[lag] * (key @ e[i - lag]) for lag in range(i + 1)) for i in range(LENGTH)]
    counts = ALPHA + sum(score * e[i] for i, score in enumerate(scores))
    m.loss(np.log(counts.sum()) - np.log(counts @ e[LENGTH]), floor=1e-15)
    none, half, best = np.log(STATES), unigram_loss(), floor()
    m.event("unigrams", (none + half) / 2 - m.population, "half of the gain of unigrams is learned")
    m.event("bigrams", (half + best) / 2 - m.population, "half of the further gain of bigrams is learned")
    m.figure = "loss; v"
    m.end = 2000
    return m


@functools.cache
def occurrences():
    """Counts of each token among the first LENGTH tokens of each sequence."""
    return (sequences()[:, :LENGTH, None] == np.arange(STATES)).sum(axis=1)


def frequencies_loss(weight, p=None):
    """Loss if counts of tokens, times a weight, take the place of counts of transitions; `p` are the
    probabilities of all sequences."""
    tokens, counts = sequences(), weight * occurrences() + ALPHA
    p = probability(tokens) if p is None else p
    return -p @ np.log(counts[np.arange(len(tokens)), tokens[:, LENGTH]] / counts.sum(axis=1))


def unigram_loss():
    p = probability(sequences())
    return min(frequencies_loss(weight, p) for weight in np.linspace(0, 1, 201))


def floor():
    """Bayes-optimal loss: the entropy of the next token given all tokens before."""
    p = probability(sequences())
    before = p.reshape(-1, STATES).sum(axis=1).repeat(STATES)
    return -p @ np.log(p / before)
