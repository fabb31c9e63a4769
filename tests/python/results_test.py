# label: slow
"""Runs, comparisons and sweeps by the program, as xarray objects."""

import copy
import inspect
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import h5py
import numpy as np
import pytest
import xarray

import popflow

SMALL = {"vocab_size": 4, "context_length": 20}
P = np.array([[0.5, 0.2, 0.3], [0.25, 0.7, 0.3], [0.25, 0.1, 0.4]])
CHAIN = {"P": P, "Q_value": [[0.5, 1, 0.25], [0.5, 0, 0.75]], "Q_position": [[0, 3, 2], [4, 0, 1]]}


@pytest.fixture(autouse=True)
def folder(tmp_path):
    popflow.folder(tmp_path)
    return tmp_path


def test_a_run(folder):
    run = popflow.run("scb", **SMALL, t_end=40, saves=9, output=folder / "mine.h5")
    assert run.excess_loss.dims == ("time",) and run.sizes["time"] == 9
    assert run.popflow.path == folder / "mine.h5"
    assert str(folder / "mine.h5") in repr(run)
    assert not run.V.variable._in_memory  # read from the file when it is used
    assert set(run.popflow.groups) >= {"problem", "parameters", "events"}
    assert run.popflow.parameters["vocab_size"] == 4
    assert "scb, mode flow" in run.popflow.info()
    again = popflow.open(folder / "mine.h5")
    assert run.identical(again)


def test_options_with_names_that_xarray_reserves_are_kept():
    assert popflow.run("scb", vocab_size=5, t_end=0,
                       coordinates="support").popflow.parameters["coordinates"] == "support"


def test_events_by_name():
    run = popflow.run("scb", **SMALL, t_end=40)
    reached = float(run.time[np.argmax((run.signal_V * run.signal_A).values >= 0.5)])
    assert run.time_of.boosted == pytest.approx(reached, abs=0.2)
    assert dict(run.time_of)["boosted"] == run.time_of.boosted
    assert np.isnan(run.time_of.aligned)  # the event has not happened
    assert "boosted" in dir(run.time_of)
    with pytest.raises(AttributeError, match="no event lost; there are: boosted"):
        run.time_of.lost
    # Datasets derived from a run keep its events.
    assert run.isel(time=slice(0, 3)).time_of.boosted == run.time_of.boosted


def test_the_first_of_several_events_counts(folder):
    run = popflow.run("scb", **SMALL, t_end=60, output=folder / "twice.h5")
    first = run.time_of.boosted
    run.close()
    with h5py.File(run.popflow.path, "r+") as file:
        kinds = file["events/kind"]
        assert kinds[1] > 0 and file["events/time"][1] > first
        kinds[1] = 0
    assert popflow.open(run.popflow.path).time_of.boosted == first


def test_events_of_an_ensemble():
    runs = popflow.run("scb", **SMALL, mode="sgd", runs=3, batch_size=64, t_end=40)
    assert runs.time_of.boosted.dims == ("run",)
    events = runs.popflow.group("events")
    first = events.time[(events.kind == 0) & (events.run == 1)]
    assert runs.time_of.boosted[1] == first[0]


def test_tokens_of_a_text_are_labels(folder):
    (folder / "text.txt").write_text("abcabcabaacabcaacb" * 20)
    run = popflow.run("scb", text=folder / "text.txt", context_length=10, saves=3)
    assert sorted(run.token_in.values) == ["a", "b", "c"]
    problem = run.popflow.group("problem")
    share = problem.P.sel(token_out="a", token_in="c")  # frequency of a after c
    assert 0 < float(share) < 1
    assert float(share) == float(problem.P[list(run.token_out.values).index("a"),
                                           list(run.token_in.values).index("c")])


def test_a_problem_may_be_given_as_arrays(folder):
    run = popflow.run("scb", problem=CHAIN, context_length=6, saves=3, output=folder / "mine.h5")
    problem = run.popflow.group("problem")
    assert np.array_equal(problem.P, P) and problem.attrs["context_length"] == 6
    assert (folder / "mine-problem.h5").exists()
    # The run's problem, passed as a dataset, gives the same run.
    same = popflow.run("scb", problem=problem, saves=3, output=folder / "same.h5")
    assert np.array_equal(same.loss, run.loss)


def test_a_refused_problem_leaves_no_file(folder):
    with pytest.raises(popflow.InputError, match="column 0 of P sums to 2"):
        popflow.run("scb", problem={**CHAIN, "P": 2 * P}, context_length=6)
    assert os.listdir(folder) == []


