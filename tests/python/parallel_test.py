# label: fast
"""Concurrent calls in threads and processes, and results passed between processes."""

import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import xarray

import popflow

TINY = {"t_end": 0.1, "saves": 2, "kernel": "scalar"}
NAMES = [f"markov-flow-{number}.h5" for number in range(1, 9)]


@pytest.fixture(autouse=True)
def folder(tmp_path):
    popflow.folder(tmp_path)
    return tmp_path


def tiny(e0):
    return popflow.run("markov", e0=e0, **TINY, show=False)


def wrong(_):
    with pytest.raises(popflow.UsageError):
        popflow.run("markov", vocab_size=3, **TINY, show=False)


def processes(folder):
    """Returns a pool of spawned processes that write files to the same folder."""
    return ProcessPoolExecutor(4, multiprocessing.get_context("spawn"), popflow.folder, (folder,))


@pytest.mark.parametrize("pool", [lambda _: ThreadPoolExecutor(4), processes],
                         ids=["threads", "processes"])
def test_files_without_a_name_do_not_collide(folder, pool):
    starts = np.linspace(0.1, 0.8, 8)
    with pool(folder) as workers:
        runs = list(workers.map(tiny, starts))
    assert [run.e[0].item() for run in runs] == starts.tolist()
    assert sorted(run.popflow.path.name for run in runs) == NAMES
    assert sorted(os.listdir(folder)) == NAMES


def test_a_refused_run_takes_no_file_name(folder):
    with ThreadPoolExecutor(4) as workers:
        list(workers.map(wrong, range(8)))
    assert os.listdir(folder) == []


def test_a_name_with_an_existing_problem_file_is_not_used(folder):
    (folder / "markov-flow-1-problem.h5").touch()
    assert tiny(0.1).popflow.path.name == "markov-flow-2.h5"


@pytest.mark.parametrize("group", [None, "problem"])
def test_results_are_pickled(group):
    run = popflow.run("scb", vocab_size=4, context_length=20, t_end=1, saves=3)
    run.time_of  # values that were read are pickled too
    data = run if group is None else run.popflow.group(group)
    copied = pickle.loads(pickle.dumps(data))
    xarray.testing.assert_identical(copied, data)
    assert copied.popflow.path == run.popflow.path
    unread = pickle.loads(pickle.dumps(popflow.open(run.popflow.path)))
    assert not unread.V.variable._in_memory  # read from the file when it is used
    assert dict(unread.time_of).keys() == dict(run.time_of).keys()


def test_errors_are_pickled():
    with pytest.raises(popflow.UsageError) as refused:
        popflow.run("scb", vocab_size=0)
    copied = pickle.loads(pickle.dumps(refused.value))
    assert (str(copied), copied.code) == (str(refused.value), 2)
