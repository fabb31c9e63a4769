"""Euler steps of `scb` in full coordinates in NumPy, without and with isotropic noise.

Written as a careful user would: in place, row by row to stay in the cache, with one thread per core (NumPy
releases the interpreter's lock). Each thread has its own generator (SFC64, NumPy's fastest)."""

import concurrent.futures
import os

import numpy as np
import peer
import scb

CORES = len(os.sched_getaffinity(0))


class Stepper:
    def __init__(self, problem, noisy, seed=1):
        self.problem, self.noisy = problem, noisy
        self.V, self.A = problem.V.copy(), problem.A.copy()
        self.generators = [np.random.Generator(np.random.SFC64([seed, i])) for i in range(CORES)]
        self.rooms = [np.empty(problem.T) for _ in range(CORES)]
        self.s, self.norm2, self.qa = np.empty((3, problem.N))
        self.pool = concurrent.futures.ThreadPoolExecutor(CORES)

    def rows(self, i, PV, VV):
        p, noise, h = self.problem, self.rooms[i], self.problem.h
        for k in range(p.N * i // CORES, p.N * (i + 1) // CORES):
            a, positions = self.A[k], p.positions[k]
            s = a.sum()
            self.s[k], self.norm2[k], self.qa[k] = s, a @ a, a[positions] @ p.q[k]
            shift = h * (VV * s - PV) / p.T
            a *= 1 - h * VV
            if self.noisy:
                self.generators[i].standard_normal(out=noise)
                noise *= p.noise
                noise += shift - noise.mean()
                a += noise
            else:
                a += shift
            a[positions] += h * PV * p.q[k]

    def step(self):
        p, V, mu = self.problem, self.V, self.problem.mu
        V_mu = V @ mu
        W = V - V_mu[:, None]
        PV, VV = ((W * other) @ mu for other in (p.centred, W))
        PV, VV = PV.sum(), VV.sum()
        list(self.pool.map(lambda i: self.rows(i, PV, VV), range(CORES)))
        c_q, c_2, c_s, c_ss = mu @ self.qa, mu @ self.norm2, mu @ self.s, mu @ self.s**2
        V += p.h * (c_q * p.centred - c_2 * V + (c_s * p.P_mu + (c_2 - c_ss) * V_mu)[:, None])
        if self.noisy:
            noise = p.noise * self.generators[0].standard_normal(V.shape)
            V += noise - noise.mean(axis=0)

    def run(self, steps):
        for _ in range(steps):
            self.step()
        return self.V, self.A


peer.main({"euler": scb.euler(Stepper, "numpy", noisy=False),
           "isotropic": scb.euler(Stepper, "numpy", noisy=True)})
