# label: fast
"""Thresholds of artificial curves with known middles."""

import numpy as np
import pytest
import xarray

from popflow.analysis import LinearThreshold, logistic, spearman_kaerber

DOSES = np.array([1.0, 2, 4, 8, 16])


def curves(seed, samples, width, spacing, trials, reach):
    """Returns middles of logistic curves with this width (in the logarithm), doses, and
    fractions."""
    random = np.random.default_rng(seed)
    middle = random.uniform(0, spacing, samples)[:, None]
    x = np.arange(-reach, reach, spacing)
    chance = 1 / (1 + np.exp((middle - x) / width))
    return middle[:, 0], np.exp(x), random.binomial(trials, chance) / trials


def coverage(estimate, truth):
    low, high = estimate.interval()
    return np.mean((low <= truth) & (truth <= high))


def test_the_error_of_a_step_between_two_doses_comes_from_their_distance():
    found = spearman_kaerber(DOSES, [0, 0, 1, 1, 1], 32)
    assert found.dose == pytest.approx(np.sqrt(2 * 4))
    assert found.log_dose.error == pytest.approx(np.log(2) / np.sqrt(12))


def test_an_example_computed_by_hand():
    # The curve rises by 1/4, 1/2 and 1/4 at the middles of the intervals between doses. Their
    # distances from dose 1 are in units of log 2.
    found = spearman_kaerber(DOSES, [0, 0.25, 0.75, 1, 1], 17)
    assert np.log2(found.dose) == pytest.approx(0.5 / 4 + 1.5 / 2 + 2.5 / 4)
    variance = 2 * (3 / 16) / 16 + (1 / 16 + 1 / 4 + 1 / 16) / 12
    assert found.log_dose.error == pytest.approx(np.log(2) * np.sqrt(variance))


def test_falling_neighbours_are_pooled_by_their_trials():
    falling = spearman_kaerber(DOSES, [0, 0.6, 0.4, 1, 1], [10, 10, 30, 10, 10])
    pooled = spearman_kaerber(DOSES, [0, 0.45, 0.45, 1, 1], [10, 10, 30, 10, 10])
    assert falling == pooled


def test_order_and_missing_cells_do_not_matter():
    one = spearman_kaerber(DOSES, [0, 0.25, 0.75, 1, 1], 17)
    other = spearman_kaerber([16, 4, 3, 2, 8, 1], [1, 0.75, np.nan, 0.25, 1, 0], 17)
    assert one == other


@pytest.mark.parametrize("fraction, end", [([0.1, 0.5, 1, 1, 1], "lowest dose, 1,"),
                                           ([0, 0, 0.5, 0.9, 0.9], "highest dose, 16,")])
def test_a_truncated_curve_is_refused_or_extended(fraction, end):
    with pytest.raises(ValueError, match=f"{end}.*ends=\"extend\""):
        spearman_kaerber(DOSES, fraction, 32)
    assert np.isnan(spearman_kaerber(DOSES, fraction, 32, undetermined="nan").dose)
    extended = spearman_kaerber(DOSES, fraction, 32, ends="extend")
    whole = spearman_kaerber([0.5, *DOSES, 32], [0, *fraction, 1], 32)
    assert extended.dose == pytest.approx(whole.dose)
    assert extended.log_dose.error == pytest.approx(whole.log_dose.error)


def test_a_curve_far_from_its_ends_is_not_extended():
    with pytest.raises(ValueError, match="at the lowest dose, 1, the fraction is 0.3") as refused:
        spearman_kaerber(DOSES, [0.3, 0.5, 1, 1, 1], 32, ends="extend")
    assert "extend" not in str(refused.value)
    found = spearman_kaerber(DOSES, [[0.3, 0.5, 1, 1, 1], [0.2, 0.5, 1, 1, 1]], 32, ends="extend",
                             undetermined="nan")
    assert np.isnan(found.dose).tolist() == [True, False]


@pytest.mark.parametrize("width, spacing, least, most", [
    (0.5, 0.4, 0.96, 0.99),  # smooth compared with the spacing: intervals are conservative
    (0.05, 0.7, 0.99, 1.0),  # a step: the threshold lies between the two doses
])
def test_spearman_kaerber_covers(width, spacing, least, most):
    # 1000 curves; measured coverage 97.6% and 100%. A coverage of 95% would pass the first case for
    # 7% of seeds, and one of 94% for 0.4%.
    truth, dose, fraction = curves(7, 1000, width, spacing, 32, 10)
    found = spearman_kaerber(dose, fraction, 32, undetermined="nan").log_dose
    assert np.isfinite(found.value).all()
    assert least <= coverage(found, truth) <= most


def test_an_extended_curve_covers():
    truth, dose, fraction = curves(8, 1000, 0.5, 0.4, 32, 1.7)
    cut = (fraction[:, 0] > 0) | (fraction[:, -1] < 1)
    inside = (fraction[:, 0] <= 0.2) & (fraction[:, -1] >= 0.8)
    assert np.mean(cut) > 0.5 and np.mean(inside) > 0.9
    found = spearman_kaerber(dose, fraction[inside], 32, ends="extend").log_dose
    assert coverage(found, truth[inside]) > 0.94


def test_logistic_recovers_an_exact_curve():
    x = np.log(DOSES)
    chance = 1 / (1 + np.exp(-(x - 1.3) * 2.5))
    found = logistic(DOSES, np.rint(chance * 1e6) / 1e6, 1e6)
    assert found.threshold.dose == pytest.approx(np.exp(1.3), rel=1e-4)
    assert found.slope.value == pytest.approx(2.5, rel=1e-4)


