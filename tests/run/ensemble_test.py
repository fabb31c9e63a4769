#!/usr/bin/python3
# label: slow
"""Ensembles of noisy runs: contents of their files. The numbers of a run depend only on its seed
and its number."""

import os
import random
import signal

from runs import (Folder, attribute, check, check_equal, check_refused, cut, h5py, np, popflow,
                  run_all, same, worked, xarray)

SMALL = {"--vocab-size": 4, "--context-length": 50, "--learning-rate": 0.05, "--batch-size": 8,
         "--t-end": 4, "--saves": 9, "--noise-samples": 8}
MODES = {
    "sgd": ["--mode", "sgd"],
    "svag": ["--mode", "sgd", "--svag", 3],
    "batch": ["--mode", "sde"],
    "diagonal": ["--mode", "sde", "--noise", "diagonal"],
    "isotropic": ["--mode", "sde", "--noise", "isotropic", "--noise-scale", 0.1],
    "srk": ["--mode", "sde", "--noise", "isotropic", "--method", "srk"],
    "second": ["--mode", "sde", "--modified-equation", 2],
    "gd": ["--mode", "sde", "--method", "gradient_descent"],
    "softmax": ["--mode", "sgd", "--attention", "softmax"],
    "plain": ["--mode", "sgd", "--preconditioner", "none", "--project", "none"],
    "l1": ["--mode", "sgd", "--l1", 1e-3],
}
FREE = {"free_attributes": ("threads", "config", "output", "force"), "slots": False}


def run(folder, name, *args, code=0):
    """Makes a small run; `args` override SMALL."""
    path = os.path.join(folder, name + ".h5")
    small = [word for option in SMALL.items() if option[0] not in args for word in option]
    popflow("run", "scb", *small, *args, "-o", path, "--force", code=code)
    return path



def test_the_second_modified_equation_is_of_second_order_at_its_default_step():
    """Without noise the run ends like gradient descent, up to about a third of eta squared."""
    args = ["markov", "--bias", "free", "--p", .2, "--q", .3, "--e0", .9, "--w0", .5, "--b0", .3, "--mode",
            "sde", "--noise", "isotropic", "--noise-scale", 0, "--t-end", 8, "--saves", 2]
    with Folder() as folder:
        apart = []
        for eta in (0.4, 0.2, 0.1):
            ends = []
            for how in (["--modified-equation", 2], ["--method", "gradient_descent"]):
                popflow("run", *args, "--learning-rate", eta, *how, "--force", "-o", "run.h5",
                        folder=folder, code=0)
                with h5py.File(os.path.join(folder, "run.h5"), "r") as file:
                    ends.append([file[name][..., -1] for name in "ewb"])
            apart.append(np.abs(np.subtract(*ends)).max())
        orders = np.log2(np.divide(apart[:-1], apart[1:]))
        check(np.all(np.abs(orders - 2) < 0.1), f"orders {orders} of {apart}")


def test_the_number_of_threads_changes_no_bit():
    with Folder() as folder:
        for name, args in MODES.items():
            paths = [run(folder, f"{name}{threads}", *args, "--runs", runs, "--threads", threads)
                     for runs, threads in ((3, 1), (3, 2), (3, 5))]
            check_equal(paths[0], paths[1], **FREE)
            check_equal(paths[0], paths[2], **FREE)


def test_a_large_batch_is_bit_identical_on_all_threads():
    with Folder() as folder:
        large = ["--mode", "sgd", "--context-length", 3000, "--batch-size", 300, "--t-end", 0.5]
        paths = [run(folder, f"large{threads}", *large, "--threads", threads)
                 for threads in (1, 2, 7)]
        check_equal(paths[0], paths[1], **FREE)
        check_equal(paths[0], paths[2], **FREE)


def test_a_run_does_not_depend_on_the_number_of_runs():
    with Folder() as folder:
        for name, args in MODES.items():
            few = run(folder, "few", *args, "--runs", 2)
            many = run(folder, "many", *args, "--runs", 5)
            with h5py.File(few) as a, h5py.File(many) as b:
                for item in ("loss", "V", "A", "stop_time"):
                    check(same(a[item][:], b[item][:2]), f"{name}: {item} differs")
                check(not same(b["loss"][0], b["loss"][1]), f"{name}: runs are equal")


def test_seeds_differ():
    with Folder() as folder:
        for name in ("sgd", "batch", "isotropic"):
            one = run(folder, "one", *MODES[name])
            two = run(folder, "two", *MODES[name], "--seed", 2)
            with h5py.File(one) as a, h5py.File(two) as b:
                check(not same(a["loss"][:], b["loss"][:]), name)


