"""Passes trainings by other programs to `popflow.compare`: arrays in files for --from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np
import xarray

from .errors import UsageError
from .real_arrays import decoded, real_array

Trajectory = str | os.PathLike[str] | Mapping[str, Any] | xarray.Dataset

AXES = ("time", "step")


@contextmanager
def as_files(trajectories: Mapping[str, Trajectory] | None,
             given: Any) -> Iterator[Mapping[str, Any] | None]:
    """Yields the value of --from: the `given` files, and a temporary file per trajectory.

    The comparison's file keeps a copy of the trajectories' data.
    """
    if trajectories is None:
        yield given
        return
    if not isinstance(trajectories, Mapping) or isinstance(trajectories, xarray.Dataset):
        raise UsageError(f"trajectories is a {type(trajectories).__name__}; it must be a mapping "
                         "from names to datasets, as in trajectories={'pytorch': dataset}")
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"from_ is {given!r}; beside trajectories it must be a mapping from rungs "
                         "to files, as in from_={'flow': 'flow.h5'}")
    files = dict(given or {})
    with TemporaryDirectory() as folder:
        for name, of in trajectories.items():
            if not isinstance(name, str) or not name or "/" in name:
                raise UsageError(f"trajectories has the name {name!r}; names are words, such as "
                                 "'pytorch'")
            if name in files:
                raise UsageError(f"from_ and trajectories both name {name}")
            files[name] = as_file(name, of, Path(folder) / f"{name}.h5")
        yield files


def as_file(name: str, of: Trajectory, path: Path) -> Path:
    """Returns the file of trajectories; arrays are written to `path`."""
    if isinstance(of, (str, os.PathLike)):
        return Path(of)
    if not isinstance(of, (Mapping, xarray.Dataset)):
        raise UsageError(f"trajectories[{name!r}] is a {type(of).__name__}; it must be a dataset, "
                         "a mapping from names to arrays along (run, time), or a file")
    with h5py.File(path, "w") as file:
        for variable, array in arrays(name, of).items():
            file[variable] = array
            if units := getattr(of[variable], "attrs", {}).get("units"):
                file[variable].attrs["units"] = units  # the program refuses durations
        attributes = of.attrs if isinstance(of, xarray.Dataset) else of
        if (value := attributes.get("deterministic")) is not None:
            file.attrs["deterministic"] = int(value)
    return path


def arrays(name: str, of: Mapping[str, Any] | xarray.Dataset) -> dict[str, np.ndarray]:
    """Returns the trajectories' arrays along (run, time); datasets are transposed to this order."""
    if not isinstance(of, xarray.Dataset):
        return {variable: numbers(name, variable, values) for variable, values in of.items()
                if variable != "deterministic"}
    found = {}
    of = decoded(of)
    for variable in map(str, of.variables):
        array = of[variable]
        if variable in AXES:
            numbers(name, variable, array.values)
        # Files of popflow also hold fields and problems, which are left out.
        if array.dtype.kind not in "biuf" or not set(map(str, array.dims)) <= {"run", *AXES}:
            continue
        order = [axis for axis in ("run", *AXES) if axis in array.dims]
        found[variable] = numbers(name, variable, array.transpose(*order).values)
    return found


def numbers(name: str, variable: Any, values: Any) -> np.ndarray:
    if not isinstance(variable, str):
        raise UsageError(f"trajectories[{name!r}] has the key {variable!r}; its keys are names of "
                         "observables, and 'time'")
    return real_array(f"trajectories[{name!r}][{variable!r}]", values, " along (run, time)")
