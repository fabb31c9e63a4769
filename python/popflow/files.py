"""Opens files as xarray objects: lazily read, with words and tokens as labels."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
import xarray

from .errors import InputError
from .lock import Lock

LOCK = Lock()


def require_own(file: h5py.File, path: str | os.PathLike[str]) -> None:
    """Raises InputError unless popflow wrote the file."""
    if file.attrs.get("format") not in ("popflow", b"popflow"):
        raise InputError(f"the file '{path}' was not written by popflow")


def open_file(path: str | os.PathLike[str], group: str | None = None) -> xarray.Dataset:
    """Opens a file, or the group of this name, as a dataset that is read lazily.

    Without a group, the dataset of a comparison holds the statistics over its rungs; the dataset of
    a run or a sweep holds its root group. Words and tokens are labels of coordinates. The path is
    in `.attrs`; `.popflow` and `.time_of` give access to the rest of the file. Raises
    FileNotFoundError, InputError if the file is not HDF5 or not popflow's, and KeyError if the
    group does not exist.
    """
    path = Path(path).absolute()
    with opened_hdf5(path) as file:
        require_own(file, path)
        is_sweep = "sweep" in file
        if group is None:
            whole = "time" not in file and "sweep" not in file
            group = "comparison" if whole and "comparison" in file else ""
        elif group and not isinstance(file.get(group), h5py.Group):
            groups = [name for name, item in file.items() if isinstance(item, h5py.Group)]
            raise KeyError(f"{path} has no group {group}, only {', '.join(sorted(groups))}")
    opened = xarray.open_dataset(path, engine="h5netcdf", group=group or None, lock=LOCK)
    data = opened.copy()
    data.attrs = {name: value.decode() if isinstance(value, bytes) else value
                  for name, value in data.attrs.items()}
    coordinates = {name: data[name] for name in data.coords}
    if group:
        coordinates = {**outer_coordinates(path, group, data), **coordinates}
        data.attrs["group"] = group
    # Parameters that change together along one axis are coordinates of that axis.
    data = data.set_coords([name for name, values in data.items() if "option" in values.attrs])
    coordinates.update({name: data[name] for name in data.coords if name not in coordinates})
    data = data.assign_coords({name: labelled(values) for name, values in coordinates.items()})
    data.attrs["path"] = str(path)
    if group and group.split("/")[-1] == "comparison":
        from .comparison import Comparison
        data = Comparison(data, attrs=data.attrs)
    elif not group and is_sweep:
        from .sweep_result import Sweep
        data = Sweep(data, attrs=data.attrs)
    data.set_close(opened.close)
    return data


def opened_hdf5(path: Path) -> h5py.File:
    try:
        return h5py.File(path, "r")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file '{path}'") from None
    except OSError as reason:
        if reason.errno:
            raise InputError(f"'{path}' cannot be read: {os.strerror(reason.errno)}") from reason
        if is_netcdf_3(path):
            raise InputError(f"the file '{path}' is netCDF-3; popflow's files are netCDF-4, which "
                             "is HDF5") from reason
        # HDF5 gives its reason in brackets, as in "Unable to open file (truncated file)".
        why = "".join(re.findall(r" \(.*\)", str(reason)))
        raise InputError(f"the file '{path}' cannot be read, or is not HDF5{why}") from reason


def is_netcdf_3(path: Path) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        return file.read(3) == b"CDF"
    return False


def outer_coordinates(path: Path, group: str, data: xarray.Dataset) -> dict:
    """Returns coordinates of the group's dimensions that are stored in enclosing groups."""
    found: dict = {}
    parts = group.split("/")
    for depth in range(len(parts)):
        outer = "/".join(parts[:depth]) or None
        with xarray.open_dataset(path, engine="h5netcdf", group=outer) as around:
            found.update({name: around[name].load() for name in around.indexes
                          if around.sizes[name] == data.sizes.get(name)})
    return found


def labelled(variable: xarray.DataArray) -> xarray.DataArray:
    """Returns the variable with words in place of numbers: meanings of flags, tokens of a text."""
    if "labels" in variable.attrs:
        return variable.copy(data=variable.attrs["labels"].split(" "))
    return decoded(variable) if "flag_meanings" in variable.attrs else variable


def decoded(variable: xarray.DataArray) -> xarray.DataArray:
    """Returns the words that a variable's numbers stand for; "" where a number has none."""
    words = variable.attrs["flag_meanings"].split()
    flags = np.atleast_1d(variable.attrs.get("flag_values", range(len(words))))
    numbers = variable.values
    result = variable.copy(data=np.select([numbers == flag for flag in flags], words, ""))
    result.attrs = {name: value for name, value in variable.attrs.items()
                    if not name.startswith("flag_")}
    return result
