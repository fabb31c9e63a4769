"""Arrays of users as real numbers: packed and masked ones decoded, others refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from .errors import UsageError


def decoded(data: xarray.Dataset) -> xarray.Dataset:
    """Returns the dataset with its packed numbers decoded by the CF conventions, as far as xarray
    has not done so when it opened the file."""
    return xarray.decode_cf(data, decode_times=False, decode_coords=False)


def real_array(where: str, values: Any, along: str = "") -> np.ndarray:
    """Returns the value as an array, masked elements as NaN; raises UsageError unless it holds real
    numbers."""
    try:
        array = np.asarray(values)
    except ValueError as ragged:  # before NumPy 1.24: an array of lists
        raise UsageError(f"{where} is not an array: its rows have different lengths") from ragged
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{where} holds {array.dtype.name} values; it must be an array of real "
                         f"numbers{along}, its rows equally long")
    return np.where(np.ma.getmaskarray(values), np.nan, array) if np.ma.is_masked(values) else array
