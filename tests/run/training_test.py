#!/usr/bin/python3
# label: fast
"""Training rules with the drivers: files, resuming, extending, ensembles, sweeps, starts,
comparisons, and refusals."""

import os
import signal
import subprocess
import time

from runs import (BINARY, Folder, attribute, check, check_equal, h5py, np, popflow, run_all, sanitized,
                  until)

RULES = ("momentum", "nesterov", "rmsprop", "adam", "adamw", "signsgd", "adagrad", "lion")
WHOLE_RULES = ("adagrad-norm", "muon", "normalised")  # these take the whole gradient
SIGNS = ("signsgd", "lion")
MODES = (["--mode", "flow"], ["--mode", "sde", "--runs", 2], ["--mode", "sgd", "--runs", 2],
         ["--mode", "sde", "--method", "gradient_descent", "--runs", 2])
RATE = ["--learning-rate", 0.01]
SYSTEMS = {"markov": [], "deep-linear": ["--strengths", "2,1"], "linear-attention":
           ["--eigenvalues", "1,0.5", "--coordinates", "full"],
           "scb": ["--vocab-size", 3, "--context-length", 8, "--coordinates", "full", "--project",
                   "none", "--preconditioner", "none"],
           "topic": ["--topics", 4, "--words-per-topic", 3, "--topics-per-document", 2],
           "joma-joint": ["--tokens", 4, "--classes", 3, "--nodes", 3]}


def path(folder, name):
    return os.path.join(folder, name)


def test_every_rule_moves_every_system_in_every_mode():
    with Folder() as folder:
        # each command takes seconds under sanitizers
        some = ["markov", "topic"] if sanitized() else list(SYSTEMS)
        for system in some:
            words = SYSTEMS[system]
            for rule in RULES + WHOLE_RULES if system == "markov" else ("momentum", "adam", "muon"):
                for mode in MODES:
                    if rule == "normalised" and mode == MODES[1]:
                        continue
                    # The polar factor jumps where a singular value is 0, as those of scb's start
                    # are, so that an adaptive method takes endlessly many steps.
                    fixed = ["--method", "rk4", "--dt", 0.01] if (
                        (system, rule, mode) == ("scb", "muon", MODES[0])) else []
                    out = path(folder, "run.h5")
                    popflow("run", system, *words, *mode, *RATE, "--optimizer", rule, "--t-end", 0.1,
                            "--saves", 3, "--force", "-o", out, "--weight-decay", 0.1, *fixed,
                            *(["--batch-noise-in-variance"] if rule in SIGNS else []), code=0)
                    with h5py.File(out) as file:
                        loss = file["loss"][()]
                        check(np.isfinite(loss).all(), f"{system} {rule} {mode}")
                        check((np.atleast_2d(loss)[:, -1] != np.atleast_2d(loss)[:, 0]).all(),
                              f"{system} {rule} {mode}: nothing moves")


def test_a_schedule_without_changes_equals_plain_sgd():
    """A schedule that does not change the rate equals plain SGD up to rounding."""
    with Folder() as folder:
        for mode in MODES[:3]:
            plain, same = path(folder, "plain.h5"), path(folder, "same.h5")
            words = ["run", "markov", *mode, *RATE, "--t-end", 1, "--saves", 5, "--force"]
            popflow(*words, "-o", plain, code=0)
            popflow(*words, "--learning-rate-schedule", "step:100:0.5", "-o", same, code=0)
            with h5py.File(plain) as one, h5py.File(same) as two:
                check(np.allclose(one["w"][()], two["w"][()], rtol=1e-6, atol=1e-9), mode)


