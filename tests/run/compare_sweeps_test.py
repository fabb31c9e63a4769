#!/usr/bin/python3
# label: slow
"""Two sweeps compared cell by cell: each cell has the verdicts of its own runs."""

import os

from runs import Folder, check, h5py, np, plain, popflow, run_all, xarray
from sweeps import command_of

AXES = ["--over", "learning-rate=0.2,1.6", "--over", "batch-size=2,64"]
SERIES = ["--t-end", 16, "--record", "series", "--saves", 6]
RUNGS = {"sde": ["--mode", "sde", "--runs", 12],
         "sgd": ["--mode", "sgd", "--seed", 2, "--runs", 12],
         "flow": ["--mode", "flow"]}


def swept(folder, *rungs):
    for rung in rungs:
        popflow("sweep", "markov", *AXES, *SERIES, *RUNGS[rung], "-o", f"{rung}.h5", "--quiet",
                folder=folder, code=0)
    return ",".join(f"{rung}={rung}.h5" for rung in rungs)


def test_a_cell_has_the_verdicts_of_its_runs():
    with Folder() as folder:
        files = swept(folder, "sde", "sgd")
        done = popflow("compare", "--from", files, "-o", "maps.h5", folder=folder, code=0)
        check("loss" in done.out and "agree" in done.out, done.out)
        popflow("info", "maps.h5", folder=folder, code=0)
        with xarray.open_dataset(os.path.join(folder, "maps.h5")) as maps:
            maps.load()
        check(maps.verdict.dims == ("learning_rate", "batch_size"), maps.verdict.dims)
        seen = set()
        for eta in (0.2, 1.6):
            for batch in (2, 64):
                cell = f"learning-rate={eta},batch-size={batch}"
                for rung in ("sde", "sgd"):
                    command = command_of(os.path.join(folder, f"{rung}.h5"), cell)
                    popflow(*command, "-o", f"{rung}-cell.h5", "--force", "--quiet", folder=folder,
                            code=0)
                popflow("compare", "--from", "sde=sde-cell.h5,sgd=sgd-cell.h5", "-o", "cell.h5",
                        "--force", folder=folder, code=0)
                here = maps.sel(learning_rate=eta, batch_size=batch)
                with h5py.File(os.path.join(folder, "cell.h5")) as file:
                    group = file["comparison"]
                    for name in plain(file["sde"].attrs["observables"]).split():
                        check(group[name + "_p_value"][0] == here[name + "_p_value"], name)
                        difference = group[name + "_difference"][0]
                        check(np.abs(difference).max() == np.abs(here[name + "_difference"]), name)
                        margin = float(here[name + "_margin"])
                        check(np.array_equal(group[name + "_margin"][()], margin, equal_nan=True),
                              name)
                        if np.isfinite(margin):
                            check(group[name + "_verdict"][0] == here[name + "_verdict"], name)
                # The energy is an invariant and has no verdict.
                kinds = [int(here[name]) for name in maps.data_vars if name.endswith("_verdict")]
                worst = 1 if 1 in kinds else 2 if 2 in kinds else 0
                check(here.verdict == worst, f"{cell}: {kinds}, {int(here.verdict)}")
                seen.add(worst)
        check(len(seen) > 1, f"all cells have the verdict {seen}")


def test_three_sweeps_have_pairs():
    with Folder() as folder:
        files = swept(folder, "flow", "sde", "sgd")
        popflow("compare", "--from", files, "-o", "maps.h5", folder=folder, code=0)
        with h5py.File(os.path.join(folder, "maps.h5")) as file:
            check(file["verdict"].shape == (2, 2, 3), file["verdict"].shape)


def test_sweeps_that_cannot_be_compared_are_refused():
    with Folder() as folder:
        files = swept(folder, "sde", "sgd")
        made = {"ends": [*AXES, "--t-end", 16, *RUNGS["sgd"]],
                "axes": ["--over", "batch-size=2,64", *SERIES, *RUNGS["sgd"]],
                "saves": [*AXES, *SERIES[:-1], 5, *RUNGS["sgd"]],
                "start": [*AXES, *SERIES, *RUNGS["sgd"], "--e0", 0.7]}
        said = {"ends": "--record series", "axes": "the axes of sgd (axes.h5) and sde (sde.h5) differ", "saves": "has 5 saves",
                "start": "--e0: 0.7 in sgd"}
        for name, args in made.items():
            popflow("sweep", "markov", *args, "-o", f"{name}.h5", "--quiet", folder=folder, code=0)
            ended = popflow("compare", "--from", f"sde=sde.h5,sgd={name}.h5", "-o", "out.h5",
                            folder=folder, code=3)
            check(said[name] in ended.err, f"{name}: {ended.err}")
        popflow("run", "markov", "--t-end", 1, "-o", "run.h5", "--quiet", folder=folder, code=0)
        for one, other in (("sde=sde.h5", "flow=run.h5"), ("flow=run.h5", "sde=sde.h5")):
            popflow("compare", "--from", f"{one},{other}", "-o", "out.h5", folder=folder, code=3)
        ended = popflow("compare", "--from", "sgd=sde.h5,sde=sgd.h5", "-o", "out.h5", folder=folder,
                        code=3)
        check("is not the rung sgd" in ended.err, ended.err)
        check(not os.path.exists(os.path.join(folder, "out.h5")), "a file is left behind")


