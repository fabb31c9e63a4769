"""Soft committee machine, learning online: its order parameters.

Saad and Solla, Online learning in soft committee machines (1995). Student and teacher have two hidden
units each with g(z) = erf(z / sqrt(2)); inputs are standard normal vectors of dimension N. Q is the
students' overlap matrix, R that of students and teachers, T that of teachers. Time is the number of
examples over N. The learning rate is eta / N, so that the equations contain eta.
"""

import numpy as np
from scipy.special import erf

from popflow.model import Model

K = M = 2
T = np.eye(M)
Q0, R0 = np.array([[0.2, 0.01], [0.01, 0.3]]), np.array([[0.02, 0.0], [0.0, 0.03]])  # the start


def overlap(a, b, c):
    """<g(u) g(v)> for normal u, v with variances a, b and covariance c."""
    return 2 / np.pi * np.arcsin(c / np.sqrt((1 + a) * (1 + b)))


def mean_of_three(c11, c33, c12, c13, c23):
    """<g'(u) v g(w)>."""
    root = np.sqrt((1 + c11) * (1 + c33) - c13 * c13)
    return 2 / np.pi / root * (c23 * (1 + c11) - c12 * c13) / (1 + c11)


def mean_of_four(c11, c22, c33, c44, c12, c13, c14, c23, c24, c34):
    """<g'(u) g'(v) g(w) g(z)>."""
    l4 = (1 + c11) * (1 + c22) - c12 * c12
    l0 = (l4 * c34 - c23 * c24 * (1 + c11) - c13 * c14 * (1 + c22)
          + c12 * c13 * c24 + c12 * c14 * c23)
    l1 = l4 * (1 + c33) - c23 * c23 * (1 + c11) - c13 * c13 * (1 + c22) + 2 * c12 * c13 * c23
    l2 = l4 * (1 + c44) - c24 * c24 * (1 + c11) - c14 * c14 * (1 + c22) + 2 * c12 * c14 * c24
    return 4 / np.pi**2 / np.sqrt(l4) * np.arcsin(l0 / np.sqrt(l1 * l2))


def rates(Q, R, eta):
    """dQ/dt and dR/dt, as nested lists."""
    def covariance(a, b):
        (kind_a, i), (kind_b, j) = a, b
        if kind_a == kind_b:
            return Q[i, j] if kind_a == "x" else T[i, j]
        return R[i, j] if kind_a == "x" else R[j, i]

    students, teachers = [("x", i) for i in range(K)], [("y", n) for n in range(M)]
    units = [(1.0, y) for y in teachers] + [(-1.0, x) for x in students]

    def three(i, v):
        return sum(sign * mean_of_three(covariance(i, i), covariance(w, w), covariance(i, v),
                                        covariance(i, w), covariance(v, w)) for sign, w in units)

    def four(i, k):
        c = covariance
        return sum(s * z * mean_of_four(c(i, i), c(k, k), c(w, w), c(v, v), c(i, k), c(i, w),
                                        c(i, v), c(k, w), c(k, v), c(w, v))
                   for s, w in units for z, v in units)

    dQ = [[eta * (three(i, k) + three(k, i)) + eta**2 * four(i, k) for k in students]
          for i in students]
    dR = [[eta * three(i, y) for y in teachers] for i in students]
    return dQ, dR


def error(Q, R):
    """Generalisation error, half the mean squared difference."""
    return (sum(overlap(Q[i, i], Q[k, k], Q[i, k]) for i in range(K) for k in range(K))
            + sum(overlap(T[n, n], T[m, m], T[n, m]) for n in range(M) for m in range(M))
            - 2 * sum(overlap(Q[i, i], T[n, n], R[i, n]) for i in range(K) for n in range(M))) / 2


def model(start_q=Q0, start_r=R0):
    m = Model("committee", "soft committee machine online: order parameters",
              source="Saad and Solla 1995")
    eta = m.parameter("eta", 1.0, "learning rate times N", low=0)
    Q = m.weights("Q", start_q, "overlaps of students", axes=("unit", "other"))
    R = m.weights("R", start_r, "overlaps of students and teachers", axes=("unit", "teacher"))
    dQ, dR = rates(Q, R, eta)
    m.rate(Q, dQ)
    m.rate(R, dR)
    m.observable("error", error(Q, R), "generalisation error", sign="eps")
    m.figure = "error; R; Q"
    m.end = 50
    return m


def simulated(size, runs, times, eta=1.0, seed=0):
    """Returns Q and R (eight numbers a run) at `times`, of online SGD on the weights of inputs of
    finite size N. All runs start from the exact Q and R of the model."""
    rng = np.random.default_rng(seed)
    B = np.eye(M, size)
    frame = np.eye(K, size, M)  # orthonormal, and orthogonal to the teachers
    J = np.tile(R0 @ B + np.linalg.cholesky(Q0 - R0 @ R0.T) @ frame, (runs, 1, 1))
    found, steps = [], [int(round(time * size)) for time in times]
    for step in range(steps[-1] + 1):
        if step in steps:
            found.append(np.concatenate([(J @ J.swapaxes(1, 2)).reshape(runs, -1),
                                         (J @ B.T).reshape(runs, -1)], axis=1))
        x = rng.normal(size=(runs, size))
        h, y = np.einsum("rkn,rn->rk", J, x), x @ B.T
        delta = (erf(y / np.sqrt(2)).sum(axis=1) - erf(h / np.sqrt(2)).sum(axis=1))[:, None]
        delta = delta * np.sqrt(2 / np.pi) * np.exp(-h * h / 2)
        J += eta / size * delta[:, :, None] * x[:, None]
    return np.array(found)
