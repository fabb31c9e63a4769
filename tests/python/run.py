#!/usr/bin/python3
"""Runs a file of tests with pytest; where that or what the package needs is missing, says so and
ends with 77, which CTest takes for "skipped"."""

import sys

try:
    import h5netcdf  # noqa: F401
    import pytest
    import scipy  # noqa: F401
    import statsmodels  # noqa: F401
    import xarray  # noqa: F401
except ImportError as missing:
    print(f"not checked: {missing}")
    sys.exit(77)

if __name__ == "__main__":  # else a process that a test has begun
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
