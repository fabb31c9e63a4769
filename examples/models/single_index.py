"""Single-index models: one neuron on the sphere learns a direction from the first moment that shows it.

Ben Arous, Gheissari and Jagannath, Online stochastic gradient descent on non-convex losses from
high-dimensional inference (2021). Inputs x are standard normal, the label is h(t x) with the Hermite
polynomial h of degree k, the information exponent, and the loss is 1 - h(w x) h(t x) / k!. Its mean is
1 - m^k for the overlap m of student w and teacher t, both of norm 1. A start of overlap 1 / sqrt(d) takes
a time of order 1 for k = 1, log d for k = 2 and sqrt(d) for k = 3.
"""

import numpy as np

from popflow.model import Model, normal


def hermite(z):
    return {1: z, 2: (z * z - 1) / np.sqrt(2), 3: (z * z * z - 3 * z) / np.sqrt(6)}


def single_index(d=200):
    m = Model("single-index", "a neuron on the sphere", source="Ben Arous, Gheissari, Jagannath 2021")
    k = m.parameter("exponent", 2.0, "information exponent: 1, 2 or 3", low=1, high=3)
    dimension = m.parameter("dimension", 1e4, "start of the overlap with the teacher: 1/sqrt(dimension)", low=1)
    teacher, beside = np.eye(2, d)
    w = m.weights("w", dimension**-0.5 * teacher + np.sqrt(1 - 1 / dimension) * beside, "student")
    m.sphere(w)
    x = m.data(normal(d))
    student, label = hermite(w @ x), hermite(teacher @ x)
    m.loss(1 - sum(np.where(k == j, 1, 0) * student[j] * label[j] for j in student))
    m.observable("overlap", w @ teacher, "overlap of student and teacher")
    m.event("recovered", w @ teacher - 0.5, "the overlap exceeds 1/2")
    m.end = 20
    return m


def model():
    """The same flow in the overlaps, whatever the dimension."""
    return single_index().overlaps()


def time_of(m, k):
    """The primitive of the time, since dm/dt = k m^(k-1) (1 - m^2)."""
    return {1: np.arctanh(m), 2: np.log(m * m / (1 - m * m)) / 4, 3: (np.arctanh(m) - 1 / m) / 3}[k]


def exit_time(dimension, k):
    """The time at which the overlap is 1/2."""
    return time_of(0.5, k) - time_of(dimension**-0.5, k)