def test_a_comparison():
    ladder = popflow.compare("markov", learning_rate=0.1, batch_size=8, rungs=["flow", "sgd"],
                             runs=4, t_end=5, saves=3)
    assert ladder.slope_mean.sel(rung="sgd").dims == ("time",)
    sgd = ladder.popflow.group("sgd")
    assert np.allclose(ladder.slope_mean.sel(rung="sgd"), sgd.slope.mean("run"))
    assert set(sgd.time_of) == {"loss_settled"} and sgd.time_of.loss_settled.dims == ("run",)
    assert {"flow", "sgd", "comparison"} <= set(ladder.popflow.groups)


def test_a_sweep():
    basins = popflow.sweep("markov", {"e0": popflow.linear(0.1, 1.3, 3), "w0": [-1.5, 0.5],
                                      "bias": ["optimal", "free"]})
    assert dict(basins.sizes) == {"e0": 3, "w0": 2, "bias": 2}
    assert basins.e0.values.tolist() == [0.1, 0.7, 1.3]
    assert basins.popflow.words("outcome").sel(e0=0.1, w0=0.5, bias="optimal") == "global"
    assert basins.popflow.words("status")[0, 0, 0] == "complete"
    assert basins.outcome.attrs["units"].startswith("0 undecided, 1 global, 2 local")
    plain = xarray.open_dataset(basins.attrs["path"], engine="h5netcdf").popflow.decode()
    assert plain.outcome.sel(e0=0.1, w0=0.5, bias="optimal") == "global"
    assert plain.outcome.attrs["units"] == "1"
    assert list(basins.popflow.words("bias").values) == list(basins["bias"].values)
    alone = popflow.run("markov", e0=0.7, w0=-1.5, bias="free", saves=1, kernel="lanes")
    cell = basins.sel(e0=0.7, w0=-1.5, bias="free")
    assert cell.loss == alone.loss[-1]
    assert basins.time_of.loss_settled.dims == ("e0", "w0", "bias")
    together = popflow.sweep("markov", {"chain": {"p": [0.1, 0.2], "q": [0.3, 0.5]}})
    assert together.p.dims == ("chain",) and together.q[1] == 0.5
    words = popflow.sweep("markov", {"kind": {"bias": ["free", "optimal"], "w0": [0, 0.1]}},
                          t_end=1)
    assert words.bias.values.tolist() == ["free", "optimal"]
    for parameter, values in (("w0", range(-1, 2)), ("problem_seed", range(2, 9, 3))):
        ranged = popflow.sweep("scb" if parameter == "problem_seed" else "markov",
                               {parameter: values}, t_end=1)
        assert ranged[parameter].values.tolist() == list(values)
    one_word = popflow.sweep("markov", {"bias": ["free"]}, t_end=1)
    assert one_word.bias.values.tolist() == ["free"]


@pytest.mark.parametrize("options, said", [
    ({"vocab_size": 0}, "--vocab-size is 0; it must be a whole number, at least 2"),
    ({"vocab_sizes": 3}, "unknown option --vocab-sizes"),
    ({"mode": "walk"}, "--mode is 'walk'")])
def test_a_wrong_argument_is_the_programs_own_error(folder, options, said):
    with pytest.raises(popflow.UsageError, match=said) as refused:
        popflow.run("scb", **options)
    assert refused.value.code == 2 and refused.value.path is None
    assert os.listdir(folder) == []


def test_options_that_the_package_sets_itself_are_refused():
    with pytest.raises(TypeError, match=r"dry_run is no argument of run\(\). popflow.plan"):
        popflow.run("scb", dry_run=True)
    with pytest.raises(TypeError, match="quiet is no argument of sweep"):
        popflow.sweep("scb", quiet=True)
    with pytest.raises(TypeError, match=r"progress is no argument of resume\(\). show=True"):
        popflow.resume("nothing.h5", progress="always")
    for command in (popflow.run, popflow.plan, popflow.verify):
        with pytest.raises(TypeError, match=r"help is no argument of .*\(\). help\(popflow.sys"):
            command("markov", help=True)
        with pytest.raises(popflow.UsageError, match="^system is '--help', which is not a"):
            command("--help")
    with pytest.raises(popflow.InputError, match="does not exist"):
        popflow.merge("--help")


def test_the_file_of_a_diverged_run_can_be_opened():
    with pytest.raises(popflow.Diverged, match="non-finite") as ended:
        popflow.run("scb", **SMALL, mode="sgd", learning_rate=50, t_end=1000)
    assert popflow.open(ended.value.path).attrs["status"] == "diverged"
    with pytest.raises(popflow.LimitReached, match="the limit of 3 steps"):
        popflow.run("scb", **SMALL, max_steps=3)


