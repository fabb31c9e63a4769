"""Writes the short script that makes a figure, for users to change."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

from ..errors import UsageError
from .plan import Plan, python
from .replacing import replacing


def script(plan: Plan, path: Path, output: Path, style: str | os.PathLike[str] | None) -> str:
    names = ", ".join(sorted(["Page", *plan.functions()]))
    wide = ", wide_last=True" if plan.wide_last else ""
    style = f", style={python(os.fspath(style))}" if style is not None else ""
    lines = "\n".join(f"    {line}" for line in plan.code())
    return f'''"""Draws a figure of a file of popflow. `page[0]`, ... are matplotlib's Axes."""

import popflow
from popflow.figure import {names}

{plan.name} = popflow.open({python(os.fspath(path))})

with Page({len(plan.panels)}{wide}{style}, save={python(os.fspath(output))}) as page:
{lines}
'''


def writing(place: Path, text: str) -> AbstractContextManager[None]:
    """Writes the script to its path if the block succeeds."""
    if place.suffix != ".py":
        raise UsageError(f"the script {place} must end in .py.")
    return replacing(place, text.encode())
