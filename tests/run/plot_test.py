#!/usr/bin/python3
# label: fast
"""Pictures in a terminal: contents for each kind of file, and their size."""

import os
import re
import unicodedata

from runs import Folder, check, h5py, popflow, run_all

UTF8 = {**os.environ, "LC_ALL": "C.UTF-8"}
ASCII = {**os.environ, "LC_ALL": "C"}


def width(line):
    return sum(0 if unicodedata.combining(c) else 1 for c in line)


def drawn(*args, env=UTF8):
    """Returns the picture; checks that it fits 80 columns and has no colours in a pipe."""
    text = popflow("plot", *args, code=0, env=env).out
    for line in text.splitlines():
        check(width(line) <= 80, f"{width(line)} columns: {line}")
    check("\033" not in text, "colours in a pipe")
    if env is ASCII:
        check(all(ord(c) < 128 or not 0x2500 <= ord(c) < 0x2900 for c in text),
              f"braille or boxes without UTF-8:\n{text}")
    return text


def braille(text):
    return sum(0x2800 < ord(c) < 0x2900 for c in text)


def test_a_run():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        shown = popflow("run", "markov", "--w0", "0.4", "--t-end", "60", "--saves", "101", "--plot",
                        "-o", path, code=0, env=UTF8).out
        text = drawn(path)
        check(shown.endswith(text), f"--plot shows another picture than plot:\n{shown}\n{text}")
        check(text.startswith("loss"), text)
        check(braille(text) > 30, f"no line:\n{text}")
        check("energy" in text, f"no sparkline of the energy:\n{text}")
        plane = drawn(path, "--observable", "loss", "--against", "w")
        check(plane.rstrip().endswith("w"), plane)
        check("*" in drawn(path, env=ASCII), "no line in ASCII")
        sentence = popflow("plot", path, "--observable", "los", code=2).err
        check("'los'" in sentence and "did you mean" in sentence, sentence)


def test_an_ensemble():
    with Folder() as folder:
        path = os.path.join(folder, "runs.h5")
        popflow("run", "markov", "--mode", "sgd", "--steps", "200", "--saves", "21", "--runs", "8",
                "-o", path, code=0)
        text = drawn(path)
        check("median" in text and "5% and 95% of 8 runs" in text, text)
        popflow("run", "markov", "--mode", "sgd", "--learning-rate", "1.2", "--batch-size", "1", "--e0",
                "1.6", "--w0", "1.8", "--runs", "12", "--t-end", "60", "--saves", "6", "-o", path,
                "--force", code=0)
        with h5py.File(path) as file:
            left = 12 - (file["status"][()] == 3).sum()
        check(0 < left < 12, "all cells diverged, or none")
        text = drawn(path)
        check(f"{left} of 12 runs, the others diverged" in text and "e+" not in text, text)


def test_a_comparison():
    with Folder() as folder:
        path = os.path.join(folder, "compare.h5")
        popflow("compare", "markov", "--t-end", "4", "--learning-rate", "0.1", "--batch-size", "8",
                "--runs", "8", "--saves", "11", "-o", path, code=0)
        text = drawn(path)
        check(all(rung in text for rung in ("flow", "sde", "sgd")), text)
        means, differences, ratios = text.split("\n\n")
        check("differences of the means, with simultaneous bands" in differences, text)
        check("margin" in differences and "sgd - flow: " in differences, differences)
        check("sgd / flow" in ratios and "margin 1.5" in ratios, ratios)


def test_bands_and_margin_are_drawn_at_their_values():
    """Shows a difference far beyond the margin: its line, the band around it, and the margin around
    0."""
    with Folder() as folder:
        path = os.path.join(folder, "compare.h5")
        popflow("compare", "markov", "--t-end", "4", "--learning-rate", "0.1", "--batch-size", "8",
                "--runs", "8", "--saves", "11", "--rungs", "flow,sgd", "-o", path, code=0)
        with h5py.File(path, "r+") as file:
            file["comparison/loss_difference"][:] = 1.0
            file["comparison/loss_band"][:] = 0.25
            file["comparison/loss_margin"][()] = 0.125
            file["comparison/loss_verdict"][:] = 1
        chart = drawn(path, env=ASCII).split("\n\n")[1]
        check("sgd - flow: differ" in chart and "margin 0.125" in chart, chart)
        rows = chart.splitlines()[1:15]
        drawn_in = [i for i, row in enumerate(rows) if set(row[12:]) - {" "}]
        # Rows from 1.25 at the top to -0.125 at the foot show the band around the line, and the
        # margins.
        check(drawn_in == [0, 2, 5, 11, 13], f"{drawn_in}\n{chart}")


def test_a_comparison_of_sweeps():
    with Folder() as folder:
        names = {}
        for rung in ("sde", "sgd"):
            names[rung] = os.path.join(folder, f"{rung}.h5")
            popflow("sweep", "markov", "--over", "w0=-1:1:6", "--over", "e0=0.1:1:4", "--mode",
                    rung, "--batch-size", "8", "--learning-rate", "0.05", "--runs", "4", "--t-end",
                    "1", "--record", "series", "--saves", "3", "-o", names[rung], code=0)
        path = os.path.join(folder, "verdicts.h5")
        done = popflow("compare", "--from", ",".join(f"{k}={v}" for k, v in names.items()), "-o",
                       path, "--plot", code=0, env=UTF8).out
        with h5py.File(path, "r+") as file:
            file["verdict"][:] = 0
            file["verdict"][:, 3] = 1  # cells at the largest e0
            file["loss_verdict"][:] = 2
        text = drawn(path)
        check(text.startswith("verdict: agreement of the rungs"), text)
        check(text.splitlines()[0] in done, f"--plot:\n{done}")
        rows = [line.split()[-1] for line in text.splitlines() if re.search("[adu]{6}$", line)]
        # The first axis points upwards, and the second one to the right.
        check(len(rows) == 6 and all(re.fullmatch("(a+)(d+)", row) for row in rows), text)
        check("agree 75%" in text and "differ 25%" in text, text)
        check("undecided 100%" in drawn(path, "--observable", "loss"), "the observable's verdict")
        check(drawn(path, "--observable", "loss_difference").startswith("loss_difference"),
              "no map")
        check("did you mean 'loss'" in popflow("plot", path, "--observable", "los", code=2).err,
              "no suggestion")
        check("--against" in popflow("plot", path, "--against", "w0", code=2).err, "--against")


