#!/usr/bin/python3
# label: fast
"""Files made from other files: errors of the inputs are found before an output exists."""

import os
import shutil

from runs import Folder, check, h5py, popflow, run_all, sanitized

NOISY = ["--mode", "sgd", "--t-end", 2, "--saves", 3, "--runs", 3, "--learning-rate", 0.1]


def made(folder, name, *words):
    path = os.path.join(folder, name + ".h5")
    popflow(*words, "-o", path, "--quiet", code=0)
    return path


def copied(path, change):
    other = path.replace(".h5", "-changed.h5")
    shutil.copy(path, other)
    with h5py.File(other, "r+") as file:
        change(file)
    return other


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def check_refused(words, out, *said):
    """Checks for exit code 3, a message that names an input, and an unchanged output."""
    before, there = contents(out), sorted(os.listdir(os.path.dirname(out)))
    ended = popflow(*words, "-o", out, "--force", code=3)
    for sentence in said:
        check(sentence in ended.err, f"'{sentence}' is not in: {ended.err}")
    check(contents(out) == before, f"{words}: the output was replaced")
    check(sorted(os.listdir(os.path.dirname(out))) == there, f"{words}: a file is left")


def deleted(name):
    return lambda file: file.__delitem__(name)


def other_type(name):
    def change(file):
        values = file[name][()]
        del file[name]
        file[name] = values.astype("f4")
    return change


def test_a_message_names_the_file_that_lacks_a_variable():
    with Folder() as folder:
        part = made(folder, "part", "run", "markov", *NOISY, "--first-run", 0, "--state", "ends")
        for name in ("gradient_norm", "e"):
            for change in (deleted(name), other_type(name)):
                wrong = copied(part, change)
                check_refused(["merge", wrong], part, f"'{wrong}' is damaged", f"no '{name}'")
        cells = made(folder, "cells", "sweep", "joma", "--over", "attention=linear,softmax",
                     "--shard", "1/1", "--state", "ends")
        with h5py.File(cells) as file:
            name = file.attrs["state_fields"].split()[0]
        wrong = copied(cells, deleted(name))
        check_refused(["merge", wrong], cells, f"'{wrong}' is damaged", f"no '{name}'")


def test_a_second_name_of_a_dataset_is_refused():
    def linked(file):
        del file["excess_loss"]
        file["excess_loss"] = file["loss"]

    with Folder() as folder:
        flow = made(folder, "flow", "run", "markov", "--t-end", 2, "--saves", 3)
        sgd = made(folder, "sgd", "run", "markov", *NOISY)
        out = made(folder, "out", "compare", "markov", "--from", f"flow={flow},sgd={sgd}")
        wrong = copied(flow, linked)
        check_refused(["compare", "--from", f"flow={wrong},sgd={sgd}"], out, wrong,
                      "is a link to another dataset")
        wrong = copied(flow, deleted("loss"))
        check_refused(["compare", "--from", f"flow={wrong},sgd={sgd}"], out, wrong, "no 'loss'")


def test_damaged_restart_data_are_refused():
    with Folder() as folder:
        part = made(folder, "part", "run", "markov", *NOISY, "--first-run", 4, "--state", "ends")

        def change(both):
            def damage(file):
                for slot in (2, 3) if both else (2,):
                    file["restart/driver"][slot, 0] += 1
            return damage

        check_refused(["merge", copied(part, change(True))], part, "run 1 has no checkpoint with a correct checksum")
        # One intact restart slot is enough.
        popflow("merge", copied(part, change(False)), "-o", part, "--force", code=0)


def paths_of(path):
    names = []
    with h5py.File(path) as file:
        file.visit(names.append)
    return names


def check_each(path, command, out):
    """Removes each object of a file: either the output can be read, or the file is refused by
    name."""
    outcomes = {0: 0, 3: 0}
    first = contents(out)
    names = paths_of(path)
    # Commands take seconds under sanitizers: test every eighth object, and one that must exist.
    if sanitized():
        names = sorted({"parameters", *names[::8]})
    for name in names:
        wrong = copied(path, deleted(name))
        ended = popflow(*command(wrong), "-o", out, "--force")
        check(ended.code in outcomes, f"without {name} {command} ended with {ended.code}")
        outcomes[ended.code] += 1
        if ended.code == 3:
            check(contents(out) == first, f"without {name} {command} has replaced the output")
            check("no file was written" in ended.err or wrong in ended.err, ended.err)
        else:
            popflow("info", out, code=0)
            shutil.copy(path, out)
            first = contents(out)
    check(outcomes[3] > 0, f"nothing was refused: {outcomes}")
    print(f"  {outcomes}")


def test_files_with_missing_objects_give_a_readable_output_or_none():
    with Folder() as folder:
        part = made(folder, "part", "run", "markov", *NOISY, "--first-run", 0, "--state", "ends")
        out = os.path.join(folder, "out.h5")
        shutil.copy(part, out)
        check_each(part, lambda wrong: ["merge", wrong], out)
        cells = made(folder, "cells", "sweep", "markov", "--over", "w0=1,2", "--shard", "1/1")
        check_each(cells, lambda wrong: ["merge", wrong], out)
        flow = made(folder, "flow", "run", "markov", "--t-end", 2, "--saves", 3)
        check_each(flow, lambda wrong: ["compare", "--from", f"flow={wrong},sgd={part}"], out)


if __name__ == "__main__":
    run_all()
