#!/usr/bin/python3
# label: slow
"""Ensembles computed in parts: merged parts equal the one large ensemble."""

import os
import shutil
import signal
import time

from runs import (PATIENCE, Folder, attribute, check, check_equal, check_refused, cut, h5py, np,
                  popflow, run_all, start, until_there, until_used, worked)

# Two systems; the second one has events, stages, states of several fields, and final values.
CASES = {
    "markov sgd": ["markov", "--mode", "sgd", "--learning-rate", 0.1, "--batch-size", 16],
    "markov sde": ["markov", "--mode", "sde", "--learning-rate", 0.1, "--batch-size", 16],
    "scb sgd": ["scb", "--mode", "sgd", "--vocab-size", 4, "--context-length", 30,
                "--batch-size", 64, "--schedule", "two-stage", "--stage1-time", 2, "--learning-rate", 0.02],
    "scb sde": ["scb", "--mode", "sde", "--vocab-size", 4, "--context-length", 30, "--noise",
                "isotropic", "--noise-scale", 0.02, "--dt", 0.02, "--schedule", "two-stage",
                "--stage1-time", 2],
}
COMMON = ["--t-end", 4, "--saves", 5, "--threads", 2]
FREE = {"free_attributes": ("output", "force"), "free_groups": ("provenance",), "slots": False}
EXTENDED = dict(FREE, free_attributes=("output", "force", "started"))


def run(folder, name, *args, code=0):
    path = os.path.join(folder, name + ".h5")
    popflow("run", *args, "-o", path, "--force", code=code)
    return path


def parts(folder, args, sizes, state="all", first=0):
    """Computes consecutive parts of these sizes and returns their files."""
    paths = []
    for size in sizes:
        paths.append(run(folder, f"part{first}", *args, *COMMON, "--state", state, "--runs", size,
                         "--first-run", first))
        first += size
    return paths


def merge(folder, name, *files, code=0):
    path = os.path.join(folder, name + ".h5")
    return path, popflow("merge", *files, "-o", path, code=code)


def refused(files, *sentences, output=None, code=3, force=False):
    """Checks that merging is refused with these sentences and leaves no file."""
    with Folder() as folder:
        path = output or os.path.join(folder, "merged.h5")
        before = open(path, "rb").read() if output else None
        ended = popflow("merge", *files, "-o", path, *(["--force"] if force else []), code=code)
        for sentence in sentences:
            check(sentence in ended.err, f"'{sentence}' is not in: {ended.err}")
        check(os.listdir(folder) == [], "a file is left")
        check(output is None or open(path, "rb").read() == before, "the output was changed")


def copy(path, folder, name, change=lambda file: None):
    """Returns a copy of a file, changed by `change`."""
    other = os.path.join(folder, name + ".h5")
    shutil.copy(path, other)
    with h5py.File(other, "r+") as file:
        change(file)
    return other


def test_merged_parts_are_the_whole_ensemble():
    for name, args in CASES.items():
        for state in ("all", "ends", "none"):
            with Folder() as folder:
                whole = run(folder, "whole", *args, *COMMON, "--state", state, "--runs", 6)
                files = parts(folder, args, [1, 3, 2], state)
                merged, _ = merge(folder, "merged", files[2], files[0], files[1])
                check_equal(whole, merged, **FREE)
                with h5py.File(merged) as file:
                    check(list(file["run"][()]) == list(range(6)), f"{name}: {file['run'][()]}")
                    if "scb" in name:
                        found = file["events/run"][()]
                        check(set(found[found >= 0]) == set(range(6)), f"{name}: {found}")


def test_a_part_has_the_runs_of_the_whole():
    with Folder() as folder:
        args = CASES["scb sgd"]
        whole = run(folder, "whole", *args, *COMMON, "--state", "all", "--runs", 6)
        part = parts(folder, args, [2], first=3)[0]
        with h5py.File(whole) as a, h5py.File(part) as b:
            check(list(b["run"][()]) == [3, 4], "the runs' numbers")
            for name in ("loss", "V", "stage", "stop_time", "final/loss_before"):
                check(np.array_equal(a[name][3:5], b[name][()], equal_nan=True), name)
            found = b["events/run"][()]
            check(set(found[found >= 0]) == {3, 4}, f"events are those of runs {found}")
        lines = popflow("info", part, "--csv", code=0).out.splitlines()
        check([line.split(",")[0] for line in lines[1::5]] == ["3", "4"], lines)


