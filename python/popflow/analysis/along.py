"""Applies a function of one-dimensional arrays along one dimension of larger arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray


def along(function: Callable[..., Any], x: Any, *others: Any, outputs: int) -> tuple:
    """Applies `function(x, *others)` to each row of the arrays `others` along the dimension of `x`.

    In plain arrays this is the last dimension. A single value is used for all rows. The results are
    numbers if the arrays have no other dimension.
    """
    x = x if isinstance(x, xarray.DataArray) else np.asarray(x, float)
    if x.ndim != 1:
        raise ValueError(f"the first argument has one dimension, not {x.ndim}")
    labelled = [value for value in others if isinstance(value, xarray.DataArray)]
    if not labelled:
        plain = [np.asarray(value, float) for value in others]
        plain = [row if row.ndim else np.full(x.shape, float(row)) for row in plain]
        found = np.vectorize(function, signature=signature(1 + len(plain), outputs))(x, *plain)
        found = found if outputs > 1 else (found,)
        return tuple(value[()] for value in found)
    if not isinstance(x, xarray.DataArray):
        dimension = labelled[0].dims[-1]
        x = xarray.DataArray(x, dims=dimension)
    dimension = x.dims[0]
    rows = [value.astype(float) if isinstance(value, xarray.DataArray)
            else xarray.DataArray(np.asarray(value, float), dims=(dimension,) * np.ndim(value))
            for value in others]
    rows = [row if dimension in row.dims else row.expand_dims({dimension: x.size}) for row in rows]
    core = [[dimension]] * (1 + len(rows))
    found = xarray.apply_ufunc(function, x.astype(float), *rows, input_core_dims=core,
                               output_core_dims=[[]] * outputs, vectorize=True)
    found = found if outputs > 1 else (found,)
    return tuple(value if value.ndim else float(value) for value in found)


def signature(inputs: int, outputs: int) -> str:
    return ",".join(["(n)"] * inputs) + "->" + ",".join(["()"] * outputs)
