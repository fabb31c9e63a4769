"""Packages that this one cannot do without, and what to do where one is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

PACKAGES = ("numpy", "h5py", "h5netcdf", "xarray")


def require() -> None:
    """ImportError with a way out unless this Python has them all."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"popflow needs {', '.join(missing)}, which the Python {sys.executable} has not. "
            f"Install with: {sys.executable} -m pip install {' '.join(missing)}   (Debian's own "
            "Python, /usr/bin/python3, gets them by scripts/setup --python)")


require()
