#!/usr/bin/python3
# label: fast
"""Runs each configuration of joma in data/experiments as its first line says, and checks its
claim."""

import math

from experiment import check, experiment, np
from runs import run_all


def test_figure_4():
    run = experiment("joma-figure4.cfg")
    target = run.problem["target"][0]
    check(len(target) == 10 and np.all((target > 1) & (target < 4)), "targets")
    # The paper's iteration, implemented independently.
    v = np.full(10, 0.05)
    entropies = []
    for step in range(5001):
        p = np.exp(v * v / 3)
        p /= p.sum()
        if step % 25 == 0:
            entropies.append(-np.sum(p * np.log(p)))
        if step < 5000:
            v = v + 0.02 * (target - v) * p
    check(np.allclose(run["time"], np.arange(201) * 0.5), "times")
    check(np.allclose(run["v"][-1, 0], v, rtol=1e-9), "v at the end")
    entropy = run["attention_entropy"]
    check(np.allclose(entropy, entropies, rtol=1e-9), "entropy")
    # The entropy falls by more than half and rises again.
    low = int(np.argmin(entropy))
    at = run.event("entropy_minimum")
    check(0 < low < 200 and abs(run["time"][low] - at) <= 0.5, f"minimum at {at}")
    check(entropy[low] < 0.5 * entropy[0], f"{entropy[low]} does not dip")
    check(entropy[-1] > 1.2 * entropy[low], f"{entropy[-1]} does not bounce")
    # Tokens with larger targets pass 90% earlier.
    times = run["time_to_90"][0]
    order = np.argsort(-target)
    passed = times[order][np.isfinite(times[order])]
    check(len(passed) >= 3 and np.all(np.diff(passed) > 0), f"{times}")


def test_erf_law():
    run = experiment("joma-erf-law.cfg", code=4)
    check(run.status == "diverged", "status")
    drive = run.problem["drive"][0]
    erf = np.vectorize(math.erf)
    root2 = math.sqrt(2)
    law = np.min(math.sqrt(math.pi / 2) * (1 - erf(0.05 / root2)) / drive)
    check(abs(run.attributes["diverged_at"] / law - 1) < 1e-6, "time of the blow-up")
    check(abs(run.attributes["blow_up_time"] / law - 1) < 1e-13, "blow_up_time")
    done = int(run["saves_done"])
    check(done > 500, f"{done} saves")
    # The last save is left out, since erf(v) rounds to 1 there.
    time, v = run["time"][:done - 1], run["v"][:done - 1, 0]
    line = math.erf(0.05 / root2) + math.sqrt(2 / math.pi) * np.outer(time, drive)
    worst = np.max(np.abs(erf(v / root2) - line))
    check(worst < 1e-7, f"off the line by {worst}")
    check(np.all(np.diff(run["attention_entropy"][:done]) < 0), "the entropy rises")
    check(run["attention_entropy"][done - 1] < 1e-3, "attention is not on one token")


def test_salient_first():
    run = experiment("joma-salient-first.cfg")
    target = run.problem["target"][0]
    order = np.argsort(-target)
    times = run["time_to_90"][0][order]
    check(np.all(np.isfinite(times)) and np.all(np.diff(times) > 0), "not in order")
    check(np.nanmax(run["clock_spread"]) < 1e-8, "clocks differ")
    check(run["learned_min"][-1] > 0.95, "not learned")
    # Slopes of log|mu - v| between saves, where the distance is small but larger than the rounding
    # of v.
    time, v = run["time"], run["v"][:, 0]
    rates = []
    for l in order:
        distance = target[l] - v[:, l]
        near = np.flatnonzero((distance < 1e-2 * target[l]) & (distance > 1e-9))
        if len(near) < 3:
            continue
        slope = np.diff(np.log(distance[near])) / np.diff(time[near])
        rates.append((target[l], -slope[-1]))
    check(len(rates) >= 5, f"{len(rates)} rates")
    (mu_0, rate_0) = rates[0]
    for mu, rate in rates[1:]:
        expected = math.exp((mu_0 ** 2 - mu ** 2) / 2)
        check(abs(rate_0 / rate / expected - 1) < 0.03, f"mu {mu}: {rate_0 / rate}, not {expected}")


def test_tree():
    run = experiment("joma-tree.cfg")
    target, times = run.problem["target"][0], run["time_to_90"][0]
    levels = np.array([int(l).bit_length() for l in range(64)])
    check(len(target) == 64, "leaves")
    expected = np.where(levels == 0, 1, 0.5 * (1 + 0.8 ** (2 * levels)))
    check(np.allclose(target, expected, rtol=1e-15), "probabilities")
    check(np.all(np.isfinite(times)), "not all are learned")
    for level in range(7):
        check(np.ptp(times[levels == level]) <= 1e-12 * times.max(), f"level {level} differs")
    by_level = [times[levels == level][0] for level in range(7)]
    check(np.all(np.diff(by_level) > 0), f"{by_level}")
    check(by_level[-1] > 2 * by_level[0], f"{by_level}: near tokens are hardly sooner")


if __name__ == "__main__":
    run_all()
