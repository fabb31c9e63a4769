#!/usr/bin/python3
# label: long
"""Runs every data/experiments/topic-*.cfg and checks its comment's claims as numbers."""

import itertools

from experiment import check, experiment, near, np
from runs import run_all


def test_value_training_ends_blockwise():
    run = experiment("topic-stage1-optimum.cfg")
    gap = run["value_same_word"] - run["value_same_topic"]
    check(np.allclose(gap, np.exp(-2e-4 * run["time"]), rtol=1e-5, atol=1e-8), "gap")
    near(run.last("value_same_word"), 0.1003, 5e-5)
    near(run.last("value_other_topic"), -0.0067, 5e-5)
    near(run.last("norm_value"), 3.27969, 1e-5)
    check(run.last("excess_loss") < 1e-17, run.last("excess_loss"))


def test_two_stages():
    run = experiment("topic-two-stages.cfg")

    def at(name, time):  # between records, which are 2.5% apart
        return np.interp(time, run["time"], run[name])

    near(at("norm_value", 2000), 3.27, 5e-3)
    near(at("norm_value", 5000), 3.28, 5e-3)
    near(at("norm_key", 2e4), 0.12, 5e-3)
    near(at("norm_key", 6.6e4), 0.73, 5e-3)
    near(run.last("norm_key"), 15.1, 5e-2)
    near(run.last("attention_same_word"), 3.54, 5e-3)
    near(run.last("attention_same_topic"), 3.54, 5e-3)
    near(run.last("attention_other_topic"), 0.32, 5e-3)
    near(run.event("stage1_end"), 1693.39, 0.01)
    near(run.event("stage2_start"), 32479.9, 0.1)
    near(run["norm_key"][0], 0.1005, 5e-5)
    check(np.allclose(run["norm_key"], run["norm_query"], rtol=1e-6), "norms part")


def test_two_stages_are_not_universal():
    small = experiment("topic-two-stages.cfg", "--topics", 4, "--words-per-topic", 3,
                       "--topics-per-document", 2)
    check(small.last("attention_other_topic") > 1.5 * small.last("attention_same_topic"),
          "other topics should end above")
    blind = experiment("topic-two-stages.cfg", "--keep-prob", 0)
    near(blind.last("attention_same_word") / blind.last("attention_other_topic"), 1, 1e-3)


def test_the_plateau_is_a_saddle():
    runs = [experiment("topic-after-the-plateau.cfg", "--rtol", rtol) for rtol in (1e-8, 1e-10, 1e-12)]
    for run in runs:
        near(run.at("attention_same_word", 1e7), 3.704, 1e-3)
        near(run.at("attention_same_topic", 1e7), 3.704, 1e-3)
        near(run.at("attention_same_word", 3e7), 3.705, 1e-3)
        near(run.at("attention_same_word", 4e7), 43.115, 1e-3)
        near(run.at("loss", 1e7), 0.97062, 5e-6)
        near(run.last("loss"), 0.91161, 5e-6)
        near(run.at("attention_same_word", 4e7), runs[-1].at("attention_same_word", 4e7), 2e-8)
        check(abs(run.last("key_between")) < 1e-12, run.last("key_between"))


def test_two_branches():
    word = experiment("topic-branch-word.cfg")
    early = experiment("topic-branch-word.cfg", "--t-end", 1e4)
    near(early.last("attention_same_word"), 1.03, 5e-3)
    near(early.last("attention_same_topic"), 1.03, 5e-3)
    near(word.last("attention_same_word"), 43.1, 0.05)
    near(word.last("attention_same_topic"), 0.034, 1e-3)
    near(word.last("loss"), 0.91161, 5e-6)
    topic = experiment("topic-branch-topic.cfg")
    near(topic.last("attention_same_topic"), 4.97, 5e-3)
    near(topic.last("attention_same_word"), 0.0019, 1e-4)
    near(topic.last("loss"), 0.96208, 5e-6)
    for run, sign in ((word, 1), (topic, -1)):
        gap = run["value_same_word"] - run["value_same_topic"]
        check(np.all(sign * gap > 0), "the sign changed")


def test_embeddings_encode_their_topic():
    run = experiment("topic-embedding.cfg")
    near(run.last("value_same_topic"), 0.1030, 5e-5)
    near(run.last("value_other_topic"), -0.0040, 5e-5)
    gap = run["value_same_word"] - run["value_same_topic"]
    check(np.allclose(gap, 1 / (1e4 + 8e-4 * run["time"]), rtol=1e-6), "gap")
    check(np.all(run["value_same_topic"][1:] > run["value_other_topic"][1:]), "order")


