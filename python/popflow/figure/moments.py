"""Marks events and stages in all panels over time and explains them in the key of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from .labels import number, spoken, wrapped
from .over_time import BAND, SOME_RUNS, by_outcome
from .page import Page
from .runs import events, recorded, well
from .style import GREY

MARKERS = ["s", "^", "D", "v", "P", "X", "<", ">"]
SHADES = ["1.0", "0.94", "0.87", "0.8"]


def marks(page: Page, data: xarray.Dataset) -> None:
    """Draws lines at the events (ensembles: at their medians) and shades for the stages.

    The key explains only marks that some panel shows; matrices show none.
    """
    data = recorded(well(data))
    timed = [axes for axes in page if axes.get_label() == "over time"]
    if timed:
        stages(page, timed, data)
    if timed or any(axes.get_label() == "events marked" for axes in page):
        lines(page, timed, data)
    if timed:
        bands(page, data)


def lines(page: Page, timed: list[Any], data: xarray.Dataset) -> None:
    """Draws a line per event, in order of time, with a marker at its foot."""
    marked: list[list[float]] = [[] for _ in timed]
    for number_of, (name, times) in enumerate(in_order(data)):
        marker = MARKERS[number_of % len(MARKERS)]
        happened = times[np.isfinite(times)]
        time = float(np.median(happened))
        for axes, before in zip(timed, marked):
            first, last = axes.get_xlim()
            if not first <= time <= last:  # for example before the start of a logarithmic axis
                continue
            axes.axvline(time, color=GREY, linewidth=0.6, zorder=0)
            place = float(axes.transAxes.inverted().transform(
                axes.get_xaxis_transform().transform((time, 0)))[0])
            higher = sum(abs(place - other) < 0.03 for other in before)
            before.append(place)
            axes.plot([time], [0], marker, color="black", markerfacecolor="white", zorder=5,
                      transform=raised(axes, 5 * higher), clip_on=False)
        shown = any(axes.get_xlim()[0] <= time <= axes.get_xlim()[1] for axes in timed)
        if shown or any(axes.get_label() == "events marked" for axes in page):
            explain(page, marker, f"{spoken(name)}, {told(happened, len(times))}")


def in_order(data: xarray.Dataset) -> list[tuple[str, Any]]:
    """Returns the events that happened, ordered by their (median) times."""
    return sorted(events(data).items(), key=lambda event: float(np.nanmedian(event[1])))


def raised(axes: Any, points: float) -> Any:
    """Returns a marker's height at the foot of a panel, above markers at about the same time."""
    from matplotlib.transforms import ScaledTranslation

    return axes.get_xaxis_transform() + ScaledTranslation(0, points / 72,
                                                          axes.figure.dpi_scale_trans)


def told(happened: Any, runs: int) -> str:
    """Returns an event's time as text, or the median time and the number of runs."""
    median = f"$t$ = {number(float(np.median(happened)))}"
    if runs == 1:
        return median
    return f"median {median} ({len(happened)} of {runs} runs)"


def explain(page: Page, marker: str, label: str) -> None:
    from matplotlib.lines import Line2D

    page.explain(Line2D([], [], color=GREY, linewidth=0.6, marker=marker, markerfacecolor="white",
                        markeredgecolor="black", label=label))


def stages(page: Page, timed: list[Any], data: xarray.Dataset) -> None:
    """Draws a shade of grey behind each stage of the training, by the stages of the records."""
    from matplotlib.patches import Patch

    if "stage" not in data or "run" in data.stage.dims:
        return  # the runs of an ensemble change stages at different times
    words = data.popflow.words("stage").values
    time = data.time.values
    starts = [0, *(np.flatnonzero(words[1:] != words[:-1]) + 1)]
    changes = [time[0], *(change_time(data, words[start], time[start]) for start in starts[1:])]
    for shade, place, start, end in zip(SHADES, starts, changes, [*changes[1:], time[-1]]):
        for axes in timed if words[place] != "ended" else []:
            first, last = axes.get_xlim()
            if end <= first or start >= last:
                continue
            axes.axvspan(max(start, first), min(end, last), color=shade, linewidth=0, zorder=-1)
        if words[place] == "ended":
            continue
        page.explain(Patch(facecolor=shade, edgecolor=GREY, linewidth=0.4,
                           label=f"stage: {words[place]}"))


def change_time(data: xarray.Dataset, stage: str, recorded_at: float) -> float:
    """Returns the start of a stage: the event at or before its first record, or that record."""
    before = [float(times[0]) for times in events(data).values() if times[0] <= recorded_at]
    earlier = data.time.values[data.time.values < recorded_at][-1]
    inside = [time for time in before if time >= earlier]
    return max(inside) if inside else recorded_at


def untold(page: Page, data: xarray.Dataset, said: Sequence[str]) -> None:
    """Explains in the key which panels are left out because they would show nothing."""
    from matplotlib.lines import Line2D

    for text in said:
        page.explain(Line2D([], [], linestyle="none", label=wrapped(text, 60)))


def bands(page: Page, data: xarray.Dataset) -> None:
    """Explains the lines and bands of an ensemble in the key."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    runs = data.sizes.get("run", 1)
    if runs == 1:
        return
    if "saves_done" in data:  # some runs of an interrupted ensemble have no record yet
        runs = int((data["saves_done"] > 0).sum())
    page.explain(Line2D([], [], color="black", label=f"median of {runs} runs" + (
        " by outcome" if by_outcome(data) else "")))
    page.explain(Patch(color="black", alpha=0.22, linewidth=0,
                       label=f"central {BAND[1] - BAND[0]}% of the runs"))
    page.explain(Line2D([], [], color="black", linewidth=0.5, alpha=0.6,
                        label=f"{SOME_RUNS} of them" if runs > SOME_RUNS else "each run"))
