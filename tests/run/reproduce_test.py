#!/usr/bin/python3
# label: fast
"""A file alone reproduces its run bit for bit, on any number of threads."""

import os

from runs import (Folder, attribute, check, check_equal, h5py, popflow, run_all, shorter)

SMALL = ["--vocab-size", 6, "--context-length", 40, "--saves", 11]
# Options that only say where the problem came from.
SOURCE = ("problem", "config", "vocab-size", "context-length", "sparsity", "init-value", "text",
          "text-unit", "counts", "init-from", "init-mix", "transition-concentration",
          "position-concentration", "problem-seed", "not_default")


def run(folder, name, *args):
    os.makedirs(os.path.join(folder, name))
    popflow("run", "scb", *args, "-o", "run.h5", folder=os.path.join(folder, name), code=0)
    return os.path.join(folder, name, "run.h5")


def without_sizes(args):
    """Removes options of sizes, which the problem file determines."""
    kept = list(args)
    for size in ("--vocab-size", "--context-length", "--problem-seed", "--position-concentration"):
        if size in kept:
            del kept[kept.index(size):kept.index(size) + 2]
    return kept


def check_again(folder, first, args):
    """Reproduces a run from its own problem, and from its own configuration."""
    again = run(folder, "problem", *without_sizes(args), "--problem", first)
    check_equal(first, again, free_attributes=(*SOURCE, "continues_at"))
    config = os.path.join(folder, "run.cfg")
    with open(config, "w") as text:
        text.write(attribute(first, "config", "parameters"))
    check_equal(first, run(folder, "config", "--config", config))


def test_text_and_counts():
    with Folder() as folder:
        text = os.path.join(folder, "words.txt")
        with open(text, "w") as file:
            file.write("the cat saw the dog and the dog saw a cat and the cat ran\n" * 3)
        counts = os.path.join(folder, "counts.tsv")
        with open(counts, "w") as file:
            file.write("a\tb\t3\nb\ta\t2\nb\tc\t1\nc\ta\t1\na\ta\t1\n")
        short = ["--context-length", 30, "--saves", 6, "--t-end", 20]
        for number, args in enumerate((["--text", text, "--text-unit", "word"],
                                       ["--text", text, "--text-unit", "char"],
                                       ["--counts", counts],
                                       ["--counts", counts, "--coordinates", "support"])):
            inner = os.path.join(folder, str(number))
            first = run(inner, "first", *short, *args)
            again = run(inner, "problem", *without_sizes(short), *args[2:] * (args[0] != "--text"),
                        "--problem", first)
            check_equal(first, again, free_attributes=(*SOURCE, "continues_at"))
            labels = attribute(first, "labels", "token")
            check("a" in labels.split(), f"labels {labels!r}")
            config = os.path.join(inner, "run.cfg")
            with open(config, "w") as file:
                file.write(attribute(first, "config", "parameters"))
            check_equal(first, run(inner, "config", "--config", config))
            popflow("resume", first, "--t-end", 30, code=0)
            check(attribute(first, "labels", "token") == labels, "labels were lost")


def test_transfer():
    """The file of a transfer contains V0, so the run it came from is no longer needed."""
    with Folder() as folder:
        teacher = run(folder, "teacher", *SMALL, "--problem-seed", 3)
        for coordinates in ("full", "support", "signal"):
            inner = os.path.join(folder, coordinates)
            args = [*SMALL, "--coordinates", coordinates]
            first = run(inner, "first", *args, "--init-from", teacher, "--init-mix", 0.7)
            with h5py.File(first) as file:
                check("V0" in file["problem"], "no V0")
            check_again(inner, first, args)


def test_threads():
    for args in (["--vocab-size", 9, "--context-length", 30000, "--t-end", shorter(30)],
                 ["--vocab-size", 9, "--context-length", 30000, "--t-end", shorter(5),
                  "--attention", "softmax"],
                 ["--vocab-size", 200, "--context-length", 300, "--t-end", shorter(2)],
                 ["--vocab-size", 150, "--coordinates", "support", "--sparsity", 300,
                  "--t-end", shorter(1500)]):
        with Folder() as folder:
            more = [*args, "--saves", 4, "--state", "ends"]
            files = [run(folder, str(threads), *more, "--threads", threads)
                     for threads in (1, 2)]
            check_equal(*files, free_attributes=("threads", "config"))


def test_options_without_effect_on_results():
    with Folder() as folder:
        plain = run(folder, "plain", *SMALL)
        for number, args in enumerate((["--checkpoint-every", 0], ["--state", "none"],
                                       ["--progress", "always"], ["--seed", 9])):
            other = run(folder, str(number), *SMALL, *args)
            with h5py.File(plain) as a, h5py.File(other) as b:
                for name in attribute(plain, "observables").split():
                    check(a[name][()].tobytes() == b[name][()].tobytes(), f"{args}: {name}")


if __name__ == "__main__":
    run_all()
