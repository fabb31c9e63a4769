#!/usr/bin/python3
"""Counts right-hand sides of the adaptive methods against their error, on every system.

    bench/work_precision.py PROGRAM            prints the table of docs/numerics.md
    bench/work_precision.py PROGRAM --points   prints each tolerance, too

The error is the largest error of the final state's fields, relative to each field's largest entry, against
fehlberg78 at rtol 1e-14 (the tightest). Tolerances are decades from 1e-4 to 1e-13; counts between them
are interpolated in logarithms. Counts, unlike times, are the same on every machine.
"""

import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

METHODS = ["dopri5", "fehlberg78", "verner8"]
SYSTEMS = {
    "scb": ["--vocab-size", "10", "--context-length", "100", "--t-end", "100"],
    "scb, signals": ["--coordinates", "signal", "--context-length", "1000"],
    "joma": ["--tokens", "10", "--activation", "nonlinear"],
    "joma-joint": ["--tokens", "20", "--classes", "10", "--t-end", "50"],
    "markov": ["--p", "0.2", "--q", "0.3", "--e0", "0.3", "--w0", "-0.9", "--t-end", "100"],
    "topic": ["--t-end", "1000"],
    "linear-attention": ["--eigenvalues", "1,0.5"],
    "deep-linear": ["--strengths", "2,1"],
}
ERRORS = [1e-4, 1e-6, 1e-8, 1e-10, 1e-12]
REFERENCE = ("fehlberg78", 1e-14)


def end_of(program, name, method, rtol, folder):
    """Returns the fields of the final state and the number of right-hand sides."""
    path = os.path.join(folder, "run.h5")
    words = [program, "run", name.split(",")[0], *SYSTEMS[name], "--method", method, "--rtol", str(rtol),
             "--atol", str(1e-2 * rtol), "--saves", "2", "--state", "ends", "--quiet", "--force",
             "-o", path]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with h5py.File(path) as file:
        fields = file.attrs["state_fields"]
        fields = (fields.decode() if isinstance(fields, bytes) else fields).split()
        return ({field: file[field][-1] for field in fields},
                int(np.sum(file["statistics/rhs_evaluations"][()])))


def error(state, reference):
    return max(np.max(np.abs(state[field] - value)) / max(np.max(np.abs(value)), 1e-300)
               for field, value in reference.items())


def evaluations_at(points, wanted):
    """Returns the number of right-hand sides at the wanted error; NaN if no run reaches it."""
    errors, counts = np.array(points).T
    # Least count among runs with at most this error, so that the curve is monotone.
    best = np.minimum.accumulate(errors[np.argsort(counts)])
    counts = np.sort(counts)
    if best[-1] > wanted:
        return np.nan
    if best[0] <= wanted:
        return counts[0]
    at = int(np.argmax(best <= wanted))
    part = np.log(best[at - 1] / wanted) / np.log(best[at - 1] / best[at])
    return float(np.exp(np.log(counts[at - 1]) + part * np.log(counts[at] / counts[at - 1])))


def main():
    program, points_too = os.path.abspath(sys.argv[1]), "--points" in sys.argv
    print("| system | method | " + " | ".join(f"{wanted:.0e}" for wanted in ERRORS) + " |")
    print("| --- | --- |" + " --- |" * len(ERRORS))
    with tempfile.TemporaryDirectory() as folder:
        for name in SYSTEMS:
            reference, _ = end_of(program, name, *REFERENCE, folder)
            for method in METHODS:
                points = []
                for digits in range(4, 14):
                    state, count = end_of(program, name, method, 10.0**-digits, folder)
                    points.append((max(error(state, reference), 1e-17), count))
                cells = [evaluations_at(points, wanted) for wanted in ERRORS]
                print(f"| {name} | `{method}` | " +
                      " | ".join("-" if np.isnan(cell) else f"{cell:.0f}" for cell in cells) + " |",
                      flush=True)
                if points_too:
                    for digits, (off, count) in zip(range(4, 14), points):
                        print(f"    rtol 1e-{digits}: error {off:.1e}, {count}", flush=True)


if __name__ == "__main__":
    main()
