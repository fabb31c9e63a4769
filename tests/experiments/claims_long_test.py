#!/usr/bin/python3
# label: nightly
"""Runs the long forms of the claims (hours in all) and checks that each gives its stored
verdict."""

import json
import os
import subprocess
import sys

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
KEPT = os.path.join(SOURCE, "claims", "results")


def with_long_form():
    for name in sorted(os.listdir(KEPT)):
        with open(os.path.join(KEPT, name)) as file:
            if "long" in json.load(file):
                yield str(int(name.removesuffix(".json")))


if __name__ == "__main__":
    command = [os.path.join(SOURCE, "scripts", "claims"), "--long", "--check", *with_long_form()]
    surroundings = {**os.environ, "POPFLOW": os.environ["POPFLOW_BINARY"]}
    sys.exit(subprocess.run(command, env=surroundings, check=False).returncode)
