#!/usr/bin/python3
# label: fast
"""The sharpness and its threshold in files: all modes and rules, sweeps, comparisons and resuming;
descent of a deep linear network on both sides of the threshold; refusals."""

import os

from runs import Folder, attribute, check, h5py, np, popflow, run_all
from sweeps import check_cell

SMALL = ["deep-linear", "--t-end", 4, "--saves", 5]
RULES = {
    "sgd": lambda: 2,
    "momentum": lambda: 2 * 1.9,
    "nesterov": lambda: 2 * 1.9 / 2.8,
    "rmsprop": lambda: 2,
    "adam": lambda: 2 * 1.9 / 0.1,
    "adamw": lambda: 2 * 1.9 / 0.1,
}


def run(folder, *args, name="run.h5", code=0):
    path = os.path.join(folder, name)
    ended = popflow("run", *args, "--sharpness", "-o", path, "--force", code=code)
    return path, ended


def read(path, name):
    with h5py.File(path) as file:
        return file[name][()]


def test_every_mode_and_rule_has_its_threshold():
    with Folder() as folder:
        for rule, limit in RULES.items():
            for mode in ("flow", "sde", "sgd"):
                args = [*SMALL, "--optimizer", rule, "--learning-rate", 0.02, "--mode", mode]
                if mode == "flow" and rule == "sgd":
                    args = [*SMALL]
                path, _ = run(folder, *args)
                check("sharpness" in attribute(path, "observables").split(), "no observable")
                sharpness = read(path, "sharpness")
                adaptive = rule in ("rmsprop", "adam", "adamw")
                check(
                    np.all(np.isfinite(sharpness[..., 1 if adaptive else 0 :])),
                    f"{rule} {mode}: {sharpness}",
                )
                check(
                    np.all(np.isnan(sharpness[..., 0])) == adaptive, f"{rule} {mode}: {sharpness}"
                )
                if mode == "flow" and rule == "sgd":
                    with h5py.File(path) as file:
                        check(
                            "sharpness_threshold" not in file, "a threshold without a learning rate"
                        )
                    continue
                threshold = read(path, "sharpness_threshold")
                check(
                    np.allclose(threshold, limit() / 0.02, rtol=1e-12),
                    f"{rule} {mode}: {threshold}",
                )
        # Thresholds with a schedule, with SVAG's steps, and for gradient descent as Euler's method.
        path, _ = run(
            folder,
            *SMALL,
            "--mode",
            "sgd",
            "--learning-rate",
            0.02,
            "--learning-rate-schedule",
            "step:1.5:0.5",
        )
        check(np.allclose(read(path, "sharpness_threshold"), [100, 100, 200, 200, 200]), "schedule")
        path, _ = run(folder, *SMALL, "--mode", "sgd", "--learning-rate", 0.02, "--svag", 2)
        check(np.allclose(read(path, "sharpness_threshold"), 200), "svag")
        path, _ = run(folder, *SMALL, "--method", "euler", "--dt", 0.05)
        check(np.allclose(read(path, "sharpness_threshold"), 40), "euler")


def test_descent_converges_below_the_threshold_and_not_above():
    """Uses a deep linear network, whose minima are at least as sharp as the balanced one."""
    with Folder() as folder:
        path, _ = run(folder, "deep-linear", "--t-end", 200, "--saves", 2)
        sharpest = read(path, "sharpness")[-1]
        for factor, converges in ((0.95, True), (1.05, False)):
            step = factor * 2 / sharpest
            path, _ = run(
                folder,
                "deep-linear",
                "--method",
                "euler",
                "--dt",
                step,
                "--t-end",
                600 * step,
                "--saves",
                3,
            )
            loss = read(path, "loss")[-1]
            check((loss < 1e-12) == converges, f"loss {loss} at {factor} of the threshold")
            if converges:
                check(
                    read(path, "sharpness")[-1] < read(path, "sharpness_threshold")[-1], "threshold"
                )


