#!/usr/bin/python3
"""Draws the README's picture, flow-and-map.png, into the working folder.

    PYTHONPATH=python docs/pictures/draw.py

Left: the bigrams of a text learned by the flow and by SGD, as in docs/tutorial.md. Right: the
basins of attraction of a transformer on a Markov chain (data/experiments/markov-basins.cfg, but
coarser).
"""

import tempfile

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import popflow

TEXT = {"text": "/usr/share/common-licenses/GPL-3", "context_length": 50}
FLOW, NOISY, OTHER = "#1f4e79", "#d95f02", "#e6ab02"
BASINS = ["#f3d9c4", "#cfe0ef"]


def learning(axes):
    common = {**TEXT, "t_end": 60, "saves": 61, "state": "none"}
    noisy = {**common, "mode": "sgd", "runs": 16, "learning_rate": 0.02}
    flow = popflow.run("scb", **common)
    axes.axvline(flow.time_of.boosted, color="grey", linestyle=":", linewidth=1)
    axes.text(flow.time_of.boosted + 0.8, 0.012, "boosted", color="grey", va="top")
    for batch, colour in ((16, OTHER), (128, NOISY)):
        sgd = popflow.run("scb", batch_size=batch, **noisy)
        axes.plot(sgd.time, sgd.excess_loss.T, color=colour, linewidth=0.5, alpha=0.6)
        axes.text(60, 1.6 * sgd.excess_loss[:, -1].mean(), f"SGD, batches of {batch}", ha="right",
                  color=colour)
    axes.plot(flow.time, flow.excess_loss, color=FLOW, linewidth=2)
    axes.text(60, 0.72 * flow.excess_loss[-1], "population flow", color=FLOW, ha="right", va="top")
    axes.set(yscale="log", ylim=(8e-5, 1.5e-2), xlim=(0, 61), ylabel="excess loss",
             xlabel="flow time (SGD: steps × 0.02)", title="learning the bigrams of a text")


def basins(axes):
    starts = {"w0": popflow.linear(-2, 1, 100), "e0": popflow.linear(0.02, 2, 100)}
    ends = popflow.sweep("markov", over=starts, p=0.2, q=0.3)
    learned = (ends.popflow.words("outcome") == "global").transpose("e0", "w0")
    axes.pcolormesh(ends.w0, ends.e0, learned, cmap=matplotlib.colors.ListedColormap(BASINS))
    w = np.linspace(-2, -0.708, 200)
    separatrix = np.sqrt(np.maximum(w**2 - np.log(-w) - (1 + np.log(2)) / 2, 0))
    axes.plot(w, separatrix, color="black", linewidth=1)
    axes.text(0.1, 1.1, "learns the chain", ha="center")
    axes.text(-1.48, 0.3, "learns only\nthe frequencies", ha="center")
    axes.set(xlim=(-2, 1), ylim=(0.02, 2), xlabel="start $w_0$", ylabel="start $e_0$",
             title="where 10 000 starts end (line: theory)")


def main():
    with tempfile.TemporaryDirectory() as folder, matplotlib.rc_context({"font.size": 9}):
        popflow.folder(folder)
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
        learning(left)
        basins(right)
        figure.savefig("flow-and-map.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
