#!/usr/bin/python3
"""Draws the pictures of docs/claims.md, claim-14.png and claim-24.png, into the working folder.

    PYTHONPATH=python:. docs/pictures/draw_claims.py
"""

import tempfile

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from claims import topic

import popflow

COLOURS = {"identity": "#1f4e79", "silu": "#2a9d8f", "relu": "#e6ab02", "square": "#d95f02"}


def stable_rank(figure):
    """Medians over the draws of claim 14, and each draw."""
    for axes, data in zip(figure.subplots(1, 2, sharey=True), ("gaussian", "dirichlet")):
        for activation, colour in COLOURS.items():
            runs = popflow.sweep("joma-joint", {"problem_seed": range(1, 13)}, temperature=1,
                                 activation=activation, data=data, classes=10, t_end=1000,
                                 record="series", saves=201, save_spacing="log", save_first=1,
                                 state="none")
            rank = runs.stable_rank
            axes.plot(runs.time, rank.T, color=colour, linewidth=0.4, alpha=0.5)
            axes.plot(runs.time, rank.median("problem_seed"), color=colour, label=activation)
        axes.set(xscale="log", xlim=(1, 1000), xlabel="time $t$", title=f"{data.capitalize()} data")
    figure.axes[0].set_ylabel("stable rank")
    figure.axes[0].legend(frameon=False)


def landscapes(figure):
    """The loss above its least over (alpha, beta) for both forms of W_V, and where that is."""
    logs = np.linspace(-3, 7, 81)
    for axes, form in zip(figure.subplots(1, 2, sharey=True), ("blocks", "diagonal")):
        loss = topic.loss_over(4, form)
        values = loss(logs, logs)
        if form == "blocks":
            least = topic.along_the_diagonal(loss)[1]
        else:
            alpha, beta, least = topic.minimum(loss)
        shades = axes.pcolormesh(np.exp(logs), np.exp(logs), np.log10(values.T - least + 1e-6),
                                 cmap="viridis", rasterized=True)
        if form == "blocks":
            weight = topic.along_the_diagonal(loss)[0] * topic.WORDS
            across = np.linspace(0.05, weight / (topic.WORDS - 1) - 1e-3, 500)
            axes.plot(across, weight - (topic.WORDS - 1) * across, color="white")
        else:
            axes.plot(alpha, beta, "o", color="white")
        axes.plot(1, 1, "+", color="white")
        axes.set(xscale="log", yscale="log", ylim=np.exp(logs[[0, -1]]),
                 xlabel=r"$\alpha$, other words of the topic",
                 title="$W_V$ with blocks" if form == "blocks" else "$W_V$ diagonal")
        figure.colorbar(shades, ax=axes, label=r"$\log_{10}$ of the loss above its least")
    figure.axes[0].set_ylabel(r"$\beta$, the word itself")


def main():
    with tempfile.TemporaryDirectory() as folder, matplotlib.rc_context({"font.size": 9}):
        popflow.folder(folder)
        for draw, name in ((stable_rank, "claim-14.png"), (landscapes, "claim-24.png")):
            figure = plt.figure(figsize=(9, 3.4), layout="constrained")
            draw(figure)
            figure.savefig(name, dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
