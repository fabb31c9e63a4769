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


def open_dataset(path: str | os.PathLike[str], group: str | None = None) -> xarray.Dataset:
    """Opens a file, or the group of this name, as a plain dataset; see opening.open_file()."""
    path = Path(path).absolute()
    with opened_hdf5(path) as file:
        require_own(file, path)
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
    # Variables alone: arrays would bring along the numbers of other coordinates.
    data = data.assign_coords({name: labelled(values).variable
                               for name, values in coordinates.items()})
    for values in data.data_vars.values():
        if "flag_meanings" in values.attrs:
            values.attrs["units"] = key_of_flags(values)  # which plots show
    data.attrs["path"] = str(path)
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
        variable = variable.copy(data=variable.attrs["labels"].split(" "))
        variable.encoding = {}  # of the numbers
        return variable
    return decoded(variable) if "flag_meanings" in variable.attrs else variable


def flags(variable: xarray.DataArray) -> list[tuple[int, str]]:
    """Returns the numbers of a variable that stand for words, and the words."""
    words = variable.attrs["flag_meanings"].split()
    numbers = np.atleast_1d(variable.attrs.get("flag_values", range(len(words))))
    return [(int(number), word) for number, word in zip(numbers, words)]


def key_of_flags(variable: xarray.DataArray) -> str:
    """Returns the words of a variable's numbers: "0 undecided, 1 global, 2 local"."""
    return ", ".join(f"{number} {word}" for number, word in flags(variable))


def decoded(variable: xarray.DataArray) -> xarray.DataArray:
    """Returns the words that a variable's numbers stand for; "" where a number has none."""
    known = flags(variable)
    result = variable.copy(data=np.select([variable.values == number for number, _ in known],
                                          [word for _, word in known], ""))
    result.encoding = {}  # of the numbers
    result.attrs = {name: value for name, value in variable.attrs.items()
                    if not name.startswith("flag_")}
    if result.attrs.get("units") == key_of_flags(variable):
        result.attrs["units"] = "1"
    return result


def with_words(data: xarray.Dataset) -> xarray.Dataset:
    """Returns the dataset with words in place of numbers, on axes and in variables."""
    words = {name: labelled(data[name]).variable for name, values in data.variables.items()
             if {"labels", "flag_meanings"} & set(values.attrs)}
    return data.assign_coords({name: values for name, values in words.items()
                               if name in data.coords}).assign(
        {name: values for name, values in words.items() if name not in data.coords})
