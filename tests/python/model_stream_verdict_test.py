# label: slow
"""Verdicts between a flow on fixed samples and training on fresh ones."""

import h5py
import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow  # noqa: E402
from popflow.model import Model, finite, normal, stream  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
N, D = 37, 3
TEACHER = np.array([1.0, -2.0, 0.5])


def least_squares(name, data):
    m = Model(name, "least squares on few samples")
    w = m.weights("w", np.zeros(D), "slopes")
    x, y = m.data(data)
    m.loss((w @ x - y) ** 2 / 2)
    m.event("halved", 1.5 - (w - TEACHER) @ (w - TEACHER), "half of the way is made")
    return m


def verdict(compared, subject, question="range"):
    table = compared.verdicts
    chosen = (table.subject == subject) & (table.question == question)
    row = table.isel(statement=np.flatnonzero(chosen.values)[0]).sel(pair="sgd-flow")
    return row.verdict.item(), row.reason.item(), row


def test_the_error_of_the_samples_is_no_difference(tmp_path):
    fixed = np.random.default_rng(5)
    x, noise = fixed.normal(size=(N, D)), fixed.normal(size=(N, 1))[:, 0]
    y = x @ TEACHER + noise
    fresh = least_squares("fresh", stream(lambda x, noise: (x, TEACHER @ x + noise), normal(D),
                                          normal(), samples=N, seed=5)).build(check=False)
    options = {"rungs": "flow,sgd", "t_end": 3, "delta": 0.002, "saves": 7,
               "save_spacing": "linear"}
    compared = popflow.compare(fresh, learning_rate=0.02, batch_size=64, runs=40,
                               output=tmp_path / "fresh.h5", show=False, **options)
    kind, reason, row = verdict(compared, "loss")
    assert (kind, reason) == ("undecided", "estimated") and not np.isfinite(row.runs_needed)
    # Without the samples' error, this difference would be far beyond the margin.
    last = {"pair": 0, "time": -1}
    difference = abs(compared.loss_difference.isel(last).item())
    margin = compared.loss_margin.item()
    alone = compared.loss_mean_error.sel(rung="sgd").isel(time=-1).item()
    assert difference > margin + 10 * alone
    both = sum(compared.popflow.group(rung).loss_standard_error.isel(time=-1).mean().item()
               for rung in ("flow", "sgd"))
    assert compared.loss_difference_error.isel(last).item() == pytest.approx(np.hypot(alone, both))
    assert compared.loss_band.isel(last).item() >= 1.95 * both
    assert "differ" not in compared.verdicts.verdict.sel(pair="sgd-flow").values
    assert "The population is estimated" in compared.popflow.info()
    with h5py.File(tmp_path / "fresh.h5") as file:
        assert file["comparison"].attrs["population"] == "estimated"
    assert "estimated" in compared.popflow.group("flow").loss.attrs["long_name"]
    # A difference of this size is one if the law is finite: here it comes from large steps.
    known = least_squares("known", finite(x, y)).build(check=False)
    compared = popflow.compare(known, learning_rate=0.1, batch_size=1, runs=400,
                               output=tmp_path / "known.h5", show=False, **options)
    kind, _, row = verdict(compared, "loss")
    assert kind == "differ"
    assert abs(compared.loss_difference.isel(last).item()) < 3 * difference
    assert "population" not in compared.attrs


def test_finished_files_have_the_same_verdicts(tmp_path):
    fresh = least_squares("again", stream(lambda x, noise: (x, TEACHER @ x + noise), normal(D),
                                          normal(), samples=N, seed=5)).build(check=False)
    files = {}
    for mode, more in (("flow", {}), ("sgd", {"batch_size": 64, "runs": 20,
                                                   "learning_rate": 0.02})):
        files[mode] = tmp_path / f"{mode}.h5"
        popflow.run(fresh, mode=mode, t_end=3, saves=7, save_spacing="linear", output=files[mode],
                    show=False, **more)
    compared = popflow.compare(from_=files, delta=0.002, output=tmp_path / "both.h5", show=False)
    kind, reason, _ = verdict(compared, "loss")
    assert (kind, reason) == ("undecided", "estimated")
    assert "differ" not in compared.verdicts.verdict.values


def test_the_bound_holds_for_samples_of_many_sizes():
    """The share of samples by whose error alone the loss of a flow and of training with tiny steps
    are called different: at most 5% with the margin of 5% of the range."""
    rng = np.random.default_rng(3)
    for numbers, samples in ((3, 20), (10, 20), (10, 100)):
        differ, draws = 0, 100
        teacher = np.ones(numbers)
        for _ in range(draws):
            x = rng.normal(size=(samples, numbers))
            y = x @ teacher + rng.normal(size=samples)
            flow, training, beyond, losses = np.zeros(numbers), np.zeros(numbers), [], []
            for step in range(400):
                if step % 40 == 0:
                    ours, others = (x @ flow - y) ** 2 / 2, (x @ training - y) ** 2 / 2
                    error = (ours.std(ddof=1) + others.std(ddof=1)) / np.sqrt(samples)
                    beyond.append((abs(others.mean() - ours.mean()), 1.96 * error))
                    losses.append(ours.mean())
                flow = flow - 0.02 * (x.T @ (x @ flow - y)) / samples
                training = training - 0.02 * (training - teacher)
            margin = 0.05 * np.ptp(losses)
            differ += any(size - band > margin for size, band in beyond)
        assert differ <= 0.05 * draws, (numbers, samples, differ)
