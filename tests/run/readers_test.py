#!/usr/bin/python3
# label: slow
"""All readers can read every kind of run's file."""

import os
import pathlib
import subprocess
import sys

from contract_test import N, SMALL, T, VARIANTS
from runs import Folder, check, popflow, run_all


def test_readers():
    readers = pathlib.Path(__file__).parent.parent / "file" / "readers.py"
    with Folder() as folder:
        paths = []

        def run(name, *args, code=0):
            paths.append(os.path.join(folder, name + ".h5"))
            popflow("run", "scb", *args, "-o", paths[-1], code=code)

        for number, (args, _) in enumerate(VARIANTS.values()):
            run(str(number), *SMALL, *args)
        text = os.path.join(folder, "text.txt")
        with open(text, "w") as file:
            file.write("to be or not to be that is the question to be or not\n")
        small = ["--vocab-size", N, "--context-length", T]
        run("words", "--context-length", T, "--text", text, "--text-unit", "word")
        run("characters", "--context-length", T, "--text", text, "--coordinates", "support")
        run("stopped", *small, "--method", "euler", "--dt", 5, "--t-end", 5000, code=4)
        run("one", *small, "--saves", 1)
        run("transfer", *small, "--init-from", paths[0], "--init-mix", 0.5)
        run("far", "--vocab-size", N, "--context-length", 1e9, "--coordinates", "signal")
        done = subprocess.run([sys.executable, readers, *paths], capture_output=True, text=True)
        check(done.returncode == 0, done.stdout + done.stderr)


if __name__ == "__main__":
    run_all()
