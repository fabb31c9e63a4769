#!/usr/bin/python3
# label: nightly
"""Every default ends within a minute on two cores: runs of each system under each training rule,
comparisons and checks, with no option but these. Defaults_test.py measures modes."""

from costs import MINUTE, cost, rules, show
from runs import Folder, check, popflow, run_all, sanitized, systems, worked

# A comparison counts its runs of the SDE, which come first and cost most, like those of SGD. That
# overstates its time up to twice, and a machine with other work adds up to half.
OVERSTATED = 3


def test_every_comparison():
    with Folder() as folder:
        for system in systems():
            seconds = cost("compare", system, folder=folder)
            show(seconds, ("compare", system))
            check(sanitized() or seconds < MINUTE * OVERSTATED,
                  f"compare {system} takes {seconds:.0f} s")


def test_the_flow_of_every_training_rule():
    longer = []
    with Folder() as folder:
        for system in systems():
            for rule in rules():
                words = ("run", system, "--optimizer", rule)
                seconds = cost(*words, folder=folder)
                show(seconds, words)
                if seconds > MINUTE and not sanitized():
                    longer.append((words, round(seconds)))
    check(not longer, longer)


def test_verify():
    with Folder() as folder:
        for system in systems():
            before = worked()
            popflow("verify", system, folder=folder, code=0)
            show(worked() - before, ("verify", system))
            check(sanitized() or worked() - before < MINUTE, f"verify {system}")


run_all()
