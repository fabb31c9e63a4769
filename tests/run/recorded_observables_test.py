#!/usr/bin/python3
# label: fast
"""Files with some of the observables (--record-observables loss,e): runs, sweeps and comparisons,
commands that read them, and wrong lists of names."""

import os

from runs import Folder, attribute, check, check_values_refused, h5py, np, popflow, run_all
from sweeps import check_cell

MARKOV = ["--t-end", 4, "--saves", 5]
SCB = ["--vocab-size", 5, "--context-length", 20, "--t-end", 20, "--saves", 5]


def run(folder, *args, name="run.h5", code=0):
    path = os.path.join(folder, name)
    popflow("run", *args, "-o", path, "--force", code=code)
    return path


def test_a_file_has_the_observables_asked_for_in_the_systems_order():
    with Folder() as folder:
        whole = run(folder, "scb", *SCB, name="whole.h5")
        some = run(folder, "scb", *SCB, "--record-observables", "signal_V,loss")
        names = attribute(whole, "observables").split()
        check(
            attribute(some, "observables").split()
            == [n for n in names if n in ("loss", "signal_V")],
            attribute(some, "observables"),
        )
        with h5py.File(whole) as file, h5py.File(some) as other:
            for name in names:
                check((name in other) == (name in ("loss", "signal_V")), name)
            for name in ("loss", "signal_V", "V", "events/time"):
                check(np.array_equal(file[name], other[name], equal_nan=True), name)
            for name in (
                attribute(some, "invariants").split() if "invariants" in other.attrs else []
            ):
                check(name in other, f"the invariant {name} is not there")
        check(
            attribute(
                run(folder, "scb", *SCB, "--record-observables", "all", name="all.h5"),
                "observables",
            ).split()
            == names,
            "all",
        )
        # The file's configuration, a resumed run and a part of an ensemble keep the choice.
        popflow("resume", some, "--t-end", 30, code=0)
        longer = run(
            folder,
            "scb",
            *SCB[:4],
            "--t-end",
            30,
            "--save-at",
            "0,5,10,15,20,25,30",
            "--record-observables",
            "loss,signal_V",
            name="longer.h5",
        )
        with h5py.File(some) as file, h5py.File(longer) as other:
            check(np.array_equal(file["loss"], other["loss"]), "an extended run")
            check("excess_loss" not in file, "a resumed run records more")


def test_commands_read_files_with_some_observables():
    with Folder() as folder:
        path = run(folder, "markov", *MARKOV, "--record-observables", "prob_0to1")
        check("prob_0to1" in popflow("plot", path, code=0).out, "plot")
        said = popflow("plot", path, "--observable", "loss", code=2).err
        check("loss" in said and "prob_0to1" in said, said)
        table = popflow("info", path, "--csv", code=0).out
        check(table.splitlines()[0].split(",")[:2] == ["time", "prob_0to1"], table[:200])
        check("prob_0to1" in popflow("info", path, code=0).out, "info")
        check("loss" not in attribute(path, "figure"), attribute(path, "figure"))
        said = popflow(
            "run",
            "markov",
            *MARKOV,
            "--record-observables",
            "prob_0to1",
            "--figure",
            "loss",
            folder=folder,
            code=2,
        ).err
        check("--figure shows 'loss'" in said, said)
        # A condition may use an observable that is not recorded.
        path = run(
            folder,
            "markov",
            "--t-end",
            30,
            "--record-observables",
            "prob_0to1",
            "--stop-when",
            "loss < 0.62",
        )
        check(attribute(path, "status") == "stopped", attribute(path, "status"))


