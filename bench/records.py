#!/usr/bin/python3
"""Measures records of flows: their cost, and the error of dense output.

    bench/records.py PROGRAM cost      prints the first table of docs/numerics.md
    bench/records.py PROGRAM error [METHOD ...]
                                       prints the second table, or its rows of these methods

Cost: right-hand sides and processor time with 201 records and with two. Both kinds of runs take
turns.

Error: the largest error of records against fehlberg78 at rtol 1e-13 and, in brackets, that of the last
states of runs that end at the times of these records, so that a step ends there. Errors are relative
to the largest entry of their field, or the largest loss, in the run, in units of rtol.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile

import h5py
import numpy as np
from work_precision import SYSTEMS

METHODS = ["dopri5", "verner8", "fehlberg78", "bulirsch_stoer", "rosenbrock4"]
TOLERANCES = [1e-4, 1e-6, 1e-8, 1e-10, 1e-12]
REFERENCE = ("fehlberg78", 1e-13)
COMPARED = range(7, 200, 24)  # records that are compared with runs that end there
TURNS = 5
USAGE_ERROR = 2  # exit code

SWEEP = ["sweep", "markov", "--over", "w0=-1.9:0.9:64", "--over", "e0=0.1:1:64", "--t-end", "50"]
WORK = {
    "`joma-joint`, 2000 tokens, 100 classes, t = 200":
        ["run", "joma-joint", "--tokens", "2000", "--classes", "100", "--t-end", "200"],
    "`scb`, `verner8`, rtol 1e-8":
        ["run", "scb", "--method", "verner8", "--rtol", "1e-8"],
    "`topic`, 100 words a topic, t = 200 000": ["run", "topic", "--words-per-topic", "100", "--t-end", "2e5"],
    "`markov`, 64 × 64 cells in lanes, t = 50": SWEEP,
    "`joma`, 100 000 tokens, t = 3.6 (blocks)":
        ["run", "joma", "--tokens", "100000", "--activation", "nonlinear", "--attention", "exp",
         "--t-end", "3.6"],
}


def run(program, words, path):
    """Runs the program and returns its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, *words, "--quiet", "--force", "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def with_records(words, number):
    if words[0] == "sweep":
        return [*words, *(["--record", "series", "--saves", str(number)] if number > 2 else [])]
    return [*words, "--state", "ends", "--saves", str(number)]


def evaluations(path):
    """Returns the number of right-hand sides; NaN for a sweep, whose file has none."""
    with h5py.File(path) as file:
        name = "statistics/rhs_evaluations"
        return np.sum(file[name][()]) if name in file else np.nan


def print_cost(program, folder, _):
    path = os.path.join(folder, "run.h5")
    print("| work | right-hand sides, 2 records | 201 records | ratio | ratio of processor times |")
    print("| --- | --- | --- | --- | --- |")
    for title, words in WORK.items():
        counts, times = {}, {2: [], 201: []}
        for _ in range(TURNS + 1):  # the first turn warms up
            for number, some in times.items():
                some.append(run(program, with_records(words, number), path))
                counts[number] = evaluations(path)
        few, many = (statistics.median(times[number][1:]) for number in (2, 201))
        cells = [counts[2], counts[201], counts[201] / counts[2]]
        print(f"| {title} | " + " | ".join("-" if np.isnan(cell) else f"{cell:.4g}" for cell in cells) +
              f" | {many / few:.2f} ({few:.2f} s, {many:.2f} s) |", flush=True)


def records(program, name, method, rtol, folder, end=None):
    """Returns the times, and the state's fields and the loss, of a run with 201 records, or of one
    that ends at `end`."""
    path = os.path.join(folder, "run.h5")
    words = list(SYSTEMS[name])
    if end is not None:
        if "--t-end" in words:
            at = words.index("--t-end")
            del words[at:at + 2]
        words += ["--t-end", repr(end), "--saves", "2"]
    run(program, ["run", name.split(",")[0], *words, "--method", method, "--rtol", str(rtol), "--atol",
                  str(1e-2 * rtol), "--state", "all"], path)
    with h5py.File(path) as file:
        fields = file.attrs["state_fields"]
        fields = (fields.decode() if isinstance(fields, bytes) else fields).split()
        return file["time"][()], {key: file[key][()] for key in [*fields, "loss"] if key in file}


def largest(found, expected, sizes, rtol):
    """Returns the largest difference in units of rtol."""
    return max(float(np.max(np.abs(found[key] - value), initial=0)) / (rtol * sizes[key])
               for key, value in expected.items() if sizes[key] > 0)


def errors_of(program, name, method, rtol, reference, folder):
    """Returns the largest error of records, and of the ends of runs that end at their times."""
    time, found = records(program, name, method, rtol, folder)
    sizes = {key: np.max(np.abs(value), initial=0) for key, value in reference.items()}
    of_records, of_ends = 0.0, 0.0
    for i in COMPARED:
        expected = {key: value[i] for key, value in reference.items()}
        _, end = records(program, name, method, rtol, folder, float(time[i]))
        of_records = max(of_records, largest({key: value[i] for key, value in found.items()}, expected,
                                             sizes, rtol))
        of_ends = max(of_ends, largest({key: end[key][-1] for key in found}, expected, sizes, rtol))
    return of_records, of_ends


def print_error(program, folder, methods):
    print("| system | method | " + " | ".join(f"{rtol:.0e}" for rtol in TOLERANCES) + " |")
    print("| --- | --- |" + " --- |" * len(TOLERANCES))
    for name in SYSTEMS:
        _, reference = records(program, name, *REFERENCE, folder)
        for method in methods or METHODS:
            try:
                cells = ["{:.2g} ({:.2g})".format(*errors_of(program, name, method, rtol, reference, folder))
                         for rtol in TOLERANCES]
            except subprocess.CalledProcessError as refused:
                if refused.returncode != USAGE_ERROR:
                    raise
                continue  # rosenbrock4 needs a Jacobian
            print(f"| {name} | `{method}` | " + " | ".join(cells) + " |", flush=True)


def main():
    program, what = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        {"cost": print_cost, "error": print_error}[what](program, folder, sys.argv[3:])


if __name__ == "__main__":
    main()
