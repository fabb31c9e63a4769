#!/usr/bin/python3
# label: fast
"""Messages of a run about the text from which its problem is counted."""

import os
import random

from runs import Folder, check, popflow, run_all


def text_of(folder, name, length, seed=1):
    """Writes a text with letters of very different frequencies and returns its path."""
    letters = "etaoinshrdlu ,.;:!?"
    weights = [1 / (i + 1) for i in range(len(letters))]
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write("".join(random.Random(seed).choices(letters, weights, k=length)))
    return path


def said(*words, folder):
    """Runs the program and returns its standard error on one line."""
    ended = popflow("run", *words, "--t-end", 1, "--saves", 2, "--force", "-o", "run.h5", folder=folder,
                    code=0)
    return " ".join(ended.err.split())


def test_a_message_says_how_much_of_a_text_is_kept():
    with Folder() as folder:
        path = text_of(folder, "long.txt", 40000)
        with open(path) as file:
            text = file.read().strip()
        kept = sorted(set(text), key=lambda letter: (-text.count(letter), letter))[:9]
        share = sum(letter not in kept for letter in text[:-1]) / (len(text) - 1)
        err = said("scb", "--text", path, folder=folder)
        check("19 different characters, the 9 most frequent kept" in err, err)
        check(f"(other) holds {100 * share:.2g}% of the text" in err, err)
        check("too few" not in err, err)
        err = said("scb", "--text", path, "--vocab-size", 19, folder=folder)
        check("(other)" not in err, err)


def test_a_warning_says_that_a_text_is_too_short():
    with Folder() as folder:
        path = text_of(folder, "short.txt", 60)
        err = said("scb", "--text", path, folder=folder)
        check("warning" in err and "100 entries of P" in err and "too few to estimate P" in err, err)
        err = " ".join(popflow("compare", "scb", "--text", path, "--runs", 2, "--t-end", 0.1, "--saves", 2,
                               "-o", "compare.h5", folder=folder, code=0).err.split())
        check(err.count("too few to estimate P") == 1 and "warning: compare.h5: " in err,
              f"once for all rungs: {err}")
        for length, short in ((60, True), (4000, False)):
            path = text_of(folder, f"{length}.txt", length)
            err = said("markov", "--text", path, "--text-ones", "eai", folder=folder)
            check(("with a standard error of 0.1" in err or "with a standard error of 0.2" in err)
                  == short, err)


if __name__ == "__main__":
    run_all()
