#!/usr/bin/python3
"""Builds the models that rows.py and parts.py time, and measures how long building takes.

usage: bench/models.py MODEL        builds a model and prints the path of its plug-in
       bench/models.py --times      prints the seconds of build() for each model of the gallery (JSON)

Needs CasADi (scripts/setup --models) and the program (POPFLOW).
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples" / "models")]
sys.path += map(str, (ROOT / "build" / "models").glob("lib/python3*/site-packages"))


def markov():
    """The flow of the system markov (optimal bias), by its equations."""
    from popflow.model import Model
    m = Model("markov-model", "one-layer transformer on a binary Markov chain, optimal bias",
              source="Makkuva et al. 2024")
    p = m.parameter("p", 0.2, "Pr(0 -> 1)", low=0, high=1)
    q = m.parameter("q", 0.3, "Pr(1 -> 0)", low=0, high=1)
    e = m.weights("e", m.parameter("e0", 0.1, "start of e"), "embedding scale")
    w = m.weights("w", m.parameter("w0", 0.1, "start of w"), "feed-forward weight")
    pi0, pi1 = q / (p + q), p / (p + q)
    best = np.log((1 - p) * (1 - q) / (p * q))
    ww = w * np.abs(w)
    slope = e * e * (1 + 2 * ww)
    # dL/ds with the optimal bias, for p <= q; the exponents are never positive.
    small = np.exp(-np.abs(slope) / 2)
    a, b = np.where(slope > 0, small, 1.0), np.where(slope > 0, 1.0, small)
    change, stayed = p * q / (p + q), pi0 * (1 - p) * pi1 * (1 - q)
    D = (q - p) / (p + q) * a
    S = np.sqrt(D * D + 4 * pi0 * pi1 * b * b)
    crossing, staying = 2 * pi0 * pi1 * a / (a + S), pi0 * (D + S) / (a + S)
    d = slope - best
    less = np.expm1(-np.abs(d))
    above = np.where(d < 0, a * a * stayed * less, -b * b * change * change * less)
    g = above / (a * a * (staying + pi1 * (1 - q)) + b * b * (crossing + change))
    m.rate(e, -2 * e * (1 + 2 * ww) * g)
    m.rate(w, -4 * np.abs(w) * e * e * g)
    m.observable("slope", slope, "difference of the logits")
    m.observable("energy", e * e - w * w - np.sign(w) * np.log(np.abs(w)), "conserved energy")
    m.end = 50
    return m


def memory():
    """The associative memory of 64 facts in 32 x 32 weights: embeddings are dense."""
    import associative_memory
    return associative_memory.model(64, 32)


def network(relu=False):
    """A two-layer network of width 1000 on 10^4 samples in 100 dimensions."""
    from popflow.model import Model, dataset
    width, dimension, samples = 1000, 100, 10_000
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(samples, dimension))
    targets = np.tanh(inputs[:, :5].sum(axis=1) / 2)
    m = Model("relu-network" if relu else "network", "a two-layer network of width 1000 on 10^4 samples")
    W = m.weights("W", rng.normal(size=(width, dimension)) / np.sqrt(dimension), "first layer")
    a = m.weights("a", rng.normal(size=width) / np.sqrt(width), "second layer")
    x, y = m.data(dataset(inputs, targets))
    hidden = np.maximum(W @ x, 0) if relu else np.tanh(W @ x)
    m.loss((a @ hidden - y) ** 2 / 2)
    return m


def transformer():
    """A transformer of two layers with 4 heads and width 64, on sequences of 100 tokens."""
    from popflow.model import Model, causal, cross_entropy, dataset, embed, layer_norm, softmax
    symbols, length, width, heads, samples = 16, 100, 64, 4, 64
    rng = np.random.default_rng(1)
    sequences = np.tile(rng.integers(0, symbols, size=(samples, 5)), 21)[:, :length + 1]
    m = Model("transformer", "a transformer of two layers that learns to copy")

    def weights(name, *shape):
        return m.weights(name, rng.normal(size=shape) / np.sqrt(shape[-2]), name)

    tokens, following = m.data(dataset(sequences[:, :-1], sequences[:, 1:]))
    x = embed(weights("E", symbols, width), tokens) + weights("P", length, width)
    for layer in "12":
        h = layer_norm(x)
        q, k, v = (h @ weights(name + layer, heads, width, width // heads) for name in "QKV")
        attention = softmax(q @ k.mT / np.sqrt(width // heads), where=causal(length))
        x = x + np.einsum("htf,hfd->td", attention @ v, weights("O" + layer, heads, width // heads, width))
        x = x + np.maximum(layer_norm(x) @ weights("A" + layer, width, 4 * width), 0) @ weights(
            "B" + layer, 4 * width, width)
    logits = layer_norm(x) @ weights("U", width, symbols)
    m.loss(np.mean(cross_entropy(logits, following)))
    return m


def diagonal():
    """The diagonal linear network of 6 features and 3 samples: 12 numbers."""
    import diagonal_linear
    return diagonal_linear.model()


MODELS = {"markov": markov, "memory": memory, "diagonal": diagonal, "network": network,
          "relu-network": lambda: network(relu=True), "transformer": transformer}


def gallery():
    """Name and a function that makes it, for each model of the gallery."""
    import associative_memory
    import committee
    import diagonal_linear
    import gaussian_classes
    import glm_sgd
    import induction
    import low_rank
    import multi_head
    import phase_retrieval
    import single_index
    import transformer
    return {"associative_memory": associative_memory.model,
            "multi_head": lambda: multi_head.model(multi_head.start(3, 1), rank=1),
            "induction": induction.model, "diagonal_linear": diagonal_linear.model,
            "glm_sgd": glm_sgd.least_squares, "committee": committee.model,
            "phase_retrieval": phase_retrieval.model, "single_index": single_index.model,
            "low_rank": low_rank.model, "gaussian_classes": gaussian_classes.model,
            "transformer": transformer.model}


def processor_seconds():
    return sum(getattr(resource.getrusage(who), field) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
               for field in ("ru_utime", "ru_stime"))


def build_seconds(name):
    """Returns the processor seconds of build() for a model of the gallery, its derivation included,
    in a process that has imported popflow. Also returns whether CasADi was imported."""
    import popflow.model  # noqa: F401
    make = gallery()[name]
    begin = processor_seconds()
    make().build(check=False)
    print(json.dumps([processor_seconds() - begin, "casadi" in sys.modules]))


def times():
    """For each model: seconds of a build with an empty cache, and of three builds from the cache."""
    found = {}
    for name in gallery():
        with tempfile.TemporaryDirectory() as cache:
            found[name] = [json.loads(subprocess.run(
                [sys.executable, __file__, "--time-of", name], check=True, text=True,
                stdout=subprocess.PIPE, env={**os.environ, "XDG_CACHE_HOME": cache}).stdout)
                for _ in range(4)]
    return found


def main():
    if sys.argv[1] == "--time-of":
        build_seconds(sys.argv[2])
    elif sys.argv[1] == "--times":
        print(json.dumps(times()))
    else:
        print(MODELS[sys.argv[1]]().build(check=False).path)


if __name__ == "__main__":
    main()
