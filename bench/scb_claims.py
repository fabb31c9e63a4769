#!/usr/bin/python3
"""Measures long tables for the claims of the paper on sparse contextual bigrams.

The paper is by Ren, Wang and Lee (2024). The verdicts are in docs/claims.md; these tables have the
numbers with their uncertainties.

  bench/scb_claims.py            all of them, in short forms of at most half an hour each
  bench/scb_claims.py l1 size    some of them
  bench/scb_claims.py --long     at the paper's sizes, where the short form is smaller

docs/scb-claims.md has the tables and their interpretation. Maps are sweeps. Work that
depends on the end of another run (a transfer, a second stage, the next learning rate) is done by
single runs.
"""

import argparse
import os
import resource
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [ROOT, os.path.join(ROOT, "python")]
from claims.scb.common import SMALL, SUPPORT, TWO_STAGES, completed, noisy  # noqa: E402

import popflow  # noqa: E402
from popflow.analysis import Estimate  # noqa: E402


def table(title, head, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(map(cell, row)) + " |", flush=True)


def cell(value):
    if isinstance(value, (str, int, np.integer)):
        return str(value)
    return f"{float(value):.3g}" if abs(float(value)) < 1000 else f"{float(value):.0f}"


def mean(values):
    """Returns mean and standard error of the finite values."""
    values = np.ravel(values)[np.isfinite(np.ravel(values))]
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Estimate(values.mean() if len(values) else np.nan, error)


def spread(values):
    found = mean(values)
    return f"{found.value:.3g} ± {found.error:.2g}"


def band(values):
    """Returns mean, minimum and maximum as text."""
    return f"{np.nanmean(values):.3g} [{np.nanmin(values):.3g}, {np.nanmax(values):.3g}]"


def pick(data, *names):
    """Returns the last values of a run's variables."""
    return [float(np.ravel(data[name])[-1]) for name in names]


# ---- 1: l1 against plain SGD


def largest_stable_rates(batch_sizes, rates, **options):
    """Returns, per batch size, the largest learning rate at which all runs end below their initial
    loss."""
    found = {}
    for rate in rates:
        left = [size for size in batch_sizes if size not in found]
        if left:
            tried = noisy({"batch_size": left}, learning_rate=rate, saves=2, seed=77, **options)
            fell = completed(tried) & (tried.loss[..., -1] < tried.loss[..., 0])
            found.update({size: rate for size in left if fell.sel(batch_size=size).all()})
    return found


