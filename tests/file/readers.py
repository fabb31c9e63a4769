#!/usr/bin/python3
"""Opens popflow files with common readers, and checks properties that users rely on.

Usage: readers.py FILE...

Opens every group of every file with h5py and with both engines of xarray, and the file's structure
with ncdump. Checks that every axis of every dataset has a named dimension, and every variable has
units and a long_name. Only number types that all readers know may occur. All readers must see the
same dimensions, variables, attributes and numbers.
"""

import subprocess
import sys

import h5py
import numpy as np
import xarray

ENGINES = ("h5netcdf", "netcdf4")
ALLOWED_TYPES = ("float64", "float32", "int64", "int32", "int8", "uint8")
NOT_A_VARIABLE = b"This is a netCDF dimension but not a netCDF variable."
MOST_VALUES = 1_000_000


def fail(where, what):
    raise AssertionError(f"{where}: {what}")


def is_scale(dataset):
    return h5py.h5ds.is_scale(dataset.id)


def is_size_alone(dataset):
    """Returns whether a scale is a dimension without coordinates."""
    return bytes(dataset.attrs.get("NAME", b"")).startswith(NOT_A_VARIABLE)


def check_dataset(where, dataset):
    if dataset.dtype.name not in ALLOWED_TYPES or dataset.dtype.metadata:
        fail(where, f"type {dataset.dtype} is not for all readers")
    if not is_scale(dataset):
        for axis, dimension in enumerate(dataset.dims):
            if len(dimension) != 1:
                fail(where, f"axis {axis} has {len(dimension)} scales")
            if dimension[0].shape != (dataset.shape[axis],):
                fail(where, f"axis {axis} has a scale of another size")
    if is_size_alone(dataset):
        if dataset.id.get_storage_size() != 0:
            fail(where, "a size alone takes storage")
        return
    for attribute in ("units", "long_name"):
        if not isinstance(dataset.attrs.get(attribute), str):
            fail(where, f"has no {attribute}")


def groups_of(file):
    """Returns the paths of all groups, beginning with the root, after reading every dataset."""
    groups = ["/"]

    def visit(name, item):
        if isinstance(item, h5py.Group):
            groups.append("/" + name)
        else:
            check_dataset(f"{file.filename}:/{name}", item)

    file.visititems(visit)
    return groups


def text_of(value):
    return value.decode() if isinstance(value, bytes) else value


def same(a, b):
    a, b = np.asarray(text_of(a)), np.asarray(text_of(b))
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))


def check_attributes(where, expected, found):
    hidden = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST")
    for name in expected:
        if name in hidden:
            continue
        if name not in found:
            fail(where, f"attribute {name} is not seen")
        if not same(expected[name], found[name]):
            fail(where, f"attribute {name} is {found[name]!r}, not {expected[name]!r}")


def check_group(path, name, group):
    own = {key: item for key, item in group.items() if isinstance(item, h5py.Dataset)}
    expected = {key for key, item in own.items() if not is_size_alone(item)}
    for engine in ENGINES:
        where = f"{path}:{name} through {engine}"
        with xarray.open_dataset(path, group=name, engine=engine) as data:
            if set(data.variables) != expected:
                fail(where, f"variables {sorted(data.variables)}, not {sorted(expected)}")
            # xarray interprets an attribute "coordinates" (decode_coords=False keeps it).
            seen = {"coordinates": group.attrs.get("coordinates"), **data.attrs}
            check_attributes(where, group.attrs, seen)
            for key in expected:
                variable, dataset = data[key], own[key]
                if variable.shape != dataset.shape:
                    fail(where, f"{key} has shape {variable.shape}")
                scales = [key] if is_scale(dataset) else [d[0].name for d in dataset.dims]
                names = tuple(scale.split("/")[-1] for scale in scales)
                if variable.dims != names:
                    fail(where, f"{key} has dimensions {variable.dims}, not {names}")
                check_attributes(f"{where}, {key}", dataset.attrs, variable.attrs)
                if dataset.size <= MOST_VALUES and not same(dataset[()], variable.values):
                    fail(where, f"{key} has other numbers")


def check_file(path):
    with h5py.File(path, "r") as file:
        groups = groups_of(file)
        for name in groups:
            check_group(path, name, file[name])
    subprocess.run(["ncdump", "-h", path], check=True, stdout=subprocess.DEVNULL)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        try:
            check_file(path)
        except Exception as problem:  # any exception of a reader is a finding
            sys.exit(f"{path}: {type(problem).__name__}: {problem}")


if __name__ == "__main__":
    main()
