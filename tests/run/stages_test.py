#!/usr/bin/python3
# label: fast
"""Runs in two stages, in all modes: what their files say, resuming, and transfer."""

import os
import random
import re
import signal
import time

from runs import (Folder, attribute, check, check_equal, cut, h5py, np, popflow, run_all, xarray)

SMALL = ["--vocab-size", 4, "--context-length", 30, "--schedule", "two-stage", "--threads", 1]
MODES = {
    "flow": ["--dt", 0.1],
    "flow, support": ["--dt", 0.1, "--coordinates", "support"],
    "sde": ["--mode", "sde", "--noise", "isotropic", "--noise-scale", 0.02, "--dt", 0.01,
            "--runs", 3],
    "sde, batch": ["--mode", "sde", "--batch-size", 16, "--dt", 0.01, "--runs", 2],
    "sgd": ["--mode", "sgd", "--batch-size", 64, "--runs", 3],
}
PAIRS = ("loss", "distance_P", "distance_Q")


def run(folder, name, *args, code=0):
    own = os.path.join(folder, name)
    os.makedirs(own)
    done = popflow("run", "scb", *args, "-o", "run.h5", folder=own, code=code)
    return os.path.join(own, "run.h5"), done


def events_of(file, run):
    names = file["events/kind"].attrs["flag_meanings"].split()
    return {names[kind]: time for kind, time, of in
            zip(file["events/kind"][()], file["events/time"][()], file["events/run"][()])
            if kind >= 0 and of == run}


def rounded(A, V, share):
    """The end as the algorithm makes it."""
    bound = share * np.maximum(A.sum(axis=0), 0)
    A = np.where((A >= bound) & (A > 0), A, 0)
    sums = A.sum(axis=0)
    return A / np.where(sums > 0, sums, 1), V / V.sum(axis=0)


def test_files_tell_the_stages():
    for name, mode in MODES.items():
        with Folder() as folder:
            path, done = run(folder, "run", *SMALL, *mode, "--saves", 241, "--t-end",
                             300 if "flow" in name else 60)
            with h5py.File(path) as file:
                runs = file["run"].shape[0] if "run" in file else 0
                stage = np.atleast_2d(file["stage"][()])
                check(file["stage"].attrs["flag_meanings"] == "boosting regularised ended", name)
                check(list(file["stage"].attrs["flag_values"]) == [1, 2, 3], name)
                check(file.attrs["invariants"] == "", "no invariant holds throughout")
                time = file["time"][()]
                for r in range(max(runs, 1)):
                    events = events_of(file, r)
                    check(events["stage2"] < events.get("plateau", np.inf), f"{name}: {events}")
                    expected = (1 + (time >= events["stage2"])
                                + (time >= events.get("plateau", np.inf)))
                    check(np.array_equal(stage[r], expected), f"{name}: the stages of run {r}")
                    product = np.atleast_2d(file["signal_V"][()] * file["signal_A"][()])[r]
                    check(np.all(product[stage[r] == 1] < 0.5), f"{name}: stage 1 ends at 1/2")
                    at_rest = np.atleast_2d(file["loss"][()])[r][stage[r] == 3]
                    check(len(set(at_rest)) <= 1, f"{name}: at rest nothing moves")
                    check(name != "flow" or len(at_rest) > 0, "the flow comes to its plateau")
                share = file["parameters"].attrs["rounding"]
                final = {key: np.atleast_1d(file["final"][key][()]) for key in file["final"]}
                for key in PAIRS:
                    last = np.atleast_2d(file[key][()])[:, -1]
                    check(np.allclose(final[key + "_before"], last, rtol=1e-13, atol=0), key)
                if "A" in file:
                    A, V = file["A"][()], file["V"][()]
                    P, Q = file["problem/P"][()], file["problem/Q"][()]
                    for r in range(max(runs, 1)):
                        ends = (A[r, -1], V[r, -1]) if runs else (A[-1], V[-1])
                        a, v = rounded(*ends, share)
                        for key, value in (("distance_P_after", np.linalg.norm(v - P)),
                                           ("distance_Q_after", np.linalg.norm(a - Q)),
                                           ("weights_kept", np.count_nonzero(a))):
                            check(np.isclose(final[key][r], value, rtol=1e-10), f"{name}: {key}")
                check(attribute(path, "status") == "complete", name)
            for engine in ("h5netcdf", "netcdf4"):
                with xarray.open_dataset(path, engine=engine, group="final") as data:
                    data.load()
            check(re.search(r"rounded, normalised.*\n +loss .*\n +distance_P ", done.out),
                  f"{name}: {done.out}")
            check("two stages: without l1 until signal_V signal_A = 0.5" in done.err, done.err)


