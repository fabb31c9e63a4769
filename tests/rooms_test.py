#!/usr/bin/python3
# label: fast
"""Checks that rooms of src include only what stands above them in the table of src/README.md, and
that src itself has no headers of its own."""

import os
import pathlib
import re

ROOT = pathlib.Path(os.environ["POPFLOW_SOURCE_DIR"]) / "src"
INCLUDE = re.compile(r'^#include "([^"/]+)/[^"]+"', re.MULTILINE)


def rooms():
    """Returns the rooms of the table from what knows least to what knows most."""
    table = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)
    return [room for row in rows for room in re.findall(r"`(\w+)`", row)]


def breaches(order, sources):
    """Returns the includes of rooms that stand below. `sources` maps pairs of a room and a file to
    texts."""
    rank = {room: place for place, room in enumerate(order)}
    return [f"{room}/{file} includes {other}/"
            for (room, file), text in sources.items() for other in INCLUDE.findall(text)
            if rank.get(other, -1) > rank[room]]


def test_breaches_are_found():
    sources = {("low", "a.cpp"): '#include "high/b.hpp"\n#include "popflow/x.hpp"\n',
               ("high", "b.cpp"): '#include "low/a.hpp"\n#include "high/b.hpp"\n'}
    assert breaches(["low", "high"], sources) == ["low/a.cpp includes high/"]


def test_every_room_uses_those_above_it():
    order = rooms()
    sources = {(path.parent.name, path.name): path.read_text(encoding="utf-8")
               for path in ROOT.glob("*/*.*") if path.suffix in (".cpp", ".hpp", ".inc")}
    assert len(sources) > 250, len(sources)
    assert {room for room, _ in sources} == set(order), "src/README.md lists other rooms"
    assert breaches(order, sources) == []


def test_headers_stand_in_rooms():
    assert not list(ROOT.glob("*.hpp")), list(ROOT.glob("*.hpp"))


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "passed")
