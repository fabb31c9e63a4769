"""Checks that required Python packages are installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

PACKAGES = ("numpy", "h5py", "h5netcdf", "xarray")


def require() -> None:
    """Raises ImportError with instructions if this Python lacks a required package."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"popflow needs {', '.join(missing)}, which the Python {sys.executable} does not have. "
            f"Install with: {sys.executable} -m pip install {' '.join(missing)}   (Debian's own "
            "Python, /usr/bin/python3, gets them by scripts/setup --python)")


require()