def test_a_run_extended_across_the_switch_equals_the_longer_one():
    for name, mode in MODES.items():
        with Folder() as folder:
            args = [*SMALL, *mode, "--stage1-time", 3.01, "--threshold", 0.1, "--plateau-time", 2.5,
                    "--accuracy", 0.9]
            whole, _ = run(folder, "whole", *args, "--t-end", 12, "--saves", 13)
            path, _ = run(folder, "cut", *args, "--t-end", 2, "--saves", 3)
            with h5py.File(path) as file:
                check(np.all(file["stage"][()] == 1), "the switch lies ahead")
            for end in (5, 9, 12):
                popflow("resume", path, "--t-end", end, code=0)
            with h5py.File(path) as file:
                check(np.all(file["stage"][()][..., -1] == 3), f"{name}: {file['stage'][()]}")
            check_equal(path, whole, free_attributes=("save-at", "config", "saves", "steps"))


def test_killed_runs_go_on_to_the_same_bits():
    longer = ["--vocab-size", 8, "--context-length", 400, "--schedule", "two-stage", "--threads", 2,
              "--stage1-time", 6, "--threshold", 0.01, "--plateau-time", 4, "--accuracy", 0.9,
              "--checkpoint-every", 0, "--t-end", 16, "--saves", 17]
    modes = {"flow": ["--dt", 0.01],
             "sde": ["--mode", "sde", "--noise", "isotropic", "--noise-scale", 0.02, "--dt", 0.002],
             "sgd": ["--mode", "sgd", "--batch-size", 64, "--runs", 3, "--learning-rate", 0.005]}
    for name, mode in modes.items():
        with Folder() as folder:
            began = time.monotonic()
            whole, _ = run(folder, "whole", *longer, *mode)
            duration = time.monotonic() - began
            with h5py.File(whole) as file:
                stages = np.atleast_2d(file["stage"][()])
                check(all(set(stage) == {1, 2, 3} for stage in stages), f"{name}: {stages}")
            for _ in range(2):
                path = os.path.join(folder, "run.h5")
                cut(["run", "scb", *longer, *mode, "-o", "run.h5"], folder,
                    random.uniform(0.1, 0.9) * duration,
                    random.choice([signal.SIGKILL, signal.SIGINT]))
                if os.path.exists(path):
                    popflow("resume", path, code=0)
                    check_equal(path, whole)
                    os.remove(path)


def test_the_file_alone_reproduces_the_run():
    with Folder() as folder:
        path, _ = run(folder, "run", *SMALL, "--mode", "sgd", "--t-end", 2)
        config = os.path.join(folder, "again.cfg")
        with open(config, "w") as text:
            text.write(attribute(path, "config", "parameters"))
        again, _ = run(folder, "again", "--config", config)
        check_equal(path, again)


def test_transfer_tells_its_correlation():
    with Folder() as folder:
        before = ["--vocab-size", 4, "--context-length", 30, "--problem-seed", 2]
        flow, _ = run(folder, "flow", *before, "--coordinates", "signal", "--t-end", 200)
        ensemble, _ = run(folder, "ensemble", *before, "--mode", "sgd", "--runs", 2, "--t-end", 20)
        stages, _ = run(folder, "stages", *before, "--schedule", "two-stage", "--dt", 0.1,
                        "--l1", 0.01, "--plateau-time", 0)
        for source in (flow, ensemble, stages):
            # Another P, mu, context length and other positions.
            path, done = run(folder, "transfer-" + os.path.basename(os.path.dirname(source)),
                             *SMALL, "--sparsity", 3, "--mode", "sgd", "--init-from", source,
                             "--init-mix", 0.6, "--t-end", 3, "--saves", 4)
            with h5py.File(path) as file, h5py.File(source) as old:
                if "V" in old:
                    V = old["V"][()].reshape(-1, *old["V"].shape[-3:])[0, -1]
                    if source == stages:
                        check(abs(V.sum(axis=0)[0] - 1) > 1e-3, "it has slid along the valley")
                        V = V / V.sum(axis=0)
                else:
                    V = old["alpha_V"][-1] * old["problem/P"][()]  # and what adds nothing
                P, mu = file["problem/P"][()], file["problem/mu"][()]
                sigma = np.diag(mu) - np.outer(mu, mu)
                expected = np.trace(V.T @ P @ sigma) / np.trace(P.T @ P @ sigma)
                stored = file.attrs["transfer_correlation"]
                check(np.isclose(stored, expected, rtol=1e-11), f"{source}: {stored}, {expected}")
                starts = np.atleast_2d(file["signal_V"][()])[:, 0]
                check(np.allclose(starts, 0.6 * stored, rtol=1e-12, atol=1e-13), "the start")
                check(np.allclose(file["problem/V0"][()].sum(axis=0), 1, atol=1e-12), "1'V0")
            check("transfer_correlation" in done.out, done.out)
            check("tr(V'P Sigma)/K_P" in done.err, done.err)
            # It stays known when the run goes on without the file it came from.
            popflow("resume", path, "--t-end", 4, code=0)
            check(attribute(path, "transfer_correlation") == stored, "the resumed file")


