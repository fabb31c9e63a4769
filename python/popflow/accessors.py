"""Additions to xarray's datasets: `data.time_of` and `data.popflow`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray

from . import executable
from .errors import InputError
from .files import decoded, with_words
from .opening import open_file


@xarray.register_dataset_accessor("popflow")
class File:
    """Access to the file that a dataset was read from: `data.popflow`."""

    def __init__(self, data: xarray.Dataset):
        self._data = data

    @property
    def path(self) -> Path:
        return Path(self._data.attrs["path"])

    @property
    def groups(self) -> list[str]:
        """Names of the groups below this dataset's own group; of the whole file if it has none."""
        with h5py.File(self.path, "r") as file:
            for here in (file[self._inside("") or "/"], file):
                found = [name for name, item in here.items() if isinstance(item, h5py.Group)]
                if set(found) - {"verdicts"}:  # the table of verdicts, which `.verdicts` opens
                    return sorted(found)
        return []

    def group(self, name: str) -> xarray.Dataset:
        """Opens a group as a dataset: `problem`, `events`, `final`, or a rung of a comparison."""
        with h5py.File(self.path, "r") as file:
            inside = self._inside(name)
            found = inside if inside in file else name
            if found not in file:
                raise KeyError(f"{self.path} has no group {name}, only {', '.join(self.groups)}")
        return open_file(self.path, found)

    @property
    def parameters(self) -> dict[str, Any]:
        """Resolved value of every option."""
        # h5py, because xarray reserves the attribute `coordinates` for itself.
        with h5py.File(self.path, "r") as file:
            inside = self._inside("parameters")
            found = dict(file[inside if inside in file else "parameters"].attrs)
        return {name.replace("-", "_"): value.decode() if isinstance(value, bytes) else value
                for name, value in found.items()}

    def words(self, name: str) -> xarray.DataArray:
        """Returns a variable with words in place of its numbers: `status`, `outcome`, ..."""
        if self._data[name].dtype.kind in "OU":  # already words, as axes are
            return self._data[name]
        if "flag_meanings" not in self._data[name].attrs:
            raise InputError(f"the numbers of {name} stand for no words.")
        return decoded(self._data[name])

    def decode(self) -> xarray.Dataset:
        """Returns the dataset with words in place of numbers, also if xarray itself opened it:
        tokens along axes, outcomes and statuses in variables."""
        return with_words(self._data)

    def info(self, *options: str) -> str:
        """Returns the page of `popflow info` about the file."""
        return executable.ask("info", str(self.path), *options)

    def _inside(self, name: str) -> str:
        return "/".join(part for part in (self._data.attrs.get("group", ""), name) if part)

    def __repr__(self) -> str:
        return f"{self.path}\ngroups: {', '.join(self.groups)}"


@xarray.register_dataset_accessor("time_of")
class Times(Mapping):
    """Event times by name; NaN where the event did not happen.

    A flow has one number per event, an ensemble a DataArray along its runs, a sweep one along its
    axes. An event that happens several times has the time of its first occurrence.
    """

    def __init__(self, data: xarray.Dataset):
        swept = {str(name).removeprefix("time_of_"): variable for name, variable in data.items()
                 if str(name).startswith("time_of_")}
        self._times: dict[str, Any] = swept or times_in_events(data)

    def __getitem__(self, name: str) -> Any:
        return self._times[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_times"][name]
        except KeyError:
            known = ", ".join(self.__dict__.get("_times", {})) or "none"
            raise AttributeError(f"no event {name}; there are: {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._times)

    def __len__(self) -> int:
        return len(self._times)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._times]

    def __repr__(self) -> str:
        return "\n".join(f"{name:16} {np.array2string(np.asarray(time), precision=6, threshold=8)}"
                         for name, time in self.items()) or "no events"


def times_in_events(data: xarray.Dataset) -> dict[str, Any]:
    """Returns the first times from the table of events in the file."""
    if "path" not in data.attrs:
        return {}
    try:
        with data.popflow.group("events") as opened:
            events = opened.load()
    except KeyError:
        return {}
    if "kind" not in events:
        return {}
    words = events.kind.attrs["flag_meanings"].split()
    kind, time, run = (events[name].values for name in ("kind", "time", "run"))
    runs = data["run"].values if "run" in data.coords or "run" in data.dims else np.array([0])
    found = {}
    for number, word in enumerate(words):
        first = np.full(runs.shape, np.nan)
        for place, own in enumerate(np.atleast_1d(runs)):
            happened = time[(kind == number) & (run == own)]
            if len(happened):
                first.flat[place] = happened.min()
        found[word] = (xarray.DataArray(first, dims="run", coords={"run": runs}, name=word)
                       if "run" in data.dims else float(first.flat[0]))
    return found
