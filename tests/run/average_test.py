#!/usr/bin/python3
# label: fast
"""--average: the exponential average of the weights, its observables, resuming, lanes, sweeps,
comparisons, and refusals."""

import os

from runs import Folder, check, h5py, np, popflow, run_all

RATE = ["--learning-rate", 0.02]
SHARE = 0.9
AVERAGE = ["--average", SHARE]
MODES = (["--mode", "flow"], ["--mode", "sde", "--runs", 2], ["--mode", "sgd", "--runs", 2],
         ["--mode", "sde", "--method", "gradient_descent", "--runs", 2])
LINEAR = ["linear-attention", "--eigenvalues", "1,0.5", "--coordinates", "full"]

DERIVED = ("b", "mode_strength")  # fields that are functions of the weights


def path(folder, name):
    return os.path.join(folder, name)


def recursion(x, axis):
    """Averages along the axis of steps: a_0 = x_0, a_k = A a_(k-1) + (1 - A) x_k."""
    x = np.moveaxis(x, axis, 0)
    a = [x[0]]
    for k in range(1, len(x)):
        a.append(SHARE * a[-1] + (1 - SHARE) * x[k])
    return np.moveaxis(np.array(a), 0, axis)


def test_averages_of_steps_are_those_by_hand():
    with Folder() as folder:
        out = path(folder, "run.h5")
        for system in (["markov"], LINEAR, ["deep-linear", "--strengths", "2,1"]):
            for rule in "sgd", "adam", "muon":
                if (rule, system[0]) == ("muon", "deep-linear"):
                    continue
                for mode in MODES[2:]:
                    popflow("run", *system, *mode, *RATE, *AVERAGE, "--optimizer", rule,
                            "--steps", 30, "--saves", 31, "--save-spacing", "linear", "--force",
                            "-o", out, code=0)
                    with h5py.File(out) as file:
                        fields = file.attrs["state_fields"].split()
                        own = [name for name in fields if not name.startswith("A_")]
                        check(fields == own + ["A_" + name for name in own], str(fields))
                        for name in own:
                            if name in DERIVED:
                                continue
                            x = file[name][()]
                            wrong = np.abs(file["A_" + name][()] - recursion(x, 1)).max()
                            check(wrong <= 1e-13 * np.abs(x).max(),
                                  f"{system} {rule} {mode} {name}: {wrong}")
                        check(np.ptp(file["loss_averaged"][()] - file["loss"][()]) > 0,
                              "the same loss")


def test_svag_keeps_the_time_scale_of_the_average():
    with Folder() as folder:
        out = path(folder, "run.h5")
        popflow("run", "markov", "--mode", "sgd", "--runs", 1, *RATE, *AVERAGE, "--svag", 4,
                "--t-end", 0.2, "--saves", 41, "--save-spacing", "linear", "-o", out, code=0)
        with h5py.File(out) as file:
            e, a = np.ravel(file["e"][()]), np.ravel(file["A_e"][()])
            part = SHARE ** 0.25
            expected = [e[0]]
            for value in e[1:]:
                expected.append(part * expected[-1] + (1 - part) * value)
            check(len(e) == 41 and np.allclose(a, expected, rtol=1e-13, atol=0), "another average")


def test_the_flow_of_the_average_follows_its_equation():
    with Folder() as folder:
        out = path(folder, "run.h5")
        popflow("run", "markov", "--mode", "flow", *RATE, *AVERAGE, "--t-end", 2, "--saves", 4001,
                "--save-spacing", "linear", "-o", out, code=0)
        with h5py.File(out) as file:
            t, e, a = file["time"][()], file["e"][()], file["A_e"][()]
        kappa = np.log(1 / SHARE) / RATE[1]
        h = t[1]
        expected = [e[0]]
        for k in range(1, len(t)):  # exact for e linear between records
            keep, slope = np.exp(-kappa * h), (e[k] - e[k - 1]) / h
            lag = slope / kappa
            expected.append(e[k] - lag + keep * (expected[-1] - e[k - 1] + lag))
        check(np.abs(a - expected).max() <= 1e-7, str(np.abs(a - expected).max()))


def test_weights_are_those_without_the_average():
    with Folder() as folder:
        out = path(folder, "run.h5")
        for mode in MODES[1:]:
            words = ["run", "markov", *mode, *RATE, "--optimizer", "momentum", "--t-end", 1,
                     "--saves", 5, "--force", "-o", out]
            popflow(*words, code=0)
            with h5py.File(out) as file:
                w = file["w"][()]
            popflow(*words, *AVERAGE, code=0)
            with h5py.File(out) as file:
                check(np.array_equal(file["w"][()], w), f"{mode}")


def test_runs_with_averages_are_resumed_bit_for_bit():
    with Folder() as folder:
        for mode in MODES:
            for rule in "sgd", "adam":
                words = ["markov", *mode, *RATE, *AVERAGE, "--optimizer", rule]
                whole, parts = path(folder, "whole.h5"), path(folder, "parts.h5")
                for end, saves, file in (4, 5, whole), (2, 3, parts):
                    popflow("run", *words, "--t-end", end, "--saves", saves, "--force", "-o", file,
                            code=0)
                popflow("resume", parts, "--t-end", 4, code=0)
                with h5py.File(whole) as one, h5py.File(parts) as two:
                    for name in "e", "A_e", "slope_averaged", "loss_averaged":
                        check(np.array_equal(one[name][..., -1], two[name][..., -1]),
                              f"{mode} {name}")


