#!/usr/bin/python3
# label: fast
"""The claims of data/experiments/markov-*.cfg, as numbers."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
from runs import Folder, attribute, check, h5py, np, popflow, run_all  # noqa: E402

EXPERIMENTS = os.path.join(os.environ["POPFLOW_SOURCE_DIR"], "data", "experiments")
SADDLE_ENERGY = -(1 + np.log(2)) / 2


class Run:
    """An experiment as its first line runs it, with what its file holds."""

    def __init__(self, name, *more):
        path = os.path.join(EXPERIMENTS, name + ".cfg")
        with open(path) as text:
            words = text.readline().split()
        check(words == ["#", "popflow", "run", "markov", "--config",
                        f"data/experiments/{name}.cfg"], f"{name}: first line {words}")
        with Folder() as folder:
            out = os.path.join(folder, "run.h5")
            popflow("run", "markov", "--config", path, *more, "-o", out, code=0)
            self.outcome = attribute(out, "outcome").rstrip("\0")
            self.entropy_rate = float(attribute(out, "entropy_rate"))
            self.stationary_entropy = float(attribute(out, "stationary_entropy"))
            with h5py.File(out) as file:
                self.data = {key: file[key][()] for key in file
                             if isinstance(file[key], h5py.Dataset)}
                self.p, self.q = file["problem/p"][()], file["problem/q"][()]
                happened = file["events"].get("time")  # no event is defined with a free bias
                self.settled = [] if happened is None else happened[np.isfinite(happened)]

    def first(self, name):
        return self.data[name][0]

    def last(self, name):
        return self.data[name][-1]


def near(found, expected, within=1e-6):
    check(abs(found - expected) <= within * max(1, abs(expected)),
          f"{found!r} is not {expected!r}")


def check_global(run):
    check(run.outcome == "global", run.outcome)
    near(run.last("loss"), run.entropy_rate)
    near(run.last("prob_0to1"), run.p)
    near(run.last("prob_1to0"), run.q)
    near(run.last("slope"), np.log((1 - run.p) * (1 - run.q) / (run.p * run.q)))


def check_local(run):
    check(run.outcome == "local", run.outcome)
    near(run.last("e"), 0)
    near(run.last("loss"), run.stationary_entropy)
    near(run.last("prob_0to1"), run.p / (run.p + run.q))
    near(run.last("prob_1to0"), run.q / (run.p + run.q))


def check_energy(run, expected):
    near(run.first("energy"), expected, 1e-3)
    check(np.ptp(run.data["energy"]) < 1e-7, "energy drifts")


def test_small_start_correlated():
    run = Run("markov-small-start-correlated")
    check_global(run)
    check_energy(run, -2.303)
    near(run.settled[0], 16.542, 1e-3)
    near(run.stationary_entropy, 0.673, 1e-3)
    near(run.entropy_rate, 0.545, 1e-3)
    # Until e has grown the loss stays up.
    early = run.data["time"] < 4
    check(np.all(run.data["loss"][early] > run.stationary_entropy - 0.02), "no plateau")


def test_small_start_alternating():
    run = Run("markov-small-start-alternating")
    check_local(run)
    near(run.stationary_entropy, 0.691, 1e-3)
    near(run.entropy_rate, 0.559, 1e-3)
    late = (run.data["time"] > 20) & (run.data["time"] < 60)
    rate = -np.polyfit(run.data["time"][late], np.log(run.data["e"][late]), 1)[0]
    near(rate, 0.244, 1e-3)
    w = run.last("w")
    pi_1 = run.p / (run.p + run.q)
    g_1 = pi_1 * (1 - pi_1) * (run.p + run.q - 1)
    near(rate, g_1 * (2 + 4 * w * abs(w)), 1e-4)


def test_left_of_saddle():
    run = Run("markov-left-of-saddle")
    check_local(run)
    check_energy(run, -1.168)
    check(run.first("energy") < SADDLE_ENERGY, "above the separatrix")
    near(np.max(run.data["w"]), -1.139, 1e-3)


def test_high_energy():
    run = Run("markov-high-energy")
    check_global(run)
    check_energy(run, 0.364)
    check(run.first("energy") > SADDLE_ENERGY, "below the separatrix")
    near(run.last("w"), -1.116, 1e-3)
    near(run.settled[0], 1.984, 1e-3)
    positive = run.data["slope"] > 0
    check(np.array_equal(positive, run.data["w"] > -np.sqrt(0.5)), "slope and side of the saddle")


def test_onegin():
    run = Run("markov-onegin")
    check_local(run)
    near(run.last("prob_0to1"), 0.432, 1e-3)
    near(run.last("excess_loss"), 0.156, 1e-3)
    learned = Run("markov-onegin", "--e0", 1.2, "--w0", -0.4)
    check_global(learned)


def test_a_free_bias_ends_alike():
    for name in ("small-start-correlated", "small-start-alternating", "left-of-saddle",
                 "high-energy"):
        optimal = Run("markov-" + name)
        free = Run("markov-" + name, "--bias", "free")
        check(free.outcome == optimal.outcome, f"{name}: {free.outcome}")
        near(free.last("loss"), optimal.last("loss"))


if __name__ == "__main__":
    run_all([test_small_start_correlated, test_small_start_alternating, test_left_of_saddle,
             test_high_energy, test_onegin, test_a_free_bias_ends_alike])
