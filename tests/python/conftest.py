"""Fixtures. Tests use the package of this checkout with the tested program. If
POPFLOW_TEST_INSTALLED is set they use the installed package with its program."""

import os
import stat
import sys
import textwrap
from pathlib import Path

import pytest

if not os.environ.get("POPFLOW_TEST_INSTALLED"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
if "POPFLOW_BINARY" in os.environ:
    os.environ["POPFLOW"] = os.environ["POPFLOW_BINARY"]


@pytest.fixture
def package_folder():
    """Returns the folder that PYTHONPATH needs for another Python to find the same package."""
    import popflow
    return str(Path(popflow.__file__).parents[1])


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory):
    """Builds models into a separate cache for each test module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Returns a function that replaces popflow by a program of a few lines of Python."""
    def make(body, version="0.1.0"):
        path = tmp_path / "popflow"
        path.write_text(f"#!{sys.executable}\nimport json, sys\n"
                        f"if sys.argv[1] == '--version': print('popflow {version}'); sys.exit()\n"
                        + textwrap.dedent(body))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("POPFLOW", str(path))
        return path
    return make
