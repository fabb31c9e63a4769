"""Matplotlib's Figure, which shows itself as the last line of a notebook's cell."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

SHOWN_DPI = 144


class ShownFigure(Figure):  # type: ignore[misc]  # matplotlib tells no types
    """A figure that needs no pyplot, and no `%matplotlib`, to be seen in a notebook."""

    def _repr_png_(self) -> bytes:
        shown = io.BytesIO()
        self.savefig(shown, format="png", dpi=SHOWN_DPI)
        return shown.getvalue()
