#!/usr/bin/python3
# label: nightly
"""Five hundred random kills, or the number in POPFLOW_KILLS, from the seed in POPFLOW_KILL_SEED
on."""

import os

from kills import kill_many
from runs import run_all


def test_random_kills_lose_nothing():
    first = int(os.environ.get("POPFLOW_KILL_SEED", 1000))
    return kill_many(range(first, first + int(os.environ.get("POPFLOW_KILLS", 500))))


if __name__ == "__main__":
    run_all()
