"""Checks of logistic regression of two classes, and its experiment: distant classes take long to be fitted."""

import gaussian_classes as classes
import numpy as np

import popflow

from . import EXACT, FLOW, OTHER, Check


def checks():
    system = classes.model().build()
    for apart, share, t_end in ((0.5, 0.3, 1000), (1.0, 0.7, 1000)):
        run = popflow.run(system, apart=apart, share=share, t_end=t_end, rtol=1e-10, atol=1e-12, saves=2).isel(time=-1)
        odds, accuracy = classes.bayes(apart, share)
        off = max(float(np.abs(run.w - 2 * apart / np.sqrt(classes.DIMENSION)).max()), abs(float(run.b) - odds))
        yield Check(f"w = 2 mu and the log of the odds at the end, |mu| = {apart}", off, 1e-6)
        yield Check(f"share of right labels against that of Bayes, |mu| = {apart}",
                    abs(float(run.accuracy) - accuracy), 1e-9)


def experiment(axes):
    system = classes.model().build()
    found = []
    for apart, colour in ((0.25, OTHER), (0.5, "#1b9e77"), (1.0, FLOW)):
        run = popflow.run(system, apart=apart, share=0.5, t_end=60, saves=121)
        axes.plot(run.time, run.alignment, color=colour, label=f"|mu| = {apart:g}")
        axes.axhline(2 * apart, color=EXACT, linewidth=0.6, linestyle=":")
        found.append(float(run.time[np.argmax(run.alignment.values > 1.8 * apart)]))
    axes.legend(fontsize=8)
    axes.set(xlabel="time", ylabel="w along mu", title="two classes by logistic regression")
    return f"nine tenths of 2 |mu| for |mu| = 1/4, 1/2, 1 at t = {', '.join(f'{one:.3g}' for one in found)}"
