#!/usr/bin/python3
# label: fast
"""Runs that stop early, and the contents of their saves."""

import os
import signal

from runs import (PATIENCE, Folder, attribute, check, h5py, np, popflow, run_all, start,
                  until_there, until_used)

SMALL = ["--vocab-size", 5, "--context-length", 30]
# The explicit step is too long for the flow, which diverges.
DIVERGES = SMALL + ["--method", "euler", "--dt", 5, "--t-end", 4000]


def run(folder, *args, code=0):
    path = os.path.join(folder, "run.h5")
    chosen = {"--save-spacing", "--save-at", "--config"} & set(args)
    spacing = [] if chosen else ["--save-spacing", "linear"]
    popflow("run", "scb", *args, *spacing, "-o", path, "--force", code=code)
    return path


def check_early_stop(path, status, planned, state="all"):
    with h5py.File(path, "r") as file:
        check(file.attrs["status"] == status or file.attrs["status"].decode() == status,
              f"status {file.attrs['status']}")
        check(len(str(attribute(path, "status_message"))) > 10, "no sentence")
        done = int(file["saves_done"][()])
        times = file["time"][()]
        check(0 < done < len(planned), f"{done} saves")
        check(np.array_equal(times[:done - 1], planned[:done - 1]), "early times moved")
        stop = times[done - 1]
        check(planned[done - 2] < stop < planned[done - 1], f"stopped at {stop}")
        check(np.array_equal(times[done:], planned[done:]), "later times are not the planned ones")
        for name in attribute(path, "observables").split():
            check(np.all(np.isfinite(file[name][:done])), f"{name} of a counted save")
            check(np.all(np.isnan(file[name][done:])), f"{name} beyond the stop")
        for name in attribute(path, "state_fields").split():
            if state == "all":
                check(np.all(np.isfinite(file[name][:done])), f"{name} of a counted save")
                check(np.all(np.isnan(file[name][done:])), f"{name} beyond the stop")
            elif state == "ends":
                check(list(file["time_state"]) == [0, stop], f"ends at {list(file['time_state'])}")
                check(np.all(np.isfinite(file[name][()])), f"{name} at the ends")
            else:
                check(name not in file, f"{name} is in the file")
        for name in ("steps", "step_min", "step_max"):
            values = file["statistics"][name][()]
            # No step need end between two records.
            none = file["statistics/steps"][1:done] == 0
            check(np.all((values[1:done] > 0) | none), f"{name} of a counted save")
            check(np.all(np.isnan(values[done:]) if name != "steps" else values[done:] == -1),
                  f"{name} beyond the stop")
        return stop


def test_divergence():
    planned = np.arange(11) * 400.0
    with Folder() as folder:
        for state in ("all", "ends", "none"):
            path = run(folder, *DIVERGES, "--saves", 11, "--state", state, code=4)
            stop = check_early_stop(path, "diverged", planned, state)
            check(attribute(path, "diverged_at") == stop, "diverged_at")


def test_small_starts_become_steady():
    # The tolerance's scale follows the start. Otherwise the tolerance would lie below the state's
    # rounding.
    starts = {
        "markov": ["--p", 0.2, "--q", 0.3, "--e0", 1e-6, "--w0", -1e-6, "--t-end", 1e5],
        "linear-attention": ["--init-scale", 1e-5, "--t-end", 1e9],
        "deep-linear": ["--init-scale", 1e-6, "--t-end", 1e5],
    }
    with Folder() as folder:
        for system, options in starts.items():
            path = os.path.join(folder, f"{system}.h5")
            popflow("run", system, *options, "--stop-when", "steady", "--saves", 3, "-o", path, code=0)
            check(attribute(path, "status") == "steady", f"{system}: {attribute(path, 'status')}")


def test_the_fast_phase_of_bulirsch_stoer_ends_in_time():
    # The other methods give 25.787, and so does this one at --rtol 1e-10.
    with Folder() as folder:
        for rtol in (1e-3, 1e-4):
            path = run(folder, "--method", "bulirsch_stoer", "--rtol", rtol, "--saves", 2)
            with h5py.File(path, "r") as file:
                end = file["events/time"][()][2]
            check(abs(end / 25.787 - 1) < 0.01, f"--rtol {rtol}: fast_phase_end at {end}")


