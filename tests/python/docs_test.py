# label: slow
"""The examples of docs/python.md give what the page says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_the_examples_of_the_page(tmp_path, package_folder):
    text = PAGE.read_text().replace("/home/me", str(tmp_path)).replace("\n```\n", "\n\n```\n")
    text = re.sub(r"(\.\d{9})\d+", r"\1", text)  # more digits depend on the machine
    # From 2024 on xarray adds sizes in bytes, and shows fewer numbers.
    text = re.sub(r"(<xarray\.\w+[^\n>]*>)(?=\n)", r"\1...", text)
    text = re.sub(r"( \* \w+ +\(\w+\) \w+) (\S+ \S+) [^\n]*\.\.\.[^\n]* (\S+)(?=\n)",
                  r"\1 ...\2 ... \3", text)
    (tmp_path / "python.md").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-glob=*.md",
         "-o", "doctest_optionflags=ELLIPSIS NUMBER NORMALIZE_WHITESPACE", "python.md"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": package_folder, "MPLBACKEND": "Agg",
             "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    shutil.rmtree(tmp_path)
