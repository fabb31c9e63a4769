# label: slow
"""The SDE of overlaps in many, but finite dimensions has the mean and the spread of SGD."""

import re

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow  # noqa: E402
from popflow.model import Model, ModelError, normal  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
D, RUNS = 400, 400


def students(number, function, along=0.3, across=0.8):
    """Students that learn the sum of functions of their fields from a teacher, from a start of
    these sizes along the teacher and across."""
    m = Model("students", "students and a teacher")
    start = np.zeros((number, D))
    start[:, 0], start[np.arange(number), 1 + np.arange(number)] = along, across
    J = m.weights("J", start, "students")
    x = m.data(normal(D))
    m.loss((function(J @ x).sum() - function(x[0])) ** 2 / 2)
    m.observable("alignment", J[0] @ np.eye(D)[0], "overlap of the first student")
    m.observable("size", J[0] @ J[0], "squared norm of the first student")
    m.end = 2
    return m


@pytest.mark.parametrize("number, function, start, gamma, batch", [
    # From a small start, the noise of squared steps is larger than that of steps.
    (1, lambda z: z, (0.05, 0.1), 1.0, 1), (2, lambda z: z, (0.3, 0.8), 0.6, 2),
    (1, lambda z: z**2 / 2, (0.3, 0.8), 0.2, 1),
    (1, lambda z: np.maximum(z, 0), (0.3, 0.8), 1.0, 1)],
    ids=["small start", "two students", "squares", "relu"])
def test_the_sde_of_overlaps_has_the_mean_and_the_spread_of_sgd(number, function, start, gamma,
                                                                batch):
    """Each of the 2 * 5 means, and each of the variances, is off by more than 4.9 standard errors
    with a probability of 1e-6, so that one of the four tests fails by chance with a probability
    of 8e-5. In finite dimensions, means and logarithms of variances are off by numbers of order
    1/d."""
    words = {"gamma": gamma, "batch": batch, "learning_rate": 1 / D, "batch_size": batch,
             "runs": RUNS, "t_end": 1, "saves": 6, "save_spacing": "linear"}
    m = students(number, function, *start)
    sgd = popflow.run(m.high_dimension().build(check=False), mode="sgd", seed=1, **words)
    sde = popflow.run(m.high_dimension(noise=True).build(), mode="sde", dt=1 / D, seed=2, **words)
    for name in ("alignment", "size"):
        a, b = (run[name].values[:, 1:] for run in (sgd, sde))
        error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / RUNS)
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4.9 * error + 1 / D).all(), name
        ratio = np.log(a.var(axis=0) / b.var(axis=0))
        # The variance of a sample's variance, without the assumption that runs are normal.
        kurtosis = [((x - x.mean(axis=0)) ** 4).mean(axis=0) / x.var(axis=0) ** 2 for x in (a, b)]
        assert (np.abs(ratio) < 4.9 * np.sqrt((kurtosis[0] + kurtosis[1] - 2) / RUNS) + 20 / D
                ).all(), (name, ratio)


def test_noise_of_overlaps_without_exact_means_is_refused():
    with pytest.raises(ModelError, match=re.escape("abs(")):
        students(2, lambda z: np.maximum(z, 0)).high_dimension(noise=True).build()
    with pytest.raises(ModelError, match="sphere"):
        m = students(1, lambda z: z)
        m.sphere(m.fields[0].symbol)
        m.high_dimension(noise=True)
