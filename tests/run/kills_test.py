#!/usr/bin/python3
# label: fast
"""Twenty random kills. Numbers as arguments select seeds and print each kill."""

import sys

from kills import kill_many, kill_once
from runs import run_all


def test_random_kills_lose_nothing():
    return kill_many(range(20))


if __name__ == "__main__":
    if sys.argv[1:] and all(word.isdigit() for word in sys.argv[1:]):
        for seed in sys.argv[1:]:
            print(kill_once(int(seed)))
    else:
        run_all()
