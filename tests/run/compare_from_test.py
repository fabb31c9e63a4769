#!/usr/bin/python3
# label: slow
"""`compare --from` compares finished files in the same way as its own runs."""

import os

from runs import (Folder, attribute, check, check_equal, h5py, np, popflow, run_all, same)

SMALL = ["--t-end", 2, "--saves", 6, "--learning-rate", 0.05, "--batch-size", 8]
SYSTEMS = {
    "markov": [],
    "scb": ["--vocab-size", 3, "--context-length", 40, "--coordinates", "support"],
    "topic": ["--topics", 4, "--words-per-topic", 2, "--topics-per-document", 2],
    "joma-joint": [],
}


def run(folder, name, *args, code=0):
    path = os.path.join(folder, name + ".h5")
    popflow("run", *args, "-o", path, "--force", code=code)
    return path


def compared(folder, name, *args, code=0):
    path = os.path.join(folder, name + ".h5")
    return path, popflow("compare", *args, "-o", path, code=code)


def rung_alone(folder, comparison, system, rung, *more):
    """Runs a comparison's rung again by itself, from the parameters in its group."""
    config = os.path.join(folder, rung + ".cfg")
    with open(config, "w") as file:
        file.write(attribute(comparison, "config", rung + "/parameters"))
    return run(folder, rung, system, "--config", config, *more)


def check_same_comparison(path, other, name):
    with h5py.File(path) as a, h5py.File(other) as b:
        check(list(a["comparison"]) == list(b["comparison"]), name)
        for item in a["comparison"]:
            if item == "verdicts":
                for name in a[f"comparison/{item}"]:
                    check(same(*(file[f"comparison/{item}/{name}"][()] for file in (a, b))), name)
            elif "step_effect" in item:
                check(np.isnan(b["comparison"][item]).all(), "step effects were computed")
            else:
                check(same(a["comparison"][item][()], b["comparison"][item][()]),
                      f"{name}: {item}")
        for key, value in a["comparison"].attrs.items():
            check(same(value, b["comparison"].attrs[key]), f"{name}: {key}")


def table(ended):
    """Returns the output without the solver's step, wall times and file names."""
    lines = ended.out.splitlines()
    stop = next(i for i, line in enumerate(lines) if line.startswith("Rungs are"))
    return lines[:stop]


def test_files_are_compared_like_new_runs():
    for system, options in SYSTEMS.items():
        with Folder() as folder:
            path, ran = compared(folder, "ran", system, *options, *SMALL, "--runs", 6, "--rungs",
                                 "flow,sde,sgd,svag:2")
            flow, sde, svag = (rung_alone(folder, path, system, rung)
                               for rung in ("flow", "sde", "svag_2"))
            parts = [rung_alone(folder, path, system, "sgd", "--first-run", first, "--runs", 3,
                                "--state", "all") for first in (0,)]
            os.rename(parts[0], folder + "/sgd0.h5")
            rung_alone(folder, path, system, "sgd", "--first-run", 3, "--runs", 3, "--state", "all")
            popflow("merge", folder + "/sgd0.h5", folder + "/sgd.h5", "-o", folder + "/all,sgd.h5",
                    code=0)
            other, said = compared(folder, "files", "--from", f"flow={flow},sde={sde},"
                                   f"sgd={folder}/all\\,sgd.h5,svag:2={svag}")
            check_same_comparison(path, other, system)
            check(table(ran) == table(said), f"{table(ran)}\n{table(said)}")
            info = popflow("info", other, code=0).out
            check(table(said) == table(popflow("info", other, code=0)), info)
            check("is finished" in popflow("resume", other, code=0).err, "resume")
            with h5py.File(other) as a, h5py.File(folder + "/all,sgd.h5") as b:
                check(same(a["sgd/loss"][()], b["loss"][()]), "the rung's group")
            # Every run's file is a problem file, and so is a comparison's.
            if system == "scb":
                run(folder, "again", "scb", "--problem", other, "--t-end", 1)


