"""Euler steps of `scb` in full coordinates in JAX, without and with isotropic noise."""

import in_jax
import jax
import jax.numpy as jnp
import peer
import scb


def stepper(problem, noisy):
    P_mu, mu, centred = (jnp.asarray(x) for x in (problem.P_mu, problem.mu, problem.centred))
    positions, rows, q = (jnp.asarray(x) for x in (problem.positions, problem.rows, problem.q))
    h, T = problem.h, problem.T

    def step(_, state):
        V, A, key = state
        V_mu = V @ mu
        W = V - V_mu[:, None]
        PV, VV = (W * centred * mu).sum(), (W * W * mu).sum()
        s, norm2 = A.sum(1), (A * A).sum(1)
        qa = (A[rows, positions] * q).sum(1)
        c_q, c_2, c_s, c_ss = mu @ qa, mu @ norm2, mu @ s, mu @ s**2
        next_V = V + h * (c_q * centred - c_2 * V
                          + (c_s * P_mu + (c_2 - c_ss) * V_mu)[:, None])
        next_A = (1 - h * VV) * A + (h * (VV * s - PV) / T)[:, None]
        if noisy:
            key, of_V, of_A = jax.random.split(key, 3)
            xi = jax.random.normal(of_A, A.shape)
            next_A = next_A + problem.noise * (xi - xi.mean(1, keepdims=True))
            xi = jax.random.normal(of_V, V.shape)
            next_V = next_V + problem.noise * (xi - xi.mean(0))
        return next_V, next_A.at[rows, positions].add(h * PV * q), key

    def run(V, A, key, steps):
        return jax.lax.fori_loop(0, steps, step, (V, A, key))

    return jax.jit(run, donate_argnums=(0, 1, 2))


def work(noisy):
    def start(problem, seed):
        return (jnp.array(problem.V), jnp.array(problem.A),
                jax.random.key(seed, impl="unsafe_rbg"))

    def serve(checked, timed):
        problem = scb.Bigram(checked)
        run = stepper(problem, noisy)
        ends = [run(*start(problem, seed), problem.steps)[:2]
                for seed in range(checked.parameter("runs"))]
        agreement = problem.agreement(ends, checked, noisy)
        problem, steps = scb.Bigram(timed), scb.timed_steps(noisy)
        run = stepper(problem, noisy)
        state = run(*start(problem, 1), 1)  # compiles

        def repeat():
            nonlocal state
            state = jax.block_until_ready(run(*state, steps))

        peer.serve(repeat, agreement, in_jax.NOISE, steps / problem.steps)

    return serve


peer.main({"euler": work(noisy=False), "isotropic": work(noisy=True)})
