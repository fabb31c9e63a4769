#!/usr/bin/python3
# label: fast
"""Sweeps: cells equal single runs however they are computed; refusals and their messages."""

import os
import re
import signal
import subprocess
import time

from runs import (BINARY, PATIENCE, Folder, attribute, check, check_refused, h5py, np, plain, popflow,
                  run_all, start, until, until_recorded, until_there, xarray)
from sweeps import check_cell, check_same_data, datasets, measured, words

SCB = ["--vocab-size", 5, "--context-length", 20]


def sweep(system, *args, folder, name="sweep.h5", code=0):
    path = os.path.join(folder, name)
    popflow("sweep", system, *args, "-o", path, "--quiet", code=code)
    return path


def over(*axes):
    return [word for axis in axes for word in ("--over", axis)]


def test_a_cell_is_the_run_that_info_prints():
    noisy = ["--runs", 3, "--learning-rate", 0.1]
    series = ["--record", "series", "--saves", 4]
    cases = [
        ("markov", over("w0=-1.9:.9:8", "e0=-1:1:5"), "w0=-1.5,e0=0.5"),
        ("markov", over("w0=-1,.5", "t-end=5,9") + series, "w0=0.5,t-end=9"),
        ("markov", over("bias=optimal,free", "rtol=1e-5,1e-9"), "bias=free,rtol=1e-05"),
        ("markov", over("w0=-1,.5", "batch-size=1,4") + noisy + ["--mode", "sgd", "--steps", 40],
         "w0=-1,batch-size=4"),
        ("markov", over("learning-rate=.1,.2", "seed=3..5") + noisy[:2] + series
         + ["--mode", "sgd", "--t-end", 4, "--context-length", 50], "learning-rate=0.2,seed=4"),
        ("markov", over("w0=-1,.5") + noisy + ["--mode", "sde", "--t-end", 3, "--same-seed"],
         "w0=0.5"),
        ("scb", over("problem-seed=1..3", "attention=linear,softmax") + SCB + ["--t-end", 30],
         "problem-seed=2,attention=softmax"),
        ("scb", over("vocab-size=4,6") + SCB[2:] + series + ["--t-end", 9], "vocab-size=6"),
        ("scb", over("sparsity=2,3") + SCB + noisy + series + ["--mode", "sde", "--t-end", 1],
         "sparsity=3"),
        ("scb", over("problem-seed=1..3") + SCB + ["--schedule", "two-stage", "--t-end", 200], "problem-seed=1"),
        ("scb", over("batch-size=1,8") + SCB + noisy + ["--mode", "sgd", "--steps", 20],
         "batch-size=8"),
        ("joma", over("problem-seed=1,2", "method=dopri5,fehlberg78") + ["--t-end", 0.1],
         "problem-seed=2,method=fehlberg78"),
        ("joma", over("attention=exp,softmax", "offset=-1:1:3") + series + ["--t-end", 0.1],
         "attention=softmax,offset=-1"),
        ("joma-joint", over("problem-seed=1,2") + noisy + ["--mode", "sgd", "--steps", 10],
         "problem-seed=2"),
        # A cell with fewer saves than the other.
        ("markov", over("steps=2,40") + noisy + series + ["--mode", "sgd"], "steps=2"),
        # Cells that stop early.
        ("markov", over("max-steps=20,1000", "w0=.1,.2") + series, "max-steps=20,w0=0.1"),
        ("markov", over("learning-rate=.1,500") + noisy[:2] + series + [
            "--mode", "sgd", "--steps", 200], "learning-rate=500"),
        ("joma", over("problem-seed=1,2") + ["--t-end", 5], "problem-seed=2"),
        ("topic", over("problem-seed=1,2") + series + ["--t-end", 5], "problem-seed=1"),
    ]
    for system, args, cell in cases:
        with Folder() as folder:
            path = os.path.join(folder, "sweep.h5")
            popflow("sweep", system, *args, "-o", path, "--quiet")
            check_cell(path, cell)


def test_any_number_of_threads_gives_the_same_file():
    cases = [over("w0=-1.9:.9:13", "e0=-1:1:7"),
             over("w0=-1:1:9") + ["--mode", "sgd", "--steps", 30, "--runs", 7],
             over("w0=-1:1:9") + ["--mode", "sgd", "--steps", 30, "--runs", 7, "--reduce", "runs"],
             ["--mode", "sgd", "--steps", 30, "--runs", 40, "--reduce", "runs"],
             over("w0=-1,1") + ["--record", "series", "--saves", 5, "--t-end", 3]]
    for args in cases:
        with Folder() as folder:
            one = sweep("markov", *args, "--threads", 1, folder=folder, name="1.h5")
            for threads in (2, 3, 8):
                several = sweep("markov", *args, "--threads", threads, folder=folder,
                                name=f"{threads}.h5")
                check_same_data(one, several)


