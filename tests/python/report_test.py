# label: fast
"""Checks that bench/report.py refuses unknown names before any work, and detects peers that
disagree with popflow."""

import subprocess
import sys
from pathlib import Path

import numpy as np

BENCH = Path(__file__).parents[2] / "bench"
REPORT = BENCH / "report.py"
sys.path.insert(0, str(BENCH / "peers"))

from peer import Agreement  # noqa: E402


def test_an_unknown_name_is_refused_with_the_allowed_names():
    run = subprocess.run([sys.executable, REPORT, "--only", "nothing"], capture_output=True,
                         text=True, timeout=60)
    assert run.returncode == 2
    for name in ("nothing", "kernels", "programs", "sweeps", "joma-joint-flow"):
        assert name in run.stderr


def test_different_final_states_count_as_disagreement():
    agreement = Agreement()
    agreement.close("v", [1.0, 2.0], [1.0, 2.0 + 1e-7])
    assert not agreement.broken()
    agreement.close("w", [1.0, 2.0], [1.0, 2.0 + 1e-5])
    agreement.close("x", [float("nan")], [1.0])
    assert agreement.broken() == ["w", "x"]


def test_a_different_mean_or_spread_counts_as_disagreement():
    a, b = np.random.default_rng(1).normal(3, 1, (2, 1000))
    agreement = Agreement()
    agreement.alike("same", a, b)
    assert not agreement.broken()
    agreement.alike("shifted", a, b + 0.5)
    agreement.alike("wider", a, 3 + 2 * (b - 3))
    assert agreement.broken() == ["mean of shifted", "spread of wider"]
