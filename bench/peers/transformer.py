"""The transformer of two layers with 4 heads and width 64, on sequences of 100 tokens, in JAX: SGD."""

import in_jax
import jax
import jax.numpy as jnp
import numpy as np
import peer

SYMBOLS, LENGTH, WIDTH, HEADS, SAMPLES = 16, 100, 64, 4, 64


def layer_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / jnp.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5)


class Transformer:
    """The problem of bench/models.py."""

    def __init__(self):
        rng = np.random.default_rng(1)
        sequences = np.tile(rng.integers(0, SYMBOLS, size=(SAMPLES, 5)), 21)[:, :LENGTH + 1]
        self.tokens, self.following = jnp.asarray(sequences[:, :-1]), jnp.asarray(sequences[:, 1:])
        self.start = {}
        shapes = [("E", (SYMBOLS, WIDTH)), ("P", (LENGTH, WIDTH))]
        for layer in "12":
            shapes += [(name + layer, (HEADS, WIDTH, WIDTH // HEADS)) for name in "QKV"]
            shapes += [("O" + layer, (HEADS, WIDTH // HEADS, WIDTH)), ("A" + layer, (WIDTH, 4 * WIDTH)),
                       ("B" + layer, (4 * WIDTH, WIDTH))]
        for name, shape in [*shapes, ("U", (WIDTH, SYMBOLS))]:
            self.start[name] = jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[-2]))

    def loss(self, w, tokens, following):
        """The mean loss of sequences."""
        x = w["E"][tokens] + w["P"]
        causal = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
        for layer in "12":
            h = layer_norm(x)
            q, k, v = (jnp.einsum("ntd,hdf->nhtf", h, w[name + layer]) for name in "QKV")
            scores = jnp.einsum("nhtf,nhsf->nhts", q, k) / np.sqrt(WIDTH // HEADS)
            attention = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
            x = x + jnp.einsum("nhtf,hfd->ntd", jnp.einsum("nhts,nhsf->nhtf", attention, v), w["O" + layer])
            x = x + jax.nn.relu(layer_norm(x) @ w["A" + layer]) @ w["B" + layer]
        logits = jax.nn.log_softmax(layer_norm(x) @ w["U"], axis=-1)
        return -jnp.take_along_axis(logits, following[..., None], -1).mean()


def sgd(run):
    model = Transformer()
    batch = run.parameter("batch-size")

    def velocity(weights, key):
        chosen = jax.random.randint(key, (batch,), 0, SAMPLES)
        slopes = jax.grad(model.loss)(weights, model.tokens[chosen], model.following[chosen])
        return jax.tree_util.tree_map(jnp.negative, slopes)

    steps_along = in_jax.steps_of(run, velocity)
    return lambda key, steps: steps_along(model.start, jax.random.split(key, steps))


def judged(state):
    return {**{f"norm of {name}": jnp.linalg.norm(value) for name, value in state.items()},
            "entry of U": state["U"][0, 0]}


if __name__ == "__main__":
    peer.main({"sgd": in_jax.noise(sgd, judged)})
