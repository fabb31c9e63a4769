"""Panels that a System declares in the attribute `figure` of its files.

Semicolons separate panels. A panel names the observables that share it, a field, or a passage:
"loss at loss_minimum=\\"L*\\"; signal_A over signal_V; V beside P; v by target when t".
"""

from __future__ import annotations

import shlex

from .blocks import blocks
from .fields import beside, field, passages
from .over_time import curves, instants, levels
from .phase import plane
from .plan import Panel, step

KEYWORDS = ("over", "at", "when", "by", "beside")


def panels_of(text: str, of_passages: list[str], of_fields: list[str]) -> list[Panel]:
    """Returns the panels; `of_passages` and `of_fields` are the names that are not observables."""
    return [panel for part in text.split(";")
            if (panel := panel_of(part, of_passages, of_fields))]


def panel_of(text: str, of_passages: list[str], of_fields: list[str]) -> Panel:
    said: dict[str, list[str]] = {word: [] for word in ("", *KEYWORDS)}
    under = ""
    for word in shlex.split(text):
        if word in KEYWORDS:
            under = word
        else:
            said[under].append(word)
    names = said[""]
    if not names:
        return []
    first = names[0]
    if first in of_passages:
        return [step(passages, first, over=next(iter(said["over"]), None))]
    if said["over"]:
        return [step(plane, said["over"][0], first)]
    if said["beside"] == ["topics"]:
        return [step(blocks, "E" if first == "W_E" else first)]
    if said["beside"]:
        return [step(beside, first, said["beside"][0])]
    alone = len(names) == 1 and first in of_fields
    panel = [step(field, first, colour_by=next(iter(said["by"]), None))] if alone \
        else [step(curves, names)]
    if said["at"]:
        panel.append(step(levels, with_symbols(said["at"])))
    if said["when"]:
        panel.append(step(instants, with_symbols(said["when"])))
    return panel


def with_symbols(words: list[str]) -> dict[str, str]:
    """Returns constants with the symbols given after '=', or with their names."""
    found = {}
    for word in words:
        name, _, symbol = word.partition("=")
        found[name] = symbol or name
    return found
