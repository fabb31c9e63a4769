"""Topic models as models of popflow.model: cross-entropy, and words of unequal frequency."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .topics import Sizes

#: Probability that a position is selected, that its word is kept, and that it is random.
SELECTED, KEPT, RANDOM = 0.15, 0.1, 0.1
#: Log of the frequency of a class without words.
NONE = -1e3


@dataclass(frozen=True)
class Documents:
    """All documents of a topic model, infinitely long, and what a selected position shows.

    The r-th word of a topic has a frequency proportional to r^-zipf. Symbol 0 is [MASK]."""

    sizes: Sizes
    zipf: float = 0.0

    @cached_property
    def topic(self) -> np.ndarray:
        """Topic of each word."""
        return np.repeat(np.arange(self.sizes.topics), self.sizes.words)

    @cached_property
    def words(self) -> np.ndarray:
        """Frequencies of the words in each document, (document, word)."""
        of_topic = np.arange(1.0, self.sizes.words + 1) ** -self.zipf
        sets = itertools.combinations(range(self.sizes.topics), self.sizes.per_document)
        rows = np.array([np.isin(self.topic, chosen) for chosen in sets], float)
        rows *= np.tile(of_topic, self.sizes.topics)
        return rows / rows.sum(axis=1, keepdims=True)

    @cached_property
    def shown(self) -> np.ndarray:
        """Frequencies of the symbols that a document shows, (document, symbol)."""
        count = self.words.shape[1]
        masked = np.full((len(self.words), 1), SELECTED * (1 - KEPT - RANDOM))
        return np.hstack([masked, (1 - SELECTED * (1 - KEPT)) * self.words
                          + SELECTED * RANDOM / count])

    def queries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns the documents, the symbols that a selected position shows, the probabilities of
        the masked words given both, and the probabilities of the pairs."""
        count = self.words.shape[1]
        pairs = list(itertools.product(range(len(self.words)), range(count + 1)))
        document, symbol = np.array(pairs).T
        joint = np.empty((len(pairs), count))
        for row, (of, shows) in enumerate(pairs):
            true = self.words[of]
            joint[row] = true * ((1 - KEPT - RANDOM) if shows == 0 else RANDOM / count)
            if shows:
                joint[row, shows - 1] += KEPT * true[shows - 1]
        probability = joint.sum(axis=1)
        return document, symbol, joint / probability[:, None], probability / len(self.words)


Starts = Sequence[np.ndarray]


def drawn(m: Any, starts: Starts) -> Any:
    """Returns the start that the model's parameter `draw` chooses, so that one model has all."""
    draw = m.parameter("draw", 0, "number of the start", low=0)
    return sum(np.where(draw == float(number), 1, 0) * start
               for number, start in enumerate(starts))


def one_layer(documents: Documents, loss: str, starts: dict[str, Starts], trained: str = "joint",
              value: np.ndarray | None = None) -> Any:
    """Returns a model of one layer of attention with full matrices, with the parameters l2 and
    draw; `starts` are those of W_K and W_Q.

    W_V has a row for each word and a column for each symbol, and starts at 0. `loss` is
    "cross-entropy", which has biases, or "squared". `trained` is "joint"; "value", with uniform
    attention; or "attention", with W_V fixed at `value`."""
    from popflow.model import Model, finite, softmax

    document, symbol, masked, probability = documents.queries()
    count = masked.shape[1]
    m = Model(f"topic-{trained}", f"one layer of attention on topics, {loss}",
              source="Li, Li and Risteski 2023")
    l2 = m.parameter("l2", 1e-4, "penalty on W_V", low=0)
    W_V = value if trained == "attention" else \
        m.weights("W_V", np.zeros((count, count + 1)), "value matrix, rows of words")
    if trained == "value":
        # Uniform attention sees a document alone.
        z, p = m.data(finite(documents.shown, documents.words))
        output = W_V @ z
    else:
        draw = drawn(m, [np.hstack(each) for each in zip(starts["W_K"], starts["W_Q"])])
        K, Q = (m.weights(f"W_{name}", draw[:, place], f"{words} matrix")
                for name, words, place in (("K", "key", slice(count + 1)),
                                           ("Q", "query", slice(count + 1, None))))
        z, query, p = m.data(finite(np.log(documents.shown[document]),
                                    np.eye(count + 1)[symbol], masked, probability=probability))
        output = W_V @ softmax(z + K.T @ (Q @ query))
    m.loss(loss_of(m, output, p, loss, count) + l2 * np.sum(W_V * W_V))
    return m


