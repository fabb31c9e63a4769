"""The generated source of a model."""

from __future__ import annotations

import hashlib

from ..parts import Parts
from .generating import Generator
from .whole import WholeGenerator


def source_of(model: Parts) -> tuple[str, str, list[str]]:
    """The generated source, its hash, and why the flow and the training state have no Jacobian."""
    body = "#include \"popflow/model.hpp\"\n\nnamespace {\n\nusing namespace popflow;\n" \
           "using namespace popflow::model;\n\n"

    def generator(of: Parts) -> Generator:
        return WholeGenerator(of) if of.sees_forms or of.smalls else Generator(of)

    if model.other_state is not None:
        training = generator(model.other_state)
        body += training.struct("TrainingFormulas")
        body += "const char* const TrainingFormulas::description = \"\";\n\n"
    flow = generator(model)
    body += flow.struct("Formulas")
    reasons = [flow.no_jacobian, training.no_jacobian if model.other_state is not None else ""]
    return body, hashlib.sha256(body.encode()).hexdigest()[:32], reasons
