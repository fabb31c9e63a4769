"""Laws of data: the distributions from which samples are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import ModelError
from .symbols import Symbol, as_symbol, fixed, told

MOST_NODES = 65_536  # of a product of finite laws


@dataclass(frozen=True)
class Stored:
    """An array of the problem: kept in every file, and replaced by that of a problem file."""

    name: str
    meaning: str
    values: np.ndarray
    axes: tuple[str, ...]


@dataclass
class Law:
    """A law of data. `arrays` are those of a finite law, a row for each sample; `kind` names the
    law of each of `size` independent numbers otherwise."""

    kind: str
    arrays: list[np.ndarray] = field(default_factory=list)
    probability: Symbol | None = None
    shape: tuple[int, ...] = ()
    low: float = 0.0
    high: float = 1.0
    root: np.ndarray | None = None  # a square root of the covariance
    mean: np.ndarray | None = None
    stored: list[tuple[int, Stored]] = field(default_factory=list)  # arrays of the problem
    parts: list[Law] = field(default_factory=list)  # of a mixture
    epochs: bool = False  # whether training visits every sample once in each pass
    drop_last: bool = False  # in epochs: whether passes leave out what does not fill a batch
    table: Any = None  # of dataset(): the file with the arrays, those of the test set included
    function: Any = None  # of stream(): makes a sample of those of the parts
    count: int = 0  # of stream(): samples of the population
    seed: int = 0

    @property
    def samples(self) -> int:
        return len(self.arrays[0])

    @property
    def size(self) -> int:
        """Returns the count of numbers in a sample."""
        if self.kind == "finite":
            return sum(int(np.prod(array.shape[1:], dtype=int)) for array in self.arrays)
        return int(np.prod(self.shape, dtype=int))


def finite(*arrays: Any, probability: Any = None, sampling: str = "replacement") -> Law:
    """A finite set of samples: row i of every array belongs to sample i.

    `probability` has a weight for each sample; the weights are divided by their sum and may depend
    on parameters of the model. Without it all samples are equally probable.

    `sampling` says how sampled training draws: "replacement", independently, or "epochs", every
    sample once in each pass, in an order that is drawn afresh. The noise of the SDE is that of
    independent draws in either case.
    """
    if sampling not in ("replacement", "epochs"):
        raise ModelError(f"the sampling of finite() is {sampling!r}; it must be 'replacement' or "
                         "'epochs'")
    if not arrays:
        raise ModelError("finite() has no arrays; give one or more, with a row for each sample")
    given: list[np.ndarray] = []
    stored: list[tuple[int, Stored]] = []
    for number, array in enumerate(arrays):
        if isinstance(array, Stored):
            stored.append((number, array))
            array = array.values
        values = fixed(array, f"array {number} of finite()")
        if values.ndim == 0 or len(values) == 0:
            raise ModelError(f"array {number} of finite() has no rows; a row is a sample")
        if not np.isfinite(values).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise ModelError(f"array {number} of finite() is {values[place]} at {list(place)}; all "
                             "numbers must be finite")
        given.append(values)
    rows = [len(values) for values in given]
    if len(set(rows)) > 1:
        raise ModelError(f"the arrays of finite() have {', '.join(map(str, rows))} rows; all must "
                         "have a row for each sample")
    weight = as_symbol(np.ones(rows[0]) if probability is None else probability)
    if weight.shape != (rows[0],):
        raise ModelError(f"the probability of finite() has the shape {told(weight.shape)}; it "
                         f"must be a vector of {rows[0]}, one for each sample")
    if weight.op == "constant":
        for i, value in enumerate(weight.value):
            if not value >= 0 or not np.isfinite(value):
                raise ModelError(f"the probability of sample {i} of finite() is {value}; it must "
                                 "be finite and not negative")
        if weight.value.sum() <= 0:
            raise ModelError("the probabilities of finite() sum to 0; at least one must be "
                             "positive")
    if sampling == "epochs" and not is_uniform(weight):
        raise ModelError("finite() has probabilities, but training in epochs visits all samples "
                         "equally often: leave out probability=, or sampling='epochs'")
    return Law("finite", given, weight, stored=stored, epochs=sampling == "epochs")


def is_uniform(weight: Symbol) -> bool:
    return weight.op == "constant" and bool((weight.value == weight.value[0]).all())


def categorical(probability: Any) -> Law:
    """A whole number from 0 on, with these probabilities (weights, divided by their sum)."""
    weight = as_symbol(probability)
    if weight.ndim != 1:
        raise ModelError(f"the probabilities of categorical() are {told(weight.shape)}; they must "
                         "be a vector")
    return finite(np.arange(len(weight)), probability=weight)


def normal(shape: int | Sequence[int] = (), covariance: Any = None, mean: Any = None) -> Law:
    """Standard normal numbers; or a normal vector with a covariance, of which the diagonal is
    enough if the others are 0. The mean is 0 unless given."""
    law = Law("normal", shape=shape_of(shape))
    if mean is not None:
        law.mean = fixed(mean, "the mean of normal()")
        if law.mean.shape not in ((), law.shape) or not np.isfinite(law.mean).all():
            raise ModelError(f"the mean of normal() is {told(law.mean.shape)}; its shape is "
                             f"{told(law.shape)}, and all numbers must be finite")
    if covariance is None:
        return law
    matrix = fixed(covariance, "the covariance of normal()")
    (size,) = law.shape if len(law.shape) == 1 else (0,)
    if matrix.shape == (size,):
        if not (matrix >= 0).all() or not np.isfinite(matrix).all():
            raise ModelError("the variances of normal() must be finite and not negative")
        law.root = np.sqrt(matrix)
        return law
    if matrix.shape != (size, size):
        raise ModelError(f"the covariance of normal() is {told(matrix.shape)}; for the shape "
                         f"{told(law.shape)} it must be {size} x {size}" if size else
                         "normal() takes a covariance for vectors only: give shape=(n,)")
    if not np.allclose(matrix, matrix.T):
        raise ModelError("the covariance of normal() is not symmetric")
    values, vectors = np.linalg.eigh(matrix)
    if values.min() < -1e-12 * max(1.0, values.max()):
        raise ModelError(f"the covariance of normal() has the negative eigenvalue "
                         f"{values.min():.3g}")
    law.root = vectors * np.sqrt(np.maximum(values, 0))
    return law


def uniform(low: float = 0.0, high: float = 1.0, shape: int | Sequence[int] = ()) -> Law:
    """Numbers uniform between low and high."""
    if not low < high:
        raise ModelError(f"uniform() has low = {low} and high = {high}; low must be below high")
    return Law("uniform", shape=shape_of(shape), low=float(low), high=float(high))


def rademacher(shape: int | Sequence[int] = ()) -> Law:
    """Numbers that are -1 or 1, with equal probabilities."""
    law = Law("rademacher", shape=shape_of(shape))
    if law.size > 12:
        return law
    signs = np.indices((2,) * law.size).reshape(law.size, -1).T * 2.0 - 1.0
    return finite(signs.reshape(-1, *law.shape))


def mixture(*laws: Law, probability: Any = None) -> Law:
    """Chooses one of several laws with these probabilities (weights, divided by their sum)."""
    if len(laws) < 2 or any(not isinstance(law, Law) or law.kind == "mixture" for law in laws):
        raise ModelError("mixture() takes two or more laws that are no mixtures")
    shapes = [[array.shape[1:] for array in law.arrays] if law.kind == "finite" else [law.shape]
              for law in laws]
    if any(one != shapes[0] for one in shapes):
        raise ModelError(f"the laws of mixture() are "
                         f"{', '.join(' and '.join(map(told, one)) for one in shapes)}; all must "
                         "have the same shape")
    if any(law.stored or law.epochs for law in laws):
        raise ModelError("the laws of mixture() take neither array() nor sampling='epochs'")
    chances = as_symbol(np.ones(len(laws)) if probability is None else probability)
    if chances.shape != (len(laws),):
        raise ModelError(f"the probability of mixture() is {told(chances.shape)}; there are "
                         f"{len(laws)} laws")
    if all(law.kind == "finite" for law in laws):
        weights = [chances[k] * law.probability / law.probability.sum()
                   for k, law in enumerate(laws) if law.probability is not None]
        arrays = [np.concatenate(parts) for parts in zip(*(law.arrays for law in laws))]
        return finite(*arrays, probability=np.concatenate(weights))
    if len(shapes[0]) > 1:
        raise ModelError("a finite law beside a continuous one in mixture() takes a single array")
    return Law("mixture", probability=finite(np.arange(len(laws)), probability=chances).probability,
               shape=shapes[0][0], parts=list(laws))


def shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    found = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(length < 1 for length in found) or len(found) > 2:
        raise ModelError(f"the shape {found} of a law must be one or two lengths from 1 on")
    return tuple(int(length) for length in found)
