#!/usr/bin/python3
"""Runs a test file with pytest. If a package is missing, or if a test was skipped and none failed,
the script says so and returns 77, which CTest takes for "skipped". In continuous integration a
skipped test is a failure, since scripts/setup installs all packages."""

import os
import sys

MUST_NOT_SKIP = os.environ.get("CI") == "true" or bool(os.environ.get("POPFLOW_NO_SKIPS"))

try:
    import h5netcdf  # noqa: F401
    import pytest
    import scipy  # noqa: F401
    import statsmodels  # noqa: F401
    import xarray  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(1 if MUST_NOT_SKIP else 77)


class Skips:
    """Records whether a test was skipped."""

    noted = False

    def pytest_runtest_logreport(self, report):
        self.noted = self.noted or (report.skipped and not hasattr(report, "wasxfail"))

    def pytest_collectreport(self, report):
        self.noted = self.noted or report.skipped

if __name__ == "__main__":  # not in a process that a test has spawned
    skips = Skips()
    code = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[skips])
    if skips.noted and code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        code = 1 if MUST_NOT_SKIP else 77
    sys.exit(code)