KINDS = ("value_same_word", "value_same_topic", "value_other_topic", "value_mask")


def expected_means(times, length, rate, T=10, v=10, tau=4, pm=0.15, pc=0.1, pr=0.1, l2=1e-4):
    """Returns class means of E W_V under value training from 0, which are linear: exact for SGD on
    documents of `length` words with learning rate `rate` (0: the flow). Ignores documents without
    selected positions, a fraction (1 - pm)^length."""
    n = T * v
    out = pm * pr / n
    inside = (1 - pm * (1 - pc)) / (tau * v) + out
    zz, xz, uu = np.zeros((n + 1, n + 1)), np.zeros((n, n + 1)), np.zeros((n, n))
    mean = np.zeros(n + 1)
    sets = list(itertools.combinations(range(T), tau))
    for topics in sets:
        present = np.repeat(np.isin(np.arange(T), topics), v)
        z = np.append(pm * (1 - pc - pr), np.where(present, inside, out))
        u = present / (tau * v)
        zz += np.outer(z, z) / len(sets)
        xz += np.outer(u, z) / len(sets)
        uu += np.outer(u, u) / len(sets)
        mean += z / len(sets)
    # Frequencies of a finite document vary, and a kept word predicts itself.
    zz += (np.diag(mean) - zz) / length
    xz[:, 1:] += pc / length * (np.eye(n) / n - uu)
    rates, basis = np.linalg.eigh(zz + l2 * np.eye(n + 1))
    end = xz @ basis / rates
    same = np.kron(np.eye(T), np.ones((v, v)))
    means = []
    for t in times:
        left = np.exp(-2 * rates * t) if rate == 0 else (1 - 2 * rate * rates)**round(t / rate)
        W = end * (1 - left) @ basis.T
        words = W[:, 1:]
        diagonal = np.trace(words)
        means.append([diagonal / n, ((words * same).sum() - diagonal) / (n * (v - 1)),
                      (words * (1 - same)).sum() / (n * (n - v)), W[:, 0].mean()])
    return dict(zip(KINDS, np.array(means).T))


def check_means(run, expected):
    """Checks that means over the runs lie within 6 standard errors: with 16 runs one of 32 numbers
    fails for one of 1300 seeds."""
    for name in KINDS:
        runs = run[name][:, 1:]
        error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
        z = (runs.mean(axis=0) - expected[name][1:]) / error
        check(np.all(np.abs(z) < 6), f"{name}: z = {z}")


def test_sgd_on_documents_differs_from_the_flow_by_order_1_over_length():
    run = experiment("topic-value-sgd.cfg", "--saves", 9)
    times = run["time"]
    check(run["value_same_word"].shape == (16, 9), run["value_same_word"].shape)
    exact = expected_means(times, 200, 2)
    check_means(run, exact)
    last = {name: run[name][:, -1].mean() for name in KINDS}
    near(last["value_same_topic"], 0.0994, 1.5e-4)
    near(last["value_same_word"] - last["value_same_topic"], 0.0237, 1e-3)
    near(last["value_other_topic"], -0.0026, 5e-5)
    near(last["value_mask"], 0.0250, 3e-4)
    error = run["value_same_topic"][:, -1].std(ddof=1) / 4
    near(error, 2e-5, 1e-5)

    # Compare with the program's flow; the difference falls as 1/length.
    flow = experiment("topic-value-sgd.cfg", "--mode", "flow", "--saves", 9)
    for name in KINDS:
        check(np.allclose(flow[name], expected_means(times, np.inf, 0)[name], atol=1e-8), name)
    near(flow.last("value_same_topic"), 0.1003, 5e-5)
    near(flow.last("value_mask"), 0.0539, 5e-5)
    near(flow.last("value_other_topic"), -0.0067, 5e-5)
    lengths = np.array([2e4, 4e4, 8e4])
    for name in KINDS:
        bias = [abs(expected_means([4000], length, 0)[name][0] - flow.last(name))
                for length in lengths]
        near(np.polyfit(np.log(lengths), np.log(bias), 1)[0], -1, 0.05)

    longer = experiment("topic-value-sgd.cfg", "--document-length", 2000, "--t-end", 1000, "--saves",
                        2, "--seed", 2)
    check_means(longer, expected_means(longer["time"], 2000, 2))
    near(expected_means([4000], 2000, 2)["value_same_topic"][0], 0.1005, 5e-5)
    near(expected_means([4000], 2000, 2)["value_mask"][0], 0.0486, 5e-5)


if __name__ == "__main__":
    run_all()
