"""Page of panels at a paper's size."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError
from .replacing import replacing
from .style import settings

TEXT_WIDTH = 5.5  # inches; the text width of NeurIPS and ICLR
COLUMN_WIDTH = 3.3
PANEL_HEIGHT = 2.1
LEAST_HEIGHT = 0.62  # least height of a panel, in inches, without labels
KINDS = (".pdf", ".svg", ".png")
# No date, so that drawing a figure again gives an identical file.
UNDATED: dict[str, dict[str, None]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None},
                                       ".png": {}}


class Page:
    """Panels in two columns, at a paper's size: `with Page(4, save="figure.pdf") as page:`.

    `page[0]`, ... are matplotlib's Axes; with `wide_last` the last panel fills its row. Leaving the
    block puts the key of the whole page below the panels, arranges all parts without overlap, and
    saves the figure.
    """

    def __init__(self, panels: int, wide_last: bool = False,
                 style: str | os.PathLike[str] | None = None,
                 save: str | os.PathLike[str] | None = None, height: float = PANEL_HEIGHT):
        import matplotlib

        if save is not None:
            check_kind(save)
        self._save = save
        self._settings = matplotlib.rc_context(settings(style))
        self._panels, self._height, self._wide_last = panels, height, wide_last
        self._key: dict[str, Any] = {}

    def __enter__(self) -> Page:
        from .shown import ShownFigure

        self._settings.__enter__()
        columns = min(self._panels, 2)
        rows = -(-self._panels // columns)
        size = (COLUMN_WIDTH if columns == 1 else TEXT_WIDTH, self._height * rows)
        self.figure = ShownFigure(figsize=size, layout="constrained")
        grid = self.figure.add_gridspec(rows, columns)
        places = [grid[divmod(number, columns)] for number in range(self._panels)]
        if self._wide_last:
            places[-1] = grid[rows - 1, :]
        self.axes = [self.figure.add_subplot(place) for place in places]
        return self

    def __getitem__(self, number: Any) -> Any:
        return self.axes[number]

    def __iter__(self) -> Any:
        return iter(self.axes)

    def explain(self, handle: Any) -> None:
        """Adds a line, marker or patch to the key of the page, once per label."""
        self._key.setdefault(handle.get_label(), handle)

    def __exit__(self, kind: Any, *what: Any) -> None:
        try:
            if kind is None:
                self._arrange()
                if self._save is not None:
                    save(self.figure, self._save)
        finally:
            self._settings.__exit__(kind, *what)

    def _arrange(self) -> None:
        """Lays out the panels with room for the key at the foot."""
        figure = self.figure
        if len(self.axes) % 2 and len(self.axes) > 1 and len(figure.axes) == len(self.axes):
            last = self.axes[-1]  # unmoved by a colour bar: it also takes the next quarter
            last.set_subplotspec(last.get_gridspec()[-1, :])
        for axes in self.axes:
            for handle in getattr(axes, "key_of_page", []):
                self.explain(handle)
        figure.draw_without_rendering()
        if any([powers_in_labels(axes) for axes in figure.axes]):
            figure.draw_without_rendering()
        self._heighten()
        if self._key:
            columns = len(self._key)
            legend = self._foot(columns)
            while columns > 1 and legend.get_window_extent().width > figure.bbox.width:
                legend.remove()
                columns -= 1
                legend = self._foot(columns)
            inches = legend.get_window_extent().height / figure.dpi + 0.05
            width, height = figure.get_size_inches()
            figure.set_size_inches(width, height + inches)
            part = inches / (height + inches)
            figure.get_layout_engine().set(rect=(0, part, 1, 1 - part))
        figure.draw_without_rendering()
        for axes in self.axes:
            levels_apart(axes)

    def _heighten(self) -> None:
        """Raises the page by the height that long headings and labels take from the panels."""
        lack: dict[int, float] = {}
        for axes in self.axes:
            row = axes.get_subplotspec().rowspan.start
            height = axes.get_window_extent().height / self.figure.dpi
            lack[row] = max(lack.get(row, 0), LEAST_HEIGHT * self._height - height)
        width, height = self.figure.get_size_inches()
        # All rows have the same height, so the row that lacks most decides.
        self.figure.set_size_inches(width, height + max(lack.values()) * len(lack))

    def _foot(self, columns: int) -> Any:
        legend = self.figure.legend(list(self._key.values()), list(self._key), ncol=columns,
                                    loc="lower center", bbox_to_anchor=(0.5, 0.0))
        legend.set_in_layout(False)
        return legend


#: Text at the end of an axis whose numbers are multiples of a power of ten, without an offset.
POWER_AT_END = re.compile(r"\$\\times\\mathdefault\{10\^\{([-−]?\d+)\}\}\\mathdefault\{\}\$")


def powers_in_labels(axes: Any) -> bool:
    """Moves an axis's power of ten from its end into its label.

    Above a panel the power would lift the panel's title over its neighbours' titles.
    """
    moved = False
    for along in (axes.xaxis, axes.yaxis):
        at_end = POWER_AT_END.fullmatch(along.get_offset_text().get_text())
        if at_end is None:
            continue
        power = int(at_end[1].replace("−", "-"))
        # The next layout may choose other ticks.
        along.get_major_formatter().set_powerlimits((power, power))
        along.get_offset_text().set_visible(False)
        label = along.get_label_text()
        width = len(label.rsplit("\n", 1)[-1])
        broken = "\n" if width > (20 if along is axes.yaxis else 34) else " "
        along.set_label_text(f"{label}{broken if label else ''}[$10^{{{power}}}$]")
        moved = True
    return moved


def levels_apart(axes: Any) -> None:
    """Moves overlapping symbols of levels apart, by as little as they need to fit in the panel."""
    symbols = [text for text in axes.texts if text.get_gid() == "level"]
    boxes = [text.get_window_extent() for text in symbols]
    order = np.argsort([(box.y0 + box.y1) / 2 for box in boxes], kind="stable")
    middles = np.array([(boxes[place].y0 + boxes[place].y1) / 2 for place in order])
    heights = np.array([boxes[place].height for place in order])
    apart = np.concatenate([[0], np.cumsum((heights[1:] + heights[:-1]) / 2)])
    free = middles - apart  # must not decrease from one symbol to the next
    if (np.diff(free) >= 0).all():
        return
    ends = range(len(free))
    fitted = np.array([max(min(free[start:end + 1].mean() for end in ends[place:])
                           for start in ends[:place + 1]) for place in ends])
    panel = axes.get_window_extent()
    fitted = fitted.clip(panel.y0 + heights[0] / 2, panel.y1 - heights[-1] / 2 - apart[-1])
    for place, moved in zip(order, fitted + apart - middles):
        right, up = symbols[place].get_position()
        symbols[place].set_position((right, up + moved * 72 / axes.figure.dpi))


def check_kind(path: str | os.PathLike[str]) -> None:
    if Path(path).suffix.lower() not in KINDS:
        raise UsageError(f"the figure {path} must end in .pdf, .svg or .png.")


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    path = Path(path)
    kind = path.suffix.lower()
    # In memory first, since on a full disk matplotlib fails with errors other than OSError.
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind[1:], metadata=UNDATED[kind])
    with replacing(path, drawn.getvalue()):
        pass
