#!/usr/bin/python3
# label: slow
"""A run that is interrupted or killed and then resumed ends with the file of an uninterrupted
run."""

import fcntl
import os
import random
import shutil
import signal
import subprocess

from kills import calls_of, strike
from runs import (BINARY, PATIENCE, Folder, attribute, check, check_equal, cut, h5py, np, popflow, run_all,
                  some, start, until_there, until_used, worked, xarray)

FULL = ["--vocab-size", 15, "--context-length", 2000, "--threads", 1]
SMALL = ["--vocab-size", 12, "--context-length", 100000, "--coordinates", "support",
         "--threads", 1]
EVERY = ["--saves", 41, "--checkpoint-every", 0]
# Each run is long enough to be interrupted.
VARIANTS = {
    "dopri5": FULL + ["--rtol", 1e-10],
    "verner8": FULL + ["--method", "verner8", "--state", "ends"],
    "fehlberg78": FULL + ["--method", "fehlberg78", "--state", "ends"],
    "bulirsch_stoer": FULL + ["--method", "bulirsch_stoer", "--state", "none"],
    "rosenbrock4": SMALL + ["--method", "rosenbrock4"],
    "rk4": FULL + ["--method", "rk4", "--dt", 0.2, "--save-spacing", "log"],
    "euler": FULL + ["--method", "euler", "--dt", 0.1, "--save-at", "1.5,20,21,77"],
    "softmax": FULL + ["--attention", "softmax", "--t-end", 400, "--state", "ends"],
    "l1": FULL + ["--l1", 1e-3, "--project", "none", "--state", "ends"],
    "l1, support": ["--vocab-size", 12, "--context-length", 5000, "--coordinates", "support",
                    "--l1", 1e-3, "--project", "none", "--threads", 1],
    "l1 by splitting": FULL + ["--l1", 1e-3, "--l1-solver", "splitting", "--dt", 0.3,
                               "--state", "ends"],
    "l1 by splitting with bulirsch_stoer": SMALL + ["--l1", 1e-3, "--l1-solver", "splitting", "--dt",
                                                    0.1, "--method", "bulirsch_stoer"],
    "l1 by adaptive splitting": ["--vocab-size", 4, "--context-length", 40, "--project", "none",
                                 "--l1", 1e-3, "--l1-solver", "adaptive-splitting", "--rtol", 1e-6,
                                 "--threads", 1],
    "signal": ["--coordinates", "signal", "--context-length", 1e9, "--method", "rk4", "--dt", 2,
               "--t-end", 1e6, "--threads", 1],
    "steady": FULL + ["--stop-when", "steady", "--steady-tolerance", 1, "--t-end", 5000,
                      "--state", "ends"],
    "diverged": ["--vocab-size", 40, "--context-length", 5000, "--threads", 1, "--method", "euler",
                 "--dt", 2.5, "--t-end", 30000, "--state", "ends"],
    "step limit": FULL + ["--rtol", 1e-10, "--max-steps", 250],
    "root of the mean square": FULL + ["--error-norm", "rms", "--state", "ends"],
}
CODES = {"diverged": 4, "step limit": 6}


def options(name):
    spaced = "--save-at" in VARIANTS[name]
    return ["run", "scb", *VARIANTS[name], "-o", "run.h5", *(EVERY[2:] if spaced else EVERY)]


def whole_run(name, folder):
    """Makes the uninterrupted run; returns the processor seconds that it takes."""
    began = worked()
    popflow(*options(name), folder=folder, code=CODES.get(name, 0))
    return worked() - began


def finish(name, folder):
    path = os.path.join(folder, "run.h5")
    done = popflow("resume", "run.h5", folder=folder)
    expected = CODES.get(name, 0)
    finished = "is finished" in done.err
    check(done.code == (0 if finished else expected),
          f"{name}: resume ended with {done.code}: {done.err}")
    return path


