# label: fast
"""Lines, power laws and their errors on artificial data."""

import numpy as np
import pytest
import xarray

from popflow.analysis import Estimate, LinearThreshold, Threshold, line, log_line, power_law


def test_exact_data_give_exact_laws():
    x = np.array([1.0, 2, 4, 8])
    found = power_law(x, 3 * x**-1.5)
    assert found.exponent.value == pytest.approx(-1.5)
    assert found.prefactor == pytest.approx(3)
    assert found(16) == pytest.approx(3 * 16**-1.5)
    found = log_line(x, 2 - 0.5 * np.log(x))
    assert (found.intercept.value, found.slope.value) == pytest.approx((2, -0.5))


def test_errors_agree_with_a_worked_example():
    # Anscombe's first data set has standard errors 0.118 of the slope and 1.125 of the intercept.
    x = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
    y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]
    found = line(x, y)
    assert found.slope.value == pytest.approx(0.50009, abs=1e-5)
    assert found.slope.error == pytest.approx(0.11791, abs=1e-5)
    assert found.intercept.value == pytest.approx(3.00009, abs=1e-5)
    assert found.intercept.error == pytest.approx(1.12475, abs=1e-5)
    assert found.slope.freedom == 9


def test_points_are_weighted_by_their_errors():
    # Two exact points, and an outlier with a very large error.
    found = line([0, 1, 2], [0, 1, 100], [1e-3, 1e-3, 1e6])
    assert found.slope.value == pytest.approx(1, abs=1e-3)
    # Standard error of the slope through two points at distance 1.
    assert found.slope.error == pytest.approx(1e-3 * np.sqrt(2), rel=1e-6)


@pytest.mark.parametrize("given", [False, True])
def test_intervals_cover(given):
    # 4000 lines through 5 points. The bound is 3.5 standard errors of 0.34% around 95%, which a
    # correct interval misses for less than 1 of 1000 seeds. The normal distribution's 1.96 in place
    # of Student's 3.18 would give 86%.
    random = np.random.default_rng(3)
    x = np.array([50.0, 200, 800, 3200, 12800])
    error = np.array([0.1, 0.3, 0.1, 0.2, 0.1]) if given else 0.2
    y = 1 + 0.8 * np.log(x) + error * random.normal(size=(4000, 5))
    found = log_line(x, y, np.broadcast_to(error, y.shape) if given else None)
    for estimate, truth in ((found.slope, 0.8), (found.intercept, 1)):
        low, high = estimate.interval()
        assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(0.95, abs=0.012)
    if given:
        assert np.mean(found.misfit) == pytest.approx(1, abs=3.5 * np.sqrt(2 / 3 / 4000))


def test_relative_errors_of_a_power_law():
    x, y = np.array([1.0, 2, 4]), np.array([1.0, 2, 4])
    found = power_law(x, y, 0.1 * y)
    assert found.exponent.error == pytest.approx(0.1 / np.log(2) / np.sqrt(2))


def test_a_power_law_of_thresholds():
    x = np.array([1.0, 2, 4])
    found = power_law(x, Threshold(Estimate(np.log(5 * x**2), np.array([0.1, 0.1, 0.1]))))
    assert found.exponent.value == pytest.approx(2) and found.prefactor == pytest.approx(5)
    assert found.exponent.error == pytest.approx(0.1 / np.log(2) / np.sqrt(2))


def test_a_power_law_of_thresholds_on_a_linear_axis():
    x, y = np.array([1.0, 2, 4]), np.array([1.0, 2, 4])
    found = power_law(x, LinearThreshold(Estimate(y, 0.1 * y)))
    assert found.exponent.error == pytest.approx(0.1 / np.log(2) / np.sqrt(2))


