"""Common eigenspaces of the covariances of normal data, for overlaps of rows in each of them.

A *map* is the matrix C by which rows W are multiplied before they meet standard normal numbers, as
in the form W C x: a vector is a diagonal matrix, and None the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..symbols import Symbol, as_symbol

MOST_SPACES = 8
TOLERANCE = 1e-11  # of eigenvalues that are equal, relative to the largest one


def transposed(map_: Any) -> Any:
    return map_.T if map_ is not None and map_.ndim == 2 else map_


def composed(first: Any, second: Any) -> Any:
    """The product of two maps."""
    if first is None or second is None:
        return second if first is None else first
    if first.ndim == 1 and second.ndim == 1:
        return first * second
    if first.ndim == 1:
        return first[:, None] * second
    return first * second if second.ndim == 1 else first @ second


def simplified(map_: Any) -> Any:
    """A square map as a vector, if it is diagonal to rounding."""
    if map_ is None or map_.ndim == 1:
        return map_
    diagonal = np.diag(map_)
    rest = np.abs(map_ - np.diag(diagonal)).max(initial=0.0)
    return diagonal if rest <= 1e-14 * np.abs(map_).max(initial=0.0) else map_


def groups_of(values: np.ndarray) -> np.ndarray:
    """The number of its group for each value: values of a group are equal to the tolerance."""
    order = np.argsort(values)
    gaps = np.diff(values[order]) > TOLERANCE * np.abs(values).max(initial=0.0)
    found = np.empty(len(values), dtype=int)
    found[order] = np.concatenate([[0], np.cumsum(gaps)])
    return found


def no_spaces() -> ModelError:
    return ModelError("the overlaps do not close: the covariances of the forms, and of pairs of "
                      "forms, have no common eigenvectors")


class Spaces:
    """Orthogonal subspaces that span R^size. Each of the given symmetric maps is a number on each
    subspace."""

    def __init__(self, maps: Sequence[Any], size: int) -> None:
        self.size = size
        self.masks: list[np.ndarray] = [np.ones(size)]  # for diagonal maps
        self.bases: list[np.ndarray] | None = None  # columns; for others
        self.known: dict[tuple[int, int], tuple[Any, Any, np.ndarray | None]] = {}
        given = [one for one in map(simplified, maps) if one is not None]
        if all(one.ndim == 1 for one in given):
            if given:
                groups = np.stack([groups_of(one) for one in given])
                kinds = np.unique(groups, axis=1)
                self.require_few(kinds.shape[1])
                self.masks = [(groups == kind[:, None]).all(axis=0) * 1.0 for kind in kinds.T]
        else:
            self.diagonalise([np.diag(one) if one.ndim == 1 else one for one in given])
        if any(self.numbers(one) is None for one in given):
            raise no_spaces()

    @property
    def sizes(self) -> list[int]:
        """Returns the dimensions of the spaces."""
        return [int(mask.sum()) for mask in self.masks] if self.bases is None else \
            [one.shape[1] for one in self.bases]

    def __len__(self) -> int:
        return len(self.masks) if self.bases is None else len(self.bases)

    def diagonalise(self, maps: list[np.ndarray]) -> None:
        """Takes the eigenspaces of a sum of the maps with drawn factors."""
        for k, one in enumerate(maps):
            size = np.linalg.norm(one)
            if np.linalg.norm(one - one.T) > TOLERANCE * size:
                raise no_spaces()
            for other in maps[:k]:
                if np.linalg.norm(one @ other - other @ one) > \
                        TOLERANCE * size * np.linalg.norm(other):
                    raise no_spaces()
        factors = np.random.default_rng(1).uniform(1.0, 2.0, len(maps))
        total = sum(factor / np.abs(one).max() * (one + one.T)
                    for factor, one in zip(factors, maps) if one.any())
        values, vectors = np.linalg.eigh(total)
        groups = groups_of(values)
        self.require_few(groups.max() + 1)
        self.bases = [vectors[:, groups == k] for k in range(groups.max() + 1)]

    @staticmethod
    def require_few(count: int) -> None:
        if count > MOST_SPACES:
            raise ModelError(f"the covariance of the normal data has {count} distinct eigenvalues; "
                             "overlaps need one set of numbers for each of them, and take up to "
                             f"{MOST_SPACES}")

    def numbers(self, map_: Any) -> np.ndarray | None:
        """The number that a map is on each space; None: it is none on some space."""
        one = simplified(map_)
        if one is None:
            return np.ones(len(self))
        if one.shape != (self.size,) * one.ndim:
            return None
        if self.bases is None:
            if one.ndim == 2:
                return None
            parts = [one[mask > 0] for mask in self.masks]
            found = np.array([part.mean() for part in parts])
            largest = max(np.abs(part - mean).max() for part, mean in zip(parts, found))
            return found if largest <= TOLERANCE * np.abs(one).max() else None
        found, largest = np.zeros(len(self)), 0.0
        for k, basis in enumerate(self.bases):
            image = one[:, None] * basis if one.ndim == 1 else one @ basis
            found[k] = (basis * image).sum() / basis.shape[1]
            largest = max(largest, np.abs(image - found[k] * basis).max())
        return found if largest <= TOLERANCE * max(np.abs(one).max(), np.abs(found).max()) else None

    def numbers_of_pair(self, first: Any, second: Any) -> np.ndarray | None:
        """The numbers of C D^T for two maps C and D."""
        key = (id(first), id(second))
        if key not in self.known:
            self.known[key] = (first, second, self.numbers(composed(first, transposed(second))))
        return self.known[key][2]

    def split(self, rows: Symbol) -> list[Symbol]:
        """The parts of rows in the spaces."""
        if len(self) == 1:
            return [rows]
        if rows.op == "constant":
            return [as_symbol(one) for one in self.split_numbers(rows.value)]
        if self.bases is None:
            return [rows * mask for mask in self.masks]
        return [rows @ (basis @ basis.T) for basis in self.bases]

    def split_numbers(self, rows: np.ndarray) -> list[np.ndarray]:
        if len(self) == 1:
            return [rows]
        if self.bases is None:
            return [rows * mask for mask in self.masks]
        return [(rows @ basis) @ basis.T for basis in self.bases]

    def multiples(self, row: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray | None:
        """The numbers s for which the row is the sum of s_k times these parts of another row; None:
        there are none."""
        found = np.zeros(len(self))
        allowed = TOLERANCE * np.linalg.norm(row)
        for k, (own, part) in enumerate(zip(self.split_numbers(row), parts)):
            square = part @ part
            found[k] = own @ part / square if square > 0 else 0.0
            if np.linalg.norm(own - found[k] * part) > allowed:
                return None
        return found