def test_interrupted_runs():
    for name in some(VARIANTS):
        with Folder() as folder:
            whole, cuts = os.path.join(folder, "whole"), os.path.join(folder, "cut")
            os.mkdir(whole)
            length = whole_run(name, whole)
            interrupted = 0
            for attempt in range(20):  # on a fast machine the signal may come too late
                if attempt >= 2 and interrupted:
                    break
                shutil.rmtree(cuts, ignore_errors=True)
                os.mkdir(cuts)
                by = random.choice((signal.SIGINT, signal.SIGTERM))
                code = cut(options(name), cuts, random.uniform(0.03, 0.9) * length, by)
                path = os.path.join(cuts, "run.h5")
                if not os.path.exists(path):
                    continue
                if attribute(path, "status") == "interrupted":
                    interrupted += 1
                    check(code == (130 if by == signal.SIGINT else 143), f"{name}: code {code}")
                    # Interrupt once more on the rest of the way.
                    cut(["resume", "run.h5"], cuts, random.uniform(0.02, 0.5) * length)
                finish(name, cuts)
                check_equal(path, os.path.join(whole, "run.h5"))
            check(interrupted > 0, f"{name}: no run was interrupted in {length:.2f} s")


def test_an_interrupted_run_records_events_and_steps_so_far():
    """The file has only one save at the end, but records earlier events and steps."""
    with Folder() as folder:
        words = ["run", "deep-linear", "--layers", 11, "--saves", 2, "-o", "a.h5"]
        cut(words, folder, 1.5, signal.SIGINT)
        with h5py.File(os.path.join(folder, "a.h5")) as file:
            check(int(file["saves_done"][()]) == 1, "saves")
            check(int(file["statistics/accepted_steps"][()]) > 100, "steps")
            times = file["half_time"][()]
            check(0 < np.nanmin(times) < np.inf, f"{times}")


def check_counted_saves(path, whole, readers=True):
    """Checks that every counted save equals the uninterrupted run's, and that every reader reads
    it."""
    with h5py.File(path, "r") as file, h5py.File(whole, "r") as expected:
        done = int(file["saves_done"][()])
        for name in file:
            item = file[name]
            if not isinstance(item, h5py.Dataset) or item.shape[:1] != file["time"].shape:
                continue
            check(np.array_equal(item[:done], expected[name][:done], equal_nan=True),
                  f"{path}: {name} of the {done} counted saves is not intact")
    for engine in ("h5netcdf", "netcdf4") if readers else ():
        for group in (None, "restart"):
            with xarray.open_dataset(path, engine=engine, group=group) as data:
                data.load()


def kill_and_resume(name, kills):
    with Folder() as folder:
        whole, killed = os.path.join(folder, "whole"), os.path.join(folder, "killed")
        os.mkdir(whole)
        length = whole_run(name, whole)
        expected = os.path.join(whole, "run.h5")
        for kill in range(max(3, len(some(range(kills))))):  # each window below at least once
            shutil.rmtree(killed, ignore_errors=True)
            os.mkdir(killed)
            # One third of the kills come during creation, one third anywhere, one third around the
            # end.
            window = ((0, 0.3), (0, 1), (0.85, 1.1))[kill % 3]
            cut(options(name), killed, random.uniform(*window) * length, signal.SIGKILL)
            path = os.path.join(killed, "run.h5")
            if not os.path.exists(path):
                continue
            check_counted_saves(path, expected, readers=kill % 3 == 2)
            if kill % 2:  # kill once more during resuming
                cut(["resume", "run.h5"], killed, random.uniform(0, 1) * length, signal.SIGKILL)
                check_counted_saves(path, expected, readers=kill % 3 == 1)
            finish(name, killed)
            check_equal(path, expected)


def test_killed_run():
    kill_and_resume("dopri5", 15)


def test_killed_run_with_step_memory():
    kill_and_resume("bulirsch_stoer", 6)


def test_killed_run_that_stops_early():
    kill_and_resume("steady", 6)
    kill_and_resume("diverged", 6)