def refused(*args, words, code=3):
    with Folder() as folder:
        ended = popflow("compare", *args, "-o", folder + "/c.h5", code=code)
        for word in words:
            check(word in ended.err, f"'{word}' is not in: {ended.err}")
        check(os.listdir(folder) == [], "a file is left")


def test_files_that_cannot_be_compared():
    with Folder() as folder:
        sgd = ["--mode", "sgd", "--runs", 4]
        flow = run(folder, "flow", "markov", *SMALL)
        noisy = run(folder, "sgd", "markov", *SMALL, *sgd)
        other = run(folder, "p", "markov", *SMALL, *sgd, "--p", 0.3)
        refused("--from", f"flow={flow},sgd={other}", words=["--p", "0.3 in sgd", "0.2 in flow"])
        other = run(folder, "e0", "markov", *SMALL, *sgd, "--e0", 0.4)
        refused("--from", f"flow={flow},sgd={other}", words=["--e0", "0.4 in sgd", "start"])
        other = run(folder, "times", "markov", *SMALL[2:], *sgd, "--t-end", 3)
        refused("--from", f"flow={flow},sgd={other}", words=["save time 1", "0.4 in flow", "0.6"])
        other = run(folder, "saves", "markov", *SMALL[:2], *SMALL[4:], "--saves", 5, *sgd)
        refused("--from", f"flow={flow},sgd={other}", words=["number of save times", "6 in flow"])
        other = run(folder, "rate", "markov", *SMALL[:4], *SMALL[6:], *sgd, "--learning-rate", 0.1,
                    "--svag", 2)
        refused("--from", f"sgd={noisy},svag:2={other}", words=["--learning-rate", "0.1 in svag:2"])
        refused("--from", f"flow={flow},svag:2={noisy}", words=["svag:2", "--svag 1"])
        refused("--from", f"flow={noisy},sgd={noisy}", words=["rung flow", "--mode sgd"])
        refused("--from", f"flow={flow},sgx={noisy}", words=["'sgx'", "did you mean"], code=2)
        refused("--from", f"sgd={noisy}", words=["at least two"], code=2)
        refused("--from", f"{flow},{noisy}", words=["RUNG=FILE"], code=2)
        refused("--from", f"flow={flow},sgd={folder}/no.h5", words=["no.h5"])
        refused("scb", "--from", f"flow={flow},sgd={noisy}", words=["markov, not of scb"])
        refused("--from", f"flow={flow},sgd={noisy}", "--t-end", 3, words=["--t-end applies to new runs"], code=2)
        scb = run(folder, "scb", "scb", "--vocab-size", 3, "--context-length", 40, *SMALL, *sgd)
        refused("--from", f"flow={flow},sgd={scb}", words=["scb in sgd", "markov in flow"])
        again = run(folder, "svag", "markov", *SMALL, *sgd, "--svag", 2)
        _, said = compared(folder, "warned", "markov", "--from", f"sgd={noisy},svag:2={again}")
        check("the same --seed, 1" in said.err, said.err)
        popflow("compare", "--from", f"flow={flow},sgd={noisy}", "-o", flow, "--force", code=2)

        def change(file):
            file.attrs["status"] = np.bytes_("interrupted")

        with h5py.File(noisy, "r+") as file:
            change(file)
        refused("--from", f"flow={flow},sgd={noisy}", words=["not finished (interrupted)"])


def test_another_drawn_problem_is_refused():
    with Folder() as folder:
        scb = ["scb", "--vocab-size", 3, "--context-length", 40, *SMALL]
        flow = run(folder, "flow", *scb)
        noisy = run(folder, "sgd", *scb, "--mode", "sgd", "--runs", 4)
        other = run(folder, "seed", *scb, "--mode", "sgd", "--runs", 4, "--problem-seed", 2)
        refused("--from", f"flow={flow},sgd={other}", words=["--problem-seed", "2 in sgd"])
        with h5py.File(noisy, "r+") as file:
            file["problem/P"][0, 0] += 1e-12
        refused("--from", f"flow={flow},sgd={noisy}", words=["the problems differ", "'problem/P'"])