def test_a_logarithmic_law_is_distinguished_from_a_power_law():
    x = np.geomspace(1, 1e4, 9)
    logarithmic = power_law(x, 2 + 3 * np.log(x))
    assert logarithmic.log_law_gain > 100
    assert "; a + b log(x) fits better, by " in str(logarithmic)
    power = power_law(x, 3 * x**0.5)
    assert power.log_law_gain < -100
    assert str(power) == f"power {power.exponent}"
    # Falling laws are distinguished as well.
    assert power_law(x, 10 - np.log(x)).log_law_gain > 100
    assert power_law(x, x**-0.5).log_law_gain < -100
    # Data that both laws fit equally, and two points, decide nothing.
    assert power_law(x, np.full(9, 7.0)).log_law_gain == 0
    assert power_law([1, 2], [1, 3], [0.1, 0.1]).log_law_gain == pytest.approx(0, abs=1e-12)
    assert np.isnan(power_law([1, 2], [1, 3]).log_law_gain)
    assert np.isnan(power_law([2, 2, 2], [1, 2, 3]).log_law_gain)


def test_the_gain_agrees_with_sums_of_squares_computed_by_hand():
    # Weights 1, 4 and 1. Computes the power law's sum of squares, and the logarithmic law's least
    # sum on a grid of a and b.
    x, y, error = np.array([1.0, 2, 4]), np.array([1.0, 2, 3]), np.array([0.1, 0.1, 0.3])
    found = power_law(x, y, error)
    relative = error / y
    power = (((np.log(y) - np.log(found(x))) / relative)**2).sum()
    a, b = np.meshgrid(np.linspace(0.9, 1.1, 401), np.linspace(1.2, 1.6, 401))
    law = a[..., None] + b[..., None] * np.log(x)
    logarithmic = (((np.log(y) - np.log(law)) / relative)**2).sum(-1).min()
    assert found.log_law_gain == pytest.approx(power - logarithmic, abs=1e-3)


@pytest.mark.parametrize("given", [False, True])
def test_the_right_law_fits_better_on_data_with_errors(given):
    # 300 samples of either law with errors of 3%. The right law has the lower AICc in nearly all
    # samples, and the wrong one is ahead by 10 in none. The hardest case is a logarithmic law with
    # known errors: the difference is 49 with standard deviation 15 (with errors of 5% it is 18 and
    # 9, and the right law is ahead in 97%).
    random = np.random.default_rng(5)
    x = np.geomspace(10, 10000, 12)
    for law, sign in ((2 + 3 * np.log(x), 1), (x**0.8, -1)):
        y = law * np.exp(0.03 * random.normal(size=(300, 12)))
        gain = sign * power_law(x, y, 0.03 * y if given else None).log_law_gain
        assert np.mean(gain > 0) > 0.97
        assert gain.min() > -10


def test_a_map_counts_where_a_logarithmic_law_fits_better():
    x = xarray.DataArray([1.0, 2, 4, 8], dims="N")
    y = xarray.concat([x**2, 1 + np.log(x)], dim="kind")
    assert str(power_law(x, y)).endswith("; a + b log(x) fits better in 1 of 2")


def test_too_few_points_have_no_line():
    assert np.isnan(line([1, 2], [1, 2]).slope.value)  # two points leave no residual
    assert np.isnan(line([1, 2, 3], [1, np.nan, 3]).slope.value)
    assert line([1, 2], [1, 3], [0.1, 0.1]).slope.value == pytest.approx(2)


def test_values_without_a_logarithm_are_refused():
    with pytest.raises(ValueError, match="y has a value that is not positive"):
        power_law([1, 2, 3], [1, 0, 2])
    with pytest.raises(ValueError, match="x has a value that is not positive"):
        log_line([-1, 2, 3], [1, 0, 2])


def test_maps_keep_their_other_dimensions():
    power = xarray.DataArray([-1.0, -2.0], dims="start")
    y = xarray.DataArray([5.0, 10, 20], dims="N", coords={"N": [5, 10, 20]})**power
    found = power_law(y.N, y)
    assert np.allclose(found.exponent.value, [-1, -2])
    assert found.exponent.value.dims == ("start",)
    low, high = found.exponent.interval()
    assert np.allclose(low, [-1, -2]) and np.allclose(high, [-1, -2])


def test_estimates_are_printed_to_the_precision_of_their_error():
    assert str(Estimate(0.8031, 0.0617)) == "0.803 ± 0.062"
    assert str(Estimate(123.4, 17.2)) == "123 ± 17"