def test_the_maximum_step_size():
    with Folder() as folder:
        config = os.path.join(folder, "short.cfg")
        with open(config, "w") as file:
            file.write("max-step = 0.25\n")
        plan = [*SMALL, "--t-end", 100, "--saves", 5]
        path = run(folder, *plan, "--max-step", 0.25)

        def steps():
            with h5py.File(path, "r") as file:
                return file["statistics/step_max"][1:], file["excess_loss"][()]

        longest, by_option = steps()
        check(np.all(longest <= 0.25 * (1 + 1e-9)), f"steps of {longest}")
        run(folder, *plan, "--config", config)
        _, by_file = steps()
        check(np.array_equal(by_option, by_file), "option and configuration differ")
        run(folder, *plan)
        check(np.max(steps()[0]) > 0.25, "steps are short without a maximum")
        # An extended run keeps the maximum.
        run(folder, *SMALL, "--t-end", 50, "--saves", 3, "--max-step", 0.25)
        popflow("resume", path, "--t-end", 100, code=0)
        extended, values = steps()
        check(len(extended) == 4 and np.all(extended <= 0.25 * (1 + 1e-9)), f"steps of {extended}")
        check(np.array_equal(values, by_option), "an extended run has other values")


def test_divergence_right_after_a_save():
    with Folder() as folder:
        # No step succeeds after the last save, so no record is added. (Rounding starts the
        # instability, so another machine may get one step further.)
        path = run(folder, *DIVERGES[:-1], 2000, "--saves", 41, code=4)
        with h5py.File(path, "r") as file:
            done = int(file["saves_done"][()])
            planned = np.arange(41) * 50.0
            check(np.array_equal(file["time"][done:], planned[done:]), "times were moved")
            check(np.all(np.diff(file["time"][()]) > 0), "times do not increase")
            check(file["time"][done - 1] <= attribute(path, "diverged_at"), "diverged_at")
            check(np.all(np.isfinite(file["loss"][:done])), "a counted save is not finite")
            check(np.all(np.isnan(file["loss"][done:])), "a save that was not reached is there")


def test_step_limit():
    with Folder() as folder:
        args = SMALL + ["--t-end", 100, "--saves", 11, "--max-steps", 60]
        path = run(folder, *args, code=6)
        check_early_stop(path, "step_limit", np.arange(11) * 10.0)
        check(np.isnan(attribute(path, "diverged_at")), "diverged_at")
        with h5py.File(path, "r") as file:
            steps = file["statistics"]
            check(steps["accepted_steps"][()] + steps["rejected_steps"][()] == 60, "steps")


def test_steady():
    with Folder() as folder:
        args = SMALL + ["--t-end", 20000, "--saves", 21, "--stop-when", "steady"]
        path = run(folder, *args, "--steady-tolerance", 1e-5)
        stop = check_early_stop(path, "steady", np.arange(21) * 1000.0)
        check(np.isnan(attribute(path, "diverged_at")), "diverged_at")
        with h5py.File(path, "r") as file:
            done = int(file["saves_done"][()])
            check(file["excess_loss"][done - 1] < 1e-8, "steady away from the minimum")
        # Runs do not stop at steady states by default.
        path = run(folder, *args[:-2])
        check(attribute(path, "status") == "complete" and stop < 20000, "stopped unasked")


def test_steady_in_signal_coordinates():
    with Folder() as folder:
        # The last phase creeps at a rate of 1/T.
        path = run(folder, "--coordinates", "signal", "--context-length", 1000, "--t-end", 1e6,
                   "--saves", 11, "--stop-when", "steady")
        check(attribute(path, "status") == "steady", "not steady after a thousand lengths")
        with h5py.File(path, "r") as file:
            last = int(file["saves_done"][()]) - 1
            check(abs(file["signal_V"][last] - 1) < 1e-5, f"signal_V {file['signal_V'][last]}")
            check(abs(file["signal_A"][last] - 1) < 1e-5, f"signal_A {file['signal_A'][last]}")


def test_the_plateau_at_the_start_is_not_steady():
    with Folder() as folder:
        for coordinates in ("signal", "support"):
            path = run(folder, "--coordinates", coordinates, "--context-length", 1e9, "--saves",
                       11, "--stop-when", "steady")
            with h5py.File(path, "r") as file:
                last = int(file["saves_done"][()]) - 1
                check(file["signal_V"][last] * file["signal_A"][last] > 0.9, "stopped at the start")
                check(len(file["events/time"]) == 3 and np.all(file["events/time"][()] > 0),
                      "events")


def test_a_stop_before_the_first_save():
    with Folder() as folder:
        path = run(folder, *SMALL, "--max-steps", 1, "--t-end", 10, "--saves", 1, code=6)
        with h5py.File(path, "r") as file:
            check(file["saves_done"][()] == 1 and 0 < file["time"][0] < 10, "the only save")
            check(np.isfinite(file["loss"][0]), "the last values")
            check(np.all(np.isfinite(file["V"][0])), "the last state")