def test_other_errors(folder):
    with pytest.raises(popflow.InputError, match="does not exist"):
        popflow.resume(folder / "nothing.h5")
    (folder / "taken.h5").write_text("")
    with pytest.raises(popflow.UsageError, match="exists; --force replaces it"):
        popflow.run("scb", **SMALL, output=folder / "taken.h5")
    popflow.run("scb", **SMALL, t_end=1, output=folder / "taken.h5", force=True)
    with pytest.raises(FileNotFoundError):
        popflow.open(folder / "nothing.h5")
    with pytest.raises(KeyError, match="has no group nowhere, only"):
        popflow.open(folder / "taken.h5").popflow.group("nowhere")
    with pytest.raises(KeyError, match="has no group nowhere, only events, "):
        popflow.open(folder / "taken.h5", "nowhere")
    (folder / "notes.txt").write_text("no HDF5")
    not_hdf5 = r"'.*notes.txt' cannot be read, or is not HDF5 \(file signature not found\)$"
    with pytest.raises(popflow.InputError, match=not_hdf5):
        popflow.open(folder / "notes.txt")
    with pytest.raises(popflow.InputError, match="^'.*' cannot be read: Is a directory$"):
        popflow.open(folder)
    with h5py.File(folder / "other.h5", "w") as file:
        file["numbers"] = [1, 2]
    for reads in (popflow.open, popflow.figure):
        with pytest.raises(popflow.InputError, match="'.*other.h5' was not written by popflow"):
            reads(folder / "other.h5")


def test_a_finished_run_is_extended(folder):
    run = popflow.run("scb", **SMALL, t_end=10, saves=6, output=folder / "a.h5")
    longer = popflow.resume(run.popflow.path, t_end=20)
    assert longer.time.values.tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]


LONG = """
import sys, popflow
try:
    popflow.run("scb", vocab_size=4, context_length=20, mode="sgd", learning_rate=5e-4, t_end=15,
                saves=4, seed=5, output=sys.argv[1], show=False)
except popflow.Interrupted as ended:
    print(ended.path)
    sys.exit(7)
"""


@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_an_interrupted_run_can_be_resumed(folder, package_folder, send):
    """Ctrl-C during a run goes to the kernel alone in a notebook, and to the whole process group in
    a terminal. A second signal would kill the program."""
    path = folder / "long.h5"
    python = subprocess.Popen([sys.executable, "-c", LONG, path], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": package_folder},
                              start_new_session=True)
    while not path.exists():
        assert python.poll() is None
        time.sleep(0.02)
    send(python.pid, signal.SIGINT)
    said, _ = python.communicate(timeout=60)
    assert (python.returncode, said) == (7, f"{path}\n")
    assert popflow.open(path).attrs["status"] == "interrupted"
    resumed = popflow.resume(path)
    whole = popflow.run("scb", **SMALL, mode="sgd", learning_rate=5e-4, t_end=15, saves=4, seed=5)
    assert resumed.attrs["status"] == "complete"
    xarray.testing.assert_equal(resumed, whole)


def test_the_program_warns():
    with pytest.warns(UserWarning, match="4 of 8 runs diverged"):
        popflow.run("scb", **SMALL, mode="sgd", batch_size=1, learning_rate=1.6, t_end=40, runs=8)
    with pytest.warns(UserWarning, match="without effect in mode flow .*: --batch-size"):
        popflow.run("markov", t_end=1, batch_size=3)


def test_an_opened_dataset_stands_for_its_file(folder):
    run = popflow.run("markov", t_end=1, saves=3, output=folder / "run.h5")
    longer = popflow.resume(run, t_end=2)
    assert longer.time[-1] == 2 and longer.popflow.path == folder / "run.h5"
    with pytest.raises(popflow.InputError, match="the numbers of loss stand for no words"):
        run.popflow.words("loss")
    with pytest.raises(popflow.UsageError, match="over is 'w0=1,2'; it maps parameters"):
        popflow.sweep("markov", over="w0=1,2")


def test_parts_are_merged(folder):
    sgd = {**SMALL, "mode": "sgd", "t_end": 2, "saves": 3, "state": "all", "seed": 5}
    whole = popflow.run("scb", **sgd, runs=5)
    first = popflow.run("scb", **sgd, runs=3, output=folder / "first.h5")
    popflow.run("scb", **sgd, runs=2, first_run=3, output=folder / "second.h5")
    # An opened dataset stands for its file.
    merged = popflow.merge(first, folder / "second.h5", output=folder / "both.h5")
    assert merged.popflow.path == folder / "both.h5" and merged.sizes["run"] == 5
    xarray.testing.assert_equal(merged, whole)
    with pytest.raises(popflow.UsageError, match="exists; --force replaces it"):
        popflow.merge(first, folder / "second.h5", output=folder / "both.h5")
    with pytest.raises(popflow.InputError):
        popflow.merge(first, folder / "nothing.h5")
    shard = {"t_end": 1, "over": {"e0": [0.1, 0.2, 0.3]}}
    shards = [popflow.sweep("markov", **shard, shard=f"{i}/2") for i in (1, 2)]
    assert popflow.merge(*shards).loss.equals(popflow.sweep("markov", **shard).loss)


