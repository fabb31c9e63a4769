# label: fast
"""bench/report.py refuses what it cannot measure before it measures anything."""

import subprocess
import sys
from pathlib import Path

REPORT = Path(__file__).parents[2] / "bench" / "report.py"


def test_an_unknown_name_is_refused_with_the_allowed_ones():
    run = subprocess.run([sys.executable, REPORT, "--only", "nothing"], capture_output=True,
                         text=True, timeout=60)
    assert run.returncode == 2
    for name in ("nothing", "kernels", "noisy-modes", "programs"):
        assert name in run.stderr
