"""The equations of Saad and Solla (1995) for committees of two students and two teachers, written by hand.

Q is the students' overlap matrix, R that of students and teachers, and the teachers are orthonormal. The checks
and the tests compare the equations that popflow derives from the loss with these.
"""

import numpy as np
from scipy.integrate import solve_ivp

K = M = 2
T = np.eye(M)


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


def integrated(Q0, R0, eta, times):
    """Q and R at these times, for a start at time 0."""
    def rate(_, y):
        return np.ravel(rates(y[:4].reshape(2, 2), y[4:].reshape(2, 2), eta))

    found = solve_ivp(rate, (0, times[-1]), np.r_[Q0.ravel(), R0.ravel()], "DOP853", times, rtol=1e-12, atol=1e-14)
    return found.y[:4].T.reshape(-1, 2, 2), found.y[4:].T.reshape(-1, 2, 2)