def test_options_of_save_times():
    with Folder() as folder:
        def times(*args):
            with h5py.File(run(folder, *SMALL, *args), "r") as file:
                done = file["saves_done"][()]
                check(done == len(file["time"]), f"{done} saves are done")
                check(np.all(np.isfinite(file["loss"][()])), "a save has no value")
                return file["time"][()]

        check(np.array_equal(times("--t-end", 7), np.linspace(0, 7, 201)), "default")
        check(list(times("--t-end", 7, "--saves", 1)) == [7], "one save")
        check(list(times("--t-end", 7, "--saves", 2)) == [0, 7], "two saves")
        check(list(times("--t-end", 7, "--save-at", "0.5,2")) == [0.5, 2, 7], "given times")
        check(list(times("--t-end", 7, "--save-at", "0,7")) == [0, 7], "given end")
        check(list(times("--t-end", 1, "--saves", 8, "--save-spacing", "log")) ==
              [0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1], "log")
        check(list(times("--t-end", 8, "--saves", 5, "--save-spacing", "log", "--save-first", 1))
              == [0, 1, 2, 4, 8], "log from 1")
        check(list(times("--t-end", 8, "--saves", 1, "--save-spacing", "log")) == [8], "log, one")
        check(list(times("--t-end", 8, "--saves", 2, "--save-spacing", "log")) == [0, 8],
              "log, two")
        for spacing in ("linear", "log"):
            check(list(times("--t-end", 0, "--save-spacing", spacing)) == [0], "the start alone")
        for args in (["--save-at", "1,9", "--t-end", 8], ["--save-at", "2,1"],
                     ["--save-at", "1", "--saves", 3], ["--save-at", "-1,2"], ["--saves", 0],
                     ["--save-spacing", "log", "--save-first", 9, "--t-end", 8],
                     ["--save-at", "1", "--save-spacing", "log"], ["--t-end", -1],
                     ["--t-end", 0, "--mode", "sgd"]):
            done = popflow("run", "scb", *SMALL, *args, folder=folder, code=2)
            check(any(word in done.err for word in args[::2]), done.err)


def test_options_of_states():
    with Folder() as folder:
        for state, axis in (("all", "time"), ("ends", "time_state"), ("none", None)):
            for saves in (1, 5):
                path = run(folder, *SMALL, "--t-end", 9, "--saves", saves, "--state", state)
                with h5py.File(path, "r") as file:
                    check(("V" in file) == (axis is not None), f"V with --state {state}")
                    check(("time_state" in file) == (state == "ends"), "time_state")
                    if axis is None:
                        continue
                    rows = 2 if state == "ends" else saves
                    check(file["V"].shape == (rows, 5, 5) and file["A"].shape == (rows, 30, 5),
                          f"shapes with --state {state}")
                    check(file["V"].dims[0][0].name == "/" + axis, "first axis")
                    check(np.all(np.isfinite(file["V"][()])), "a row has no value")
                    if state == "ends":
                        check(list(file["time_state"]) == [0, 9], "the ends")


def test_a_signal_interrupts_a_run():
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with Folder() as folder:
            path = os.path.join(folder, "run.h5")
            process = start("run", "scb", "--vocab-size", 60, "--context-length", 2000, "--rtol",
                            1e-12, "--saves", 5, "-o", path)
            until_there(path, process)
            process.send_signal(number)
            message = process.communicate(timeout=PATIENCE)[1]
            check(process.returncode == code, f"code {process.returncode}")
            check("resume" in message, message)
            with h5py.File(path, "r") as file:
                check(attribute(path, "status") == "interrupted", "status")
                done = int(file["saves_done"][()])
                check(np.array_equal(file["time"][()], np.linspace(0, file["time"][-1], 5)),
                      "an interrupted run changes no save time")
                check(np.all(np.isnan(file["loss"][done:])), "an interrupted run adds no save")
                check(np.max(file["restart/slot_time"][()]) > 0 or done < 2, "no restart slot")


def test_two_signals_at_once_count_as_one():
    """`timeout` sends a signal to a process and to its group."""
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        process = start("run", "scb", "--vocab-size", 60, "--context-length", 2000, "--rtol", 1e-12,
                        "--saves", 5, "-o", path)
        until_there(path, process)
        until_used(process, 0.1)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        message = process.communicate(timeout=PATIENCE)[1]
        check(process.returncode == 143 and "resume" in message, f"{process.returncode}: {message}")
        check(attribute(path, "status") == "interrupted", "status")


if __name__ == "__main__":
    run_all()
