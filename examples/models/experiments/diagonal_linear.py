"""Checks of the diagonal linear network, and its experiment: SGD moves the limit of the flow.

The mean limit moves equally far with and without replacement. Without replacement (in epochs) it hardly
scatters."""

import diagonal_linear as diagonal
import numpy as np

import popflow

from . import EXACT, FLOW, NOISY, Check

RATES = (0.01, 0.02, 0.04, 0.08)


def ends(system, rate, **more):
    """Effective weights and u o v / alpha^2 at the end of 32 runs of SGD."""
    runs = popflow.run(system, mode="sgd", learning_rate=rate, batch_size=1, t_end=300, runs=32,
                       saves=2, seed=1, **more).isel(time=-1)
    return runs.beta.values, (runs.u * runs.v).values / 0.1**2


def excess(betas):
    """Mean hyperbolic entropy above that of the flow's limit."""
    least = diagonal.entropy(diagonal.entropy_minimiser())
    return np.mean([diagonal.entropy(beta) for beta in betas]) - least


def checks():
    system = diagonal.model().build()
    inputs, outputs = diagonal.data()
    for alpha in (0.1, 0.3):
        run = popflow.run(system, alpha=alpha, t_end=400, rtol=1e-11)
        off = np.abs(run.beta.values[-1] - diagonal.entropy_minimiser(alpha)).max()
        yield Check(f"limit against the least hyperbolic entropy, alpha = {alpha}", off, 1e-8)
        yield Check(f"drift of u o v, alpha = {alpha}", np.abs(run.u * run.v - alpha**2).values.max(), 1e-9)
    run = popflow.run(diagonal.model(orthogonal=True).build(), t_end=3, rtol=1e-11, saves=4)
    off = [np.abs(beta - diagonal.exact_beta(float(t))).max()
           for t, beta in zip(run.time, run.beta.values)]
    yield Check("orthogonal data: weights against the exact ones", max(off), 1e-8)

    (beta, product), (other, _) = ends(system, 0.02), ends(system, 0.04)
    yield Check("SGD: largest residual at the end", np.abs(beta @ inputs.T - outputs).max(), 1e-8)
    yield Check("SGD: largest mean of u o v / alpha^2", product.mean(axis=0).max(), 0.999, 0.9)
    yield Check("SGD: power of the learning rate in the excess entropy",
                np.log2(excess(other) / excess(beta)), 2.2, 1.8)
    (epochs, _) = ends(diagonal.model(sampling="epochs").build(), 0.04)
    yield Check("epochs: largest residual at the end", np.abs(epochs @ inputs.T - outputs).max(), 1e-8)
    yield Check("epochs: excess entropy over that of draws with replacement",
                excess(epochs) / excess(other), 1.05, 0.95)
    yield Check("epochs: scatter of the limit over that of draws with replacement",
                np.linalg.norm(epochs.std(axis=0)) / np.linalg.norm(other.std(axis=0)), 0.1)


def experiment(axes):
    system = diagonal.model().build()
    found = [excess(ends(system, rate)[0]) for rate in RATES]
    axes.plot(RATES, found, "o", color=NOISY, label="SGD, batches of 1")
    axes.plot(RATES, found[0] * (np.array(RATES) / RATES[0]) ** 2, color=EXACT, linewidth=0.8,
              linestyle=":", label="slope 2")
    axes.axhline(1e-6, color=FLOW, linewidth=3)
    axes.text(RATES[0], 1.2e-6, "flow: 0 (below the axis)", color=FLOW, va="bottom", fontsize=8)
    axes.legend(fontsize=8)
    axes.set_xscale("log")
    axes.set_xticks(RATES, [f"{rate}" for rate in RATES])
    axes.set_xticks([], minor=True)
    axes.set(yscale="log", xlabel="learning rate", ylabel="excess hyperbolic entropy",
             title="diagonal linear network", ylim=(1e-6, None))
    return f"excess entropy {found[0]:.2g} at the learning rate 0.01, {found[-1]:.2g} at 0.08"
