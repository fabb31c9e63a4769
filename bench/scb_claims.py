#!/usr/bin/python3
"""The claims of the sparse contextual bigram's paper (Ren, Wang, Lee 2024) that take minutes or
hours, each as a table: what comes out, with its uncertainty.

  bench/scb_claims.py            all of them, in short forms of some minutes each
  bench/scb_claims.py l1 size    some of them
  bench/scb_claims.py --long     at the paper's sizes, where the short form is smaller

The program is build/release/popflow, or what POPFLOW_BINARY names. docs/scb-claims.md has the tables
and what to make of them.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BINARY = os.environ.get("POPFLOW_BINARY", os.path.join(ROOT, "build", "release", "popflow"))


class Run:
    """The file of a run, read whole but for its states."""

    def __init__(self, *options, states=False):
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


def interval_of_share(hits, trials, z=1.96):
    """Wilson's interval."""
    p = hits / trials
    centre = (p + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials**2))
    return centre - half, centre + half


def largest_stable_rate(options, end, rates):
    """The largest learning rate at which four of four runs end below the loss they start from."""
    for rate in rates:
        run = Run(*options, "--mode", "sgd", "--learning-rate", rate, "--t-end", end, "--saves", 2,
                  "--runs", 4, "--seed", 77)
        if (run["status"] == 1).all() and (run["loss"][:, -1] < run["loss"][:, 0]).all():
            return rate
    return None


# ---- 1: l1 against plain SGD


def l1(long):
    """l1-proximal SGD in two stages against plain SGD, each at its largest stable learning rate."""
    T, runs = (5000, 8) if long else (1000, 8)
    rows = []
    for S in (2, 3):
        problem = ["--vocab-size", 3, "--context-length", T, "--sparsity", S,
                   "--transition-concentration", 0.3, "--problem-seed", 2]
        flow = Run(*problem, "--coordinates", "support", "--saves", 2)
        end = 4 * flow.times("boosted")[0]
        for B in (64, 128, 256):
            for name, schedule in (("plain", []), ("two stages, l1", ["--schedule", "two-stage"])):
                options = [*problem, *schedule, "--batch-size", B]
                # In stage 2 the attention's sums relax at rate T |mu|^2.
                rates = [0.1 / 2**k for k in range(0, 12)]
                if schedule:
                    bound = 2 / (T * float((flow.problem["mu"]**2).sum()))
                    rates = [rate for rate in rates if rate < bound]
                rate = largest_stable_rate(options, end, rates)
                if rate is None:
                    rows.append([S, B, name, "none is stable", "-", "-", "-", "-"])
                    continue
                run = Run(*options, "--mode", "sgd", "--learning-rate", rate, "--t-end", end,
                          "--saves", 5, "--runs", runs, "--rounding", 1 / (4 * S))
                rows.append([S, B, name, rate, *(spread(run[item][:, -1]) for item in
                                                 ("excess_loss", "distance_P", "distance_Q")),
                             spread(run.final["distance_P_after"])])
    table(f"1. N = 3, T = {T}, {runs} runs, to four times the flow's boosting time",
          ["S", "B", "training", "learning rate", "excess loss", "distance to P", "distance to Q",
           "distance to P, rounded and normalised"], rows)


# ---- 2: the slide along the valley


def growth(long):
    """With l1 and no early stop the distances grow after the loss has converged."""
    del long
    rows = []
    problem = ["--vocab-size", 10, "--context-length", 5000, "--coordinates", "support",
               "--schedule", "two-stage", "--plateau-time", 0, "--l1", 1e-4, "--dt", 0.1]
    for end in (50, 100, 200, 400, 800, 1600):
        run = Run(*problem, "--t-end", end, "--saves", 2)
        rows.append([end, f"{run['excess_loss'][-1]:.3g}", f"{run['distance_P'][-1]:.3g}",
                     f"{run['distance_Q'][-1]:.3g}", *(f"{run.final[name][0]:.3g}" for name in
                                                      ("distance_P_after", "distance_Q_after"))])
    table("2. N = 10, T = 5000, lambda = 1e-4, the flow without early stop",
          ["t", "excess loss", "distance to P", "distance to Q", "P, rounded and normalised",
           "Q, rounded and normalised"], rows)


# ---- 3: the paper's sizes


