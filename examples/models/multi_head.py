"""Linear attention with H heads that learns regression in context; keys and queries merged or separate.

Zhang, Singh, Latham and Saxe, Training dynamics of in-context learning in linear attention (2025).
A prompt has a task w ~ N(0, I), N pairs of x_n ~ N(0, Lambda) and y_n = w'x_n, and a query x. Head h
predicts u_h s'U_h x with s = sum_n y_n x_n / N. Merged heads train U_h; separate heads of rank R train
U_h = K_h'Q_h with R keys and queries. The loss depends on A = sum_h u_h U_h only: with
gamma_i = lambda_i (1 + 1/N) + tr(Lambda)/N,

    L = tr(Lambda)/2 - sum_i lambda_i^2/(2 gamma_i) + sum_ij gamma_i lambda_i lambda_j (A - B)_ij^2 / 2,
    B = diag(1/gamma_i).

At A = diag(1/gamma_i for i in S, else 0) the loss has a plateau for each set S of learned directions.
"""

import numpy as np

from popflow.model import Model, normal

EIGENVALUES, PAIRS = (1.0, 0.5, 0.25), 20


def curvature(eigenvalues, pairs):
    lam = np.array(eigenvalues)
    return lam, lam * (1 + 1 / pairs) + lam.sum() / pairs


def plateau(learned, eigenvalues=EIGENVALUES, pairs=PAIRS):
    """Loss once the directions of the `learned` largest eigenvalues are learned."""
    lam, gamma = curvature(eigenvalues, pairs)
    return lam.sum() / 2 - (lam**2 / (2 * gamma))[:learned].sum()


def start(heads, rank=None, size=0.01, eigenvalues=EIGENVALUES, seed=3):
    """Random weights: u and U of merged heads, u, K and Q of separate heads."""
    rng, D = np.random.default_rng(seed), len(eigenvalues)
    shapes = [(heads,), (heads * D, D)] if rank is None else [(heads,), *[(heads * rank, D)] * 2]
    return [size * rng.normal(size=shape) for shape in shapes]


def model(weights, rank=None, eigenvalues=EIGENVALUES, pairs=PAIRS):
    """Merged heads from the start [u, U]; separate heads of a rank from [u, K, Q]."""
    lam, gamma = curvature(eigenvalues, pairs)
    D, H = len(lam), len(weights[0])
    kind = "merged" if rank is None else f"rank {rank}"
    m = Model(f"multi-head-{kind.replace(' ', '-')}", f"linear attention with heads of {kind}: {H}",
              source="Zhang, Singh, Latham and Saxe 2025")
    u = m.weights("u", weights[0], "values of the heads", axes=["head"])
    if rank is None:
        U = m.weights("U", weights[1], "keys times queries, head below head")
        A = sum(u[h] * U[h * D:(h + 1) * D] for h in range(H))
        squares = [(U[h * D:(h + 1) * D] ** 2).sum() for h in range(H)]
    else:
        K, Q = (m.weights(name, values, f"{what} of the heads", axes=["row", "direction"])
                for name, values, what in zip("KQ", weights[1:], ("keys", "queries")))
        A = K.T @ (u[np.repeat(np.arange(H), rank)].reshape(-1, 1) * Q)
        squares = [(K[h * rank:(h + 1) * rank] ** 2).sum() for h in range(H)]
        m.invariant("keys_queries", (K**2).sum(axis=1) - (Q**2).sum(axis=1), "|key|^2 - |query|^2")
    m.invariant("balance", u**2 - np.stack(squares), "u^2 - |U|^2 of merged heads, else u^2 - |K|^2")
    m.field("A", A, "effective matrix")
    w, x, query = m.data(normal(D), normal((pairs, D)), normal(D))
    x, query = x * np.sqrt(lam), query * np.sqrt(lam)
    m.loss(((x @ w) @ (x @ (A @ query)) / pairs - w @ query) ** 2 / 2)
    m.population_loss(plateau(D, eigenvalues, pairs) + (np.outer(gamma * lam, lam)
                      * (A - np.diag(1 / gamma)) ** 2).sum() / 2)
    m.figure = "loss; A"
    m.end = 100
    return m
