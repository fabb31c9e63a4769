"""Default panels of a run, for each system."""

from __future__ import annotations

import numpy as np
import xarray

from .blocks import blocks, has_blocks
from .conserved import drift, invariants
from .declared import panels_of
from .exact import erf_law, minima, separatrix, valley
from .fields import beside, field, passages
from .flat import of_drift, said_of_flat
from .moments import marks, untold
from .over_time import curves, instants, levels
from .phase import plane
from .plan import Panel, Plan, step

MOST_PANELS = 6
# Exact curves and points in a System's phase planes, by the names along the axes.
EXACT = {("scb", "signal_V", "signal_A"): [valley], ("scb", "signal_A", "signal_V"): [valley],
         ("markov", "w", "e"): [separatrix, minima]}
INSTEAD = {"target": "drive"}  # with a linear activation


def scb() -> list[Panel]:
    return [[step(curves, ["excess_loss"])],
            [step(curves, ["signal_V", "signal_A"])],
            [step(plane, "signal_V", "signal_A")],
            [step(curves, ["distance_P", "distance_Q"])]]


def joma() -> list[Panel]:
    return [[step(curves, ["attention_entropy"])],
            [step(field, "v", colour_by="target"), step(instants, {"blow_up_time": "t^*"})],
            [step(curves, ["learned_min", "learned_max"])],
            [step(passages, "time_to_90", over="target")],
            [step(curves, ["clock_spread"])]]


def joma_joint() -> list[Panel]:
    return [[step(curves, ["loss"])],
            [step(curves, ["attention_entropy"])],
            [step(curves, ["correlation", "correlation_weights", "correlation_norm"], log="none")],
            [step(curves, ["stable_rank"])],
            [step(curves, ["theorem_residual"])]]


def markov() -> list[Panel]:
    return [[step(curves, ["loss"]), step(levels, {"entropy_rate": "H(x_{n+1}|x_n)",
                                                   "stationary_entropy": "H(pi)"})],
            [step(curves, ["prob_0to1", "prob_1to0"]), step(levels, {"p": "p", "q": "q"})],
            [step(plane, "w", "e")]]


def topic() -> list[Panel]:
    return [[step(curves, ["loss"])],
            [step(curves, ["norm_value", "norm_key", "norm_query"]),
             step(levels, {"value_norm_optimum": "|W_V^*|"})],
            [step(curves, ["attention_same_word", "attention_same_topic",
                           "attention_other_topic"])],
            [step(curves, ["value_same_word", "value_same_topic", "value_other_topic"])]]


def linear_attention() -> list[Panel]:
    return [[step(curves, ["loss", "test_loss"]), step(levels, {"loss_minimum": "L_min"})],
            [step(curves, ["excess_loss"])],
            [step(curves, ["distance"])],
            [step(field, "W_KQ")]]


def deep_linear() -> list[Panel]:
    return [[step(curves, ["loss"])],
            [step(field, "mode_strength")],
            [step(curves, ["misalignment"])]]


VIEWS = {"scb": scb, "joma": joma, "joma-joint": joma_joint, "markov": markov, "topic": topic,
         "linear-attention": linear_attention, "deep-linear": deep_linear}


