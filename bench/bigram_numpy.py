"""A drawn problem of the sparse contextual bigram in NumPy, for the timings of NumPy forms."""

import numpy as np


class Bigram:
    """N units, T positions of which a query attends to S, uniformly; P[:, j] follows unit j."""

    def __init__(self, N: int, T: int, S: int):
        rng = np.random.default_rng(1)
        self.P = rng.dirichlet(np.full(N, 0.3), size=N).T
        mu = np.full(N, 1 / N)
        for _ in range(2000):
            mu = self.P @ mu
        self.mu = mu / mu.sum()
        self.positions = np.stack([rng.choice(T, S, replace=False) for _ in range(N)])
        self.rows = np.arange(N)[:, None]
        self.q = np.full((N, S), 1 / S)
        self.centred = self.P - (self.P @ self.mu)[:, None]
        self.V = self.mu[:, None] * np.ones((1, N))
        self.A = np.full((N, T), 1 / T)  # row k is the column a_k, contiguous


def sizes(words):
    """N, T and S of a command line, the largest of the paper's by default."""
    return (int(word) for word in words + ["500", "100000", "3"][len(words):])
