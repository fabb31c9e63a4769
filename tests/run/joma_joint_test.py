#!/usr/bin/python3
# label: slow
"""Runs of joma-joint: starts from files, interrupted slides, blow-ups."""

import os

from runs import (Folder, attribute, check, check_equal, h5py, np, popflow, run_all)

SMALL = ["--tokens", 8, "--classes", 4]
RELU = [*SMALL, "--activation", "relu", "--init-scale", 0.3]


def run(folder, name, *args, code=0):
    path = os.path.join(folder, name)
    popflow("run", "joma-joint", *args, "--force", "-o", path, code=code)
    return path


def last(path, name):
    with h5py.File(path) as file:
        return file[name][-1]


def test_a_run_continues_in_other_coordinates():
    """Full and integrated coordinates of exp attention describe the same flow from any start."""
    with Folder() as folder:
        exp = [*SMALL, "--attention", "exp"]
        whole = run(folder, "whole.h5", *exp, "--t-end", 20)
        half = run(folder, "half.h5", *exp, "--t-end", 10)
        other = run(folder, "other.h5", *exp, "--t-end", 10, "--coordinates", "integrated",
                    "--init-from", half)
        back = run(folder, "back.h5", *exp, "--t-end", 10, "--init-from", half)
        for path in (other, back):
            for name in ("V", "r", "z", "loss"):
                check(np.allclose(last(whole, name), last(path, name), rtol=1e-6, atol=1e-9),
                      f"{path}: {name}")
            with h5py.File(path) as file:
                check(file["theorem_residual"][0] == 0, "the theorem compares with the start")


def test_a_sliding_run_continues_from_a_file():
    with Folder() as folder:
        whole = run(folder, "whole.h5", *RELU, "--t-end", 20)
        half = run(folder, "half.h5", *RELU, "--t-end", 10)
        rest = run(folder, "rest.h5", *RELU, "--t-end", 10, "--init-from", half)
        for name in ("V", "r", "z"):
            check(np.allclose(last(whole, name), last(rest, name), rtol=1e-6, atol=1e-8), name)
        again = run(folder, "again.h5", *RELU, "--t-end", 10, "--init-from", half, "--threads", 1)
        check_equal(rest, again, free_groups=("provenance", "restart", "parameters"), slots=False)


def test_another_state_is_refused():
    with Folder() as folder:
        other = run(folder, "other.h5", "--tokens", 8, "--classes", 3, "--t-end", 1)
        ended = popflow("run", "joma-joint", *SMALL, "--init-from", other, folder=folder, code=3)
        check("8 tokens and 3 nodes" in ended.err and "4 nodes" in ended.err, ended.err)
        scb = os.path.join(folder, "scb.h5")
        popflow("run", "scb", "--context-length", 20, "--t-end", 1, "-o", scb, code=0)
        ended = popflow("run", "joma-joint", *SMALL, "--init-from", scb, folder=folder, code=3)
        check("scb" in ended.err, ended.err)
        check(not os.path.exists(os.path.join(folder, "joma-joint-flow.h5")), "a file is left")


def test_a_blow_up_is_reported_with_its_time():
    with Folder() as folder:
        drive = [*SMALL, "--attention", "exp", "--backprop", "stationary", "--init-scale", 0.5]
        path = run(folder, "run.h5", *drive, "--t-end", 1000, code=4)
        check(attribute(path, "status") == "diverged", attribute(path, "status"))
        at = attribute(path, "diverged_at")
        precise = run(folder, "precise.h5", *drive, "--t-end", 1000, "--rtol", 1e-11, code=4)
        check(abs(attribute(precise, "diverged_at") / at - 1) < 1e-6, f"{at}")
        check(0 < at < 1000, f"{at}")


def test_relu_runs_of_ordinary_sizes_take_few_steps():
    for sizes, steps in (([15, 5], 1000), ([20, 20], 3000)):
        with Folder() as folder:
            path = run(folder, "run.h5", "--tokens", sizes[0], "--classes", sizes[1],
                       "--activation", "relu")
            check(attribute(path, "status") == "complete", attribute(path, "status"))
            with h5py.File(path) as file:
                taken = int(file["statistics/accepted_steps"][()])
                check(taken < steps, f"{taken} steps")


if __name__ == "__main__":
    run_all()
