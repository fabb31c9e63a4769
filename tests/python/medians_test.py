# label: fast
"""Medians and their intervals."""

import numpy as np
import pytest
import xarray

from popflow.analysis import median


def test_the_interval_is_made_of_order_statistics():
    # Of 20 values, the 6th and the 15th hold the median with a probability of 95.9%.
    found = median(np.arange(1, 21))
    assert (found.value, found.low, found.high) == (10.5, 6, 15)


def test_few_values_leave_it_open():
    assert median([3, 1, 2, 5, 4]).low == -np.inf
    found = median([3, 1, 2, 5, 4, 6])  # all six on one side: 1 of 32
    assert (found.low, found.high) == (1, 6)


@pytest.mark.parametrize("n", [6, 20, 101])
def test_intervals_cover(n):
    # 4000 samples. The exact coverage is 1 - 2 P(B < k), at least 95% and here at most 96.9%: it is
    # found outside of these limits in less than 1 of 500 seeds.
    samples = np.random.default_rng(n).exponential(size=(4000, n))
    found = median(samples)
    covered = np.mean((found.low <= np.log(2)) & (np.log(2) <= found.high))
    assert 0.94 <= covered <= 0.985


def test_what_is_missing_has_to_be_said():
    times = [1, 2, 3, 4, 5, 6, np.nan, np.nan, np.nan]
    with pytest.raises(ValueError, match="3 of 9 values are NaN"):
        median(times)
    assert median(times, missing="omit").value == 3.5
    late = median(times, missing="late")
    assert (late.value, late.low, late.high) == (5, 2, np.inf)
    assert median([1, np.nan, np.nan], missing="late").value == np.inf


def test_maps_keep_their_other_dimensions():
    values = xarray.DataArray(np.arange(40.0).reshape(2, 20), dims=("T", "run"),
                              coords={"T": [1, 2]})
    found = median(values, "run")
    assert found.value.sel(T=2).item() == 29.5
    assert found.low.dims == ("T",)
