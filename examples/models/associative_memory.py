"""Associative memory: C facts in a d x d matrix, cross-entropy, frequencies by Zipf's law.

Cabannes, Dohmatob and Bietti, Scaling laws for associative memories (2023). With orthonormal
embeddings and W = 0 at the start the facts are learnt one by one: the margin of fact k obeys
e^m + (C - 1) m = 1 + C p_k t.
"""

import numpy as np
from scipy.optimize import brentq

from popflow.model import Model, cross_entropy, finite

C = 8


def model():
    m = Model("associative-memory", "associative memory: C facts in a d x d matrix",
              source="Cabannes, Dohmatob and Bietti 2023")
    zipf = m.parameter("zipf", 1.0, "exponent of the facts' frequencies", low=0)
    W = m.weights("W", np.zeros((C, C)), "association matrix")
    frequency = np.arange(1.0, C + 1) ** -zipf
    x, fact = m.data(finite(np.eye(C), np.arange(C), probability=frequency))
    m.loss(cross_entropy(W @ x, fact), floor=1e-15)
    others = np.ones((C, C)) - np.eye(C)
    m.field("margin", np.diag(W) - (others * W).sum(axis=0) / (C - 1),
            "logit of the right fact less the mean of the others, fact by fact")
    m.event("halved", m.initial_loss / 2 - m.population, "the loss is half of what it was")
    m.figure = "loss; margin"
    m.end = 200
    return m


def exact_margin(time, zipf=1.0):
    """The margins of all facts at a time."""
    p = np.arange(1.0, C + 1) ** -zipf
    p /= p.sum()
    return np.array([brentq(lambda m: np.exp(m) + (C - 1) * m - 1 - C * pk * time, 0, 50)
                     for pk in p])


def check(run):
    """The largest error of the margins of a run."""
    return max(np.abs(exact_margin(float(t)) - run.margin.sel(time=t).values).max()
               for t in run.time)
