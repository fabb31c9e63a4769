"""Result of `popflow.sweep`: the map, printed with its axes and outcomes."""

from __future__ import annotations

from html import escape

import h5py
import xarray

from . import executable
from .errors import Error


class Sweep(xarray.Dataset):
    """Dataset of a sweep's file. Printed, it begins with the page of `popflow info`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n\n".join(part for part in (self._page(), super().__repr__()) if part)

    def _repr_html_(self) -> str:
        page = self._page()
        # A plain dataset, since xarray's HTML contains repr(), which would repeat the page.
        plain = xarray.Dataset(self, attrs=self.attrs)
        return (f"<pre>{escape(page)}</pre>" if page else "") + plain._repr_html_()

    def _page(self) -> str:
        """Returns the page about the file; empty if the dataset is a selected part."""
        try:
            with h5py.File(self.attrs["path"], "r") as file:
                whole = self["status"].shape == file["status"].shape
            return executable.ask("info", self.attrs["path"]).rstrip() if whole else ""
        except (Error, OSError, KeyError):
            return ""
