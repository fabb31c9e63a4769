# label: slow
"""The models of examples/models agree with their exact results, which wrong models fail."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow.model  # noqa: E402
from popflow.model import Model  # noqa: E402
from popflow.model.symbols import as_symbol  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "models"))

import committee  # noqa: E402
import gallery  # noqa: E402
import glm_sgd  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("name", gallery.NAMES)
def test_a_model_agrees_with_its_exact_results(name):
    checks = list(importlib.import_module(f"experiments.{name}").checks())
    assert checks and all(check.holds for check in checks), \
        [check for check in checks if not check.holds]


def faster(monkeypatch):
    """Makes losses and rates too large by 5%."""
    for call in ("loss", "population_loss"):
        right = getattr(Model, call)
        monkeypatch.setattr(Model, call, lambda m, loss, floor=0.0, right=right:
                            right(m, 1.05 * loss, floor))
    rate = Model.rate
    monkeypatch.setattr(Model, "rate", lambda m, weights, value: rate(
        m, weights, 1.05 * as_symbol(value)))


def drawn_to_zero(monkeypatch):
    """Adds a penalty on the weights to losses: invariants are not conserved, and minima move."""
    def penalty(m):
        return 0.02 * sum((row.symbol.ravel()**2).sum() * (k + 1) for k, row in enumerate(m.fields))
    for call in ("loss", "population_loss"):
        right = getattr(Model, call)
        monkeypatch.setattr(Model, call, lambda m, loss, floor=0.0, right=right:
                            right(m, loss + penalty(m), floor))
    # Declares observables instead of invariants, since build() would refuse the model.
    monkeypatch.setattr(Model, "invariant", lambda m, name, value, meaning, sign="": [
        m.observable(f"{name}_{k}", value.ravel()[k], meaning) for k in range(value.size)])


def independent_tokens(monkeypatch):
    """Makes all sequences equally probable, with probabilities that do not sum to 1."""
    monkeypatch.setattr("induction.probability",
                        lambda tokens: np.full(len(tokens), 1.01 / len(tokens)))


def larger_students(monkeypatch):
    """Makes the committee's equations and error use a Q that is too large by 1%."""
    for name in ("rates", "error"):
        right = getattr(committee, name)
        monkeypatch.setattr(committee, name,
                            lambda Q, *others, right=right: right(1.01 * Q, *others))


def wrong_steps(monkeypatch):
    """Makes SGD of the committee use the learning rate 1/20 for all N."""
    from experiments import committee as experiment
    right = experiment.sampled
    monkeypatch.setattr(experiment, "sampled",
                        lambda *given: right(*given, rate=1 / 20))


def other_data_in_epochs(monkeypatch):
    """Makes training in epochs use larger data, drawn with replacement."""
    def finite(*arrays, sampling):
        scale = 1.1 if sampling == "epochs" else 1
        return popflow.model.finite(*[scale * array for array in arrays])
    monkeypatch.setattr("diagonal_linear.finite", finite)


def louder_noise(monkeypatch):
    """Doubles the covariance of the SDE's noise."""
    right = Model.noise
    monkeypatch.setattr(Model, "noise", lambda m, covariance: right(m, covariance=2 * covariance))


def larger_spread(monkeypatch):
    """Doubles the variance of the exact spread."""
    right = glm_sgd.exact_spread
    monkeypatch.setattr(glm_sgd, "exact_spread", lambda *given: np.sqrt(2) * right(*given))


MISTAKES = {"diagonal_linear": [faster, drawn_to_zero, other_data_in_epochs],
            "induction": [faster, drawn_to_zero, independent_tokens],
            "glm_sgd": [faster, louder_noise, larger_spread],
            "committee": [larger_students, wrong_steps]}


@pytest.mark.parametrize("name", gallery.NAMES)
def test_every_check_can_fail(name, monkeypatch):
    checks = importlib.import_module(f"experiments.{name}").checks
    passed = None
    for mistake in MISTAKES.get(name, [faster, drawn_to_zero]):
        with monkeypatch.context() as patch:
            mistake(patch)
            held = {check.what for check in checks() if check.holds}
        passed = held if passed is None else passed & held
        if not passed:
            break
    assert not passed, passed