def test_a_system_is_verified(folder):
    found = popflow.verify("deep-linear")
    assert found and found.holds and found.system == "deep-linear"
    assert found.checks.verdict.sel(check="gradient") == "ok"
    order = found.checks.sel(check="order of rk4")
    assert order.at_least and order.measured >= order.allowed == 3.5
    assert "gradient " in repr(found)
    assert popflow.systems.scb.verify(problem=CHAIN, context_length=20)
    assert os.listdir(folder) == []
    with pytest.raises(popflow.UsageError, match="unknown option --saves"):
        popflow.verify("deep-linear", saves=3)
    with pytest.raises(TypeError, match=r"json is no argument of verify\(\)"):
        popflow.verify("deep-linear", json=True)


def test_files_without_a_name_are_numbered(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paths = [popflow.run("markov", t_end=1).popflow.path.name for _ in range(2)]
    assert paths == ["markov-flow-1.h5", "markov-flow-2.h5"]


def test_the_systems():
    assert {"scb", "markov"} <= set(popflow.systems)
    assert popflow.systems.joma_joint.name == "joma-joint"
    assert "Equations" in repr(popflow.systems.scb)
    run = popflow.systems.markov.run(e0=0.3, t_end=1)
    assert run.e[0] == 0.3
    options = inspect.signature(popflow.systems.markov.sweep).parameters
    assert options["p"].default == 0.2 and options["same_seed"].default is False
    assert "over" in options and "output" in options
    assert "bias : optimal|free, default optimal" in popflow.systems.markov.sweep.__doc__


def test_a_plan(folder):
    plan = popflow.plan("markov", e0=0.3)
    assert plan["options"]["e0"] == "0.3" and plan["file_bytes"] > 0
    plan = popflow.plan("scb", problem=CHAIN, context_length=20)
    assert plan["options"]["vocab-size"] == "3"
    assert os.listdir(folder) == []
    with pytest.raises(popflow.UsageError, match="command is 'sweep'; plan.. supports 'run' only"):
        popflow.plan("markov", command="sweep")
    with pytest.raises(AttributeError, match="no system nothing; there are: scb"):
        popflow.systems.nothing


@pytest.mark.parametrize("make", [
    lambda path: popflow.sweep("markov", over={"w0": [-1, 1]}, t_end=1, output=path),
    lambda path: popflow.compare("markov", rungs=["flow", "sgd"], runs=4, t_end=1, output=path)])
def test_sweeps_and_comparisons_are_datasets(folder, make):
    result = make(folder / "result.h5")
    assert isinstance(result, xarray.Dataset) and type(result.dataset) is xarray.Dataset
    # Results print in their own form; copies do so as well, and derived data as xarray's.
    for one in (popflow.open(folder / "result.h5"), pickle.loads(pickle.dumps(result)),
                result.load(), copy.copy(result), copy.deepcopy(result)):
        assert one.identical(result) and type(one) is type(result)
    assert "\n".join([*repr(one).splitlines()[:2]]) not in repr(result.dataset)
    assert type(result.isel({next(iter(result.sizes)): 0})) is xarray.Dataset
    # Functions and operators of xarray and NumPy take results.
    assert xarray.concat([result, result], "twice").sizes["twice"] == 2
    assert xarray.merge([result, xarray.Dataset({"mine": 1})]).mine == 1
    assert (result - result).equals(0 * result) and (1 + result).equals(result + 1)
    assert np.abs(result.loss_mean if "loss_mean" in result else result.loss).min() > 0
    assert set(result) == set(result.data_vars) and len(result) == len(result.data_vars)
    result.to_netcdf(folder / "again.nc", engine="h5netcdf")
    with xarray.open_dataset(folder / "again.nc", engine="h5netcdf") as again:
        assert set(again.variables) == set(result.variables)
    # Changes reach the dataset, and only what xarray allows.
    result["mine"] = 1
    result.attrs = {**result.attrs, "mine": 2}
    assert result.dataset.mine == 1 and result.dataset.attrs["mine"] == 2
    del result["mine"]
    with pytest.raises(AttributeError, match="cannot set attribute"):
        result.mine = 1
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        result.nothing  # noqa: B018
    with result as same:
        assert same is result
