# label: slow
"""The models of examples/models agree with their exact results, which wrong models fail.

A model's plug-in also holds its mistakes, each switched on by a parameter that is 0 by default: so
most wrong models need no build of their own. A switch that is off multiplies by 1 or adds 0. The
nightly test checks the models without switches."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow.model  # noqa: E402
from popflow.model import Model  # noqa: E402
from popflow.model.symbols import as_symbol, evaluated  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "models"))

import gallery  # noqa: E402
import glm_sgd  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache", "mistakes_in_models")

SWITCHES = ("faster", "drawn_to_zero", "louder_noise")
on = set()


@pytest.fixture(scope="module")
def mistakes_in_models():
    """Adds switches of mistakes to all models that are made, and gives them to runs."""
    with pytest.MonkeyPatch.context() as patch:
        add_switches(patch)
        yield


def add_switches(patch):
    symbols = {}

    def switch(m, name):
        """Returns a parameter of a model, which is declared when it is first asked for."""
        owner = m.flow or m
        if name not in {row.name for row in owner.parameters}:
            symbol = owner.parameter(name, 0.0, "a mistake", low=0, high=1)
            symbols[id(symbol)] = (symbol, name)
        return next(row.symbol for row in owner.parameters if row.name == name)

    def wrong_loss(m, loss):
        """Makes losses too large by 5%, or adds a penalty on the weights: invariants are then not
        conserved, and minima move."""
        penalty = sum(squares(row.symbol) * (k + 1) for k, row in enumerate(m.fields))
        return (1 + 0.05 * switch(m, "faster")) * loss + 0.02 * switch(m, "drawn_to_zero") * penalty

    for right in (Model.loss, Model.population_loss):
        patch.setattr(Model, right.__name__, lambda m, loss, floor=0.0, right=right:
                      right(m, wrong_loss(m, loss), floor))

    def squares(weights):
        """The sum of squares, by rows: a function of the overlaps of rows."""
        rows = weights if weights.ndim == 2 else weights.reshape(1, -1)
        return sum(row @ row for row in rows)

    rate, noise, build, run, sweep = (Model.rate, Model.noise, Model.build, popflow.run,
                                      popflow.sweep)
    patch.setattr(Model, "rate", lambda m, weights, value: rate(
        m, weights, (1 + 0.05 * switch(m, "faster")) * as_symbol(value)))
    patch.setattr(Model, "noise", lambda m, covariance: noise(
        m, covariance=(1 + switch(m, "louder_noise")) * covariance))

    def built(m, **given):
        system = build(m, **given)
        system.switches = {row.name for row in m.parameters} & set(SWITCHES)
        return system

    def switched(system):
        return {name: 1 for name in on & getattr(system, "switches", set())}

    patch.setattr(Model, "build", built)
    patch.setattr(popflow, "run", lambda system, **given: run(system, **given, **switched(system)))
    patch.setattr(popflow, "sweep",
                  lambda system, **given: sweep(system, **given, **switched(system)))
    patch.setattr("experiments.induction.evaluated", lambda roots, known: evaluated(
        roots, {**known, **{key: float(name in on) for key, (_, name) in symbols.items()}}))

    simulated, known = glm_sgd.simulated, {}

    def simulated_once(*given, **more):
        key = repr((given, more))
        if key not in known:
            known[key] = simulated(*given, **more)
        return known[key]

    patch.setattr(glm_sgd, "simulated", simulated_once)


@pytest.mark.parametrize("name", gallery.NAMES)
def test_a_model_agrees_with_its_exact_results(name):
    checks = list(importlib.import_module(f"experiments.{name}").checks())
    assert checks and all(check.holds for check in checks), \
        [check for check in checks if not check.holds]


def independent_tokens(monkeypatch):
    """Makes all sequences equally probable, with probabilities that do not sum to 1."""
    monkeypatch.setattr("induction.probability",
                        lambda tokens: np.full(len(tokens), 1.01 / len(tokens)))


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


def larger_spread(monkeypatch):
    """Doubles the variance of the exact spread."""
    right = glm_sgd.exact_spread
    monkeypatch.setattr(glm_sgd, "exact_spread", lambda *given: np.sqrt(2) * right(*given))


# Names of switches, and functions that change a module.
MISTAKES = {"diagonal_linear": ["faster", "drawn_to_zero", other_data_in_epochs],
            "induction": ["faster", "drawn_to_zero", independent_tokens],
            "glm_sgd": ["faster", "louder_noise", larger_spread],
            "committee": ["faster", "drawn_to_zero", wrong_steps]}


@pytest.mark.parametrize("name", gallery.NAMES)
def test_every_check_can_fail(name, monkeypatch):
    checks = importlib.import_module(f"experiments.{name}").checks
    passed = None  # checks that hold in spite of all mistakes so far
    for mistake in MISTAKES.get(name, ["faster", "drawn_to_zero"]):
        with monkeypatch.context() as patch:
            if callable(mistake):
                mistake(patch)
            else:
                patch.setattr(sys.modules[__name__], "on", {mistake})
            held, seen = set(), set()
            for check in checks():
                held |= {check.what} if check.holds else set()
                seen.add(check.what)
                if passed is not None and passed <= seen:
                    break
        passed = held if passed is None else passed & held
        if not passed:
            break
    assert not passed, passed