def test_merged_files_are_extended_like_the_whole():
    for name, args in CASES.items():
        with Folder() as folder:
            whole = run(folder, "whole", *args, *COMMON, "--state", "ends", "--runs", 4)
            files = parts(folder, args, [1, 3], "ends")
            merged, _ = merge(folder, "merged", *files)
            for path in (whole, merged, *files):
                popflow("resume", path, "--t-end", 6, code=0)
            check_equal(whole, merged, **EXTENDED)
            with h5py.File(merged) as file:
                check("parts" in file["provenance"].attrs, "the parts are forgotten")
            again, _ = merge(folder, "again", *files)
            check_equal(whole, again, **EXTENDED)


def test_extended_parts_are_merged_with_direct_ones():
    args = [*CASES["markov sgd"], "--threads", 2, "--state", "ends"]
    with Folder() as folder:
        longer = ["--t-end", 8, "--saves", 9]
        whole = run(folder, "whole", *args, *longer, "--runs", 3)
        first = run(folder, "first", *args, "--t-end", 4, "--saves", 5, "--runs", 2)
        popflow("resume", first, "--t-end", 8, code=0)
        rest = run(folder, "rest", *args, *longer, "--runs", 1, "--first-run", 2)
        merged, _ = merge(folder, "merged", first, rest)
        # Restart slots are written in turn. The extended part also wrote one at its former end, so
        # the slots' contents differ.
        check_equal(whole, merged, **dict(EXTENDED, free_groups=("provenance", "restart")))


def test_interrupted_parts_are_merged_and_the_whole_is_resumed():
    args = ["scb", "--mode", "sgd", "--vocab-size", 10, "--context-length", 1000,
            "--learning-rate", 0.02, "--t-end", 4, "--saves", 5, "--threads", 2, "--state", "all"]
    with Folder() as folder:
        began = worked()
        whole = run(folder, "whole", *args, "--runs", 6)
        effort = worked() - began
        first = run(folder, "first", *args, "--runs", 2, "--first-run", 0)
        second = os.path.join(folder, "second.h5")
        for attempt in range(1, 12):
            code = cut(["run", *args, "--runs", 4, "--first-run", 2, "-o", second, "--force"],
                       folder, min(0.5, 0.1 * attempt) * effort)
            if code == 130 and attribute(second, "status") == "interrupted":
                break
        else:
            raise AssertionError("no run was interrupted")
        merged, _ = merge(folder, "merged", first, second)
        check(attribute(merged, "status") == "interrupted", attribute(merged, "status"))
        told = popflow("info", merged, code=0).out
        check("unfinished" in told and "running" not in told, told)
        late = run(folder, "late", *args, "--runs", 4, "--first-run", 2)
        # Parts that are computed later replace unfinished ones.
        complete, _ = merge(folder, "complete", merged, late)
        check_equal(whole, complete, **FREE)
        popflow("resume", merged, code=0)
        check_equal(whole, merged, **dict(FREE, free_groups=("provenance", "restart")))


def test_merging_again_changes_nothing():
    with Folder() as folder:
        files = parts(folder, CASES["markov sgd"], [2, 2, 3])
        whole, _ = merge(folder, "whole", *files)
        some, _ = merge(folder, "some", *files[:2])
        for given in ([whole], [whole, whole], [whole, files[1]], [some, files[2]],
                      [files[2], some, files[0]]):
            again, _ = merge(folder, "again", *given)
            check_equal(whole, again, **FREE)
            check(attribute(again, "parts", "provenance") ==
                  attribute(whole, "parts", "provenance"), f"the parts of {given}")
            os.remove(again)
        lines = attribute(whole, "parts", "provenance").splitlines()
        check(len(lines) == 3 and "runs 4 to 6" in lines[2] and files[2] in lines[2], lines)
        history = attribute(whole, "history")
        check(history.count("popflow run") == 3 and history.count("popflow merge") == 1, history)


