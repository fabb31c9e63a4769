"""The package of this checkout, whatever is installed, with the program that is tested; with
POPFLOW_TEST_INSTALLED set, the installed package with its own program."""

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
    """Returns the folder in which another Python finds the same package (PYTHONPATH)."""
    import popflow
    return str(Path(popflow.__file__).parents[1])


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory):
    """Models are built into a cache of the module's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Makes a program of a few lines of Python stand in for popflow."""
    def make(body, version="0.1.0"):
        path = tmp_path / "popflow"
        path.write_text(f"#!{sys.executable}\nimport json, sys\n"
                        f"if sys.argv[1] == '--version': print('popflow {version}'); sys.exit()\n"
                        + textwrap.dedent(body))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("POPFLOW", str(path))
        return path
    return make