def test_logistic_errors_are_the_inverse_information():
    # Threshold m and slope b are the parameters; most doses lie above m.
    x, m, b, trials = np.log(DOSES), 0.2, 1.0, 10**6
    chance = 1 / (1 + np.exp(-b * (x - m)))
    slopes = np.stack([-b * np.ones(5), x - m])
    information = trials * (chance * (1 - chance) * slopes) @ slopes.T
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    found = logistic(DOSES, np.rint(chance * trials) / trials, trials)
    assert found.threshold.log_dose.error == pytest.approx(errors[0], rel=1e-3)
    assert found.slope.error == pytest.approx(errors[1], rel=1e-3)


def test_logistic_covers():
    # 200 curves. The bound is 3.5 standard errors below 95%, which a correct interval misses for
    # less than 1 of 1000 seeds.
    truth, dose, fraction = curves(9, 200, 0.5, 0.4, 32, 2.2)
    found = logistic(dose, fraction, 32)
    assert 0.896 <= coverage(found.threshold.log_dose, truth) <= 1
    assert 0.896 <= coverage(found.slope, 2) < 1


def test_a_linear_axis_uses_the_doses_themselves():
    # The logarithms of doses on a linear axis are equivalent to the doses on a logarithmic axis.
    fraction = [0.1, 0.2, 0.6, 0.9, 0.95]
    for threshold, options in ((logistic, {}), (spearman_kaerber, {"ends": "extend"})):
        one = threshold(DOSES, fraction, 40, **options)
        other = threshold(np.log(DOSES), fraction, 40, scale="linear", **options)
        if threshold is logistic:
            assert other.slope.value == pytest.approx(one.slope.value, rel=1e-6)
            assert other.slope.error == pytest.approx(one.slope.error, rel=1e-6)
            one, other = one.threshold, other.threshold
        assert isinstance(other, LinearThreshold)
        assert other.dose == pytest.approx(one.log_dose.value, rel=1e-6)
        assert other.place.error == pytest.approx(one.log_dose.error, rel=1e-6)
        assert np.exp(other.interval()) == pytest.approx(one.interval(), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1, 1e6])
def test_logistic_on_a_linear_axis_in_any_unit(unit):
    # Doses on both sides of 0, which a logarithmic axis cannot have.
    dose = unit * np.array([-2.0, -1, 0, 1, 2])
    chance = 1 / (1 + np.exp(-(dose / unit - 0.3) * 1.5))
    found = logistic(dose, np.rint(chance * 1e6) / 1e6, 1e6, scale="linear")
    assert found.threshold.dose == pytest.approx(0.3 * unit, rel=1e-4)
    assert found.slope.value == pytest.approx(1.5 / unit, rel=1e-4)


def test_logistic_on_a_linear_axis_covers():
    # 200 curves; the bounds are those of the logarithmic axis.
    truth, dose, fraction = curves(9, 200, 0.5, 0.4, 32, 2.2)
    found = logistic(np.log(dose), fraction, 32, scale="linear")
    assert 0.896 <= coverage(found.threshold, truth) <= 1
    assert 0.896 <= coverage(found.slope, 2) < 1


def test_messages_on_a_linear_axis_name_its_doses():
    with pytest.raises(ValueError, match="between -1 and 1, and no slope is too steep"):
        logistic([-2, -1, 1, 2], [0, 0, 1, 1], 32, scale="linear")
    with pytest.raises(ValueError, match="at the lowest dose, -2, the fraction is 0.5"):
        spearman_kaerber([-2, -1, 1, 2], [0.5, 0.5, 1, 1], 32, scale="linear")
    for threshold in (logistic, spearman_kaerber):
        with pytest.raises(ValueError, match="scale is log or linear, not 'lin'"):
            threshold(DOSES, [0, 0.2, 0.5, 1, 1], 32, scale="lin")


def test_logistic_refuses_curves_without_a_slope():
    with pytest.raises(ValueError, match="between 2 and 4, and no slope is too steep"):
        logistic(DOSES, [0, 0, 1, 1, 1], 32)
    with pytest.raises(ValueError, match="between 4 and 4"):
        logistic(DOSES, [0, 0, 0.5, 1, 1], 32)
    with pytest.raises(ValueError, match="all runs fail"):
        logistic(DOSES, [0, 0, 0, 0, 0], 32)
    assert np.isnan(logistic(DOSES, [0, 0, 1, 1, 1], 32, undetermined="nan").threshold.dose)


def test_maps_keep_their_other_dimensions():
    fraction = xarray.DataArray([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]], dims=("length", "batch_size"),
                                coords={"length": [50, 200], "batch_size": DOSES})
    found = spearman_kaerber(fraction.batch_size, fraction, 32)
    assert found.dose.dims == ("length",)
    assert found.dose.sel(length=200).item() == pytest.approx(np.sqrt(4 * 8))
    transposed = spearman_kaerber(fraction.batch_size, fraction.T, fraction.T * 0 + 32)
    assert np.array_equal(transposed.dose, found.dose)


@pytest.mark.parametrize("dose, fraction, said", [
    ([0, 1, 2], [0, 0.5, 1], "0 is not"), ([1, 2, 4], [0, 0.5, 1.5], "between 0 and 1"),
    ([1, 1, 2], [0, 0.5, 1], "all of them different"), ([1], [0], "two doses")])
def test_impossible_doses_and_fractions_are_refused(dose, fraction, said):
    for threshold in (spearman_kaerber, logistic):
        with pytest.raises(ValueError, match=said):
            threshold(dose, fraction, 32)