def test_runs_killed_before_and_after_their_first_save():
    """A resumed run groups runs into other lanes; another number of threads also changes the
    groups."""
    args = ["markov", "--mode", "sde", "--learning-rate", ".1", "--saves", 3, "--t-end", 30000, "--runs",
            60]
    with Folder() as folder:
        whole = os.path.join(folder, "whole.h5")
        popflow("run", *args, "-o", whole, code=0)
        for seconds in (0.1, 0.3):
            path = os.path.join(folder, f"{seconds}.h5")
            process = subprocess.Popen([BINARY, "run", *map(str, args), "--threads", "2",
                                        "--checkpoint-every", "0", "--quiet", "-o", path])
            until_there(path, process)
            until_used(process, seconds)
            process.kill()
            process.wait()
            popflow("resume", path, "--threads", 9, code=0)
            with h5py.File(whole, "r") as one, h5py.File(path, "r") as other:
                check(np.array_equal(one["loss"][()], other["loss"][()]), f"killed after {seconds} s")


def test_killed_at_each_of_the_last_writes():
    """Closing the file takes a short time, so the test kills at each single write."""
    for name in ("steady", "dopri5"):
        args = ["run", "scb", "--coordinates", "signal", "--threads", 1, "-o", "run.h5",
                "--saves", 5, "--checkpoint-every", 0]
        if name == "steady":
            args += ["--stop-when", "steady", "--steady-tolerance", 0.1, "--t-end", 2000]
        with Folder() as folder:
            os.mkdir(os.path.join(folder, "whole"))
            calls = calls_of(args, os.path.join(folder, "whole"))
            whole = os.path.join(folder, "whole", "run.h5")
            for last in some(range(36) if name == "steady" else range(0, 36, 4)):
                killed = os.path.join(folder, "killed")
                shutil.rmtree(killed, ignore_errors=True)
                os.mkdir(killed)
                code, said = strike(args, killed, f"process {int(signal.SIGKILL)} {calls - last}")
                check(code == -signal.SIGKILL, f"ended with {code}: {said}")
                path = os.path.join(killed, "run.h5")
                check(os.path.exists(path), "the file was there before")
                check_counted_saves(path, whole, readers=last % 8 == 0)
                finish(name, killed)
                check_equal(path, whole)


# ---- finished files

def file_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def test_resume_of_a_finished_file_changes_nothing():
    for name in ("dopri5", "steady", "diverged", "step limit"):
        with Folder() as folder:
            whole_run(name, folder)
            path = os.path.join(folder, "run.h5")
            before, stamp = file_bytes(path), os.stat(path).st_mtime_ns
            done = popflow("resume", path, code=0)
            check("finished" in done.err, f"{name}: {done.err}")
            check(file_bytes(path) == before and os.stat(path).st_mtime_ns == stamp,
                  f"{name}: the finished file was changed")


def warnings(said):
    return [line for line in said.splitlines() if "warning" in line]


def test_resume_repeats_the_warnings_of_a_finished_run():
    """Resuming a finished run is no failure."""
    noisy = ["run", "markov", "--mode", "sde", "--noise", "isotropic", "--t-end", 20, "--runs", 4]
    limit = ["--max-steps", 20, "--rungs", "flow,sde", "--runs", 2, "--t-end", 1]
    for args, code, sentence in (
            (["run", "scb", *SMALL, "--method", "euler", "--dt", 50, "--t-end", 30000, "--saves", 3], 4,
             "became non-finite"),
            ([*noisy, "--noise-scale", 1e6], 4, "4 of 4 runs diverged"),
            ([*noisy, "--noise-scale", 1], 0, ""),
            (["compare", "markov", *limit], 6, "the comparison ends there")):
        with Folder() as folder:
            ended = popflow(*args, "-o", "run.h5", folder=folder, code=code)
            check(sentence in ended.err, f"{args}: {ended.err}")
            again = popflow("resume", "run.h5", folder=folder, code=0)
            check("finished" in again.err and sentence in again.err
                  and len(warnings(again.err)) == len(warnings(ended.err)),
                  f"{args}: {ended.err}then {again.err}")


def extended(first, longer, ends, **free):
    """Checks that a run extended to each of `ends` equals the run `longer`."""
    with Folder() as folder:
        path, other = os.path.join(folder, "run.h5"), os.path.join(folder, "other")
        os.mkdir(other)
        popflow("run", "scb", *first, "-o", "run.h5", folder=folder, code=0)
        for end in ends:
            popflow("resume", path, "--t-end", end, code=0)
        popflow("run", "scb", *longer, "-o", "run.h5", folder=other, code=0)
        check_equal(path, os.path.join(other, "run.h5"), **free)
        history = attribute(path, "history").splitlines()
        check(len(history) == 1 + len(ends) and "popflow run scb" in history[0],
              f"history {history}")
        check(os.listdir(folder).count("run.h5") == 1 and len(os.listdir(folder)) == 2,
              f"left behind: {os.listdir(folder)}")


