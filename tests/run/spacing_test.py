#!/usr/bin/python3
# label: fast
"""Save times are equally spaced in log t by default if a run goes on far beyond its first stage."""

from runs import Folder, attribute, check, h5py, np, popflow, run_all

TOPIC = ["--topics", 4, "--words-per-topic", 3, "--topics-per-document", 2]
CREEP = ["--vocab-size", 4, "--context-length", 1000, "--coordinates", "signal", "--t-end", 1e5]


def times(folder, *words, command="run"):
    popflow(command, *words, "-o", "a.h5", "--force", "--quiet", folder=folder, code=0)
    with h5py.File(f"{folder}/a.h5") as file:
        return file["time"][()]


def is_logarithmic(found):
    ratios = found[2:] / found[1:-1]
    return len(found) > 2 and np.allclose(ratios, ratios[0], rtol=1e-6)


def test_long_runs_have_logarithmic_save_times():
    with Folder() as folder:
        for words in (["topic", *TOPIC], ["scb", *CREEP]):
            found = times(folder, *words, "--saves", 31)
            check(is_logarithmic(found) and len(found) == 31, (words, found))
            check(attribute(f"{folder}/a.h5", "save-spacing", "parameters") == "log", words)
            check(found[1] < 1e-2 * found[-1], found)
        for words in (["scb"], ["markov"], ["topic", *TOPIC, "--train", "value"],
                      ["topic", *TOPIC, "--save-spacing", "linear"],
                      ["topic", *TOPIC, "--t-end", 100]):
            found = times(folder, *words, "--saves", 11)
            check(np.allclose(np.diff(found), found[-1] / 10), (words, found))
        found = times(folder, "topic", *TOPIC, "--save-at", "10,1e4", "--t-end", 1e5)
        check(list(found) == [10, 1e4, 1e5], found)


def test_sweeps_and_comparisons_stay_linear():
    with Folder() as folder:
        found = times(folder, "scb", *CREEP, "--saves", 11, "--record", "series", "--over",
                      "context-length=100,200", command="sweep")
        check(np.allclose(np.diff(found), 1e4), found)
        command = popflow("info", "a.h5", "--cell", "context-length=100", folder=folder, code=0)
        check("--save-spacing linear" in command.out, command.out)
        popflow("compare", "scb", *CREEP[:4], "--t-end", 2000, "--rungs", "flow,gd", "--runs", 2,
                "--learning-rate", 1, "--saves", 5, "-o", "c.h5", "--quiet", "--noise",
                "isotropic", "--noise-scale", 1e-9, folder=folder, code=0)
        with h5py.File(f"{folder}/c.h5") as file:
            found = file["comparison/time"][()] if "time" in file["comparison"] else file["flow/time"][()]
        check(np.allclose(np.diff(found), 500), found)


def test_logarithmic_spacing_is_announced_and_kept_when_extending():
    with Folder() as folder:
        told = popflow("run", "topic", *TOPIC, "--saves", 21, "--t-end", 5e4, "-o", "a.h5",
                       folder=folder, code=0)
        check("equally spaced in log t; --save-spacing linear" in told.err, told.err)
        with h5py.File(f"{folder}/a.h5") as file:
            first = file["time"][()]
        popflow("resume", "a.h5", "--t-end", 1e6, "--quiet", folder=folder, code=0)
        with h5py.File(f"{folder}/a.h5") as file:
            longer = file["time"][()]
        check(np.array_equal(longer[:21], first) and len(longer) > 22, longer)
        check(is_logarithmic(longer[:-1]), longer)
        quiet = popflow("run", "markov", "-o", "b.h5", folder=folder, code=0)
        check("log t" not in quiet.err, quiet.err)


def test_save_times_are_whole_steps():
    with Folder() as folder:
        found = times(folder, "scb", "--vocab-size", 3, "--context-length", 20, "--mode", "sgd",
                      "--learning-rate", 0.1, "--batch-size", 256, "--t-end", 2000, "--saves", 21)
        check(np.allclose(found / 0.1, np.round(found / 0.1)) and found[1] < 5, found)


if __name__ == "__main__":
    run_all()
