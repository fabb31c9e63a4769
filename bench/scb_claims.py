#!/usr/bin/python3
"""The claims of the sparse contextual bigram's paper (Ren, Wang, Lee 2024) that take minutes or
hours, each as a table: what comes out, with its uncertainty.

  bench/scb_claims.py            all of them, in short forms of at most half an hour each
  bench/scb_claims.py l1 size    some of them
  bench/scb_claims.py --long     at the paper's sizes, where the short form is smaller

The program is build/release/popflow, or what POPFLOW_BINARY names. docs/scb-claims.md has the tables
and what to make of them.
"""

import argparse
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BINARY = os.environ.get("POPFLOW_BINARY", os.path.join(ROOT, "build", "release", "popflow"))


class Run:
    """The file of a run, read whole but for its states; kept under the name `keep`."""

    def __init__(self, *options, states=False, keep=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.h5")
            words = [BINARY, "run", "scb", *map(str, options), "--quiet", "-o", path]
            if not states:
                words += ["--state", "none"]
            began = time.monotonic()
            ended = subprocess.run(words, capture_output=True, text=True)
            self.wall = time.monotonic() - began
            if ended.returncode not in (0, 4):
                sys.exit(f"{' '.join(words)}\n{ended.stderr}")
            with h5py.File(path) as file:
                self.data = {name: item[()] for name, item in file.items()
                             if isinstance(item, h5py.Dataset)}
                self.attributes = dict(file.attrs)
                self.parameters = dict(file["parameters"].attrs)
                self.problem = {name: item[()] for name, item in file["problem"].items()
                                if isinstance(item, h5py.Dataset)}
                self.final = ({name: np.atleast_1d(item[()]) for name, item in file["final"].items()}
                              if "final" in file else {})
                kinds = file["events/kind"].attrs["flag_meanings"].split()
                self.events = [(kinds[k], float(t), int(r)) for k, t, r in
                               zip(file["events/kind"][()], file["events/time"][()],
                                   file["events/run"][()]) if k >= 0]
            if keep:
                shutil.move(path, keep)

    def __getitem__(self, name):
        return self.data[name]

    def times(self, event):
        return [t for name, t, _ in self.events if name == event]


def table(title, head, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def spread(values):
    """Mean and standard error."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return f"{values[0]:.3g}" if len(values) else "-"
    return f"{values.mean():.3g} ± {values.std(ddof=1) / math.sqrt(len(values)):.2g}"


def band(values):
    """Mean and range over runs."""
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return "-"
    return f"{values.mean():.3g} [{values.min():.3g}, {values.max():.3g}]"


def largest_stable_rate(options, end, rates, runs):
    """The largest learning rate at which all runs end below the loss they start from."""
    for rate in rates:
        run = Run(*options, "--mode", "sgd", "--learning-rate", rate, "--t-end", end, "--saves", 2,
                  "--runs", runs, "--seed", 77)
        if (run["status"] == 1).all() and (run["loss"][:, -1] < run["loss"][:, 0]).all():
            return rate
    return None


# ---- 1: l1 against plain SGD


def l1(long):
    """SGD in two stages against plain SGD, each at its largest stable learning rate, and what of the
    difference is due to the learning rate, the stages and l1: one at a time."""
    rows = []
    # T, S, B, runs, end in boosting times of the flow
    cells = [(500, S, B, 8, 4) for S in (2, 3) for B in (64, 128, 256)] + [(5000, 2, 64, 4, 2)]
    if long:
        cells = [(5000, S, B, 8, 4) for S in (2, 3) for B in (64, 128, 256)]
    for T, S, B, runs, times in cells:
        problem = ["--vocab-size", 3, "--context-length", T, "--sparsity", S,
                   "--transition-concentration", 0.3, "--problem-seed", 2, "--batch-size", B]
        flow = Run(*problem, "--coordinates", "support", "--saves", 2)
        end = times * flow.times("boosted")[0]
        rates = [1.6 / 2**k for k in range(0, 16)]
        # In stage 2 the attention's sums relax at rate T |mu|^2.
        bound = 2 / (T * float((flow.problem["mu"]**2).sum()))
        staged = ["--schedule", "two-stage"]
        plain_rate = largest_stable_rate(problem, end, rates, runs // 2)
        staged_rate = largest_stable_rate([*problem, *staged], end,
                                          [rate for rate in rates if rate < bound], runs // 2)
        cases = [("plain", [], plain_rate), ("plain", [], staged_rate),
                 ("two stages, l1 = 0", [*staged, "--l1", 0], staged_rate),
                 ("two stages", staged, staged_rate),
                 ("two stages, l1 = 0.01", [*staged, "--l1", 0.01], staged_rate)]
        for name, options, rate in cases:
            run = Run(*problem, *options, "--mode", "sgd", "--learning-rate", rate, "--t-end", end,
                      "--saves", 5, "--runs", runs, "--rounding", 1 / (4 * S))
            rows.append([T, S, B, name, rate, spread(run["excess_loss"][:, -1]),
                         *(band(run["distance_P"][:, save]) for save in (2, 4)),
                         *(band(run["distance_Q"][:, save]) for save in (2, 4)),
                         *(spread(run.final[item])
                           for item in ("distance_P_after", "distance_Q_after"))])
            print(rows[-1], file=sys.stderr, flush=True)
    table("1. N = 3; 8 runs to four times the flow's boosting time (T = 5000 in the short form: 4 runs "
          "to twice that): distances half-way and at the end, mean [least, most]",
          ["T", "S", "B", "training", "learning rate", "excess loss", "P half-way", "P", "Q half-way",
           "Q", "P, rounded and normalised", "Q, rounded and normalised"], rows)


# ---- 2: the slide along the valley


def growth(long):
    """With l1 and no early stop the distances grow after the loss has converged."""
    del long
    rows = []
    problem = ["--vocab-size", 10, "--context-length", 5000, "--coordinates", "support",
               "--schedule", "two-stage", "--plateau-time", 0, "--l1", 1e-4]
    for end in (50, 100, 200, 400, 800, 1600):
        run = Run(*problem, "--t-end", end, "--saves", 2)
        rows.append([end, f"{run['excess_loss'][-1]:.3g}", f"{run['distance_P'][-1]:.3g}",
                     f"{run['distance_Q'][-1]:.3g}", f"{run['signal_V'][-1]:.3f}",
                     f"{run['signal_A'][-1]:.3f}", *(f"{run.final[name][0]:.2g}" for name in
                                                     ("distance_P_after", "distance_Q_after"))])
    table("2. N = 10, T = 5000, lambda = 1e-4, the flow without early stop",
          ["t", "excess loss", "distance to P", "distance to Q", "signal_V", "signal_A",
           "P, rounded and normalised", "Q, rounded and normalised"], rows)
    rows = []
    for penalty in (0, None, 1e-5, 3e-5, 1e-4, 1e-3, 1e-2):
        run = Run(*problem[:-2], *([] if penalty is None else ["--l1", penalty]), "--t-end", 1000,
                  "--saves", 2001, states=True)
        time = run["time"]
        began = run.times("stage2")[0]
        off = np.any(run["A_off"] != 0, axis=1) & (time > began)
        still = time[~off & (time > began)]
        rows.append(["default" if penalty is None else penalty,
                     f"{still[still > time[off].max()][0] - began:.0f}"
                     if off.any() and (still > time[off].max()).any() else
                     "no" if off.any() else "throughout",
                     f"{run['excess_loss'][-1]:.2g}", f"{run['distance_P'][-1]:.3g}",
                     f"{run.final['distance_P_after'][0]:.2g}"])
    table("2. The same for several lambda, to t = 1000: how long after the beginning of stage 2 all "
          "attention off the positions rests at zero",
          ["lambda", "rests after", "excess loss", "distance to P", "P, rounded and normalised"],
          rows)


# ---- 3: the paper's sizes


def size(long, T=100000, vocabularies=(100, 500), rates=(0.05, 0.001)):
    """Population gradient plus isotropic noise, and sampled SGD: each stage at a learning rate of its
    own, the second from the first one's end."""
    del long
    rows = []
    noise = ["--mode", "sde", "--method", "gradient_descent", "--noise", "isotropic", "--noise-scale",
             1e-4]
    cases = [(f"noise, N = {N}", N, noise, rates[0]) for N in vocabularies]
    cases.append((f"SGD, B = 64, N = {vocabularies[0]}", vocabularies[0],
                  ["--mode", "sgd", "--batch-size", 64], rates[1]))
    for name, N, options, rate in cases:
        problem = ["--vocab-size", N, "--context-length", T, "--sparsity", 2,
                   "--transition-concentration", 0.1, "--rounding", 0.125]
        flow = Run(*problem, "--coordinates", "support", "--saves", 2)
        boosted = flow.times("boosted")[0]
        # Stage 2 is stable below 2 / (T |mu|^2).
        second_rate = 0.8 * 2 / (T * float((flow.problem["mu"]**2).sum()))
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "stage1.h5")
            stages = [("1", [], rate, 1.15 * boosted, kept),
                      ("2", ["--schedule", "two-stage", "--init-from", kept], second_rate, 20, None)]
            for stage, schedule, eta, end, keep in stages:
                run = Run(*problem, *options, *schedule, "--learning-rate", eta, "--t-end", end,
                          "--saves", 5, keep=keep)
                steps = int(run["step"][-1])
                found = run.times("boosted")
                rows.append([name, stage, f"{eta:.3g}", steps, f"{run.wall / 60:.1f} min",
                             f"{1e3 * run.wall / steps:.1f} ms", f"{boosted:.1f}",
                             f"{found[0]:.1f}" if found else "not reached",
                             *(f"{run[item][0, -1]:.3g}" for item in
                               ("excess_loss", "distance_P", "distance_Q")),
                             *(f"{run.final[item][0]:.3g}" for item in
                               ("distance_P_after", "distance_Q_after"))])
                print(rows[-1], file=sys.stderr, flush=True)
                if not found:
                    break
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    table(f"3. T = {T}; peak memory {peak:.2f} GiB",
          ["what", "stage", "learning rate", "steps", "wall time", "a step", "flow: boosted at t",
           "boosted at t", "excess loss", "distance to P", "distance to Q",
           "P, rounded and normalised", "Q, rounded and normalised"], rows)


# ---- 4: sample complexity


def half_success(hits, batches, trials):
    """log2 of the batch size at which half of the runs succeed, and its standard error; None where
    the scan does not go from failure to success.

    Spearman and Karber's estimate, which needs no model of the curve: the mean of the distribution
    whose shares below each batch size are the shares of successes. A transition between two
    neighbours is known to their distance only: a uniform distribution's variance is added.
    """
    x = np.log2(np.asarray(batches, float))
    p = np.asarray(hits, float) / trials
    if p[0] > 0.25 or p[-1] < 0.9:
        return None
    p = np.maximum.accumulate(p)
    p[0], p[-1] = 0, 1
    middle = ((p[1:] - p[:-1]) * (x[1:] + x[:-1]) / 2).sum()
    variance = (((x[2:] - x[:-2]) / 2)**2 * p[1:-1] * (1 - p[1:-1])).sum() / (trials - 1)
    return middle, math.sqrt(variance + np.max(x[1:] - x[:-1])**2 / 12)


def exponent(lengths, halves):
    """The power of T, by weighted least squares, with its standard error."""
    known = [(length, *half) for length, half in zip(lengths, halves) if half is not None]
    if len(known) < 3:
        return "too few lengths for an exponent"
    x = np.log2([length for length, _, _ in known])
    y = np.array([middle for _, middle, _ in known])
    w = 1 / np.array([error for _, _, error in known])**2
    x = x - (w * x).sum() / w.sum()
    error = 1 / math.sqrt((w * x * x).sum())
    return f"of order T^({(w * x * y).sum() * error**2:.2f} ± {error:.2f})"


def samples(long):
    """The batch size at which half of the runs succeed, against T."""
    trials = 64 if long else 32
    lengths = (50, 200, 800, 3200, 12800) if long else (50, 200, 800, 3200)
    base = ["--vocab-size", 3, "--sparsity", 2, "--transition-concentration", 0.3,
            "--problem-seed", 2, "--rounding", 0.125, "--saves", 2]

    def pattern(run):
        """Rounding finds the positions, with their weights."""
        return run.final["distance_Q_after"] < 0.1 * np.linalg.norm(run.problem["Q"])

    def scan(title, criteria, batches, prepare):
        """Raises the batch size until all criteria are met by all runs, twice."""
        counts = {criterion: [] for criterion in criteria}
        tried = []
        for T in lengths:
            options = prepare(T)
            hits = {criterion: [] for criterion in criteria}
            certain = 0
            for B in batches:
                run = Run(*options, "--mode", "sgd", "--batch-size", B, "--runs", trials)
                for criterion, met in criteria.items():
                    hits[criterion].append(int((met(run) & (run["status"] == 1)).sum()))
                print(title, T, B, [of[-1] for of in hits.values()], file=sys.stderr, flush=True)
                certain = certain + 1 if all(h[-1] == trials for h in hits.values()) else 0
                if certain == 2:
                    break
            tried.append(batches[:len(hits[criterion])])
            for criterion in criteria:
                counts[criterion].append(hits[criterion])
        for criterion in criteria:
            halves = [half_success(hits, of, trials) for hits, of in zip(counts[criterion], tried)]
            rows = []
            for T, hits, half in zip(lengths, counts[criterion], halves):
                rows.append([T, *hits, *["-"] * (len(batches) - len(hits)), "not in this range"
                             if half is None else f"{2**half[0]:.3g} "
                             f"[{2**(half[0] - 1.96 * half[1]):.3g}, "
                             f"{2**(half[0] + 1.96 * half[1]):.3g}]"])
            table(f"4. {title}: {criterion}. Successes of {trials}; half at a batch size "
                  f"{exponent(lengths, halves)}",
                  ["T", *(f"B = {B}" for B in batches), "half succeed at B"], rows)

    fast = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128]

    def stage1(T):
        problem = [*base, "--context-length", T]
        boosted = Run(*problem, "--coordinates", "support").times("boosted")[0]
        return [*problem, "--learning-rate", 0.02, "--t-end", 1.5 * boosted]

    def halved(run):
        return run["excess_loss"][:, -1] < 0.5 * run["excess_loss"][:, 0]

    scan("Stage 1, to 1.5 times the flow's boosting time",
         {"the excess loss is halved": halved, "rounding finds Q": pattern}, fast, stage1)

    with tempfile.TemporaryDirectory() as folder:
        def flow_to(T, name, *options):
            path = os.path.join(folder, f"{name}-{T}.h5")
            subprocess.run([BINARY, "run", "scb", *map(str, [*base, "--context-length", T, *options]),
                            "--quiet", "-o", path], check=True, capture_output=True)
            return path

        def stage2(T):
            schedule = ["--schedule", "two-stage"]
            switch = Run(*base, "--context-length", T, *schedule, "--coordinates", "support", "--t-end",
                         100).times("stage2")[0]
            start = flow_to(T, "stage2", *schedule, "--t-end", switch + 0.05)
            return [*base, "--context-length", T, *schedule, "--init-from", start,
                    "--learning-rate", 0.001, "--t-end", 20]

        def near_P(run):
            return run.final["distance_P_after"] < 0.1 * np.linalg.norm(run.problem["P"])

        scan("Stage 2 from the flow's thresholded state, for 20 units of time",
             {"P to 10% and Q, rounded and normalised": lambda run: pattern(run) & near_P(run),
              "rounding finds Q": pattern}, [1, 2, 3, 4, 6, 8, 12, 16, 24], stage2)

        def transfer(T):
            # V = P up to its mixture with mu 1': what a pretraining on the same chain would hand on.
            pretrained = flow_to(T, "pretrained", "--coordinates", "support")
            return [*base, "--context-length", T, "--init-from", pretrained, "--init-mix", 0.7,
                    "--learning-rate", 0.02, "--t-end", 20]

        scan("Transfer (theta = 0.7), for 20 units of time",
             {"the excess loss is halved": halved, "rounding finds Q": pattern}, fast, transfer)


