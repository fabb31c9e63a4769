"""Checks of a model's numbers at its start."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..derive.rules import Rules
from ..errors import ModelError
from ..parts import Map, Parts
from ..symbols import Symbol, evaluated


def require_finite(model: Parts) -> None:
    """Evaluates the model at its start, and names the first term that is not finite."""
    rules = Rules("rate")  # terms of branches that are not chosen may be undefined
    known: dict[int, Any] = {id(row.symbol): row.default for row in model.parameters}
    for field in model.fields:
        assert field.start is not None
        (value,) = evaluated([rules(field.start)], known, refuse(f"the start of {field.name}"))
        known[id(field.symbol)] = value
    if model.is_finite:
        weights = [law.probability for law, _ in model.laws if law.probability is not None]
        for weight, value in zip(weights, evaluated(weights, known)):
            bad = np.flatnonzero(~np.isfinite(value) | (value < 0))
            if len(bad) or value.sum() <= 0:
                raise ModelError(f"the probabilities {weight.label} are {value[:4]} ... with "
                                 "the default parameters; they must be finite, not negative, "
                                 "and not all 0")
    for root in model.rates.values() if not model.smalls else []:  # the plug-in checks its own
        evaluated([rules(root)], known, refuse("the rate"))
    for noise in (model.noise_factor, model.noise_covariance):
        if noise is not None and not model.smalls:
            evaluated([rules(noise)], known, refuse("the noise"))
    for field in model.fields:
        for one in model.maps.get(id(field.symbol), []):
            require_linear(one, field.name, known)
    if model.other_state is not None:
        require_finite(model.other_state)
    if model.given_population is not None:
        evaluated([rules(model.given_population)], known, refuse("the population loss"))
    if model.sample_loss is not None and model.is_finite:
        rows, _ = model.nodes()
        for row in rows[:16]:
            begin = 0
            for symbol in model.base:
                known[id(symbol)] = row[begin:begin + symbol.size].reshape(symbol.shape)
                begin += symbol.size
            evaluated([rules(model.sample_loss)], known, refuse("the loss"))


def refuse(what: str) -> Any:
    def look(node: Symbol, value: Any) -> None:
        if not np.isfinite(value).all():
            raise ModelError(f"{what} is not finite at the start: the term {node.label} is "
                             f"{np.ravel(value)[~np.isfinite(np.ravel(value))][0]}, with the "
                             "default parameters")
    return look


def require_linear(one: Map, name: str, known: dict[int, Any]) -> None:
    """Refuses a preconditioner or projection that is not linear, by numbers at the start."""
    rng = np.random.default_rng(1)
    shape = one.direction.shape
    a, b = rng.normal(size=shape), rng.normal(size=shape)

    def at(v: Any) -> np.ndarray:
        (value,) = evaluated([one.result], {**known, id(one.direction): v})
        return np.asarray(value)

    what = f"the {'projection' if one.is_projection else 'preconditioner'} of {name}"
    whole = at(a + 2 * b)
    allowed = 1e-10 * max(1.0, float(np.abs(whole).max()))
    if not np.isfinite(whole).all():
        raise ModelError(f"{what} is not finite at the start")
    if np.abs(at(a) + 2 * at(b) - whole).max() > allowed:
        raise ModelError(f"{what} is not linear in the direction that it is given")
    if one.is_projection and np.abs(at(at(a)) - at(a)).max() > allowed:
        raise ModelError(f"{what} is no projection: applied twice, it differs from applied once")
