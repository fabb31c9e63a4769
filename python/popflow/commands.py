"""The program's commands as functions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import xarray

from . import executable
from .axes import axes
from .errors import InputError, UsageError
from .files import open_file
from .folder import place
from .problem import write_problem
from .verification import Verification
from .words import word, words

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


def resume(path: PathLike | xarray.Dataset, *, show: bool | None = None,
           **options: Any) -> xarray.Dataset:
    """Goes on with an unfinished file, or extends a finished run to `t_end`.

    The file may be given by what was opened of it.
    """
    path = Path(word(path)).absolute()
    executable.work(["resume", str(path), *words(options)], path, show)
    return open_file(path)


def merge(*files: PathLike | xarray.Dataset, output: PathLike | None = None,
          show: bool | None = None, **options: Any) -> xarray.Dataset:
    """Parts of an ensemble, shards of a sweep or sweeps that differ along one axis, as one file.

    The parts are files, or what was opened of them; they stay as they are. Options are those of
    `popflow merge`.
    """
    reject_reserved("merge", options)
    path = place(output, "merged")
    executable.work(["merge", *map(word, files), *words(options), "--output", str(path)],
                    path, show)
    return open_file(path)


def verify(system: str, *, problem: Problem | None = None, show: bool | None = None,
           **options: Any) -> Verification:
    """Does a system hold what it declares of itself? True if it does; shown, a table of checks.

    Options are those of `popflow verify`; `help(popflow.systems.scb.verify)` lists them.
    """
    reject_reserved("verify", options)
    with TemporaryDirectory() as folder:
        options["problem"] = as_file(problem, Path(folder) / "problem.h5", options)
        answer = executable.work(["verify", system, *words(options), "--json"], None, show)
    return Verification.of(json.loads(answer))


def plan(system: str | None = None, *, problem: Problem | None = None, command: str = "run",
         **options: Any) -> Any:
    """What a run would be, without running it: its parameters as resolved, its memory and file."""
    named = [] if system is None else [system]
    with TemporaryDirectory() as folder:
        options["problem"] = as_file(problem, Path(folder) / "problem.h5", options)
        return executable.ask_json(command, *named, *words({**options, "dry_run": True}))


def carried_out(command: str, system: str | None, output: PathLike | None, problem: Problem | None,
                show: bool | None, options: dict[str, Any],
                more: list[str] | None = None) -> xarray.Dataset:
    """Runs a command and opens the file that it wrote."""
    __tracebackhide__ = True
    reject_reserved(command, options)
    path = place(output, file_name(command, system, options))
    own_problem = path.with_name(f"{path.stem}-problem.h5")
    options["problem"] = as_file(problem, own_problem, options)
    named = [] if system is None else [system]
    try:
        executable.work([command, *named, *(more or []), *words(options), "--output", str(path)],
                        path, show)
    except (UsageError, InputError):
        if options["problem"] is own_problem:
            own_problem.unlink()
        raise
    return open_file(path)


def as_file(problem: Problem | None, path: Path, options: Mapping[str, Any]) -> PathLike | None:
    """The file of a problem, written to `path` if it is given as arrays."""
    if not isinstance(problem, (Mapping, xarray.Dataset)):
        return problem
    write_problem(path, problem, options)
    return path


def reject_reserved(command: str, options: Mapping[str, Any]) -> None:
    for name in RESERVED.keys() & options.keys():
        raise TypeError(f"{name} is no argument of {command}(). {RESERVED[name]}".strip(". "))


def file_name(command: str, system: str | None, options: Mapping[str, Any]) -> str:
    kind = options.get("mode", "flow") if command == "run" else command
    return f"{system or 'popflow'}-{kind}"
