"""Diagonal linear network: u o u - v o v on a finite regression set.

Woodworth et al., Kernel and rich regimes in overparametrized models (2020). The flow conserves
u o v. With orthogonal inputs each coordinate is solvable by itself.
"""

import numpy as np

from popflow.model import Model, finite

SAMPLES, FEATURES = 3, 6


def data(orthogonal=False):
    """Inputs, a row each, and outputs of a sparse teacher."""
    rng = np.random.default_rng(2)
    teacher = np.zeros(FEATURES)
    teacher[0] = 1.0
    inputs = (np.sqrt(FEATURES) * np.eye(FEATURES) if orthogonal
              else rng.normal(size=(SAMPLES, FEATURES)))
    return inputs, inputs @ teacher


def model(orthogonal=False):
    inputs, outputs = data(orthogonal)
    name = "diagonal-orthogonal" if orthogonal else "diagonal-linear"
    m = Model(name, "diagonal linear network u o u - v o v", source="Woodworth et al. 2020")
    alpha = m.parameter("alpha", 0.1, "size of the start", low=0)
    u = m.weights("u", alpha * np.ones(FEATURES), "positive parts", axes=["feature"])
    v = m.weights("v", alpha * np.ones(FEATURES), "negative parts", axes=["feature"])
    x, y = m.data(finite(inputs, outputs))
    beta = u * u - v * v
    m.loss((beta @ x - y) ** 2 / 2, floor=1e-16)
    m.invariant("uv", u * v, "product of u and v")
    m.field("beta", beta, "effective weights", axes=["feature"])
    m.observable("l1_norm", np.abs(beta).sum(), "sum of |beta|")
    m.figure = "loss; beta; l1_norm"
    m.end = 20
    return m


def exact_beta(time, alpha=0.1):
    """Effective weights with orthogonal inputs: w' = 4 sqrt(w^2 + 4 alpha^4) (b - w), b = teacher."""
    from scipy.integrate import solve_ivp
    teacher = np.zeros(FEATURES)
    teacher[0] = 1.0
    solved = solve_ivp(lambda _, w: 4 * np.sqrt(w * w + 4 * alpha**4) * (teacher - w), (0, time),
                       np.zeros(FEATURES), rtol=1e-12, atol=1e-14, method="DOP853")
    return solved.y[:, -1]


def hyperbolic_entropy(beta, alpha=0.1):
    """What the flow's limit minimises among all interpolators."""
    z = beta / (2 * alpha**2)
    return float(np.sum(z * np.arcsinh(z) - np.sqrt(z * z + 1) + 1))


def entropy_minimiser(alpha=0.1):
    """The interpolator of least hyperbolic entropy: beta = 2 alpha^2 sinh(X^T nu), X beta = y."""
    inputs, outputs = data()

    def dual(nu):  # convex; its gradient is X beta - y
        return 2 * alpha**2 * np.cosh(inputs.T @ nu).sum() - outputs @ nu
    nu = np.zeros(SAMPLES)
    for _ in range(200):  # Newton's method, with halved steps where they go uphill
        slope = 2 * alpha**2 * inputs @ np.sinh(inputs.T @ nu) - outputs
        bend = 2 * alpha**2 * (inputs * np.cosh(inputs.T @ nu)) @ inputs.T
        step = np.linalg.solve(bend, slope)
        while dual(nu - step) > dual(nu) + 1e-14:
            step /= 2
        nu = nu - step
    beta = 2 * alpha**2 * np.sinh(inputs.T @ nu)
    assert np.abs(inputs @ beta - outputs).max() < 1e-10
    return beta
