"""Boundaries of basins: where the outcome changes between neighbouring cells of a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray


def boundaries(outcome: Any, x: Any = None, y: Any = None,
               log: Sequence[str] = ()) -> xarray.Dataset:
    """Returns the midpoints between neighbours of different outcome in a two-dimensional map.

    `outcome` is a DataArray with coordinates, or an array with the coordinates `y` of its rows and
    `x` of its columns. Midpoints are geometric along dimensions named in `log`. Cells with NaN or
    an empty word have no outcome, and no boundary is reported beside them.

    The result has a dimension `point`, with the two coordinates. `across` is the dimension in which
    the two cells differ, and `half` is half their distance (the point's uncertainty). `before` and
    `after` are the outcomes at the smaller and the larger coordinate.
    """
    if not isinstance(outcome, xarray.DataArray):
        outcome = np.asarray(outcome)
        x = np.arange(outcome.shape[1]) if x is None else x
        y = np.arange(outcome.shape[0]) if y is None else y
        outcome = xarray.DataArray(outcome, dims=("y", "x"), coords={"y": y, "x": x})
    if outcome.ndim != 2:
        raise ValueError(f"a map has two dimensions; this has {outcome.ndim}: {outcome.dims}")
    dimensions = [str(dimension) for dimension in outcome.dims]
    parts = [steps(outcome.sortby(dimensions), dimension, dimension in log)
             for dimension in dimensions]
    return xarray.Dataset({name: ("point", np.concatenate([part[name] for part in parts]))
                           for name in parts[0]})


def steps(outcome: xarray.DataArray, across: str, log: bool) -> dict[str, np.ndarray]:
    """Returns the changes of outcome along one dimension."""
    (other,) = (str(dimension) for dimension in outcome.dims if dimension != across)
    values = outcome.transpose(other, across).values
    before, after = values[:, :-1], values[:, 1:]
    row, column = np.nonzero((before != after) & known(before) & known(after))
    place = outcome[across].values.astype(float)
    low, high = place[:-1][column], place[1:][column]
    middle = np.sqrt(low * high) if log else (low + high) / 2
    return {across: middle, other: outcome[other].values.astype(float)[row],
            "across": np.full(len(row), across), "half": (high - low) / 2,
            "before": before[row, column], "after": after[row, column]}


def known(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return ~np.isnan(values)
    if values.dtype.kind in "OU":
        return values.astype(str) != ""
    return np.ones(values.shape, bool)
