"""The associative memory of 64 facts in 32 x 32 weights in JAX: flows by diffrax, and SGD."""

import in_jax
import jax
import jax.numpy as jnp
import numpy as np
import peer

C, D = 64, 32


class Memory:
    """The problem of examples/models/associative_memory.py."""

    def __init__(self, zipf):
        rng = np.random.default_rng(1)
        self.inputs, self.outputs = (jnp.asarray(rng.normal(size=(C, D)) / np.sqrt(D))
                                     for _ in range(2))
        p = jnp.arange(1.0, C + 1) ** -zipf
        self.p = p / p.sum()

    def losses(self, W, inputs, facts):
        logits = inputs @ W.T @ self.outputs.T
        return jax.nn.logsumexp(logits, axis=1) - jnp.take_along_axis(logits, facts[:, None], 1)[:, 0]

    def population(self, W):
        return self.p @ self.losses(W, self.inputs, jnp.arange(C))


def flow(run):
    loss = Memory(run.parameter("zipf")).population
    gradient = jax.grad(loss)
    return lambda W: -gradient(W), jnp.zeros((D, D)), {"W": lambda W: W}, 1.0, {"loss": loss}


def flows(checked, timed):
    """Returns the flows of a sweep over zipf, computed together."""
    def ends(exponents):
        def flow(zipf):
            gradient = jax.grad(Memory(zipf).population)
            return in_jax.solver(lambda W: -gradient(W), timed, 1.0)(jnp.zeros((D, D)))

        return jax.vmap(flow)(exponents)

    exponents = jnp.asarray(timed.file["zipf"][()])
    flow = jax.jit(ends)
    found, statistics = flow(exponents)
    agreement = peer.Agreement()
    agreement.close("loss", jax.vmap(lambda W, zipf: Memory(zipf).population(W))(found, exponents),
                    checked.file["loss"][()], np.log(C))
    peer.serve(lambda: jax.block_until_ready(flow(exponents)), agreement, in_jax.FLOWS,
               steps=float(statistics["num_steps"].mean()))


def sgd(run):
    memory = Memory(run.parameter("zipf"))
    cumulative = jnp.cumsum(memory.p)
    batch = run.parameter("batch-size")

    def velocity(W, key):
        facts = jnp.searchsorted(cumulative, jax.random.uniform(key, (batch,)) * cumulative[-1])
        facts = jnp.minimum(facts, C - 1)
        return -jax.grad(lambda W: memory.losses(W, memory.inputs[facts], facts).mean())(W)

    steps_along = in_jax.steps_of(run, velocity)
    return lambda key, steps: {"W": steps_along(jnp.zeros((D, D)), jax.random.split(key, steps))}


def judged(state):
    W = state["W"]
    return {"norm": jnp.linalg.norm(W), "first entry": W[0, 0], "trace": jnp.trace(W)}


if __name__ == "__main__":
    peer.main({"flow": in_jax.flow(flow), "curves": in_jax.curves(flow), "flows": flows, "sgd": in_jax.noise(sgd, judged)})
