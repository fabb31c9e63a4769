# label: fast
"""A model keeps the numbers that it was given: arrays that change afterwards do not change it."""

import numpy as np
import pytest

from popflow.model import Model, categorical, finite, mixture, normal
from popflow.model.key import key_of
from popflow.model.symbols import as_symbol, evaluated, one_hot


def built(given):
    """Returns a model that takes an array in every place that takes one."""
    inputs, labels, weights, matrix, vector = given
    m = Model("copies", "t")
    w = m.weights("w", vector, "weights")
    V = m.weights("V", matrix, "weights")
    stored = m.array("stored", matrix, "an array of the problem")
    laws = [finite(inputs, labels, probability=weights), finite(stored), categorical(weights),
            normal(2, covariance=matrix, mean=vector),
            mixture(normal(2, mean=vector), normal(2), probability=weights[:2])]
    x, y, s, k, z, u = m.data(*laws)
    loss = (w @ (matrix @ x) + vector @ s + np.where(k > 0, vector, w).sum()) ** 2 + y * (z @ u)
    m.loss(loss + np.stack([w, vector]).sum() + (V[[0, 1], [1, 0]] * matrix[0]).sum()
           + np.concatenate([w, vector]).sum() + np.einsum("ij,j", V, vector).sum()
           + np.clip(w, -vector, vector).sum() + np.average(w, weights=vector)
           + one_hot(k, 3).sum())
    m.observable("o", w @ vector, "value")
    m.event("e", w @ vector - 1, "value")
    m.passage("p", V - matrix, "values")
    m.field("f", vector * w, "values")
    m.constant("c", vector.sum() * m.initial_loss, "value")
    m.outcome("r", w[0] > vector[0], "value")
    m.final("l", w @ vector, "value")
    m.invariant("i", w @ vector, "value")
    return m


def test_arrays_that_change_afterwards_do_not_change_a_model():
    def arrays():
        return [np.arange(6.0).reshape(3, 2), np.array([0.0, 1, 2]), np.array([1.0, 2, 1]),
                np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, 0.5])]
    given = arrays()
    changed = built(given)
    for one in given:
        one[...] = 1
    kept = built(arrays())
    assert key_of(changed) == key_of(kept)
    for (one, _), (other, _) in zip(changed.laws, kept.laws):
        for a, b in zip(one.arrays, other.arrays):
            assert (a == b).all()
        for name in ("root", "mean"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    assert np.array_equal(changed.arrays[0].values, kept.arrays[0].values)
    for one, other in zip(changed.fields, kept.fields):
        assert np.array_equal(*(evaluated([row.start], {})[0] for row in (one, other)))


def test_arrays_of_a_model_cannot_be_changed():
    m = Model("fixed", "t")
    x = m.data(finite(np.arange(3.0)))
    for array in (as_symbol([1.0, 2.0]).value, m.laws[0][0].arrays[0], x.samples,
                  m.array("a", [1.0], "an array").values):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