def size(long):
    """Population gradient plus isotropic noise, and sampled SGD, at T = 100 000."""
    rows = []
    T = 100000
    cases = [("noise", 100, ["--mode", "sde", "--method", "gradient_descent", "--noise", "isotropic",
                             "--noise-scale", 1e-4, "--learning-rate", 0.05]),
             ("noise", 500, ["--mode", "sde", "--method", "gradient_descent", "--noise", "isotropic",
                             "--noise-scale", 1e-4, "--learning-rate", 0.05]),
             ("sgd, B = 64", 100, ["--mode", "sgd", "--batch-size", 64, "--learning-rate", 0.02])]
    for name, N, options in cases:
        problem = ["--vocab-size", N, "--context-length", T, "--sparsity", 2,
                   "--transition-concentration", 0.1]
        flow = Run(*problem, "--coordinates", "support", "--saves", 2)
        end = (1.5 if long else 1.2) * flow.times("boosted")[0]
        run = Run(*problem, *options, "--t-end", end, "--saves", 5)
        steps = int(run["step"][-1])
        boosted = run.times("boosted")
        rows.append([name, N, steps, f"{run.wall:.0f} s", f"{1e3 * run.wall / steps:.0f} ms",
                     f"{flow.times('boosted')[0]:.1f}",
                     f"{boosted[0]:.1f}" if boosted else "not yet",
                     f"{run['signal_V'][0, -1]:.3f}", f"{run['signal_A'][0, -1]:.3f}"])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    table(f"3. T = {T}, stage 1; peak memory {peak:.2f} GiB",
          ["what", "N", "steps", "wall time", "a step", "flow boosted at t", "boosted at t",
           "signal_V at the end", "signal_A at the end"], rows)


# ---- 4: sample complexity


def half_success(successes, batches, trials):
    """log2 of the batch size at which half succeed, by logistic regression on log2 B, and its
    standard error."""
    x = np.log2(np.asarray(batches, float))
    y = np.asarray(successes, float)
    n = np.full(len(x), float(trials))
    beta = np.array([0.0, 1.0])
    X = np.stack([np.ones_like(x), x - x.mean()], axis=1)
    ridge = np.diag([1e-6, 1e-2])
    for _ in range(100):
        p = 1 / (1 + np.exp(-X @ beta))
        information = X.T @ (X * (n * p * (1 - p))[:, None]) + ridge
        beta = beta + np.linalg.solve(information, X.T @ (y - n * p) - ridge @ beta)
    covariance = np.linalg.inv(information)
    middle = -beta[0] / beta[1]
    gradient = np.array([-1 / beta[1], beta[0] / beta[1]**2])
    return middle + x.mean(), math.sqrt(gradient @ covariance @ gradient)


def exponent(lengths, halves):
    """The power of T, by weighted least squares, with its standard error."""
    x = np.log2(np.asarray(lengths, float))
    y = np.array([h for h, _ in halves])
    w = 1 / np.array([e for _, e in halves])**2
    x = x - (w * x).sum() / w.sum()
    error = 1 / math.sqrt((w * x * x).sum())
    return (w * x * y).sum() * error**2, error


