# label: fast
"""The power of T is estimated from random signs, with a correct error."""

import sys
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[2]))
from claims.scb.chance import at_most, power_of_length  # noqa: E402


def test_the_power_is_estimated_and_its_interval_covers_it():
    """Intervals of 95% miss in 5 of 100 draws on average, and in more than 14 with probability
    1e-4."""
    random = np.random.default_rng(1)
    lengths, batches = (axis.ravel() for axis in np.meshgrid([50, 200, 800], [4, 8, 16, 32]))
    for power in (0.5, 1):
        chance = stats.norm.cdf(1.2 * np.sqrt(batches / 16 / (lengths / 200)**power))
        drawn = [power_of_length(lengths, batches, random.binomial(200, chance), [200] * 12)
                 for _ in range(100)]
        missed = [not low <= power <= high for low, high in (one.interval() for one in drawn)]
        assert sum(missed) <= 14
        middle = np.median([one.value for one in drawn])
        assert abs(middle - power) < 0.05
        spread = np.std([one.value for one in drawn])
        assert 0.7 < np.median([one.error for one in drawn]) / spread < 1.3


def test_no_failures_give_an_upper_bound():
    """The rule of three: no failure in n runs is compatible with a probability of 3/n."""
    assert abs(at_most(0, 1000) * 1000 - 3) < 0.05
    assert at_most(5, 100) > 0.05
