"""Workloads for timing popflow against its peers; each is a row of docs/performance.md.

popflow is timed as a whole program on two threads, including process start and file, unless a row says
otherwise. Peers are timed after compilation and keep their results in memory. `wanted` is the target
ratio of popflow's speed to the peer's.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    name: str
    script: str  # in bench/peers
    work: str
    python: str = "build/peers/bin/python"  # made by scripts/setup --peers


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    words: str  # popflow's command line, for checks and timings
    peers: list[Peer]
    wanted: float
    checked: str = ""  # further words for the check of agreement
    timed: str = ""  # further words for the timing
    less: str = ""  # further words for a shorter run, whose time is subtracted
    less_units: int = 0  # units of work in the shorter run
    units: int = 1  # units of work in the difference of the two runs
    unit: str = ""
    model: str = ""  # of models.py; its plug-in takes the place of the word MODEL


RMS = "--error-norm rms"


def torch(work):
    return Peer("PyTorch", "scb_torch.py", work)


def optax(script):
    return Peer("optax", script, "sgd")


def diffrax(script):
    """Compares diffrax and popflow with the same error norm, the root mean square over the state."""
    return Peer("diffrax", script, "flow")


def heyoka(work, script="markov_heyoka.py"):
    return Peer("heyoka", script, work)


def in_few_numbers(name, title, words, model=""):
    """Compares many flows in few numbers by `verner8` with heyoka, at two tolerances."""
    peers = [heyoka(name.replace("-", "_"), "few_heyoka.py")]
    return [Row(f"{name}-taylor{suffix}", heading, f"sweep {words} --rtol {rtol} --atol {atol} --method verner8 {RMS}",
                peers, 1, model=model)
            for suffix, heading, rtol, atol in (("", title, "1e-8", "1e-10"), (
                "-precise", "the same with relative tolerance 1e-12", "1e-12", "1e-14"))]


def curves(script):
    """Compares 201 records with diffrax's dense output (SaveAt), which keeps one observable."""
    return Peer("diffrax", script, "curves")


def recorded(words):
    """Returns the command with 201 records, the default, in place of the ends alone."""
    return words.replace("--saves 2 ", "--saves 201 ")


def by_entry(script):
    """Compares diffrax and popflow with popflow's default error norm: every entry within tolerance."""
    return Peer("diffrax, each entry", script, "flow-by-entry")


def products(work):
    """Compares with the products of matrices of a step of gradient descent alone."""
    return Peer("products alone, OpenBLAS", "network.py", work)


def steps(n, less=0):
    return {"units": n - less, "less_units": less, "unit": "step"}


SCB = "run scb --sparsity 3 --saves 2"
LARGE, SMALL = ("--vocab-size 500 --context-length 100000 --state none",
                "--vocab-size 50 --context-length 2000 --state ends")
JOINT = "run joma-joint --saves 2 --state ends"
SAMPLES = "--batch-size 64 --context-length 100"
MARKOV = "run markov --runs 1000 --batch-size 16 --context-length 32 --saves 2 --state ends"
JOMA = "run joma --activation nonlinear --attention exp --t-end 3.6 --saves 2 --state ends"
JOINT_FLOW = f"{JOINT} --tokens 2000 --classes 100"
TOPIC = "run topic --saves 2 --state ends"
TOPIC_FLOW = f"{TOPIC} {RMS}"
TEN_TIMES = "--words-per-topic 100"
DOCUMENTS = "--learning-rate 1 --batch-size 16 --document-length 200"

