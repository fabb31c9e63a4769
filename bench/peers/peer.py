"""Common parts of all peers: popflow's file of the same work, the check of agreement, and the timing.

A peer is started as `SCRIPT WORK CHECKED TIMED` with two files of popflow, which may be the same.
The peer compiles, does the work of the first file and reports how far apart the two final states
are. Then the peer does the work of the second file once per line of input and answers with the
seconds, so that peer and popflow take turns. Answers are lines of JSON. A peer that disagrees with
popflow exits without being timed.
"""

import importlib.metadata
import json
import sys
import time

import h5py
import numpy as np


class Run:
    """A run in a file of popflow."""

    def __init__(self, path):
        self.file = h5py.File(path)
        self.noisy = self.file.attrs["mode"] != "flow"
        self.t_end = float(self.parameter("t-end"))

    def parameter(self, name):
        return self.file["parameters"].attrs[name]

    def problem(self, name):
        return self.file["problem"][name][()]

    def betas(self):
        """Returns Adam's betas; beta2 is the rule's default unless given."""
        return self.parameter("beta1"), self.parameter("beta2") or 0.999

    def steps(self):
        """Returns the number of steps of a noisy run or of Euler's method."""
        rate = self.parameter("learning-rate")
        if self.parameter("mode") == "sgd":
            return round(self.t_end / rate)
        return round(self.t_end / (self.parameter("dt") or rate / 10))

    def start(self, name):
        """Returns a field or an observable at the start."""
        values = self.file[name]
        return values[0, 0] if self.noisy else values[0]

    def times(self):
        """Returns the times of a flow's records, which all cells of a sweep share."""
        time = self.file["time"][()]
        return time.reshape(-1, time.shape[-1])[0]

    def curve(self, name):
        """Returns an observable of a flow at all records."""
        return self.file[name][()]

    def end(self, name):
        """Returns a field or an observable at the end, per run if runs are noisy."""
        values = self.file[name]
        return values[:, -1] if self.noisy else values[-1]


class Agreement:
    """Differences of the final states by name, and their bounds."""

    def __init__(self):
        self.found = {}

    def close(self, name, peer, popflow, start=0.0, limit=1e-6):
        """Adds the largest difference of the final states, relative to the largest change since the start."""
        peer, popflow = np.asarray(peer), np.asarray(popflow)
        self._enter(name, np.abs(peer - popflow).max() / np.abs(popflow - start).max(), limit)

    def alike(self, name, peer, popflow, limit=5.0):
        """Compares independent runs: means and logarithms of standard deviations, in standard errors of
        their difference. By chance a normal number exceeds 5 once in 1.7 million."""
        means, spreads = zip(*(_moments(np.asarray(runs)) for runs in (peer, popflow)))
        for what, ((a, of_a), (b, of_b)) in (("mean", means), ("spread", spreads)):
            self._enter(f"{what} of {name}", abs(a - b) / np.hypot(of_a, of_b), limit)

    def _enter(self, name, apart, limit):
        self.found[name] = [float(apart), limit]

    def broken(self):
        return [name for name, (apart, limit) in self.found.items() if not apart <= limit]


def _moments(x):
    """Returns mean and log standard deviation, each with its standard error."""
    n, s = len(x), x.std(ddof=1)
    fourth = max(((x - x.mean())**4).mean() / s**4, 3.0)
    return (x.mean(), s / n**0.5), (np.log(s), ((fourth - 1) / (4 * n))**0.5)


def serve(work, agreement, packages, part=1, **facts):
    """Answers each line of input with the seconds of `work()`, already compiled; `facts` describe it."""
    print(json.dumps({"agreement": agreement.found, "part": part, "facts": facts,
                      "versions": {name: importlib.metadata.version(name) for name in packages}}),
          flush=True)
    if agreement.broken():
        sys.exit(f"{sys.argv[0]}: results disagree with popflow's: {', '.join(agreement.broken())}")
    for _ in sys.stdin:
        begin = time.perf_counter()
        work()
        print(json.dumps(time.perf_counter() - begin), flush=True)


def main(works):
    """Runs the entry of `works` that the command line names."""
    name, checked, timed = sys.argv[1:]
    works[name](Run(checked), Run(timed))
