"""Result of `popflow.sweep`: the map, shown with its axes and what came out."""

from __future__ import annotations

from html import escape

import h5py
import xarray

from . import executable
from .errors import Error


class Sweep(xarray.Dataset):
    """The dataset of a sweep's file. Printed, it begins with what `popflow info` says of it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n\n".join(part for part in (self._page(), super().__repr__()) if part)

    def _repr_html_(self) -> str:
        page = self._page()
        # A plain dataset: xarray's HTML contains repr() of the dataset, and so the page again.
        plain = xarray.Dataset(self, attrs=self.attrs)
        return (f"<pre>{escape(page)}</pre>" if page else "") + plain._repr_html_()

    def _page(self) -> str:
        """The page about the file; empty of a part of it."""
        try:
            with h5py.File(self.attrs["path"], "r") as file:
                whole = self["status"].shape == file["status"].shape
            return executable.ask("info", self.attrs["path"]).rstrip() if whole else ""
        except (Error, OSError, KeyError):
            return ""