def test_sweeps_and_merges_keep_the_choice():
    with Folder() as folder:
        words = ["sweep", "markov", "--over", "w0=-1,.5", *MARKOV, "--record-observables", "loss"]
        for more in (
            ["--record", "series"],
            ["--mode", "sgd", "--runs", 3],
            ["--mode", "sgd", "--runs", 3, "--reduce", "runs"],
        ):
            path = os.path.join(folder, "sweep.h5")
            popflow(*words, *more, "-o", path, "--force", "--quiet", code=0)
            check(attribute(path, "observables") == "loss", attribute(path, "observables"))
            with h5py.File(path) as file:
                check(not any(name.startswith("prob_0to1") for name in file), list(file))
            if "--reduce" not in more:
                check_cell(path, "w0=0.5")
        shards = []
        for shard in ("1/2", "2/2"):
            shards.append(os.path.join(folder, f"part{shard[0]}.h5"))
            popflow(*words, "--shard", shard, "-o", shards[-1], "--quiet", code=0)
        merged = os.path.join(folder, "merged.h5")
        popflow("merge", *shards, "-o", merged, code=0)
        check(attribute(merged, "observables") == "loss", "merged")
        said = popflow(
            "sweep", "markov", "--over", "record-observables=loss,e", folder=folder, code=2
        ).err
        check("cannot be swept" in said, said)
        # Parts with different observables cannot be merged.
        parts = [
            run(
                folder,
                "markov",
                *MARKOV,
                "--mode",
                "sgd",
                "--first-run",
                first,
                "--state",
                "none",
                "--record-observables",
                names,
                name=f"p{first}.h5",
            )
            for first, names in ((0, "loss"), (1, "prob_0to1"))
        ]
        said = popflow("merge", *parts, "-o", os.path.join(folder, "no.h5"), code=None)
        check(said.code in (2, 3) and "record-observables" in said.err, said.err)


def test_comparisons_of_some_observables():
    with Folder() as folder:
        path = os.path.join(folder, "compare.h5")
        ended = popflow(
            "compare",
            "markov",
            *MARKOV,
            "--runs",
            4,
            "--record-observables",
            "loss",
            "-o",
            path,
            code=0,
        )
        check("loss" in ended.out and "prob_0to1" not in ended.out, ended.out)
        popflow(
            "compare",
            "markov",
            "--t-end",
            0.8,
            "--saves",
            2,
            "--runs",
            4,
            "--learning-rates",
            "0.2,0.1",
            "--record-observables",
            "loss",
            "-o",
            path,
            "--force",
            code=0,
        )
        # Files may record different observables.
        flow = run(
            folder, "markov", *MARKOV, "--record-observables", "loss,prob_0to1", name="flow.h5"
        )
        sgd = run(
            folder,
            "markov",
            *MARKOV,
            "--mode",
            "sgd",
            "--runs",
            4,
            "--record-observables",
            "loss,prob_1to0",
            name="sgd.h5",
        )
        ended = popflow(
            "compare", "--from", f"flow={flow},sgd={sgd}", "-o", path, "--force", code=0
        )
        said = " ".join((ended.out + ended.err).split())
        check("lacks prob_1to0" in said and "lacks prob_0to1" in said, said)
        check("prob_0to1" not in popflow("info", path, code=0).out, "info")
        popflow("plot", path, code=0)
        none = run(
            folder,
            "markov",
            *MARKOV,
            "--mode",
            "sgd",
            "--record-observables",
            "prob_1to0",
            name="none.h5",
        )
        said = popflow(
            "compare", "--from", f"flow={flow},sgd={none}", "-o", path, "--force", code=3
        ).err
        check("no observable in common" in said, said)


def test_wrong_lists_are_refused_with_the_reason():
    cases = {
        "los": "did you mean loss?",
        "loss,nothing": "'nothing', which markov does not have",
        "loss,e": "'e', a field",
        "loss,loss": "names loss twice",
        "": "names of observables",
        "loss,,prob_0to1": "names of observables",
        "loss prob_0to1": "names of observables",
        "loss,sharpness": "which needs --sharpness",
    }
    with Folder() as folder:
        check_values_refused("--record-observables", cases, folder)
        # Blanks around names are allowed.
        popflow(
            "run",
            "markov",
            *MARKOV,
            "--record-observables",
            "prob_0to1, loss",
            folder=folder,
            code=0,
        )


if __name__ == "__main__":
    run_all()
