"""Runs that continue one another, as one."""

from __future__ import annotations

import os

import numpy as np
import xarray

from .errors import InputError
from .files import open_file
from .words import word

SAME_TIME = 1e-9


def phases(*files: str | os.PathLike[str] | xarray.Dataset) -> xarray.Dataset:
    """Runs each of which starts where the one before ended (`init_from`), along one time.

    A file's own time begins at 0; its attribute `continues_at` says when that was since the start
    of the first. The later files' first records, which are the last ones of the files before, are
    left out. What does not change with time is the first file's.
    """
    if not files:
        raise InputError("phases() takes the files of runs, the first one first.")
    parts: list[xarray.Dataset] = []
    for path in map(word, files):
        data = open_file(path)
        if "time" not in data.dims or ("continues_at" not in data.attrs and parts):
            raise InputError(f"{path} continues no run: --init-from makes one that does.")
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
                raise InputError(f"{path} starts at t = {begun:.10g} of the whole time, and the "
                                 f"file before ends at {end:.10g}.")
            data = data.isel(time=data.time.values > end)
        parts.append(data)
    # A step's number, like a stage's, counts from its own file's start.
    parts = [part.drop_vars("step", errors="ignore") for part in parts]
    shared = set.intersection(*(set(map(str, part.data_vars)) for part in parts))
    return xarray.concat([part[sorted(shared)] for part in parts], "time", data_vars="minimal",
                         coords="minimal", compat="override", join="override",
                         combine_attrs="override")