def test_steps_of_a_schedule_are_counted():
    """0.9/0.3 = 3: steps 0, 1 and 2 have the rate 0.3, although 0.3 * 3 < 0.9 in binary."""
    with Folder() as folder:
        out = path(folder, "run.h5")
        for mode in MODES[2], MODES[3]:
            popflow("run", "markov", *mode, "--learning-rate", 0.3, "--t-end", 1.8, "--saves", 7,
                    "--save-spacing", "linear", "--learning-rate-schedule", "step:0.9:0.1", "--force",
                    "-o", out, code=0)
            with h5py.File(out) as file:
                rate = np.atleast_2d(file["learning_rate"][()])
                check(np.allclose(rate, [0.3] * 3 + [0.03] * 4), str(rate))


def test_a_cosine_begins_after_the_warm_up():
    """As optax.warmup_cosine_decay_schedule does."""
    with Folder() as folder:
        out = path(folder, "run.h5")
        words = ["run", "markov", "--mode", "sgd", "--learning-rate", 0.05, "--saves", 41, "--save-spacing",
                 "linear", "--learning-rate-schedule", "cosine", "--warmup-steps", 10, "-o", out]
        popflow(*words, "--steps", 40, code=0)
        k = np.arange(41)
        with h5py.File(out) as file:
            expected = np.where(k < 10, k / 10, 0.5 * (1 + np.cos(np.pi * (k - 10) / 30)))
            check(np.allclose(np.ravel(file["learning_rate"][()]), 0.05 * expected), "other rates")
        told = popflow(*words, "--steps", 10, "--force", code=2).err
        check("after the warm-up" in told, told)


def test_l1_follows_each_step_of_momentum():
    """The threshold removes entries of the attention, which plain momentum does not."""
    with Folder() as folder:
        out = path(folder, "run.h5")
        words = ["run", "scb", "--vocab-size", 3, "--context-length", 8, "--coordinates", "full",
                 "--learning-rate", 0.05, "--project", "none", "--force", "-o", out]
        sampled = [*words, "--mode", "sgd", "--steps", 100]
        zeros = []
        for l1 in 0, 0.05:
            popflow(*sampled, "--optimizer", "momentum", "--l1", l1, code=0)
            with h5py.File(out) as file:
                last = np.take(file["A"][()], -1, axis=1 if file["status"].shape else 0)
                zeros.append((last == 0).sum())
        check(zeros[1] > zeros[0], str(zeros))
        popflow(*sampled, "--l1", 0.05, "--optimizer", "adam", "--preconditioner", "none", code=0)
        for more, part in ((["--mode", "sde", "--optimizer", "momentum", "--t-end", 1], "--mode sgd"),
                           (["--mode", "sgd", "--rates", "A=2", "--t-end", 1], "--rates"),
                           (["--mode", "sgd", "--optimizer", "adam", "--t-end", 1],
                            "--preconditioner none")):
            told = popflow(*words, "--l1", 0.05, *more, code=2).err
            check(part in told, told)


def test_runs_are_resumed_and_extended_bit_for_bit():
    with Folder() as folder:
        rules = [(mode, "adam") for mode in MODES]
        rules += [(mode, rule) for rule in ("adagrad", "lion", "adagrad-norm", "muon")
                  for mode in MODES[1:3]]
        for mode, rule in rules:
            words = ["markov", *mode, *RATE, "--optimizer", rule, "--learning-rate-schedule",
                     "cosine", "--schedule-length", 3, "--warmup", 0.3]
            whole, parts = path(folder, "whole.h5"), path(folder, "parts.h5")
            popflow("run", *words, "--t-end", 4, "--saves", 5, "--force", "-o", whole, code=0)
            popflow("run", *words, "--t-end", 2, "--saves", 3, "--force", "-o", parts, code=0)
            popflow("resume", parts, "--t-end", 4, code=0)
            with h5py.File(whole) as one, h5py.File(parts) as two:
                for name in "e", "w":
                    check(np.array_equal(one[name][..., -1], two[name][..., -1]), f"{mode} {name}")


