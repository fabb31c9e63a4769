"""Checks of linear attention with several heads, and its experiment: separate heads learn in steps."""

import multi_head as heads
import numpy as np

import popflow

from . import EXACT, FLOW, OTHER, Check

SLOWER = (1.0, 0.7, 0.5)  # eigenvalues of the experiment


def plateaus(run):
    """Returns the losses of the plateaus: where the loss changes most slowly, between two of its
    falls."""
    speed = -np.diff(run.loss.values) / np.diff(run.time.values)
    slowest = [i for i in range(1, len(speed) - 1) if speed[i] < min(speed[i - 1], speed[i + 1])]
    return run.loss.values[slowest]


def checks():
    built_in = popflow.run("linear-attention", eigenvalues=heads.EIGENVALUES, coordinates="full",
                           context_length=heads.PAIRS, init_scale=0.1, t_end=40, saves=9, rtol=1e-10)
    merged = heads.model([built_in.w_PV.values[:1], built_in.W_KQ.values[0]]).build()
    run = popflow.run(merged, t_end=40, saves=9, rtol=1e-10)
    yield Check("one merged head: U against the system linear-attention",
                np.abs(run.U.values - built_in.W_KQ.values).max(), 1e-8)
    yield Check("its loss against that of linear-attention",
                np.abs(run.loss.values - built_in.loss.values).max(), 1e-8)

    # D = H = R = 1: A = u k q obeys the flow of three layers, with time multiplied by gamma lambda^2.
    lam, gamma = heads.curvature([0.8], heads.PAIRS)
    speed = float(gamma[0] * lam[0] ** 2)
    deep = popflow.run("deep-linear", strengths=[1 / gamma[0]], layers=3, init_scale=0.2, rtol=1e-10,
                       t_end=30 * speed, saves=7)
    single = heads.model([[0.2], [[0.2]], [[0.2]]], rank=1, eigenvalues=[0.8]).build()
    run = popflow.run(single, t_end=30, saves=7, rtol=1e-10)
    yield Check("D = H = R = 1: A against a mode of the system deep-linear",
                np.abs(run.A.values.ravel() - deep.mode_strength.values.ravel()).max(), 1e-8)

    separate = heads.model(heads.start(3, 1), rank=1).build()
    run = popflow.run(separate, t_end=400, saves=401, rtol=1e-10)
    found, wanted = plateaus(run), [heads.plateau(k) for k in (1, 2)]
    off = np.abs(found - wanted).max() if len(found) == 2 else np.inf
    yield Check("rank 1: losses of the plateaus, from a start of size 0.01", off, 1e-4)
    drifts = [np.abs(run[f"{name}_{h}"] - run[f"{name}_{h}"][0]).values.max()
              for name in ("balance", "keys_queries") for h in range(3)]
    yield Check("largest drift of the heads' balances", max(drifts), 1e-9)
    # Exact weights of a plateau: head h has learned direction h, and the last head has learned nothing.
    _, gamma = heads.curvature(heads.EIGENVALUES, heads.PAIRS)
    w = gamma ** (-1 / 3) * [1, 1, 0]
    rest = popflow.run(heads.model([w, np.diag(w), np.diag(w)], rank=1).build(), t_end=10, saves=2)
    yield Check("a plateau is a fixed point: change of the loss",
                np.abs(rest.loss.values - heads.plateau(2)).max(), 1e-14)


def experiment(axes):
    systems = {"rank 1": heads.model(heads.start(3, 1, 0.02, SLOWER), 1, SLOWER),
               "rank 2": heads.model(heads.start(3, 2, 0.02, SLOWER), 2, SLOWER),
               "merged": heads.model(heads.start(3, None, 0.02, SLOWER), None, SLOWER)}
    for (name, model), colour in zip(systems.items(), (FLOW, OTHER, "#1b9e77")):
        run = popflow.run(model.build(), t_end=150, saves=301)
        axes.plot(run.time, run.loss, color=colour, label=name)
        if name == "rank 1":
            found = plateaus(run)
    for k in range(4):
        axes.axhline(heads.plateau(k, SLOWER), color=EXACT, linestyle=":", linewidth=0.8,
                     label="exact plateaus" if k == 0 else None)
    axes.legend(fontsize=8)
    axes.set(xlabel="time", ylabel="loss", title="three heads of linear attention")
    return "losses of the plateaus of rank 1: " + ", ".join(f"{loss:.3f}" for loss in found)
