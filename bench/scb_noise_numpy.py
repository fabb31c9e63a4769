#!/usr/bin/python3
"""One Euler step of scb in full coordinates with isotropic noise, in NumPy.

usage: scb_noise_numpy.py [N] [T] [S]     prints the seconds of a step, best of several, of each form

A step is x <- x + h f(x) + c (I - 11'/T) xi: the population gradient, and Gaussian noise projected
on the columns' sums. Three forms, each tuned; the attention's rows here are the columns a_k.

  whole     one thread, whole arrays in place, no array of the attention's size allocated
  rows      one thread, a row at a time, so that normals and noise stay in the cache
  threads   rows, shared among as many threads as there are cores, each with a generator of its own
            (NumPy releases the interpreter's lock in all calls on a row)

The generator is SFC64, the fastest that NumPy has; normals are NumPy's own ziggurat.
"""

import concurrent.futures
import os
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
    h, c = 1e-3, 1e-6

    cores = os.cpu_count() or 1
    generators = [np.random.Generator(np.random.SFC64(seed)) for seed in range(cores)]
    generator = generators[0]

    def coupling():
        W = V - (V @ mu)[:, None]
        return np.einsum("ij,ij,j->", W, centred, mu), np.einsum("ij,ij,j->", W, W, mu)

    def step_of_V(s, norm2, qa):
        c_q, c_2, c_s, c_ss = mu @ qa, mu @ norm2, mu @ s, mu @ s**2
        change = h * (c_q * centred - c_2 * V + (c_s * (P @ mu) + (c_2 - c_ss) * (V @ mu))[:, None])
        noise = generator.standard_normal((N, N))
        V[...] += change + c * (noise - noise.mean(axis=0))

    whole_noise = None

    def whole():
        nonlocal whole_noise
        if whole_noise is None:
            whole_noise = np.empty_like(A)
        PV, VV = coupling()
        s = A.sum(axis=1)
        norm2 = np.einsum("ij,ij->i", A, A)
        qa = (A[rows, positions] * q).sum(axis=1)
        generator.standard_normal(out=whole_noise)
        mean = whole_noise.mean(axis=1)
        np.multiply(whole_noise, c, out=whole_noise)
        np.multiply(A, 1 - h * VV, out=A)
        whole_noise += (h * (VV * s - PV) / T - c * mean)[:, None]
        np.add(A, whole_noise, out=A)
        A[rows, positions] += h * PV * q
        step_of_V(s, norm2, qa)

    s, norm2, qa = np.empty(N), np.empty(N), np.empty(N)

    def stretch(generator, noise, begin, end, PV, VV):
        for k in range(begin, end):
            a = A[k]
            s[k] = a.sum()
            norm2[k] = a @ a
            qa[k] = a[positions[k]] @ q[k]
            generator.standard_normal(out=noise)
            mean = noise.mean()
            noise *= c
            noise += h * (VV * s[k] - PV) / T - c * mean
            a *= 1 - h * VV
            a += noise
            a[positions[k]] += h * PV * q[k]

    buffers = [np.empty(T) for _ in range(cores)]

    def by_rows():
        PV, VV = coupling()
        stretch(generator, buffers[0], 0, N, PV, VV)
        step_of_V(s, norm2, qa)

    pool = concurrent.futures.ThreadPoolExecutor(cores)

    def threads():
        PV, VV = coupling()
        bounds = [N * i // cores for i in range(cores + 1)]
        list(pool.map(lambda i: stretch(generators[i], buffers[i], bounds[i], bounds[i + 1], PV, VV),
                      range(cores)))
        step_of_V(s, norm2, qa)

    for name, function in (("whole", whole), ("rows", by_rows), ("threads", threads)):
        function()
        best = float("inf")
        for _ in range(4):
            begin = time.perf_counter()
            function()
            best = min(best, time.perf_counter() - begin)
        print(f"{name} {best:.4f}", flush=True)


if __name__ == "__main__":
    main()
