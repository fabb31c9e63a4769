"""`markov` (optimal bias) in JAX: many flows by diffrax, SGD, and the SDE with the exact covariance.

Formulas are those of dynamics/markov/chain.cpp for the gradient (p <= q) and of dynamics/markov/noise.cpp for
the covariance.
"""

import in_jax
import jax
import jax.numpy as jnp
import numpy as np
import peer


class Chain:
    def __init__(self, run):
        self.p, self.q = p, q = run.parameter("p"), run.parameter("q")
        self.pi0, self.pi1 = q / (p + q), p / (p + q)
        self.best_slope = np.log((1 - p) * (1 - q) / (p * q))
        self.change = p * q / (p + q)
        self.stay = self.pi0 * (1 - p) * self.pi1 * (1 - q)

    def by_slope(self, slope):
        """Returns dL/ds with the optimal bias."""
        less = jnp.exp(-jnp.abs(slope) / 2)
        a, b = jnp.where(slope > 0, less, 1.0), jnp.where(slope > 0, 1.0, less)
        D = (self.q - self.p) / (self.p + self.q) * a
        S = jnp.sqrt(D * D + 4 * self.pi0 * self.pi1 * b * b)
        change, stay = 2 * self.pi0 * self.pi1 * a / (a + S), self.pi0 * (D + S) / (a + S)
        d = slope - self.best_slope
        less = jnp.expm1(-jnp.abs(d))
        above = jnp.where(d < 0, a * a * self.stay * less, -b * b * self.change * self.change * less)
        return above / (a * a * (stay + self.pi1 * (1 - self.q)) + b * b * (change + self.change))

    def slopes(self, e, w):
        """Returns dL/ds and the derivatives by (e, w) of the logits after a 0 and after a 1."""
        ww = w * jnp.abs(w)
        by0 = jnp.stack([-e, 0 * e])
        by1 = jnp.stack([e * (1 + 4 * ww), 4 * e * e * jnp.abs(w)])
        return self.by_slope(e * e * (1 + 2 * ww)), by0, by1

    def drift(self, x):
        g, by0, by1 = self.slopes(*x)
        return -g * (by1 - by0)


def start_of(run):
    return jnp.array([run.parameter("e0"), run.parameter("w0")])


def of_fields(x):
    return {"e": x[0], "w": x[1]}


# ---- sampled gradients

def below(probability):
    """Returns the bound that a random 32-bit word stays below with this probability."""
    return jnp.uint32(round(probability * 2**32))


def sgd(run):
    chain = Chain(run)
    batch, symbols = run.parameter("batch-size"), run.parameter("context-length")
    transitions = symbols - 1

    def velocity(x, key):
        words = jax.random.bits(key, (symbols, batch), jnp.uint32)

        def transition(counts, word):
            symbol, from1, up, down = counts
            rises = ~symbol & (word < below(chain.p))
            falls = symbol & (word < below(chain.q))
            return (symbol ^ (rises | falls), from1 + symbol.sum(dtype=jnp.int32),
                    up + rises.sum(dtype=jnp.int32), down + falls.sum(dtype=jnp.int32)), None

        nothing = jnp.zeros((), jnp.int32)
        (_, from1, up, down), _ = jax.lax.scan(
            transition, (words[0] < below(chain.pi1), nothing, nothing, nothing), words[1:],
            unroll=True)
        from0 = batch * transitions - from1
        g, by0, by1 = chain.slopes(*x)
        s0 = up - chain.p * from0 + from0 * (g / chain.pi0)
        s1 = chain.q * from1 - down - from1 * (g / chain.pi1)
        return (s0 * by0 + s1 * by1) / (batch * transitions)

    steps_along = in_jax.steps_of(run, velocity)
    return lambda key, steps: of_fields(steps_along(start_of(run), jax.random.split(key, steps)))


# ---- Gaussian noise

def sde(run):
    chain = Chain(run)
    batch, rate = run.parameter("batch-size"), run.parameter("learning-rate")
    transitions, h = run.parameter("context-length") - 1, rate / 10
    eigenvalue = 1 - chain.p - chain.q
    G = (1 - eigenvalue**np.arange(transitions + 1)) / (1 - eigenvalue)
    mean = G[:-1].mean()
    spread = (G[:-1]**2).sum() - G[:-1].sum() * mean
    first = chain.pi0 * chain.pi1 * G[-1]**2
    v0, v1 = chain.pi0 * chain.p * (1 - chain.p), chain.pi1 * chain.q * (1 - chain.q)

    def noise(x, normals):
        g, by0, by1 = chain.slopes(*x)
        between = -(g / chain.pi0) * by0 - (g / chain.pi1) * by1
        u0, u1 = by0 + mean * between, by1 + mean * between
        C = (transitions * v0 * jnp.outer(u0, u0) + transitions * v1 * jnp.outer(u1, u1)
             + ((v0 + v1) * spread + first) * jnp.outer(between, between)) / transitions**2
        s = jnp.sqrt(jnp.maximum(C[0, 0] * C[1, 1] - C[0, 1]**2, 0))
        return (C @ normals + s * normals) / jnp.sqrt(C[0, 0] + C[1, 1] + 2 * s)

    def path(key, steps):
        def step(carry, _):
            x, key = carry
            key, now = jax.random.split(key)
            dW = jnp.sqrt(h * rate / batch) * jax.random.normal(now, (2,))
            return (x + h * chain.drift(x) + noise(x, dW), key), None

        return of_fields(jax.lax.scan(step, (start_of(run), key), None, length=steps)[0][0])

    return path


# ---- flows

def slope(x):
    return x[0]**2 * (1 + 2 * x[1] * jnp.abs(x[1]))


def flows(curve=None):
    """Returns the work of a sweep over starts, computed together: the ends, or, with a `curve` of the states
    that is popflow's observable of the same name, its values at the times of popflow's records."""
    def work(checked, timed):
        e, w = jnp.meshgrid(timed.file["e0"][()], timed.file["w0"][()], indexing="ij")
        starts = jnp.stack([e.ravel(), w.ravel()], -1)
        flow = jax.jit(jax.vmap(in_jax.solver(Chain(timed).drift, timed, 1, curve)))
        found, statistics = flow(starts)
        agreement = peer.Agreement()
        if curve:
            popflows = checked.curve(curve.__name__)
            agreement.close(curve.__name__, found.reshape(popflows.shape), popflows)
        else:
            for i, name in enumerate("ew"):
                agreement.close(name, found[:, i], checked.file[name][()].ravel(), starts[:, i])
        peer.serve(lambda: jax.block_until_ready(flow(starts)), agreement, in_jax.FLOWS,
                   steps=float(statistics["num_steps"].mean()))

    return work


def noise(problem):
    return in_jax.noise(problem, lambda x: x, in_jax.side_by_side, "threefry2x32")


peer.main({"sgd": noise(sgd), "sde": noise(sde), "flows": flows(), "curves": flows(slope)})
