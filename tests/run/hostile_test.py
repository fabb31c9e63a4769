#!/usr/bin/python3
# label: slow
"""Invalid and damaged files, and paths that cannot be written."""

import os
import random
import resource
import shutil
import signal

from runs import (Folder, attribute, check, check_equal, h5py, np, popflow, run_all)

SMALL = ["--vocab-size", 4, "--context-length", 12, "--saves", 4, "--t-end", 6]


def refused(code, *args, folder, **surroundings):
    """Checks that the words are refused in at most five lines and that the folder is unchanged."""
    before = sorted(os.listdir(folder))
    done = popflow(*args, folder=folder, **surroundings)
    said = f"popflow {' '.join(map(str, args))} ended with {done.code}: {done.err}"
    check(done.code == code, said)
    lines = done.err.splitlines()
    check(len(lines) <= 5 and any(line.startswith("popflow: error: ") for line in lines), said)
    check("HDF5-DIAG" not in done.err and "should not have happened" not in done.err, said)
    check(sorted(os.listdir(folder)) == before, f"{said}\nleft {os.listdir(folder)}")
    return done.err


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def good_run(folder, name="good.h5", *args):
    path = os.path.join(folder, name)
    popflow("run", "scb", *SMALL, *args, "-o", path, code=0)
    return path


def uses(path):
    """Returns every way to give a file to the program."""
    return (["info", path], ["info", path, "--csv"], ["resume", path], ["resume", path, "--t-end", 9],
            ["run", "scb", "--problem", path], ["run", "scb", *SMALL, "--init-from", path],
            ["run", "scb", *SMALL, "--init-from", path, "--init-mix", 0.5],
            ["run", "scb", "--config", path], ["run", "scb", "--text", path],
            ["run", "scb", "--counts", path])