def samples(long):
    """The batch size at which half of the runs succeed, against T."""
    trials = 64 if long else 32
    lengths = (50, 100, 200, 400, 800, 1600) if long else (50, 100, 200, 400, 800)
    base = ["--vocab-size", 3, "--sparsity", 2, "--transition-concentration", 0.3,
            "--problem-seed", 2]
    batches = [1, 2, 4, 8, 16, 32, 64, 128, 256]

    def scan(title, success):
        rows, halves = [], []
        for T in lengths:
            hits = [success(T, B) for B in batches]
            half = half_success(hits, batches, trials)
            halves.append(half)
            rows.append([T, *hits, f"{2**half[0]:.3g} [{2**(half[0] - 1.96 * half[1]):.3g}, "
                                   f"{2**(half[0] + 1.96 * half[1]):.3g}]"])
        power, error = exponent(lengths, halves)
        table(f"{title}: successes of {trials}, and the batch size of half of them, "
              f"of order T^({power:.2f} ± {error:.2f})",
              ["T", *(f"B = {B}" for B in batches), "half succeed at B"], rows)

    def stage1(T, B):
        problem = [*base, "--context-length", T]
        flow = Run(*problem, "--coordinates", "support", "--saves", 2)
        end = 1.5 * flow.times("boosted")[0]
        run = Run(*problem, "--mode", "sgd", "--learning-rate", 0.02, "--batch-size", B, "--t-end",
                  end, "--saves", 2, "--runs", trials)
        # Boosted, and not by a state that noise alone has thrown about.
        good = (run["status"] == 1) & (run["excess_loss"][:, -1] < 0.5 * run["excess_loss"][:, 0])
        return int(good.sum())

    scan("4a. Stage 1: the excess loss is halved by 1.5 times the flow's boosting time", stage1)

    with tempfile.TemporaryDirectory() as folder:
        def transfer(T, B):
            # V = P up to its mixture with mu 1': what a pretraining on the same chain would hand on.
            start = os.path.join(folder, f"start-{T}.h5")
            if not os.path.exists(start):
                pretrained = os.path.join(folder, f"pre-{T}.h5")
                subprocess.run([BINARY, "run", "scb", *map(str, base), "--context-length", str(T),
                                "--coordinates", "support", "--quiet", "-o", pretrained],
                               check=True, capture_output=True)
                os.rename(pretrained, start)
            end = 20
            run = Run(*base, "--context-length", T, "--init-from", start, "--init-mix", 0.7,
                      "--mode", "sgd", "--learning-rate", 0.02, "--batch-size", B, "--t-end", end,
                      "--saves", 2, "--runs", trials)
            good = (run["status"] == 1) & (run["excess_loss"][:, -1] <
                                           0.5 * run["excess_loss"][:, 0])
            return int(good.sum())

        scan("4b. Transfer (theta = 0.7): the excess loss is halved by t = 20", transfer)


# ---- 5: softmax


def softmax(long):
    """Softmax and linear attention come to the same pattern; softmax needs no l1."""
    rows = []
    for T in (100, 400, 1600) if long else (100, 400):
        problem = ["--vocab-size", 5, "--context-length", T, "--sparsity", 2,
                   "--transition-concentration", 0.3, "--coordinates", "support"]
        for name, options in (("linear", []), ("softmax", ["--attention", "softmax"])):
            run = Run(*problem, *options, "--saves", 2)
            later = Run(*problem, *options, "--saves", 2, "--rounding", 0.125, "--t-end",
                        30 * run.parameters["t-end"])
            rows.append([T, name, f"{later['time'][-1]:.3g}", f"{later['excess_loss'][-1]:.2e}",
                         f"{later['distance_P'][-1]:.3g}", f"{later['distance_Q'][-1]:.3g}",
                         f"{later['signal_A'][-1]:.4f}",
                         f"{later.final['distance_Q_after'][0]:.3g}"])
    table("5. N = 5, the flow, without l1", ["T", "attention", "t", "excess loss", "distance to P",
                                            "distance to Q", "signal_A", "distance to Q, rounded and normalised"], rows)


# ---- 6: uniform and stationary starts


def start(long):
    """Uniform against stationary start: the largest difference of the signals along the flow."""
    rows, points = [], []
    seeds = range(1, 21 if long else 11)
    for N in (5, 10, 20, 40, 80, 160):
        differences = []
        for seed in seeds:
            problem = ["--vocab-size", N, "--context-length", 1000, "--problem-seed", seed,
                       "--coordinates", "support", "--saves", 201, "--rtol", 1e-11]
            stationary = Run(*problem)
            end = 2 * stationary.times("boosted")[0]
            stationary = Run(*problem, "--t-end", end)
            uniform = Run(*problem, "--t-end", end, "--init-value", "uniform")
            differences.append(max(np.abs(uniform[name] - stationary[name]).max()
                                   for name in ("signal_V", "signal_A")))
        rows.append([N, spread(differences)])
        points.append((N, np.log2(differences)))
    x = np.log2([N for N, _ in points])
    y = np.array([logs.mean() for _, logs in points])
    w = np.array([len(logs) / max(logs.var(ddof=1), 1e-12) for _, logs in points])
    x0 = x - (w * x).sum() / w.sum()
    error = 1 / math.sqrt((w * x0 * x0).sum())
    power = (w * x0 * y).sum() * error**2
    table(f"6. T = 1000, {len(seeds)} problems each, to twice the boosting time: "
          f"of order N^({power:.2f} ± {error:.2f})", ["N", "largest difference of a signal"], rows)


CLAIMS = {"l1": l1, "growth": growth, "size": size, "samples": samples, "softmax": softmax,
          "start": start}


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
