"""The program's commands as functions."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import xarray

from . import executable
from .axes import axes
from .errors import UsageError
from .files import open_file
from .folder import place
from .own_problem import kept_beside
from .problem import Problem, as_file
from .trajectories import Trajectory, as_files
from .verification import Verification
from .words import key, word, words

# Arguments that the package itself gives to the program.
RESERVED = {"dry_run": "popflow.plan() tells what a run would be", "json": "", "plot": "",
            "help": "help(popflow.systems.scb.run) says what the arguments are",
            "progress": "show=True draws a bar", "quiet": ""}

PathLike = str | os.PathLike[str]
SystemLike = str | os.PathLike[str]  # a name; a plug-in's path, or a built model


def run(system: SystemLike | None = None, *, output: PathLike | None = None,
        problem: Problem | None = None, show: bool | None = None, **options: Any) -> xarray.Dataset:
    """One experiment on a system: its file, opened.

    Options are those of `popflow run`, with _ for -; `help(popflow.systems.scb.run)` lists them. A
    `problem` is a file, what was opened of one, or a mapping from names to arrays, which is written
    to a file beside the output. Without `output` the file goes to the session's folder
    (`popflow.folder`). `show` is whether to draw a progress bar (None: in terminals and notebooks).

    What the program refuses is raised with its sentence (`popflow.Error` and what derives from it).
    Interrupted, it keeps what it has, and `popflow.resume` goes on.
    """
    return carried_out("run", system, output, problem, show, options)


def compare(system: SystemLike | None = None, *,
            trajectories: Mapping[str, Trajectory] | None = None, output: PathLike | None = None,
            problem: Problem | None = None, show: bool | None = None,
            **options: Any) -> xarray.Dataset:
    """One problem as flow, SDE and sampled SGD: statistics along the dimension `rung`.

    Printed, the result shows its table of verdicts: how far apart are the rungs, how far down do
    they go, when do events come? `result.verdicts` is that table as a dataset. Options are those of
    `popflow compare`; each rung's own data are `result.popflow.group("sgd")`.

    `trajectories` are trainings that popflow did not do, as {"pytorch": dataset}: an xarray dataset
    or a mapping from names to arrays with `time` (flow time: learning rate times step) and
    observables along (run, time), or a file. With a system, popflow's `rungs` are computed at their
    times; with `from_`, they are compared with finished files.
    """
    given = [options.pop(name) for name in ("from_", "from") if name in options]
    with as_files(trajectories, given[0] if given else None) as files:
        return carried_out("compare", system, output, problem, show, {**options, "from_": files})


def compare_trajectories(*, output: PathLike | None = None, show: bool | None = None,
                         options: Mapping[str, Any] | None = None,
                         **trajectories: Trajectory) -> xarray.Dataset:
    """Two or more trainings, without a system: `compare_trajectories(a=..., b=...)`.

    Each is what `popflow.compare` takes as one of its `trajectories`. Compared are the variables
    over time that all have. `options` are those of `popflow compare` for margins and levels, such
    as {"delta": 0.1}.
    """
    return compare(None, trajectories=trajectories, output=output, show=show, **(options or {}))


def sweep(system: SystemLike | None = None, over: Mapping[str, Any] | None = None, *,
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
    reject_reserved("resume", options)
    path = absolute(path)
    executable.work(["resume", str(path), *words(options)], path, show)
    return open_file(path)


def merge(*files: PathLike | xarray.Dataset, output: PathLike | None = None,
          show: bool | None = None, **options: Any) -> xarray.Dataset:
    """Parts of an ensemble, shards of a sweep or sweeps that differ along one axis, as one file.

    The parts are files, or what was opened of them; they stay as they are. Options are those of
    `popflow merge`.
    """
    reject_reserved("merge", options)
    parts = [str(absolute(file)) for file in files]
    with place(output, "merged") as path:
        executable.work(["merge", *parts, *words(options), "--output", str(path)], path, show)
        return open_file(path)


def verify(system: SystemLike, *, problem: Problem | None = None, show: bool | None = None,
           **options: Any) -> Verification:
    """Does a system hold what it declares of itself? True if it does; shown, a table of checks.

    Options are those of `popflow verify`; `help(popflow.systems.scb.verify)` lists them.
    """
    reject_reserved("verify", options)
    with TemporaryDirectory() as folder:
        options["problem"] = as_file(problem, Path(folder) / "problem.h5", options)
        answer = executable.work(["verify", *named(system), *words(options), "--json"], None, show)
    return Verification.of(json.loads(answer))


def plan(system: SystemLike | None = None, *, problem: Problem | None = None, command: str = "run",
         **options: Any) -> Any:
    """Plan of a run, without running it: its parameters as resolved, its memory and file.

    `command` can be "run" only: the others have no such answer for programs.
    """
    if command != "run":
        raise UsageError(f"command is {command!r}; plan() knows of 'run' only. In a terminal, "
                         "--dry-run tells what a sweep or a comparison would be.")
    reject_reserved("plan", options)
    with TemporaryDirectory() as folder:
        options["problem"] = as_file(problem, Path(folder) / "problem.h5", options)
        return executable.ask_json(command, *named(system), *words({**options, "dry_run": True}))


def carried_out(command: str, system: SystemLike | None, output: PathLike | None,
                problem: Problem | None, show: bool | None, options: dict[str, Any],
                more: list[str] | None = None) -> xarray.Dataset:
    """Runs a command and opens the file that it wrote."""
    __tracebackhide__ = True
    reject_reserved(command, options)
    asked = [command, *named(system), *(more or [])]
    with (place(output, file_name(command, system, options)) as path,
          kept_beside(path, problem, options) as file):
        executable.work([*asked, *words({**options, "problem": file}), "--output", str(path)],
                        path, show)
        return open_file(path)


def named(system: SystemLike | None) -> list[str]:
    """The word for a system, which must not be taken for an option."""
    if system is None:
        return []
    if isinstance(system, os.PathLike):  # a plug-in, such as a built model
        return [os.path.abspath(system)]
    if not isinstance(system, str) or system.startswith("-"):
        raise UsageError(f"system is {system!r}, which is no name of one; popflow.systems has "
                         "them, and help(popflow.systems.scb.run) says what the arguments are.")
    return [system]


def absolute(path: PathLike | xarray.Dataset) -> Path:
    """The path of a file, which may be given by what was opened of it."""
    return Path(word(path)).absolute()


def reject_reserved(command: str, options: Mapping[str, Any]) -> None:
    for name in options:
        said = RESERVED.get(key(name).replace("-", "_"))
        if said is not None:
            raise TypeError(f"{name} is no argument of {command}(). {said}".strip(". "))


def file_name(command: str, system: SystemLike | None, options: Mapping[str, Any]) -> str:
    """Name of a file that was given none, whatever the words turn out to be."""
    kind = options.get("mode", "flow") if command == "run" else command
    name = Path(system).stem if isinstance(system, os.PathLike) else system
    return re.sub(r"[^\w-]", "_", f"{name or 'popflow'}-{kind}")[:100]
