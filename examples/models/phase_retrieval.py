"""Phase retrieval: a student learns a direction, up to its sign, from squares.

The loss is ((w x)^2 - (t x)^2)^2 / 4 for standard normal inputs x of dimension d and a teacher t of norm
1. From it follows the limit of one-pass SGD at the learning rate gamma / d: w_w is the squared norm of
the student, w_fixed its overlap with the teacher. At an overlap of 0 the teacher is invisible, so that a
start of overlap 1 / sqrt(d) takes a time that grows as log d.
"""

import numpy as np

from popflow.model import Model, normal


def phase_retrieval(d):
    m = Model("phase-retrieval", "a student learns a direction from squares", source="Collins-Woodfin et al. 2023")
    size = m.parameter("size", 1.0, "squared norm of the student at the start", low=0)
    dimension = m.parameter("dimension", 1e4, "start of the overlap with the teacher: 1/sqrt(dimension)", low=1)
    teacher, beside = np.eye(2, d)
    w = m.weights("w", dimension**-0.5 * teacher + np.sqrt(size - 1 / dimension) * beside, "student")
    x = m.data(normal(d))
    m.loss(((w @ x) ** 2 - (teacher @ x) ** 2) ** 2 / 4)
    m.event("recovered", m.overlap(w, teacher) - 0.5, "the overlap with the teacher exceeds 1/2")
    m.end = 50
    return m


def model(d=200):
    """The limit of many dimensions, with sampled training in d dimensions."""
    m = phase_retrieval(d).high_dimension()
    m.figure = "loss; w_fixed; w_w"
    return m


def escape(gamma):
    """The rate at which a small overlap grows: the squared norm has come to rest before."""
    size = np.roots([15 * gamma, -6 * gamma - 6, 3 * gamma + 2]).min()
    return 3 * gamma * (1 - size)