def test_an_extended_run_keeps_the_length_of_its_schedule():
    with Folder() as folder:
        out = path(folder, "run.h5")
        popflow("run", "markov", "--optimizer", "momentum", *RATE, "--learning-rate-schedule", "linear",
                "--t-end", 2, "--saves", 3, "-o", out, code=0)
        popflow("resume", out, "--t-end", 4, code=0)
        with h5py.File(out) as file:
            check(file["parameters"].attrs["schedule-length"] == 2, "the length follows the end")
            w = file["w"][()]
            check(w[-1] == w[-2], "w moves after the schedule has reached 0")


def test_files_record_a_learning_rate_that_changes():
    with Folder() as folder:
        out = path(folder, "run.h5")
        for mode in MODES[0], MODES[2]:
            words = ["run", "markov", *mode, *RATE, "--t-end", 2, "--saves", 5, "--force", "-o", out]
            popflow(*words, code=0)
            with h5py.File(out) as file:
                check("learning_rate" not in file, "a constant rate")
            popflow(*words, "--optimizer", "momentum", "--warmup", 1, "--learning-rate-schedule",
                    "step:1.5:0.1", code=0)
            with h5py.File(out) as file:
                rate = np.atleast_2d(file["learning_rate"][()])
                check(np.allclose(rate, [0, 0.005, 0.01, 0.001, 0.001]), str(rate))
            picture = path(folder, "run.svg")
            popflow("plot", out, "-o", picture, "--force", code=0)
            with open(picture, encoding="utf-8") as file:
                check("learning rate" in file.read(), "no panel")


def test_a_killed_ensemble_resumes():
    with Folder() as folder:
        words = ["markov", "--mode", "sgd", "--runs", 3, *RATE, "--optimizer", "adam", "--saves", 30,
                 "--t-end", 100, "--checkpoint-every", 0]
        whole, cut = path(folder, "whole.h5"), path(folder, "cut.h5")
        popflow("run", *words, "-o", whole, code=0)
        process = subprocess.Popen([BINARY, "run", *map(str, words), "-o", cut],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: os.path.exists(cut), process)
        time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        popflow("resume", cut, code=0)
        check_equal(whole, cut, free_groups=("provenance", "restart", "parameters"),
                    free_attributes=("history",))


def test_sweeps_run_over_rules_and_their_numbers():
    with Folder() as folder:
        out, alone = path(folder, "sweep.h5"), path(folder, "alone.h5")
        for mode in MODES[:3]:
            popflow("sweep", "markov", *mode, *RATE, "--t-end", 0.5, "--seed", 1, "--kernel", "scalar", "--over",
                    "optimizer=sgd,momentum,adam", "--over", "momentum=0.5,0.9", "--over", "w0=-1,0,1",
                    "--force", "-o", out, code=0)
            with h5py.File(out) as file:
                loss = file["loss"][()]
                seed = [] if mode[1] == "flow" else ["--seed", int(file["seed"][1, 0, 2])]
            popflow("run", "markov", *mode, *RATE, *seed, "--t-end", 0.5, "--optimizer", "momentum",
                    "--momentum", 0.5, "--w0", 1, "--saves", 1, "--force", "-o", alone, code=0)
            with h5py.File(alone) as file:
                check(np.array_equal(np.ravel(loss[1, 0, 2]), np.ravel(file["loss"][..., -1])), mode)
            check((loss[2, 0] == loss[2, 1]).all() or mode[1] != "flow", "adam has no --momentum")


