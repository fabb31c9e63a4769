"""Running the experiments of data/experiments as their first line says."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))

from runs import check, h5py, np, plain, popflow  # noqa: E402

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
FOLDER = os.path.join(SOURCE, "data", "experiments")


def command(config):
    """The words of the command that a configuration's first line gives, without the program."""
    with open(os.path.join(FOLDER, config)) as lines:
        words = lines.readline().split()
    check(words[:2] == ["#", "popflow"], f"the first line of {config} is no command")
    return words[2:]


class Run:
    """A finished run: `run["loss"]`, `run.at("loss", t)`, `run.event("boosted")`."""

    def __init__(self, path, code):
        self.code = code
        with h5py.File(path) as file:
            self.data = {name: item[()] for name, item in file.items()
                         if isinstance(item, h5py.Dataset)}
            self.attributes = {name: plain(value) for name, value in file.attrs.items()}
            events = file["events"]
            self.events = {}
            if "kind" in events:
                names = plain(events["kind"].attrs["flag_meanings"]).split()
                for kind, time in zip(events["kind"][()], events["time"][()]):
                    if kind >= 0:
                        self.events[names[kind]] = float(time)

    def __getitem__(self, name):
        return self.data[name]

    def at(self, name, time):
        """At the save nearest to a time."""
        return self.data[name][np.argmin(np.abs(self.data["time"] - time))]

    def event(self, name):
        check(name in self.events, f"{name} has not happened")
        return self.events[name]


def experiment(folder, config, *more, code=0, name="run.h5"):
    """Runs an experiment from the sources' folder, as a reader of its first line would."""
    path = os.path.join(folder, name)
    ended = popflow(*command(config), *more, "-o", path, folder=SOURCE, code=code)
    return Run(path, ended.code)


def close(value, expected, relative, what):
    check(abs(value - expected) <= relative * abs(expected),
          f"{what} is {value}, not {expected} within {relative:.1%}")
