#!/usr/bin/python3
"""How fast sweeps are, in ratios of one run: threads and ranks against one, and what a cell costs
beyond its integration. Prints a table.

usage: bench/sweeps.py [PROGRAM]     (default build/release/popflow)
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/popflow").resolve()
REPETITIONS = 3

# The flows that diffrax was timed with: 65536 starts to t = 50.
FLOWS = ["markov", "--over", "e0=0.02:2:256", "--over", "w0=-2:1:256", "--rtol", "1e-8", "--atol",
         "1e-10"]
# Cells of 1 ms to 10 s would take too long here; these take from 0.2 ms to 0.2 s, and there are so
# many that the last of them, which a thread computes alone, is 1 per cent of the whole.
MIXED = ["markov", "--over", "problem-seed=1..60", "--over", "steps=20,200,2000,20000", "--mode",
         "sgd", "--batch-size", "16", "--learning-rate", "0.05"]
RANKS = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
         "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def timed(*words, launcher=()):
    """Seconds of one sweep, the start of the process and the file included."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        subprocess.run([*launcher, PROGRAM, "sweep", *words, "--quiet", "-o", f"{folder}/sweep.h5"],
                       check=True, env=RANKS, stderr=subprocess.DEVNULL)
        return time.perf_counter() - begin


def medians(**sweeps):
    """Median seconds of each, measured in turn, so that all see the same machine."""
    seconds = {name: [] for name in sweeps}
    for _ in range(REPETITIONS):
        for name, sweep in sweeps.items():
            seconds[name].append(sweep())
    return {name: statistics.median(values) for name, values in seconds.items()}


def row(what, result):
    print(f"| {what} | {result} |")


def main():
    print("| sweep | measured |\n| --- | --- |")
    flows = medians(
        one=lambda: timed(*FLOWS, "--t-end", "50", "--threads", "1"),
        two=lambda: timed(*FLOWS, "--t-end", "50", "--threads", "2"),
        none=lambda: timed(*FLOWS, "--t-end", "0", "--threads", "1"))
    row("65 536 `markov` flows to t = 50, into a file, 2 threads",
        f"{65536 / flows['two']:.0f} a second")
    row("the same, 2 threads against 1", f"{flows['one'] / flows['two']:.2f} times")
    row("a cell of theirs without any integration (`--t-end 0`), 1 thread",
        f"{flows['none'] / 65536 * 1e6:.1f} us, {flows['none'] / flows['one']:.0%} of a flow")
    mixed = medians(one=lambda: timed(*MIXED, "--threads", "1"),
                    two=lambda: timed(*MIXED, "--threads", "2"))
    row("SGD cells of 0.2 ms to 0.2 s mixed, 2 threads against 1",
        f"{mixed['one'] / mixed['two']:.2f} times")
    if shutil.which("mpirun") is None:
        return
    ranks = medians(
        one=lambda: timed(*MIXED, "--threads", "1", launcher=("mpirun", "-n", "1")),
        two=lambda: timed(*MIXED, "--threads", "1", launcher=("mpirun", "-n", "2")))
    row("the same, 2 ranks against 1", f"{ranks['one'] / ranks['two']:.2f} times")


main()