def test_lanes_and_single_runs_agree():
    """Noisy runs agree bit for bit. Flows agree to the tolerance, since rounding changes step
    sizes."""
    with Folder() as folder:
        lanes, alone = path(folder, "lanes.h5"), path(folder, "alone.h5")
        schedule = ["--learning-rate-schedule", "step:0.3,0.7:0.5", "--warmup", 0.2]
        for rule in RULES:
            words = ["--optimizer", rule, "--learning-rate", 0.02, "--batch-size", 8, "--t-end", 1,
                     "--weight-decay", 0.1, *schedule]
            for method in "euler_maruyama", "gradient_descent":
                for kernel, out in ("lanes", lanes), ("scalar", alone):
                    popflow("run", "markov", "--bias", "free", "--mode", "sde", "--method", method, *words, "--runs", 5,
                            "--saves", 3, "--kernel", kernel, "--seed", 3, "--force", "-o", out, code=0)
                with h5py.File(lanes) as one, h5py.File(alone) as two:
                    for name in "e", "w", "b":
                        check(np.array_equal(one[name][()], two[name][()]),
                              f"{rule} {method} {name}")
            for noisy in ([], ["--batch-noise-in-variance"]):
                if rule in SIGNS and not noisy:
                    continue
                for kernel, out in ("lanes", lanes), ("scalar", alone):
                    popflow("sweep", "markov", *words, *noisy, "--over", "w0=0.4:1:20", "--over", "learning-rate=0.02,0.05",
                            "--kernel", kernel, "--rtol", 1e-8, "--atol", 1e-11, "--force", "-o", out, code=0)
                with h5py.File(lanes) as one, h5py.File(alone) as two:
                    check(np.allclose(one["w"][()], two["w"][()], rtol=1e-6, atol=1e-7),
                          f"{rule} {noisy}")


def test_a_start_from_another_rule_drops_its_moments():
    with Folder() as folder:
        first, then, plain = (path(folder, name) for name in ("a.h5", "b.h5", "c.h5"))
        popflow("run", "markov", "--optimizer", "adam", *RATE, "--t-end", 0.5, "-o", first, code=0)
        popflow("run", "markov", "--optimizer", "momentum", *RATE, "--t-end", 1, "--init-from", first,
                "-o", then, code=0)
        popflow("run", "markov", "--t-end", 1, "--init-from", then, "-o", plain, code=0)
        with h5py.File(first) as a, h5py.File(then) as b, h5py.File(plain) as c:
            check(a["w"][-1] == b["w"][0] and b["w"][-1] == c["w"][0],
                  "the parameters do not continue")
            check(abs(b["w"][1] - b["w"][0]) < abs(b["w"][2] - b["w"][1]),
                  "the flow does not begin at rest")


def test_a_start_may_continue_the_moments_of_the_last_run():
    """A flow in two parts equals the whole flow to the tolerance if moments and their bias
    correction are passed on."""
    with Folder() as folder:
        whole, first, then = (path(folder, name) for name in ("whole.h5", "a.h5", "b.h5"))
        words = [*RATE, "--rtol", 1e-10, "--atol", 1e-13, "--saves", 3, "--force"]
        for rule in "momentum", "nesterov", "rmsprop", "adam":
            rules = ["run", "markov", "--optimizer", rule, *words]
            popflow(*rules, "--t-end", 0.04, "-o", whole, code=0)
            popflow(*rules, "--t-end", 0.02, "-o", first, code=0)
            popflow(*rules, "--t-end", 0.01, "--init-from", first, "--init-optimizer", "file", "-o",
                    then, code=0)
            popflow("resume", then, "--t-end", 0.02, code=0)
            with h5py.File(whole) as one, h5py.File(then) as two:
                moved = abs(one["w"][-1] - one["w"][0])
                check(abs(one["w"][-1] - two["w"][-1]) < 1e-7 * moved, rule)
                check(two["parameters"].attrs["optimizer-steps"] == 2, rule)
        # SVAG's moments sum gradients of smaller steps, so the moment is rescaled to the same step
        # per gradient.
        sgd = ["run", "markov", "--optimizer", "momentum", *RATE, "--mode", "sgd", "--steps", 8, "--saves", 2,
               "--state-of-optimizer", "--force"]
        popflow(*sgd, "--svag", 4, "-o", first, code=0)
        popflow(*sgd, "--init-from", first, "--init-optimizer", "file", "--seed", 2, "-o", then, code=0)
        with h5py.File(first) as one, h5py.File(then) as two:
            stretch = (1 - 0.9 ** 0.25) / (1 - 0.9)
            ends, starts = one["m_w"][..., -1] * stretch, two["m_w"][..., 0]
            check((ends != 0).all() and np.allclose(ends, starts, rtol=1e-12),
                  f"{ends} and {starts}")
        popflow("run", "markov", "--optimizer", "adam", *words, "--t-end", 0.02, "-o", first, code=0)
        plain = path(folder, "plain.h5")
        popflow("run", "markov", *words, "--t-end", 0.02, "-o", plain, code=0)
        for start, words in (first, "was trained by adam"), (plain, "was trained by sgd"):
            told = popflow("run", "markov", "--optimizer", "momentum", *RATE, "--t-end", 1, "--init-from",
                           start, "--init-optimizer", "file", "-o", then, "--force").err
            check(words in told, told)


