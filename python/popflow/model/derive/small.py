"""Means of small formulas of linear forms, as symbols: a printed function computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ModelError
from ..laws import Law
from ..symbols import Symbol, as_symbol, joined
from .forms import MOST_SAMPLES, Forms, replaced
from .reverse import gradient
from .rules import Rules


class Small:
    """Means of scalars of a sample.

    `formulas` has the scalars as formulas of forms, for each sample of the finite laws; `share` the
    probabilities of these samples. The function `name` computes `result` from `inputs`: the means
    and, with slopes, the derivatives of the first mean by the inputs. The first `begin` inputs are
    covariances of forms, at the places of pairs; other covariances are numbers.
    """

    def __init__(self, forms: Forms, formulas: list[list[Symbol]], share: Symbol, name: str,
                 has_slopes: bool, over: Callable[[Symbol], Symbol] = lambda symbol: symbol
                 ) -> None:
        self.forms, self.formulas, self.share = forms, formulas, share
        self.name, self.has_slopes, self.count = name, has_slopes, len(formulas[0])
        parts, self.places, self.numbers = forms.products()
        self.begin = sum(part.size for part in parts)
        parts += [free.reshape(-1) for free, _ in forms.inputs]
        rules = Rules("loss" if has_slopes else "values")
        size = sum(part.size for part in parts)
        self.inputs = joined([rules(over(part)) for part in parts], (size,), "inputs of the mean")
        self.result = Symbol("small", (self.inputs,), (self.count + size * has_slopes,), "mean",
                             name)

    def derivatives(self, by: Sequence[Symbol]) -> list[Symbol]:
        """The derivatives of the first mean: those of sum(slopes * inputs), with fixed slopes."""
        slopes = Symbol("number", (), self.inputs.shape, "slopes")
        _, found = gradient((slopes * self.inputs).sum(), by, as_symbol(1.0))
        return replaced(found, {id(slopes): self.result[self.count:]})


def small_formulas(model: Any, values: Sequence[Symbol]
                   ) -> tuple[Forms, list[list[Symbol]], Symbol]:
    """The forms that scalars of a sample see; for each sample of finite laws, the scalars as small
    formulas; and the probabilities of these samples."""
    laws: list[tuple[Law, list[Symbol]]] = model.laws
    normal = {id(symbol): symbol for law, symbols in laws if law.kind == "normal"
              for symbol in symbols}
    forms = Forms(normal)
    rows, weight = model.combined(None)
    if len(rows) > MOST_SAMPLES:
        raise ModelError(f"the finite laws have {len(rows)} combinations of samples beside normal "
                         f"data; exact means take up to {MOST_SAMPLES}")
    small: list[list[Symbol]] = []
    for row in rows:
        known, begin = {}, 0
        for symbol in model.base:
            if id(symbol) not in normal:
                known[id(symbol)] = as_symbol(row[begin:begin + symbol.size].reshape(symbol.shape))
            begin += symbol.size
        small.append([forms(one) for one in replaced(values, known)])
    return forms, small, forms.input(weight)
