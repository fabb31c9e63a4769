"""Low-rank adaptation: a fixed matrix plus a product B A learns another matrix.

Hu et al., LoRA (2021). Inputs x are standard normal of dimension d. The fixed matrix is W0, the target
W0 + D, where D has the singular values MODES; B begins at zero. The flow conserves A A^T - B^T B, and B A
ends at the best approximation of D of rank RANK (Eckart and Young).
"""

import numpy as np
from scipy.integrate import quad

from popflow.model import Model, normal

DIMENSION, OUTPUTS, RANK = 200, 4, 2
MODES = np.array([2.0, 1.4, 0.8, 0.3])


def model():
    rng = np.random.default_rng(1)
    left, right = (np.linalg.qr(rng.normal(size=(n, OUTPUTS)))[0] for n in (OUTPUTS, DIMENSION))
    W0 = rng.normal(size=(OUTPUTS, DIMENSION)) / np.sqrt(DIMENSION)
    target = W0 + left * MODES @ right.T
    m = Model("low-rank", "low-rank adaptation of a matrix", source="Hu et al. 2021")
    size = m.parameter("size", 0.3, "norm of each row of A at the start", low=0)
    aligned = m.parameter("aligned", 0.0, "start of A, from random (0) to the first modes (1)", low=0, high=1)
    random = np.linalg.qr(rng.normal(size=(DIMENSION, RANK)))[0].T
    A = m.weights("A", size * ((1 - aligned) * random + aligned * right[:, :RANK].T), "rows of inputs")
    B = m.weights("B", np.zeros((OUTPUTS, RANK)), "columns of outputs")
    x = m.data(normal(DIMENSION))
    m.loss(((W0 @ x + B @ (A @ x) - target @ x) ** 2).sum() / 2, floor=1e-14)
    m.invariant("balance", A @ A.T - B.T @ B, "A A^T - B^T B")
    m.field("modes", (left.T @ B) @ (A @ right), "B A between the modes of the target")
    m.figure = "loss; modes"
    m.end = 30
    return m


def time_of(product, mode, size=0.3):
    """The time at which an aligned start has learned this part of a mode: p' = (mode - p) (a^2 + b^2) for
    p = a b, with a^2 - b^2 conserved."""
    return quad(lambda p: 1 / ((mode - p) * np.sqrt(size**4 + 4 * p * p)), 0, product, epsabs=1e-12)[0]
