# label: fast
"""Detection of logarithmic spacing for the axes of figures."""

import numpy as np
import pytest

from popflow.figure.scales import spaced_by_factors


@pytest.mark.parametrize("places", [
    np.logspace(-3, 4, 50),
    np.unique(np.round(np.logspace(0, 5, 60))),  # rounded to whole steps
    [0, 1, 2, 4, 8, 16, 32],
])
def test_powers_are_logarithmically_spaced(places):
    assert spaced_by_factors(places)


@pytest.mark.parametrize("places", [
    np.linspace(0, 60, 201),
    # rounded to steps of 0.01, which makes the spacing uneven
    np.unique(np.round(np.linspace(0, 5, 201), 2)),
    np.round(np.linspace(0, 60, 201), 1),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    [2, 4, 8],  # too few to decide
])
def test_equal_distances_are_not_logarithmically_spaced(places):
    assert not spaced_by_factors(places)
