# label: fast
"""Boundaries of basins in artificial maps."""

import numpy as np
import pytest
import xarray

from popflow.analysis import boundaries


def test_a_straight_boundary():
    outcome = xarray.DataArray([["a", "a", "b"], ["a", "a", "b"]], dims=("e0", "w0"),
                               coords={"e0": [1.0, 2], "w0": [-1.0, 0, 2]})
    found = boundaries(outcome)
    assert found.w0.values.tolist() == [1, 1]
    assert found.e0.values.tolist() == [1, 2]
    assert set(found.across.values) == {"w0"} and set(found.half.values) == {1}
    assert found.before.values.tolist() == ["a", "a"] and found.after.values.tolist() == ["b", "b"]


def test_a_circular_boundary():
    # All points lie at most half a cell from the circle, along the axis on which they were found.
    y = np.linspace(-1, 1, 101)
    x = np.linspace(-1, 1, 101)
    found = boundaries((x[None]**2 + y[:, None]**2 < 0.5).astype(int), x=x, y=y)
    assert found.sizes["point"] > 200
    assert np.abs(np.hypot(found.x, found.y) - np.sqrt(0.5)).max() <= 0.01 + 1e-12
    assert set(found.across.values) == {"x", "y"}


def test_logarithmic_axes_and_order():
    outcome = xarray.DataArray([[1, 0]], dims=("k", "rate"), coords={"k": [0], "rate": [4.0, 1.0]})
    found = boundaries(outcome, log=["rate"])
    assert found.rate.item() == pytest.approx(2)
    assert (found.before.item(), found.after.item()) == (0, 1)


def test_cells_without_an_outcome_have_no_boundary():
    assert boundaries(np.array([[0, np.nan, 1]])).sizes["point"] == 0
    words = np.array([["a", "", "b"]])
    assert boundaries(words).sizes["point"] == 0


def test_a_map_has_two_dimensions():
    with pytest.raises(ValueError, match="two dimensions"):
        boundaries(xarray.DataArray(np.zeros((2, 2, 2))))
