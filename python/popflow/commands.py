"""The program's commands as functions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray

from . import executable
from .axes import axes
from .errors import InputError, UsageError
from .files import open_file
from .folder import place
from .problem import write_problem
from .words import words

# What the package says to the program by itself.
RESERVED = {"dry_run": "popflow.plan() tells what a run would be", "json": "", "plot": "",
            "progress": "show=True draws a bar", "quiet": ""}

PathLike = str | os.PathLike[str]
Problem = PathLike | Mapping[str, Any] | xarray.Dataset


def run(system: str | None = None, *, output: PathLike | None = None,
        problem: Problem | None = None, show: bool | None = None, **options: Any) -> xarray.Dataset:
    """One experiment on a system: its file, opened.

    Options are those of `popflow run`, with _ for -; `help(popflow.systems.scb.run)` lists them. A
    `problem` is a file, or a mapping from names to arrays, which is written to a file beside the
    output. Without `output` the file goes to the session's folder (`popflow.folder`). `show` is
    whether to draw a progress bar (None: in terminals and notebooks).

    What the program refuses is raised with its sentence (`popflow.Error` and what derives from it).
    Interrupted, it keeps what it has, and `popflow.resume` goes on.
    """
    return carried_out("run", system, output, problem, show, options)


def compare(system: str | None = None, *, output: PathLike | None = None,
            problem: Problem | None = None, show: bool | None = None,
            **options: Any) -> xarray.Dataset:
    """The same problem as flow, SDE and sampled SGD: statistics along the dimension `rung`.

    Options are those of `popflow compare`; each rung's own data are `result.popflow.group("sgd")`.
    """
    return carried_out("compare", system, output, problem, show, options)


def sweep(system: str | None = None, over: Mapping[str, Any] | None = None, *,
          output: PathLike | None = None, problem: Problem | None = None, show: bool | None = None,
          **options: Any) -> xarray.Dataset:
    """Many cells, in parallel: a map whose dimensions are the axes.

    `over` maps parameters to values: `popflow.linear(low, high, count)`, `popflow.logarithmic`,
    `popflow.sampled`, a Python range, a list; or a label to parameters that change together,
    {"chain": {"p": [.1, .2], "q": [.3, .5]}}. Options are those of `popflow sweep`.
    """
    return carried_out("sweep", system, output, problem, show, options, axes(over or {}))


def resume(path: PathLike, *, show: bool | None = None, **options: Any) -> xarray.Dataset:
    """Goes on with an unfinished file, or extends a finished run to `t_end`."""
    path = Path(path).absolute()
    executable.work(["resume", str(path), *words(options)], path, show)
    return open_file(path)


def plan(system: str | None = None, *, problem: PathLike | None = None, command: str = "run",
         **options: Any) -> Any:
    """What a run would be, without running it: its parameters as resolved, its memory and file."""
    named = [] if system is None else [system]
    options = {"problem": problem, **options, "dry_run": True}
    return executable.ask_json(command, *named, *words(options))


def carried_out(command: str, system: str | None, output: PathLike | None, problem: Problem | None,
                show: bool | None, options: dict[str, Any],
                more: list[str] | None = None) -> xarray.Dataset:
    """Runs a command and opens the file that it wrote."""
    for name in RESERVED.keys() & options.keys():
        raise TypeError(f"{name} is no argument of {command}(). {RESERVED[name]}".strip(". "))
    path = place(output, file_name(command, system, options))
    own_problem = None
    if isinstance(problem, (Mapping, xarray.Dataset)):
        own_problem = path.with_name(f"{path.stem}-problem.h5")
        write_problem(own_problem, problem, options)
        problem = own_problem
    named = [] if system is None else [system]
    try:
        executable.work([command, *named, *(more or []), *words({**options, "problem": problem}),
                      "--output", str(path)], path, show)
    except (UsageError, InputError):
        if own_problem is not None:
            own_problem.unlink()
        raise
    return open_file(path)


def file_name(command: str, system: str | None, options: Mapping[str, Any]) -> str:
    kind = options.get("mode", "flow") if command == "run" else command
    return f"{system or 'popflow'}-{kind}"
