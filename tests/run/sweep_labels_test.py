#!/usr/bin/python3
# label: fast
"""Labels of a sweep's axes and the words along them: refused names, the numbers that encode words,
and how they are shown."""

import csv
import io
import os

from runs import Folder, attribute, check, check_refused, h5py, np, popflow, run_all
from sweeps import check_same_data, dimensions, words


def sweep(*args, folder, name="sweep.h5"):
    popflow("sweep", *args, "-o", name, "--quiet", folder=folder, code=0)
    return os.path.join(folder, name)


def zipped(label, **values):
    return [word for name, some in values.items() for word in ("--over", f"{label}:{name}={some}")]


def lines_of(path):
    return list(csv.DictReader(io.StringIO(popflow("info", path, "--csv", code=0).out)))


def test_labels_that_are_names_in_the_file_are_refused():
    chain = {"p": ".1,.2", "q": ".1,.3"}
    noisy = ["--mode", "sgd", "--steps", 5, "--runs", 2]
    refused = [("loss", []), ("e", []), ("status", []), ("parameters", []), ("p", []),
               ("w0", ["--over", "w0=1,2"]), ("entropy_rate", []), ("stationary_entropy", []),
               ("status_word", [*noisy, "--reduce", "runs"])]
    for shard in ([], ["--shard", "1/2"], ["--shard", "2/2"]):
        check_refused("sweep", {
            ("markov", "--t-end", 1, *zipped(label, **chain), *more, *shard): f"the name '{label}'"
            for label, more in refused})


def test_shards_have_the_labels_of_the_whole_sweep():
    with Folder() as folder:
        args = ["markov", "--t-end", 1, *zipped("chain", p=".1,.2,.4", q=".1,.3,.5"), "--over",
                "w0=-1,1"]
        whole = sweep(*args, folder=folder)
        parts = [sweep(*args, "--shard", f"{number}/2", folder=folder, name=f"{number}.h5")
                 for number in (1, 2)]
        popflow("merge", *parts, "-o", "merged.h5", folder=folder, code=0)
        check_same_data(os.path.join(folder, "merged.h5"), whole)
        with h5py.File(whole) as file:
            check(dimensions(file, "loss") == ["chain", "w0"], dimensions(file, "loss"))
            check("entropy_rate" in file and file["p"].shape == (3,), "the constants")


def test_a_word_has_the_same_number_everywhere():
    bias = ["optimal", "free", "optimal", "free"]
    args = ["markov", "--t-end", 1, *zipped("z", bias=",".join(bias), w0="-1,-1,1,1"), "--over",
            "e0=.1,.2"]

    def decoded(path):
        with h5py.File(path) as file:
            variable = file["bias"]
            for numbers in (variable, variable.attrs["flag_values"]):
                check(numbers.dtype == np.int8, f"{path}: {numbers.dtype}")
            check(words(file, "bias") == ["optimal", "free"], words(file, "bias"))
            check(np.array_equal(variable.attrs["flag_values"], [0, 1]), "flag_values")
            return [words(file, "bias")[code] for code in variable[()]]

    with Folder() as folder:
        whole = sweep(*args, folder=folder)
        check(decoded(whole) == bias, decoded(whole))
        parts = [sweep(*args, "--shard", f"{number}/2", folder=folder, name=f"{number}.h5")
                 for number in (1, 2)]
        for path in parts:
            with h5py.File(path) as file:
                cells = file["cell"][()]
            check(decoded(path) == [bias[cell // 2] for cell in cells], f"{path}: {cells}")
        popflow("merge", *reversed(parts), "-o", "merged.h5", folder=folder, code=0)
        merged = os.path.join(folder, "merged.h5")
        check_same_data(merged, whole)
        check(decoded(merged) == bias, decoded(merged))
        for word, w0 in (("optimal", "-1"), ("free", "-1"), ("optimal", "1"), ("free", "1")):
            said = popflow("info", merged, "--cell", f"bias={word},w0={w0},e0=.1", code=0).out
            check(f"--w0 {w0} " in said and f"--bias {word}" in said, said)
        check([line["bias"] for line in lines_of(merged)] == [word for word in bias for _ in "12"],
              "the table")
        popflow("resume", merged, "--retry", "complete", "--quiet", code=0)
        check_same_data(merged, whole)


def test_words_beyond_int8_have_flag_values():
    with Folder() as folder:
        popflow("run", "markov", "--t-end", 1, "--saves", 2, "-o", "p0.h5", folder=folder, code=0)
        names = ["p0.h5", *(f"p{number}.h5" for number in range(1, 130))]
        for name in names[1:]:
            os.link(os.path.join(folder, "p0.h5"), os.path.join(folder, name))
        args = ["markov", "--t-end", 1, "--over", "problem=" + ",".join(names)]
        path = sweep(*args, folder=folder)
        popflow("merge", path, "-o", "merged.h5", folder=folder, code=0)
        for name in ("sweep.h5", "merged.h5"):
            with h5py.File(os.path.join(folder, name)) as file:
                variable = file["problem"]
                flags = variable.attrs["flag_values"]
                check(flags.dtype == variable.dtype == np.int64, f"{flags.dtype} {variable.dtype}")
                check(np.array_equal(flags, range(130)), flags)
                check(words(file, "problem") == names, words(file, "problem"))


def test_only_distinct_words_are_counted():
    with Folder() as folder:
        bias = ",".join(["optimal", "free"] * 65)
        path = sweep("markov", "--t-end", 0.1, *zipped("z", bias=bias, w0="-1:1:130"),
                     folder=folder)
        with h5py.File(path) as file:
            check(file["bias"].dtype == np.int8, file["bias"].dtype)
            check(np.array_equal(file["bias"], [0, 1] * 65), "the numbers of two words")
        # More words than an int8 can number get 64-bit numbers, in their order.
        names = [f"{number}.txt" for number in range(130)]
        for name in names:
            with open(os.path.join(folder, name), "w") as file:
                file.write("anna and bob")
        path = sweep("markov", "--t-end", 0.1, "--over", f"text={','.join(names)}", folder=folder,
                     name="many.h5")
        with h5py.File(path) as file:
            check(file["text"].dtype == np.int64 and words(file, "text") == names, "the words")
            check(np.array_equal(file["text"], range(130)), "their numbers")


def test_the_table_quotes_words_with_commas_and_quotes():
    names = ["a,b.txt", 'say "c".txt', "d.txt"]
    with Folder() as folder:
        for name in names:
            with open(os.path.join(folder, name), "w") as file:
                file.write("anna and bob eat beans")
        path = sweep("markov", "--t-end", 1, "--over",
                     "text=" + ",".join(name.replace(",", "\\,") for name in names), folder=folder)
        lines = lines_of(path)
        check([line["text"] for line in lines] == names, lines)
        with h5py.File(path) as file:
            check([float(line["loss"]) for line in lines] == list(file["loss"]), lines)


def test_reduced_sweeps_list_no_states():
    args = ["markov", "--over", "w0=1,2", "--mode", "sgd", "--steps", 5, "--runs", 2]
    with Folder() as folder:
        path = sweep(*args, "--reduce", "runs", folder=folder)
        check(attribute(path, "state_fields") == "", attribute(path, "state_fields"))
        path = sweep(*args, folder=folder, name="runs.h5")
        check(attribute(path, "state_fields") == "e w b", attribute(path, "state_fields"))


run_all()
