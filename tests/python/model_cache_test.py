# label: fast
"""The cache of compiled models, when several processes build the same model at once."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

from popflow.model import building

# Replaces the compiler: writes the library in two pieces, so that others may see half of it.
COMPILER = """#!{python}
import sys, time
if "--version" in sys.argv:
    print("a slow compiler")
    sys.exit(0)
with open(sys.argv[sys.argv.index("-o") + 1], "w") as file:
    for piece in ("half", "half"):
        file.write(piece)
        file.flush()
        time.sleep(0.3)
"""

BUILD = """
import sys
from pathlib import Path
from popflow.model import building
target = Path(sys.argv[1])
building.compiled("source", target, "digest")
assert target.read_text() == "halfhalf" and target.with_suffix(".hash").read_text() == "digest"
"""


def test_processes_that_build_at_once_leave_a_complete_library(tmp_path):
    compiler = tmp_path / "slow"
    compiler.write_text(COMPILER.format(python=sys.executable))
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    target = tmp_path / "cache" / "key" / "model.so"
    surroundings = {**os.environ, "POPFLOW_CXX": str(compiler),
                    "PYTHONPATH": os.pathsep.join(
                        [str(Path(building.__file__).parents[2]), *sys.path])}
    builds = []
    for _ in range(3):
        builds.append(subprocess.Popen([sys.executable, "-c", BUILD, str(target)],
                                       env=surroundings, stderr=subprocess.PIPE, text=True))
        time.sleep(0.1)
    seen = 0
    while any(build.poll() is None for build in builds):
        if building.is_built(target):  # a reader finds the complete library and its hash
            assert target.read_text() == "halfhalf"
            assert target.with_suffix(".hash").read_text() == "digest"
            seen += 1
        time.sleep(0.002)
    for build in builds:
        assert build.wait() == 0, build.communicate()[1]
    assert seen > 0
    # No other file is left behind.
    assert sorted(path.name for path in target.parent.iterdir()) == ["model.cpp", "model.hash",
                                                                     "model.so"]