ROWS = [
    Row("scb-euler", "`scb` flow, N = 500, T = 100 000: a step of Euler's", SCB + " --method euler "
        "--dt 0.01", [Peer("JAX", "scb_jax.py", "euler"), torch("euler"),
                      Peer("NumPy", "scb_numpy.py", "euler")], 3,
        checked=f"{SMALL} --t-end 0.2", timed=f"{LARGE} --t-end 4.1", less=f"{LARGE} --t-end 0.1",
        **steps(410, less=10)),
    Row("scb-isotropic", "the same with isotropic noise", SCB + " --mode sde --noise isotropic "
        "--dt 0.001", [Peer("JAX", "scb_jax.py", "isotropic"), torch("isotropic"),
                       Peer("NumPy", "scb_numpy.py", "isotropic")], 15,
        checked=f"{SMALL} --t-end 0.02 --runs 32", timed=f"{LARGE} --t-end 0.21",
        less=f"{LARGE} --t-end 0.01", **steps(210, less=10)),
    Row("scb-sgd", "`scb` SGD, N = 20, T = 5000, B = 256", SCB + " --mode sgd --batch-size 256 "
        "--vocab-size 20 --context-length 5000", [torch("sgd")], 15,
        checked="--steps 30 --runs 16 --state ends", timed="--steps 1000 --state none",
        **steps(1000)),
    Row("scb-sgd-momentum", "the same under momentum", SCB + " --mode sgd --batch-size 256 "
        "--vocab-size 20 --context-length 5000 --optimizer momentum --learning-rate 0.001",
        [torch("sgd")], 3, checked="--steps 30 --runs 16 --state ends",
        timed="--steps 1000 --state none", **steps(1000)),
    Row("scb-sgd-adam", "the same under Adam", SCB + " --mode sgd --batch-size 256 "
        "--vocab-size 20 --context-length 5000 --optimizer adam --learning-rate 0.0001 "
        "--preconditioner none --project none", [torch("sgd")], 3,
        checked="--steps 30 --runs 16 --state ends", timed="--steps 1000 --state none",
        **steps(1000)),
    Row("markov-sgd", "`markov` SGD, 1000 runs of 1000 steps, B = 16, 32 symbols",
        MARKOV + " --mode sgd --steps 1000", [Peer("JAX", "markov.py", "sgd")], 15),
    Row("markov-sgd-momentum", "the same under momentum", MARKOV + " --mode sgd --steps 1000 "
        "--optimizer momentum --learning-rate 0.001", [optax("markov.py")], 3),
    Row("markov-sgd-adam", "the same under Adam", MARKOV + " --mode sgd --steps 1000 "
        "--optimizer adam --learning-rate 0.001", [optax("markov.py")], 3),
    Row("markov-sde", "`markov` SDE, 1000 runs of 10 000 steps, exact covariance",
        MARKOV + " --mode sde --t-end 10", [Peer("JAX", "markov.py", "sde")], 5),
    Row("markov-flows", "`markov`, 65 536 flows to t = 50 into a file",
        "sweep markov --over e0=0.02:2:256 --over w0=-2:1:256 --rtol 1e-8 --atol 1e-10 --t-end 50 "
        + RMS, [Peer("diffrax", "markov.py", "flows")], 10),
    Row("markov-loops", "the same flows by a loop in numba, and by diffsol's `tsit45`",
        "sweep markov --over e0=0.02:2:256 --over w0=-2:1:256 --rtol 1e-8 --atol 1e-10 --t-end 50 "
        + RMS, [Peer("numba", "markov_numba.py", "flows"), Peer("diffsol", "markov_diffsol.py", "flows")], 3),
    Row("markov-taylor", "the same flows by `verner8`",
        "sweep markov --over e0=0.02:2:256 --over w0=-2:1:256 --rtol 1e-8 --atol 1e-10 --t-end 50 "
        f"--method verner8 {RMS}", [heyoka("flows")], 1.5),
    Row("markov-taylor-precise", "the same with relative tolerance 1e-12",
        "sweep markov --over e0=0.02:2:256 --over w0=-2:1:256 --rtol 1e-12 --atol 1e-14 --t-end 50 "
        f"--method verner8 {RMS}", [heyoka("flows")], 1.2),
    Row("markov-curves", "`markov`, 4096 flows to t = 50 with 201 records",
        "sweep markov --over e0=0.02:2:64 --over w0=-2:1:64 --rtol 1e-8 --atol 1e-10 --t-end 50 "
        f"--record series {RMS}", [curves("markov.py"), heyoka("curves")], 1),
    *in_few_numbers("linear-attention", "`linear-attention`, 16 384 flows to t = 60 by `verner8` (4 numbers)",
                    "linear-attention --over init-scale=0.001:0.1:128 --over context-length=5..132 --t-end 60"),
    *in_few_numbers("deep-linear", "`deep-linear`, two layers of 3 x 3, 16 384 flows to t = 10 by `verner8`",
                    "deep-linear --start gaussian --over init-scale=0.01:0.3:16384 --t-end 10"),
    *in_few_numbers("scb", "`scb`, signal coordinates, 4096 flows to t = 2000 by `verner8` (3 numbers)",
                    "scb --coordinates signal --over context-length=1000..5095 --t-end 2000"),
    *in_few_numbers("joma", "`joma`, softmax, 10 targets, 4096 flows to t = 30 by `verner8`",
                    "joma --activation nonlinear --attention softmax --over init=0.01:0.3:64 "
                    "--over temperature=0.8:2:64 --t-end 30"),
    *in_few_numbers("diagonal", "model of a diagonal linear network, 16 384 flows to t = 20 by `verner8` (12 numbers)",
                    "MODEL --over alpha=0.01:0.5:16384 --t-end 20", model="diagonal"),
    Row("markov-model", "the flows of `markov` written as a model in Python",
        "sweep MODEL --over e0=0.02:2:256 --over w0=-2:1:256 --rtol 1e-8 --atol 1e-10 --t-end 50 "
        + RMS, [Peer("diffrax", "markov.py", "flows")], 3, model="markov"),
    Row("markov-model-built-in", "the model against the system in C++",
        "sweep MODEL --over e0=0.02:2:256 --over w0=-2:1:256 --rtol 1e-8 --atol 1e-10 --t-end 50 "
        + RMS, [Peer("built-in system", "built_in.py", "flows")], 0.67, model="markov"),
    Row("memory-model-flow", "model of an associative memory, 64 facts, 32 x 32 weights, to t = 2000, "
        "less the program's start and file",
        f"run MODEL --rtol 1e-8 --atol 1e-10 --saves 2 --state ends {RMS}",
        [Peer("diffrax", "memory.py", "flow")], 1, checked="--t-end 2000", timed="--t-end 2000",
        less="--t-end 0.001", model="memory"),
    Row("memory-model-curves", "the same with 201 records",
        recorded(f"run MODEL --rtol 1e-8 --atol 1e-10 --saves 2 --state ends {RMS}"),
        [curves("memory.py")], 1, checked="--t-end 2000", timed="--t-end 2000",
        less="--t-end 0.001", model="memory"),
    Row("memory-model-flows", "the same, 64 flows over `zipf` to t = 2000, with start and file",
        f"sweep MODEL --over zipf=0:2:64 --rtol 1e-8 --atol 1e-10 --t-end 2000 {RMS}",
        [Peer("diffrax", "memory.py", "flows")], 1, model="memory"),
    Row("memory-model-sgd", "the same model trained by SGD, B = 16", "run MODEL --mode sgd --batch-size 16 "
        "--learning-rate 0.5 --saves 2 --state ends", [Peer("JAX", "memory.py", "sgd")], 2,
        checked="--steps 200 --runs 64", timed="--steps 10000", **steps(10_000), model="memory"),
    Row("network-descent", "model of a two-layer tanh network of width 1000 on 10^4 samples in 100 dimensions, "
        "a step of gradient descent", "run MODEL --method euler --dt 0.01 --saves 2 --state ends",
        [Peer("JAX", "network.py", "descent"), products("products")], 1, checked="--t-end 0.1",
        timed="--t-end 0.22", less="--t-end 0.02", **steps(22, less=2), model="network"),
    Row("relu-network-descent", "the same network with ReLU",
        "run MODEL --method euler --dt 0.01 --saves 2 --state ends",
        [Peer("JAX", "network.py", "relu-descent"), products("relu-products")], 1, checked="--t-end 0.1",
        timed="--t-end 0.22", less="--t-end 0.02", **steps(22, less=2), model="relu-network"),
    Row("network-sgd", "the tanh network trained by SGD, B = 100", "run MODEL --mode sgd --batch-size 100 "
        "--learning-rate 0.01 --saves 2 --state ends", [Peer("JAX", "network.py", "sgd")], 1,
        checked="--steps 50 --runs 16", timed="--steps 550", less="--steps 50", **steps(550, less=50),
        model="network"),
    Row("transformer-sgd", "model of a transformer of two layers, 4 heads, width 64, sequences of 100 tokens, "
        "trained by SGD, B = 32", "run MODEL --mode sgd --batch-size 32 --learning-rate 0.1 --saves 2 --state ends",
        [Peer("JAX", "transformer.py", "sgd")], 1, checked="--steps 2 --runs 40", timed="--steps 12",
        less="--steps 2", **steps(12, less=2), model="transformer"),
    Row("joma-large", "`joma`, exp attention, targets, a million tokens to t = 3.6", JOMA,
        [diffrax("joma.py"), by_entry("joma.py")], 2.5, checked="--tokens 10000",
        timed="--tokens 1000000"),
    Row("joma", "the same with 100 000 tokens", JOMA + " --tokens 100000",
        [diffrax("joma.py"), by_entry("joma.py")], 2),
    Row("joma-curves", "the same with 201 records", recorded(f"{JOMA} --tokens 100000"),
        [curves("joma.py")], 1),
    Row("joma-joint-flow", "`joma-joint` flow, softmax, M = 2000, C = K = 100 to t = 200",
        f"{JOINT_FLOW} --t-end 200 {RMS}", [diffrax("joma_joint.py")], 2),
    Row("joma-joint-curves", "the same with 201 records", recorded(f"{JOINT_FLOW} --t-end 200 {RMS}"),
        [curves("joma_joint.py")], 1),
    Row("joma-joint-flow-by-entry", "`joma-joint` flow with each entry within its tolerance",
        f"{JOINT_FLOW} --t-end 200", [by_entry("joma_joint.py")], 2),
    Row("joma-joint-sgd-large", "`joma-joint` SGD, M = 2000, C = K = 100, B = 64, contexts of 100",
        f"{JOINT} --mode sgd {SAMPLES} --tokens 2000 --classes 100",
        [Peer("JAX", "joma_joint.py", "sgd")], 3, checked="--steps 50 --runs 16",
        timed="--steps 2000", **steps(2000)),
    Row("joma-joint-sgd-momentum", "the same under momentum", f"{JOINT} --mode sgd {SAMPLES} --tokens "
        "2000 --classes 100 --optimizer momentum --learning-rate 0.001", [optax("joma_joint.py")],
        3, checked="--steps 50 --runs 16", timed="--steps 2000", **steps(2000)),
    Row("joma-joint-sgd-adam", "the same under Adam", f"{JOINT} --mode sgd {SAMPLES} --tokens "
        "2000 --classes 100 --optimizer adam --learning-rate 0.001", [optax("joma_joint.py")], 3,
        checked="--steps 50 --runs 16", timed="--steps 2000", **steps(2000)),
    Row("joma-joint-sgd", "`joma-joint` SGD, M = C = K = 20", f"{JOINT} --mode sgd {SAMPLES}",
        [Peer("JAX", "joma_joint.py", "sgd")], 3, checked="--steps 300 --runs 64",
        timed="--steps 30000", **steps(30_000)),
    Row("joma-joint-sde", "`joma-joint` SDE, M = C = K = 20, B = 64, contexts of 100",
        f"{JOINT} --mode sde {SAMPLES}", [Peer("JAX", "joma_joint.py", "sde")], 3,
        checked="--t-end 1 --runs 32", timed="--t-end 30", **steps(30_000)),
    Row("joma-joint-sde-large", "the same with M = C = K = 200",
        f"{JOINT} --mode sde {SAMPLES} --tokens 200 --classes 200",
        [Peer("JAX", "joma_joint.py", "sde")], 3, checked="--t-end 0.1 --runs 16",
        timed="--t-end 1.5", **steps(1500)),
    Row("topic-flow", "`topic` flow, 10 topics of 10 words, to t = 2e5 (16 numbers)",
        f"{TOPIC_FLOW} --t-end 2e5", [diffrax("topic.py")], 3),
    Row("topic-flow-large", "`topic` flow, 10 topics of 100 words",
        f"{TOPIC_FLOW} --t-end 2e5 {TEN_TIMES}", [diffrax("topic.py")], 3),
    Row("topic-curves", "the same with 201 records", recorded(f"{TOPIC_FLOW} --t-end 2e5 {TEN_TIMES}"),
        [curves("topic.py")], 1),
    Row("topic-sgd", "`topic` SGD, full matrices, 10 topics of 10 words, B = 16, documents of 200",
        f"{TOPIC} --mode sgd {DOCUMENTS}", [Peer("JAX", "topic.py", "sgd")], 3,
        checked="--steps 50 --runs 32", timed="--steps 1000", **steps(1000)),
    Row("topic-sgd-large", "the same with 10 topics of 100 words",
        f"{TOPIC} --mode sgd {DOCUMENTS}", [Peer("JAX", "topic.py", "sgd")], 3,
        checked="--steps 50 --runs 32", timed=f"--steps 24 {TEN_TIMES}",
        less=f"--steps 4 {TEN_TIMES}", **steps(24, less=4)),
    Row("topic-sde", "`topic` SDE, full matrices, 10 topics of 10 words, B = 16, documents of 200",
        f"{TOPIC} --mode sde {DOCUMENTS}", [Peer("JAX", "topic.py", "sde")], 3,
        checked="--t-end 4 --runs 32", timed="--t-end 60", **steps(600)),
    Row("topic-sde-large", "the same with 10 topics of 100 words",
        f"{TOPIC} --mode sde {DOCUMENTS}", [Peer("JAX", "topic.py", "sde")], 3,
        checked="--t-end 4 --runs 32", timed=f"--t-end 3 {TEN_TIMES}",
        less=f"--t-end 1 {TEN_TIMES}", **steps(30, less=10)),
]
