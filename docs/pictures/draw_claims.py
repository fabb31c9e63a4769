#!/usr/bin/python3
"""Draws pictures of the claims' pages, claim-14, 18, 22, 23 and 24, into the working folder.

    PYTHONPATH=python:. docs/pictures/draw_claims.py [NAME.png ...]
"""

import sys
import tempfile

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from claims import markov, topic
from claims.topics import SMALL

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
            alpha, beta, least, _ = topic.minimum(loss)
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


def norms(figure):
    """Norms of the three matrices in joint training from three starts of W_V."""
    starts = {topic.STARTS[0]: "$W_V = 0$", topic.STARTS[3]: r"all uniform $\pm 1/\sqrt{d}$",
              topic.STARTS[5]: "$W_V$ the identity"}
    for axes, (kind, title) in zip(figure.subplots(1, 3, sharey=True), starts.items()):
        run = popflow.run("topic", problem=topic.random_start(kind, 0, SMALL), saves=401, t_end=1e5,
                          save_spacing="log", save_first=1, state="none", **SMALL.options)
        for name, label, colour, style in (("norm_value", "$W_V$", "#1f4e79", "-"),
                                           ("norm_key", "$W_K$", "#d95f02", "-"),
                                           ("norm_query", "$W_Q$", "black", ":")):
            axes.plot(run.time[1:], run[name][1:], style, color=colour, label=label)
        axes.axhline(run.attrs["value_norm_optimum"], color="grey", linewidth=0.8, linestyle=":")
        axes.set(xscale="log", xlabel="time $t$", title=title)
    figure.axes[0].set_ylabel("Frobenius norm, 20 words")
    figure.axes[0].legend(frameon=False)


def contrast(figure):
    """Both definitions of the contrast over time, from two kinds of W_K and W_Q."""
    left, right = figure.subplots(1, 2, sharey=True)
    run = popflow.run("topic", method="rosenbrock4", t_end=1e12, saves=401, save_spacing="log",
                      save_first=1e2, rtol=1e-7, atol=1e-9, **SMALL.options)
    runs = [(left, run)]
    runs += [(right, popflow.run("topic", problem=topic.random_start(topic.STARTS[0], draw, SMALL),
                                 saves=201, t_end=2e5, save_spacing="log", save_first=1e2,
                                 state="none", **SMALL.options)) for draw in range(3)]
    for number, (axes, one) in enumerate(runs):
        own, alone = SMALL.contrasts(one)
        axes.plot(one.time[1:], own[1:], color="#1f4e79",
                  label="queried word counted" if number < 2 else None)
        axes.plot(one.time[1:], alone[1:], color="#d95f02", linestyle="--",
                  label="other words alone" if number < 2 else None)
    for axes, title in ((left, "$W_K = W_Q = 0.01$ times the identity"),
                        (right, "Gaussian $W_K$, $W_Q$: three draws")):
        axes.axhline(1, color="grey", linewidth=0.8, linestyle=":")
        axes.set(xscale="log", yscale="log", xlabel="time $t$", title=title)
    left.set_ylabel("own topic over other topics, 20 words")
    left.legend(frameon=False)


def critical_points(figure):
    """The loss over (e, w) with the optimal bias for both kinds of chains, its critical points, and
    the separatrix."""
    e, w = np.linspace(-2, 2, 161), np.linspace(-2, 2, 161)
    for axes, (kind, chain) in zip(figure.subplots(1, 2, sharey=True), markov.CHAINS.items()):
        loss = popflow.sweep("markov", {"w0": popflow.linear(-2, 2, 161),
                                        "e0": popflow.linear(-2, 2, 161)}, t_end=0,
                             **chain).loss.transpose("e0", "w0").values
        shades = axes.pcolormesh(w, e, np.log10(loss - loss.min() + 1e-3), cmap="Greys",
                                 rasterized=True)
        slope = np.log((1 - chain["p"]) * (1 - chain["q"]) / (chain["p"] * chain["q"]))
        with np.errstate(divide="ignore", invalid="ignore"):
            curve = np.sqrt(slope / (1 + 2 * w * np.abs(w)))
        for sign in (1, -1):
            axes.plot(w, sign * curve, color="#0072b2", linewidth=2,
                      label="global minima" if sign > 0 else None)
        left = w < markov.SADDLE
        lowest = left if kind == "p + q < 1" else ~left
        axes.plot(np.where(lowest, w, np.nan), 0 * w, color="#d55e00", linewidth=2,
                  label="local minima")
        axes.plot(np.where(~lowest, w, np.nan), 0 * w, color="#e69f00", linewidth=2,
                  linestyle="--", label="maxima")
        axes.plot(markov.SADDLE, 0, "*", color="white", markeredgecolor="black", markersize=12,
                  linestyle="none", label="saddle")
        below = w[w < 0]
        axes.contour(below, e, markov.energy_of(below[None, :], e[:, None]) - markov.SADDLE_ENERGY,
                     [0], colors="black", linewidths=0.8, linestyles=":")
        axes.set(xlabel="$w$", title=f"${kind}$", ylim=(-2, 2))
        figure.colorbar(shades, ax=axes, label=r"$\log_{10}$ of the loss above its least")
    figure.axes[0].set_ylabel("$e$")
    figure.axes[0].legend(loc="lower right", fontsize=8)


def main():
    with tempfile.TemporaryDirectory() as folder, matplotlib.rc_context({"font.size": 9}):
        popflow.folder(folder)
        for draw, name in ((stable_rank, "claim-14.png"), (critical_points, "claim-18.png"),
                           (norms, "claim-22.png"),
                           (contrast, "claim-23.png"), (landscapes, "claim-24.png")):
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            figure = plt.figure(figsize=(9, 3.4), layout="constrained")
            draw(figure)
            figure.savefig(name, dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
