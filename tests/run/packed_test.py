#!/usr/bin/python3
# label: fast
"""Files of other programs may be packed by the CF conventions: the numbers are those that xarray
shows, or the file is refused by the name of the variable."""

import os

from runs import Folder, check, h5py, np, popflow, run_all, xarray

TIMES = np.arange(0, 5.5, 0.5)
LOSS = np.round(np.exp(-TIMES) + 0.01 * np.random.default_rng(0).normal(size=(8, 11)), 3)
PACKED = {  # encodings that store the same numbers
    "int32": {"time": {"dtype": "int32", "scale_factor": 0.5}},
    "offset": {"time": {"dtype": "int16", "scale_factor": 0.5, "add_offset": 2.0}},
    "unsigned": {"time": {"dtype": "uint8", "scale_factor": 0.5, "_FillValue": 255}},
    "loss": {"loss": {"dtype": "int32", "scale_factor": 1e-3, "_FillValue": -9}},
    "single": {"loss": {"dtype": "float64", "scale_factor": 0.5}},
}


def trajectories(path, times=TIMES, units=None, encoding=None, **more):
    data = xarray.Dataset({"loss": (("run", "time"), LOSS), **more}, {"time": times})
    if units:
        data.time.attrs["units"] = units
    data.to_netcdf(path, engine="h5netcdf", encoding=encoding or {})
    return path


def compared(folder, a, b, code=0):
    return popflow("compare", "--from", f"a={a},b={b}", "-o", "c.h5", "--force", folder=folder,
                   code=code)


def test_packed_trajectories_have_the_same_numbers():
    with Folder() as folder:
        plain = trajectories(os.path.join(folder, "a.nc"))
        for name, encoding in PACKED.items():
            packed = trajectories(os.path.join(folder, f"{name}.nc"), encoding=encoding)
            check(xarray.open_dataset(packed, engine="h5netcdf").time.equals(
                xarray.DataArray(TIMES, [("time", TIMES)], name="time")) , name)
            compared(folder, plain, packed)
            with h5py.File(os.path.join(folder, "c.h5")) as file:
                given = [file[f"{rung}/{name}"][()] for name in ("time", "loss") for rung in "ab"]
            np.testing.assert_array_equal(given[0], given[1])
            np.testing.assert_allclose(given[2], given[3], rtol=1e-14)


def test_times_that_are_no_plain_numbers_are_refused_by_name():
    with Folder() as folder:
        plain = trajectories(os.path.join(folder, "a.nc"))
        seconds = np.arange(11) * np.timedelta64(60, "s")
        cases = {"timedelta": {"times": seconds.astype("timedelta64[ns]")},
                 "hours": {"units": "hours"}, "second": {"units": "second"},
                 "dates": {"times": np.datetime64("2026-01-01", "ns") + seconds}}
        for name, given in cases.items():
            packed = trajectories(os.path.join(folder, f"{name}.nc"), **given)
            said = compared(folder, plain, packed, code=3).err
            check("'time'" in said and ("durations" in said or "dates" in said), said)
        once = trajectories(os.path.join(folder, "event.nc"),
                            time_of_fall=("run", np.arange(8) * np.timedelta64(1, "m")))
        said = compared(folder, plain, once, code=3).err
        check("'time_of_fall'" in said and "durations" in said, said)


def test_steps_are_decoded():
    with Folder() as folder:
        for name, steps in (("a", np.arange(11)), ("b", np.arange(11, dtype="i2"))):
            data = xarray.Dataset({"loss": (("run", "step"), LOSS)}, {"step": 10 * steps})
            encoding = {"step": {"dtype": "int16", "scale_factor": 10.0}} if name == "b" else {}
            data.to_netcdf(os.path.join(folder, f"{name}.nc"), engine="h5netcdf", encoding=encoding)
        popflow("compare", "--from", "a=a.nc,b=b.nc", "--learning-rate", 0.1, "-o", "c.h5",
                folder=folder, code=0)
        with h5py.File(os.path.join(folder, "c.h5")) as file:
            np.testing.assert_array_equal(file["a/time"][()], file["b/time"][()])


def test_packed_problems_have_the_same_numbers():
    P = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    Q = np.eye(6)[:, :3]
    with Folder() as folder:
        for name, encoding in (("plain", {}), ("packed", {
                "P": {"dtype": "int16", "scale_factor": 0.25},
                "Q": {"dtype": "int8", "scale_factor": 0.5, "add_offset": 0.5}})):
            xarray.Dataset({"P": (("token_out", "token_in"), P), "Q": (("position", "query"), Q)}
                           ).to_netcdf(os.path.join(folder, f"{name}.nc"), engine="h5netcdf",
                                       encoding=encoding)
            popflow("run", "scb", "--problem", f"{name}.nc", "--t-end", 5, "--saves", 3, "-o",
                    f"{name}.h5", folder=folder, code=0)
        with (h5py.File(os.path.join(folder, "plain.h5")) as a,
              h5py.File(os.path.join(folder, "packed.h5")) as b):
            np.testing.assert_array_equal(a["loss"][()], b["loss"][()])
        data = xarray.Dataset({"P": (("o", "i"), np.where(P > 0.3, np.nan, P)),
                               "Q": (("position", "query"), Q)})
        data.to_netcdf(os.path.join(folder, "gap.nc"), engine="h5netcdf",
                       encoding={"P": {"dtype": "int16", "scale_factor": 0.25, "_FillValue": -1}})
        said = popflow("run", "scb", "--problem", "gap.nc", folder=folder, code=3).err
        check("P[0,0]" in said and "nan" in said, said)


run_all()
