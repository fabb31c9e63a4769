"""Checks of the committee machine, and its experiment: a plateau before the students tell the teachers apart."""

import committee
import numpy as np

import popflow

from . import FLOW, NOISY, Check

SIZES = (20, 40, 80)


def deviations():
    """For each size N: mean deviation of Q and R from the flow at t = 2, and their mean scatter, over
    runs with exact initial Q and R."""
    run = popflow.run(committee.model().build(), t_end=2, rtol=1e-9, saves=2).isel(time=-1)
    flow = np.concatenate([run.Q.values.ravel(), run.R.values.ravel()])
    for size in SIZES:
        ends = committee.simulated(size, 4000, [2.0], seed=size)[0]
        yield (ends.mean(axis=0) - flow), ends.std(axis=0, ddof=1)


def slope(values):
    return float(np.polyfit(np.log(SIZES), np.log(values), 1)[0])


def checks():
    T = committee.T
    rest = popflow.run(committee.model(T, T).build(), t_end=20, rtol=1e-9, saves=3)
    off = max(np.abs(rest.Q.values - T).max(), np.abs(rest.R.values - T).max())
    yield Check("Q = R = T stays", off, 1e-13)
    yield Check("its generalisation error", float(np.abs(rest.error).max()), 1e-14)
    means, scatters = zip(*deviations())
    yield Check("power of N in the scatter of SGD", slope([s.mean() for s in scatters]), -0.4, -0.6)
    yield Check("power of N in the deviation of its mean",
                slope([np.sqrt((m**2).mean()) for m in means]), -0.7, -1.4)


def experiment(axes):
    flow = popflow.run(committee.model().build(), t_end=100, saves=201)
    axes.plot(flow.time, flow.error, color=FLOW, label="order parameters")
    times = np.linspace(0, 100, 26)
    for size, marker in ((100, "x"), (400, ".")):
        runs = committee.simulated(size, 1, times, seed=5)[:, 0]
        errors = [committee.error(*one.reshape(2, 2, 2)) for one in runs]
        axes.plot(times, errors, marker, color=NOISY, markersize=4, label=f"a run of SGD, N = {size}")
    axes.legend(fontsize=8)
    axes.set(yscale="log", xlabel="examples / N", ylabel="generalisation error", title="committee machine")
    return f"error on the plateau, at t = 15: {float(flow.error.sel(time=15, method='nearest')):.3f}"