def test_extended_runs_equal_longer_ones():
    small = ["--vocab-size", 5, "--context-length", 50, "--threads", 1]
    for more in some(([], ["--state", "ends"], ["--state", "none"], ["--method", "bulirsch_stoer"],
                 ["--coordinates", "support"], ["--coordinates", "signal"],
                 ["--method", "rk4", "--dt", 0.1], ["--l1", 0.01, "--project", "none"],
                 ["--l1", 0.01, "--l1-solver", "splitting", "--dt", 0.1],
                 ["--attention", "softmax"])):
        extended(small + more + ["--t-end", 20, "--saves", 11],
                 small + more + ["--t-end", 50, "--saves", 26], [50])
    extended(small + ["--t-end", 20, "--saves", 11], small + ["--t-end", 50, "--saves", 26],
             [24, 38, 50])
    log = ["--save-spacing", "log", "--save-first", 0.01]
    extended(small + log + ["--t-end", 10, "--saves", 8],
             small + log + ["--t-end", 1000, "--saves", 12], [1000])
    at = small + ["--save-at", "1,2.5,7"]
    extended(at + ["--t-end", 10], small + ["--save-at", "1,2.5,7,10", "--t-end", 33], [33],
             free_attributes=("save-at", "config"))
    # If the old end is not on the grid, the file's own configuration describes its save times.
    extended(small + ["--t-end", 20, "--saves", 11],
             small + ["--save-at", "0,2,4,6,8,10,12,14,16,18,20,22,24", "--t-end", 25], [25],
             free_attributes=("save-at", "config", "spacing", "spacing_step"))
    extended(small + ["--t-end", 20, "--saves", 1], small + ["--save-at", 20, "--t-end", 25], [25],
             free_attributes=("save-at", "config"))


def test_extended_run_keeps_its_spacing():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        popflow("run", "scb", "--coordinates", "signal", "--t-end", 10, "--saves", 6, "-o", path,
                code=0)
        popflow("resume", path, "--t-end", 13, code=0)
        popflow("resume", path, "--t-end", 18, code=0)
        with h5py.File(path, "r") as file:
            check(list(file["time"]) == [0, 2, 4, 6, 8, 10, 12, 13, 15, 17, 18],
                  f"times {list(file['time'])}")
        again = os.path.join(folder, "again.h5")
        config = os.path.join(folder, "run.cfg")
        with open(config, "w") as text:
            text.write(attribute(path, "config", "parameters"))
        popflow("run", "scb", "--config", config, "-o", again, code=0)
        with h5py.File(path, "r") as a, h5py.File(again, "r") as b:
            check(np.array_equal(a["loss"], b["loss"]), "its own configuration gives other numbers")


def test_unfinished_runs_can_be_extended():
    with Folder() as folder:
        cuts, whole = os.path.join(folder, "cut"), os.path.join(folder, "whole")
        os.mkdir(cuts)
        os.mkdir(whole)
        args = ["run", "scb", *FULL, "--rtol", 1e-10, "--state", "ends", "-o", "run.h5"]
        began = worked()
        popflow(*args, "--t-end", 160, "--saves", 41, folder=whole, code=0)
        length = worked() - began
        for _ in range(3):
            cut([*args, "--t-end", 120, "--saves", 31], cuts, 0.4 * length)
            popflow("resume", "run.h5", "--t-end", 160, folder=cuts, code=0)
            check_equal(os.path.join(cuts, "run.h5"), os.path.join(whole, "run.h5"))
            os.remove(os.path.join(cuts, "run.h5"))


