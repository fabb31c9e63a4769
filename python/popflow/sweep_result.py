"""Result of `popflow.sweep`: the map, printed with its axes and outcomes."""

from __future__ import annotations

from html import escape

from . import executable
from .errors import Error
from .result import Result


class Sweep(Result):
    """Dataset of a sweep's file. Printed, it begins with the page of `popflow info`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n\n".join(part for part in (self._page(), repr(self.dataset)) if part)

    def _repr_html_(self) -> str:
        page = self._page()
        return (f"<pre>{escape(page)}</pre>" if page else "") + self.dataset._repr_html_()

    def _page(self) -> str:
        """Returns the page about the file; empty if the file does not exist any more."""
        try:
            return executable.ask("info", self.attrs["path"]).rstrip()
        except (Error, OSError, KeyError):
            return ""