def test_sharpness_in_reduced_coordinates():
    with Folder() as folder:
        words = [
            "scb",
            "--vocab-size",
            4,
            "--context-length",
            12,
            "--t-end",
            20,
            "--saves",
            3,
            "--rtol",
            1e-10,
        ]
        full, ended = run(folder, *words, "--coordinates", "full", name="full.h5")
        check("reduced coordinates only" not in ended.err + ended.out, ended.err)
        for coordinates in ("signal", "support"):
            path, ended = run(folder, *words, "--coordinates", coordinates)
            said = " ".join((ended.err + ended.out).split())
            check("reduced coordinates only" in said, said)
            # Reduced coordinates span only a subspace of all directions.
            check(
                np.all(read(path, "sharpness") <= read(full, "sharpness") * (1 + 1e-5)),
                f"{coordinates}: {read(path, 'sharpness')}, {read(full, 'sharpness')}",
            )
        said = popflow(
            "compare",
            *words[:-2],
            "--runs",
            2,
            "--sharpness",
            "--coordinates",
            "signal",
            folder=folder,
            code=2,
        ).err
        check("--sharpness: the rung flow" in said and "--coordinates full" in said, said)


def test_sweeps_comparisons_and_resumed_runs():
    with Folder() as folder:
        path = os.path.join(folder, "sweep.h5")
        popflow(
            "sweep",
            "markov",
            "--over",
            "w0=-1,.5",
            "--over",
            "learning-rate=.1,.2",
            "--mode",
            "sgd",
            "--runs",
            2,
            "--t-end",
            1,
            "--sharpness",
            "-o",
            path,
            "--quiet",
            code=0,
        )
        check_cell(path, "w0=0.5,learning-rate=0.2")
        check(
            np.allclose(read(path, "sharpness_threshold"), np.array([[[20], [10]]] * 2)),
            "thresholds",
        )
        popflow(
            "sweep",
            "markov",
            "--over",
            "w0=-1,.5",
            "--t-end",
            1,
            "--sharpness",
            "--record",
            "series",
            "--saves",
            3,
            "-o",
            path,
            "--force",
            "--quiet",
            code=0,
        )
        check_cell(path, "w0=0.5")
        check("sharpness_threshold" not in h5py.File(path), "a threshold of flows")
        path = os.path.join(folder, "compare.h5")
        ended = popflow(
            "compare",
            "markov",
            "--t-end",
            1,
            "--saves",
            3,
            "--runs",
            4,
            "--sharpness",
            "-o",
            path,
            code=0,
        )
        check("sharpness" in ended.out and "sharpness_threshold" not in ended.out, ended.out)
        with h5py.File(path) as file:
            check(
                "sharpness_threshold" in file["sgd"] and "sharpness_threshold" not in file["flow"],
                "thresholds of rungs",
            )
        path, _ = run(folder, "markov", "--t-end", 1, "--saves", 3)
        popflow("resume", path, "--t-end", 2, code=0)
        longer, _ = run(folder, "markov", "--t-end", 2, "--saves", 5, name="longer.h5")
        check(np.array_equal(read(path, "sharpness"), read(longer, "sharpness")), "an extended run")
        # A condition on the sharpness, a figure of it, and a choice of observables beside it.
        path, _ = run(
            folder,
            "markov",
            "--t-end",
            20,
            "--stop-when",
            "sharpness > 0.05",
            "--record-observables",
            "loss",
            "--figure",
            "sharpness",
        )
        check(attribute(path, "observables") == "loss sharpness", attribute(path, "observables"))
        check(attribute(path, "status") in ("stopped", "complete"), attribute(path, "status"))
        popflow("plot", path, "--observable", "sharpness", code=0)


def test_refusals():
    with Folder() as folder:
        for words, part in (
            (["joma"], "only along gradient flow"),
            (["joma-joint", "--coordinates", "integrated"], "only along gradient flow"),
            (["markov", "--w0", 0], "w does not move"),
            (["scb", "--l1", 0.01, "--dt", 0.1], "l1"),
            (["scb", "--schedule", "two-stage"], "stages"),
        ):
            said = popflow("run", *words, "--sharpness", folder=folder, code=2).err
            check("--sharpness: " + words[0] in said and part in said, said)
        for command in ("run", "compare"):
            said = popflow(
                command, "markov", "--stop-when", "sharpness > 3", folder=folder, code=2
            ).err
            check("which needs --sharpness" in said, said)
        said = popflow(
            "sweep", "markov", "--over", "sharpness=true,false", folder=folder, code=2
        ).err
        check("cannot be swept" in said, said)
        check(os.listdir(folder) == [], "a file was made")


if __name__ == "__main__":
    run_all()
