"""Streaming SGD of generalised linear models in high dimension: least squares and phase retrieval.

Collins-Woodfin, Paquette, Paquette and Seroussi, Hitting the high-dimensional notes (2023). Inputs are
standard normal vectors of dimension d, the learning rate is gamma / d, and time is the number of
examples over d. For d to infinity the order parameters below obey equations of their own, and do not
fluctuate. In finite d their fluctuations are of order 1/sqrt(d): noise at the learning rate 1/d of the
SDE. The teacher has norm 1.
"""

import numpy as np
from scipy.linalg import expm

from popflow.model import Model


def least_squares():
    """D = |theta - theta*|^2 of the loss (x theta - y)^2 / 2 with label noise sigma."""
    m = Model("glm-least-squares", "streaming SGD of least squares in high dimension",
              source="Collins-Woodfin et al. 2023")
    gamma = m.parameter("gamma", 0.5, "learning rate times d; stable below 2", low=0)
    sigma = m.parameter("sigma", 0.1, "label noise", low=0)
    D = m.weights("D", 1.0, "squared distance from the teacher")
    m.rate(D, -2 * gamma * D + gamma**2 * (D + sigma**2))
    m.noise(covariance=spread(D, gamma, sigma))
    m.observable("risk", (D + sigma**2) / 2, "mean loss of a fresh example", floor=1e-16)
    m.end = 10
    return m


def spread(D, gamma, sigma):
    """Variance of d times the change of D by an example, -2 gamma r s + gamma^2 s^2 for the normal
    numbers r = x (theta - theta*) with variance D and s = r + label noise."""
    S = D + sigma**2
    return 4 * gamma**2 * D * (S + D) - 8 * gamma**3 * D * S + 2 * gamma**4 * S**2


def exact_distance(time, gamma=0.5, sigma=0.1):
    limit = gamma * sigma**2 / (2 - gamma)
    return limit + (1 - limit) * np.exp(-gamma * (2 - gamma) * np.asarray(time))


def exact_spread(time, size, gamma=0.5, sigma=0.1):
    """Standard deviation of D by the SDE: drift a D + b and variance (spread) are polynomials of D, so that
    the moments obey linear equations."""
    a, b = -2 * gamma + gamma**2, gamma**2 * sigma**2
    points = np.array([0.0, 1.0, 2.0])
    v = np.polynomial.polynomial.polyfit(points, spread(points, gamma, sigma), 2) / size
    first, second = expm(time * np.array([[0, 0, 0], [b, a, 0], [v[0], 2 * b + v[1], 2 * a + v[2]]]))[1:].sum(
        axis=1)
    return np.sqrt(second - first**2)


def phase_retrieval(rho0=0.5, overlap0=0.2):
    """rho = |theta|^2 and overlap = theta theta* of the loss ((x theta)^2 - (x theta*)^2)^2 / 4."""
    m = Model("glm-phase-retrieval", "streaming SGD of phase retrieval in high dimension",
              source="Collins-Woodfin et al. 2023")
    gamma = m.parameter("gamma", 0.05, "learning rate times d", low=0)
    rho = m.weights("rho", rho0, "squared norm of the student")
    q = m.weights("overlap", overlap0, "overlap of student and teacher")
    m.rate(rho, -2 * gamma * (3 * rho**2 - rho - 2 * q**2)
           + gamma**2 * (15 * rho**3 - 6 * rho**2 - 24 * rho * q**2 + 3 * rho + 12 * q**2))
    m.rate(q, -3 * gamma * q * (rho - 1))
    m.observable("risk", (3 * rho**2 + 3 - 2 * rho - 4 * q**2) / 4, "mean loss", floor=1e-16)
    m.end = 50
    return m


def simulated(force, size, runs, times, gamma, start, seed):
    """Returns rho and overlap of `runs` runs of SGD in a finite dimension, at `times`. force(a, b)
    is the loss's derivative by a = x theta for b = x theta* (and label noise). The start has exact
    order parameters."""
    rng = np.random.default_rng(seed)
    rho, overlap = start
    theta = np.zeros((runs, size))
    theta[:, 0], theta[:, 1] = overlap, np.sqrt(rho - overlap**2)
    found = []
    for step in range(int(round(times[-1] * size)) + 1):
        if step in [int(round(time * size)) for time in times]:
            found.append([(theta**2).sum(axis=1), theta[:, 0].copy()])
        x = rng.normal(size=(runs, size))
        theta -= gamma / size * force((x * theta).sum(axis=1), x[:, 0], rng)[:, None] * x
    return np.array(found)  # time, order parameter, run
