"""Makes CasADi available to tests of models: from this Python, or from the environment of
scripts/setup."""

import os
import sys
from pathlib import Path

import pytest


def need_casadi():
    """Skips a test file if CasADi or a compiler is missing."""
    for place in sorted(Path(__file__).resolve().parents[2].glob(
            "build/models/lib/python3*/site-packages")):
        if f"python{sys.version_info.major}.{sys.version_info.minor}" in str(place):
            sys.path.append(str(place))
            os.environ["PYTHONPATH"] = os.pathsep.join(
                filter(None, [os.environ.get("PYTHONPATH"), str(place)]))
    pytest.importorskip("casadi", reason="CasADi is missing; scripts/setup --models installs it")
