#!/usr/bin/python3
"""Counts instructions per step and compares them with bench/instructions.json.

Unlike times, counts are the same on a busy machine, so checks of every change can compare them.

  bench/instructions.py             compares; fails where a count is more than 3% above the kept one
  bench/instructions.py NAME ...    some of them
  bench/instructions.py --write     stores the counts

Valgrind simulates the processor (with AVX2 if the machine has it, without AVX-512) and counts, on one
thread. A count is the difference of a longer and a shorter run divided by the difference of their steps,
so that start-up cancels. What is left of it depends on the clock (whether the first record is written in a
block of its own, about 300,000 instructions), so the difference should be 30 million or more. The program is build/release/popflow, or the one that POPFLOW names.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("POPFLOW", ROOT / "build/release/popflow")).resolve()
KEPT = Path(__file__).with_suffix(".json")
ALLOWED = 0.03  # allows other versions of the libraries


@dataclass(frozen=True)
class Work:
    """A command with a placeholder {} for its length, two lengths, and `each` steps per length."""

    command: str
    short: int
    long: int
    each: int = 1

    def count(self) -> int:
        """Returns the instructions per step."""
        more = self.instructions(self.long) - self.instructions(self.short)
        return round(more / ((self.long - self.short) * self.each))

    def instructions(self, length: int) -> int:
        words = self.command.format(length).split()
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                ["valgrind", "--tool=cachegrind", "--cache-sim=no",
                 "--cachegrind-out-file=/dev/null", PROGRAM, *words, "--threads", "1", "--quiet",
                 "--output", f"{folder}/run.h5"], check=False, capture_output=True, text=True)
        found = re.search(r"I +refs: +([\d,]+)", done.stderr)
        if done.returncode != 0 or found is None:
            sys.exit(f"instructions: popflow {' '.join(words)} failed:\n{done.stderr}")
        return int(found[1].replace(",", ""))


ENDS = "--saves 2 --state ends"
RK4 = f"{ENDS} --method rk4 --dt 0.01 --t-end {{}}"  # 100 steps in a unit of time
SGD = f"{ENDS} --mode sgd --steps {{}}"
SDE = f"{ENDS} --mode sde --method gradient_descent --steps {{}}"

WORKS = {
    "scb-flow": Work(f"run scb --vocab-size 50 --context-length 1000 {RK4}", 1, 4, each=100),
    "scb-isotropic": Work(
        f"run scb --vocab-size 50 --context-length 1000 --noise isotropic {SDE}", 10, 210),
    "scb-sgd": Work(
        f"run scb --vocab-size 20 --context-length 1000 --batch-size 64 {SGD}", 10, 110),
    "joma-flow": Work(f"run joma --activation nonlinear --tokens 10000 {RK4}", 1, 2, each=100),
    "joma-sweep": Work(
        f"sweep joma --over temperature=0.8:3:16 --over problem-seed=1..{{}} --activation nonlinear "
        f"{ENDS}", 2, 12, each=16),
    "joma-joint-flow": Work(f"run joma-joint --tokens 200 --classes 20 {RK4}", 1, 2, each=100),
    "joma-joint-sgd": Work(
        f"run joma-joint --tokens 200 --classes 20 --batch-size 64 {SGD}", 10, 60),
    "joma-joint-sde": Work(
        f"run joma-joint --tokens 20 --classes 20 --batch-size 64 {ENDS} --mode sde --t-end {{}}", 1, 2, each=1000),
    "markov-flow": Work(
        f"sweep markov --over w0=-2:1:8 --over problem-seed=1..{{}} --t-end 50 {ENDS}", 2, 50,
        each=8),
    "markov-records": Work(
        "sweep markov --over e0=0.02:2:8 --over w0=-2:1:8 --t-end 50 --record series --saves {}", 101, 5101,
        each=64),
    "markov-sde": Work(f"run markov --runs 20 {SDE}", 1000, 11000, each=20),
    "markov-sgd": Work(
        f"run markov --runs 20 --batch-size 16 --context-length 32 {SGD}", 100, 1100, each=20),
    "topic-flow": Work(f"run topic {RK4}", 1, 61, each=100),
    "topic-sgd": Work(f"run topic --topics 10 --words-per-topic 10 --topics-per-document 4 --document-length 100 "
        f"--batch-size 16 {SGD}", 10, 60),
}


def main() -> int:
    given = arguments()
    if shutil.which("valgrind") is None:
        sys.exit("instructions: valgrind is missing; scripts/setup --bench installs it.")
    if "avx2" not in Path("/proc/cpuinfo").read_text():
        print("instructions: this machine has no AVX2, so counts cannot be compared.")
        return 0
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    above = 0
    for name in given.names or WORKS:
        count = WORKS[name].count()
        change = count / kept[name] - 1 if name in kept else float("nan")
        too_many = not change <= ALLOWED and not given.write
        above += too_many
        print(f"{name:16} {count:12,} a step{change:+8.1%}{'  too many' * too_many}", flush=True)
        kept[name] = count
    if given.write:
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    elif above:
        print(f"\n{above} above what bench/instructions.json allows. If the additional work is wanted, "
              "bench/instructions.py --write keeps the new counts.", file=sys.stderr)
    return 1 if above else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(WORKS))
    parser.add_argument("--write", action="store_true", help="keep the counts")
    given = parser.parse_args()
    for name in given.names:
        if name not in WORKS:
            parser.error(f"there is no {name}; names are {', '.join(WORKS)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
