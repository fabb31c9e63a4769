"""Checks of the committee machine, and its experiment: a plateau before each student aligns with a teacher."""

import committee
import numpy as np

import popflow

from . import FLOW, NOISY, Check, saad_solla

SIZES = (10, 20, 40)


def sampled(system, size, runs, t_end, saves=2, rate=None):
    """Runs of online SGD on the students' weights for inputs of a finite size."""
    return popflow.run(system, mode="sgd", learning_rate=rate or 1 / size, batch_size=1, t_end=t_end,
                       runs=runs, saves=saves, seed=size, state="ends")


def deviations(flow):
    """For each size N: mean deviation of Q and R from the flow at t = 2, and their scatter, over runs
    with exact initial Q and R."""
    for size in SIZES:
        J = sampled(committee.model(size).build(check=size == SIZES[0]), size, 4000, 2).J.isel(time_state=-1).values
        ends = np.concatenate([(J @ J.swapaxes(1, 2)).reshape(len(J), -1), J[:, :, :2].reshape(len(J), -1)], axis=1)
        yield (ends.mean(axis=0) - flow), ends.std(axis=0, ddof=1)


def slope(values):
    return float(np.polyfit(np.log(SIZES), np.log(values), 1)[0])


def checks():
    T, system = saad_solla.T, committee.model(SIZES[0]).build()
    run = popflow.run(system, t_end=50, rtol=1e-12, atol=1e-14, saves=26)
    Q, R = saad_solla.integrated(committee.Q0, committee.R0, 1.0, run.time.values)
    off = max(np.abs(run.J_J.values - Q).max(), np.abs(run.J_fixed.values - R).max())
    yield Check("the equations of Saad and Solla", off, 1e-11)
    loss = [saad_solla.error(q, r) for q, r in zip(Q, R)]
    yield Check("their generalisation error", np.abs(run.loss.values - loss).max(), 1e-11)
    rest = popflow.run(system, near=1, t_end=20, rtol=1e-9, saves=3)
    off = max(np.abs(rest.J_J.values - T).max(), np.abs(rest.J_fixed.values - T).max())
    yield Check("Q = R = T stays", off, 1e-13)
    yield Check("its generalisation error", float(np.abs(rest.loss).max()), 1e-14)
    at_two = run.isel(time=1)
    means, scatters = zip(*deviations(np.concatenate([at_two.J_J.values.ravel(), at_two.J_fixed.values.ravel()])))
    # At N = 10 the scatter still has a part of order 1/N.
    yield Check("power of N in the scatter of SGD", slope([s.mean() for s in scatters]), -0.4, -0.6)
    yield Check("power of N in the deviation of its mean",
                slope([np.sqrt((m**2).mean()) for m in means]), -0.7, -1.4)


def experiment(axes):
    flow = popflow.run(committee.model().build(), t_end=100, saves=201)
    axes.plot(flow.time, flow.loss, color=FLOW, label="order parameters")
    for size, marker in ((10, "x"), (40, ".")):
        run = sampled(committee.model(size).build(), size, 1, 100, saves=26).isel(run=0)
        axes.plot(run.time, run.loss, marker, color=NOISY, markersize=4, label=f"a run of SGD, N = {size}")
    axes.legend(fontsize=8)
    axes.set(yscale="log", xlabel="examples / N", ylabel="generalisation error", title="committee machine")
    return f"error on the plateau, at t = 15: {float(flow.loss.sel(time=15, method='nearest')):.3f}"
