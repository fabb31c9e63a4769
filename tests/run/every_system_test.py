#!/usr/bin/python3
# label: slow
"""Requirements on the files of every system, in every variant of its examples.txt."""

import functools
import os
import shutil

from runs import (Folder, attribute, check, check_equal, examples, h5py, np, popflow, run_all,
                  same_problem, some, systems, xarray)

# The files differ only in options that say where the problem came from.
BUT_FOR_THE_SOURCE = ("provenance", "restart", "parameters")
# Options that set the start, which --init-from does too.
SAYS_THE_START = ("--init-value", "--e0", "--w0", "--b0", "--init-logit-same-word")


def run(folder, name, system, *args):
    """Runs in its own folder, so that files do not differ in their names."""
    own = os.path.join(folder, name)
    os.makedirs(own)
    popflow("run", system, *args, "-o", "run.h5", folder=own, code=0)
    return os.path.join(own, "run.h5")


def short(args):
    return [*args, "--saves", 5]


@functools.cache
def short_run(*words):
    """Returns the file of a short run with these words; several tests share the file, and none
    changes it."""
    return run(short_runs, str(len(os.listdir(short_runs))), *short(words))


def check_described(path):
    with h5py.File(path) as file:
        def look(name, item):
            if not isinstance(item, h5py.Dataset):
                return
            if item.attrs.get("NAME", b"").startswith(b"This is a netCDF dimension but not"):
                return  # dimension without coordinates
            check("long_name" in item.attrs and item.attrs["units"] == "1", f"{name}: no words")
            if item.attrs.get("CLASS") == b"DIMENSION_SCALE":
                return
            for axis in item.dims:
                check(len(axis) == 1, f"{name}: an axis without a scale")
            check(item.dtype.kind in "fi", f"{name}: type {item.dtype}")

        file.visititems(look)
        names = attribute(path, "observables").split() + attribute(path, "state_fields").split()
        for name in names:
            check(file[name].attrs["symbol"] and file[name].attrs["source"], f"{name}: no source")


def check_opens(path):
    for engine in ("h5netcdf", "netcdf4"):
        for group in (None, "problem", "statistics", "events", "restart"):
            with xarray.open_dataset(path, engine=engine, group=group) as data:
                data.load()


def test_files_are_labelled_and_open():
    for system, problem, others in some(examples()):
        path = short_run(system, *problem, *others)
        check_described(path)
        check_opens(path)


def test_a_file_reproduces_its_run():
    """Reproduces each run from its own problem, and from its own configuration."""
    for system, problem, others in some(examples()):
        with Folder() as folder:
            first = short_run(system, *problem, *others)
            again = run(folder, "again", system, *short(others),
                        *same_problem(system, problem, first))
            check_equal(first, again, free_groups=BUT_FOR_THE_SOURCE)
            config = os.path.join(folder, "run.cfg")
            with open(config, "w") as text:
                text.write(attribute(first, "config", "parameters"))
            check_equal(first, run(folder, "config", system, "--config", config))


def test_an_extended_file_is_bit_identical_to_the_longer_run():
    for system, problem, others in some(examples()):
        with Folder() as folder:
            first = short_run(system, *problem, *others)
            end = float(attribute(first, "t-end", "parameters"))
            if attribute(first, "status") != "complete":
                continue
            half = shutil.copy(first, os.path.join(folder, "half.h5"))
            args = [word for word in others]
            if "--t-end" in args:
                del args[args.index("--t-end"):args.index("--t-end") + 2]
            whole = run(folder, "whole", system, *problem, *args, "--saves", 9, "--t-end",
                        repr(2 * end))
            popflow("resume", half, "--t-end", repr(2 * end), code=0)
            with h5py.File(half) as a, h5py.File(whole) as b:
                if not np.array_equal(a["time"][()], b["time"][()]):
                    continue  # the end has more digits than a double, so roundings differ
            check_equal(half, whole, free_groups=("provenance", "restart", "parameters"),
                        slots=False)


def test_a_run_starts_at_the_end_of_its_start_file():
    for system, problem, others in some(examples()):
        with Folder() as folder:
            if any(word in SAYS_THE_START for word in others):
                continue
            first = short_run(system, *problem, *others)
            if attribute(first, "status") != "complete":
                continue
            other = run(folder, "next", system, *short(problem + others), "--init-from", first)
            with h5py.File(first) as a, h5py.File(other) as b:
                for name in ("loss", "attention_entropy"):
                    if name in a:
                        check(np.isclose(a[name][-1], b[name][0], rtol=1e-9),
                              f"{system} {problem + others}: {name} starts elsewhere")


def test_an_invalid_value_is_refused_by_name():
    for system in systems():
        page = popflow("run", system, "--help", code=0).out
        keys = [line.split()[0] for line in page.splitlines()
                if line.startswith("  --") and line.split()[1] in ("N", "X", "WORD")]
        check(len(keys) > 15, f"{system}: only {keys}")
        with Folder() as folder:
            for key in keys:
                ended = popflow("run", system, key, "no-such-value", folder=folder)
                check(ended.code == 2, f"{system} {key}: exit code {ended.code}")
                for part in (key, "no-such-value"):
                    check(part in ended.err, f"{system} {key}: {ended.err}")
                check(len(ended.err.splitlines()) <= 5, f"{system} {key}: {ended.err}")
            check(not os.listdir(folder), f"{system}: refused runs left {os.listdir(folder)}")


def test_noisy_runs():
    """Files of ensembles can be opened and reproduce their runs, with the bits of single runs."""
    for system, problem, others in some(examples("noisy.txt")):
        with Folder() as folder:
            args = [*others, "--saves", 4]
            three = run(folder, "three", system, *problem, *args, "--runs", 3, "--threads", 2)
            check_described(three)
            check_opens(three)
            again = run(folder, "again", system, *args, "--runs", 3, "--threads", 1,
                        *same_problem(system, problem, three))
            check_equal(three, again, free_groups=BUT_FOR_THE_SOURCE)
            one = run(folder, "one", system, *problem, *args)
            with h5py.File(three) as a, h5py.File(one) as b:
                for name in attribute(three, "observables").split():
                    check(np.array_equal(a[name][0], b[name][0], equal_nan=True),
                          f"{system} {problem + others}: {name} of the first run")
                    check(a[name].shape[0] == 3, f"{name} has no runs")
                moved = attribute(three, "observables").split()[0]
                check(len(set(a[moved][:, -1])) == 3, f"{system} {others}: runs are the same")


if __name__ == "__main__":
    with Folder() as short_runs:
        run_all()
