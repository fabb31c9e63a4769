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
from .folder import place
from .opening import open_file
from .own_problem import kept_beside
from .problem import Problem, as_file
from .trajectories import Trajectory, as_files
from .verification import Verification
from .words import key, word, words

# Arguments that the package itself passes to the program; users get these reasons.
RESERVED = {"dry_run": "popflow.plan() shows what a run would do", "json": "", "plot": "",
            "help": "help(popflow.systems.scb.run) lists the arguments",
            "progress": "show=True draws a bar", "quiet": ""}

PathLike = str | os.PathLike[str]
SystemLike = str | os.PathLike[str]  # name, path of a plug-in, or built model


def run(system: SystemLike | None = None, *, output: PathLike | None = None,
        problem: Problem | None = None, show: bool | None = None, **options: Any) -> xarray.Dataset:
    """Runs one experiment on a system and returns its file, opened.

    Options are those of `popflow run`, with _ for -; `help(popflow.systems.scb.run)` lists them. A
    `problem` is a file, a dataset opened from one, or a mapping from names to arrays. A mapping is
    written to a file beside the output. Without `output` the file goes to the session's folder
    (`popflow.folder`). `show` says whether to draw a progress bar (None: in terminals and
    notebooks).

    Raises `popflow.Error` or a class derived from it, with the program's message. An interrupted
    run keeps its results so far, and `popflow.resume` continues it.
    """
    return carried_out("run", system, output, problem, show, options)


def compare(system: SystemLike | None = None, *,
            trajectories: Mapping[str, Trajectory] | None = None, output: PathLike | None = None,
            problem: Problem | None = None, show: bool | None = None,
            **options: Any) -> xarray.Dataset:
    """Runs one problem as flow, SDE and sampled SGD and returns statistics along `rung`.

    The printed result is a table of verdicts: how far apart are the rungs, as difference and as
    ratio, and when do events happen? `result.verdicts` is this table as a dataset. Options are
    those of `popflow compare`; each rung's own data are `result.popflow.group("sgd")`.

    `trajectories` are trainings by other programs, as {"pytorch": dataset}. Each is a file, an
    xarray dataset or a mapping from names to arrays, with `time` (flow time: learning rate times
    step) and observables along (run, time). With a system, popflow computes its `rungs` at the
    times of these trainings; with `from_`, the trainings are compared with finished files.
    """
    given = [options.pop(name) for name in ("from_", "from") if name in options]
    with as_files(trajectories, given[0] if given else None) as files:
        return carried_out("compare", system, output, problem, show, {**options, "from_": files})


def compare_trajectories(*, output: PathLike | None = None, show: bool | None = None,
                         options: Mapping[str, Any] | None = None,
                         **trajectories: Trajectory) -> xarray.Dataset:
    """Compares two or more trainings without a system: `compare_trajectories(a=..., b=...)`.

    Each training is given as in the `trajectories` of `popflow.compare`. The comparison
    covers the variables over time that all trainings have. `options` are those of `popflow compare`
    for margins and levels, such as {"delta": 0.1}.
    """
    return compare(None, trajectories=trajectories, output=output, show=show, **(options or {}))


def sweep(system: SystemLike | None = None, over: Mapping[str, Any] | None = None, *,
          output: PathLike | None = None, problem: Problem | None = None, show: bool | None = None,
          **options: Any) -> xarray.Dataset:
    """Runs the cells of a sweep in parallel and returns a map whose dimensions are the axes.

    `over` maps parameters to values: `popflow.linear(low, high, count)`, `popflow.logarithmic`,
    `popflow.sampled`, a Python range or a list. Parameters that change together share a label, as
    in {"chain": {"p": [.1, .2], "q": [.3, .5]}}. Options are those of `popflow sweep`.
    """
    return carried_out("sweep", system, output, problem, show, options, axes(over or {}))


