#!/usr/bin/python3
# label: slow
"""Checks that the README's picture equals its script's output, and that all claims are drawn."""

import os
import subprocess
import sys
import tempfile

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
NAME = "flow-and-map.png"
TOLERANCE = 2  # root mean square of 256 shades; a curve that moves by its own width exceeds it


def main():
    try:
        import xarray  # noqa: F401
        from matplotlib.testing.compare import compare_images
    except ImportError as missing:
        print(f"skipped: {missing}")
        # Continuous integration installs all packages (scripts/setup), so that a missing one is an
        # error.
        must = os.environ.get("CI") == "true" or os.environ.get("POPFLOW_NO_SKIPS")
        sys.exit(1 if must else 77)
    environment = {**os.environ, "POPFLOW": os.environ["POPFLOW_BINARY"],
                   "PYTHONPATH": os.path.join(SOURCE, "python")}
    with tempfile.TemporaryDirectory(prefix="popflow-test-") as folder:
        subprocess.run([sys.executable, os.path.join(SOURCE, "docs/pictures/draw.py")], cwd=folder,
                       env=environment, check=True)
        different = compare_images(os.path.join(SOURCE, "docs/pictures", NAME),
                                   os.path.join(folder, NAME), TOLERANCE)
        assert not different, different
        draw_claims(folder, environment)


def draw_claims(folder, environment):
    """Draws figures of claims from the stored numbers: two, or all with $POPFLOW_ALL_CASES, which
    scripts/nightly sets. The figures are not compared, since they change with every new
    measurement."""
    some = [] if os.environ.get("POPFLOW_ALL_CASES") else ["9", "26"]
    path = os.pathsep.join([SOURCE, environment["PYTHONPATH"]])
    subprocess.run([sys.executable, os.path.join(SOURCE, "docs/pictures/draw_results.py"), *some],
                   cwd=folder, env={**environment, "PYTHONPATH": path}, check=True)
    drawn = {name for name in os.listdir(folder) if name.startswith("claim-")}
    assert len(drawn) >= (len(some) or 28), drawn
    for name in drawn:
        least = 300 if name.endswith("-small.png") else 3000
        assert os.path.exists(os.path.join(SOURCE, "docs/pictures", name)), name
        assert least < os.path.getsize(os.path.join(folder, name)) < 40000, name


main()
