# label: slow
"""Runs the programs and commands of docs/models.md as they are on the page."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from model_support import need_casadi

need_casadi()

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"


def test_programs_and_commands_of_the_page_run(tmp_path, package_folder):
    programs = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert len(programs) == 8
    surroundings = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"),
                    "PYTHONPATH": os.pathsep.join([package_folder, *sys.path])}
    for number, program in enumerate(programs):
        (tmp_path / f"model{number}.py").write_text(program)
        done = subprocess.run([sys.executable, f"model{number}.py"], cwd=tmp_path, env=surroundings,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "checks hold" in done.stderr or "check=False" in program
    (built,) = (tmp_path / "cache").glob("popflow/models/*/memory.so")
    memory = shutil.copy(built, tmp_path)
    binary = os.environ["POPFLOW_BINARY"]
    commands = re.findall(r"^    ((?:popflow|examples/).*)$", PAGE.read_text(), re.M)
    assert len(commands) == 5
    for command in commands:
        program, *words = shlex.split(command)
        if program == "popflow":
            program = [binary]
        elif not words:
            continue  # gallery_test.py runs all checks
        else:
            program = [sys.executable, str(PAGE.parents[1] / program)]
        done = subprocess.run([*program, *words], cwd=tmp_path, env=surroundings,
                              capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
    assert (tmp_path / "memory.png").stat().st_size > 10_000
    # A wrong value is refused with the parameter's name and range.
    done = subprocess.run([binary, "run", str(memory), "--zipf", "-1"], capture_output=True,
                          text=True)
    assert done.returncode == 2 and "--zipf" in done.stderr and "at least 0" in done.stderr