def test_lanes_have_the_bits_of_single_runs():
    with Folder() as folder:
        out = path(folder, "run.h5")
        for mode in MODES[1][:2], MODES[3][:4]:
            values = []
            for kernel in "lanes", "scalar":
                popflow("run", "markov", *mode, *RATE, *AVERAGE, "--optimizer", "adam",
                        "--t-end", 1, "--kernel", kernel, "--runs", 3, "--saves", 4, "--force",
                        "-o", out, code=0)
                with h5py.File(out) as file:
                    values.append([file[name][()].tolist()
                                   for name in ("w", "A_w", "loss_averaged")])
            check(values[0] == values[1], f"{mode}")


def test_sweeps_record_averages_and_vary_their_share():
    with Folder() as folder:
        out, one = path(folder, "sweep.h5"), path(folder, "one.h5")
        words = ["markov", "--mode", "flow", *RATE, "--t-end", 3, "--saves", 4, "--save-spacing",
                 "linear", "--force", "--optimizer", "momentum"]
        maps = []
        for kernel in "lanes", "scalar":
            popflow("sweep", *words, "--over", "average=0.5:0.98:3", "--record", "series",
                    "--kernel", kernel, "-o", out, code=0)
            with h5py.File(out) as file:
                shares = file["average"][()]
                maps.append([file[name][()]
                             for name in ("loss_averaged_end", "A_w", "loss_averaged")])
        check(np.ptp(maps[0][0]) > 0, "the share has no effect")
        for k, share in enumerate(shares):
            popflow("run", *words, "--average", repr(float(share)), "-o", one, code=0)
            with h5py.File(one) as file:
                check(maps[1][0][k] == file["loss_averaged"][-1], f"loss of cell {k}")
                check(np.array_equal(maps[1][2][k], file["loss_averaged"][()]),
                      f"series of cell {k}")
                check(np.array_equal(maps[1][1][k], file["A_w"][-1]), f"average of cell {k}")
                check(np.allclose(maps[0][1][k], file["A_w"][-1], rtol=1e-6), f"lanes of cell {k}")


def test_shards_of_sweeps_are_merged():
    with Folder() as folder:
        whole, merged = path(folder, "whole.h5"), path(folder, "merged.h5")
        words = ["sweep", "markov", "--mode", "sgd", *RATE, "--t-end", 0.4, "--runs", 2, "--over",
                 "average=0.5:0.9:4"]
        popflow(*words, "-o", whole, code=0)
        shards = [path(folder, f"{k}.h5") for k in (1, 2)]
        for k, shard in enumerate(shards):
            popflow(*words, "--shard", f"{k + 1}/2", "-o", shard, code=0)
        popflow("merge", *shards, "-o", merged, code=0)
        with h5py.File(whole) as one, h5py.File(merged) as two:
            for name in "loss_averaged", "A_w":
                check(np.array_equal(one[name][()], two[name][()]), name)


def test_comparisons_compare_averages():
    with Folder() as folder:
        out = path(folder, "compare.h5")
        popflow("compare", "deep-linear", "--strengths", "2,1", *RATE, *AVERAGE, "--optimizer",
                "adam", "--rungs", "flow,gd,sgd", "--runs", 4, "--t-end", 1, "--saves", 4,
                "-o", out, code=0)
        with h5py.File(out) as file:
            names = list(file["comparison"])
            check("loss_averaged_verdict" in names and "loss_verdict" in names, str(names))
        popflow("compare", "markov", *AVERAGE, "--learning-rates", "0.02,0.01", "--runs", 2,
                "--t-end", 0.2, "--saves", 2, "--rungs", "gd,sgd", "--force", "-o", out, code=0)
        with h5py.File(out) as file:
            found = []
            file.visititems(lambda name, item: found.append(float(item.attrs["average"]))
                            if name.endswith("parameters") else None)
        check(any(abs(share - SHARE ** 0.5) < 1e-12 for share in found), str(found))


def test_moments_and_averages_stand_beside_each_other():
    with Folder() as folder:
        first, out = path(folder, "first.h5"), path(folder, "run.h5")
        words = ["run", *LINEAR, "--mode", "sgd", "--runs", 1, *RATE, "--optimizer", "adam",
                 "--steps", 20, *AVERAGE, "--state-of-optimizer"]
        popflow(*words, "-o", first, code=0)
        with h5py.File(first) as file:
            fields = file.attrs["state_fields"].split()
            field = fields[0]
            check({f"m_{field}", f"u_{field}", f"A_{field}"} <= set(fields), str(fields))
            check(f"m_A_{field}" not in fields, str(fields))
            moment = file[f"m_{field}"][()][0, -1]
        # Another run goes on from the moments; its average begins at its own start.
        popflow(*words, "--init-from", first, "--init-optimizer", "file", "-o", out, code=0)
        with h5py.File(out) as file:
            check(np.array_equal(file[f"m_{field}"][()][0, 0], moment), "other moments")
            check(np.array_equal(file[f"A_{field}"][()][0, 0], file[field][()][0, 0]),
                  "another start")


def test_what_has_no_average_is_refused():
    for words, part in ((["markov", "--average", 1], "--average"),
                        (["markov", "--average", 0], "--average"),
                        (["joma", *AVERAGE], "does not hold the weights"),
                        (["scb", *AVERAGE, "--l1", 0.1], "regimes"),
                        (["markov", "--record-observables", "slope_averaged"], "does not have")):
        told = popflow("run", *words, "--dry-run", code=2).err
        check(part in told, told)
    popflow("run", "markov", *AVERAGE, "--record-observables", "slope_averaged", "--stop-when",
            "slope_averaged < -1e9", "--dry-run", code=0)
    check("--average X" in popflow("run", "markov", "--help", code=0).out, "no help")


if __name__ == "__main__":
    run_all()
