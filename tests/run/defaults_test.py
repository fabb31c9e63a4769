#!/usr/bin/python3
# label: slow
"""Every default ends within a minute on two cores: runs of each system in each mode, with no option
but this. All_defaults_test.py measures training rules, comparisons and checks.

Measures processor seconds, since seconds depend on the machine's load. Work of more than a few
seconds is cut short: its share that is done then tells the whole."""

import re

from costs import MINUTE, cost, rules, show
from runs import Folder, check, popflow, run_all, sanitized, systems

MOST_STEPS = 100_000  # of SGD under a rule; the steps of adagrad shrink


def test_every_mode():
    with Folder() as folder:
        for system in systems():
            for mode in "flow", "sde", "sgd":
                words = ("run", system, "--mode", mode)
                seconds = cost(*words, folder=folder)
                show(seconds, words)
                check(sanitized() or seconds < MINUTE, f"{words} takes {seconds:.0f} s")


def test_every_training_rule_takes_few_steps():
    """In modes with steps, a step under a rule takes about the time of a step of plain SGD."""
    for system in systems():
        for rule in rules():
            planned = popflow("run", system, "--optimizer", rule, "--mode", "sgd", "--dry-run")
            if planned.code == 0:
                steps = int(re.search(r"^steps = (\d+)$", planned.out, re.M)[1])
                check(steps <= MOST_STEPS, f"{system} under {rule}: {steps} steps of sgd")


run_all()
