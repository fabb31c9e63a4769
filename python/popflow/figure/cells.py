"""Cells of a sweep: its axes, and a number or a word for each cell."""

from __future__ import annotations

import warnings
from typing import Any

import h5py
import numpy as np
import xarray

from .labels import own_meaning


def axes_of(data: xarray.Dataset) -> list[str]:
    """Returns the swept dimensions."""
    if "axes" in data.attrs:
        return str(data.attrs["axes"]).split()
    with h5py.File(data.popflow.path, "r") as file:
        axes = file["sweep"].attrs["axes"]
    return str(axes if isinstance(axes, str) else axes.decode()).split()


def without_single(cells: xarray.DataArray, *kept: str) -> xarray.DataArray:
    """Drops axes with a single value, except the named ones."""
    single = [dim for dim, size in cells.sizes.items() if size == 1 and dim not in kept]
    return cells.squeeze(single, drop=True)


def swept(data: xarray.Dataset, axis: str) -> list[str]:
    """Returns the parameters along an axis: the axis itself, or several parameters."""
    if "option" in data[axis].attrs:
        return [axis]
    return [str(name) for name, variable in data.variables.items()
            if variable.dims == (axis,) and name != axis and "option" in variable.attrs]


def numbers_along(data: xarray.Dataset, axis: str) -> Any:
    """Returns the numbers along an axis: those of its parameter, or of several parameters that
    change together and have the same values. None if there are none."""
    names = swept(data, axis)
    if any(data[name].dtype.kind not in "if" for name in names):
        return None
    numbers = [data[name].values.astype(float) for name in names]
    alike = numbers and all(np.array_equal(numbers[0], other) for other in numbers[1:])
    return numbers[0] if alike else None


def numeric(data: xarray.Dataset, axis: str) -> bool:
    return numbers_along(data, axis) is not None


def finished(data: xarray.Dataset, name: str) -> xarray.DataArray:
    """Returns the variable's last value over axes and runs; NaN where a run diverged.

    Words (outcomes, verdicts) stay numbers.
    """
    variable = of_those_well(data, name)
    for along in ("time", "save"):
        if along in variable.dims:
            variable = last_along(variable, along, data)
    return variable


def last_along(variable: xarray.DataArray, along: str, data: xarray.Dataset) -> xarray.DataArray:
    """Returns the last recorded number, also of runs that stopped before the last save."""
    last = variable.isel({along: -1})
    if "status" not in data or not set(data.status.dims) <= set(last.dims):
        return last
    recorded = variable.isel({along: variable.notnull().cumsum(along).argmax(along)})
    complete = data.status == data.status.attrs["flag_meanings"].split().index("complete")
    return last.where(complete, recorded.drop_vars(along, errors="ignore"))


def meaning_of_finished(data: xarray.Dataset, name: str) -> str:
    """Returns the meaning of finished(); a variable over time needs "at the end" added."""
    what, comma, rest = own_meaning(data, name).partition(",")
    along_time = {"time", "save"} & set(data[name].dims)
    return what + (" at the end" if along_time else "") + comma + rest


def of_those_well(data: xarray.Dataset, name: str) -> xarray.DataArray:
    """Returns the variable at all times; NaN where a run diverged or has no number."""
    variable = data[name].astype(float)
    if "status" in data and set(data.status.dims) <= set(variable.dims):
        words = data.status.attrs["flag_meanings"].split()
        gone = [words.index(word) for word in ("missing", "refused", "diverged") if word in words]
        variable = variable.where(~data.status.isin(gone))
    variable.attrs = data[name].attrs
    return variable


def all_diverged(data: xarray.Dataset, axis: str) -> Any:
    """Returns, for each value of an axis, whether all runs of all cells diverged."""
    if "status" not in data or axis not in data.status.dims:
        return np.zeros(data.sizes[axis], dtype=bool)
    diverged = data.status == data.status.attrs["flag_meanings"].split().index("diverged")
    return diverged.all([dim for dim in diverged.dims if dim != axis]).values


def words_of(data: xarray.Dataset, name: str) -> list[str] | None:
    """Returns the words that a variable's numbers stand for; None for plain numbers."""
    meanings = data[name].attrs.get("flag_meanings")
    return meanings.split() if meanings else None


def fraction(data: xarray.Dataset, name: str, word: str) -> xarray.DataArray:
    """Returns the fraction of a cell's runs with this word, among runs that did not diverge."""
    numbers = finished(data, name)
    number = (words_of(data, name) or []).index(word)
    return (numbers == number).where(numbers.notnull()).mean("run")


def common_word(data: xarray.Dataset, name: str) -> str:
    """Returns the word whose fraction differs most between cells."""
    words = words_of(data, name) or []
    fractions = [fraction(data, name, word) for word in words]
    spread = [float(of.std()) if bool(of.notnull().any()) else 0.0 for of in fractions]
    return words[int(np.argmax(spread))]


def middle(values: xarray.DataArray) -> tuple[Any, Any, Any]:
    """Returns median and central 80% over runs; without runs, the values."""
    if "run" not in values.dims:
        return values, None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # cells without a number stay NaN
        low, median, high = (values.quantile(part, "run") for part in (0.1, 0.5, 0.9))
    return median, low, high
