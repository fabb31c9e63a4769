#!/usr/bin/python3
"""The right-hand side of scb in full coordinates in NumPy, tuned and as it reads.

usage: rhs_numpy.py [N] [T] [S]     prints the seconds of one evaluation (best of several) of each

Tuned: column sums by einsum (no temporaries), the attention's derivative in place in a
preallocated array by two fused passes, the support patched by index: no array of the attention's
size is allocated in the loop. As it reads: the equations with a dense Q, line by line.
"""

import sys
import time

import numpy as np


def main() -> None:
    N, T, S = (int(word) for word in (sys.argv[1:] + ["500", "100000", "3"][len(sys.argv) - 1:]))
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.full(N, 0.3), size=N).T
    mu = np.full(N, 1 / N)
    for _ in range(2000):
        mu = P @ mu
    mu /= mu.sum()
    positions = np.stack([rng.choice(T, S, replace=False) for _ in range(N)])
    rows = np.arange(N)[:, None]
    q = np.full((N, S), 1 / S)
    centred = P - (P @ mu)[:, None]

    V = mu[:, None] * np.ones((1, N))
    A = np.full((N, T), 1 / T)  # row k is the column a_k, contiguous
    dA = np.empty_like(A)

    def rhs():
        Vmu = V @ mu
        W = V - Vmu[:, None]
        PV = np.einsum("ij,ij,j->", W, centred, mu)
        VV = np.einsum("ij,ij,j->", W, W, mu)
        s = A.sum(axis=1)
        norm2 = np.einsum("ij,ij->i", A, A)
        qa = (A[rows, positions] * q).sum(axis=1)
        np.multiply(A, -VV, out=dA)
        dA[...] += ((VV * s - PV) / T)[:, None]
        dA[rows, positions] += PV * q
        c_q, c_2, c_s, c_ss = mu @ qa, mu @ norm2, mu @ s, mu @ s**2
        return c_q * centred - c_2 * V + (c_s * (P @ mu) + (c_2 - c_ss) * Vmu)[:, None]

    Q = np.zeros((N, T))
    Q[rows, positions] = q

    def rhs_as_it_reads():
        W = V - (V @ mu)[:, None]
        PV = np.trace(W.T @ centred @ np.diag(mu))
        VV = np.trace(W.T @ W @ np.diag(mu))
        pull = PV * Q - VV * A
        pull -= pull.mean(axis=1, keepdims=True)
        c_q, c_2 = mu @ (Q * A).sum(axis=1), mu @ (A**2).sum(axis=1)
        c_s, c_ss = mu @ A.sum(axis=1), mu @ A.sum(axis=1)**2
        mean = V @ mu
        return (c_q * centred - c_2 * W + (c_s * (P @ mu) - c_ss * mean)[:, None], pull)

    for function in (rhs, rhs_as_it_reads):
        function()
        best = float("inf")
        for _ in range(5):
            begin = time.perf_counter()
            function()
            best = min(best, time.perf_counter() - begin)
        print(f"{best:.4f}")


if __name__ == "__main__":
    main()