def test_moments_are_recorded_with_the_axes_of_their_fields():
    """Each step of momentum moves a field by the learning rate times the new moment."""
    with Folder() as folder:
        out = path(folder, "run.h5")
        for system in ("markov", "scb", "joma-joint", "topic") if not sanitized() else ("scb",):
            words = ["run", system, *SYSTEMS[system], *RATE, "--mode", "sgd", "--steps", 4, "--saves", 5,
                     "--force", "-o", out]
            popflow(*words, "--optimizer", "momentum", "--state-of-optimizer", code=0)
            with h5py.File(out) as file:
                found = [name[2:] for name in file if name.startswith("m_")]
                check(found, f"{system}: no moments")
                for name in found:
                    check(name in file, f"{system}: {name} has moments, but is no field")
                    x, m = file[name][()], file["m_" + name][()]
                    check(x.shape == m.shape and (m[..., 0] == 0).all() or x.ndim > 2,
                          f"{system} {name}")
                    axis = 1 if file["status"].shape else 0
                    steps, after = np.diff(x, axis=axis), np.take(m, range(1, 5), axis=axis)
                    check(np.abs(after).max() > 0, f"{system} {name}: nothing moves")
                    check(np.allclose(steps, 0.01 * after, rtol=1e-6, atol=1e-12),
                          f"{system} {name}")
            popflow(*words, "--optimizer", "adam", "--state-of-optimizer", code=0)
            popflow("resume", out, "--t-end", 0.06, code=0)
            with h5py.File(out) as file:
                check("u_" + found[0] in file and "m_" + found[0] in file, f"{system}: under adam")


def test_rules_are_exact_in_reduced_coordinates():
    with Folder() as folder:
        reduced, full = path(folder, "reduced.h5"), path(folder, "full.h5")
        scb = ["--vocab-size", 4, "--context-length", 12, "--project", "none", "--preconditioner", "none"]
        for system, short, words in (("scb", "support", scb),
                                     ("scb", "support", [*scb, "--attention", "softmax"]),
                                     ("linear-attention", "diagonal", [])):
            for rule in (["--optimizer", "adam"], ["--optimizer", "adamw", "--weight-decay", 0.5],
                         ["--optimizer", "momentum", "--weight-decay", 0.2]):
                for coordinates, out in (short, reduced), ("full", full):
                    popflow("run", system, *words, "--coordinates", coordinates, *rule, *RATE, "--t-end", 0.2,
                            "--saves", 4, "--rtol", 1e-8, "--atol", 1e-12, "--force", "-o", out, code=0)
                with h5py.File(reduced) as one, h5py.File(full) as two:
                    check(np.ptp(one["loss"][()]) > 0, f"{system} {rule}: nothing moves")
                    check(np.allclose(one["loss"][()], two["loss"][()], rtol=1e-6),
                          f"{system} {words} {rule}")
        told = refused("run", "linear-attention", "--optimizer", "adam", "--batch-noise-in-variance", "--t-end", 1)
        check("--coordinates full" in told and "variances" in told, told)


