"""The short script that makes a figure, for its reader to change."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import OutputError, UsageError
from .plan import Plan, python


def script(plan: Plan, path: Path, output: Path, style: str | os.PathLike[str] | None) -> str:
    names = ", ".join(sorted(["Page", *plan.functions()]))
    wide = ", wide_last=True" if plan.wide_last else ""
    style = f", style={python(os.fspath(style))}" if style is not None else ""
    lines = "\n".join(f"    {line}" for line in plan.code())
    return f'''"""Draws {output.name} from {path.name}. `page[0]`, ... are matplotlib's Axes."""

import popflow
from popflow.figure import {names}

{plan.name} = popflow.open({python(os.fspath(path))})

with Page({len(plan.panels)}{wide}{style}, save={python(os.fspath(output))}) as page:
{lines}
'''


def write_script(place: Path, text: str) -> None:
    """Writes it, but never over one that somebody has changed."""
    if place.suffix != ".py":
        raise UsageError(f"the script {place} must end in .py.")
    try:
        if place.exists() and place.read_text() != text:
            raise UsageError(f"the script {place} exists and differs; remove it, or name another.")
        place.write_text(text)
    except (OSError, UnicodeDecodeError) as problem:
        raise OutputError(f"the script {place} cannot be written: "
                          f"{getattr(problem, 'strerror', problem)}.") from problem
