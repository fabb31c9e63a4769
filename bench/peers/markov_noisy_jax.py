"""1000 runs of `markov` with noise by JAX (vmap over runs, scan over steps, compiled, float64), those of

  popflow run markov --mode sgd --runs 1000 --steps 1000 --batch-size 16 --context-length 32
  popflow run markov --mode sde --runs 1000 --t-end 10 --batch-size 16 --context-length 32

(the latter 10 000 steps of Euler and Maruyama with the exact covariance): steps of a run a second,
without compiling, and mean and standard deviation of e at the end, to see that it is the same work.
Needs jax from PyPI, in a virtual environment."""

import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
from markov_gradient import PI0, PI1, P, Q, slope_gradient

jax.config.update("jax_enable_x64", True)

RATE, BATCH, SYMBOLS, RUNS = 0.01, 16, 32, 1000
TRANSITIONS = SYMBOLS - 1
START = np.array([0.1, 0.1])
REPETITIONS = 5


def slopes(x):
    """dL/ds, and the derivatives of the logits after a 0 and a 1 by (e, w)."""
    e, w = x
    ww = w * jnp.abs(w)
    by0 = jnp.stack([-e, 0 * e])
    by1 = jnp.stack([e * (1 + 4 * ww), 4 * e * e * jnp.abs(w)])
    return slope_gradient(e * e * (1 + 2 * ww)), by0, by1


# ---- sampled gradients

def below(probability):
    """What a random word of 32 bits is below with a probability."""
    return jnp.uint32(round(probability * 2**32))


def sampled_step(x, key):
    words = jax.random.bits(key, (SYMBOLS, BATCH), jnp.uint32)

    def transition(carry, word):
        symbol, from1, up, down = carry
        rises = ~symbol & (word < below(P))
        falls = symbol & (word < below(Q))
        return (symbol ^ (rises | falls), from1 + symbol.sum(dtype=jnp.int32),
                up + rises.sum(dtype=jnp.int32), down + falls.sum(dtype=jnp.int32)), None

    nothing = jnp.zeros((), jnp.int32)
    (_, from1, up, down), _ = jax.lax.scan(
        transition, (words[0] < below(PI1), nothing, nothing, nothing), words[1:], unroll=True)
    from0 = BATCH * TRANSITIONS - from1
    g, by0, by1 = slopes(x)
    s0 = up - P * from0 + from0 * (g / PI0)
    s1 = Q * from1 - down - from1 * (g / PI1)
    return x + RATE / (BATCH * TRANSITIONS) * (s0 * by0 + s1 * by1), None


def sgd(key, steps=1000):
    return jax.lax.scan(sampled_step, START, jax.random.split(key, steps))[0]


# ---- Gaussian noise, its covariance by the formulas of dynamics/markov/noise.cpp

LAMBDA = 1 - P - Q
G = np.array([(1 - LAMBDA**j) / (1 - LAMBDA) for j in range(TRANSITIONS + 1)])
MEAN = G[:-1].mean()
SPREAD = (G[:-1]**2).sum() - G[:-1].sum() * MEAN
FIRST = PI0 * PI1 * G[-1]**2
V0, V1 = PI0 * P * (1 - P), PI1 * Q * (1 - Q)
STEP = RATE / 10


def noisy_step(x, normals):
    g, by0, by1 = slopes(x)
    between = -(g / PI0) * by0 - (g / PI1) * by1
    u0, u1 = by0 + MEAN * between, by1 + MEAN * between
    C = (TRANSITIONS * V0 * jnp.outer(u0, u0) + TRANSITIONS * V1 * jnp.outer(u1, u1)
         + ((V0 + V1) * SPREAD + FIRST) * jnp.outer(between, between)) / TRANSITIONS**2
    s = jnp.sqrt(jnp.maximum(C[0, 0] * C[1, 1] - C[0, 1]**2, 0))
    t = jnp.sqrt(C[0, 0] + C[1, 1] + 2 * s)
    noise = (C @ normals + s * normals) / t
    drift = -g * (by1 - by0)
    return x + STEP * drift + jnp.sqrt(STEP * RATE / BATCH) * noise, None


def sde(key, steps=10_000):
    def step(carry, _):
        x, key = carry
        key, now = jax.random.split(key)
        return (noisy_step(x, jax.random.normal(now, (2,)))[0], key), None

    return jax.lax.scan(step, (START, key), None, length=steps)[0][0]


def main():
    for name, one, steps in (("sgd", sgd, 1000), ("sde", sde, 10_000)):
        runs = jax.jit(jax.vmap(one))
        keys = jax.random.split(jax.random.key(1), RUNS)
        ends = runs(keys).block_until_ready()  # compiles
        seconds = []
        for _ in range(REPETITIONS):
            begin = time.perf_counter()
            runs(keys).block_until_ready()
            seconds.append(time.perf_counter() - begin)
        e = np.asarray(ends)[:, 0]
        print(f"{name}: {RUNS * steps / statistics.median(seconds):.3g} steps a second; "
              f"e at the end {e.mean():.6f}, standard deviation {e.std(ddof=1):.6f}")


main()