def test_files_have_runs():
    with Folder() as folder:
        path = run(folder, "sgd", "--mode", "sgd", "--runs", 3)
        for engine in ("h5netcdf", "netcdf4"):
            with xarray.open_dataset(path, engine=engine) as data:
                check(data.loss.dims == ("run", "time"), data.loss.dims)
                check(data.V.dims == ("run", "time", "token_out", "token_in"), data.V.dims)
                check(list(data.step.values) == [10 * i for i in range(9)], data.step)
                check(list(data.status.values) == [1, 1, 1], data.status)
                check("complete" in data.status.attrs["flag_meanings"], data.status.attrs)
                check(np.isfinite(data.loss).all(), data.loss)
                check((data.stop_time == 4).all(), data.stop_time)
                check(int(data.saves_done.min()) == 9, data.saves_done)
        single = run(folder, "single", "--mode", "sde")
        with xarray.open_dataset(single) as data:
            check(data.loss.dims == ("run", "time") and data.sizes["run"] == 1, data.sizes)
            check("step" not in data, "an sde has no steps to count")


def test_saves_between_steps_are_rounded_and_merged():
    with Folder() as folder:
        path = run(folder, "rounded", "--mode", "sgd", "--t-end", 0.23, "--saves", 11)
        with h5py.File(path) as file:
            times = file["time"][()]
            check(same(times, 0.05 * np.arange(6)), times)
            check(list(file["step"][()]) == list(range(6)), file["step"][()])
        check(attribute(path, "t-end", "parameters") == 0.25, "the end is rounded, too")


def test_divergence_is_reported_run_by_run():
    with Folder() as folder:
        path = run(folder, "all", "--mode", "sgd", "--learning-rate", 40, "--t-end", 4000,
                   "--runs", 3, code=4)
        with h5py.File(path) as file:
            check((file["status"][()] == 3).all(), file["status"][()])
            check(np.isfinite(file["diverged_at"][()]).all(), "when")
            check(np.isfinite(file["loss"][:, 0]).all(), "the start is kept")
        check(attribute(path, "status") == "diverged", attribute(path, "status"))
        said = popflow("info", path, code=0).out
        check("3 diverged" in said, said)


def numbers_of_table(said, observable):
    """Returns the numbers of an observable's last save in a summary: mean, std, least, most,
    runs."""
    row = next(line for line in said.splitlines() if line.split()[:1] == [observable])
    return row.split()[2:]


def test_events_of_runs_that_diverged_later_are_stored_but_not_counted():
    # Steps are a little too long for stage 2: some runs are boosted and diverge later.
    args = ["scb", "--mode", "sgd", "--vocab-size", 4, "--context-length", 30, "--batch-size", 64,
            "--schedule", "two-stage", "--stage1-time", 2, "--learning-rate", 0.05, "--t-end", 4,
            "--saves", 5, "--runs", 16]
    with Folder() as folder:
        path = os.path.join(folder, "some.h5")
        said = " ".join(popflow("run", *args, "-o", path, code=0).out.split())
        shown = popflow("info", path, code=0).out
        with h5py.File(path) as file:
            diverged = file["status"][()] == 3
            left, out = int((~diverged).sum()), int(diverged.sum())
            check(0 < out < 16, f"{out} runs diverged")
            kinds = file["events/kind"][()].reshape(16, -1)
            times = file["events/time"][()].reshape(16, -1)
            boosted = kinds == 0
            check((boosted & diverged[:, None]).any(), "none was boosted before it diverged")
            check(np.isfinite(times[boosted & diverged[:, None]]).all(), "its time is not stored")
            check(f"boosted in {(boosted & ~diverged[:, None]).sum()} of {left} runs" in said, said)
            check(f"; {out} of 16 runs diverged and are left out" in said, said)
            check(f"regularised in {left} " in said, said)
            last = file["loss"][~diverged, -1]
            mean, std, least, most, runs = numbers_of_table(shown, "loss")
            check(np.isclose(float(mean), last.mean(), rtol=1e-5), f"{mean}, {last.mean()}")
            check(np.isclose(float(most), last.max(), rtol=1e-5) and runs == str(left), shown)
        one = os.path.join(folder, "one.h5")
        said = popflow("run", *args[:-1], 1, "-o", one, code=0).out
        check("stage2 at t = 2" in said and " of 1 runs" not in said, said)


def test_batches_of_one():
    with Folder() as folder:
        run(folder, "sgd", "--mode", "sgd", "--batch-size", 1)
        path = os.path.join(folder, "sde.h5")
        popflow("run", "scb", "--vocab-size", 4, "--context-length", 50, "--batch-size", 1,
                "--t-end", 1, "--mode", "sde", "-o", path, code=0)
        check(attribute(path, "noise-samples", "parameters") == 2, "a covariance needs two")


