"""Checks of the transformer that copies, and its experiment: attention finds the token to copy before copies are sure."""

import numpy as np
import transformer

import popflow

from . import EXACT, FLOW, NOISY, OTHER, Check


def checks():
    system = transformer.model().build()
    run = popflow.run(system, t_end=1000, saves=11, rtol=1e-9, atol=1e-11)
    last = run.isel(time=-1)
    states = [[run[name].values[k] for name in "AVU"] for k in range(run.time.size)]
    off = max(abs(transformer.by_hand(*state)[0] - float(run.loss[k])) for k, state in enumerate(states))
    yield Check("losses along the flow against those by hand", off, 1e-12)
    step = 1e-3
    descent = popflow.run(system, method="euler", dt=step, t_end=step, saves=2)
    _, slopes = transformer.by_hand(*transformer.start())
    off = max(np.abs((descent[name].values[1] - descent[name].values[0]) / step + slope).max()
              for name, slope in zip("AVU", slopes))
    yield Check("a step of gradient descent against the gradient by hand", off, 1e-12)
    yield Check("loss at the end above that of the best predictions", float(last.loss) - transformer.floor(), 0.2, 0.0)
    yield Check("loss of the copies at the end", float(last.known), 0.2)
    yield Check("least attention of a head and place to tokens like the next", float(last.copied.min()), 1, 0.8)


def experiment(axes):
    system = transformer.model().build()
    flow = popflow.run(system, t_end=1000, saves=200, save_spacing="log", save_first=0.1)
    sgd = popflow.run(system, mode="sgd", optimizer="adam", learning_rate=0.01, batch_size=8, t_end=10, saves=200,
                      save_spacing="log", save_first=0.01, seed=1)
    axes.plot(flow.time, flow.known, color=FLOW, label="flow: loss of copies")
    axes.plot(flow.time, flow.copied.min(axis=(1, 2)), color=OTHER, label="flow: least attention to the right tokens")
    axes.plot(sgd.time, sgd.known.values.reshape(-1), color=NOISY, linewidth=0.7, label="Adam: loss of copies")
    axes.axhline(np.log(transformer.TOKENS), color=EXACT, linewidth=0.6, linestyle=":")
    axes.legend(fontsize=8)
    axes.set(xscale="log", xlabel="time", title="a transformer learns to copy")
    half = float(flow.time[np.argmax(flow.known.values < np.log(transformer.TOKENS) / 2)])
    return f"half of the loss of copies is gone at t = {half:.3g}"