def resume(path: PathLike | xarray.Dataset, *, show: bool | None = None,
           **options: Any) -> xarray.Dataset:
    """Continues an unfinished file, or extends a finished run to `t_end`.

    The file is given by its path or by a dataset opened from it.
    """
    reject_reserved("resume", options)
    path = absolute(path)
    executable.work(["resume", str(path), *words(options)], path, show)
    return open_file(path)


def merge(*files: PathLike | xarray.Dataset, output: PathLike | None = None,
          show: bool | None = None, **options: Any) -> xarray.Dataset:
    """Merges parts of an ensemble, shards of a sweep or sweeps that differ along one axis.

    The parts are paths or datasets opened from files; the files stay as they are. Options are those
    of `popflow merge`.
    """
    reject_reserved("merge", options)
    parts = [str(absolute(file)) for file in files]
    with place(output, "merged") as path:
        executable.work(["merge", *parts, *words(options), "--output", str(path)], path, show)
        return open_file(path)


def verify(system: SystemLike, *, problem: Problem | None = None, show: bool | None = None,
           **options: Any) -> Verification:
    """Checks whether a system's code agrees with what the system declares.

    The result is true if all checks pass; printed, it is a table of checks.

    Options are those of `popflow verify`; `help(popflow.systems.scb.verify)` lists them.
    """
    reject_reserved("verify", options)
    with TemporaryDirectory() as folder:
        options["problem"] = as_file(problem, Path(folder) / "problem.h5", options)
        answer = executable.work(["verify", *named(system), *words(options), "--json"], None, show)
    return Verification.of(json.loads(answer))


def plan(system: SystemLike | None = None, *, problem: Problem | None = None, command: str = "run",
         **options: Any) -> Any:
    """Returns the plan of a run without running it: resolved parameters, memory and file.

    `command` must be "run": the program has no machine-readable plan for other commands.
    """
    if command != "run":
        raise UsageError(f"command is {command!r}; plan() supports 'run' only. In a terminal, "
                         "--dry-run shows the plan of a sweep or a comparison.")
    reject_reserved("plan", options)
    with TemporaryDirectory() as folder:
        options["problem"] = as_file(problem, Path(folder) / "problem.h5", options)
        return executable.ask_json(command, *named(system), *words({**options, "dry_run": True}))


def carried_out(command: str, system: SystemLike | None, output: PathLike | None,
                problem: Problem | None, show: bool | None, options: dict[str, Any],
                more: list[str] | None = None) -> xarray.Dataset:
    """Runs a command and opens the file that the command wrote."""
    __tracebackhide__ = True
    reject_reserved(command, options)
    asked = [command, *named(system), *(more or [])]
    with (place(output, file_name(command, system, options)) as path,
          kept_beside(path, problem, options) as file):
        executable.work([*asked, *words({**options, "problem": file}), "--output", str(path)],
                        path, show)
        return open_file(path)


def named(system: SystemLike | None) -> list[str]:
    """Returns the word for a system; the word must not look like an option."""
    if system is None:
        return []
    if isinstance(system, os.PathLike):  # a plug-in, such as a built model
        return [os.path.abspath(system)]
    if not isinstance(system, str) or system.startswith("-"):
        raise UsageError(f"system is {system!r}, which is not a system's name; popflow.systems "
                         "has all names, help(popflow.systems.scb.run) the arguments.")
    return [system]


def absolute(path: PathLike | xarray.Dataset) -> Path:
    """Returns the absolute path of a file, given as a path or as a dataset opened from the file."""
    return Path(word(path)).absolute()


def reject_reserved(command: str, options: Mapping[str, Any]) -> None:
    for name in options:
        said = RESERVED.get(key(name).replace("-", "_"))
        if said is not None:
            raise TypeError(f"{name} is no argument of {command}(). {said}".strip(". "))


def file_name(command: str, system: SystemLike | None, options: Mapping[str, Any]) -> str:
    """Returns a name for an output file that has none yet."""
    kind = options.get("mode", "flow") if command == "run" else command
    name = Path(system).stem if isinstance(system, os.PathLike) else system
    return re.sub(r"[^\w-]", "_", f"{name or 'popflow'}-{kind}")[:100]
