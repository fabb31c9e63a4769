"""Two-layer networks of width 1000 on 10^4 samples in 100 dimensions: gradient descent and SGD in JAX, and
the products of matrices of a step alone."""

import in_jax
import jax
import jax.numpy as jnp
import numpy as np
import peer

WIDTH, DIMENSION, SAMPLES = 1000, 100, 10_000


class Network:
    """The problem of bench/models.py."""

    def __init__(self, relu):
        rng = np.random.default_rng(1)
        self.inputs = rng.normal(size=(SAMPLES, DIMENSION))
        self.targets = np.tanh(self.inputs[:, :5].sum(axis=1) / 2)
        self.start = {"W": rng.normal(size=(WIDTH, DIMENSION)) / np.sqrt(DIMENSION),
                      "a": rng.normal(size=WIDTH) / np.sqrt(WIDTH)}
        self.activation = jax.nn.relu if relu else jnp.tanh

    def loss(self, weights, inputs, targets):
        hidden = self.activation(inputs @ weights["W"].T)
        return ((hidden @ weights["a"] - targets) ** 2).mean() / 2


def in_jax_arrays(network):
    return (jax.tree_util.tree_map(jnp.asarray, network.start), jnp.asarray(network.inputs),
            jnp.asarray(network.targets))


def descent(relu, products=False):
    """Returns the work of gradient descent, or that of its products alone by NumPy's OpenBLAS."""
    def work(checked, timed):
        network = Network(relu)
        start, inputs, targets = in_jax_arrays(network)

        @jax.jit
        def descend(weights, steps):
            def step(_, weights):
                slopes = jax.grad(network.loss)(weights, inputs, targets)
                return jax.tree_util.tree_map(lambda w, slope: w - rate * slope, weights, slopes)

            return jax.lax.fori_loop(0, steps, step, weights)

        rate = checked.parameter("dt")
        end = descend(start, checked.steps())
        agreement = peer.Agreement()
        for name, field in end.items():
            agreement.close(name, field, checked.end(name), checked.start(name))
        steps = timed.steps()
        if not products:
            descend(start, 1)  # compiles
            peer.serve(lambda: jax.block_until_ready(descend(start, steps)), agreement, in_jax.NOISE)
            return
        hidden = np.empty((SAMPLES, WIDTH))
        slopes = np.empty((WIDTH, DIMENSION))

        def multiply():
            for _ in range(steps):
                np.matmul(network.inputs, network.start["W"].T, out=hidden)
                np.matmul(hidden.T, network.inputs, out=slopes)

        multiply()
        peer.serve(multiply, agreement, ("numpy",))

    return work


def sgd(run):
    network = Network(relu=False)
    start, inputs, targets = in_jax_arrays(network)
    batch = run.parameter("batch-size")

    def velocity(weights, key):
        chosen = jax.random.randint(key, (batch,), 0, SAMPLES)
        slopes = jax.grad(network.loss)(weights, inputs[chosen], targets[chosen])
        return jax.tree_util.tree_map(jnp.negative, slopes)

    steps_along = in_jax.steps_of(run, velocity)
    return lambda key, steps: steps_along(start, jax.random.split(key, steps))


def judged(state):
    return {"norm of W": jnp.linalg.norm(state["W"]), "norm of a": jnp.linalg.norm(state["a"]),
            "entry of W": state["W"][0, 0], "entry of a": state["a"][0]}


if __name__ == "__main__":
    peer.main({"descent": descent(relu=False), "relu-descent": descent(relu=True),
               "products": descent(relu=False, products=True), "relu-products": descent(relu=True, products=True),
               "sgd": in_jax.noise(sgd, judged)})
