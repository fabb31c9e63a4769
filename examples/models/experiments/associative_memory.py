"""Checks of the associative memory, and its experiment: the flow learns the facts one by one."""

import associative_memory as memory
import numpy as np

import popflow

from . import EXACT, FLOW, NOISY, Check, order


def error(run, **given):
    """Largest error of the margins of a run."""
    return max(np.abs(memory.margins(float(t), **given) - run.margin.sel(time=t).values).max()
               for t in run.time)


def checks():
    system = memory.model().build()
    run = popflow.run(system, t_end=100, rtol=1e-10, saves=11)
    yield Check("margins against e^m + (C - 1) m = 1 + C p t", error(run), 1e-8)
    steep = popflow.run(system, zipf=2, t_end=100, rtol=1e-10, saves=3)
    yield Check("the same with the exponent 2", error(steep, zipf=2.0), 1e-8)
    errors = [error(popflow.run(system, t_end=8, method="rk4", dt=dt, saves=2))
              for dt in (1.0, 0.5, 0.25)]
    yield Check("order of convergence of rk4", order(errors), 4.5, 3.5)
    loss = memory.frequencies() @ np.log1p(7 * np.exp(-memory.margins(100)))
    yield Check("loss at t = 100 against the exact one", abs(float(run.loss[-1]) - loss), 1e-9)


def experiment(axes):
    system = memory.model().build()
    flow = popflow.run(system, t_end=300, saves=60)
    sgd = popflow.run(system, mode="sgd", learning_rate=1, batch_size=4, t_end=300, saves=60, seed=2)
    for fact in (0, 1, 3, 7):
        first = fact == 0
        axes.plot(sgd.time, sgd.margin[..., fact].values.reshape(-1), color=NOISY, linewidth=0.7,
                  label="SGD, batches of 4" if first else None)
        axes.plot(flow.time, flow.margin[:, fact], color=FLOW, label="flow" if first else None)
        axes.text(305, flow.margin[-1, fact], f"fact {fact + 1}", va="center", fontsize=8)
    times = np.linspace(0, 300, 13)
    axes.plot(times, [memory.margins(t)[[0, 1, 3, 7]] for t in times], ".", color=EXACT, markersize=4)
    axes.plot([], [], ".", color=EXACT, label="exact")
    axes.legend(fontsize=8)
    axes.set(xlabel="time", ylabel="margin", xlim=(0, 365), title="associative memory")
    # A fact is known when its probability is one half: e^m = C - 1.
    half = (7 * (1 + np.log(7)) - 1) / (8 * memory.frequencies())
    return f"facts reach the probability 1/2 at t = {half[0]:.0f} to {half[-1]:.0f}"