def test_comparisons_keep_time_scales():
    with Folder() as folder:
        for fixed in ([], ["--fixed-betas"]):
            out = path(folder, "compare.h5")
            popflow("compare", "markov", "--optimizer", "adam", "--rungs", "flow,sgd",
                    "--learning-rates", "0.02,0.01", "--beta1", 0.81, "--t-end", 0.2, "--runs", 4,
                    *fixed, "--force", "-o", out, code=0)
            found = [attribute(out, "config", f"learning_rate_{i}/sgd/parameters") for i in (1, 2)]
            betas = [float(text.split("\nbeta1 = ")[1].split("\n")[0]) for text in found]
            check(betas[0] == 0.81 and abs(betas[1] - (0.81 if fixed else 0.9)) < 1e-15, str(betas))


def refused(*words):
    with Folder() as folder:
        return popflow(*words, "-o", "x.h5", folder=folder, code=2).err


def test_refusals_say_why():
    for words, part in (
            (["--optimizer", "lamb"], "sgd, momentum"), (["--momentum", 1], "--momentum"),
            (["--optimizer", "adam", "--beta2", -0.1], "--beta2"),
            (["--learning-rate-schedule", "cosine:3"], "inverse-sqrt:X"),
            (["--learning-rate-schedule", "step:3,1:0.5"], "increasing"),
            (["--optimizer", "adam", "--rates", "nothing=2"], "has the field 'nothing'"),
            (["--rates", "w"], "FIELD=FACTOR"),
            (["--warmup", 1, "--warmup-steps", 5], "--warmup-steps"),
            (["--mode", "sde", "--optimizer", "adam", "--method", "heun", "--noise", "isotropic"],
             "euler_maruyama"),
            (["--mode", "sde", "--optimizer", "adam", "--modified-equation", 2], "plain SGD"),
            (["--mode", "sgd", "--optimizer", "adam", "--svag", 3], "sgd and momentum"),
            (["--mode", "sgd", "--optimizer", "nesterov", "--svag", 3], "sgd and momentum"),
            (["--optimizer", "adam", "--init-optimizer", "file"], "--init-from"),
            (["--optimizer", "adam", "--method", "rosenbrock4"], "Jacobian"),
            (["--optimizer", "signsgd"], "--batch-noise-in-variance"),
            (["--mode", "sde", "--optimizer", "normalised"], "gradient_descent"),
            (["--mode", "sde", "--clip-norm", 1], "whole distribution"),
            (["--mode", "sgd", "--clip-norm", 1, "--svag", 3], "--clip-norm"),
            (["--optimizer", "lion"], "--batch-noise-in-variance"), (["--clip-norm", 0], "--clip-norm"),
            (["--weight-decay", -1], "at least 0"), (["--weight-decay", 1, "--decay", "l2"], "decoupled")):
        told = refused("run", "markov", "--t-end", 1, *words)
        check(part in told, f"{words}: {told}")
    told = refused("run", "scb", "--l1", 0.01, "--project", "none", "--dt", 0.1, "--t-end", 1, "--optimizer", "adam")
    check("l1" in told and "plain SGD" in told, told)
    for system, words, part in (("scb", ["--coordinates", "signal"], "--coordinates full"),
                                ("scb", ["--coordinates", "full"], "preconditioned or projected; give --preconditioner none --project none"),
                                ("joma", [], "only along gradient flow"),
                                ("joma-joint", ["--coordinates", "integrated"], "gradient flow")):
        for what in ["--optimizer", "adam"], ["--weight-decay", 0.1]:
            told = refused("run", system, *words, "--t-end", 1, *what)
            check(part in told, f"{system} {words} {what}: {told}")
    told = refused("run", "linear-attention", "--optimizer", "adam", "--eigenvalues",
                   ",".join(["1"] * 30), "--kernel", "lanes", "--t-end", 1)
    check("64 numbers" in told or "--coordinates full" in told, told)
    with Folder() as folder:
        told = popflow("run", "markov", "--t-end", 1, "--decay", "coupled", "-o", "x.h5", folder=folder, code=0)
        check("--decay" in told.err + told.out, told.err)


if __name__ == "__main__":
    run_all()
