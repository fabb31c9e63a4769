#!/usr/bin/python3
# label: fast
"""The claims of the experiments with scb, as numbers."""

import os

from experiment import SOURCE, check, close, command, experiment, near, np
from runs import Folder, popflow, run_all


def test_two_stages():
    run = experiment("scb-two-stages.cfg")
    # A few log T over the growth rate sqrt(kappa K_P).
    rate = np.sqrt(run.attributes["K_P"] * run.attributes["kappa"])
    check(0.5 < run.event("boosted") * rate / np.log(5000) < 2, "the time of boosting")
    check(run.event("boosted") < run.event("aligned") < run.event("fast_phase_end") < 50,
          "the order of events")
    check(run.at("excess_loss", 50) < 1e-4 * run["excess_loss"][0], "the fast phase")
    creep = run["time"] > 50
    product = (run["signal_V"] * run["signal_A"])[creep]
    check(np.all(np.abs(product - 1) < 0.02), "the hyperbola")
    close(run["signal_V"][-1], 1, 0.01)


def test_softmax_ends_at_the_same_pattern():
    softmax = experiment("scb-softmax.cfg")
    linear = experiment("scb-softmax.cfg", "--attention", "linear")
    close(softmax.event("boosted"), 2303, 0.01)
    close(linear.event("boosted"), 20.8, 0.01)
    check(softmax["signal_V"].max() > 4, "the overshoot of signal_V")
    check(linear["signal_V"].max() < 1.5, "no such overshoot with linear attention")
    # The support has nearly all of the attention, in equal parts, in both.
    for run, off in ((softmax, 1e-3), (linear, 1e-6)):
        check(np.all(run["A_support"][-1] > 0.4), "the support")
        check(np.all(np.abs(run["A_off"][-1]) < off), "off the support")
    check(np.all(softmax["A_off"] > 0), "softmax weights are positive")


def test_transfer_skips_the_first_stage():
    transfer = experiment("scb-transfer.cfg")
    scratch = experiment("scb-transfer.cfg", "--init-value", "stationary")
    close(transfer["signal_V"][0], 0.546, 0.002)
    check(abs(scratch["signal_V"][0]) < 1e-12, "signal_V from scratch")
    close(transfer.event("boosted"), 9.368, 0.002)
    close(scratch.event("boosted"), 41.15, 0.002)
    check(transfer["loss"][0] > scratch["loss"][0], "the start's loss")


def test_two_stage_training_finds_P_and_Q():
    run = experiment("scb-pretraining.cfg")
    close(run.event("stage2"), 26.89, 0.01)
    close(run.event("plateau"), 59.37, 0.01)
    check(run.last("excess_loss") < 1e-7, "the plateau")
    check(run.final["distance_Q_after"] < 1e-12, "Q is found by rounding")
    check(run.final["weights_kept"] == 20, "two positions of each query")
    near(run.final["distance_P_after"] / np.linalg.norm(run.problem["P"]), 0.015, 0.01)
    close(run.last("signal_V"), 0.975, 0.005)
    # The rest of the attention makes up for V.
    close(run.last("signal_A") * run.last("signal_V"), 1, 1e-3)
    check(np.all(run["A_off"][-1] < 0), "off the positions")


def test_fine_tuning_has_a_short_first_stage():
    with Folder() as folder:
        pretrained = os.path.join(folder, "pretrained.h5")
        popflow(*command("scb-pretraining.cfg"), "-o", pretrained, folder=SOURCE, code=0)
        tuned = experiment("scb-fine-tuning.cfg", "--init-from", pretrained, "--init-mix", 0.5)
    scratch = experiment("scb-fine-tuning.cfg")
    close(tuned.attributes["transfer_correlation"], 1.064, 0.002)
    close(tuned.first("signal_V"), 0.5 * tuned.attributes["transfer_correlation"], 1e-12)
    close(tuned.event("stage2"), 9.49, 0.01)
    close(scratch.event("stage2"), 41.15, 0.01)
    for run in (tuned, scratch):
        check("plateau" in run.events and run.final["distance_Q_after"] < 1e-12, "the end")
    close(tuned.final["distance_P_after"], 0.043, 0.05)
    close(scratch.final["distance_P_after"], 0.0168, 0.05)


if __name__ == "__main__":
    run_all([test_two_stage_training_finds_P_and_Q, test_fine_tuning_has_a_short_first_stage,
             test_two_stages, test_softmax_ends_at_the_same_pattern,
             test_transfer_skips_the_first_stage])
