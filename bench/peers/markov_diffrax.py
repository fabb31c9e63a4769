"""65 536 `markov` flows to t = 50 by diffrax (vmap, Dopri5, compiled, float64), as many as a sweep of
bench/sweeps.py integrates: flows a second, ends in memory alone. Needs jax and diffrax from PyPI, in a
virtual environment."""

import statistics
import time

import diffrax
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

P, Q = 0.2, 0.3
PI0, PI1 = Q / (P + Q), P / (P + Q)
BEST_SLOPE = jnp.log((1 - P) * (1 - Q) / (P * Q))
CHANGE = P * Q / (P + Q)
STAY = PI0 * (1 - P) * PI1 * (1 - Q)
REPETITIONS = 5


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


def rhs(_t, x, _args):
    e, w = x
    ww = w * jnp.abs(w)
    g = slope_gradient(e * e * (1 + 2 * ww))
    return jnp.stack([-e * ((1 + 4 * ww) * g + g), -4 * jnp.abs(w) * e * e * g])


def end(start):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(rhs), diffrax.Dopri5(), 0.0, 50.0, None, start,
        stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-10),
        saveat=diffrax.SaveAt(t1=True), max_steps=4096).ys[-1]


def main():
    e, w = jnp.meshgrid(jnp.linspace(0.02, 2, 256), jnp.linspace(-2, 1, 256), indexing="ij")
    starts = jnp.stack([e.ravel(), w.ravel()], -1)
    ends = jax.jit(jax.vmap(end))
    ends(starts).block_until_ready()  # compiles
    seconds = []
    for _ in range(REPETITIONS):
        begin = time.perf_counter()
        ends(starts).block_until_ready()
        seconds.append(time.perf_counter() - begin)
    print(f"{len(starts) / statistics.median(seconds):.0f} flows a second")


main()