def test_invalid_ends():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        popflow("run", "scb", "--coordinates", "signal", "--t-end", 10, "-o", path, code=0)
        before = file_bytes(path)
        done = popflow("resume", path, "--t-end", 5, code=2)
        check("--t-end is 5" in done.err, done.err)
        popflow("resume", path, "--t-end", 10, code=0)
        popflow("resume", path, "--t-end", -1, code=2)
        check(file_bytes(path) == before, "the file was changed")
        popflow("run", "scb", "--coordinates", "signal", "--max-steps", 3, "-o", path, "--force",
                code=6)
        done = popflow("resume", path, "--t-end", 1e6, code=2)
        check("step_limit" in done.err, done.err)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def test_a_file_that_cannot_be_extended_is_unchanged():
    def transposed(file):
        kept = file["loss"][()]
        del file["loss"]
        file["loss"] = kept.T.copy()

    def no_longer_whole(file):
        kept = file["statistics/steps"][()]
        del file["statistics/steps"]
        file["statistics/steps"] = kept.astype("f8")

    def one_number(file):
        del file["loss"]
        file["loss"] = 0.5

    def of_another_version(file):
        file["restart"].attrs["driver_layout"] = "other:1"

    said = {transposed: "'loss' has shape", no_longer_whole: "'statistics/steps' has numbers that are not whole",
            one_number: "'loss' has shape ()", of_another_version: "other data in checkpoints"}
    flow = ["--t-end", 5]
    sgd = ["--mode", "sgd", "--steps", 20, "--runs", 3, "--state", "all"]
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        for words in (flow, sgd):
            for change, sentence in said.items():
                if words is flow and change is transposed:
                    continue  # the flow's loss has only one dimension
                popflow("run", "scb", "--vocab-size", 3, "--context-length", 6, *words, "--saves", 4,
                        "-o", path, "--force", "--quiet", code=0)
                with h5py.File(path, "r+") as file:
                    change(file)
                before = contents(path)
                for _ in range(2):
                    done = popflow("resume", path, "--t-end", 8, code=3)
                    check(sentence in done.err, f"{change.__name__}: {done.err}")
                check(contents(path) == before, f"{change.__name__}: the file has changed")
                check(os.listdir(folder) == ["run.h5"], os.listdir(folder))


def test_a_kill_while_extending_leaves_an_intact_file():
    with Folder() as folder:
        path, old = os.path.join(folder, "run.h5"), os.path.join(folder, "old.h5")
        popflow("run", "scb", *FULL, "--t-end", 20, "--saves", 21, "-o", "old.h5", folder=folder,
                code=0)
        whole = os.path.join(folder, "whole.h5")
        popflow("run", "scb", *FULL, "--t-end", 40, "--saves", 41, "-o", whole, code=0)
        shutil.copy(old, path)
        began = worked()
        popflow("resume", path, "--t-end", 40, code=0)
        length = worked() - began
        for _ in some(range(12)):
            shutil.copy(old, path)
            cut(["resume", path, "--t-end", 40], folder, random.uniform(0, 1) * length,
                signal.SIGKILL)
            with h5py.File(path, "r") as file:
                check(int(file["saves_done"][()]) >= 21, "saves were lost")
            popflow("resume", path, "--t-end", 40, code=0)
            check_equal(path, whole, free_attributes=("output",))


def test_two_processes_never_write_one_file():
    with Folder() as folder:
        # The run must be long, since each other command waits half a second before it gives up.
        args = ["run", "scb", *FULL, "--method", "rk4", "--dt", 0.002, "-o", "run.h5", "--saves", 3]
        process = start(*args, folder=folder)
        path = os.path.join(folder, "run.h5")
        until_there(path, process)
        done = popflow("resume", "run.h5", folder=folder, code=5)
        check("another process" in done.err, done.err)
        done = popflow("resume", "run.h5", "--t-end", 1e4, folder=folder, code=5)
        check("another process" in done.err, done.err)
        done = popflow("run", "scb", "-o", "run.h5", "--force", folder=folder, code=5)
        check("another process" in done.err, done.err)
        # Readers have access, also those that respect locks.
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        popflow("info", "run.h5", folder=folder, code=0)
        with h5py.File(path, "r") as file:
            check(file.attrs["status"] in (b"running", "running", np.bytes_(b"running")),
                  f"status {file.attrs['status']}")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        check(process.returncode == 130, f"code {process.returncode}")
        popflow("resume", "run.h5", folder=folder, code=0)


if __name__ == "__main__":
    run_all()
