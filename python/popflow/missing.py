"""Messages about attributes that the package does not have."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from pathlib import Path

# Subpackages that are imported on first use, because `analysis` loads SciPy.
SUBPACKAGES = ("analysis", "model")

# Words that users try, and what the package has instead.
INSTEAD = {
    "draw": "popflow.figure(path) draws a file",
    "info": "result.popflow.info() returns the summary of a file",
    "load": "popflow.open(path) opens a file",
    "plot": "popflow.figure(path) draws a file; in a terminal, `popflow plot FILE` does",
    "read": "popflow.open(path) opens a file",
    "simulate": "popflow.run(system) runs a system",
    "train": "popflow.run(system, mode='sgd') trains a system by sampled SGD",
    "verdict": "popflow.compare(...).verdicts is the table of verdicts",
    "verdicts": "popflow.compare(...).verdicts is the table of verdicts",
}


def attribute_error(module: str, name: str, own: Iterable[str]) -> AttributeError:
    """Returns the error about a missing attribute; its message names the nearest attributes."""
    problem = f"module '{module}' has no attribute '{name}'"
    if name.startswith("_"):  # looked up by Python and by tools, not by users
        return AttributeError(problem)
    return AttributeError(f"{problem}: {advice(name, {word: f'{module}.{word}' for word in own})}")


def advice(name: str, places: dict[str, str]) -> str:
    """Returns what to use in place of `name`, given the full name of each attribute of a module."""
    if name.lower() in INSTEAD:
        return INSTEAD[name.lower()]
    for package in SUBPACKAGES:
        for word in names_of(package):
            places.setdefault(word, f"popflow.{package}.{word}")
    if name in places:
        return f"use {places[name]}"
    known: dict[str, list[str]] = {}
    for word, place in places.items():
        known.setdefault(plain(word), []).append(place)
    near = difflib.get_close_matches(plain(name), known, n=3, cutoff=0.7)
    if plain(name) in known:
        return f"use {' or '.join(known[plain(name)])}"
    if near:
        return f"did you mean {' or '.join(place for word in near for place in known[word])}?"
    return ("dir(popflow) lists the package's names, popflow.systems the systems, and "
            "docs/python.md explains both")


def plain(name: str) -> str:
    return name.replace("_", "").lower()


def names_of(package: str) -> list[str]:
    """Returns the public names of a subpackage, read from its source without importing it."""
    source = (Path(__file__).parent / package / "__init__.py").read_text(encoding="utf-8")
    for line in ast.parse(source).body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__":
            return list(ast.literal_eval(line.value))
    return []
