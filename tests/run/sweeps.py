"""Helpers for tests of sweeps: comparing a cell with its run, and files with each other."""

import os
import shlex
import subprocess

from runs import BINARY, Folder, check, h5py, last_slot, np, plain, popflow, same



def datasets(path):
    """Returns all datasets of a sweep's file, except how and when it was computed."""
    with h5py.File(path, "r") as file:
        return {name: item[()] for name, item in file.items() if isinstance(item, h5py.Dataset)}


def measured(*args, folder=None):
    """Runs the program; returns its exit code and its peak memory in MB."""
    child = subprocess.Popen([BINARY, *map(str, args)], cwd=folder, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss / 1e3  # kB to MB


def dimensions(file, name):
    return [d[0].name.split("/")[-1] if len(d) else "" for d in file[name].dims]


def check_same_data(path, other, leave_out=()):
    one, two = datasets(path), datasets(other)
    check(list(one) == list(two), f"names: {sorted(set(one) ^ set(two))}")
    for name in one:
        check(name in leave_out or same(one[name], two[name]),
              f"{path} and {other} differ in {name}")


def words(file, name):
    return plain(file[name].attrs["flag_meanings"]).split()


def command_of(path, cell):
    """Returns the words of the command that runs a cell, without the program."""
    command = shlex.split(popflow("info", path, "--cell", cell, code=0).out.splitlines()[0])
    check(command[1] == "run", f"{command} is no run")
    return command[1:]


def events_of(file):
    """Returns the time of each (run, event) in a run's file."""
    if "kind" not in file["events"]:
        return {}
    names = words(file["events"], "kind")
    rows = zip(*(file["events"][name][()] for name in ("run", "kind", "time")))
    return {(int(run), names[kind]): time for run, kind, time in rows if kind >= 0}


def expected(name, file, run, series):
    """Returns the expected value of a sweep's variable `name` from run `run` of a run's file."""
    ensemble = "status" in file
    if name == "status":
        return words(file, name)[file[name][run]] if ensemble else plain(file.attrs[name])
    if name == "outcome":
        return words(file, name)[file[name][run]] if ensemble else plain(file.attrs[name])
    if name == "stop_time":
        return file[name][run] if ensemble else last_slot(file)["slot_time"]
    if name == "accepted_steps":
        steps = file["statistics/accepted_steps"]
        return steps[run] if ensemble else steps[()]
    if name.startswith("time_of_"):
        return events_of(file).get((run, name[len("time_of_"):]), np.nan)
    if name == "seed":
        return file["parameters"].attrs[name]
    if name in file.attrs:  # name is a constant
        return file.attrs[name]
    if "final" in file and f"final/{name}" in file:
        final = file[f"final/{name}"]
        return final[run] if ensemble else final[()]
    if name.endswith("_end") and series:
        name, series = name[:-len("_end")], False
    if name == "time":
        return file[name][()]
    if name not in file:
        return np.nan  # a value that the system can have and this cell does not
    values = file[name][run] if ensemble else file[name][()]
    axis = dimensions(file, name)[1 if ensemble else 0]
    if axis not in ("time", "time_state"):
        return values
    observable = name in plain(file.attrs["observables"]).split()
    if series and observable:
        return values
    # A run that stopped early has fewer records.
    done = file["saves_done"][run] if ensemble else file["saves_done"][()]
    return values[done - 1 if axis == "time" else -1]


def check_cell(path, cell):
    """Checks that every value of a cell equals that of the run that `info --cell` prints, bit for
    bit."""
    with Folder() as folder:
        run_path = os.path.join(folder, "run.h5")
        popflow(*command_of(path, cell), "-o", run_path, "--quiet")  # the run may diverge
        with h5py.File(path, "r") as sweep, h5py.File(run_path, "r") as run:
            axes = plain(sweep["sweep"].attrs["axes"]).split()
            series = plain(sweep["sweep"].attrs["record"]) == "series"
            place = place_of(sweep, axes, cell)
            compared = 0
            for name, item in sweep.items():
                if not isinstance(item, h5py.Dataset) or dimensions(sweep, name)[:len(axes)] != axes:
                    continue  # a coordinate, not a value of cells
                ensemble = dimensions(sweep, name)[len(axes):len(axes) + 1] == ["run"]
                for number in range(item.shape[len(axes)] if ensemble else 1):
                    value = item[place + ((number,) if ensemble else ())]
                    if name in ("status", "outcome"):
                        value = words(sweep, name)[value]
                    other = expected(name, run, number, series)
                    if np.ndim(other) == 1 and np.size(other) < np.size(value):  # NaN: no such save
                        other = np.append(other, np.full(np.size(value) - np.size(other), np.nan))
                    check(same(np.asarray(value).astype(np.asarray(other).dtype), other),
                          f"{cell}, run {number}: {name} is {value!r}, of the run {other!r}")
                    compared += 1
            check(compared > 5, f"{cell}: only {compared} values were compared")


def place_of(sweep, axes, cell):
    """Returns the index of a cell; `words` give its value on each axis."""
    values = dict(pair.split("=") for pair in cell.split(","))
    place = []
    for axis in axes:
        value = values[axis.replace("_", "-")] if axis.replace("_", "-") in values else values[axis]
        if "flag_meanings" in sweep[axis].attrs:
            place.append(words(sweep, axis).index(value))
        else:
            place.append(int(np.flatnonzero(sweep[axis][()] == float(value))[0]))
    return tuple(place)
