"""What the runs of a file are: which records hold data, which runs ended well."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from ..errors import InputError


def recorded(data: xarray.Dataset) -> xarray.Dataset:
    """The run without the places of records that were not made."""
    if "time" not in data.dims:
        return data
    done = int(np.max(data.saves_done)) if "saves_done" in data else data.sizes["time"]
    if done < 2:
        raise InputError(f"the file has {'one record' if done else 'no record yet'}, and a figure "
                         "of a run needs two.")
    return data.isel(time=slice(0, done))


def well(data: xarray.Dataset) -> xarray.Dataset:
    """Of an ensemble, the runs that did not diverge, if there are any."""
    if "run" not in data.dims or "status" not in data:
        return data
    good = data.popflow.words("status").values != "diverged"
    return data.isel(run=np.flatnonzero(good)) if good.any() else data


def values(data: xarray.Dataset, name: str) -> Any:
    """A variable's numbers, runs first, then time, then what else it has."""
    variable = data[name]
    first = [axis for axis in ("run", "time", "time_state") if axis in variable.dims]
    return variable.transpose(*first, ...).values.astype(float)


def events(data: xarray.Dataset) -> dict[str, Any]:
    """The times of the events that happened: one time each, or one a run (NaN: not in that)."""
    times = {name: np.atleast_1d(np.asarray(time, float)) for name, time in data.time_of.items()}
    return {name: time for name, time in times.items() if np.isfinite(time).any()}
