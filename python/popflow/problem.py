"""Writes problems that are given as arrays to a file for --problem."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import xarray

from .errors import UsageError
from .real_arrays import decoded, real_array
from .writing import beside, blamed_on

Problem = str | os.PathLike[str] | Mapping[str, Any] | xarray.Dataset

# Attributes of the group that are needed to read the arrays.
ATTRIBUTES = ("context_length",)


def are_arrays(problem: Problem | None) -> bool:
    """Returns whether the problem is given as arrays, not as a file or a dataset opened from one.

    A dataset of the group `problem` counts as arrays, since its values may have been changed.
    """
    if isinstance(problem, xarray.Dataset) and "path" in problem.attrs:
        return str(problem.attrs.get("group", "")).split("/")[-1] == "problem"
    if problem is None or isinstance(problem, (str, os.PathLike, Mapping, xarray.Dataset)):
        return isinstance(problem, Mapping)
    raise UsageError(f"problem is a {type(problem).__name__}; it must be a file, a dataset opened "
                     "from one, or a mapping from names to arrays, as in problem={'P': array}")


def as_file(problem: Any, path: Path, options: Mapping[str, Any]) -> Problem | None:
    """Returns the file of a problem; arrays are written to `path`."""
    if not are_arrays(problem):
        return problem
    write_problem(path, problem, options)
    return path


def write_problem(path: Path, arrays: Mapping[Any, Any], options: Mapping[str, Any],
                  named: Path | None = None) -> None:
    """Writes one dataset for each array; attributes come from the mapping or from the options.

    If the file cannot be written, the error names `named`.
    """
    content = image(path, arrays, options)
    with blamed_on(named or path), open(path, "xb") as file:
        file.write(content)


def image(path: Path, arrays: Mapping[Any, Any], options: Mapping[str, Any]) -> bytes:
    """Returns the file's bytes, made in memory: HDF5 reports a full disk unclearly."""
    if isinstance(arrays, xarray.Dataset):
        arrays = decoded(arrays)
    # HDF5 identifies files in memory by their names.
    with h5py.File(beside(path, "image"), "w", driver="core", backing_store=False) as file:
        for name, values in arrays.items():
            if name not in ATTRIBUTES:
                file[named_array(name)] = real_array(f"problem[{name!r}]", values)
        for name in ATTRIBUTES:
            value = {**options, **getattr(arrays, "attrs", {}), **arrays}.get(name)
            if value is not None:
                file.attrs[name] = whole(name, value)
        file.flush()
        return file.id.get_file_image()


def named_array(name: Any) -> str:
    if isinstance(name, str):
        return name
    raise UsageError(f"problem has the key {name!r}; its keys must be text, the names of arrays")


def whole(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise UsageError(f"problem[{name!r}] is {value!r}; it must be a whole number") from None
