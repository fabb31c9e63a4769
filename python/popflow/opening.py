"""Opens files as datasets, comparisons or sweeps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import xarray

from .comparison import Comparison
from .files import open_dataset, opened_hdf5
from .sweep_result import Sweep


def open_file(path: str | os.PathLike[str], group: str | None = None) -> xarray.Dataset:
    """Opens a file, or the group of this name, as a dataset that is read lazily.

    Without a group, the dataset of a comparison holds the statistics over its rungs; the dataset of
    a run or a sweep holds its root group. Words and tokens are labels of coordinates. The path is
    in `.attrs`; `.popflow` and `.time_of` give access to the rest of the file. Raises
    FileNotFoundError, InputError if the file is not HDF5 or not popflow's, and KeyError if the
    group does not exist.
    """
    data = open_dataset(path, group)
    if str(data.attrs.get("group", "")).split("/")[-1] == "comparison":
        return cast(xarray.Dataset, Comparison(data))
    if "group" not in data.attrs:
        with opened_hdf5(Path(path)) as file:
            if "sweep" in file:
                return cast(xarray.Dataset, Sweep(data))
    return data
