# label: slow
"""The programs of docs/models.md run as they stand there, with the plug-in from a terminal too."""

import os
import re
import subprocess
import sys
from pathlib import Path

from model_support import need_casadi

need_casadi()

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"


def test_the_page(tmp_path, package_folder):
    programs = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert len(programs) == 3
    surroundings = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"),
                    "PYTHONPATH": os.pathsep.join([package_folder, *sys.path])}
    for number, program in enumerate(programs):
        (tmp_path / f"model{number}.py").write_text(program)
        done = subprocess.run([sys.executable, f"model{number}.py"], cwd=tmp_path, env=surroundings,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "checks hold" in done.stderr
    (memory,) = (tmp_path / "cache").glob("popflow/models/*/memory.so")
    binary = os.environ["POPFLOW_BINARY"]
    for words in (["run", "--zipf", "1.2", "--t-end", "10", "-o", "a.h5"],
                  ["sweep", "--over", "zipf=0:2:3", "--t-end", "10", "-o", "b.h5"],
                  ["verify"]):
        done = subprocess.run([binary, words[0], str(memory), *words[1:]], cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    # A wrong value is refused in the parameter's terms.
    done = subprocess.run([binary, "run", str(memory), "--zipf", "-1"], capture_output=True,
                          text=True)
    assert done.returncode == 2 and "--zipf" in done.stderr and "at least 0" in done.stderr
