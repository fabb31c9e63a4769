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

from bigram_numpy import Bigram, sizes


def main() -> None:
    N, T, S = sizes(sys.argv[1:])
    problem = Bigram(N, T, S)
    P, mu, centred = problem.P, problem.mu, problem.centred
    positions, rows, q = problem.positions, problem.rows, problem.q
    V, A = problem.V, problem.A

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
