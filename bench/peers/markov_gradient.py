"""The problem that the peers of `markov` solve, and the gradient of its loss, in JAX."""

import jax.numpy as jnp
import numpy as np

P, Q = 0.2, 0.3
PI0, PI1 = Q / (P + Q), P / (P + Q)
BEST_SLOPE = np.log((1 - P) * (1 - Q) / (P * Q))
CHANGE = P * Q / (P + Q)
STAY = PI0 * (1 - P) * PI1 * (1 - Q)


def slope_gradient(slope):
    """dL/ds with the optimal bias, by the formulas of dynamics/markov/chain.cpp (P <= Q)."""
    less = jnp.exp(-jnp.abs(slope) / 2)
    a, b = jnp.where(slope > 0, less, 1.0), jnp.where(slope > 0, 1.0, less)
    D = (Q - P) / (P + Q) * a
    S = jnp.sqrt(D * D + 4 * PI0 * PI1 * b * b)
    change, stay = 2 * PI0 * PI1 * a / (a + S), PI0 * (D + S) / (a + S)
    d = slope - BEST_SLOPE
    less = jnp.expm1(-jnp.abs(d))
    above = jnp.where(d < 0, a * a * STAY * less, -b * b * CHANGE * CHANGE * less)
    return above / (a * a * (stay + PI1 * (1 - Q)) + b * b * (change + CHANGE))
