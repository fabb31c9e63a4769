"""Soft committee machine, learning online.

Saad and Solla, Online learning in soft committee machines (1995). Student and teacher have two hidden
units each with g(z) = erf(z / sqrt(2)); inputs are standard normal vectors of dimension N. The learning
rate is gamma / N, and time is the number of examples over N. From the loss follow the equations of the
limit of many dimensions for J_J, the students' overlap matrix (Q in the paper), and J_fixed, that of
students and teachers (R). Sampled training moves the students' weights J in N dimensions, at popflow's
learning rate 1 / N.
"""

import numpy as np

from popflow.model import Model, erf, normal

Q0, R0 = np.array([[0.2, 0.01], [0.01, 0.3]]), np.array([[0.02, 0.0], [0.0, 0.03]])  # the start


def unit(z):
    """g(z)."""
    return erf(z / np.sqrt(2))


def committee(N):
    m = Model("committee", "soft committee machine online", source="Saad and Solla 1995")
    near = m.parameter("near", 0.0, "start, from the students J0 (0) to the teachers (1)", low=0, high=1)
    teachers = np.eye(2, N)
    J0 = R0 @ teachers + np.linalg.cholesky(Q0 - R0 @ R0.T) @ np.eye(2, N, 2)
    J = m.weights("J", (1 - near) * J0 + near * teachers, "students", axes=("unit", "input"))
    x = m.data(normal(N))
    m.loss((unit(teachers @ x).sum() - unit(J @ x).sum()) ** 2 / 2)
    m.end = 50
    return m


def model(N=40):
    """The limit of many dimensions, with sampled training in N dimensions."""
    m = committee(N).high_dimension()
    m.figure = "loss; J_fixed; J_J"
    return m
