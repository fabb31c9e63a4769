#!/usr/bin/python3
# label: fast
"""Checks that every configuration says how to run it and what it claims, and that a test checks its
claim."""

import glob
import os

from experiment import FOLDER, SOURCE, check, command
from runs import Folder, popflow, run_all


def configurations():
    found = glob.glob(os.path.join(FOLDER, "**", "*.cfg"), recursive=True)
    check(len(found) > 2, "there are no configurations")
    return sorted(os.path.relpath(path, FOLDER) for path in found)


def test_the_first_line_runs_the_configuration():
    for config in configurations():
        words = command(config)
        check(words[0] in ("run", "compare", "sweep")
              and words[2:] == ["--config", f"data/experiments/{config}"],
              f"the first line of {config} is {' '.join(words)}")
        with Folder() as folder:
            popflow(*words, "--dry-run", "-o", os.path.join(folder, "run.h5"), folder=SOURCE,
                    code=0)


def test_a_configuration_states_a_claim_and_what_to_look_at():
    for config in configurations():
        with open(os.path.join(FOLDER, config)) as file:
            text = file.read()
        for part in ("# Claim", "# Look at:"):
            check(part in text, f"{config} has no '{part}'")


def test_a_test_runs_every_configuration():
    tests = ""
    for path in glob.glob(os.path.join(SOURCE, "tests", "experiments", "*_test.py")):
        with open(path) as file:
            tests += file.read()
    for config in configurations():
        check(f'"{config}"' in tests, f"no test runs {config}")


if __name__ == "__main__":
    run_all()
