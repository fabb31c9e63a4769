"""Replaces panels that would show rounding or a flat line by a sentence in the key."""

from __future__ import annotations

import numpy as np
import xarray

from .conserved import drift, drifts
from .labels import meaning, number, symbol
from .over_time import curves
from .plan import Panel
from .runs import recorded, values, well

SMALL = 1e-6  # relative size below which a drift or an observable counts as 0
FLAT = 1e-4  # relative change below which a curve counts as constant


def said_of_flat(panel: Panel, data: xarray.Dataset) -> str | None:
    """Returns a sentence that replaces a panel without visible content; None otherwise."""
    first = panel[0]
    data = recorded(well(data))
    if first.draw is drift:
        return of_drift(data)
    if first.draw is curves:
        found = [flat(data, name) for name in first.arguments[0]]
        return "; ".join(said for said in found if said) if all(found) else None
    return None


def of_drift(data: xarray.Dataset, always: bool = False) -> str | None:
    """Returns a sentence on the largest drift if all invariants hold, or if `always` is true."""
    data = recorded(well(data))
    found = drifts(data)
    largest = 0.0
    for name, drifted in found.items():
        size = max(1.0, float(np.nanmax(np.abs(values(data, name))[..., :1], initial=0)))
        largest = max(largest, float(np.nanmax(drifted, initial=0)) / size)
    if not always and not largest <= SMALL:
        return None
    names = f"{len(found)} invariants" if len(found) > 1 else \
        f"the invariant {symbol(data, next(iter(found)))}"
    return f"drift of {names}: " + (f"at most {number(largest, 2)}" if largest else "none")


def flat(data: xarray.Dataset, name: str) -> str | None:
    """Returns a sentence about an observable that is 0, tiny or constant; None if it moves."""
    y = values(data, name)
    y = y[np.isfinite(y)]
    if not y.size:
        return None
    low, high = float(y.min()), float(y.max())
    size = max(-low, high)
    what = meaning(data, name)
    if size <= SMALL:
        return f"{what}: " + (f"at most {number(size, 2)}" if size else "0")
    if high - low <= FLAT * size:
        return f"{name.replace('_', ' ')}: {number((low + high) / 2)} throughout"
    return None
