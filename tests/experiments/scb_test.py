#!/usr/bin/python3
# label: fast
"""The claims of the experiments with scb, as numbers."""

from experiment import check, close, experiment, near, np
from runs import run_all


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


if __name__ == "__main__":
    run_all([test_two_stages, test_softmax_ends_at_the_same_pattern,
             test_transfer_skips_the_first_stage])
