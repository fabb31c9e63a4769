"""The generated source of a model."""

from __future__ import annotations

import hashlib

from ..parts import Parts
from .generating import Generator
from .whole import WholeGenerator


def source_of(model: Parts) -> tuple[str, str, list[str], bool]:
    """The generated source, its hash, why the flow and the training state have no Jacobian, and
    whether means are found by quadrature."""
    body = "#include \"popflow/model.hpp\"\n\nnamespace {\n\nusing namespace popflow;\n" \
           "using namespace popflow::model;\n\n"

    def made(of: Parts, name: str, records_error: bool) -> tuple[Generator, str]:
        found = WholeGenerator(of) if of.sees_forms or of.smalls else Generator(of)
        found.records_error = records_error
        return found, found.struct(name)

    # Both states have the same observables: if one needs quadrature, the other is made again.
    states = [(model, "Formulas")] if model.other_state is None else \
        [(model.other_state, "TrainingFormulas"), (model, "Formulas")]
    found = [made(of, name, False) for of, name in states]
    records_error = any(one.records_error for one, _ in found)
    found = [(one, text) if one.records_error == records_error else made(of, name, records_error)
             for (one, text), (of, name) in zip(found, states)]
    if model.other_state is not None:
        body += found[0][1] + "const char* const TrainingFormulas::description = \"\";\n\n"
    body += found[-1][1]
    reasons = [found[-1][0].no_jacobian,
               found[0][0].no_jacobian if model.other_state is not None else ""]
    return body, hashlib.sha256(body.encode()).hexdigest()[:32], reasons, records_error
