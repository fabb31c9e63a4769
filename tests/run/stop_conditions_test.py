#!/usr/bin/python3
# label: fast
"""Runs that end on a condition (--stop-when "loss < 0.1"): alone, in ensembles, sweeps and
comparisons, resumed and merged; wrong conditions."""

import os

from runs import (Folder, attribute, check, check_values_refused, cut, h5py, np, popflow, run_all,
                  shorter)
from sweeps import check_cell, words

MARKOV = ["--t-end", 30, "--saves", 7]
CONDITION = ["--stop-when", "loss < 0.62"]


def run(folder, system, *args, code=0, name="run.h5"):
    path = os.path.join(folder, name)
    ended = popflow("run", system, *args, "-o", path, "--force", code=code)
    return path, ended


def last(file, name):
    return file[name][int(file["saves_done"][()]) - 1]


def test_a_flow_ends_where_the_condition_begins_to_hold():
    with Folder() as folder:
        path, ended = run(folder, "markov", *MARKOV, *CONDITION)
        check(attribute(path, "status") == "stopped", attribute(path, "status"))
        check(
            attribute(path, "status_message").startswith("stopped at t = ")
            and attribute(path, "status_message").endswith(": loss < 0.62"),
            attribute(path, "status_message"),
        )
        check("stopped" in ended.out and "warning" not in ended.err, ended.out + ended.err)
        whole, _ = run(folder, "markov", *MARKOV, name="whole.h5")
        with h5py.File(path) as file, h5py.File(whole) as other:
            done = int(file["saves_done"][()])
            stop = file["time"][done - 1]
            check(
                0 < file["loss"][done - 1] < 0.62 and abs(file["loss"][done - 1] / 0.62 - 1) < 1e-8,
                f"loss {file['loss'][done - 1]}",
            )
            for name in ("time", "loss", "e", "w"):
                check(np.array_equal(file[name][: done - 1], other[name][: done - 1]), name)
            check(np.all(np.isnan(file["loss"][done:])), "records beyond the stop")
            check(other["loss"][done - 2] > 0.62 > other["loss"][done - 1], "between saves")
        # Other methods and other steps give the same time.
        for more in (
            ["--method", "verner8", "--rtol", 1e-12],
            ["--method", "bulirsch_stoer"],
            ["--method", "rosenbrock4"],
            ["--max-step", 0.01],
        ):
            other, _ = run(folder, "markov", *MARKOV, *CONDITION, *more, name="other.h5")
            with h5py.File(other) as file:
                check(abs(last(file, "time") / stop - 1) < 1e-6, f"{more}: {last(file, 'time')}")


def test_large_states_in_blocks_stop_as_accurately():
    """The steppers of blocks, normalised or not, take several steps at a time."""
    with Folder() as folder:
        for attention, end in (("softmax", 180), ("exp", 0.28)):
            stops = []
            for method in ("dopri5", "fehlberg78"):
                path, _ = run(
                    folder,
                    "joma",
                    "--tokens",
                    500,
                    "--attention",
                    attention,
                    "--t-end",
                    end,
                    "--saves",
                    3,
                    "--state",
                    "none",
                    "--method",
                    method,
                    "--stop-when",
                    "effective_tokens < 485",
                )
                check(attribute(path, "status") == "stopped", attribute(path, "status"))
                with h5py.File(path) as file:
                    check(484.99 < last(file, "effective_tokens") < 485, "effective tokens")
                    stops.append(last(file, "time"))
            check(abs(stops[0] / stops[1] - 1) < 1e-6, f"{attention}: {stops}")


def test_a_condition_that_holds_at_the_start_ends_there():
    with Folder() as folder:
        for mode in (["--mode", "flow"], ["--mode", "sgd"], ["--mode", "sde"]):
            path, ended = run(folder, "markov", *MARKOV, *mode, "--stop-when", "loss > 0")
            check(attribute(path, "status") == "stopped", attribute(path, "status"))
            check(
                "t = 0: loss > 0" in attribute(path, "status_message"),
                attribute(path, "status_message"),
            )
            with h5py.File(path) as file:
                check(np.all(file["saves_done"][()] == 1) and file["time"][0] == 0, "one record")