def test_diverged_runs_are_merged():
    args = ["scb", "--vocab-size", 4, "--context-length", 50, "--mode", "sgd", "--batch-size", 2,
            "--t-end", 40, "--saves", 5, "--threads", 2, "--state", "all"]
    with Folder() as folder:
        for rate in (0.4, 0.7, 1, 1.5, 2.5, 40):
            eta = ["--learning-rate", rate, *(["--t-end", 4000] if rate == 40 else [])]
            words = [word for i, word in enumerate(args)
                     if rate != 40 or (word != "--t-end" and args[i - 1] != "--t-end")]
            ended = popflow("run", *words, *eta, "--runs", 6, "-o", folder + "/whole.h5", "--force")
            files = []
            for first, runs in ((0, 1), (1, 2), (3, 3)):
                files.append(os.path.join(folder, f"{first}.h5"))
                popflow("run", *words, *eta, "--runs", runs, "--first-run", first, "-o", files[-1],
                        "--force")
            merged, _ = merge(folder, f"merged{rate}", *files)
            check_equal(folder + "/whole.h5", merged, **FREE)
            check((ended.code == 4) == (attribute(merged, "status") == "diverged"), rate)


def test_files_that_do_not_belong_together_are_refused():
    with Folder() as folder:
        args = CASES["markov sgd"]
        a, b, c, d = parts(folder, args, [2, 2, 2, 1])
        refused([a, c], "runs 2 to 3 are missing", "0 to 5")
        refused([d, b, a], "runs 4 to 5 are missing")
        other = run(folder, "seed", *args, *COMMON, "--state", "all", "--runs", 2, "--first-run", 2,
                    "--seed", 7)
        refused([a, other], "--seed 7", "has 1", other)
        other = run(folder, "p", *args, *COMMON, "--state", "all", "--runs", 2, "--first-run", 2,
                    "--p", 0.3)
        refused([a, other], "--p 0.3", "has 0.2")
        other = run(folder, "state", *args, *COMMON, "--state", "none", "--runs", 2,
                    "--first-run", 2)
        refused([a, other], "--state none", "has all")
        other = run(folder, "sde", *CASES["markov sde"], *COMMON, "--state", "all", "--runs", 2,
                    "--first-run", 2)
        refused([a, other], "mode sde", "has sgd")
        other = run(folder, "scb", *CASES["scb sgd"], *COMMON, "--state", "all", "--runs", 2,
                    "--first-run", 2)
        refused([a, other], "system scb", "has markov")

        def change(file):
            file["loss"][1, 2] += 1e-9

        refused([a, copy(a, folder, "bits", change), b], "run 1 is in", "differ in 'loss'")
        flow = run(folder, "flow", "markov", "--t-end", 1)
        refused([flow], "mode flow", "--first-run")
        refused([a, flow], flow, "mode")
        refused([a, folder + "/nothing.h5"], "nothing.h5")
        with h5py.File(folder + "/strange.h5", "w") as file:
            file["x"] = 1
        refused([a, folder + "/strange.h5"], "not a file that popflow wrote")
        refused([folder + "/strange.h5"], "not a file that popflow wrote")

        def kill(file):
            file.attrs["status"] = np.bytes_("running")

        refused([a, copy(b, folder, "killed", kill)], "still running, or was killed")
        refused([a, b], "exists; --force", output=c, code=2)
        refused([a, b], "is also an input: merge reads it", output=a, code=2, force=True)
        merged, _ = merge(folder, "merged", a, b)
        refused([a, b, c], "exists; --force", output=merged, code=2)
        popflow("merge", a, b, c, "-o", merged, "--force", code=0)
        check(attribute(merged, "runs", "parameters") == 6, "--force replaces")
        check("needs -o" in popflow("merge", a, b, code=2).err, "-o is needed")
        check("names of the files" in popflow("merge", "-o", "x.h5", code=2).err,
              "files are needed")


