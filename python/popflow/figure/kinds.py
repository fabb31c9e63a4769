"""Determines the kind of a file and opens its data."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import xarray

from ..errors import InputError
from ..files import require_own
from ..opening import open_file
from ..words import word

RUN, COMPARISON, RATES, SWEEP, SWEEPS_COMPARED = range(5)


def opened(path: str | os.PathLike[str] | xarray.Dataset) -> tuple[int, xarray.Dataset]:
    """Returns the kind of the file and its dataset, as popflow.open() does.

    The file is given by its path or by a dataset opened from it.
    """
    path = word(path)
    if not Path(path).is_file():
        raise InputError(f"the file {path} does not exist.")
    try:
        with h5py.File(path, "r") as file:
            require_own(file, path)
            kind = kind_of(file)
            if kind == COMPARISON and file.attrs.get("status") not in ("complete", b"complete"):
                raise InputError(f"the rungs of {path} have not been compared yet; popflow resume "
                                 "finishes the comparison.")
        data = open_file(path)
    except (OSError, KeyError, ValueError) as problem:
        raise InputError(f"{path} cannot be read: {problem}") from problem
    if kind == COMPARISON and "learning_rate" in data.dims:
        kind = RATES
    if kind == SWEEP and "cell" in data.dims:
        raise InputError(f"{path} is a part of a sweep; merge its parts by popflow merge first.")
    return kind, data


def kind_of(file: h5py.File) -> int:
    if "sweep" in file:
        return SWEEP
    if "comparison" in file and "time" not in file:
        return COMPARISON
    if "axes" in file.attrs and "verdict" in file:
        return SWEEPS_COMPARED
    if "time" not in file:
        raise InputError(f"{file.filename} holds nothing to draw: no run, no comparison "
                         "and no sweep.")
    return RUN