def test_values_at_an_early_stop_between_saves_are_left_out():
    with Folder() as folder:
        common = ["markov", "--t-end", 2, "--saves", 6, "--learning-rate", 0.05]
        flow = run(folder, "flow", *common)
        whole = run(folder, "whole", *common, "--mode", "sgd", "--runs", 8)
        # The runs stop at t = 1, between the saves at 0.8 and 1.2.
        cut = run(folder, "cut", *common, "--mode", "sgd", "--runs", 8, "--max-steps", 20, code=6)
        with h5py.File(cut) as file:
            check(np.isfinite(file["loss"][0]).sum() == 4, "the stop's")
        path, ended = compared(folder, "of-cut", "--from", f"flow={flow},sgd={cut}")
        check("compared only up to t = 0.8 of 2" in " ".join(ended.out.split()), ended.out)
        other, _ = compared(folder, "of-whole", "--from", f"flow={flow},sgd={whole}")
        with h5py.File(path) as a, h5py.File(other) as b:
            ours, its = (file["comparison/loss_mean"][()] for file in (a, b))
        check(np.array_equal(ours[1, :3], its[1, :3]) and np.isnan(ours[1, 3:]).all(), ours)


def test_a_flow_that_stopped_early_is_compared_at_common_times():
    with Folder() as folder:
        flow = run(folder, "flow", "joma", "--t-end", 0.31, "--saves", 5, code=4)
        sde = run(folder, "sde", "joma", "--mode", "sde", "--noise", "isotropic", "--noise-scale", 1e-6,
                  "--runs", 4, "--t-end", 0.31, "--saves", 5)
        path, _ = compared(folder, "compared", "--from", f"flow={flow},sde={sde}")
        with h5py.File(path) as file:
            check(list(file["comparison/diverged"]) == [1, 0], file["comparison/diverged"][()])
            check(np.isfinite(file["comparison/attention_entropy_mean"][:, :4]).all(),
                  "before it stopped")


def test_the_integrated_rung_is_not_the_flow():
    with Folder() as folder:
        small = ["joma-joint", "--tokens", 6, "--classes", 3, "--t-end", 1, "--saves", 3]
        flow = run(folder, "flow", *small)
        own = run(folder, "own", *small, "--coordinates", "integrated")
        said = compared(folder, "no", "--from", f"flow={own},integrated={own}", code=3)[1].err
        check("the file is of the rung integrated, --mode flow --coordinates integrated" in said, said)
        compared(folder, "yes", "--from", f"flow={flow},integrated={own}")
        said = compared(folder, "no", *small, "--coordinates", "integrated", "--rungs",
                        "flow,integrated", code=2)[1].err
        check("--rungs flow,integrated compares the two" in said, said)


def test_options_without_effect_may_differ():
    with Folder() as folder:
        small = ["joma-joint", "--tokens", 6, "--classes", 3, "--t-end", 1, "--saves", 3,
                 "--learning-rate", 0.1]
        flow = run(folder, "flow", *small)  # --context-length has no effect on a flow
        noisy = {rung: run(folder, rung, *small, "--mode", rung, "--runs", 4, "--context-length", length)
                 for rung, length in (("sgd", 50), ("sde", 60))}
        compared(folder, "yes", "--from", f"flow={flow},sgd={noisy['sgd']}")
        said = compared(folder, "no", "--from", f"flow={flow},sgd={noisy['sgd']},sde={noisy['sde']}",
                        code=3)[1].err
        check("differ in --context-length: 60 in sde" in said, said)


if __name__ == "__main__":
    run_all()