def test_invalid_files():
    with Folder() as folder:
        good = good_run(folder)
        with open(good, "rb") as file:
            whole = file.read()
        paths = [os.path.join(folder, "missing"), os.path.join(folder, "missing", "missing"),
                 folder, write(folder, "empty", ""), write(folder, "zeros", bytes(5000)),
                 write(folder, "half", whole[:len(whole) // 2]),
                 write(folder, "head", whole[:600]), write(folder, "binary", os.urandom(3000))]
        for path in paths:
            for words in uses(path):
                if "--config" in words and path.endswith("empty"):
                    continue
                error = refused(3, *words, folder=folder)
                check(os.path.basename(path) in error, f"{words}: {error}")
        text = write(folder, "text", "just words\n")
        for words in uses(text):
            if "--text" not in words:
                refused(3, *words, folder=folder)


def problem(path, change):
    """Writes a good problem file with one change."""
    P = np.array([[0.5, 0.2, 0.3], [0.25, 0.7, 0.3], [0.25, 0.1, 0.4]])
    mu = np.linalg.matrix_power(P, 200) @ np.ones(3) / 3
    data = {"P": P, "mu": mu, "Q_value": np.array([[0.5, 1, 0.25], [0.5, 0, 0.75]]),
            "Q_position": np.array([[0, 3, 2], [4, 0, 1]]), "V0": np.full((3, 3), 1 / 3)}
    attributes = {"context_length": 6}
    change(data, attributes)
    with h5py.File(path, "w") as file:
        for name, value in data.items():
            file[name] = value
        for name, value in attributes.items():
            file.attrs[name] = value


def put(name, where, value):
    def change(data, _):
        data[name] = data[name].copy()
        data[name][where] = value
    return change


def replace(name, value):
    return lambda data, _: data.__setitem__(name, value)


def drop(name):
    return lambda data, attributes: (data if name in data else attributes).pop(name)


def test_invalid_problems():
    cases = {
        "P[1,2]": [put("P", (1, 2), np.nan), put("P", (1, 2), np.inf), put("P", (1, 2), -0.1)],
        "column 0 of P": [put("P", (0, 0), 0.49)],
        "P has shape": [replace("P", np.ones((3, 2)) / 3), replace("P", np.ones(3) / 3),
                        replace("P", np.ones((1, 1))), replace("P", np.ones((0, 0)))],
        "P": [drop("P"), replace("P", np.array([[b"a", b"b"], [b"c", b"d"]]))],
        "mu[0]": [put("mu", 0, np.nan), put("mu", 0, 0), put("mu", 0, -1)],
        "mu": [replace("mu", np.ones(3) / 3), replace("mu", np.ones(2) / 2)],
        "Q_value[1,2]": [put("Q_value", (1, 2), np.nan), put("Q_value", (1, 2), -1)],
        "column 2 of Q_value": [put("Q_value", (1, 2), 0.74)],
        "Q_position[1,2]": [put("Q_position", (1, 2), 6), put("Q_position", (1, 2), -1),
                            put("Q_position", (1, 2), 2)],
        "Q_position": [drop("Q_position"), replace("Q_position", np.zeros((3, 3), int))],
        "Q_value": [drop("Q_value"), replace("Q_value", np.ones((2, 2)))],
        "context_length": [drop("context_length"),
                           lambda _, attributes: attributes.update(context_length=2.5),
                           lambda _, attributes: attributes.update(context_length=0),
                           lambda _, attributes: attributes.update(context_length="many")],
        "V0[0,0]": [put("V0", (0, 0), np.nan)],
        "V0": [replace("V0", np.ones((2, 2)))],
        "Q[": [replace("Q", np.full((6, 3), 1 / 6))],
        "Q": [replace("Q", np.full((6, 2), 1 / 6))],
    }
    with Folder() as folder:
        path = os.path.join(folder, "problem.h5")
        problem(path, lambda *_: None)
        popflow("run", "scb", "--problem", path, "--t-end", 1, "--saves", 2, folder=folder, code=0)
        os.remove(os.path.join(folder, "scb-flow.h5"))
        for named, changes in cases.items():
            for change in changes:
                problem(path, change)
                error = refused(3, "run", "scb", "--problem", path, folder=folder)
                check(named in error and path in error, f"{named}: {error}")


def test_sizes_given_with_a_problem():
    with Folder() as folder:
        good = good_run(folder)
        for words in (["--vocab-size", 5], ["--context-length", 13], ["--sparsity", 3]):
            error = refused(2, "run", "scb", "--problem", good, *words, folder=folder)
            check(words[0] in error, error)
        popflow("run", "scb", "--problem", good, "--vocab-size", 4, "--context-length", 12,
                "--sparsity", 2, "--t-end", 1, folder=folder, code=0)


def test_init_from():
    with Folder() as folder:
        runs = {c: good_run(folder, c + ".h5", "--coordinates", c)
                for c in ("full", "support", "signal")}
        softmax = good_run(folder, "softmax.h5", "--attention", "softmax")
        other = good_run(folder, "other.h5", "--problem-seed", 5)
        for mixed in (runs["signal"], runs["support"]):
            error = refused(3, "run", "scb", *SMALL, "--init-from", mixed, folder=folder)
            check("coordinates" in error and "--init-mix" in error, error)
            for coordinates in runs:
                out = os.path.join(folder, "out.h5")
                popflow("run", "scb", *SMALL, "--coordinates", coordinates, "--init-from", mixed,
                        "--init-mix", 1, "-o", out, "--force", code=0)
                with h5py.File(mixed) as source, h5py.File(out) as target:
                    check(np.isclose(source["signal_V"][-1], target["signal_V"][0], rtol=1e-9),
                          "V was not taken")
                    check(abs(target["signal_A"][0]) < 1e-12, "the attention is not uniform")
        os.remove(out)
        refused(3, "run", "scb", *SMALL, "--init-from", softmax, folder=folder)
        refused(3, "run", "scb", "--vocab-size", 5, "--init-from", runs["full"], folder=folder)
        refused(3, "run", "scb", "--vocab-size", 5, "--init-from", runs["full"], "--init-mix", 0.5,
                folder=folder)
        refused(3, "run", "scb", "--vocab-size", 4, "--context-length", 13, "--init-from",
                runs["full"], folder=folder)
        error = refused(2, "run", "scb", *SMALL, "--init-mix", 0.5, folder=folder)
        check("--init-from" in error, error)
        for theta in (-0.1, 1.1, "nan"):
            refused(2, "run", "scb", *SMALL, "--init-from", other, "--init-mix", theta,
                    folder=folder)
        refused(2, "run", "scb", *SMALL, "--init-from", other, "--init-value", "uniform",
                folder=folder)
        popflow("run", "scb", *SMALL, "--init-from", other, "--init-mix", 0.5, "-o", "t.h5",
                folder=folder, code=0)


def test_init_from_continues():
    """A run from the complete last state continues the same trajectory."""
    for coordinates in ("full", "support", "signal"):
        for more in ([], ["--attention", "softmax"], ["--preconditioner", "none"]):
            if coordinates == "signal" and more:
                continue
            with Folder() as folder:
                args = ["run", "scb", "--vocab-size", 4, "--context-length", 12, "--coordinates",
                        coordinates, *more, "--rtol", 1e-11, "--atol", 1e-13]
                popflow(*args, "--t-end", 8, "--saves", 3, "-o", "first.h5", folder=folder, code=0)
                popflow(*args, "--t-end", 8, "--saves", 3, "--init-from", "first.h5", "-o",
                        "second.h5", folder=folder, code=0)
                popflow(*args, "--t-end", 16, "--saves", 5, "-o", "whole.h5", folder=folder, code=0)
                with h5py.File(folder + "/second.h5") as second, \
                        h5py.File(folder + "/whole.h5") as whole:
                    for name in attribute(folder + "/whole.h5", "observables").split():
                        check(np.allclose(second[name], whole[name][2:], rtol=1e-7, atol=1e-9),
                              f"{coordinates} {more}: {name}")
                # The second run can be resumed and extended without the first file.
                os.remove(folder + "/first.h5")
                popflow("resume", "second.h5", "--t-end", 12, folder=folder, code=0)


# ---- files with a few wrong bytes

FINE = (0, 3)


def damaged(path, whole, seed):
    """Writes a file with some bytes changed, anywhere or where HDF5's structure is dense."""
    random.seed(seed)
    data = bytearray(whole)
    kind = seed % 3
    for _ in range(random.choice((1, 1, 2, 8, 50))):
        at = random.randrange(len(data)) if kind == 0 else random.randrange(0, 8192) \
            if kind == 1 else random.choice(structure_of(whole))
        data[at] = random.randrange(256)
    with open(path, "wb") as file:
        file.write(data)


def structure_of(whole, known={}):
    """Returns places of bytes in HDF5's structure: names, headers, heaps."""
    if id(whole) not in known:
        marks = (b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"FSHD", b"BTHD", b"BTLF", b"GCOL", b"SNOD")
        places = []
        for mark in marks:
            at = whole.find(mark)
            while at >= 0:
                places.extend(range(at, min(at + 160, len(whole))))
                at = whole.find(mark, at + 1)
        known[id(whole)] = places
    return known[id(whole)]


def sweep(uses_of, count, allowed, prepare=good_run):
    with Folder() as folder:
        good = prepare(folder)
        with open(good, "rb") as file:
            whole = file.read()
        path = os.path.join(folder, "damaged.h5")
        out = os.path.join(folder, "out.h5")
        codes = {}
        for seed in range(count):
            damaged(path, whole, seed)
            for words in uses_of(path, out):
                done = popflow(*words, folder=folder)
                said = f"seed {seed}: popflow {' '.join(map(str, words))} ended with {done.code}: " \
                       f"{done.err[:1000]}"
                codes[done.code] = codes.get(done.code, 0) + 1
                check(allowed(done), said)
                check(len(done.err.splitlines()) <= 5, said)
                if done.code in (2, 3):
                    check(not os.path.exists(out), f"{said}\nleft a file")
                    check("popflow: error: " in done.err, said)
                if os.path.exists(out):
                    os.remove(out)
        check(codes.get(0, 0) > 0 and codes.get(3, 0) > 0, f"codes {codes}")
        print(f"  codes {codes}")


def need(done):
    """Returns whether the program refused a size because it exceeds the machine's memory or
    disk."""
    return done.code == 2 and ("memory" in done.err or "disk" in done.err)


def test_info_on_damaged_files():
    sweep(lambda path, _: (["info", path], ["info", path, "--csv"]), 100,
          lambda done: done.code in FINE)


def test_damaged_problem_files():
    # Changed bytes may give a valid problem, or one that needs too many steps.
    sweep(lambda path, out: (["run", "scb", "--problem", path, "--t-end", 1, "--max-steps", 1000,
                              "--saves", 2, "-o", out],), 130,
          lambda done: done.code in FINE or done.code in (4, 6) or need(done))


def test_starts_from_damaged_files():
    sweep(lambda path, out: (["run", "scb", *SMALL, "--max-steps", 1000, "--init-from", path, "-o",
                              out],), 90,
          lambda done: done.code in FINE or done.code in (4, 6) or need(done))


def unfinished(folder):
    """Returns the file of a killed run: a finished file with the status 'running'."""
    path = good_run(folder)
    with h5py.File(path, "r+") as file:
        dtype = file.attrs.get_id("status").dtype
        file.attrs.modify("status", np.array(b"running", dtype=dtype))
    return path


def test_resuming_damaged_files():
    def words(path, _):
        return (["resume", path],)
    sweep(words, 90, lambda done: done.code in FINE or done.code in (4, 5, 6) or need(done),
          unfinished)
    sweep(lambda path, _: (["resume", path, "--t-end", 8],), 60,
          lambda done: done.code in FINE or done.code in (4, 5, 6) or need(done))


# ---- places that cannot be written

def limited(size):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


def test_variables_of_other_lengths():
    """Empties, truncates or overwrites each variable of each kind of file with impossible values.

    One of three commands reads each changed file; they take turns from variable to variable."""
    files = {
        "stages.h5": ["run", "scb", *SMALL, "--schedule", "two-stage", "--l1", 1e-3],
        "runs.h5": ["run", "markov", "--mode", "sgd", "--steps", 20, "--runs", 3, "--saves", 3],
        "cells.h5": ["sweep", "markov", "--over", "e0=0.1:1:3", "--mode", "sgd", "--runs", 2,
                     "--steps", 5],
        "rungs.h5": ["compare", "markov", "--rungs", "flow,sgd", "--runs", 3, "--steps", 20,
                     "--saves", 3]}
    with Folder() as folder:
        for name, words in files.items():
            popflow(*words, "-o", name, folder=folder, code=0)
            variables = []
            with h5py.File(os.path.join(folder, name)) as file:
                file.visititems(lambda name, item: variables.append(name)
                                if isinstance(item, h5py.Dataset) and item.dtype.kind in "if" else None)
            # All observables of a comparison are alike, so only the loss is tested.
            variables = [variable for variable in variables if not variable.startswith("comparison/")
                         or "_" not in variable or variable.startswith("comparison/loss_")]
            for place, variable in enumerate(variables):
                for turn, change in enumerate(("empty", "short", "wild"), place):
                    path = shutil.copy(os.path.join(folder, name), os.path.join(folder, "bad.h5"))
                    with h5py.File(path, "r+") as file:
                        numbers, attributes = file[variable][()], dict(file[variable].attrs)
                        if change == "wild":
                            file[variable][...] = np.full_like(
                                numbers, 2**40 if numbers.dtype.itemsize == 8 else 99)
                        else:
                            del file[variable]
                            file[variable] = (np.zeros(0, numbers.dtype) if change == "empty"
                                              else np.atleast_1d(numbers)[:-1])
                            for key in attributes.keys() & {"flag_meanings", "flag_values", "units"}:
                                file[variable].attrs[key] = attributes[key]
                    words = (["info", path], ["info", path, "--csv"], ["plot", path])[turn % 3]
                    done = popflow(*words, folder=folder)
                    check(done.code in (0, 3) and "internal error" not in done.err,
                          f"{variable} of {name}, {change}: {words[0]} ended with {done.code}: "
                          f"{done.err[-300:]}")


def test_existing_output():
    with Folder() as folder:
        path = write(folder, "mine.h5", "precious\n")
        error = refused(2, "run", "scb", *SMALL, "-o", path, folder=folder)
        check("--force" in error and path in error, error)
        with open(path) as file:
            check(file.read() == "precious\n", "it was overwritten")
        # Errors are found before anything is replaced.
        refused(2, "run", "scb", *SMALL, "--method", "rosenbrock4", "--force", "-o", path,
                folder=folder)
        refused(3, "run", "scb", "--problem", "missing", "--force", "-o", path, folder=folder)
        with open(path) as file:
            check(file.read() == "precious\n", "it was overwritten")
        popflow("run", "scb", *SMALL, "--force", "-o", path, folder=folder, code=0)
        check(attribute(path, "status") == "complete", "status")
        refused(2, "run", "scb", *SMALL, "-o", folder, folder=folder)
        refused(5, "run", "scb", *SMALL, "--force", "-o", folder, folder=folder)


def test_output_through_a_link():
    with Folder() as folder:
        scratch = os.path.join(folder, "scratch")
        os.mkdir(scratch)
        link = os.path.join(folder, "run.h5")
        os.symlink("scratch/there.h5", link)
        # the link leads to no file yet
        popflow("run", "scb", *SMALL, "-o", link, folder=folder, code=0)
        refused(2, "run", "scb", *SMALL, "-o", link, folder=folder)
        popflow("run", "scb", *SMALL, "--rtol", 1e-7, "--force", "-o", link, folder=folder, code=0)
        check(os.path.islink(link) and os.listdir(scratch) == ["there.h5"],
              f"{os.listdir(folder)}, {os.listdir(scratch)}")
        check(attribute(os.path.join(scratch, "there.h5"), "status") == "complete", "status")
        os.symlink("itself", os.path.join(folder, "itself"))
        refused(2, "run", "scb", *SMALL, "-o", "itself", folder=folder)


def test_paths_that_cannot_be_written():
    with Folder() as folder:
        refused(5, "run", "scb", *SMALL, "-o", "no/such/folder/run.h5", folder=folder)
        write(folder, "file", "")
        refused(5, "run", "scb", *SMALL, "-o", "file/run.h5", folder=folder)
        refused(5, "run", "scb", *SMALL, "--force", "-o", "/dev/full", folder=folder)
        refused(2, "run", "scb", *SMALL, "-o", "/dev/full", folder=folder)
        refused(5, "run", "scb", *SMALL, "-o", "x" * 300 + ".h5", folder=folder)
        for size in (0, 5000, 60_000, 100_000):
            refused(5, "run", "scb", *SMALL, "-o", "run.h5", folder=folder,
                    preexec_fn=limited(size))


def test_a_disk_that_fills_up_during_a_run():
    """A failure after the file is created leaves the existing records intact."""
    with Folder() as folder:
        expected = good_run(folder, "expected.h5")
        path = unfinished(folder)
        done = popflow("resume", path, preexec_fn=limited(1000))
        check(done.code == 5 and len(done.err.splitlines()) <= 5, f"{done.code}: {done.err}")
        with h5py.File(path) as file:
            check(int(file["saves_done"][()]) == 4, "saves")
        popflow("resume", path, code=0)
        check_equal(path, expected, free_attributes=("output",))


def test_conflicting_options():
    with Folder() as folder:
        text = write(folder, "text", "a b a b c a b\n")
        counts = write(folder, "counts", "a\tb\t1\nb\ta\t1\n")
        good = good_run(folder)
        for words in (["--text", text, "--counts", counts], ["--text", text, "--problem", good],
                      ["--counts", counts, "--problem", good],
                      ["--text", text, "--vocab-size", 77],
                      ["--coordinates", "signal", "--attention", "softmax"],
                      ["--coordinates", "signal", "--preconditioner", "none"],
                      ["--coordinates", "signal", "--project", "none"],
                      ["--coordinates", "signal", "--l1", 0.1, "--dt", 0.1],
                      ["--l1", 0.1, "--attention", "softmax", "--dt", 0.1],
                      ["--l1", 0.1, "--l1-solver", "splitting"],
                      ["--method", "rosenbrock4"], ["--method", "euler"], ["--method", "rk4"],
                      ["--quiet", "--progress", "always"], ["--init-value", "problem"],
                      ["--context-length", 1, "--sparsity", 2],
                      ["--context-length", 5, "--sparsity", 6]):
            error = refused(2, "run", "scb", *words, folder=folder)
            check(any(str(word) in error for word in words if str(word).startswith("--")),
                  f"{words}: {error}")
        bad = write(folder, "bad.cfg", "vocab-sise = 4\n")
        check("'vocab-size'" in refused(3, "run", "scb", "--config", bad, folder=folder), "suggests")
        bad = write(folder, "bad.cfg", "vocab-size = -4\n")
        refused(3, "run", "scb", "--config", bad, folder=folder)


def test_sizes_beyond_the_machine():
    with Folder() as folder:
        for words in (["--vocab-size", 10**9], ["--vocab-size", 3 * 10**9, "--context-length", 4e9],
                      ["--vocab-size", 9e15, "--context-length", 9e15],
                      ["--context-length", 10**13], ["--sparsity", 9e15, "--context-length", 9e15],
                      ["--vocab-size", 10**6, "--coordinates", "support"],
                      ["--saves", 10**12], ["--saves", 9e15], ["--saves", 2**62],
                      ["--saves", 10**7, "--state", "all"]):
            error = refused(2, "run", "scb", *words, folder=folder)
            check("memory" in error or "disk" in error or "no larger" in error, f"{words}: {error}")
        done = popflow("run", "scb", *SMALL, "--dry-run", folder=folder, code=0)
        check("memory" in done.out and not [n for n in os.listdir(folder)], "dry run")


if __name__ == "__main__":
    run_all()