# ---- transfer


def transfer(long):
    """From another chain's trained V: what it is correlated with, and when stage 1 ends."""
    rows = []
    seeds = range(1, 21 if long else 9)
    T = 5000 if long else 1000
    base = ["--vocab-size", 10, "--context-length", T, "--sparsity", 2,
            "--transition-concentration", 0.1, "--saves", 2]
    noisy = ["--mode", "sgd", "--batch-size", 64, "--learning-rate", 0.02, "--runs", 4]

    def boosted(run):
        """The first passages of all runs; a run that has none counts at its end."""
        times = run.times("boosted")
        runs = len(np.atleast_1d(run["saves_done"]))
        return np.mean(times + [run["time"][-1]] * (runs - len(times)))

    for share in (0, 0.5, 0.75, 1):
        found = []
        for seed in seeds:
            with tempfile.TemporaryDirectory() as folder:
                names = {name: os.path.join(folder, name + ".h5") for name in
                         ("before", "other", "downstream")}
                for name, number in (("before", seed), ("other", 1000 + seed)):
                    subprocess.run([BINARY, "run", "scb", *map(str, base), "--problem-seed",
                                    str(number), "--coordinates", "support", "--quiet", "-o",
                                    names[name]], check=True, capture_output=True)
                # A chain that has a part of the other's transitions, and positions of its own.
                with h5py.File(names["before"]) as before, h5py.File(names["other"]) as other, \
                        h5py.File(names["downstream"], "w") as downstream:
                    downstream["P"] = ((1 - share) * before["problem/P"][()]
                                       + share * other["problem/P"][()])
                    for name in ("Q_position", "Q_value"):
                        downstream[name] = other["problem"][name][()]
                    downstream.attrs["context_length"] = T
                problem = ["--problem", names["downstream"], "--saves", 2]
                start = ["--init-from", names["before"], "--init-mix", 0.5]
                flow = {key: Run(*problem, *options, "--coordinates", "support", "--t-end", 500)
                        for key, options in (("scratch", []), ("tuned", start))}
                end = 2 * boosted(flow["scratch"])
                sgd = {key: Run(*problem, *options, *noisy, "--t-end", end)
                       for key, options in (("scratch", []), ("tuned", start))}
                found.append((flow["tuned"].attributes["transfer_correlation"],
                              boosted(flow["scratch"]), boosted(flow["tuned"]),
                              boosted(flow["tuned"]) / boosted(flow["scratch"]),
                              boosted(sgd["scratch"]), boosted(sgd["tuned"])))
        rows.append([share, *(spread(values) for values in zip(*found))])
    table(f"Transfer, theta = 1/2, N = 10, T = {T}, {len(seeds)} pairs of chains: mean time at which "
          "the signals are boosted",
          ["share of new transitions", "tr(V'P Sigma)/K_P", "flow, scratch", "flow, transfer",
           "their ratio", "SGD, scratch", "SGD, transfer"], rows)