def test_invalid_combinations_are_refused():
    said = {
        ("scb", "--mode", "sgd", "--coordinates", "support"): "--coordinates full",
        ("scb", "--mode", "sde", "--coordinates", "signal"): "--coordinates full",
        ("scb", "--mode", "sde", "--method", "heun"): "additive noise",
        ("scb", "--mode", "sde", "--method", "dopri5"): "--mode flow",
        ("scb", "--mode", "flow", "--method", "srk"): "--mode sde",
        ("scb", "--mode", "sde", "--method", "gradient_descent", "--dt", 0.3): "steps of size --learning-rate",
        ("scb", "--mode", "sde", "--steps", 10): "--steps",
        ("scb", "--mode", "sgd", "--steps", 10, "--t-end", 77): "disagree",
        ("scb", "--mode", "sgd", "--batch-size", 0): "at least 1",
        ("joma", "--mode", "sgd"): "popflow compare joma-joint",
        ("joma", "--mode", "sde"): "popflow compare joma-joint",
    }
    check_refused("run", said)


def test_killed_ensembles_resume_and_finished_runs_are_not_repeated():
    long = ["run", "scb", "--vocab-size", 10, "--context-length", 1000, "--learning-rate", 0.02,
            "--t-end", 4, "--saves", 5, "--runs", 6, "--threads", 2, "--checkpoint-every", 0]
    with Folder() as folder:
        for name in ("sgd", "isotropic"):
            whole = os.path.join(folder, name + "-whole.h5")
            began = worked()
            popflow(*long, *MODES[name], "-o", whole, code=0)
            effort = worked() - began
            for _ in range(4):
                path = os.path.join(folder, "cut.h5")
                cut([*long, *MODES[name], "-o", path, "--force"], folder,
                    random.uniform(0.05, 0.9) * effort,
                    random.choice([signal.SIGKILL, signal.SIGINT]))
                if not os.path.exists(path):
                    continue
                with h5py.File(path) as file:
                    ended = file["status"][()] == 1
                    work = file["statistics/accepted_steps"][()]
                popflow("resume", path, code=0)
                check_equal(whole, path, **FREE)
                with h5py.File(path) as file:
                    after = file["statistics/accepted_steps"][()]
                check((after[ended] == work[ended]).all(), "finished runs ran again")


def test_ensembles_are_extended():
    with Folder() as folder:
        for name in ("sgd", "batch"):
            path = run(folder, "short", *MODES[name], "--runs", 3)
            popflow("resume", path, "--t-end", 6, code=0)
            longer = os.path.join(folder, "long.h5")
            run(folder, "long", *MODES[name], "--runs", 3, "--t-end", 6, "--saves", 13)
            with h5py.File(path) as a, h5py.File(longer) as b:
                for item in ("loss", "V", "time"):
                    check(same(a[item][()], b[item][()]), f"{name}: {item} differs")


def test_extended_ensembles_keep_the_ends_of_runs_that_diverged():
    args = ["run", "linear-attention", "--mode", "sgd", "--learning-rate", 1, "--batch-size", 2, "--runs",
            8, "--state", "ends", "--quiet"]
    with Folder() as folder:
        short, longer = (os.path.join(folder, name) for name in ("short.h5", "long.h5"))
        popflow(*args, "--t-end", 20, "--saves", 11, "-o", short, code=0)
        with h5py.File(short) as file:
            diverged = file["status"][()] == 3
        check(0 < diverged.sum() < 8, diverged)
        popflow("resume", short, "--t-end", 24, code=0)
        popflow(*args, "--t-end", 24, "--saves", 13, "-o", longer, code=0)
        check_equal(short, longer, free_attributes=("output", "force"), slots=False)


def test_runs_at_a_limit_are_reported_beside_diverged_runs():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        ended = popflow("run", "linear-attention", "--mode", "sgd", "--learning-rate", 1, "--batch-size",
                        2, "--runs", 8, "--t-end", 40, "--max-steps", 20, "-o", path, code=6)
        with h5py.File(path) as file:
            status = list(file["status"][()])
        limited, diverged = status.count(4), status.count(3)
        check(limited > 0 and diverged > 0 and limited + diverged == 8, status)
        said = f"{limited} of 8 runs ended at a limit, {diverged} diverged"
        check(said in ended.err and said in attribute(path, "status_message"), ended.err)
        check(attribute(path, "status") == "step_limit", attribute(path, "status"))


def test_info_and_csv():
    with Folder() as folder:
        path = run(folder, "sgd", "--mode", "sgd", "--runs", 3)
        said = popflow("info", path, code=0).out
        check("3 complete" in said and "std" in said, said)
        lines = popflow("info", path, "--csv", code=0).out.splitlines()
        check(lines[0].startswith("run,time,loss"), lines[0])
        check(len(lines) == 1 + 3 * 9 and lines[-1].startswith("2,4,"), lines[-1])


def test_a_thousand_runs():
    with Folder() as folder:
        path = os.path.join(folder, "many.h5")
        popflow("run", "markov", "--mode", "sgd", "--runs", 1000, "--t-end", 2, "--saves", 5,
                "--learning-rate", 0.1, "-o", path, code=0)
        with h5py.File(path) as file:
            check(file["loss"].shape == (1000, 5), file["loss"].shape)
            check((file["status"][()] == 1).all(), "status")
            check(len(np.unique(file["loss"][:, -1])) == 1000, "runs are not independent")


if __name__ == "__main__":
    run_all()
