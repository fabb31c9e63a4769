"""Checks of the induction head, and its experiment: unigrams are learned long before bigrams."""

import induction
import numpy as np

import popflow
from popflow.model.symbols import evaluated

from . import EXACT, FLOW, NOISY, Check


def loss_of(v, W):
    """Population loss of the model's formula at given weights."""
    m = induction.model()
    known = {id(m.fields[0].symbol): v, id(m.fields[1].symbol): W}
    rows = induction.sequences()
    losses = [evaluated([m.sample_loss], {**known, id(m.base[0]): row})[0] for row in rows]
    return float(induction.probability(rows) @ losses)


def checks():
    V, T = induction.STATES, induction.LENGTH
    yield Check("sum of all probabilities less 1",
                abs(induction.probability(induction.sequences()).sum() - 1), 1e-13)
    best = loss_of(np.eye(T)[1], np.eye(V)) - induction.floor()
    yield Check("v = (0, 1, 0, ...), W = I: loss above the Bayes-optimal floor", abs(best), 1e-13)
    off = loss_of(np.eye(T)[0], 0.3 * np.ones((V, V))) - induction.frequencies_loss(0.3)
    yield Check("v = (1, 0, ...), W = 0.3: loss less that of unigrams", abs(off), 1e-13)
    run = popflow.run(induction.model().build(), t_end=3000, saves=301, rtol=1e-9)
    above = run.loss.values - induction.floor()
    yield Check("end of the flow: loss above the floor", above[-1], 1e-7, -1e-13)
    pseudo = run.v[-1, 1].item() * np.diag(run.W.values[-1])
    yield Check("end of the flow: v_1 W_aa less 1", np.abs(pseudo - 1).max(), 1e-3)
    yield Check("time of bigrams over that of unigrams",
                run.time_of.bigrams / max(run.time_of.unigrams, 1e-9), 1e6, 100)


def experiment(axes):
    system = induction.model().build()
    flow = popflow.run(system, t_end=1000, saves=200, save_spacing="log", save_first=0.01)
    sgd = popflow.run(system, mode="sgd", learning_rate=0.05, batch_size=64, t_end=1000, saves=200,
                      save_spacing="log", save_first=0.05, seed=3)
    axes.plot(sgd.time, sgd.loss.values.reshape(-1), color=NOISY, linewidth=0.7,
              label="SGD, batches of 64")
    axes.plot(flow.time, flow.loss, color=FLOW, label="flow")
    for loss, name in ((np.log(3), "uniform"), (induction.unigram_loss(), "best unigrams"),
                       (induction.floor(), "Bayes-optimal")):
        axes.axhline(loss, color=EXACT, linestyle=":", linewidth=0.8)
        axes.text(0.012, loss, name, va="bottom", fontsize=8)
    axes.legend(fontsize=8, loc=(0.42, 0.68))
    axes.set(xscale="log", xlabel="time", ylabel="loss", title="induction head", xlim=(0.01, 1000))
    times = flow.time_of
    return f"half of the unigrams' gain at t = {times.unigrams:.2g}, of the bigrams' at {times.bigrams:.2g}"
