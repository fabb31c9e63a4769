"""Checks that a model has all of its parts before it is built."""

from __future__ import annotations

from typing import Any

from ..derive.reverse import KNOWN
from ..derive.rules import Rules
from ..errors import ModelError
from ..parts import Parts
from ..symbols import in_order, told


def require_complete(model: Parts) -> None:
    """Refuses a model that lacks a part, or has parts that exclude each other."""
    require_arrays(model)
    require_table(model)
    if model.flow is not None:
        raise ModelError("a training state is built with the model of its flow")
    if not model.fields:
        raise ModelError(f"the model {model.name} has no weights")
    if not model.has_loss:
        if not model.rates:
            raise ModelError(f"the model {model.name} has no loss and no equations: call loss() "
                             "or rate()")
        for field in model.fields:
            if id(field.symbol) not in model.rates:
                raise ModelError(f"the weights {field.name} have no equation: call "
                                 f"rate({field.name}, ...), with 0 if they stay")
        require_no_loss(model)
    require_means(model)
    require_noise(model)
    require_training(model)
    missing = [field.name for field in model.fields if id(field.symbol) not in model.solutions]
    if model.solutions and missing:
        raise ModelError(f"the weights {missing[0]} have no exact solution, but others do: call "
                         "solution() for all weights or for none")
    if model.other_state is not None:
        require_states_agree(model, model.other_state)


def require_no_loss(model: Parts) -> None:
    for row in [*model.observables, *model.events, *model.invariants, *model.derived,
                *model.passages, *model.outcomes, *model.finals]:
        if any(node.op in ("population", "initial loss") for node in in_order([row.symbol])):
            raise ModelError(f"{row.name} uses the loss, but the model has none")


def require_means(model: Parts) -> None:
    """Refuses means over the data that have no exact form."""
    if model.means and model.sample_loss is None:
        raise ModelError("mean() needs a model with a loss of a sample, whose population it "
                         "averages over: call loss()")
    if model.means and model.given_population is not None and model.is_finite:
        raise ModelError("mean() sums over the samples of finite(), but population_loss() takes "
                         "the place of that sum: leave population_loss() out")
    for _, value in model.means if not model.sees_forms else []:
        model.mean_formula(value)


def require_arrays(model: Parts) -> None:
    used = [stored.name for law, _ in model.laws for _, stored in law.stored]
    for stored in model.arrays:
        if used.count(stored.name) != 1:
            raise ModelError(f"the array {stored.name} is used {used.count(stored.name)} times; "
                             "finite() must take it once")
    if model.arrays and (len(model.laws) != 1 or model.given_population is not None):
        raise ModelError("arrays of a problem need a single finite() law, and no "
                         "population_loss()")


def require_table(model: Parts) -> None:
    """Refuses what models of dataset() and stream() do not have."""
    if model.table is None:
        return
    what = "dataset()" if model.stream_table is None else "stream()"
    if len(model.laws) > 1 and model.stream_table is None:
        raise ModelError("dataset() must be the only law of the data: put all arrays of a sample "
                         "into it, or use finite()")
    if model.given_population is not None or model.points is not None:
        given = "quadrature()" if model.points is not None else "population_loss()"
        raise ModelError(f"the population of {what} is the mean over its samples: leave {given} "
                         f"out, or use other laws than {what}")
    if model.sample_loss is None:
        return
    formula = Rules("loss")(model.sample_loss)
    unknown = next((node for node in in_order([formula]) if node.op not in KNOWN), None)
    if unknown is not None:
        raise ModelError(f"the loss has the term {unknown.label} ({unknown.op}), which models with "
                         f"{what} do not have: write the term in another way")


def require_noise(model: Parts) -> None:
    for noise in (model.noise_factor, model.noise_covariance):
        if noise is None:
            continue
        if model.sample_loss is not None:
            raise ModelError("the noise of a model with samples follows from the loss; noise() is "
                             "for models by equations")
        if noise.shape[0] != model.entries:
            raise ModelError(f"the noise is {told(noise.shape)}, but the state has {model.entries} "
                             "numbers: call noise() after all weights()")


def require_training(model: Parts) -> None:
    """Checks how samples are drawn, and what depends on the step of training."""
    if model.in_epochs and len(model.laws) > 1:
        raise ModelError("sampling='epochs' needs a single law of data; put the arrays of a sample "
                         "into one finite()")
    if not model.uses_step:
        return
    assert model.sample_loss is not None
    used = next(node.label for node in in_order([model.sample_loss]) if node.op == "training")
    if model.given_population is None:
        raise ModelError(f"the loss depends on {used}, which the flow does not know: give its mean "
                         "over the data and the steps by population_loss()")
    if not any(law.kind == "finite" for law, _ in model.laws) and any(
            node is model.epoch for node in in_order([model.sample_loss])):
        raise ModelError("the loss depends on epoch, but there are no finite data to pass over")


def require_states_agree(flow: Parts, training: Parts) -> None:
    """Brings the observables, events and so on of the training state into the order of the flow's,
    and refuses differences."""
    if not training.fields:
        raise ModelError("the training state has no weights: call weights() of the model that "
                         "training() returned")
    if training.sample_loss is None:
        raise ModelError("the training state has no loss of a sample: call loss() of the model "
                         "that training() returned")
    if flow.arrays or training.arrays:
        raise ModelError("a model with a training state takes no array()")
    for field in [*training.fields, *training.derived]:
        if any(field.name == one.name for one in [*flow.fields, *flow.derived]):
            raise ModelError(f"the flow and the training state both have {field.name}; give the "
                             "fields of one of them other names")
    if flow.has_loss:
        raise ModelError("a flow with a training state of its own is given by equations, rate()")
    loss = [row for row in flow.observables if row.name == "loss"]
    if not loss:
        raise ModelError("the training state has a loss, which is recorded as `loss`: give the "
                         "flow the observable `loss`, too")
    flow.observables.remove(loss[0])
    flow.observables.insert(0, loss[0])
    training.loss_floor = training.loss_floor or loss[0].floor
    for name in ("observables", "events", "constants", "passages", "outcomes", "finals"):
        wanted, own = getattr(flow, name), {row.name: row for row in getattr(training, name)}
        found: list[Any] = []
        for row in wanted:
            if row is loss[0]:
                if "loss" in own:
                    raise ModelError("the training state records its own loss as `loss`; leave out "
                                     "its observable of that name")
                continue
            if row.name in own:
                found.append(own.pop(row.name))
            elif all(node.op in ("parameter", "constant") or node.args
                     for node in in_order([row.symbol])):
                found.append(row)
            else:
                raise ModelError(f"the training state lacks {row.name}, one of the {name} of the "
                                 "flow; both states must have the same")
        if own:
            raise ModelError(f"the flow lacks {next(iter(own))}, one of the {name} of the training "
                             "state; both states must have the same")
        setattr(training, name, found)
    require_arrays(training)
    require_table(training)
    require_noise(training)
    require_training(training)
