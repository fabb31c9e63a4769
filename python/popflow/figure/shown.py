"""Matplotlib's Figure that displays itself as the last line of a notebook's cell."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

SHOWN_DPI = 144


class ShownFigure(Figure):  # type: ignore[misc]  # matplotlib has no types
    """A figure that notebooks show without pyplot and `%matplotlib`."""

    def _repr_png_(self) -> bytes:
        shown = io.BytesIO()
        self.savefig(shown, format="png", dpi=SHOWN_DPI)
        return shown.getvalue()