def test_a_long_context_stays_finite():
    # The sums relax at a rate of 2e4, far beyond what a raw splitting step of 0.05 could take.
    with Folder() as folder:
        path, _ = run(folder, "run", "--context-length", 100000, "--coordinates", "support",
                      "--schedule", "two-stage", "--dt", 0.05, "--t-end", 34)
        with h5py.File(path) as file:
            check(file["stage"][-1] == 2, "stage 2 has begun")
            check(np.all(np.isfinite(file["A_off"][()])), "A is no number")
            check(file["excess_loss"][-1] < 1e-3 and file["final/distance_Q_after"][()] < 1e-12,
                  "the end")


def test_a_time_that_is_saved_is_of_the_stage_that_begins_there():
    for name, mode in MODES.items():
        for time_of_switch in (3, 5):
            with Folder() as folder:
                path, _ = run(folder, "run", *SMALL, *mode, "--stage1-time", time_of_switch,
                              "--threshold", 0.01, "--t-end", 5, "--saves", 6)
                with h5py.File(path) as file:
                    expected = 1 + (file["time"][()] >= time_of_switch)
                    for stage in np.atleast_2d(file["stage"][()]):
                        check(np.array_equal(stage, expected), f"{name}: {stage}")
                    check(abs(events_of(file, 0)["stage2"] - time_of_switch) < 1e-9, name)


def test_what_goes_wrong_is_told_also_when_quiet():
    quiet = [*SMALL, "--quiet"]
    with Folder() as folder:
        _, done = run(folder, "early", *quiet, "--dt", 0.1, "--t-end", 1)
        check("stage 2, 'regularised', has not begun" in done.err, done.err)
        check("columns_emptied = 4" in done.err, done.err)
        _, done = run(folder, "unstable", "--vocab-size", 4, "--context-length", 3000, "--schedule",
                      "two-stage", "--quiet", "--mode", "sgd", "--t-end", 1)
        check("stage 2 is likely to diverge: its steps of 0.01 are above 2/(T |mu|^2) = " in done.err,
              done.err)
        check(not run(folder, "fine", *quiet, "--dt", 0.1)[1].err, "nothing went wrong")


def test_a_transfer_of_negative_correlation_does_not_come_to_stage_2():
    with Folder() as folder:
        before, _ = run(folder, "before", "--vocab-size", 6, "--context-length", 200,
                        "--problem-seed", 11, "--sparsity", 3, "--coordinates", "support")
        path, done = run(folder, "after", "--vocab-size", 6, "--context-length", 500,
                         "--problem-seed", 4, "--schedule", "two-stage", "--coordinates", "support",
                         "--init-from", before, "--init-mix", 0.8, "--dt", 0.05, "--quiet")
        check("negative correlation" in done.err and "has not begun" in done.err, done.err)
        with h5py.File(path) as file:
            check(file.attrs["transfer_correlation"] < -0.1, "the correlation")
            check(np.all(file["stage"][()] == 1) and file["signal_V"][-1] < 0, "-P and -Q")


def test_what_is_refused_leaves_no_file():
    with Folder() as folder:
        for args, words in (
                (["--attention", "softmax"], "--attention linear"),
                (["--coordinates", "signal"], "--coordinates full or support"),
                (["--mode", "sde", "--coordinates", "support"], "--coordinates full"),
                (["--stage1-time", 2, "--stage1-signal", 0.3], "give one"),
                (["--threshold", 2], "--threshold"),
                ([], "--dt")):
            done = popflow("run", "scb", *SMALL, *args, "-o", "run.h5", folder=folder, code=2)
            check(words in done.err and len(done.err.splitlines()) <= 5, done.err)
            check(os.listdir(folder) == [], "a file was left")


if __name__ == "__main__":
    run_all([test_files_tell_the_stages,
             test_a_run_extended_across_the_switch_equals_the_longer_one,
             test_killed_runs_go_on_to_the_same_bits,
             test_the_file_alone_reproduces_the_run, test_a_long_context_stays_finite,
             test_a_time_that_is_saved_is_of_the_stage_that_begins_there,
             test_what_goes_wrong_is_told_also_when_quiet,
             test_a_transfer_of_negative_correlation_does_not_come_to_stage_2,
             test_transfer_tells_its_correlation,
             test_what_is_refused_leaves_no_file])
