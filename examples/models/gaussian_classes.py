"""Two classes of normal data, told apart by logistic regression.

Inputs are y mu + z with labels y = 1 or -1 and standard normal z of dimension d. The loss sees z through
w z alone, but no closed form of its mean is known: population_loss() gives it as a sum over points of the
normal density. Best are w = 2 mu and an offset that is the log of the classes' odds; the share of right
labels is then that of Bayes.
"""

import numpy as np
from scipy.special import ndtr

from popflow.model import Model, erf, finite, logistic_loss, normal

DIMENSION = 70
# Equidistant points of the normal density: errors fall as exp(-2 pi a / step) for functions that are
# analytic up to the distance a from the real line, here pi / |w|: 7e-8 at |w| = 2.
POINTS = np.arange(-12, 13) * 0.6
DENSITY = np.exp(-POINTS**2 / 2) / np.exp(-POINTS**2 / 2).sum()


def model():
    m = Model("gaussian-classes", "logistic regression of two normal classes")
    apart = m.parameter("apart", 1.0, "norm of mu", low=0, high=1)
    share = m.parameter("share", 0.3, "probability of the class 1", low=0, high=1)
    direction = np.ones(DIMENSION) / np.sqrt(DIMENSION)
    w = m.weights("w", np.zeros(DIMENSION), "weights")
    b = m.weights("b", 0.0, "offset")
    y, z = m.data(finite(np.array([1.0, -1.0]), probability=np.stack([share, 1 - share])), normal(DIMENSION))
    m.loss(logistic_loss(y * (w @ (y * apart * direction + z) + b)))
    along, spread = apart * (w @ direction), np.sqrt(w @ w)
    m.population_loss(sum(chance * DENSITY @ logistic_loss(along + label * b + spread * POINTS)
                          for label, chance in ((1.0, share), (-1.0, 1 - share))))
    margin = spread * np.sqrt(2)
    m.observable("accuracy", 0.5 + sum(chance * erf((along + label * b) / margin) / 2
                                       for label, chance in ((1.0, share), (-1.0, 1 - share))),
                 "share of right labels")
    m.field("alignment", w @ direction, "part of w along mu")
    m.figure = "loss; accuracy; alignment; b"
    m.end = 200
    return m


def bayes(apart, share):
    """The offset and the share of right labels of the best classifier."""
    odds = np.log(share / (1 - share))
    return odds, sum(chance * ndtr(apart + label * odds / (2 * apart))
                     for label, chance in ((1, share), (-1, 1 - share)))