# ---- 5: softmax


def softmax(long):
    """Softmax and linear attention come to the same pattern; softmax needs no l1."""
    rows, noisy = [], []
    for T in (100, 400, 1600) if long else (100, 400):
        problem = ["--vocab-size", 5, "--context-length", T, "--sparsity", 2,
                   "--transition-concentration", 0.3, "--saves", 2]
        rounding = ["--rounding", 0.125]
        ends = {}
        for name in ("linear", "softmax"):
            options = [*problem, "--attention", name, "--coordinates", "support",
                       *(rounding if name == "linear" else [])]
            boosted = Run(*options)
            ends[name] = 3 * boosted.times("boosted")[0]
            run = Run(*options, "--t-end", 30 * boosted.parameters["t-end"])
            rows.append([T, name, f"{boosted.times('boosted')[0]:.4g}", f"{run['time'][-1]:.3g}",
                         *(f"{run[item][-1]:.3g}" for item in
                           ("excess_loss", "distance_P", "distance_Q")),
                         f"{run.final['distance_Q_after'][0]:.3g}" if run.final else "-"])
        if T > 400:
            continue
        for name, options, rate in (
                ("linear", rounding, 0.02),
                ("linear, two stages, l1", [*rounding, "--schedule", "two-stage"], 0.002),
                ("softmax", ["--attention", "softmax"], 0.2)):
            end = ends["softmax" if name == "softmax" else "linear"]
            run = Run(*problem, *options, "--mode", "sgd", "--batch-size", 64, "--learning-rate",
                      rate, "--t-end", end, "--runs", 8, states=True)
            A = np.abs(run["A"][:, -1])
            share = (A * (run.problem["Q"] > 0)).sum(axis=1) / A.sum(axis=1)
            noisy.append([T, name, rate, f"{end:.4g}", spread(run["excess_loss"][:, -1]),
                          spread(share.mean(axis=1)),
                          spread(run["distance_P"][:, -1]), spread(run["distance_Q"][:, -1]),
                          *(spread(run.final[item]) if run.final else "-"
                            for item in ("distance_Q_after", "weights_kept"))])
    table("5. N = 5, the flow, without l1",
          ["T", "attention", "boosted at t", "end", "excess loss", "distance to P", "distance to Q",
           "Q, rounded and normalised"], rows)
    table("5. N = 5, SGD with B = 64, 8 runs, to three times the flow's boosting time; 10 weights are "
          "right",
          ["T", "attention", "learning rate", "end", "excess loss", "share of |A| where Q is",
           "distance to P", "distance to Q", "Q, rounded and normalised", "weights kept"], noisy)


