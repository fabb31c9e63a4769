"""Problems given as arrays, written to a file that --problem reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray

from .errors import UsageError
from .writing import beside, blamed_on

Problem = str | os.PathLike[str] | Mapping[str, Any] | xarray.Dataset

# Attributes that belong to no array but are needed to read them.
ATTRIBUTES = ("context_length",)


def are_arrays(problem: Problem | None) -> bool:
    """Has it to be written, being no file nor what was opened of one?

    A file's group `problem` counts as arrays, which may have been changed since.
    """
    if isinstance(problem, xarray.Dataset) and "path" in problem.attrs:
        return str(problem.attrs.get("group", "")).split("/")[-1] == "problem"
    if problem is None or isinstance(problem, (str, os.PathLike, Mapping, xarray.Dataset)):
        return isinstance(problem, Mapping)
    raise UsageError(f"problem is a {type(problem).__name__}; it must be a file, what was opened "
                     "of one, or a mapping from names to arrays, as in problem={'P': array}")


def as_file(problem: Any, path: Path, options: Mapping[str, Any]) -> Problem | None:
    """The file of a problem, written to `path` if it is given as arrays."""
    if not are_arrays(problem):
        return problem
    write_problem(path, problem, options)
    return path


def write_problem(path: Path, arrays: Mapping[Any, Any], options: Mapping[str, Any],
                  named: Path | None = None) -> None:
    """One dataset for each array; attributes come from the mapping itself or from the options.

    Where it cannot be written, the error names `named`.
    """
    content = image(path, arrays, options)
    with blamed_on(named or path), open(path, "xb") as file:
        file.write(content)


def image(path: Path, arrays: Mapping[Any, Any], options: Mapping[str, Any]) -> bytes:
    """The content of the file, made in memory: HDF5 has no clear word for a disk that is full."""
    # HDF5 tells files in memory apart by their names.
    with h5py.File(beside(path, "image"), "w", driver="core", backing_store=False) as file:
        for name, values in arrays.items():
            if name not in ATTRIBUTES:
                file[named_array(name)] = numbers(name, values)
        for name in ATTRIBUTES:
            value = {**options, **getattr(arrays, "attrs", {}), **arrays}.get(name)
            if value is not None:
                file.attrs[name] = whole(name, value)
        file.flush()
        return file.id.get_file_image()


def named_array(name: Any) -> str:
    if isinstance(name, str):
        return name
    raise UsageError(f"problem has the key {name!r}; its keys are the names of arrays, text")


def numbers(name: Any, values: Any) -> np.ndarray:
    """The array, if it is one of real numbers."""
    try:
        array = np.asarray(values)
    except ValueError as ragged:  # before NumPy 1.24: an array of lists
        raise UsageError(f"problem[{name!r}] is no array: its rows have different lengths"
                         ) from ragged
    if array.dtype.kind not in "biuf":
        raise UsageError(f"problem[{name!r}] holds {array.dtype.name} values; it must be an array "
                         "of real numbers, its rows equally long")
    return array


def whole(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise UsageError(f"problem[{name!r}] is {value!r}; it must be a whole number") from None