def test_a_sweep():
    with Folder() as folder:
        path = os.path.join(folder, "line.h5")
        popflow("sweep", "markov", "--over", "w0=-1:1:21", "--t-end", "5", "-o", path, code=0)
        check(braille(drawn(path, "--observable", "loss")) > 20, "no line")
        path = os.path.join(folder, "map.h5")
        popflow("sweep", "markov", "--over", "w0=-2:1:16", "--over", "e0=0.1:2:16", "-o", path,
                code=0)
        text = drawn(path)
        rows = [line for line in text.splitlines() if "ggg" in line or "lll" in line]
        check(len(rows) >= 8, f"no map of outcomes:\n{text}")
        # By default p + q < 1: below the saddle the origin attracts starts with small e0.
        check("global" in text and "%" in text, text)
        check(drawn(path, "--observable", "loss") != text, "--observable has no effect")
        path = os.path.join(folder, "three.h5")
        popflow("sweep", "markov", "--over", "w0=0,1", "--over", "e0=1,2", "--over", "p=.1,.2",
                "--t-end", "1", "-o", path, code=0)
        text = drawn(path)
        check("p = 0.1; outcome" in text and "p = 0.2; outcome" in text, f"three axes:\n{text}")


def test_an_axis_of_factors_is_logarithmic():
    with Folder() as folder:
        path = os.path.join(folder, "lengths.h5")
        popflow("sweep", "scb", "--over", "context-length=100:1e5:4:log", "--vocab-size", "4",
                "--coordinates", "signal", "-o", path, code=0)
        check("context-length (log)" in drawn(path, "--observable", "excess_loss"), "linear")


def test_a_sweep_of_series():
    with Folder() as folder:
        path = os.path.join(folder, "series.h5")
        popflow("sweep", "markov", "--over", "w0=-2:1:9", "--record", "series", "-o", path, code=0)
        text = drawn(path)
        check(text.startswith("7 of 9 values; loss"), text)
        check("flow time t" in text and "w0 = -2" in text and "w0 = 1" in text, text)
        check(braille(text) > 30, f"no lines:\n{text}")
        check(drawn(path, "--observable", "prob_0to1") != text, "--observable has no effect")
        check("global" in drawn(path, "--observable", "outcome"), "no outcomes at the end")


def test_observables_without_numbers_have_no_row():
    with Folder() as folder:
        path = os.path.join(folder, "topic.h5")
        popflow("run", "topic", "--topics", "4", "--words-per-topic", "3", "--topics-per-document",
                "2", "--t-end", "10", "-o", path, code=0)
        with h5py.File(path) as file:
            check((file["excess_loss"][()] != file["excess_loss"][()]).all(),
                  "the excess loss has a number")
        text = drawn(path)
        check("nan" not in text and "excess_loss" not in text and "norm_key" in text, text)


def test_refusals():
    with Folder() as folder:
        check("plot needs" in popflow("plot", code=2).err, "no file")
        popflow("plot", os.path.join(folder, "none.h5"), code=3)
        path = os.path.join(folder, "run.h5")
        popflow("run", "markov", "--t-end", "1", "-o", path, code=0)
        check("--style" in popflow("plot", path, "--style", "a.mplstyle", code=2).err, "--style")
        check("is also an input: plot reads it" in popflow("plot", path, "-o", path, code=2).err,
              "-o replaces")


def test_existing_files_are_replaced_only_with_force():
    with Folder() as folder:
        popflow("run", "markov", "--t-end", "1", "-o", "run.h5", folder=folder, code=0)
        # An input file may have the name that its figure would have.
        os.symlink("run.h5", os.path.join(folder, "drawn.pdf"))
        before = {"run.pdf": "old figure", "old.py": "old script"}
        for name, text in before.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for words, name in ((["-o", "run.pdf"], "run.pdf"), (["--script", "new.py"], "run.pdf"),
                            (["-o", "new.pdf", "--script", "old.py"], "old.py")):
            err = popflow("plot", "run.h5", *words, folder=folder, code=2).err
            check(f"the output {name} exists; --force replaces it" in err, err)
        err = popflow("plot", "drawn.pdf", "--script", "new.py", "--force", folder=folder, code=2).err
        check("the output drawn.pdf is also an input: plot reads it" in err, err)
        check(sorted(os.listdir(folder)) == ["drawn.pdf", "old.py", "run.h5", "run.pdf"], "stubs")
        for name, text in before.items():
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                check(file.read() == text, f"{name} was replaced")
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            return
        popflow("plot", "run.h5", "--script", "old.py", "--force", folder=folder, code=0)
        with open(os.path.join(folder, "run.pdf"), "rb") as file:
            check(file.read(5) == b"%PDF-", "no figure")
        with open(os.path.join(folder, "old.py"), encoding="utf-8") as file:
            check("save=\"run.pdf\"" in file.read(), "no script")


if __name__ == "__main__":
    run_all()
