"""Gauss-Hermite rules for means over few normal numbers, and the choice of their points."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

MOST_FORMS = 4  # normal numbers of a mean
# Points of a rule in each dimension. A rule is judged by the change when they are doubled. The
# doubled rule has one point more: its point at the mean shows features that are so narrow that both
# rules would step over them.
LADDER = (8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
TARGET = 1e-10  # change of means and derivatives under doubling, at the start
# Points whose weight, a product, is smaller are left out. The doubled rule keeps more of the tail,
# so that its change also shows what the cut leaves out.
CUT, CUT_OF_DOUBLED = 1e-22, 1e-40
MOST_POINTS, MOST_POINTS_OF_DOUBLED = 2**19, 2**22  # in all dimensions together
# Rules are also compared with sums over dense grids, along lines through a few drawn points.
TARGET_OF_LINES, LINES, GRID = 1e-8, 4, np.linspace(-11.0, 11.0, 4001)
BLOCK = 2**16  # points that are evaluated at once


@cache
def whole_rule(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the rule for the standard normal law, exact for polynomials of degree
    2 points - 1. Weights are the inverse Christoffel sums of the orthonormal polynomials, whose
    recursion is scaled, since the polynomials overflow from about 300 points on."""
    diagonal = np.sqrt(np.arange(1.0, points))
    matrix = np.diag(diagonal, 1) + np.diag(diagonal, -1)
    nodes = np.linalg.eigvalsh(matrix)
    nodes = (nodes - nodes[::-1]) / 2
    before, value = np.zeros(points), np.ones(points)
    total, scale = np.ones(points), np.zeros(points)
    for k in range(1, points):
        before, value = value, (nodes * value - np.sqrt(k - 1) * before) / np.sqrt(k)
        total = total + value**2
        large = np.abs(value) > 1e100
        factor = np.where(large, 1e-100, 1.0)
        before, value, total = before * factor, value * factor, total * factor**2
        scale += 2 * np.log(factor)
    weights = np.exp(scale - np.log(total))
    return nodes, weights / weights.sum()


def rule(points: int, is_doubled: bool) -> tuple[np.ndarray, np.ndarray]:
    """The nodes and weights that a rule keeps, the largest weight first."""
    nodes, weights = whole_rule(points)
    order = np.argsort(-weights, kind="stable")
    kept = order[weights[order] > (CUT_OF_DOUBLED if is_doubled else CUT)]
    return nodes[kept], weights[kept]


def doubled(points: int) -> int:
    return 2 * points + 1


def can_take(points: int, forms: int) -> bool:
    """Returns whether a rule of this many points in each dimension, and the doubled one, are small
    enough."""
    return (len(rule(points, False)[0]) ** forms <= MOST_POINTS
            and len(rule(doubled(points), True)[0]) ** forms <= MOST_POINTS_OF_DOUBLED)


def factor_of(covariance: np.ndarray) -> np.ndarray:
    """The Cholesky factor of a covariance, with columns of 0 where it is singular."""
    size = len(covariance)
    found = np.zeros((size, size))
    for j in range(size):
        left = covariance[j, j] - found[j, :j] @ found[j, :j]
        if left <= 1e-14 * covariance[j, j]:
            continue
        found[j, j] = np.sqrt(left)
        for i in range(j + 1, size):
            found[i, j] = (covariance[i, j] - found[i, :j] @ found[j, :j]) / found[j, j]
    return found


def mean(function: Callable[[np.ndarray], np.ndarray], centre: np.ndarray, covariance: np.ndarray,
         points: int, is_doubled: bool) -> np.ndarray:
    """The mean of a vector-valued function of normal numbers, which takes a column for each
    point."""
    root, size = factor_of(covariance), len(centre)
    nodes, weights = rule(points, is_doubled)
    lines = [(nodes, weights) if root[j, j] > 0 else (np.zeros(1), np.ones(1)) for j in range(size)]
    shape = [len(line) for line, _ in lines]
    count = int(np.prod(shape))
    found: np.ndarray | None = None
    for begin in range(0, count, BLOCK):
        places = np.unravel_index(np.arange(begin, min(begin + BLOCK, count)), shape)
        xi = np.stack([line[place] for (line, _), place in zip(lines, places)])
        chance = np.prod([weight[place] for (_, weight), place in zip(lines, places)], axis=0)
        part = function(centre[:, None] + root @ xi) @ chance
        found = part if found is None else found + part
    assert found is not None
    return found


def change_along_lines(function: Callable[[np.ndarray], np.ndarray], centre: np.ndarray,
                       covariance: np.ndarray, points: int) -> float:
    """The largest difference, along lines in each direction, between a rule and a sum over a dense
    grid. A product rule that integrates all lines is right."""
    root, size = factor_of(covariance), len(centre)
    nodes, weights = rule(points, False)
    density = np.exp(-GRID**2 / 2)
    density /= density.sum()
    rng, largest = np.random.default_rng(1), 0.0
    for j in np.flatnonzero(np.diag(root) > 0):
        for others in rng.normal(size=(LINES if size > 1 else 1, size)):
            found = []
            for line, chance in ((nodes, weights), (GRID, density)):
                xi = np.repeat(others[:, None], len(line), axis=1)
                xi[j] = line
                found.append(function(centre[:, None] + root @ xi) @ chance)
            largest = max(largest, change(*found))
    return largest


def change(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference of two rules' results, relative to the larger of 1 and the result."""
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(one - other) / np.maximum(1.0, np.abs(other))))