def l1(long, cells=((500, 2, (64, 128, 256), 8, 4), (500, 3, (64, 128, 256), 8, 4),
                    (5000, 2, (64,), 4, 2))):
    """Compares two-stage SGD with plain SGD, each at its largest stable learning rate.

    Then changes learning rate, stages and l1 one at a time, to attribute the difference.
    """
    if long:
        cells = [(5000, S, (64, 128, 256), 8, 4) for S in (2, 3)]
    rows = []
    for T, S, batch_sizes, runs, times in cells:
        problem = {**SMALL, "context_length": T, "sparsity": S}
        flow = popflow.run("scb", **problem, **SUPPORT, saves=2)
        length = {**problem, "t_end": times * flow.time_of.boosted}
        # In stage 2 the sums of the attention weights relax at rate T |mu|^2.
        bound = 2 / (T * float((flow.popflow.group("problem").mu**2).sum()))
        rates = [1.6 / 2**k for k in range(16)]
        plain = largest_stable_rates(batch_sizes, rates, runs=runs // 2, **length)
        staged = largest_stable_rates(batch_sizes, [rate for rate in rates if rate < bound],
                                      runs=runs // 2, **length, **TWO_STAGES)
        paper = 0.01 * flow.attrs["K_P"] / (S**2 * 3**3)
        cases = [case for B in batch_sizes for case in (
            (B, "plain", "plain", 0, plain[B]), (B, "plain", "plain", 0, staged[B]),
            (B, "two stages, l1 = 0", "two-stage", 0, staged[B]),
            (B, "two stages", "two-stage", paper, staged[B]),
            (B, "two stages, l1 = 0.01", "two-stage", 0.01, staged[B]))]
        sizes, names, schedules, penalties, rates = zip(*cases)
        found = noisy({"case": {"batch_size": sizes, "schedule": schedules, "l1": penalties,
                                    "learning_rate": rates}},
                          saves=5, runs=runs, rounding=1 / (4 * S), **length)
        for case, (size, name, rate) in enumerate(zip(sizes, names, rates)):
            of = found.isel(case=case)
            rows.append([T, S, size, name, f"{rate:g}", spread(of.excess_loss[:, -1]),
                         *(band(of[item][:, save]) for item in ("distance_P", "distance_Q")
                           for save in (2, 4)),
                         spread(of.distance_P_after), spread(of.distance_Q_after)])
    table("1. N = 3; 8 runs to four times the flow's boosting time (T = 5000 in the short form: 4 "
          "runs to twice that): distances half-way and at the end, mean [least, most]",
          ["T", "S", "B", "training", "learning rate", "excess loss", "P half-way", "P",
           "Q half-way", "Q", "P, rounded and normalised", "Q, rounded and normalised"], rows)


# ---- 2: the slide along the valley


def growth(long, ends=(50, 100, 200, 400, 800, 1600), saves=2001):
    """Measures how the distances grow after the loss has converged, with l1 and no early stop."""
    del long
    problem = {"vocab_size": 10, "context_length": 5000, "plateau_time": 0, **SUPPORT, **TWO_STAGES}
    items = ["excess_loss", "distance_P", "distance_Q", "signal_V", "signal_A", "distance_P_after",
             "distance_Q_after"]
    found = popflow.sweep("scb", {"t_end": ends}, l1=1e-4, state="none", **problem)
    table("2. N = 10, T = 5000, lambda = 1e-4, the flow without early stop",
          ["t", *items], [[end, *(found[item].sel(t_end=end) for item in items)] for end in ends])
    rows = []
    for penalty in (0, None, 1e-5, 3e-5, 1e-4, 1e-3, 1e-2):
        run = popflow.run("scb", **problem, l1=penalty, t_end=1000, saves=saves,
                          save_spacing="linear")
        stage2 = run.sel(time=run.time > run.time_of.stage2)
        moving = (stage2.A_off != 0).any("query").values
        last = np.flatnonzero(moving)
        rests = ("throughout" if len(last) == 0 else "no" if moving[-1] else
                 f"{float(stage2.time[last[-1] + 1]) - run.time_of.stage2:.0f}")
        rows.append(["default" if penalty is None else f"{penalty:g}", rests,
                     *pick(run, "excess_loss", "distance_P"),
                     *pick(run.popflow.group("final"), "distance_P_after")])
    table("2. The same for several lambda, to t = 1000: how long after the beginning of stage 2 "
          "all attention off the positions rests at zero",
          ["lambda", "rests after", "excess loss", "distance to P", "P, rounded and normalised"],
          rows)


# ---- 3: the paper's sizes


def size(long, T=100000, vocabularies=(100, 500), rates=(0.05, 0.001)):
    """Runs the population gradient with isotropic noise, and sampled SGD, at the paper's sizes.

    Each stage has its own learning rate; stage 2 starts at the end of stage 1.
    """
    del long
    noise = {"mode": "sde", "method": "gradient_descent", "noise": "isotropic", "noise_scale": 1e-4}
    cases = [(f"noise, N = {N}", N, noise, rates[0]) for N in vocabularies]
    cases.append((f"SGD, B = 64, N = {vocabularies[0]}", vocabularies[0],
                  {"mode": "sgd", "batch_size": 64}, rates[1]))
    rows = []
    for name, N, options, first in cases:
        problem = {"vocab_size": N, "context_length": T, "sparsity": 2,
                   "transition_concentration": 0.1, "rounding": 0.125}
        flow = popflow.run("scb", **problem, **SUPPORT, saves=2)
        boosted, start = flow.time_of.boosted, {}
        # Stage 2 is stable below 2 / (T |mu|^2).
        second = 1.6 / (T * float((flow.popflow.group("problem").mu**2).sum()))
        for stage, rate, end in ((1, first, 1.15 * boosted), (2, second, 20)):
            began = time.monotonic()
            run = noisy(**problem, **options, **start, learning_rate=rate, t_end=end, saves=5,
                        state="ends" if stage == 1 else "none")
            wall, steps = time.monotonic() - began, int(run.step[-1])
            found = float(run.time_of.boosted[0])
            rows.append([name, stage, rate, steps, f"{wall / 60:.1f} min",
                         f"{1e3 * wall / steps:.1f} ms", boosted,
                         "not reached" if np.isnan(found) else f"{found:.1f}",
                         *pick(run, "excess_loss", "distance_P", "distance_Q"),
                         *pick(run.popflow.group("final"), "distance_P_after", "distance_Q_after")])
            if np.isnan(found):
                break
            start = {**TWO_STAGES, "init_from": run.popflow.path}
    # At least the memory of this script, since a forked child starts as a copy of it.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    table(f"3. T = {T}; peak memory {peak:.2f} GiB",
          ["what", "stage", "learning rate", "steps", "wall time", "a step", "flow: boosted at t",
           "boosted at t", "excess loss", "distance to P", "distance to Q",
           "P, rounded and normalised", "Q, rounded and normalised"], rows)


# ---- 5: transfer


def transfer(long, T=1000, pairs=8, shares=(0, 0.5, 0.75, 1)):
    """Starts from another chain's trained V; reports its correlations and when stage 1 ends."""
    T, pairs = (5000, 20) if long else (T, pairs)
    base = {"vocab_size": 10, "context_length": T, "sparsity": 2, "transition_concentration": 0.1,
            "saves": 2}
    sampled = {"batch_size": 64, "learning_rate": 0.02, "runs": 4}

    def boosted(run):
        """Returns the mean first-passage time; a run without a passage counts with its end time.

        Diverged runs are left out, since divergence can fake a passage.
        """
        times = np.nan_to_num(run.time_of.boosted, nan=float(run.time[-1]))
        if "run" in run.dims:
            times = times[completed(run)]
        return float(np.mean(times)) if np.size(times) else np.nan

    def pair(seed, share):
        """Learns a chain from scratch and from another chain's V.

        The chains share a part of their transitions and differ in their positions.
        """
        before, other = (popflow.run("scb", **base, **SUPPORT, problem_seed=number)
                         for number in (seed, 1000 + seed))
        theirs, own = (run.popflow.group("problem") for run in (before, other))
        problem = {"P": (1 - share) * theirs.P + share * own.P, "Q_value": own.Q_value,
                   "Q_position": own.Q_position, "context_length": T}
        tuned = {"init_from": before.popflow.path, "init_mix": 0.5}
        flow = [popflow.run("scb", problem=problem, saves=2, t_end=500, **SUPPORT, **start)
                for start in ({}, tuned)]
        if np.isnan(flow[1].time_of.boosted):
            return None
        end = 2 * boosted(flow[0])
        noise = [noisy(problem=problem, saves=2, t_end=end, **sampled, **start)
                 for start in ({}, tuned)]
        times = [boosted(run) for run in (*flow, *noise)]
        return [flow[1].attrs["transfer_correlation"], *times[:2], times[1] / times[0], *times[2:],
                *(int((run.popflow.words("status") == "diverged").sum()) for run in noise)]

    rows = []
    for share in shares:
        found = [pair(seed, share) for seed in range(1, 1 + pairs)]
        *numbers, scratch, tuned = zip(*(values for values in found if values))
        rows.append([f"{share:g}", found.count(None), *map(spread, numbers),
                     f"{sum(scratch)}, {sum(tuned)}"])
    table(f"5. Transfer, theta = 1/2, N = 10, T = {T}, {pairs} pairs of chains: mean time at which "
          "the signals are boosted; pairs that go to (-P, -Q) are left out",
          ["share of new transitions", "pairs left out", "tr(V'P Sigma)/K_P", "flow, scratch",
           "flow, transfer", "their ratio", "SGD, scratch", "SGD, transfer",
           "runs of SGD diverged"], rows)


# ---- 4: softmax


def softmax(long, lengths=(100, 400), runs=8):
    """Compares the patterns that softmax (without l1) and linear attention learn."""
    rows, sampled = [], []
    rounding = {"rounding": 0.125}
    for T in (100, 400, 1600) if long else lengths:
        problem = {"vocab_size": 5, "context_length": T, "sparsity": 2,
                   "transition_concentration": 0.3, "saves": 2}
        ends = {}
        for name, options in (("linear", rounding), ("softmax", {})):
            options = {**problem, **SUPPORT, "attention": name, **options}
            short = popflow.run("scb", **options)
            long_run = popflow.run("scb", **options, t_end=30 * short.popflow.parameters["t_end"])
            ends[name] = 3 * short.time_of.boosted
            rows.append([T, name, short.time_of.boosted, long_run.time[-1],
                         *pick(long_run, "excess_loss", "distance_P", "distance_Q")])
        if T > 400:
            continue
        for name, options, rate in (("linear", rounding, 0.02),
                                    ("linear, two stages", {**rounding, **TWO_STAGES}, 0.002),
                                    ("softmax", {"attention": "softmax"}, 0.2)):
            end = ends["softmax" if name == "softmax" else "linear"]
            run = noisy(**problem, **options, batch_size=64, learning_rate=rate, t_end=end,
                        runs=runs, state="ends")
            A, Q = np.abs(run.A[:, -1]), run.popflow.group("problem").Q
            share = A.where(Q > 0, 0).sum("position") / A.sum("position")
            sampled.append([T, name, rate, end, spread(run.excess_loss[:, -1]),
                          spread(share.mean("query")), spread(run.distance_P[:, -1]),
                          spread(run.distance_Q[:, -1])])
    table("4. N = 5, the flow, without l1",
          ["T", "attention", "boosted at t", "end", "excess loss", "distance to P",
           "distance to Q"], rows)
    table("4. N = 5, SGD with B = 64, 8 runs, to three times the flow's boosting time",
          ["T", "attention", "learning rate", "end", "excess loss", "share of |A| where Q is",
           "distance to P", "distance to Q"], sampled)


CLAIMS = {"l1": l1, "growth": growth, "size": size, "transfer": transfer, "softmax": softmax}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", choices=[*CLAIMS, []], metavar="claim",
                        help=", ".join(CLAIMS))
    parser.add_argument("--long", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.claims or CLAIMS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            popflow.folder(folder)
            CLAIMS[name](arguments.long)
        print(f"\n({name}: {time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
