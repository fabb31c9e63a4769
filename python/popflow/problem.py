"""Problems given as arrays, written to a file that --problem reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

# What says nothing about arrays but is needed to read them.
ATTRIBUTES = ("context_length",)


def write_problem(path: Path, arrays: Mapping[Any, Any], options: Mapping[str, Any]) -> None:
    """One dataset for each array; attributes come from the mapping itself or from the options."""
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            if name not in ATTRIBUTES:
                file[name] = np.asarray(values)
        for name in ATTRIBUTES:
            value = {**options, **getattr(arrays, "attrs", {}), **arrays}.get(name)
            if value is not None:
                file.attrs[name] = int(value)
