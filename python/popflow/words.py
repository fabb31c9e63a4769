"""Turns Python's arguments into the words of a command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray

from .errors import UsageError

# Options of the program that take no value.
FLAGS = frozenset({"allow-missing", "batch-noise-in-variance", "check-noise", "fixed-betas",
                   "force", "keep-going", "same-seed", "sharpness", "state-of-optimizer",
                   "thorough"})


def key(name: Any) -> str:
    """Returns the option of an argument: --vocab-size for `vocab_size`.

    A trailing _ is dropped; it avoids Python's reserved words, as in `from_`.
    """
    if not isinstance(name, str):
        raise UsageError(f"{name!r} is not the name of a parameter: names are text, such as "
                         "'learning_rate'")
    return name.rstrip("_").replace("_", "-")


def word(value: Any) -> str:
    """Returns a value as the program reads it.

    Numbers keep all their digits; a dataset opened from a file stands for the file.
    """
    if isinstance(value, np.generic) or getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, xarray.Dataset):
        return str(value.attrs["path"])
    if isinstance(value, Mapping):
        return ",".join(f"{name}={word(own)}".replace(",", r"\,") for name, own in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(word(item) for item in value)
    return str(value)


def words(options: Mapping[str, Any]) -> list[str]:
    """Returns `--name value` for each option.

    None leaves the default; True gives a flag and False leaves it out.
    """
    found: list[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        if key(name) in FLAGS and not isinstance(value, (bool, np.bool_)):
            raise UsageError(f"{name} is {value!r}; it must be True or False")
        found.append(f"--{key(name)}")
        if key(name) not in FLAGS and value is not True:
            found.append(word(value))
    return found
