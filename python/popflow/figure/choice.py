"""Chooses a figure's panels: the defaults of the file, or the requested observables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray

from ..errors import InputError, UsageError
from . import kinds
from .choice_of_sweeps import compared_sweeps, sweep
from .fields import field, passages, picture
from .moments import marks
from .over_time import curves
from .phase import plane
from .plan import Panel, Plan, step
from .rungs import differences, means, of_a_rung, orders, ratios, reached_times, when
from .views import EXACT, MOST_PANELS, curves_of, there, view


def chosen(kind: int, data: xarray.Dataset, observable: Sequence[str] | None, against: str | None,
           log: str | None) -> Plan:
    if kind == kinds.SWEEP:
        return sweep(data, observable, against, log)
    if kind == kinds.SWEEPS_COMPARED:
        return compared_sweeps(data, observable, against, log)
    if kind in (kinds.COMPARISON, kinds.RATES):
        return comparison(data, kind, observable, against, log)
    plan = run(data, observable, against, log)
    if not plan.panels:
        raise InputError("the run has no record yet, so there is nothing to draw.")
    return plan


def run(data: xarray.Dataset, observable: Sequence[str] | None, against: str | None,
        log: str | None) -> Plan:
    against = None if against == "time" else against
    if observable is None and against is None:
        return with_log(view(data), log)
    known = [str(name) for name, variable in data.data_vars.items()
             if {"time", "time_state"} & set(variable.dims) or name in passages_of(data)]
    if against is not None and (against not in known or set(data[against].dims) - {"run", "time"}):
        one_of("--against", against, ["time", *(name for name in known
                                                if set(data[name].dims) <= {"run", "time"})])
    names = observable or [name for name in str(data.attrs["observables"]).split()
                           if there(data, name) and name != against][:MOST_PANELS]
    matrices = matrices_of(data)
    if observable and against is None and all(part in matrices for name in names
                                              for part in name.split("-")):
        if truths := [name for name in names if name not in data]:
            # Beside the problem's own matrix, with one colour scale; differences have their own.
            like = [name for name in names if "-" not in name]
            return Plan("run", [[step(picture, name, like=like if name in like else None)]
                                if name in truths or name in like else of_run(data, name, None, log)
                                for name in names])
    for name in names:
        if name not in known:
            one_of("--observable", name, list(dict.fromkeys([*known, *matrices])))
    return Plan("run", [of_run(data, name, against, log) for name in names], [step(marks)])


def matrices_of(data: xarray.Dataset) -> list[str]:
    """Returns the named fields and problem's datasets that are matrices; A-Q is a difference."""
    saved = {"run", "time", "time_state"}
    found = [str(name) for name, variable in data.data_vars.items()
             if len(set(variable.dims) - saved) == 2]
    if "problem" in data.popflow.groups:
        found += [str(name) for name, variable in data.popflow.group("problem").data_vars.items()
                  if variable.ndim == 2 and name not in data]
    return found


def of_run(data: xarray.Dataset, name: str, against: str | None, log: str | None) -> Panel:
    """Returns the panel of one observable, field or dataset of first-passage times."""
    if against is not None:
        exact = EXACT.get((str(data.attrs["system"]), str(against), name), [])
        return [step(plane, against, name, log=log), *(step(known) for known in exact)]
    if name in passages_of(data):
        return [step(passages, name, log=log)]
    if set(data[name].dims) <= {"run", "time"}:
        return [step(curves, [name], log=log)]
    return [step(field, name, log=log)]


def passages_of(data: xarray.Dataset) -> list[str]:
    return [name for name in str(data.attrs.get("passages", "")).split() if name in data]


def with_log(plan: Plan, log: str | None) -> Plan:
    """Returns the plan with the user's scales in all panels over time."""
    if log is not None:
        for panel in plan.panels:
            if panel[0].draw is not plane and panel[0].draw is not passages:
                panel[0] = step(panel[0].draw, *panel[0].arguments,
                                **{**panel[0].options, "log": log})
    return plan


def comparison(data: xarray.Dataset, kind: int, observable: Sequence[str] | None,
               against: str | None, log: str | None) -> Plan:
    end = "_mean" if kind == kinds.COMPARISON else "_mean_order"
    known = [str(name).removesuffix(end) for name in data.data_vars if str(name).endswith(end)]
    axis = "time" if kind == kinds.COMPARISON else "learning_rate"
    if against not in (None, axis):
        one_of("--against", against, [axis])
    for name in observable or []:
        if name not in known:
            one_of("--observable", name, known)
    if kind == kinds.RATES:
        names = observable or preferred(data, known)[:MOST_PANELS // 2]
        panels = [[step(orders, name, what, log=log)] for name in names
                  for what in ("mean", "variance") if there(data, f"{name}_{what}_weak_error")]
        if not panels:
            raise InputError("the comparison has no weak error of any of these: "
                             f"{', '.join(names)}.")
        return Plan("compared", panels)
    if (records := data.sizes["time"]) < 2:
        raise InputError(f"the comparison has {'one record' if records else 'no record'}, and a "
                         "figure of it needs two.")
    names = observable or most_different(data, telling(data, preferred(data, known)))[:2]
    panels = []
    for name in names:
        panels += [[step(draw, name, log=log)] for draw in (means, differences)]
        if f"{name}_log_ratio" in data:
            panels.append([step(ratios, name, log=log)])
    if observable is None and has_times(data):
        panels.append([step(when)])
    return Plan("compared", panels, wide=True)


def has_times(data: xarray.Dataset) -> bool:
    """Returns whether an event, or an item of a few first-passage times, has a time."""
    most = 8
    return "delta_time" in data.attrs and 0 < reached_times(data).sizes["statement"] <= most


def most_different(data: xarray.Dataset, names: Sequence[str]) -> list[str]:
    """Returns the names, with those first that the comparison's closing sentence calls too far off.

    The measure is the difference in units of its margin. A user's --figure keeps its order.
    """
    parameters = data.popflow.parameters
    if "delta_time" not in data.attrs or parameters.get("figure"):
        return list(names)
    table = data.verdicts
    far = dict.fromkeys(names, 0.0)
    for number in range(table.sizes["statement"]):
        one = table.isel(statement=number)
        name, question = str(one.subject.values), str(one.question.values)
        if name not in far or question not in ("range", "depth"):
            continue
        size, margin = np.abs(one.difference.values), one.margin.values
        if question == "depth":
            size, margin = np.abs(np.log(size)), np.log(margin)
        off = (size / margin)[one.verdict.values == "differ"]
        far[name] = max([far[name], *off[np.isfinite(off)]])
    return sorted(names, key=lambda name: -far[name])


def preferred(data: xarray.Dataset, known: list[str]) -> list[str]:
    """Returns the observables, with those of the system's own figure first."""
    own = of_a_rung(data) if "rung" in data.dims else data
    return [name for name in dict.fromkeys([*curves_of(own), *known]) if name in known]


def telling(data: xarray.Dataset, known: list[str]) -> list[str]:
    """Returns the observables with a verdict, or if none has one, those with a number.

    Invariants without a margin have no verdict.
    """
    found = [name for name in known if there(data, f"{name}_mean")]
    if not found:
        raise InputError("the comparison has no finite number of any observable.")
    return [name for name in found if float(data[f"{name}_margin"]) > 0] or found


def one_of(option: str, given: str | None, known: Sequence[str]) -> None:
    raise UsageError(f"{option} is '{given}'; this file has: {', '.join(known)}.")
