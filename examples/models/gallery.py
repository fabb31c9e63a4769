#!/usr/bin/python3
"""Builds the models of this folder, checks them against exact results, and draws a picture of each.

usage: PYTHONPATH=python examples/models/gallery.py [--draw FILE.png] [NAME ...]
"""

import argparse
import importlib
import sys
import tempfile

NAMES = ["associative_memory", "multi_head", "induction", "diagonal_linear", "glm_sgd",
         "committee", "phase_retrieval", "single_index", "low_rank", "gaussian_classes",
         "transformer"]


def main():
    parser = argparse.ArgumentParser(description="Checks the models of examples/models, and draws a "
                                     "picture of their experiments.")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"one or more of {', '.join(NAMES)}; default: all")
    parser.add_argument("--draw", metavar="FILE", help="run the experiments and draw them")
    asked = parser.parse_args()
    names = asked.names or NAMES
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"there is no model {unknown[0]}; there are {', '.join(NAMES)}")
    import popflow
    modules = {name: importlib.import_module(f"experiments.{name}") for name in names}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        popflow.folder(folder)
        for name, module in modules.items():
            for check in module.checks():
                failed += not check.holds
                least = f"{check.low:.3g} to " if check.low else "at most "
                print(f"{'ok   ' if check.holds else 'FAILS'} {name}: {check.what}: "
                      f"{check.found:.3g} ({least}{check.high:.3g})", flush=True)
        if asked.draw:
            draw(modules, asked.draw)
    return 1 if failed else 0


def draw(modules, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    rows = -(-len(modules) // 3)
    with matplotlib.rc_context({"font.size": 9}):
        figure, axes = plt.subplots(rows, min(3, len(modules)), figsize=(11, 3.3 * rows),
                                    layout="constrained", squeeze=False)
        for panel, (name, module) in zip(axes.ravel(), modules.items()):
            print(f"{name}: {module.experiment(panel)}", flush=True)
        for panel in axes.ravel()[len(modules):]:
            panel.remove()
        figure.savefig(path, dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    sys.exit(main())
