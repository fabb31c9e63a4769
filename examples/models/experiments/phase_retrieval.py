"""Checks of phase retrieval, and its experiment: times until the teacher is found grow as log d."""

import glm_sgd
import numpy as np
import phase_retrieval

import popflow

from . import EXACT, FLOW, NOISY, Check

DIMENSIONS = 10.0 ** np.arange(2, 13, 2)


def exit_times(system, gamma):
    """Times at which starts of norm 1 and overlap 1/sqrt(d) have the overlap 1/2."""
    return popflow.sweep(system, over={"dimension": list(DIMENSIONS)}, gamma=gamma, t_end=60 / gamma,
                         rtol=1e-9).time_of_recovered.values


def slope(times):
    """Growth of the last two exit times with log d."""
    return (times[-1] - times[-2]) / np.log(DIMENSIONS[-1] / DIMENSIONS[-2])


def checks():
    system = phase_retrieval.model().build()
    limit = popflow.run(system, gamma=0.1, size=0.5, dimension=25, t_end=50, rtol=1e-11, atol=1e-13, saves=26)
    given = popflow.run(glm_sgd.phase_retrieval().build(), gamma=0.1, t_end=50, rtol=1e-11, atol=1e-13, saves=26)
    off = max(np.abs(limit.w_w.values.ravel() - given.rho.values).max(),
              np.abs(limit.w_fixed.values.ravel() - given.overlap.values).max())
    yield Check("order parameters against the equations of glm_sgd", off, 1e-10)
    yield Check("loss against the risk of glm_sgd", float(np.abs(limit.loss.values - given.risk.values).max()), 1e-10)
    for gamma in (0.05, 0.2):
        wanted = 1 / (2 * phase_retrieval.escape(gamma))
        yield Check(f"exit times against log d: relative distance of the slope, gamma = {gamma}",
                    abs(slope(exit_times(system, gamma)) / wanted - 1), 1e-4)


def experiment(axes):
    system = phase_retrieval.model().build()
    for gamma, colour in ((0.05, FLOW), (0.2, NOISY)):
        times = exit_times(system, gamma) * gamma
        axes.plot(DIMENSIONS, times, "o", color=colour, markersize=4, label=f"rate {gamma} / d")
        rate = phase_retrieval.escape(gamma)
        axes.plot(DIMENSIONS, times[-1] + gamma * np.log(DIMENSIONS / DIMENSIONS[-1]) / (2 * rate), color=EXACT,
                  linewidth=0.8, label=None if colour == FLOW else "exact slope")
    axes.legend(fontsize=8)
    axes.set(xscale="log", xlabel="dimension d", ylabel="examples times rate / d", title="phase retrieval")
    return f"examples / d until the overlap is 1/2, for d = 10^4 at the rate 0.2 / d: {exit_times(system, 0.2)[1]:.0f}"
