"""Soft committee machine, learning online: its order parameters.

Saad and Solla, Online learning in soft committee machines (1995). Student and teacher have two hidden
units each with g(z) = erf(z / sqrt(2)); inputs are standard normal vectors of dimension N. Q is the
students' overlap matrix, R that of students and teachers, T that of teachers. Time is the number of
examples over N. The learning rate is eta / N, so that the equations contain eta. Sampled training moves
the students' weights J for inputs of a finite size N, at popflow's learning rate 1 / N.
"""

import numpy as np

from popflow.model import Model, erf, normal

K = M = 2
LARGEST = 40  # entries of the weights; for a smaller N, inputs are 0 from entry N on
T = np.eye(M)
Q0, R0 = np.array([[0.2, 0.01], [0.01, 0.3]]), np.array([[0.02, 0.0], [0.0, 0.03]])  # the start


def unit(z):
    """g(z)."""
    return erf(z / np.sqrt(2))


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


def students():
    """Weights with the overlaps Q0 and R0: along the teachers, and along directions orthogonal to them."""
    beside = np.linalg.cholesky(Q0 - R0 @ R0.T)
    return R0 @ np.eye(M, LARGEST) + beside @ np.eye(K, LARGEST, M)


def model():
    m = Model("committee", "soft committee machine online: order parameters",
              source="Saad and Solla 1995")
    eta = m.parameter("eta", 1.0, "learning rate times N", low=0)
    N = m.parameter("inputs", LARGEST, "N of sampled training", low=K + M, high=LARGEST)
    near = m.parameter("near", 0.0, "start, from the students J0 (0) to the teachers (1)", low=0, high=1)
    Q = m.weights("Q", (1 - near) ** 2 * Q0 + near * (1 - near) * (R0 + R0.T) + near**2 * T,
                  "overlaps of students", axes=("unit", "other"))
    R = m.weights("R", (1 - near) * R0 + near * T, "overlaps of students and teachers",
                  axes=("unit", "teacher"))
    dQ, dR = rates(Q, R, eta)
    m.rate(Q, dQ)
    m.rate(R, dR)
    m.observable("loss", error(Q, R), "generalisation error", sign="eps")
    m.figure = "loss; R; Q"
    m.end = 50

    online = m.training(limit="the flow is the limit of large N, at the learning rate 1 / N")
    B = np.eye(M, LARGEST)
    J = online.weights("J", (1 - near) * students() + near * B, "students", axes=("unit", "input"))
    x = online.data(normal(LARGEST)) * (np.arange(LARGEST) < N)
    online.loss((unit(B @ x).sum() - unit(J @ x).sum()) ** 2 / 2)
    online.population_loss(error(J @ J.T, J @ B.T))
    online.precondition(J, lambda v: eta * v)
    return m
