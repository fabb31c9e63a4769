"""Checks of single-index models, and their experiment: exit times for three information exponents."""

import numpy as np
import single_index as index

import popflow

from . import EXACT, FLOW, NOISY, OTHER, Check

DIMENSIONS = 10.0 ** np.arange(2, 9)
EXPONENTS = (1, 2, 3)


def exit_times(system):
    """Times at which the overlap is 1/2: a row for each exponent, a column for each dimension."""
    found = popflow.sweep(system, over={"exponent": list(EXPONENTS), "dimension": list(DIMENSIONS)}, t_end=4000,
                          rtol=1e-10, atol=1e-14)
    return found.time_of_recovered.transpose("exponent", "dimension").values


def checks():
    system = index.model().build()
    for k in EXPONENTS:
        run = popflow.run(system, exponent=k, dimension=100, t_end=1.5, rtol=1e-11, atol=1e-13, saves=4)
        m = run.overlap.values
        off = np.abs(index.time_of(m, k) - index.time_of(0.1, k) - run.time.values).max()
        yield Check(f"exponent {k}: times of the overlaps against their integral", off, 1e-8)
        yield Check(f"exponent {k}: loss against 1 - m^k", float(np.abs(run.loss.values - 1 + m**k).max()), 1e-12)
    times = exit_times(system)
    exact = np.array([[index.exit_time(d, k) for d in DIMENSIONS] for k in EXPONENTS])
    yield Check("exit times: relative distance from the exact ones", float(np.abs(times / exact - 1).max()), 1e-7)
    for k, against, values, slope in ((2, "log d", np.log(DIMENSIONS), 1 / 4),
                                      (3, "sqrt(d)", np.sqrt(DIMENSIONS), 1 / 3)):
        found = float((times[k - 1, -1] - times[k - 1, -2]) / (values[-1] - values[-2]))
        yield Check(f"exponent {k}: slope of the exit time against {against}", found, slope + 1e-4, slope - 1e-4)


def experiment(axes):
    times = exit_times(index.model().build())
    for k, colour in zip(EXPONENTS, (FLOW, NOISY, OTHER)):
        axes.plot(DIMENSIONS, times[k - 1], "o", color=colour, markersize=4, label=f"information exponent {k}")
        axes.plot(DIMENSIONS, [index.exit_time(d, k) for d in DIMENSIONS], color=EXACT, linewidth=0.8)
    axes.legend(fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="time", title="a direction found by one neuron")
    return f"time until the overlap is 1/2, for d = 10^8: {', '.join(f'{one:.3g}' for one in times[:, -1])}"