def test_another_problem_is_refused():
    with Folder() as folder:
        args = CASES["scb sgd"]
        a, b = parts(folder, args, [1, 1])

        def change(file):
            file["problem/P"][0, 0] += 1e-12

        refused([a, copy(b, folder, "other", change)], "'problem/P'", "the same problem")


def test_invalid_first_runs_are_refused():
    sgd = ["markov", "--mode", "sgd", "--t-end", 1]
    check_refused("run", {
        ("markov", "--first-run", 3): "--first-run 3 is for ensembles",
        ("markov", "--first-run", 3, "--state", "all"): "a flow is a single run",
        (*sgd, "--first-run", 3): "give --state",
        (*sgd, "--first-run", 0): "give --state",
        (*sgd, "--first-run", -1, "--state", "all"): "--first-run is -1",
        (*sgd, "--first-run", 2.5, "--state", "all"): "--first-run is 2.5",
        (*sgd, "--first-run", "4294967295", "--state", "all"): "--first-run is 4294967295",
        (*sgd, "--first-run", "4294967294", "--runs", 2, "--state", "all"): "below 4294967295",
    })
    with Folder() as folder:
        last = run(folder, "last", *sgd, "--first-run", 4294967294, "--state", "none")
        with h5py.File(last) as file:
            check(list(file["run"][()]) == [4294967294], file["run"][()])
        check_refused("compare", {("markov", "--first-run", 3): "unknown option --first-run"})


def test_ten_thousand_runs_in_forty_parts():
    args = ["markov", "--mode", "sgd", "--learning-rate", 0.1, "--batch-size", 4, "--t-end", 0.2,
            "--saves", 3, "--state", "ends"]
    with Folder() as folder:
        files = [run(folder, f"part{i}", *args, "--runs", 250, "--first-run", 250 * i)
                 for i in range(40)]
        began = time.monotonic()
        merged, _ = merge(folder, "merged", *files)
        duration = time.monotonic() - began
        check(duration < 20, f"merging took {duration:.1f} s")
        with h5py.File(merged) as file:
            check(file["loss"].shape == (10000, 3), file["loss"].shape)
            check(np.isfinite(file["loss"][()]).all(), "losses")
            check(len(np.unique(file["loss"][:, -1])) > 9990, "runs are copied twice")


def test_a_merge_does_not_replace_a_file_in_use():
    with Folder() as folder:
        files = [run(folder, f"part{i}", "markov", "--mode", "sgd", "--steps", 3, "--state", "ends",
                     "--runs", 2, "--first-run", 2 * i) for i in range(2)]
        busy = os.path.join(folder, "busy.h5")
        process = start("run", "scb", "--mode", "sgd", "--steps", 10_000_000, "-o", busy)
        until_there(busy, process)
        ended = popflow("merge", *files, "-o", busy, "--force", code=5)
        check("another process" in ended.err, ended.err)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        check(process.returncode == 130, f"the run ended with {process.returncode}")


def test_an_interrupted_merge_leaves_no_file():
    args = ["markov", "--mode", "sgd", "--learning-rate", 0.1, "--batch-size", 4, "--t-end", 300,
            "--saves", 3001, "--state", "all"]
    with Folder() as folder:
        files = [run(folder, f"part{i}", *args, "--runs", 30, "--first-run", 30 * i)
                 for i in range(2)]
        there = sorted(os.listdir(folder))
        began = worked()
        popflow("merge", *files, "-o", folder + "/merged.h5", code=0)
        effort = worked() - began
        os.remove(folder + "/merged.h5")
        cut_short = 0
        for attempt in range(20):
            process = start("merge", *files, "-o", folder + "/merged.h5")
            until_used(process, attempt / 20 * effort)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
            check(process.returncode in (0, 130, -2), process.returncode)
            if os.path.exists(folder + "/merged.h5"):
                os.remove(folder + "/merged.h5")
            else:
                cut_short += process.returncode == 130
            check(sorted(os.listdir(folder)) == there, "the merge left a file")
        check(cut_short > 0, "no merge was interrupted")


if __name__ == "__main__":
    run_all()
