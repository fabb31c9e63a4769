"""The description of a plug-in, which docs/models.md documents."""

from __future__ import annotations

from typing import Any

from ..errors import ModelError
from ..parts import Parts, Row

QUADRATURE_ERROR = {
    "name": "quadrature_error",
    "meaning": "largest change of a mean, or of its derivatives, when the points of Gauss-Hermite "
               "rules are doubled, relative to the larger of 1 and the mean"}


def description_of(model: Parts, has_error: bool = False) -> dict[str, Any]:
    """Returns the plug-in's description, in the form that docs/models.md documents. `has_error`
    adds the observable quadrature_error."""
    dimensions: dict[str, int] = {}
    other = model.other_state
    shapes = [(row.name, row.axes, row.symbol.shape)
              for row in [*model.fields, *model.derived, *model.passages,
                          *(other.fields + other.derived if other is not None else [])]]
    shapes += [(stored.name, stored.axes, stored.values.shape) for stored in model.arrays]
    for name, axes, shape in shapes:
        for axis, size in zip(axes, shape):
            if dimensions.setdefault(axis, size) != size:
                raise ModelError(f"the axis {axis} has two lengths, {dimensions[axis]} and "
                                 f"{size} ({name})")

    def item(row: Row, **more: Any) -> dict[str, Any]:
        return {"name": row.name, "meaning": row.meaning,
                **({"symbol": row.sign} if row.sign else {}), **more}

    def parameter(row: Row) -> dict[str, Any]:
        found = item(row, kind="real", default=row.default, makes_problem=True)
        found["name"] = option(row.name)
        found.pop("makes_problem")
        for bound in ("low", "high"):
            if getattr(row, bound) is not None:
                found[bound] = float(getattr(row, bound))
        return found

    def state(of: Parts) -> dict[str, Any]:
        chosen = len(of.nodes()[0]) or len(of.drawn()[0])
        return {"fields": [item(row, dimensions=list(row.axes), scale=row.scale,
                                **({"sphere": True} if any(row.symbol is one for one in of.spheres)
                                   else {}))
                           for row in of.fields],
                "derived": [item(row, dimensions=list(row.axes)) for row in of.derived],
                "loss": of.has_loss, "loss_floor": of.loss_floor,
                **({"samples": chosen, "sampling": "epochs"} if of.in_epochs else {}),
                **({"drop_last": True} if of.drops_last else {})}

    found: dict[str, Any] = {
        "name": model.name, "title": model.title,
        "source": model.source or "no source is given",
        "equations": model.equations or formula(model),
        "parameters": [parameter(row) for row in model.parameters],
        "dimensions": [{"name": axis, "size": size} for axis, size in dimensions.items()],
        **state(model),
        "passages": [item(row, dimensions=list(row.axes)) for row in model.passages],
        "outcomes": [item(row) for row in model.outcomes],
        "finals": [item(row) for row in model.finals],
        "observables": [*(item(row, floor=row.floor) for row in model.observables),
                        *([QUADRATURE_ERROR] if has_error else [])],
        "invariants": [item(row) for row in model.invariants],
        "events": [item(row) for row in model.events],
        "constants": [item(row) for row in model.constants],
        "arrays": [{"name": stored.name, "meaning": stored.meaning,
                    "dimensions": list(stored.axes)} for stored in model.arrays],
        "notes": [{"text": text} for text in model.notes],
        "first_stage_time": model.first_stage_time,
        "figure": model.figure, "figure_of_sweeps": model.figure_of_sweeps,
        "lane_parameters": len(model.parameters) + 1
        + (len(model.nodes()[0]) if model.table is None else 0)}
    if model.end is not None:
        found["end"] = model.end
    if other is not None:
        found["training"] = {**state(other), "approximation": other.limit}
    return found


def formula(model: Parts) -> str:
    if model.rates:
        return "\n".join(f"d{field.name}/dt = {model.rates[id(field.symbol)].label}"
                         for field in model.fields)
    loss = model.sample_loss if model.sample_loss is not None else model.given_population
    assert loss is not None
    weights = ", ".join(field.name for field in model.fields)
    mean = "E " if model.sample_loss is loss else ""
    return f"d({weights})/dt = -grad L\nL = {mean}{loss.label}"


def option(name: str) -> str:
    return name.replace("_", "-")