def test_noisy_sweeps_must_have_equal_training_options():
    with Folder() as folder:
        def sweep(name, *more):
            popflow("sweep", "markov", "--over", "w0=-1,1", *SERIES, *more, "-o", name, "--quiet",
                    folder=folder, code=0)

        sweep("flow.h5")
        noisy = ["--mode", "sgd", "--runs", 4, "--learning-rate"]
        sweep("sgd.h5", *noisy, 0.2)
        sweep("slow.h5", *noisy, 0.1, "--svag", 2)
        sweep("svag.h5", *noisy, 0.2, "--svag", 2)

        def compare(*files, code):
            return popflow("compare", "--from", ",".join(("flow=flow.h5", "sgd=sgd.h5", *files)), "-o",
                           "maps.h5", "--force", folder=folder, code=code)

        said = compare("svag:2=slow.h5", code=3).err
        check("--learning-rate: 0.1 in svag:2" in said, said)
        said = compare("svag:2=svag.h5", code=0).err
        check("share random numbers" in said, said)
        said = popflow("compare", "scb", "--from", "flow=flow.h5,sgd=sgd.h5", folder=folder, code=3).err
        check("is a sweep of markov, not of scb" in said, said)
        said = popflow("resume", "maps.h5", folder=folder, code=0)
        check("finished" in said.err + said.out and "verdict" in said.out, said)


def test_runs_that_stopped_early_are_compared_up_to_their_ends():
    with Folder() as folder:
        common = ["sweep", "markov", "--over", "w0=-1,1", *SERIES, "--learning-rate", 0.2, "--quiet"]
        popflow(*common, "-o", "flow.h5", folder=folder, code=0)
        # The runs stop at t = 4 of 16, between the saves at 3.2 and 6.4.
        popflow(*common, "--mode", "sgd", "--runs", 4, "--max-steps", 20, "-o", "sgd.h5", folder=folder)
        popflow("compare", "--from", "flow=flow.h5,sgd=sgd.h5", "-o", "maps.h5", folder=folder, code=0)
        with h5py.File(os.path.join(folder, "sgd.h5")) as runs, \
                h5py.File(os.path.join(folder, "flow.h5")) as flow, \
                h5py.File(os.path.join(folder, "maps.h5")) as maps:
            check(np.all(runs["stop_time"][()] == 4), runs["stop_time"][()])
            apart = runs["loss"][()].mean(1)[:, :2] - flow["loss"][()][:, :2]
            check(np.allclose(np.abs(maps["loss_difference"][()]), np.abs(apart).max(-1)), "too far")


def test_cells_without_a_comparison_are_undecided():
    common = ["sweep", "scb", "--context-length", 50, "--over", "learning-rate=3", "--t-end", 120,
              "--record", "series", "--saves", 3, "--quiet"]
    with Folder() as folder:
        for name, *rung in (("gd", "--mode", "sde", "--method", "gradient_descent"),
                            ("sgd", "--mode", "sgd", "--seed", 2)):
            popflow(*common, *rung, "--runs", 8, "--batch-size", 2, "-o", f"{name}.h5", folder=folder,
                    code=4)
        popflow("compare", "--from", "gd=gd.h5,sgd=sgd.h5", "-o", "maps.h5", folder=folder, code=0)
        with h5py.File(os.path.join(folder, "maps.h5")) as maps:
            check(list(maps["verdict"][()]) == [2], maps["verdict"][()])
        # A rung that does not diverge differs from one that does, even if the first one gives no
        # margin.
        popflow(*common, "--mode", "sde", "--noise-scale", 0, "--noise", "isotropic", "--runs", 8,
                "--batch-size", 2, "-o", "sde.h5", folder=folder, code=0)
        popflow("compare", "--from", "sgd=sgd.h5,sde=sde.h5", "-o", "maps.h5", "--force", folder=folder,
                code=0)
        with h5py.File(os.path.join(folder, "maps.h5")) as maps:
            check(list(maps["verdict"][()]) == [1], maps["verdict"][()])


run_all()
