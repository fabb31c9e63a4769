"""Checks of low-rank adaptation, and its experiment: a rank learns the largest modes, one after another."""

import low_rank
import numpy as np

import popflow

from . import EXACT, FLOW, Check


def checks():
    system = low_rank.model().build()
    run = popflow.run(system, t_end=60, rtol=1e-11, atol=1e-13, saves=7)
    names = [f"balance_{i}_{j}" for i in range(2) for j in range(2)]
    moved = max(float(np.abs(run[name] - run[name][0]).max()) for name in names)
    yield Check("A A^T - B^T B stays", moved, 1e-9)
    best = (low_rank.MODES[low_rank.RANK:] ** 2).sum() / 2
    yield Check("loss at the end against that of the best matrix of rank 2", abs(float(run.loss[-1]) - best), 1e-9)
    exact = popflow.run(system, aligned=1, t_end=1.5, rtol=1e-11, atol=1e-13, saves=4)
    off = max(abs(low_rank.time_of(float(exact.modes[k, i, i]), low_rank.MODES[i]) - float(exact.time[k]))
              for k in (1, 2, 3) for i in range(low_rank.RANK))
    yield Check("aligned start: times of the modes against their integral", off, 1e-8)


def experiment(axes):
    run = popflow.run(low_rank.model().build(), size=1e-3, t_end=12, saves=121)
    values = np.linalg.svd(run.modes.values, compute_uv=False)
    for k, mode in enumerate(low_rank.MODES):
        axes.axhline(mode, color=EXACT, linewidth=0.6, linestyle=":", label="target" if k == 0 else None)
    for k in range(2):
        axes.plot(run.time, values[:, k], color=FLOW, label="singular values of B A" if k == 0 else None)
    axes.legend(fontsize=8, loc="upper left")
    axes.set(xlabel="time", ylabel="singular value", title="low-rank adaptation, rank 2")
    half = [float(run.time[np.argmax(values[:, k] > low_rank.MODES[k] / 2)]) for k in range(2)]
    return f"from a start of size 0.001, half of the two modes is learned at t = {half[0]:.1f} and {half[1]:.1f}"