def test_noisy_runs_end_after_the_first_step_that_satisfies_the_condition():
    noisy = ["--runs", 5, "--learning-rate", 0.05, "--batch-size", 4, "--t-end", 20, "--saves", 401]
    with Folder() as folder:
        for mode in ("sgd", "sde"):
            args = ["--mode", mode, *noisy, "--state", "none"]
            more = ["--dt", 0.05] if mode == "sde" else []
            path, _ = run(folder, "markov", *args, *more, *CONDITION)
            whole, _ = run(folder, "markov", *args, *more, name="whole.h5")
            with h5py.File(path) as file, h5py.File(whole) as other:
                stopped = words(file, "status").index("stopped")
                check(list(file["status"]) == [stopped] * 5, f"{list(file['status'])}")
                for number in range(5):
                    # Every step is saved.
                    first = int(np.argmax(other["loss"][number] < 0.62))
                    stop = file["stop_time"][number]
                    check(abs(stop - other["time"][first]) < 1e-9, f"{mode}: {stop}")
                    done = int(file["saves_done"][number])
                    check(done == first + 1, f"{done} saves")
                    ours, its = file["loss"][number, :done], other["loss"][number, :done]
                    # Noise in lanes differs in the last digits from noise in single runs.
                    check(np.allclose(ours, its, rtol=1e-12, atol=0), "other numbers")
                    check(mode == "sde" or np.array_equal(ours, its), "other digits")
            check(attribute(path, "status") == "stopped", attribute(path, "status"))
        # Only some of the runs satisfy this condition before t = 8.45.
        path, _ = run(folder, "markov", "--mode", "sgd", *noisy[:6], "--t-end", 8.45, *CONDITION)
        with h5py.File(path) as file:
            stopped = np.sum(file["status"][()] == words(file, "status").index("stopped"))
        check(0 < stopped < 5, f"{stopped} stopped")
        check(attribute(path, "status") == "complete", attribute(path, "status"))
        check(
            f"{stopped} of 5 runs stopped" in attribute(path, "status_message"),
            attribute(path, "status_message"),
        )


def test_a_cell_stops_like_its_run():
    with Folder() as folder:
        for args, cell in (
            (["markov", "--over", "w0=-1,.5", *MARKOV, *CONDITION, "--record", "series"], "w0=0.5"),
            (
                ["markov", "--over", "w0=-1,.5", "--mode", "sde", "--runs", 3, *MARKOV, *CONDITION],
                "w0=-1",
            ),
            (
                ["markov", "--over", "stop-when=loss < 0.62,loss<0.6,steady", *MARKOV],
                "stop-when=loss<0.6",
            ),
            (
                [
                    "scb",
                    "--over",
                    "problem-seed=1,2",
                    "--vocab-size",
                    5,
                    "--context-length",
                    20,
                    "--t-end",
                    200,
                    "--stop-when",
                    "excess_loss < 1e-2",
                ],
                "problem-seed=2",
            ),
        ):
            path = os.path.join(folder, "sweep.h5")
            popflow("sweep", *args, "-o", path, "--quiet", "--force", code=0)
            check_cell(path, cell)
            if "markov" in args:
                with h5py.File(path) as file:
                    check(
                        words(file, "status").index("stopped") in file["status"][()], "none stopped"
                    )


def test_lanes_are_refused_by_name():
    with Folder() as folder:
        ended = popflow(
            "sweep",
            "markov",
            "--over",
            "w0=-1,.5",
            *MARKOV,
            *CONDITION,
            "--kernel",
            "lanes",
            folder=folder,
            code=2,
        )
        check("--kernel lanes" in ended.err and "--stop-when" in ended.err, ended.err)


def test_resumed_and_merged_runs_stop_like_whole_runs():
    with Folder() as folder:
        whole, _ = run(folder, "markov", *MARKOV, *CONDITION, name="whole.h5")
        # A stopped run has nothing left to do, and cannot be extended.
        said = popflow("resume", whole, code=0).err
        check("finished (stopped)" in said, said)
        said = popflow("resume", whole, "--t-end", 60, code=2).err
        check("ended as 'stopped'" in said, said)
        # An extended run keeps its condition.
        short = [
            "--t-end",
            1,
            "--saves",
            2,
            "--mode",
            "sgd",
            "--runs",
            4,
            "--batch-size",
            4,
            "--stop-when",
            "loss < 0.62",
        ]
        path, _ = run(folder, "markov", *short, name="short.h5")
        popflow("resume", path, "--t-end", 12, code=0)
        longer, _ = run(
            folder,
            "markov",
            *short[4:],
            "--t-end",
            12,
            "--save-at",
            ",".join(map(str, range(13))),
            name="long.h5",
        )
        with h5py.File(path) as file, h5py.File(longer) as other:
            check(np.array_equal(file["stop_time"], other["stop_time"]), "other stops")
            check(np.array_equal(file["status"], other["status"]), "other statuses")
        parts = []
        for first, runs in ((0, 1), (1, 3)):
            part, _ = run(
                folder,
                "markov",
                "--first-run",
                first,
                "--runs",
                runs,
                "--mode",
                "sgd",
                *MARKOV,
                *CONDITION,
                "--batch-size",
                4,
                "--state",
                "none",
                name=f"part{first}.h5",
            )
            parts.append(part)
        merged = os.path.join(folder, "merged.h5")
        popflow("merge", *parts, "-o", merged, code=0)
        all_runs, _ = run(
            folder,
            "markov",
            "--runs",
            4,
            "--mode",
            "sgd",
            *MARKOV,
            *CONDITION,
            "--batch-size",
            4,
            "--state",
            "none",
            name="all.h5",
        )
        with h5py.File(merged) as file, h5py.File(all_runs) as other:
            for name in ("status", "stop_time", "loss"):
                check(np.array_equal(file[name], other[name], equal_nan=True), name)
        check(attribute(merged, "status") == attribute(all_runs, "status"), "status")