# ---- 6: uniform and stationary starts


def start(long):
    """Uniform against stationary start: the largest differences along the flow, and in sampled SGD
    on the same samples."""
    rows, points = [], {}
    seeds = range(1, 41 if long else 13)
    for N in (5, 10, 20, 40, 80, 160) if long else (5, 10, 20, 40, 80):
        found = {}
        for seed in seeds:
            problem = ["--vocab-size", N, "--context-length", 100, "--problem-seed", seed,
                       "--saves", 101]
            end = 2 * Run(*problem, "--coordinates", "support").times("boosted")[0]
            for name, options in (
                    ("flow", ["--coordinates", "support", "--rtol", 1e-11]),
                    ("no projection", ["--project", "none", "--rtol", 1e-9]),
                    ("SGD", ["--mode", "sgd", "--batch-size", 64, "--learning-rate", 0.05])):
                pair = [Run(*problem, *options, "--t-end", end, "--init-value", word)
                        for word in ("stationary", "uniform")]
                for item in ("signal_V", "excess_loss"):
                    difference = np.abs(pair[0][item] - pair[1][item]).max()
                    found.setdefault((name, item), []).append(difference)
        rows.append([N, *(spread(values) for values in found.values())])
        for key, values in found.items():
            points.setdefault(key, []).append((N, values))
    powers = []
    for key, of in points.items():
        if max(max(values) for _, values in of) < 1e-10:
            powers.append("none")
            continue
        x = np.log2([N for N, _ in of])
        y = np.array([np.log2(np.mean(values)) for _, values in of])
        w = np.array([len(values) * (np.mean(values) / np.std(values, ddof=1))**2
                      for _, values in of])
        x = x - (w * x).sum() / w.sum()
        error = 1 / math.sqrt((w * x * x).sum()) / math.log(2)
        powers.append(f"{(w * x * y).sum() / (w * x * x).sum():.2f} ± {error:.2f}")
    rows.append(["power of N", *powers])
    table(f"6. T = 100, {len(seeds)} problems each, to twice the boosting time: largest difference "
          "between the two starts", ["N", *(f"{name}: {item}" for name, item in points)], rows)


CLAIMS = {"l1": l1, "growth": growth, "size": size, "samples": samples, "transfer": transfer,
          "softmax": softmax, "start": start}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", choices=[*CLAIMS, []], metavar="claim",
                        help=", ".join(CLAIMS))
    parser.add_argument("--long", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.claims or CLAIMS:
        began = time.monotonic()
        CLAIMS[name](arguments.long)
        print(f"\n({name}: {time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
