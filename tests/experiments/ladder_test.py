#!/usr/bin/python3
# label: long
"""Checks that the comparisons of data/experiments give the verdicts that their configurations
claim."""

from experiment import check, experiment, near, np
from runs import run_all


def test_gaussian_noise_explains_the_error_of_the_flow():
    ladder = experiment("scb-ladder.cfg")
    for name in ("signal_V", "signal_A"):
        check(ladder.verdict("sgd", "flow", name) == "agree", name)
    # With 48 runs the means' errors are a tenth of their differences from the flow. The difference
    # of the excess loss is just above the margin, which is large because the loss's range covers
    # all of training.
    check(ladder.verdict("sgd", "flow", "distance_Q") == "differ", "distance_Q")
    for name in ("excess_loss", "distance_Q"):
        check(ladder.p_value("sgd", "flow", name) <= 0.05, name)
        missed = ladder.difference("sgd", "flow", name)[-1]
        check(missed > 5 * ladder.error("sgd", name)[-1], f"{name}: {missed}")
        for rung in ("sde", "gd"):
            left = abs(ladder.difference("sgd", rung, name)[-1])
            check(left < 0.5 * missed, f"{name}: {rung} is off by {left}, the flow by {missed}")
    near(ladder.mean("sgd", "excess_loss")[-1], 5.4e-4, 1e-4)
    near(ladder.mean("flow", "excess_loss")[-1], 3.7e-4, 1e-5)


def test_sgd_follows_the_full_flow_but_not_the_integrated_one():
    ladder = experiment("joma-figure2-ladder.cfg")
    check(ladder.verdict("sgd", "flow", "loss") == "agree", "loss")
    check(ladder.verdict("sgd", "flow", "effective_tokens") == "agree", "effective tokens")
    for name in ("loss", "attention_entropy", "effective_tokens"):
        check(ladder.verdict("sgd", "integrated", name) == "differ", name)
    early = np.argmin(np.abs(ladder.time - 105))
    near(ladder.mean("integrated", "attention_entropy")[early], 0.52, 0.05)
    near(ladder.mean("sgd", "attention_entropy")[early], 2.27, 0.05)
    # Finite contexts cause a bias.
    near(ladder.difference("sgd", "flow", "loss")[-1], 0.021, 0.003)


if __name__ == "__main__":
    run_all()
