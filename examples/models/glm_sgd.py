"""Streaming SGD of generalised linear models in high dimension: least squares and phase retrieval.

Collins-Woodfin, Paquette, Paquette and Seroussi, Hitting the high-dimensional notes (2023). Inputs are
standard normal vectors of dimension d, the learning rate is gamma / d, and time is the number of
examples over d. The order parameters close for d to infinity.
"""

import numpy as np

from popflow.model import Model


def least_squares():
    """D = |theta - theta*|^2 of the loss (x theta - y)^2 / 2 with label noise sigma."""
    m = Model("glm-least-squares", "streaming SGD of least squares in high dimension",
              source="Collins-Woodfin et al. 2023")
    gamma = m.parameter("gamma", 0.5, "learning rate times d; stable below 2", low=0)
    sigma = m.parameter("sigma", 0.1, "label noise", low=0)
    D = m.weights("D", 1.0, "squared distance from the teacher")
    m.rate(D, -2 * gamma * D + gamma**2 * (D + sigma**2))
    m.observable("risk", (D + sigma**2) / 2, "mean loss of a fresh example", floor=1e-16)
    m.end = 10
    return m


def exact_distance(time, gamma=0.5, sigma=0.1):
    limit = gamma * sigma**2 / (2 - gamma)
    return limit + (1 - limit) * np.exp(-gamma * (2 - gamma) * np.asarray(time))


def phase_retrieval():
    """rho = |theta|^2 and overlap = theta theta* of the loss ((x theta)^2 - (x theta*)^2)^2 / 4."""
    m = Model("glm-phase-retrieval", "streaming SGD of phase retrieval in high dimension",
              source="Collins-Woodfin et al. 2023")
    gamma = m.parameter("gamma", 0.05, "learning rate times d", low=0)
    rho = m.weights("rho", 0.5, "squared norm of the student")
    q = m.weights("overlap", 0.2, "overlap of student and teacher")
    m.rate(rho, -2 * gamma * (3 * rho**2 - rho - 2 * q**2)
           + gamma**2 * (15 * rho**3 - 6 * rho**2 - 24 * rho * q**2 + 3 * rho + 12 * q**2))
    m.rate(q, -3 * gamma * q * (rho - 1))
    m.observable("risk", (3 * rho**2 + 3 - 2 * rho - 4 * q**2) / 4, "mean loss", floor=1e-16)
    m.end = 50
    return m


def simulated(size, time, gamma, seed):
    """rho and the overlap of SGD for phase retrieval in a finite dimension."""
    rng = np.random.default_rng(seed)
    theta = np.zeros(size)
    theta[0], theta[1] = 0.2, np.sqrt(0.5 - 0.2**2)
    for _ in range(int(round(time * size))):
        x = rng.normal(size=size)
        a = x @ theta
        theta -= gamma / size * (a * a - x[0] ** 2) * a * x
    return theta @ theta, theta[0]
