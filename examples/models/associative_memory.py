"""Associative memory: C facts in a d x d matrix, cross-entropy, frequencies by Zipf's law.

Cabannes, Dohmatob and Bietti, Scaling laws for associative memories (2023). Fact k has the input
embedding x_k and the output embedding u_k, both of length 1. If all embeddings are orthonormal and
W = 0 at the start, facts do not disturb each other. The margin m of fact k is its logit less that
of any other fact. The margin then follows m' = C p_k / (e^m + C - 1), so that e^m + (C - 1) m = 1 +
C p_k t.
"""

import numpy as np

from popflow.model import Model, cross_entropy, finite


def embeddings(facts, dimension, seed=1):
    """Inputs and outputs, a row each: orthonormal if there is room, else random of length about 1."""
    rng = np.random.default_rng(seed)
    if dimension >= facts:
        return [np.linalg.qr(rng.normal(size=(dimension, facts)))[0].T for _ in range(2)]
    return [rng.normal(size=(facts, dimension)) / np.sqrt(dimension) for _ in range(2)]


def model(facts=8, dimension=8):
    C, d = facts, dimension
    inputs, outputs = embeddings(C, d)
    m = Model("associative-memory", f"associative memory: {C} facts in a {d} x {d} matrix",
              source="Cabannes, Dohmatob and Bietti 2023")
    zipf = m.parameter("zipf", 1.0, "exponent of the facts' frequencies", low=0)
    W = m.weights("W", np.zeros((d, d)), "association matrix", axes=["output", "input"])
    x, fact = m.data(finite(inputs, np.arange(C), probability=np.arange(1.0, C + 1) ** -zipf))
    m.loss(cross_entropy(outputs @ (W @ x), fact), floor=1e-15)
    if d >= C:
        logits = outputs @ W @ inputs.T
        m.field("margin", (C * np.diag(logits) - logits.sum(axis=0)) / (C - 1), axes=["fact"],
                meaning="logit of the right fact less the mean of the others")
    m.event("halved", m.initial_loss / 2 - m.population, "the loss is half of what it was")
    m.figure = "loss; margin" if d >= C else "loss"
    m.end = 200
    return m


def frequencies(facts=8, zipf=1.0):
    p = np.arange(1.0, facts + 1) ** -zipf
    return p / p.sum()


def margins(time, facts=8, zipf=1.0):
    """Exact margins of all facts at a time, by Newton's method from above (the function is convex)."""
    target = 1 + facts * frequencies(facts, zipf) * time
    m = np.log(target)
    for _ in range(60):
        m = m - (np.exp(m) + (facts - 1) * m - target) / (np.exp(m) + facts - 1)
    return m