def test_an_interrupted_run_resumes_to_the_same_stop():
    args = [
        "run",
        "scb",
        "--vocab-size",
        30,
        "--context-length",
        600,
        "--mode",
        "sgd",
        "--runs",
        1,
        "--batch-size",
        16,
        "--learning-rate",
        0.01,
        "--t-end",
        shorter(4),
        "--saves",
        5,
        "--stop-when",
        "excess_loss < 0.5",
        "--checkpoint-every",
        0,
    ]
    with Folder() as folder:
        whole = os.path.join(folder, "whole.h5")
        popflow(*args, "-o", whole, code=0)
        path = os.path.join(folder, "cut.h5")
        cut([*args, "-o", path], folder, 0.3)
        if os.path.exists(path):
            popflow("resume", path, code=0)
            with h5py.File(path) as file, h5py.File(whole) as other:
                for name in ("loss", "stop_time", "status"):
                    check(np.array_equal(file[name], other[name], equal_nan=True), name)


def test_rungs_of_a_comparison_end_on_the_condition():
    with Folder() as folder:
        path = os.path.join(folder, "compare.h5")
        ended = popflow(
            "compare",
            "markov",
            "--t-end",
            20,
            "--saves",
            11,
            "--runs",
            8,
            *CONDITION,
            "-o",
            path,
            code=0,
        )
        for rung in ("flow", "sde", "sgd"):
            check(
                attribute(path, "status", rung) == "stopped",
                f"{rung}: {attribute(path, 'status', rung)}",
            )
        check("compared only up to" in " ".join(ended.out.split()), ended.out)
        said = popflow("compare", "markov", "--stop-when", "steady", folder=folder, code=2).err
        check("flows only" in said, said)
        # A comparison ignores `stop-when = steady` of a configuration for `run`.
        with open(os.path.join(folder, "run.cfg"), "w") as file:
            file.write("stop-when = steady\n")
        said = popflow(
            "compare",
            "markov",
            "--t-end",
            1,
            "--runs",
            2,
            "--saves",
            2,
            "--config",
            "run.cfg",
            folder=folder,
            code=0,
        ).err
        check("stop-when" in said and "ignores these options" in " ".join(said.split()), said)


def test_wrong_conditions_are_refused_with_the_reason():
    cases = {
        "los < 0.1": "did you mean loss?",
        "V < 0.1": "which markov does not have; observables are ",
        "e < 0.1": "'e', a field",
        "loss 0.1": "a condition is an observable",
        "loss = 0.1": "a condition is an observable",
        "loss < ": "no number to compare with",
        "loss < x": "'x' is not a finite number",
        "0.1 > loss": "the observable comes first",
        "0 < loss < 1": "more than one comparison",
        "stedy": "did you mean steady?",
        "": "a condition is an observable",
    }
    with Folder() as folder:
        check_values_refused("--stop-when", cases, folder)
        with open(os.path.join(folder, "bad.cfg"), "w") as file:
            file.write("stop-when = los < 0.1\n")
        said = popflow("run", "markov", "--config", "bad.cfg", folder=folder, code=3).err
        check("did you mean loss?" in said, said)
        # Words for flows have no effect in mode sgd, but conditions do.
        for condition, acts in ("steady", False), ("loss < 0", True):
            said = popflow("run", "markov", "--mode", "sgd", "--t-end", 0.1, "--stop-when", condition,
                           "--force", folder=folder, code=0).err
            check(("without effect in mode sgd: --stop-when" in said) == (not acts), said)
            check(not acts or "without effect" not in said, said)


if __name__ == "__main__":
    run_all()
