#!/usr/bin/python3
# label: slow
"""Runs of all systems and modes from fixed seeds end at the numbers in
data/reference/seeded-runs.json, on every Debian. The argument --write writes that file anew."""

import json
import os
import sys

from runs import Folder, check, examples, h5py, np, popflow, run_all

REFERENCE = os.path.join(os.environ["POPFLOW_SOURCE_DIR"], "data", "reference", "seeded-runs.json")
# Elementary functions of the C library differ in the last bit between releases. Adaptive runs
# amplify these deviations, because an error estimate, which is a small difference of large terms,
# chooses their steps. A sum of a hundred roundings stays far below this bound.
RELATIVE = 1e-12


def ends(system, problem, others):
    """Returns the last values of a run's observables by name."""
    with Folder() as folder:
        popflow("run", system, *problem, *others, "--saves", 3, "--save-spacing", "linear",
                "--quiet", "-o", "run.h5", folder=folder, code=0)
        with h5py.File(os.path.join(folder, "run.h5")) as file:
            names = file.attrs["observables"]
            names = (names.decode() if isinstance(names, bytes) else names).split()
            return {name: np.atleast_1d(file[name][-1]).ravel()[:4].tolist() for name in names}


def all_ends():
    source = os.environ["POPFLOW_SOURCE_DIR"] + os.sep
    return {" ".join([system, *problem, *others]).replace(source, ""):
            ends(system, problem, others)
            for name in ("examples.txt", "noisy.txt") for system, problem, others in examples(name)}


def differences(words, found, expected):
    check(list(found) == list(expected), f"{words}: the observables are {list(found)}")
    for name, values in expected.items():
        # An observable that is 0 up to rounding has no significant digits.
        scale = np.maximum(np.abs(values), 1e-3)
        off = np.max(np.abs(np.array(found[name]) - values) / scale)
        if not off <= RELATIVE and not np.array_equal(found[name], values, equal_nan=True):
            yield f"{words}: {name} is {found[name]}, not {values} ({off:.1e})"


def test_ends_agree_with_the_reference():
    with open(REFERENCE) as file:
        expected = json.load(file)
    found = all_ends()
    check(list(found) == list(expected), "other examples; --write writes the reference anew")
    wrong = [line for words in found for line in differences(words, found[words], expected[words])]
    check(not wrong, "\n".join(wrong))


if __name__ == "__main__":
    if "--write" in sys.argv:
        with open(REFERENCE, "w") as out:
            out.write("{\n" + ",\n".join(f"{json.dumps(words)}: {json.dumps(values)}"
                                         for words, values in all_ends().items()) + "\n}\n")
    else:
        run_all()
