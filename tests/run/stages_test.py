#!/usr/bin/python3
# label: slow
"""Runs in two stages in all modes: file contents, resuming, and transfer."""

import os
import random
import re
import signal

from runs import (Folder, attribute, check, check_equal, cut, h5py, np, popflow, run_all, sanitized,
                  shorter, worked, xarray)

SMALL = ["--vocab-size", 4, "--context-length", 30, "--schedule", "two-stage", "--threads", 1]
MODES = {
    "flow": [],
    "flow, support": ["--coordinates", "support"],
    "flow, splitting": ["--l1-solver", "splitting", "--dt", 0.1],
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
    """Returns A and V after the algorithm's rounding and normalisation."""
    bound = share * np.maximum(A.sum(axis=0), 0)
    A = np.where((A >= bound) & (A > 0), A, 0)
    sums = A.sum(axis=0)
    return A / np.where(sums > 0, sums, 1), V / V.sum(axis=0)


def test_files_record_the_stages():
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
                    check(name != "flow" or len(at_rest) > 0, "the flow reaches its plateau")
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
            check("two stages: no l1 until signal_V signal_A = 0.5" in done.err, done.err)


def test_a_run_extended_across_the_switch_equals_a_longer_run():
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
            check_equal(path, whole, free_attributes=("save-at", "config", "saves", "steps",
                                                      "not_default"))


def test_killed_runs_resume_bit_for_bit():
    longer = ["--vocab-size", 8, "--context-length", 400, "--schedule", "two-stage", "--threads", 2,
              "--stage1-time", 6, "--threshold", 0.01, "--plateau-time", 4, "--accuracy", 0.9,
              "--checkpoint-every", 0, "--t-end", 16, "--saves", 17]
    modes = {"flow": ["--rtol", 1e-13, "--atol", 1e-15],
             "flow, splitting": ["--l1-solver", "splitting", "--dt", 0.01],
             "sde": ["--mode", "sde", "--noise", "isotropic", "--noise-scale", 0.02, "--dt", 0.002],
             "sgd": ["--mode", "sgd", "--batch-size", 64, "--runs", 3, "--learning-rate", 0.005]}
    for name, mode in modes.items():
        with Folder() as folder:
            began = worked()
            whole, _ = run(folder, "whole", *longer, *mode)
            effort = worked() - began
            with h5py.File(whole) as file:
                stages = np.atleast_2d(file["stage"][()])
                check(all(set(stage) == {1, 2, 3} for stage in stages), f"{name}: {stages}")
            for _ in range(1 if sanitized() else 2):
                path = os.path.join(folder, "run.h5")
                cut(["run", "scb", *longer, *mode, "-o", "run.h5"], folder,
                    random.uniform(0.1, 0.9) * effort,
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


def test_a_start_continues_in_the_stage_where_its_run_ended():
    with Folder() as folder:
        for name, mode in (("flow", []), ("support", ["--coordinates", "support"]),
                           ("sgd", ["--mode", "sgd", "--batch-size", 64]),
                           ("sde", ["--mode", "sde", "--noise", "isotropic", "--noise-scale", 0.01])):
            noisy = name in ("sgd", "sde")
            words = [*SMALL, *mode, "--l1", 1e-5, "--threshold", 0.2]
            first, _ = run(folder, name + "-first", *words, "--t-end", 40)
            with h5py.File(first) as file:
                check(np.all(np.atleast_2d(file["stage"][()])[:, -1] == 2),
                      f"{name}: not in stage 2")
                loss = float(np.atleast_2d(file["loss"][()])[0, -1])
                states = [(field, file[field][()].reshape(-1, *file[field].shape[2 if noisy else 1:])[-1])
                          for field in attribute(first, "state_fields").split() if field[0] in "VA"]
            onwards = [*words, "--init-from", first, "--saves", 11]
            next_, done = run(folder, name + "-next", *onwards, "--t-end", 10)
            check("starts in stage 2" in done.err, done.err)
            with h5py.File(next_) as file:
                check(np.all(np.atleast_2d(file["stage"][()]) >= 2), f"{name}: begins anew")
                check(abs(np.atleast_2d(file["loss"][()])[0, 0] - loss) < 1e-14,
                      f"{name}: the loss jumps")
                for field, last in states:
                    now = file[field][()].reshape(-1, *file[field].shape[2 if noisy else 1:])[0]
                    check(np.allclose(now, last, rtol=1e-13, atol=1e-15), f"{name}: {field} jumps")
            if noisy:
                continue
            # The time since the last check of the plateau continues too.
            whole, _ = run(folder, name + "-whole", *words, "--t-end", 400)
            with h5py.File(whole) as file:
                plateau = events_of(file, 0)["plateau"]
            popflow("resume", next_, "--t-end", 360, code=0)
            with h5py.File(next_) as file:
                check(abs(40 + events_of(file, 0)["plateau"] - plateau) < 1e-9 * plateau,
                      f"{name}: another plateau")
                check(file["stage"][-1] == 3, f"{name}: not ended")
            rests, done = run(folder, name + "-rests", *words, "--init-from", next_, "--t-end", 5)
            check("rests there from the start" in done.err, done.err)
            with h5py.File(rests) as file:
                check(np.all(file["stage"][()] == 3), f"{name}: does not rest")
            if name == "flow":  # with another P the loss has no plateau yet
                other, _ = run(folder, "other", *words, "--problem-seed", 3, "--init-from", next_, "--t-end", 5)
                with h5py.File(other) as file:
                    check(np.all(file["stage"][()] == 2),
                          "the run is at rest on another problem's plateau")


def test_transfer_reports_its_correlation():
    with Folder() as folder:
        before = ["--vocab-size", 4, "--context-length", 30, "--problem-seed", 2]
        flow, _ = run(folder, "flow", *before, "--coordinates", "signal", "--t-end", 200)
        ensemble, _ = run(folder, "ensemble", *before, "--mode", "sgd", "--runs", 2, "--t-end", 20)
        stages, _ = run(folder, "stages", *before, "--schedule", "two-stage", "--l1", 0.01,
                        "--plateau-time", 0)
        for source in (flow, ensemble, stages):
            # The new problem has another P, mu and context length, and other positions.
            path, done = run(folder, "transfer-" + os.path.basename(os.path.dirname(source)),
                             *SMALL, "--sparsity", 3, "--mode", "sgd", "--init-from", source,
                             "--init-mix", 0.6, "--t-end", 3, "--saves", 4)
            with h5py.File(path) as file, h5py.File(source) as old:
                if "V" in old:
                    V = old["V"][()].reshape(-1, *old["V"].shape[-3:])[0, -1]
                    if source == stages:
                        check(abs(V.sum(axis=0)[0] - 1) > 1e-3, "V has not moved along the valley")
                        V = V / V.sum(axis=0)
                else:
                    # plus a term that contributes nothing
                    V = old["alpha_V"][-1] * old["problem/P"][()]
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
            # A resumed run keeps the correlation without the file it came from.
            popflow("resume", path, "--t-end", 4, code=0)
            check(attribute(path, "transfer_correlation") == stored, "the resumed file")


def test_a_long_context_stays_finite():
    # The sums relax at a rate of 2e4, far too fast for an unmodified splitting step of 0.05.
    with Folder() as folder:
        for name, solver in (("exact", []),
                             ("split", ["--l1-solver", "splitting", "--dt", 0.05])):
            path, _ = run(folder, name, "--context-length", 100000, "--coordinates", "support",
                          "--schedule", "two-stage", *solver, "--t-end", 34)
            with h5py.File(path) as file:
                check(file["stage"][-1] == 2, "stage 2 has begun")
                check(np.all(np.isfinite(file["A_off"][()])), "A is not finite")
                check(file["excess_loss"][-1] < 1e-3, "the loss")
                check(file["final/distance_Q_after"][()] < 1e-12, "the end")


def test_a_flow_with_l1_does_not_depend_on_its_save_times():
    # The expected end is that of an independent integration (data/reference/scb-l1.txt).
    options = ["--vocab-size", 10, "--context-length", 5000, "--coordinates", "support",
               "--schedule", "two-stage", "--plateau-time", 0, "--l1", 1e-4, "--t-end", 50]
    with Folder() as folder:
        for saves in (2, 51, 1001):
            for method in ("dopri5", "rosenbrock4"):
                path, _ = run(folder, f"{method}-{saves}", *options, "--method", method, "--saves",
                              saves)
                with h5py.File(path) as file:
                    check(file["parameters"].attrs["l1-solver"] == "active-set", "the solver")
                    for item, expected, error in (
                            (file["excess_loss"][-1], 6.49927741e-8, 1e-12),
                            (file["distance_Q"][-1], 0.0951886721709, 1e-9),
                            (file["distance_P"][-1], 0.0646859931457, 1e-9),
                            (file["A_off"][-1], -4.19276948e-6, 1e-11),
                            (events_of(file, 0)["stage2"], 23.4798662222, 1e-6)):
                        check(np.all(np.abs(item - expected) < error),
                              f"{method}, {saves} saves: {item}, not {expected}")


def test_many_different_weights_use_adaptive_splitting():
    if sanitized():
        # only a large problem selects this solver, and tests of the active set cover the same code
        return
    with Folder() as folder:
        size = ["--vocab-size", 2, "--context-length", 60000]
        noisy, _ = run(folder, "noisy", *size, "--mode", "sde", "--noise", "isotropic",
                       "--noise-scale", 1e-3, "--dt", 0.01, "--t-end", 0.02, "--saves", 2)
        onwards = ["--init-from", noisy, "--project", "none", "--l1", 1e-3, "--rtol", 1e-3,
                   "--threads", 1]
        whole, done = run(folder, "whole", *onwards, *size, "--t-end", shorter(1e-5))
        check("weights differ at the start" in done.err, done.err)
        check(attribute(whole, "l1-solver", "parameters") == "adaptive-splitting", "the solver")
        popflow("resume", whole, "--t-end", shorter(2e-5), code=0)
        check(attribute(whole, "status") == "complete", "the resumed run")
        few, _ = run(folder, "few", "--init-from", noisy, *size, "--schedule", "two-stage",
                     "--t-end", 1e-5)
        check(attribute(few, "l1-solver", "parameters") == "active-set", "after a threshold")


def test_a_save_at_a_switch_belongs_to_the_new_stage():
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


def test_failures_are_reported_also_when_quiet():
    quiet = [*SMALL, "--quiet"]
    with Folder() as folder:
        _, done = run(folder, "early", *quiet, "--t-end", 1)
        check("stage 2, 'regularised', has not begun" in done.err, done.err)
        check("columns_emptied = 4" in done.err, done.err)
        _, done = run(folder, "unstable", "--vocab-size", 4, "--context-length", 3000, "--schedule",
                      "two-stage", "--quiet", "--mode", "sgd", "--t-end", 1)
        check("stage 2 is likely to diverge: its steps of 0.01 are above 2/(T |mu|^2) = " in done.err,
              done.err)
        done = popflow("run", "scb", "--project", "none", "--mode", "sgd", "--learning-rate", 0.5,
                       "--t-end", 5, "--quiet", "-o", os.path.join(folder, "fast.h5"), code=4)
        check("the run is likely to diverge: its steps of 0.5 are above 2/(T |mu|^2) = " in done.err,
              done.err)
        _, done = run(folder, "coarse", "--vocab-size", 10, "--context-length", 5000, "--schedule",
                      "two-stage", "--plateau-time", 0, "--l1", 1e-4, "--coordinates", "support",
                      "--l1-solver", "splitting", "--dt", 0.1, "--t-end", 30, "--quiet")
        check("--dt 0.1 is too large for l1" in done.err, done.err)
        check(not run(folder, "fine", *quiet)[1].err, "an intact run has a warning")


def test_a_transfer_of_negative_correlation_does_not_reach_stage_2():
    with Folder() as folder:
        before, _ = run(folder, "before", "--vocab-size", 6, "--context-length", 200,
                        "--problem-seed", 11, "--sparsity", 3, "--coordinates", "support")
        path, done = run(folder, "after", "--vocab-size", 6, "--context-length", 500,
                         "--problem-seed", 4, "--schedule", "two-stage", "--coordinates", "support",
                         "--init-from", before, "--init-mix", 0.8, "--quiet")
        check("negative correlation" in done.err and "has not begun" in done.err, done.err)
        with h5py.File(path) as file:
            check(file.attrs["transfer_correlation"] < -0.1, "the correlation")
            check(np.all(file["stage"][()] == 1) and file["signal_V"][-1] < 0, "-P and -Q")


def test_an_event_after_one_that_lies_before_the_start_is_found():
    with Folder() as folder:
        common = ["--saves", 2, "--save-spacing", "linear"]
        whole, _ = run(folder, "whole", "--t-end", 30, *common)
        before, _ = run(folder, "before", "--t-end", 23, *common)
        after, _ = run(folder, "after", "--t-end", 7, "--init-from", before, *common)
        with h5py.File(whole) as one, h5py.File(after) as other:
            first, second = events_of(one, 0), events_of(other, 0)
            check(first["boosted"] < 23 and set(second) == {"fast_phase_end"}, f"{first} {second}")
            check(abs(second["fast_phase_end"] + 23 - first["fast_phase_end"]) < 1e-3, second)


def test_refused_runs_leave_no_file():
    with Folder() as folder:
        for args, words in (
                (["--attention", "softmax"], "--attention linear"),
                (["--coordinates", "signal"], "--coordinates full or support"),
                (["--mode", "sde", "--coordinates", "support"], "--coordinates full"),
                (["--stage1-time", 2, "--stage1-signal", 0.3], "give one of them"),
                (["--threshold", 2], "--threshold"),
                (["--l1-solver", "splitting"], "--l1-solver splitting needs --dt")):
            done = popflow("run", "scb", *SMALL, *args, "-o", "run.h5", folder=folder, code=2)
            check(words in done.err and len(done.err.splitlines()) <= 5, done.err)
            check(os.listdir(folder) == [], "a file was left")


if __name__ == "__main__":
    run_all()