def view(data: xarray.Dataset) -> Plan:
    """Returns the panels of a run or an ensemble: its system's panels for which it has data."""
    system = str(data.attrs.get("system", ""))
    if declared := str(data.attrs.get("figure", "")):
        panels = panels_of(declared, str(data.attrs.get("passages", "")).split(),
                           str(data.attrs.get("state_fields", "")).split())
    else:  # an older file, or a System without declared panels
        panels = VIEWS[system]() if system in VIEWS else anything(data)
    for panel in panels:
        if panel[0].draw is plane:
            x, y = panel[0].arguments
            panel += [step(own) for own in EXACT.get((system, x, y), [])]
        elif panel[0].draw is field and system == "joma" and panel[0].arguments == ("v",):
            panel.append(step(erf_law))
    panels = [full for panel in panels if (full := with_data(panel, data))]
    if any(there(data, name) for name in invariants(data)):
        panels.append([step(drift)])
    told = [said_of_flat(panel, data) for panel in panels]
    kept = [panel for place, (panel, said) in enumerate(zip(panels, told))
            if said is None or place == 0][:MOST_PANELS]
    if panels and panels[-1][0].draw is drift and panels[-1] not in kept and told[-1] is None:
        told[-1] = of_drift(data, always=True)
    said = [text for panel, text in zip(panels, told) if text and panel not in kept]
    return Plan("run", kept, [step(marks), *([step(untold, said)] if said else [])])


def curves_of(data: xarray.Dataset) -> list[str]:
    """Returns the observables of the System's own figures, in their order."""
    system = str(data.attrs.get("system", ""))
    panels = panels_of(str(data.attrs["figure"]), [], []) if data.attrs.get("figure") else \
        VIEWS[system]() if system in VIEWS else []
    return [name for panel in panels if panel[0].draw is curves for name in panel[0].arguments[0]]


def anything(data: xarray.Dataset) -> list[Panel]:
    """Returns panels for an undeclared system: observables, the state's first two numbers."""
    known = set(invariants(data))
    shown = [name for name in str(data.attrs.get("observables", "")).split() if name not in known]
    panels: list[Panel] = [[step(curves, [name])] for name in shown[:MOST_PANELS - 2]]
    fields = str(data.attrs.get("state_fields", "")).split()
    matrices = [name for name in fields if there(data, name)
                and sum(size > 1 for size in data[name].shape[-2:]) == 2
                and not {"time", "run"} & set(data[name].dims[-2:])]
    panels += [[step(field, name)] for name in matrices[:2]]
    numbers = [name for name in fields if name in data and set(data[name].dims) <= {"run", "time"}]
    if len(numbers) > 1:
        panels.append([step(plane, *numbers[:2])])
    elif not panels:
        panels = [[step(field, name)] for name in fields[:MOST_PANELS]]
    return panels


def with_data(panel: Panel, data: xarray.Dataset) -> Panel:
    """Returns the panel's steps that have data; empty if the first step lacks data."""
    first = panel[0]
    if first.draw is curves:
        names = [name for name in first.arguments[0] if there(data, name)]
        return [step(curves, names, **first.options), *panel[1:]] if names else []
    if first.draw is plane:
        return panel if all(there(data, name) for name in first.arguments) else []
    if first.draw is blocks:
        return panel if has_blocks(data, *first.arguments) else []
    if first.draw is beside:
        name, other = first.arguments
        problem = data.popflow.group("problem") if "problem" in data.popflow.groups else {}
        fits = there(data, name) and other in problem and \
            set(problem[other].dims) <= set(data[name].dims)
        return panel if fits else []
    if not there(data, first.arguments[0]):
        return []
    if first.draw is field and not {"time", "time_state"} & set(data[first.arguments[0]].dims):
        return []
    return with_problem(panel, data)


def with_problem(panel: Panel, data: xarray.Dataset) -> Panel:
    """Returns the panel with the datasets that its options name, where this problem has them."""
    problem = data.popflow.group("problem") if "problem" in data.popflow.groups else {}

    def own_of(option: str, name: str) -> str | None:
        if option not in ("colour_by", "over") or name in problem or \
                np.ndim(data.popflow.parameters.get(name)) == 1:
            return name
        return INSTEAD.get(name) if INSTEAD.get(name) in problem else None

    return [step(own.draw, *own.arguments,
                 **{option: own_of(option, name) for option, name in own.options.items()})
            for own in panel]


def there(data: xarray.Dataset, name: str) -> bool:
    """Returns whether the file has numbers of the variable."""
    return name in data and bool(np.isfinite(data[name].values).any())