def loss_of(m: Any, output: Any, p: Any, loss: str, count: int) -> Any:
    """Returns the mean loss over the masked words, whose probabilities are p."""
    from popflow.model import logsumexp

    if loss == "squared":
        return 1 - 2 * (p @ output) + np.sum(output * output)
    logits = output + m.weights("b", np.zeros(count), "biases")
    return logsumexp(logits) - p @ logits


def embedding(documents: Documents, loss: str, starts: Starts) -> Any:
    """Returns a model of embeddings W_E (rows: entries, columns: symbols) with uniform attention,
    with the parameters l2 and draw. The output of word i is the i-th entry of W_E^T W_E z."""
    from popflow.model import Model, finite

    m = Model("topic-embedding", f"embeddings of topics, {loss}", source="Li, Li and Risteski 2023")
    l2 = m.parameter("l2", 1e-4, "penalty on the products", low=0)
    W_E = m.weights("W_E", drawn(m, starts), "embeddings")
    z, p = m.data(finite(documents.shown, documents.words))
    products = W_E.T @ W_E
    m.loss(loss_of(m, (W_E.T @ (W_E @ z))[1:], p, loss, documents.words.shape[1])
           + l2 * np.sum(products * products))
    return m


@dataclass(frozen=True)
class Orbits:
    """A topic model from starts that permutations of words and topics leave as they are: W_K and
    W_Q are multiples of the identity, and W_V is 0.

    Seen from the word that a position shows, symbols fall into five classes: this word, its topic,
    other words of the document, other words, [MASK]. Matrices over the symbols have the parts
    `within` (differences within topics), `between` (differences between topics) and a block of two
    rows and columns (the mean word, [MASK]). Weights are scaled such that the sum of their squares
    is that of the matrix, so that their flow is the one of the matrix."""

    sizes: Sizes

    @property
    def words(self) -> int:
        return self.sizes.topics * self.sizes.words

    @cached_property
    def entries(self) -> np.ndarray:
        """Number of entries of W_V that are equal: a word with itself, with its topic, with other
        topics, with [MASK]."""
        n, v = self.words, self.sizes.words
        return np.array([n, n * (v - 1), n * (n - v), n], float)

    @cached_property
    def identity(self) -> np.ndarray:
        """Weights of the identity matrix."""
        topics, v = self.sizes.topics, self.sizes.words
        return np.array([np.sqrt(topics * (v - 1)), np.sqrt(topics - 1), 1, 0, 0, 1])

    def product(self, key: Any, query: Any) -> Any:
        """Returns the entries of W_K^T W_Q: for a word as query those with itself, its topic, other
        topics and [MASK]; for [MASK] as query those with a word and [MASK]."""
        n, v, root = self.words, self.sizes.words, np.sqrt(self.words)
        within = key[0] * query[0] / self.identity[0]**2
        between = key[1] * query[1] / self.identity[1]**2
        # The block's entries are key[2 + 2 row + column].
        block = [[sum(key[2 + 2 * k + i] * query[2 + 2 * k + j] for k in range(2))
                  for j in range(2)] for i in range(2)]
        other = (block[0][0] - between) / n
        topic = other + (between - within) / v
        return [topic + within, topic, other, block[1][0] / root, block[0][1] / root, block[1][1]]

    @cached_property
    def types(self) -> tuple[np.ndarray, ...]:
        """Returns, for each type of query ([MASK], a word of the document, another word):
        whether it is [MASK]; the log of the frequency of each class; the inverse of its number of
        words; the part of each class (last axis) that belongs to the topic of a word of another
        class; the number of words of each class; the probability that one of the class was masked;
        and the probabilities of the types."""
        of, n = self.sizes, self.words
        topic = np.repeat(np.arange(of.topics), of.words)
        true, frequency = Documents(of).words[0], Documents(of).shown[0]
        found = []
        for query, of_type in ((0, 1 - KEPT - RANDOM),
                               (1, KEPT + RANDOM * of.per_document / of.topics),
                               (n, RANDOM * (1 - of.per_document / of.topics))):
            classes = np.where(true > 0, 2, 3)
            if query:
                classes[topic == topic[query - 1]] = 1
                classes[query - 1] = 0
            size = np.bincount(classes, minlength=5).astype(float)
            logs, inverse, masked = np.full(5, NONE), np.zeros(5), np.zeros(5)
            logs[4] = np.log(frequency[0])
            together = np.zeros((5, 5))
            for c in np.flatnonzero(size):
                first = np.flatnonzero(classes == c)[0]
                logs[c], inverse[c] = np.log(size[c] * frequency[1 + first]), 1 / size[c]
                masked[c] = true[first] * (KEPT * (c == 0) + RANDOM / n if query else 1)
                of_topic = np.bincount(classes[topic == topic[first]], minlength=5)
                together[c] = of_topic / np.maximum(size, 1)
            found.append((float(query == 0), logs, inverse, together, size,
                          size * masked / (size @ masked), of_type))
        return tuple(np.array(each) for each in zip(*found))

    def model(self, loss: str, trained: str = "joint") -> Any:
        """Returns the model: V are the scaled entries of W_V, and K and Q the weights of W_K and
        W_Q. `trained` is "joint", "value" (uniform attention) or "embedding" (E are the weights of
        W_E, with uniform attention)."""
        from popflow.model import Model, finite, softmax

        m = Model(f"orbits-{trained}", f"topics by symmetric matrices, {loss}",
                  source="Li, Li and Risteski 2023")
        l2 = m.parameter("l2", 1e-4, "penalty", low=0)
        scale = m.parameter("scale", 0.01, "start, times the identity", low=0)
        *arrays, probability = self.types
        if trained != "joint":  # all types have one output
            arrays, probability = [each[:1] for each in arrays], np.ones(1)
        if trained == "embedding":
            E = m.weights("E", scale * self.identity, "embeddings")
            own, topic, other, _, mask, both = self.product(E, E)
            V = [own, topic, other, mask]
            penalty = (sum(count * each * each for count, each in zip(self.entries, V))
                       + self.words * mask * mask + both * both)
        else:
            weights = m.weights("V", np.zeros(4), "scaled entries of W_V")
            V = [weights[i] / np.sqrt(self.entries[i]) for i in range(4)]
            penalty = np.sum(weights * weights)
        masks, logs, inverse, together, size, masked = m.data(
            finite(*arrays, probability=probability))
        if trained == "joint":
            K, Q = (m.weights(name, scale * self.identity, f"weights of W_{name}")
                    for name in "KQ")
            own, topic, other, key, query, both = self.product(K, Q)
            logs = logs + np.stack([*(masks * query + (1 - masks) * each
                                    for each in (own, topic, other, other)),
                                  masks * both + (1 - masks) * key])
        # Weight of each class, which is that of all its symbols.
        attention = softmax(logs)
        output = ((V[0] - V[1]) * inverse * attention + (V[1] - V[2]) * (together @ attention)
                  + V[2] * (1 - attention[4]) + V[3] * attention[4])
        if loss == "squared":
            found = 1 - 2 * (masked @ output) + size @ (output * output)
        else:
            top = np.max(output)
            found = top + np.log(size @ np.exp(output - top)) - masked @ output
        m.loss(found + l2 * penalty)
        return m
