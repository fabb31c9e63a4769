"""Joins runs that continue one another."""

from __future__ import annotations

import os

import numpy as np
import xarray

from .errors import InputError
from .opening import open_file
from .words import word

SAME_TIME = 1e-9


def phases(*files: str | os.PathLike[str] | xarray.Dataset) -> xarray.Dataset:
    """Joins runs along time; each run starts where the previous one ended (`init_from`).

    The time in each file starts at 0. The attribute `continues_at` is the start of the file in the
    time of the first run. The first record of each later file repeats the last record before it and
    is left out. Variables without a time dimension come from the first file.
    """
    if not files:
        raise InputError("phases() got no file; it takes the files of runs in order of time.")
    parts: list[xarray.Dataset] = []
    for path in map(word, files):
        data = open_file(path)
        if "time" not in data.dims or ("continues_at" not in data.attrs and parts):
            raise InputError(f"{path} does not continue a run: start it with --init-from.")
        begun = float(data.attrs.pop("continues_at", 0.0))
        data = data.isel(time=data.saves_done.values.min() > np.arange(data.sizes["time"]))
        data = data.assign_coords(time=data.time + begun).drop_dims("time_state", errors="ignore")
        if parts:
            before = parts[-1]
            if before.attrs["system"] != data.attrs["system"]:
                raise InputError(f"{path} is a run of {data.attrs['system']}, and the one before "
                                 f"of {before.attrs['system']}.")
            end = float(before.time[-1])
            if abs(end - begun) > SAME_TIME * max(abs(end), abs(begun)):
                raise InputError(f"{path} starts at t = {begun:.10g} of the whole time, but the "
                                 f"file before it ends at {end:.10g}.")
            data = data.isel(time=data.time.values > end)
        parts.append(data)
    # Numbers of steps and stages count from the start of their own file.
    parts = [part.drop_vars("step", errors="ignore") for part in parts]
    shared = set.intersection(*(set(map(str, part.data_vars)) for part in parts))
    return xarray.concat([part[sorted(shared)] for part in parts], "time", data_vars="minimal",
                         coords="minimal", compat="override", join="override",
                         combine_attrs="override")
