"""Alias tables (Walker 1977, Vose 1991) for drawing tokens, used by all peers."""

import numpy as np


def alias_table(weights):
    """Returns for each place the probability of its own index, and the alias that is drawn otherwise."""
    n = len(weights)
    share = np.asarray(weights, float) / np.sum(weights) * n
    other = np.arange(n)
    small, large = ([*np.flatnonzero(share < 1)], [*np.flatnonzero(share >= 1)])
    own = np.ones(n)
    while small and large:
        low, high = small.pop(), large.pop()
        own[low], other[low] = share[low], high
        share[high] -= 1 - share[low]
        (large if share[high] >= 1 else small).append(high)
    return own, other


def alias_tables(columns):
    """Returns the alias tables of a matrix's columns, as rows."""
    own, other = zip(*map(alias_table, columns.T))
    return np.array(own), np.array(other)
