"""Style of figures: a paper's fonts, and colours that colour-blind readers can distinguish."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError

# Palette of Okabe and Ito (2008) without its yellow, which is too pale for lines on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
DASHES = ["-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1)),
          (0, (8, 1.5, 1, 1.5, 1, 1.5))]
PALE = ["#A6CFE8", "#F6C48F", "#9FD9C4", "#E6C5D8", "#F3E7A1", "#BBBBBB"]
UNDECIDED = "#E4E4E4"
GREY = "0.45"
GRADED = "viridis"  # perceptually uniform: readable in grey, too
HUE = "Blues"  # for lines over an ordered parameter

PAPER: dict[str, Any] = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titlepad": 6,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.borderaxespad": 0.2,
    "legend.labelspacing": 0.25,
    "legend.columnspacing": 1.2,
    "legend.handletextpad": 0.5,
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.useoffset": False,
    "axes.formatter.use_mathtext": True,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "image.cmap": GRADED,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,  # embed TrueType fonts, as journals require
    "svg.fonttype": "none",
}


def settings(style: str | os.PathLike[str] | None) -> dict[str, Any]:
    """Returns the settings for a paper, overridden by those of a style file."""
    if style is None:
        return PAPER
    if not Path(style).is_file():
        raise InputError(f"the style file {style} does not exist.")
    return {**PAPER, **read(style)}


def read(style: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns a style file's settings; raises InputError for lines that matplotlib refuses."""
    import matplotlib

    said: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: said.append(record.getMessage())  # type: ignore[assignment]
    logger = logging.getLogger("matplotlib")
    logger.addHandler(listener)
    heard, logger.propagate = logger.propagate, False
    try:
        own = matplotlib.rc_params_from_file(os.fspath(style), use_default_template=False)
    except Exception as problem:  # matplotlib raises errors of many types
        said.append(str(problem))
    finally:
        logger.removeHandler(listener)
        logger.propagate = heard
    if said:
        reason = said[0].strip().splitlines()[0].rstrip(".")
        raise InputError(f"the style file {style} is refused by matplotlib: {reason}.")
    return dict(own)


def colour(number: int) -> str:
    """Returns the colour of the curve of this index, from the style's cycle."""
    import matplotlib

    cycle = matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", COLOURS)
    cycle = COLOURS if cycle == matplotlib.rcParamsDefault["axes.prop_cycle"].by_key()["color"] \
        else cycle
    return cycle[number % len(cycle)]


def curve(number: int) -> dict[str, Any]:
    """Returns colour and dashes, so that curves also differ in print without colours.

    Dashes change each time the colours repeat, so up to 49 curves differ.
    """
    return {"color": colour(number),
            "linestyle": DASHES[(number + number // len(COLOURS)) % len(DASHES)]}


def one_hue() -> Any:
    """Returns shades of one hue for lines on white, from pale to dark."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[HUE](np.linspace(0.35, 1, 256)))
