"""Runs the experiments of data/experiments as their first lines say."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))

from runs import Folder, check, h5py, np, plain, popflow  # noqa: E402

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
FOLDER = os.path.join(SOURCE, "data", "experiments")


def command(config):
    """Returns the words of the command in a configuration's first line, without the program."""
    with open(os.path.join(FOLDER, config)) as lines:
        words = lines.readline().split()
    check(words[:2] == ["#", "popflow"], f"the first line of {config} is no command")
    return words[2:]


def datasets(group):
    return {name: item[()] for name, item in group.items() if isinstance(item, h5py.Dataset)}


class Run:
    """Contents of a run's file: `run["loss"]`, `run.problem["P"]`, `run.event("boosted")`."""

    def __init__(self, path):
        with h5py.File(path) as file:
            self.data = datasets(file)
            self.meanings = {name: plain(item.attrs["flag_meanings"]).split()
                             for name, item in file.items() if "flag_meanings" in item.attrs}
            self.problem = datasets(file["problem"])
            self.statistics = datasets(file["statistics"])
            self.final = datasets(file["final"]) if "final" in file else {}
            self.attributes = {name: plain(value) for name, value in file.attrs.items()}
            self.status = self.attributes["status"]
            self.outcome = self.attributes.get("outcome")
            self.events = {}
            if "kind" in file["events"]:
                names = plain(file["events/kind"].attrs["flag_meanings"]).split()
                self.events = {names[kind]: float(time) for kind, time in
                               zip(file["events/kind"][()], file["events/time"][()]) if kind >= 0}

    def __getitem__(self, name):
        return self.data[name]

    def words(self, name):
        """Returns the words that the values 0, 1, ... of a dataset stand for."""
        return self.meanings[name]

    def first(self, name):
        return self.data[name][0]

    def last(self, name):
        return self.data[name][-1]

    def at(self, name, time):
        """Returns the value at the save nearest to a time, which must be within 3% of it."""
        where = np.argmin(np.abs(self.data["time"] - time))
        check(np.isclose(self.data["time"][where], time, rtol=0.03), f"no save near {time}")
        return self.data[name][where]

    def event(self, name):
        check(name in self.events, f"{name} has not happened")
        return self.events[name]


class Comparison:
    """Contents of a comparison's file: `mean("sgd", "loss")`, `verdict("sgd", "flow", "loss")`."""

    VERDICTS = ("agree", "differ", "undecided")

    def __init__(self, path):
        with h5py.File(path) as file:
            group = file["comparison"]
            self.data = datasets(group)
            self.rungs = plain(group.attrs["rungs"]).split()
        self.time = self.data["time"]

    def pair(self, one, other):
        """Returns a pair's index, and +1 if its differences are `one` minus `other`, otherwise
        -1."""
        for place, pair in enumerate(zip(self.data["second"], self.data["first"])):
            words = [self.rungs[rung] for rung in pair]
            if words in ([one, other], [other, one]):
                return place, 1 if words == [one, other] else -1
        raise AssertionError(f"no pair of {one} and {other}")

    def mean(self, rung, name):
        return self.data[name + "_mean"][self.rungs.index(rung)]

    def error(self, rung, name):
        return self.data[name + "_mean_error"][self.rungs.index(rung)]

    def difference(self, one, other, name):
        place, sign = self.pair(one, other)
        return sign * self.data[name + "_difference"][place]

    def p_value(self, one, other, name):
        """Returns the p-value of equal means at all times."""
        return self.data[name + "_p_value"][self.pair(one, other)[0]]

    def verdict(self, one, other, name):
        return self.VERDICTS[self.data[name + "_verdict"][self.pair(one, other)[0]]]


class Sweep:
    """Contents of a sweep's file: `sweep["loss"]`, and values of axes, `sweep["w0"]`."""

    def __init__(self, path):
        with h5py.File(path) as file:
            self.data = datasets(file)
            self.meanings = {name: plain(item.attrs["flag_meanings"]).split()
                             for name, item in file.items() if "flag_meanings" in item.attrs}
            self.axes = plain(file["sweep"].attrs["axes"]).split()
            self.parameters = {name: plain(value)
                               for name, value in file["parameters"].attrs.items()}

    def __getitem__(self, name):
        return self.data[name]

    def is_word(self, name, word):
        """Returns where a dataset of words equals this word."""
        return self.data[name] == self.meanings[name].index(word)


def experiment(config, *more, code=0):
    """Runs an experiment from the source folder, like a reader who follows its first line."""
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        words = command(config)
        popflow(*words, *more, "-o", path, folder=SOURCE, code=code, timeout=900)
        return {"compare": Comparison, "sweep": Sweep, "run": Run}[words[0]](path)


def run_of(config, *more):
    """Runs one training of an experiment that compares several: `run` passes over its axes."""
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        popflow("run", "--config", os.path.join(FOLDER, config), *more, "-o", path, folder=SOURCE,
                code=0, timeout=900)
        return Run(path)


def near(value, expected, within):
    check(abs(value - expected) <= within, f"{value!r} is not {expected!r} within {within}")


def close(value, expected, relative):
    near(value, expected, relative * abs(expected))
