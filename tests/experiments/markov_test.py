#!/usr/bin/python3
# label: fast
"""Checks the claims of data/experiments/markov-*.cfg as numbers."""

from experiment import check, close, experiment, near, np
from runs import run_all

SADDLE_ENERGY = -(1 + np.log(2)) / 2


def check_global(run):
    check(run.outcome == "global", run.outcome)
    near(run.last("loss"), run.attributes["entropy_rate"], 1e-6)
    near(run.last("prob_0to1"), run.problem["p"], 1e-6)
    near(run.last("prob_1to0"), run.problem["q"], 1e-6)
    p, q = run.problem["p"], run.problem["q"]
    near(run.last("slope"), np.log((1 - p) * (1 - q) / (p * q)), 1e-6)


def check_local(run):
    check(run.outcome == "local", run.outcome)
    near(run.last("e"), 0, 1e-6)
    near(run.last("loss"), run.attributes["stationary_entropy"], 1e-6)
    near(run.last("prob_0to1"), run.problem["p"] / (run.problem["p"] + run.problem["q"]), 1e-6)
    near(run.last("prob_1to0"), run.problem["q"] / (run.problem["p"] + run.problem["q"]), 1e-6)


def check_energy(run, expected):
    near(run.first("energy"), expected, 1e-3)
    check(np.ptp(run["energy"]) < 1e-7, "energy drifts")


def test_small_start_correlated():
    run = experiment("markov-small-start-correlated.cfg")
    check_global(run)
    check_energy(run, -2.303)
    close(run.event("loss_settled"), 16.542, 1e-3)
    near(run.attributes["stationary_entropy"], 0.673, 1e-3)
    near(run.attributes["entropy_rate"], 0.545, 1e-3)
    # The loss stays near its start until e has grown.
    early = run["time"] < 4
    check(np.all(run["loss"][early] > run.attributes["stationary_entropy"] - 0.02), "no plateau")


def test_small_start_alternating():
    run = experiment("markov-small-start-alternating.cfg")
    check_local(run)
    near(run.attributes["stationary_entropy"], 0.691, 1e-3)
    near(run.attributes["entropy_rate"], 0.559, 1e-3)
    late = (run["time"] > 20) & (run["time"] < 60)
    rate = -np.polyfit(run["time"][late], np.log(run["e"][late]), 1)[0]
    near(rate, 0.244, 1e-3)
    w = run.last("w")
    pi_1 = run.problem["p"] / (run.problem["p"] + run.problem["q"])
    g_1 = pi_1 * (1 - pi_1) * (run.problem["p"] + run.problem["q"] - 1)
    near(rate, g_1 * (2 + 4 * w * abs(w)), 1e-4)


def test_left_of_saddle():
    run = experiment("markov-left-of-saddle.cfg")
    check_local(run)
    check_energy(run, -1.168)
    check(run.first("energy") < SADDLE_ENERGY, "above the separatrix")
    near(np.max(run["w"]), -1.139, 1e-3)


def test_high_energy():
    run = experiment("markov-high-energy.cfg")
    check_global(run)
    check_energy(run, 0.364)
    check(run.first("energy") > SADDLE_ENERGY, "below the separatrix")
    near(run.last("w"), -1.116, 1e-3)
    close(run.event("loss_settled"), 1.984, 1e-3)
    positive = run["slope"] > 0
    check(np.array_equal(positive, run["w"] > -np.sqrt(0.5)), "slope and side of the saddle")


def test_onegin():
    run = experiment("markov-onegin.cfg")
    check_local(run)
    near(run.last("prob_0to1"), 0.432, 1e-3)
    near(run.last("excess_loss"), 0.156, 1e-3)
    learned = experiment("markov-onegin.cfg", "--e0", 1.2, "--w0", -0.4)
    check_global(learned)


def test_a_free_bias_reaches_the_same_minimum():
    for name in ("markov-small-start-correlated", "markov-small-start-alternating",
                 "markov-left-of-saddle", "markov-high-energy"):
        optimal = experiment(f"{name}.cfg")
        free = experiment(f"{name}.cfg", "--bias", "free")
        check(free.outcome == optimal.outcome, f"{name}: {free.outcome}")
        near(free.last("loss"), optimal.last("loss"), 1e-6)


def test_sgd_ends_in_both_basins():
    run = experiment("markov-sgd-basins.cfg")
    outcomes = run["outcome"]
    flow = experiment("markov-sgd-basins.cfg", "--mode", "flow")
    check(flow.outcome == "local", flow.outcome)
    reached = {word: outcomes == value for value, word in enumerate(run.words("outcome"))}
    check(10 <= reached["global"].sum() <= 40, f"{reached['global'].sum()} global")
    check(20 <= reached["local"].sum() <= 54, f"{reached['local'].sum()} local")
    check(reached["undecided"].sum() <= 3, f"{reached['undecided'].sum()} undecided")
    loss = run["loss"][:, -1]
    rate, entropy = run.attributes["entropy_rate"], run.attributes["stationary_entropy"]
    check(np.all(np.abs(loss[reached["global"]] - rate) < 0.1 * (entropy - rate)), "global loss")
    check(np.all(np.abs(loss[reached["local"]] - entropy) < 0.1 * (entropy - rate)), "local loss")
    # The flow's energy stays below the saddle's, and the energies of runs spread across it.
    check(np.max(flow["energy"]) < SADDLE_ENERGY, "the flow's energy")
    energy = run["energy"]
    check(np.ptp(energy[:, 0]) == 0 and np.std(energy[:, 10]) > 0.05, "energy does not spread")
    check(np.all(energy[reached["local"], -1] < SADDLE_ENERGY), "local above the separatrix")
    # With less noise all runs end where the flow ends.
    large = experiment("markov-sgd-basins.cfg", "--batch-size", 400, "--runs", 16)
    check(np.all(large["outcome"] == list(run.words("outcome")).index("local")), "large batches")


if __name__ == "__main__":
    run_all()
