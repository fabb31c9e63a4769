#!/usr/bin/python3
# label: fast
"""Number of threads that the program takes by default."""

import os
import shutil

from runs import BINARY, PATIENCE, Folder, Skipped, attribute, check, run_all

import subprocess


def threads(*before):
    """Returns the number of threads of a run started through the command `before`."""
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        subprocess.run([*before, BINARY, "run", "markov", "--t-end", "1", "-o", path], check=True,
                       capture_output=True, timeout=PATIENCE)
        return int(attribute(path, "threads", "provenance"))


def test_the_affinity_mask_limits_the_threads():
    if shutil.which("taskset") is None:
        raise Skipped("taskset is missing")
    allowed = sorted(os.sched_getaffinity(0))
    check(threads("taskset", "-c", str(allowed[0])) == 1, "more threads than cores")
    check(threads() <= len(allowed), "more threads than cores")


if __name__ == "__main__":
    run_all()
