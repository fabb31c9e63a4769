#!/usr/bin/python3
"""Draws pictures of the claims' pages from the numbers in claims/results, into the working folder.

    PYTHONPATH=python:. docs/pictures/draw_kept_claims.py
"""

import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from claims import figures, results
from draw_results import LINES as COLOURS
from draw_results import save, ticks

from popflow.analysis import Estimate


def series(claim, what, where):
    """x, y and 95% half-widths of the numbers whose condition matches `where`, by its group."""
    found = {}
    for number in figures.shown(results.load(claim)):
        match = re.fullmatch(where, figures.setting(number.where))
        if number.what == what and match:
            of = number.found
            value, error = (of.value, of.error) if isinstance(of, Estimate) else (of, 0)
            found.setdefault(float(match.group(1)), (value, 1.96 * error))
    x = np.array(sorted(found))
    return x, np.array([found[at][0] for at in x]), np.array([found[at][1] for at in x])


def line(axes, points, colour, label, **style):
    x, y, error = points
    axes.errorbar(x, y, error, color=colour, label=label, marker="o", markersize=4, capsize=2,
                  **style)


def linear_stage(axes):
    for colour, N in zip(COLOURS, (3, 10, 20)):
        line(axes, series(1, "larger of the two relative distances, mean over problems",
                          rf"linear in stage 1, N = {N} and T = (\d+)"), colour, f"$N = {N}$")
    axes.axhline(0.05, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="context length $T$",
             ylabel="distance from the linear system")


def sparsity(axes):
    for colour, name in zip(COLOURS, ("softmax", "linear attention without l1",
                                      "l1 throughout (0.01)", "two stages (0.003)")):
        line(axes, series(8, "share of |A| at the positions of Q",
                          re.escape(name) + r" at (\d+) boosting times?, T = 25"), colour, name)
    axes.set(xscale="log", xlabel="time, in boosting times of the flow",
             ylabel="share of $|A|$ where $Q$ is")
    axes.set_xticks([1, 2, 4, 8], labels=["1", "2", "4", "8"])
    axes.minorticks_off()


def theorem(axes):
    for colour, data in zip(COLOURS, ("Gaussian data", "Dirichlet data")):
        line(axes, series(10, "least correlation over time, mean over draws",
                          rf"softmax, (\d+) nodes, {data}"), colour, data)
    starts = series(10, "least correlation over time, mean over draws",
                    r"softmax, 10 nodes, starts of ([\d.]+)")
    line(axes, (10 * np.ones(3) * np.array([0.93, 1, 1.07]), *starts[1:]), COLOURS[2],
         "starts of 0.1, 0.5, 1", linestyle="none")
    axes.axhline(0.95, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="hidden nodes", ylabel="least correlation over time")
    axes.set_xticks([2, 3, 5, 10, 20, 40], labels=["2", "3", "5", "10", "20", "40"])
    axes.minorticks_off()


def bounce(axes):
    for colour, words, name in zip(COLOURS, ("t = infinity", "t = 1e6"),
                                   (r"$t = \infty$", "$t = 10^6$")):
        line(axes, series(13, "share of draws that bounce", rf"(\d+) nodes? until {words}"), colour,
             name)
    axes.axhline(0.9, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xlabel="hidden nodes", ylabel="share of draws that bounce", ylim=(0, 1.05))


def boundary(axes):
    x, y, _ = series(15, "largest start from which tokens are learned in the order of the tree",
                     r"temperature ([\d.]+)")
    axes.plot(x, y, "o", color=COLOURS[0], label="largest start in the tree's order")
    axes.plot(x, 0.125 / x**2, color=COLOURS[1], label=r"$\mu^3/\tau^2$, $\mu = 1/2$")
    axes.set(xscale="log", yscale="log", xlabel=r"temperature $\tau$", ylabel="start $v(0)$")
    axes.set_xticks([1, 2, 5, 10], labels=["1", "2", "5", "10"])
    axes.minorticks_off()


def losses(axes):
    for row, weights in enumerate(("equal", "unequal")):
        for colour, name in zip(COLOURS, ("linear", "softmax")):
            line(axes, series(30, f"mean excess loss with {name} attention, relative to the "
                                  "initial one",
                                  rf"flow at (\d+) boosting times, {weights} weights"),
                 colour, f"{name}, {weights} weights", linestyle=("-", "--")[row])
    axes.set(xscale="log", yscale="log", xlabel="time, in boosting times of the flow",
             ylabel="excess loss / what there is to learn")
    axes.set_xticks([2, 8, 64], labels=["2", "8", "64"])
    axes.minorticks_off()


def main():
    with matplotlib.rc_context({"font.size": 9}):
        for number, draw in ((1, linear_stage), (8, sparsity), (10, theorem), (13, bounce),
                             (15, boundary), (30, losses)):
            figure, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
            draw(axes)
            ticks(axes.yaxis, axes.get_yscale(), *axes.get_ylim())
            axes.legend(frameon=False)
            save(figure, f"claim-{number:02}.png")
            plt.close(figure)


if __name__ == "__main__":
    main()
