# label: fast
"""Problem files that the package writes beside an output when a problem is given as arrays."""

import os
import subprocess
import sys

import numpy as np
import pytest

import popflow

P = np.array([[0.5, 0.2, 0.3], [0.25, 0.7, 0.3], [0.25, 0.1, 0.4]])
CHAIN = {"P": P, "Q_value": [[0.5, 1, 0.25], [0.5, 0, 0.75]], "Q_position": [[0, 3, 2], [4, 0, 1]]}
RUN = {"context_length": 6, "saves": 3, "t_end": 1}
WRONG = {**CHAIN, "P": 2 * P}  # the program refuses this problem


@pytest.fixture(autouse=True)
def folder(tmp_path):
    popflow.folder(tmp_path)
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_repeated_call_changes_no_file(folder):
    popflow.run("scb", problem=CHAIN, **RUN, output=folder / "a.h5")
    before = contents(folder)
    assert set(before) == {"a.h5", "a-problem.h5"}
    for problem in (CHAIN, WRONG):
        with pytest.raises(popflow.UsageError, match=r"'.*/a\.h5' exists; force=True"):
            popflow.run("scb", problem=problem, **RUN, output=folder / "a.h5")
    assert contents(folder) == before


def test_an_interrupted_sweep_keeps_its_problem(folder, stand_in):
    """The program is interrupted and the call is repeated; the problem file must stay for
    resuming."""
    stand_in("""
    path = sys.argv[sys.argv.index("--output") + 1]
    open(path, "x").close()
    sys.exit(130)
    """)
    sweep = {"problem": CHAIN, "context_length": 6, "output": folder / "a.h5"}
    with pytest.raises(popflow.Interrupted):
        popflow.sweep("scb", {"t_end": [1, 2]}, **sweep)
    before = contents(folder)
    assert before["a-problem.h5"]
    with pytest.raises(popflow.UsageError):
        popflow.sweep("scb", {"t_end": [1, 2]}, **sweep)
    assert before.items() <= contents(folder).items()


def test_a_users_file_with_the_problems_name_is_kept(folder):
    (folder / "a-problem.h5").write_text("mine")
    for problem in (CHAIN, WRONG):
        with pytest.raises(popflow.UsageError, match="problem file '.*a-problem.h5' exists;"):
            popflow.compare("scb", problem=problem, learning_rate=0.1, **RUN,
                            output=folder / "a.h5")
    assert contents(folder) == {"a-problem.h5": b"mine"}


def test_force_replaces_files_only_when_a_run_begins(folder):
    popflow.run("scb", problem=CHAIN, **RUN, output=folder / "a.h5")
    before = contents(folder)
    with pytest.raises(popflow.InputError, match="column 0 of P sums to 2"):
        popflow.run("scb", problem=WRONG, **RUN, output=folder / "a.h5", force=True)
    with pytest.raises(popflow.UsageError, match="--saves"):
        popflow.run("scb", problem=CHAIN, **{**RUN, "saves": -1}, output=folder / "a.h5",
                    force=True)
    assert contents(folder) == before
    swapped = {**CHAIN, "P": np.roll(P, (1, 1), (0, 1))}
    run = popflow.run("scb", problem=swapped, **RUN, output=folder / "a.h5", force=True)
    assert np.array_equal(run.popflow.group("problem").P, swapped["P"])
    after = contents(folder)
    assert set(after) == set(before) and after["a-problem.h5"] != before["a-problem.h5"]


def test_an_unfinished_run_keeps_its_problem(folder):
    with pytest.raises(popflow.LimitReached):
        popflow.run("scb", problem=CHAIN, context_length=6, max_steps=3, output=folder / "a.h5")
    assert set(contents(folder)) == {"a.h5", "a-problem.h5"}
    popflow.run("scb", problem=CHAIN, **RUN, output=folder / "a.h5", force=True)
    assert set(contents(folder)) == {"a.h5", "a-problem.h5"}


def test_an_opened_run_stands_for_its_problem(folder):
    run = popflow.run("scb", problem=CHAIN, **RUN, output=folder / "a.h5")
    same = popflow.run("scb", problem=run, saves=3, t_end=1, output=folder / "b.h5")
    assert np.array_equal(same.loss, run.loss)
    assert same.popflow.parameters["problem"] == str(folder / "a.h5")
    assert popflow.plan("scb", problem=run)["options"]["vocab-size"] == "3"
    assert popflow.verify("scb", problem=run)
    # A changed problem is written to a new file.
    changed = run.popflow.group("problem").drop_vars("mu").load()
    changed["P"] = changed.P * 0 + 1 / 3
    other = popflow.run("scb", problem=changed, saves=3, t_end=1, output=folder / "c.h5")
    assert np.all(other.popflow.group("problem").P == 1 / 3)


FULL = """
import resource, sys, numpy, popflow
resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))
try:
    popflow.run("scb", problem={"P": numpy.eye(200)}, context_length=6, output=sys.argv[1])
except popflow.OutputError as ended:
    print(ended)
"""


def test_a_problem_that_cannot_be_written(folder, package_folder):
    done = subprocess.run([sys.executable, "-c", FULL, folder / "a.h5"], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": package_folder})
    assert done.stdout == f"cannot write '{folder}/a-problem.h5': File too large\n", done.stderr
    for problem in ({"problem": CHAIN}, {"vocab_size": 3}):
        with pytest.raises(popflow.OutputError, match="folder '.*no/' does not exist") as ended:
            popflow.run("scb", **problem, **RUN, output=folder / "no" / "a.h5")
        assert ended.value.code == 5
    assert contents(folder) == {}
