"""Diagonal linear network: effective weights beta = u o u - v o v, on a finite regression set.

Woodworth et al., Kernel and rich regimes in overparametrized models (2020). Examples are drawn with equal
probabilities, and u = v = alpha at the start. The flow conserves u o v. With orthogonal inputs each
coordinate is solved by itself. On fewer examples than features the flow's limit is the interpolator of
least hyperbolic entropy, sum_i [z_i asinh(z_i) - sqrt(z_i^2 + 1)] with z = beta / (2 alpha^2).
SGD shrinks u o v in the mean, and ends at another interpolator (Pesme, Pillaud-Vivien and Flammarion 2021);
it draws examples with replacement or in epochs.
"""

import numpy as np

from popflow.model import Model, finite

SAMPLES, FEATURES = 3, 6
TEACHER = np.array([1.0, -0.5, 0.25, 0, 0, 0])


def data(orthogonal=False):
    """Inputs, a row each, and outputs of a teacher, which is sparse where inputs are random."""
    if orthogonal:
        inputs = np.sqrt(FEATURES) * np.eye(FEATURES)
        return inputs, inputs @ TEACHER
    inputs = np.random.default_rng(2).normal(size=(SAMPLES, FEATURES))
    return inputs, inputs[:, 0]


def model(orthogonal=False, sampling="replacement"):
    inputs, outputs = data(orthogonal)
    m = Model("diagonal-orthogonal" if orthogonal else "diagonal-linear",
              "diagonal linear network u o u - v o v", source="Woodworth et al. 2020")
    alpha = m.parameter("alpha", 0.1, "size of the start", low=0)
    u = m.weights("u", alpha * np.ones(FEATURES), "positive parts", axes=["feature"])
    v = m.weights("v", alpha * np.ones(FEATURES), "negative parts", axes=["feature"])
    x, y = m.data(finite(inputs, outputs, sampling=sampling))
    beta = u * u - v * v
    m.loss((beta @ x - y) ** 2 / 2, floor=1e-16)
    m.invariant("uv", u * v, "product of u and v")
    m.field("beta", beta, "effective weights", axes=["feature"])
    m.observable("l1_norm", np.abs(beta).sum(), "sum of |beta|")
    m.figure = "loss; beta; l1_norm"
    m.end = 20
    return m


def exact_beta(time, alpha=0.1):
    """Effective weights with orthogonal inputs: beta = c sinh(theta), theta' = 4 (b - c sinh(theta)) for
    the teacher's b, with c = 2 alpha^2. In z = e^theta this is solved by partial fractions."""
    c, b = 2 * alpha**2, TEACHER[TEACHER != 0]
    root = np.sqrt(b * b + c * c)
    high, low = (b + root) / c, (b - root) / c
    ratio = np.exp(4 * root * time) * (1 - low) / (high - 1)
    z = (low + ratio * high) / (1 + ratio)
    beta = np.zeros(FEATURES)
    beta[TEACHER != 0] = c / 2 * (z - 1 / z)
    return beta


def entropy(beta, alpha=0.1):
    z = beta / (2 * alpha**2)
    return float(np.sum(z * np.arcsinh(z) - np.sqrt(z * z + 1) + 1))


def entropy_minimiser(alpha=0.1):
    """Interpolator of least hyperbolic entropy: beta = 2 alpha^2 sinh(X'nu), with X beta = y."""
    inputs, outputs = data()
    nu, c = np.zeros(SAMPLES), 2 * alpha**2

    def dual(nu):  # convex; its gradient is X beta - y
        return c * np.cosh(inputs.T @ nu).sum() - outputs @ nu

    for _ in range(200):  # Newton's method, with halved steps where they go uphill
        bend = c * (inputs * np.cosh(inputs.T @ nu)) @ inputs.T
        step = np.linalg.solve(bend, c * inputs @ np.sinh(inputs.T @ nu) - outputs)
        while dual(nu - step) > dual(nu) + 1e-14:
            step /= 2
        nu = nu - step
    return c * np.sinh(inputs.T @ nu)
