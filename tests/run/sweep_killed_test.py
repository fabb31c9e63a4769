#!/usr/bin/python3
# label: slow
"""Killed sweeps resume to the same bits as uninterrupted ones; large sweeps take little memory."""

import os
import random
import time

from runs import (Folder, attribute, check, h5py, np, popflow, run_all, sanitized, start, until_used,
                  worked, xarray)
from sweeps import check_same_data, measured

# Some cells take microseconds, others a hundred milliseconds.
UNEVEN = ["--over", "w0=-1.9:.9:15", "--over", "t-end=1:3e5:12:log", "--over", "rtol=1e-12:1e-4:3:log"]
NOISY = ["--over", "w0=-1:1:5", "--over", "steps=10:20000:5:log", "--mode", "sgd", "--runs", 9,
         "--context-length", 20]


def check_readable(path):
    """Checks that the file opens and that completed cells have their data."""
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        done = data.status.values > 0
        for name in ("loss", "e", "stop_time"):
            check(np.all(np.isfinite(data[name].values[done])), f"{name} of a finished cell is missing")
    return np.count_nonzero(done), done.size


def kill(args, path, longest, look):
    """Sweeps and resumes until the sweep ends; each command is killed within `longest` processor
    seconds. Returns the number of kills and the results of look() after each one."""
    command, kills, seen = ["sweep", "markov", *args, "-o", path, "--quiet"], 0, []
    for attempt in range(40):
        process = start(*command)
        lives = until_used(process, random.uniform(0.02, longest))
        process.kill()
        process.communicate()
        if not lives:
            break
        kills += 1
        if not os.path.exists(path):
            continue  # there was no file yet
        command = ["resume", path, "--quiet"]
        seen.append(look(path))
    return kills, seen


def check_killed(args, reduced=False):
    with Folder() as folder:
        whole = os.path.join(folder, "whole.h5")
        began = worked()
        popflow("sweep", "markov", *args, "-o", whole, "--quiet", code=0, timeout=600)
        effort = worked() - began
        path = os.path.join(folder, "killed.h5")
        kills, seen = kill(args, path, effort / 3,
                           (lambda _: 0) if reduced else lambda file: check_readable(file)[0])
        check(kills >= 3, f"killed {kills} times only: it takes too short a time")
        check(reduced or sorted(seen) == seen and seen[-1] > 0, f"finished cells: {seen}")
        popflow("resume", path, "--quiet", code=0, timeout=600)
        check_same_data(path, whole)
        check(attribute(path, "status") == "complete", "status")
        popflow("resume", path, "--quiet", code=0)  # nothing is left to compute
        check_same_data(path, whole)


def test_a_killed_sweep_of_uneven_cells_resumes():
    check_killed(UNEVEN + ["--threads", 2])


def test_a_killed_sweep_of_noisy_runs_resumes():
    check_killed(NOISY)


def test_a_killed_reduction_resumes():
    check_killed(NOISY + ["--reduce", "runs"], reduced=True)


def test_a_killed_series_in_shards_resumes():
    check_killed(UNEVEN + ["--record", "series", "--saves", 7, "--shard", "2/3"])


def test_resume_closes_a_sweep_killed_before_its_end():
    with Folder() as folder:
        path = os.path.join(folder, "map.h5")
        popflow("sweep", "markov", "--over", "w0=-1:1:5", "-o", path, "--quiet", code=0)
        with h5py.File(path, "r+") as file:  # recreates the file's state at that moment
            file.attrs["status"] = "running"
            file.attrs["status_message"] = "the sweep has not ended"
        popflow("resume", path, "--quiet", code=0)
        check(attribute(path, "status") == "complete", "status")
        check("has not ended" not in attribute(path, "status_message"), "status_message")


def test_a_million_cells_take_little_memory_and_resume_at_once():
    with Folder() as folder:
        path = os.path.join(folder, "map.h5")
        code, megabytes = measured("sweep", "markov", "--over", "w0=-1.9:.9:1000", "--over",
                                   "e0=-1:1:1000", "--t-end", 0.01, "--rtol", 1e-3, "--atol", 1e-3,
                                   "-o", path, "--quiet")
        check(code == 0, f"ended with {code}")
        check(megabytes < 300 or sanitized(), f"{megabytes} MB of memory")
        began = time.monotonic()
        popflow("resume", path, "--quiet", code=0)
        lasts = time.monotonic() - began
        check(lasts < 1 or sanitized(), f"{lasts} s to find that nothing is missing")
        with h5py.File(path, "r") as file:
            check(np.all(file["status"][()] == 1), "cells are missing")


if __name__ == "__main__":
    run_all()
