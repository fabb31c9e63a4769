"""Selects records with data and runs that did not diverge."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from ..errors import InputError


def recorded(data: xarray.Dataset) -> xarray.Dataset:
    """Returns the run without empty records."""
    if "time" not in data.dims:
        return data
    done = int(np.max(data.saves_done)) if "saves_done" in data else data.sizes["time"]
    if done < 2:
        raise InputError(f"the file has {'one record' if done else 'no record yet'}, and a figure "
                         "of a run needs two.")
    return without_ended(data.isel(time=slice(0, done)))


def without_ended(data: xarray.Dataset) -> xarray.Dataset:
    """Returns the run up to the end of training: in the stage "ended" nothing moves."""
    if "stage" not in data or "run" in data.stage.dims:
        return data
    ended = np.flatnonzero(data.popflow.words("stage").values == "ended")
    return data.isel(time=slice(0, max(int(ended[0]) + 1, 2))) if len(ended) else data


EARLY = 0.01  # fraction of the time
FEWEST = 5  # least number of records in that fraction, at times above 0: fewer make a polygon


def early(data: xarray.Dataset) -> bool:
    """Returns whether a first stage ends so early that only a logarithmic time axis shows it.

    The condition is that an event happens, or an observable makes half of its change, within a
    hundredth of the time, with records before and after.
    """
    time = np.asarray(data.time.values, float)
    soon = EARLY * time[-1]
    if ((0 < time) & (time <= soon)).sum() < FEWEST:
        return False
    start = time[time > 0][0]
    if any(start <= float(np.nanmedian(times)) <= soon for times in events(data).values()):
        return True
    for name in str(data.attrs.get("observables", "")).split():
        if name in data and data[name].dims == ("time",):
            value = data[name].values.astype(float)
            way = np.nancumsum(np.abs(np.diff(value)))
            if not np.isfinite(value).any() or not way[-1] > 1e-6 * np.nanmax(np.abs(value)):
                continue  # constant, or without numbers
            half = time[1 + int(np.searchsorted(way, 0.5 * way[-1]))]
            if start < half <= soon:
                return True
    return False


def well(data: xarray.Dataset) -> xarray.Dataset:
    """Returns the runs of an ensemble that did not diverge; all if every run diverged."""
    if "run" not in data.dims or "status" not in data:
        return data
    good = data.popflow.words("status").values != "diverged"
    return data.isel(run=np.flatnonzero(good)) if good.any() else data


def values(data: xarray.Dataset, name: str) -> Any:
    """Returns a variable's numbers with the axes run, time, then the others."""
    variable = data[name]
    first = [axis for axis in ("run", "time", "time_state") if axis in variable.dims]
    return variable.transpose(*first, ...).values.astype(float)


def events(data: xarray.Dataset) -> dict[str, Any]:
    """Returns times of events that happened: one each, or one per run (NaN: not in that run)."""
    times = {name: np.atleast_1d(np.asarray(time, float)) for name, time in data.time_of.items()}
    return {name: time for name, time in times.items() if np.isfinite(time).any()}
