#!/usr/bin/python3
"""Measures what docs/performance.md reports, keeps it in bench/results, and writes the page's tables.

usage: bench/report.py [--program FILE] [--build FOLDER] [--only NAME ...] [--page]
"""

import argparse
import os
import pathlib

import measure
import page
import parts
import rows

ROWS = {row.name: row for row in rows.ROWS}


def main():
    names = [*ROWS, *parts.PARTS]
    parser = argparse.ArgumentParser(
        description="Measures what docs/performance.md reports, and writes its tables.")
    parser.add_argument("--program", type=pathlib.Path,
                        default=measure.ROOT / "build" / "release" / "popflow",
                        help="default: build/release/popflow")
    parser.add_argument("--build", type=pathlib.Path, default=measure.ROOT / "build" / "bench",
                        help="where the kernels' benchmark is built (default: build/bench)")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME",
                        help=f"one or more of {', '.join(names)}; default: all")
    parser.add_argument("--page", action="store_true",
                        help="measure nothing: write the page from the stored results")
    asked = parser.parse_args()
    for name in [] if asked.page else asked.only:
        print(name, flush=True)
        if name in ROWS:
            measure.row(ROWS[name], asked.program.resolve())
            continue
        before = os.getloadavg()
        found = parts.PARTS[name][0](asked.program.resolve(), asked.build.resolve())
        measure.store(name, {"found": found}, asked.program.resolve(), before)
    page.write()


if __name__ == "__main__":
    main()
