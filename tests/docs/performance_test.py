#!/usr/bin/python3
# label: fast
"""Checks that the tables of docs/performance.md are those that bench/report.py makes of stored
results."""

import os
import re
import sys

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "bench"))

import measure  # noqa: E402
import page  # noqa: E402
import parts  # noqa: E402
import rows  # noqa: E402


def with_popflow_slower(name, result, text):
    """Returns the page if popflow had taken twice as long in one row."""
    seconds = {**result["seconds"], "popflow": [2 * s for s in result["seconds"]["popflow"]]}
    slower, stored = {**result, "seconds": seconds}, measure.stored
    measure.stored = lambda other: slower if other == name else stored(other)
    try:
        return page.rewritten(text)
    finally:
        measure.stored = stored


def main():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.rewritten(text) == text, "bench/report.py --page writes another page"
    assert re.findall(r"<!-- measured: (\S+) -->", text) == ["peers", *parts.PARTS], "other parts"

    # The page changes if popflow's time in any row doubles.
    names = [row.name for row in rows.ROWS] + list(parts.PARTS)
    kept = {path.stem for path in measure.RESULTS.glob("*.json")}
    assert kept <= set(names), f"results of no row: {kept - set(names)}"
    for row in rows.ROWS:
        result = measure.stored(row.name)
        if result is None:
            continue
        assert row.words in result["command"], f"{row.name} was measured with {result['command']}"
        assert set(result["seconds"]) == {"popflow", *(peer.name for peer in row.peers)}, row.name
        changed = with_popflow_slower(row.name, result, text)
        assert changed != text, f"the page does not show {row.name}"


main()
