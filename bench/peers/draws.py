"""Alias tables (Walker 1977, Vose 1991), by which all peers draw tokens."""

import numpy as np


def alias_table(weights):
    """n places: the share of each that belongs to its own index, and the index that has the rest."""
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
    """Those of the columns of a matrix, a row each."""
    own, other = zip(*map(alias_table, columns.T))
    return np.array(own), np.array(other)
