# label: slow
"""The models of examples/models: each against its exact results, which wrong models fail."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow  # noqa: E402
from popflow.model import Model  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "models"))

import committee  # noqa: E402
import gallery  # noqa: E402
import glm_sgd  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("name", gallery.NAMES)
def test_a_model_has_its_exact_results(name):
    checks = list(importlib.import_module(f"experiments.{name}").checks())
    assert checks and all(check.holds for check in checks), \
        [check for check in checks if not check.holds]


def faster(monkeypatch):
    """Losses and rates are too large by 5%."""
    for call in ("loss", "population_loss"):
        right = getattr(Model, call)
        monkeypatch.setattr(Model, call, lambda m, loss, floor=0.0, right=right:
                            right(m, 1.05 * loss, floor))
    rate = Model.rate
    monkeypatch.setattr(Model, "rate", lambda m, weights, value: rate(
        m, weights, 1.05 * np.array(value)))


def drawn_to_zero(monkeypatch):
    """A penalty of the weights is added to losses: nothing is conserved, and minima move."""
    def penalty(m):
        return 0.02 * sum((row.symbol.ravel()**2).sum() * (k + 1) for k, row in enumerate(m.fields))
    for call in ("loss", "population_loss"):
        right = getattr(Model, call)
        monkeypatch.setattr(Model, call, lambda m, loss, floor=0.0, right=right:
                            right(m, loss + penalty(m), floor))
    # Invariants are not declared: build() would refuse the model.
    monkeypatch.setattr(Model, "invariant", lambda m, name, value, meaning, sign="": [
        m.observable(f"{name}_{k}", value.ravel()[k], meaning) for k in range(value.size)])


def independent_tokens(monkeypatch):
    """All sequences are equally probable, with probabilities that do not sum to 1."""
    monkeypatch.setattr("induction.probability", lambda tokens: np.full(len(tokens), 1.01 / len(tokens)))


OTHERS = {"induction": [independent_tokens]}


@pytest.mark.parametrize("name", gallery.NAMES)
def test_every_check_can_fail(name, monkeypatch):
    checks = importlib.import_module(f"experiments.{name}").checks
    passed = None
    for mistake in (faster, drawn_to_zero, *OTHERS.get(name, [])):
        with monkeypatch.context() as patch:
            mistake(patch)
            held = {check.what for check in checks() if check.holds}
        passed = held if passed is None else passed & held
        if not passed:
            break
    assert not passed, passed


def test_a_committee_stays_at_its_teacher_and_follows_finite_sgd():
    system = committee.model().build()
    run = popflow.run(system, t_end=2, rtol=1e-9, saves=2)
    size, runs = 200, 40
    found = [committee.simulated(size, 2, 1.0, seed) for seed in range(runs)]
    for name, place in (("Q", 0), ("R", 1)):
        values = np.array([one[place] for one in found])
        error = values.std(axis=0, ddof=1) / np.sqrt(runs)
        # Four standard errors (eight comparisons: error rate 5e-4), and the bias of 1/N.
        off = np.abs(values.mean(axis=0) - run[name].values[-1])
        assert (off < 4 * error + 2 / size).all(), (name, off, error)
    q, r = committee.rates(committee.T, committee.T, 1.0)
    assert np.abs(q).max() < 1e-15 and np.abs(r).max() < 1e-15


def test_least_squares_in_high_dimension_have_an_exponential_risk_and_a_largest_rate():
    system = glm_sgd.least_squares().build()
    run = popflow.run(system, t_end=5, rtol=1e-11)
    assert np.abs(run.D - glm_sgd.exact_distance(run.time)).max() < 1e-9
    stable, unstable = (popflow.run(system, gamma=gamma, sigma=0, t_end=20)
                        for gamma in (1.99, 2.01))
    assert stable.risk[-1] < stable.risk[0] and unstable.risk[-1] > unstable.risk[0]
    # Fixed steps of rk4 converge with order 4.
    errors = [abs(float(popflow.run(system, t_end=4, method="rk4", dt=dt, saves=2).D[-1])
                  - glm_sgd.exact_distance(4)) for dt in (1.0, 0.5, 0.25)]
    assert (np.abs(np.log2(np.array(errors[:-1]) / errors[1:]) - 4) < 0.5).all(), errors


def test_phase_retrieval_follows_its_order_parameters():
    run = popflow.run(glm_sgd.phase_retrieval().build(), t_end=4, rtol=1e-9, saves=2)
    size, runs = 200, 60
    found = np.array([glm_sgd.simulated(size, 4, 0.05, seed) for seed in range(runs)])
    error = found.std(axis=0, ddof=1) / np.sqrt(runs)
    # Four standard errors (two comparisons: error rate 1e-4), and the bias of 1/d.
    off = np.abs(found.mean(axis=0) - [float(run.rho[-1]), float(run.overlap[-1])])
    assert (off < 4 * error + 2 / size).all(), (off, error)
