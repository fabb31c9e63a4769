"""65 536 `markov` flows to t = 50 by diffrax (vmap, Dopri5, compiled, float64), as many as a sweep of
bench/sweeps.py integrates: flows a second, ends in memory alone. Needs jax and diffrax from PyPI, in a
virtual environment."""

import statistics
import time

import diffrax
import jax
import jax.numpy as jnp
from markov_gradient import slope_gradient

jax.config.update("jax_enable_x64", True)

REPETITIONS = 5


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