def test_a_larger_sweep_agrees_on_common_cells():
    common = ["--mode", "sgd", "--steps", 20, "--runs", 2]
    with Folder() as folder:
        small = datasets(sweep("markov", *over("w0=0:1:3", "e0=1,2"), *common, folder=folder,
                               name="small.h5"))
        large = datasets(sweep("markov", *over("e0=2,3,1", "w0=0:1:9"), *common, folder=folder,
                               name="large.h5"))
        for name in ("loss", "energy", "seed", "e"):
            check(np.array_equal(small[name][:, 0], large[name][2, ::4], equal_nan=True), name)
            check(np.array_equal(small[name][:, 1], large[name][0, ::4], equal_nan=True), name)


def test_shards_together_have_the_data_of_the_whole_sweep():
    args = over("w0=-1.9:.9:6", "chain:p=.1,.2,.3", "chain:q=.4,.5,.8", "bias=optimal,free")
    with Folder() as folder:
        whole = datasets(sweep("markov", *args, folder=folder))
        flat = {name: value.reshape(36, *value.shape[3:]) for name, value in whole.items()
                if value.shape[:3] == (6, 3, 2)}
        check("loss" in flat and "status" in flat, "nothing to compare")
        seen = []
        for shard in range(1, 6):
            path = sweep("markov", *args, "--shard", f"{shard}/5", folder=folder,
                         name=f"{shard}.h5")
            part = datasets(path)
            cells = part["cell"]
            seen += list(cells)
            for name, value in flat.items():
                check(np.array_equal(part[name], value[cells], equal_nan=True), f"{shard}: {name}")
            check(np.array_equal(part["w0"], whole["w0"][cells // 6]), "w0 of the cells")
            check(np.array_equal(part["p"], whole["p"][cells // 2 % 3]), "p of the cells")
            check(np.array_equal(part["bias"], cells % 2), "bias of the cells")
            check(attribute(path, "hash", "sweep") == attribute(os.path.join(folder, "sweep.h5"),
                                                                "hash", "sweep"), "hash")
        check(sorted(seen) == list(range(36)), "the shards' cells")


def test_reduced_runs_are_the_statistics_of_the_runs():
    # Large steps from a far start: in some cells no run diverges, in others some or all do.
    args = over("w0=-1.2,.5", "learning-rate=.05,.5") + [
        "--mode", "sgd", "--steps", 400, "--runs", 11, "--batch-size", 1, "--context-length", 20,
        "--e0", 0.8]
    with Folder() as folder:
        path = sweep("markov", *args, folder=folder, name="runs.h5")
        runs = datasets(path)
        reduced = datasets(sweep("markov", *args, "--reduce", "runs", folder=folder))
        with h5py.File(path, "r") as file:
            statuses, outcomes = words(file, "status"), words(file, "outcome")
    well = runs["status"] == statuses.index("complete")
    check(np.all(well | (runs["status"] == statuses.index("diverged"))), "how the runs ended")
    for number, word in enumerate(statuses):
        check(np.array_equal(reduced["status_count"][..., number],
                             (runs["status"] == number).sum(axis=-1)), f"count of {word}")
    for cell in np.ndindex(2, 2):
        of = well[cell]
        for name in ("loss", "energy", "prob_0to1"):
            values = runs[name][cell][of]
            wanted = {"mean": values.mean(), "std": values.std(ddof=1), "least": values.min(),
                      "mean_error": values.std(ddof=1) / np.sqrt(len(values)),
                      "largest": values.max()}
            for what, value in wanted.items():
                check(np.isclose(reduced[f"{name}_{what}"][cell], value, rtol=1e-10, atol=1e-14),
                      f"{cell}: {name}_{what}")
        for number, word in enumerate(outcomes):
            check(reduced[f"fraction_of_{word}"][cell]
                  == (runs["outcome"][cell][of] == number).sum() / of.sum(), f"{cell}: {word}")
        times = runs["time_of_loss_settled"][cell][of]
        happened = ~np.isnan(times)
        check(reduced["fraction_of_loss_settled"][cell] == happened.sum() / of.sum(), "fraction")
        if happened.any():
            check(reduced["median_time_of_loss_settled"][cell] == np.median(times[happened]),
                  "median")
    check(np.isfinite(runs["time_of_loss_settled"]).any(), "the event never happened")
    check(np.array_equal(runs["seed"], reduced["seed"]), "seeds")


def test_the_file_reproduces_the_sweep():
    args = over("chain:p=.1,.2", "chain:q=.3,.4", "w0=-1:1:3", "e0=.1:1:log") + [
        "--samples", 4, "--mode", "sgd", "--steps", 9, "--runs", 2]
    with Folder() as folder:
        first = sweep("markov", *args, folder=folder)
        config = os.path.join(folder, "stored.cfg")
        with open(config, "w") as file:
            file.write(attribute(first, "config", "parameters"))
        again = sweep("markov", "--config", config, folder=folder, name="again.h5")
        check_same_data(first, again)
        check(attribute(first, "hash", "sweep") == attribute(again, "hash", "sweep"), "hash")


def test_a_configuration_of_run_can_be_used():
    with Folder() as folder:
        config = os.path.join(folder, "run.cfg")
        with open(config, "w") as file:
            file.write("mode = flow\nsaves = 33\nt-end = 20\nw0 = 0.3\np = 0.1\n")
        ended = popflow("sweep", "markov", "--config", config, *over("w0=-1,1"), "-o",
                        os.path.join(folder, "s.h5"), code=0)
        check("without effect: --saves" in ended.err, ended.err)
        popflow("run", "markov", "--config", config, "-o", os.path.join(folder, "r.h5"), code=0)
        with open(config, "a") as file:
            file.write("over = w0=-1,1\nover = e0=0.5,1  # starts\n")
        path = sweep("markov", "--config", config, folder=folder)
        check(datasets(path)["loss"].shape == (2, 2), "axes of the configuration")
        ended = popflow("sweep", "markov", "--config", config, *over("w0=-1,0,1"), "-o", "other.h5",
                        folder=folder, code=0)
        check("replaces all axes of the configuration" in " ".join(ended.err.split()), ended.err)
        check(datasets(os.path.join(folder, "other.h5"))["loss"].shape == (3,),
              "axes of the command line")


def test_readers_see_labels():
    with Folder() as folder:
        path = sweep("markov", *over("w0=-1:1:3", "chain:p=.1,.2", "chain:q=.3,.4",
                                     "bias=optimal,free"), folder=folder)
        for engine in ("h5netcdf", "netcdf4"):
            try:
                data = xarray.open_dataset(path, engine=engine)
            except (ImportError, ValueError):
                continue  # this engine is not installed
            with data:
                check(dict(data.sizes) == {"w0": 3, "chain": 2, "bias": 2}, f"{data.sizes}")
                check(data.loss.dims == ("w0", "chain", "bias"), f"{data.loss.dims}")
                check(list(data.w0.values) == [-1, 0, 1], "w0")
                check(list(data.q.values) == [0.3, 0.4] and data.q.dims == ("chain",), "q")
                check(data.bias.attrs["flag_meanings"] == "optimal free", "bias")
                check(float(data.loss.sel(w0=1).isel(chain=0, bias=1)) > 0, "a cell")
                check(plain(data.attrs["status"]) == "complete", "status")


def test_series():
    with Folder() as folder:
        same_times = sweep("markov", *over("w0=-1,1"), "--record", "series", "--saves", 3, "--t-end",
                           4, folder=folder, name="a.h5")
        data = datasets(same_times)
        check(data["loss"].shape == (2, 3) and np.allclose(data["time"], [0, 2, 4]), "one axis")
        own = sweep("markov", *over("w0=-1,1", "steps=10,40"), "--record", "series", "--saves", 5,
                    "--mode", "sgd", "--learning-rate", 0.1, folder=folder, name="b.h5")
        data = datasets(own)
        check(data["loss"].shape == (2, 2, 1, 5) and data["time"].shape == (2, 2, 5), "own times")
        check(np.allclose(data["time"][:, :, -1], [[1, 4], [1, 4]]), "ends")
        check(np.array_equal(data["loss"][..., -1], data["loss_end"]), "the end")


def test_states_of_different_shapes_are_left_out():
    with Folder() as folder:
        path = sweep("scb", *over("vocab-size=4,5"), "--t-end", 1, folder=folder)
        check("V" not in datasets(path), "V of different sizes")
        path = sweep("scb", *over("problem-seed=1,2"), *SCB, "--t-end", 1, folder=folder, name="b.h5")
        check(datasets(path)["V"].shape == (2, 5, 5), "V of one size")
        path = sweep("scb", *over("problem-seed=1,2"), *SCB, "--t-end", 1, "--state", "none", folder=folder,
                     name="c.h5")
        check("V" not in datasets(path), "--state none")
    check_refused("sweep", {("scb", "--over", "vocab-size=4,5", "--t-end", "1", "--state", "ends"):
                            "--state ends needs states of one shape in all cells"})


def test_files_have_final_values_if_a_cell_can_have_them():
    small = ["scb", "--vocab-size", 4, "--context-length", 30, "--quiet"]
    finals = {"loss_before", "loss_after", "weights_kept", "columns_emptied"}
    for args, names, given in (
            (over("problem-seed=1,2"), set(), 0),
            (over("problem-seed=1,2") + ["--schedule", "two-stage"], finals, 2),
            (over("problem-seed=1,2") + ["--rounding", 0.1], finals, 2),
            (over("schedule=plain,two-stage"), finals, 1),
            (over("rounding=0.1,0.2"), finals, 2)):
        with Folder() as folder:
            path = os.path.join(folder, "sweep.h5")
            popflow("sweep", *small, *args, "--t-end", 20, "-o", path, code=0)
            with h5py.File(path) as file:
                check(finals & set(file) == names, f"{args}: {sorted(finals & set(file))}")
                check(not names or np.isfinite(file["loss_after"][()]).sum() == given, f"{args}")
            popflow("sweep", *small, *args, "--mode", "sgd", "--runs", 2, "--t-end", 1, "--reduce",
                    "runs", "-o", path, "--force", code=0)
            with h5py.File(path) as file:
                check(("loss_after_mean" in file) == bool(names), f"{args}: reduced")


def test_refused_cells_are_marked_or_end_the_sweep():
    with Folder() as folder:
        cells = over("p=0,.1,.2", "w0=.5,1")
        ended = popflow("sweep", "markov", *cells, "-o", os.path.join(folder, "a.h5"), code=2)
        check("the cell p = 0, w0 = 0.5: --p is 0" in ended.err
              and "--keep-going marks such cells 'refused'" in ended.err, ended.err)
        path = sweep("markov", *cells, "--keep-going", folder=folder)
        with h5py.File(path, "r") as file:
            status, outcome = file["status"][()], file["outcome"][()]
            refused = words(file, "status").index("refused")
            check(np.all(status[0] == refused) and not np.any(status[1:] == refused), f"{status}")
            check(np.all(outcome[0] == -1) and np.all(outcome[1:] > 0), f"{outcome}")
            check(np.all(np.isnan(file["loss"][0])), "loss of a refused cell")
        # A refused cell at a corner of the grid ends the sweep before anything is computed.
        corner = over("vocab-size=2,5,20", "sparsity=2,5", "context-length=20,10,3")
        ended = popflow("sweep", "scb", *corner, "--t-end", 1, "-o", "late.h5", folder=folder, code=2)
        check("context-length = 3" in ended.err, ended.err)
        check(not os.path.exists(os.path.join(folder, "late.h5")), "computed before the corner")
        # A sweep that ends at a refused cell elsewhere keeps its results, and can continue without
        # such cells.
        late = [*over("vocab-size=2,5,20", "sparsity=2,5", "context-length=20,3,10"), "--t-end", 1]
        ended = popflow("sweep", "scb", *late, "-o", "d.h5", folder=folder, code=2)
        check("so does 'resume --keep-going'" in " ".join(ended.err.split()), ended.err)
        popflow("resume", "d.h5", folder=folder, code=2)
        popflow("resume", "d.h5", "--keep-going", folder=folder, code=0)
        path = sweep("scb", *late, "--keep-going", folder=folder, name="e.h5")
        check_same_data(os.path.join(folder, "d.h5"), path)
        popflow("run", "markov", "--t-end", "1", "-o", "run.h5", folder=folder, code=0)
        check("applies to files of sweeps only" in
              popflow("resume", "run.h5", "--keep-going", folder=folder, code=2).err, "of a run")
        # Cells that only the integrator refuses are marked too.
        path = sweep("scb", *over("method=dopri5,rosenbrock4"), *SCB, "--t-end", 1, "--keep-going",
                     folder=folder, name="b.h5")
        check(list(datasets(path)["status"]) == [1, refused], "rosenbrock4 without a Jacobian")
        # If all cells are refused the exit code is that of a refusal.
        sweep("markov", *over("p=0,1"), "--keep-going", folder=folder, name="c.h5", code=2)


def test_an_error_of_all_cells_leaves_no_file():
    with Folder() as folder:
        words = ["sweep", "markov", "--over", "w0=-1,1", "--t-end", 1, "-o", "a.h5"]
        ended = popflow(*words, "--kernel", "lanes", "--stop-when", "steady", folder=folder, code=2)
        check("--kernel lanes: no SIMD lanes exist" in ended.err and not os.listdir(folder),
              f"{ended.err} {os.listdir(folder)}")
        popflow(*words, "--stop-when", "steady", folder=folder, code=0)


def test_a_run_that_is_stuck_has_the_status_stuck():
    with Folder() as folder:
        path = sweep("markov", "--over", "e0=1,2", "--t-end", "1e12", "--stop-when", "stuck",
                     "--method", "euler", "--dt", "1e-3", folder=folder, code=6)
        with h5py.File(path) as file:
            stuck = words(file, "status").index("stuck")
            check(np.all(file["status"][()] == stuck), file["status"][()])


def test_retry():
    with Folder() as folder:
        args = over("w0=-1,.5,2", "max-steps=5,100000")
        path = sweep("markov", *args, folder=folder)
        whole = datasets(path)
        step_limit, complete = 4, 1
        check(np.all(whole["status"] == [step_limit, complete]), f"{whole['status']}")
        popflow("resume", path, "--quiet", code=0)
        check_same_data(path, sweep("markov", *args, folder=folder, name="b.h5"))
        # The damaged values are restored in recomputed cells, and other cells are unchanged.
        with h5py.File(path, "r+") as file:
            file["loss"][...] = 7
        popflow("resume", path, "--retry", "step_limit", "--quiet", code=0)
        loss = datasets(path)["loss"]
        check(np.array_equal(loss[:, 0], whole["loss"][:, 0]) and np.all(loss[:, 1] == 7),
              f"{loss}")
        popflow("resume", path, "--retry", "complete,step_limit", "--quiet", code=0)
        check(np.array_equal(datasets(path)["loss"], whole["loss"]), "all again")
        ended = popflow("resume", path, "--retry", "complet", code=2)
        check("did you mean 'complete'?" in ended.err, ended.err)


def test_an_interrupted_retry_says_so():
    with Folder() as folder:
        path = sweep("markov", "--mode", "sgd", "--over", "w0=-1:1:40", "--runs", 50, "--steps", 5000,
                     "--batch-size", 2, "--context-length", 32, "--learning-rate", 0.01, folder=folder)
        process = subprocess.Popen([BINARY, "resume", path, "--retry", "complete", "--threads", "1"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        until(lambda: attribute(path, "status") == "running", process)
        process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=PATIENCE)[1]
        check(process.returncode == 143, f"{process.returncode}: {err}")
        check(" of the 2000 runs that --retry names" in err, err)
        check(attribute(path, "status") == "complete", "the old results are kept")


def test_a_finished_sweep_no_longer_needs_its_input_files():
    with Folder() as folder:
        with open(os.path.join(folder, "a.txt"), "w") as file:
            file.write("abracadabra" * 20)
        path = os.path.join(folder, "s.h5")
        popflow("sweep", "markov", "--over", "text=a.txt", "--t-end", 1, "-o", path, "--quiet",
                folder=folder, code=0)
        os.remove(os.path.join(folder, "a.txt"))
        check("is finished" in popflow("resume", path, code=0).err, "resume")


def test_retry_finds_reduced_cells_with_runs_at_a_limit():
    with Folder() as folder:
        path = sweep("linear-attention", "--mode", "sgd", "--learning-rate", 1, "--batch-size", 2,
                     "--runs", 8, "--t-end", 40, "--max-steps", 20, "--reduce", "runs", folder=folder,
                     code=6)
        step_limit = 4
        whole = datasets(path)
        check(0 < whole["status_count"][step_limit] < 8, whole["status_count"])
        check(whole["status"] == step_limit, whole["status"])
        said = popflow("resume", path, "--retry", "step_limit", code=6)
        check("is finished" not in said.err, said.err)
        check(np.array_equal(datasets(path)["status_count"], whole["status_count"]),
              "the same again")


def test_a_finished_sweep_may_be_read_only():
    with Folder() as folder:
        path = sweep("markov", *over("w0=-1,1"), folder=folder)
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)
        # Root may write everything, so another user runs the command.
        other = ["setpriv", "--reuid=65534"] if os.geteuid() == 0 else []
        said = subprocess.run([*other, BINARY, "resume", path], capture_output=True, text=True)
        os.chmod(folder, 0o755)
        check(said.returncode == 0 and "is finished" in said.stderr, f"{said}")


def test_files_along_an_axis():
    with Folder() as folder:
        for name in ("a,b.txt", "c.txt"):
            with open(os.path.join(folder, name), "w") as file:
                file.write("anna and bob eat beans in a boat " + name)
        popflow("sweep", "markov", "--over", "text=a\\,b.txt,c.txt", "--t-end", 5, "-o", "s.h5",
                folder=folder, code=0)
        path = os.path.join(folder, "s.h5")
        with h5py.File(path, "r") as file:
            check(words(file, "text") == ["a,b.txt", "c.txt"], "the words")
            # The problem of each cell is that of its text.
            for place, name in enumerate(("a,b.txt", "c.txt")):
                popflow("run", "markov", "--text", name, "--t-end", 5, "--saves", 1, "-o", "r.h5",
                        "--force", folder=folder, code=0)
                check(attribute(os.path.join(folder, "r.h5"), "entropy_rate")
                      == file["entropy_rate"][place], f"the chain of {name}")
        said = popflow("info", path, "--cell", "text=a\\,b.txt", folder=folder, code=0).out
        check("--text a,b.txt" in said, said)
        ended = popflow("resume", path, "--retry", "complete", code=3)  # from another folder
        check("the file 'a,b.txt' does not exist; resume where the sweep was begun" in ended.err,
              ended.err)
        popflow("resume", path, "--retry", "complete", folder=folder, code=0)
        with open(os.path.join(folder, "c.txt"), "a") as file:
            file.write("e")
        said = popflow("resume", path, "--retry", "complete", folder=folder, code=3).err
        check("c.txt' has other contents now than when the sweep was begun" in said, said)


def test_derived_parameters_common_to_all_cells_are_recorded():
    with Folder() as folder:
        for name, text in (("a.txt", "anna eats"), ("b.txt", "oo bb oo bbb")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)

        def settled(*over):
            path = os.path.join(folder, "s.h5")
            popflow("sweep", "markov", "--over", "w0=-1,1", *over, "--t-end", 1, "-o", path, "--force",
                    folder=folder, code=0)
            popflow("resume", path, "--retry", "complete", folder=folder, code=0)
            return attribute(path, "p", "parameters")

        popflow("run", "markov", "--text", "a.txt", "--t-end", 1, "-o", "r.h5", folder=folder, code=0)
        own = attribute(os.path.join(folder, "r.h5"), "p", "parameters")
        check(settled("--text", "a.txt") == own != 0.2, "p of the text")
        check(settled("--over", "text=a.txt,b.txt") == 0.2, "each text has its own")


def test_a_start_from_a_file_replaces_an_option():
    with Folder() as folder:
        popflow("run", "joma", "--tokens", 3, "--t-end", 0.2, "-o", "own.h5", folder=folder, code=0)
        for start in (["--init-from", "own.h5"], ["--problem", "own.h5"]):
            popflow("sweep", "joma", "--tokens", 3, *start, "--t-end", 0.2, *over("temperature=1,2"),
                    "-o", "s.h5", "--force", folder=folder, code=0)
            with h5py.File(os.path.join(folder, "s.h5")) as file:
                check(np.all(file["status"][()] == 1), "a cell is not complete")


def test_an_empty_axis_is_refused():
    check_refused("sweep", {("markov", "--over", ""): "--over is empty; an axis must have the form"})
    with Folder() as folder:
        said = popflow("sweep", "markov", "--p", 1, "--keep-going", "-o", "s.h5", folder=folder).err
        check("refused: --p is 1" in said, said)


def test_the_table_shows_what_varies():
    with Folder() as folder:
        said = popflow("sweep", "joma", "--activation", "nonlinear", "--tokens", 8, "--over",
                       "temperature=0.5,1,2", "-o", "s.h5", folder=folder, code=0).out
        # In all cells the entropy falls from the start, so this event is not shown.
        check("time_of_entropy_minimum by" in said and "time_of_entropy_falls" not in said, said)


def test_a_file_that_cells_read_is_not_replaced():
    with Folder() as folder:
        for name in ("a.h5", "b.h5"):
            popflow("run", "markov", "--t-end", 1, "-o", name, folder=folder, code=0)
        for read in (["--init-from", "a.h5", *over("t-end=1,2")], ["--problem", "a.h5", *over("w0=1,2")],
                     over("init-from=b.h5,a.h5")):
            said = popflow("sweep", "markov", *read, "-o", "./a.h5", "--force", folder=folder,
                           code=2).err
            check("give --output another name" in said, said)
        popflow("info", "a.h5", folder=folder, code=0)
        popflow("run", "markov", "--init-from", "a.h5", "-o", "c.h5", folder=folder, code=0)


def test_info():
    with Folder() as folder:
        path = sweep("markov", *over("w0=-1,1", "seed=1,2"), "--mode", "sgd", "--steps", 5, "--runs",
                     3, folder=folder)
        text = popflow("info", path, code=0).out
        for part in ("w0: 2 values, -1 and 1", "4, 3 runs each", "complete: 12 complete",
                     "outcome (median or most frequent word over the runs)"):
            check(part in text, text)
        check("\nloss" in popflow("info", path, "--of", "loss", code=0).out, "--of loss")
        lines = popflow("info", path, "--csv", code=0).out.splitlines()
        check(len(lines) == 1 + 4 * 3 and lines[0].startswith("w0,seed,run,"), lines[0])
        column = lines[0].split(",").index("loss")
        values = [float(line.split(",")[column]) for line in lines[1:]]
        check(np.array_equal(values, datasets(path)["loss"].ravel()), "csv to the last bit")
        for words_given, said in {("--cell", "w0=3,seed=1"): "the nearest is 1",
                                  ("--cell", "w0=1"): "does not determine seed",
                                  ("--of", "los"): "did you mean 'loss'?"}.items():
            ended = popflow("info", path, *words_given, code=2)
            check(said in ended.err, ended.err)


def test_an_axis_is_described_by_its_ends_or_its_range():
    with Folder() as folder:
        for axes, said in {("p=0.3,0.1,0.2",): "p: 3 values within 0.1 to 0.3",
                           ("p=0.3,0.2,0.1",): "p: 3 values, 0.3 to 0.1",
                           ("a:p=0.1,0.2,0.3", "a:q=0.3,0.1,0.2"):
                               "p, q: 3 values within 0.1 to 0.3, 0.1 to 0.3"}.items():
            path = sweep("markov", *over(*axes), "--t-end", 1, "--force", folder=folder)
            text = popflow("info", path, code=0).out
            check(said in text, text)


def test_info_leaves_out_runs_that_diverged():
    with Folder() as folder:
        rates = (0.05, 0.39, 0.41, 0.6)
        path = sweep("markov", *over("learning-rate=" + ",".join(map(str, rates))), "--mode", "sgd",
                     "--batch-size", 1, "--e0", 3, "--w0", 3, "--t-end", 12, "--runs", 12,
                     folder=folder)
        with xarray.open_dataset(path) as data:
            well = data.status != data.status.attrs["flag_meanings"].split().index("diverged")
            counted = well.sum("run").values
            check(counted[0] == 12 and 0 < counted[1] < 12 and counted[3] == 0, counted)
            medians = data.loss.where(well).median("run").values
        table = popflow("info", path, "--of", "loss", code=0).out.splitlines()[-len(rates):]
        for rate, line, median, runs in zip(rates, table, medians, counted):
            shown = line.split()[1]
            check(shown == "-" if runs == 0 else np.isclose(float(shown), median, rtol=1e-5), line)
            cell = popflow("info", path, "--cell", f"learning-rate={rate}", code=0).out
            loss = next(line for line in cell.splitlines() if line.startswith("loss "))
            check(loss.endswith("median of 12 runs" if runs == 12 else f"median of {runs} of 12 runs"),
                  loss)
            status = next(line for line in cell.splitlines() if line.startswith("status "))
            check(status.endswith("most frequent of 12 runs"), status)


def test_a_dry_run_says_what_a_sweep_needs():
    with Folder() as folder:
        # 10^12 cells are planned at once, without the memory to hold them.
        huge = over("w0=1:2:1000000", "e0=0:1:1000000") + ["--threads", 2]
        began = time.monotonic()
        said = popflow("sweep", "markov", *huge, "--dry-run", folder=folder, code=0).out
        check("1000000000000" in said and "TB" in said and "days" in said, said)
        for more in ([], ["--shard", "1/2"]):
            ended = popflow("sweep", "markov", *huge, *more, folder=folder, code=2)
            check("of disk" in ended.err and "Fewer cells" in ended.err, ended.err)
            for words_more in ([], ["--dry-run"]):
                _, megabytes = measured("sweep", "markov", *huge, *more, *words_more, folder=folder)
                check(megabytes < 1000, f"{megabytes} MB")
        check(time.monotonic() - began < 100, "the dry run takes long")
        check(os.listdir(folder) == [], "a file was left")


def test_concurrent_runs_must_fit_in_memory():
    sgd = ["sweep", "scb", "--mode", "sgd", "--steps", 2, "--context-length", 5]
    with Folder() as folder:
        # The program's own message says how much memory there is.
        told = popflow(*sgd, *over("seed=1,2"), "--batch-size", 2e12, folder=folder, code=2).err
        number, unit = re.search(r"there are ([\d.]+) (.B) here", told).groups()
        memory = float(number) * {"MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]
        batch = int(memory / 50 / 192)  # the samples of one run take a fiftieth of the memory
        for many in (["--over", "sparsity=1:5:5", "--over", "seed=1:40:40"],
                     ["--over", "seed=1,2", "--runs", 100]):
            told = popflow(*sgd, *many, "--batch-size", batch, "--threads", 100, folder=folder,
                           code=2).err
            check("100 runs at a time (--threads)" in told and "would need" in told, told)
        # A single large cell does not imply that all cells are large.
        told = popflow(*sgd, *over(f"batch-size=1:{batch}:200"), "--threads", 100, "--dry-run",
                       folder=folder, code=0).out
        check("from " in told, told)
        check(not os.listdir(folder), "left a file")


def test_refusals():
    check_refused("sweep", {
        ("markov", "--over", "loss:w0=1,2"): "the name 'loss' is in use for something else in the file",
        ("markov", "--over", "e:w0=1,2"): "the name 'e' is in use for something else in the file",
        ("markov", "--over", "parameters:w0=1,2"): "the name 'parameters' is in use for",
        ("markov", "--over", "run:w0=1,2"): "'run' is a dimension that files have",
        ("markov", "--reduce", "runs"): "--reduce runs is for --mode sde and sgd",
        ("markov", "--over", "w1=1,2"): "did you mean 'w0'?",
        ("markov", "--over", "w0=1,2", "--shard", "3/2"): "I must be from 1 to N, here 2",
        ("markov", "--over", "method=gradient_descent"): "the cell method = gradient_descent: ",
    })
    with Folder() as folder:
        ended = popflow("sweep", "markov", *over("text=a.txt,b.txt"), folder=folder, code=3)
        check("the file 'a.txt' does not exist" in ended.err and os.listdir(folder) == [], ended.err)
        path = sweep("scb", *over("problem-seed=1,2"), *SCB, "--t-end", 1, folder=folder)
        other = os.path.join(folder, "other.h5")
        for command, code, said in [
                (["run", "scb", "--problem", path], 3, "holds a sweep"),
                (["run", "scb", "--init-from", path], 3, "is a sweep, not a run"),
                (["compare", "scb", "--init-from", path], 3, "is a sweep, not a run"),
                (["sweep", "scb", "--over", f"init-from={path}"], 3, "is a sweep, not a run")]:
            ended = popflow(*command, "-o", other, code=code)
            check(said in ended.err and not os.path.exists(other), ended.err)
        ended = popflow("resume", path, "--t-end", 5, code=2)
        check("a sweep, which cannot be extended" in ended.err, ended.err)
        ended = popflow("sweep", "markov", "-o", path, code=2)
        check("exists; --force replaces it" in ended.err, ended.err)
        ended = popflow("sweep", "markov", *over("batch-size=1,2"), "--same-seed", "-o", other,
                        code=0)
        check("without effect in mode flow: --same-seed, --batch-size" in ended.err, ended.err)


def test_a_refused_sweep_replaces_no_file():
    with Folder() as folder:
        path = sweep("markov", *over("w0=-1,1"), "--t-end", 1, folder=folder)
        with open(path, "rb") as file:
            before = file.read()
        for words_of_it in (["markov", "--mode", "sde", *over("w0=-1,1"), "--runs", 3, "--t-end", 0],
                            ["linear-attention", *over("method=rosenbrock4,dopri5")]):
            popflow("sweep", *words_of_it, "-o", path, "--force", code=2)
            with open(path, "rb") as file:
                check(file.read() == before, "the file was replaced")


def test_a_sweep_whose_file_is_removed_says_so():
    with Folder() as folder:
        path = os.path.join(folder, "sweep.h5")
        process = start("sweep", "markov", *over("w0=-1.9:.9:60", "e0=.1:1:60"), "--rtol", "1e-12",
                        "--t-end", 3000, "--kernel", "scalar", "-o", path)
        until_there(path, process)
        os.remove(path)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=PATIENCE)[1]
        check(process.returncode == 5 and "removed or replaced" in err,
              f"{process.returncode}: {err}")


def test_the_sample_axis_stands_where_it_is_given():
    with Folder() as folder:
        path = sweep("markov", *over("w0=1:2", "p=0.1,0.2", "e0=0.1:0.2"), "--samples", 4, "--t-end", 1,
                     folder=folder)
        with h5py.File(path) as file:
            check(file["status"].shape == (4, 2), file["status"].shape)


def test_an_interrupt_ends_with_130_and_says_how_to_resume():
    args = over("w0=-1.9:.9:50", "e0=.1:1:50") + ["--rtol", "1e-12", "--t-end", 3000,
                                                  "--kernel", "scalar"]
    with Folder() as folder:
        path = os.path.join(folder, "sweep.h5")
        process = start("sweep", "markov", *args, "-o", path)
        until_recorded(path, process, 1, name="status")
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=PATIENCE)[1]
        check(process.returncode == 130, f"ended with {process.returncode}")
        check(f"resume {path}' continues the computation" in err, err)
        status = datasets(path)["status"]
        check(0 < np.count_nonzero(status) < status.size, f"{np.count_nonzero(status)} cells")
        check(attribute(path, "status") == "interrupted", "status")


if __name__ == "__main__":
    run_all()
