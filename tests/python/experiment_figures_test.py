# label: long
"""Checks that each configuration of data/experiments names a figure for its claim, and draws it.

The runs are shortened; tests/experiments checks their numbers.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

import popflow

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

FOLDER = Path(os.environ.get("POPFLOW_SOURCE_DIR", Path(__file__).parents[2])) / "data/experiments"
CONFIGURATIONS = sorted(path.stem for path in FOLDER.glob("*.cfg"))
MOST_VALUES = 3  # most values along an axis
PASSED_AROUND = {"scb-large": ["--vocab-size", "5", "--context-length", "100"]}


def lines_of(name):
    found = {}
    for line in (FOLDER / f"{name}.cfg").read_text().splitlines():
        key, equals, value = (part.strip() for part in line.partition("="))
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def shorter(axis):
    """Returns an axis with only a few values."""
    return re.sub(r":(\d+)(:log)?$", lambda found:
                  f":{min(MOST_VALUES, int(found[1]))}{found[2] or ''}", axis) \
        if "=" in axis and ".." not in axis else axis.replace("1..10", "2,4,9")


def shortened(name, command, lines):
    """Returns options that make the experiment short."""
    words = list(PASSED_AROUND.get(name, []))
    if command == "sweep":
        for axis in lines["over"]:
            words += ["--over", shorter(axis)]
    noisy = lines.get("mode", ["flow"])[0] != "flow" or command == "compare"
    if noisy:
        words += ["--runs", "3"]
        rate = float(lines.get("learning-rate", ["0.05"])[0])
        end = float(lines.get("t-end", [200 * rate])[0])
        words += ["--t-end", str(min(end, 200 * rate))]
        if "save-at" not in lines and command != "sweep":
            words += ["--saves", "9"]
    return words


def test_there_are_configurations():
    assert len(CONFIGURATIONS) > 30


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_figure_of_a_claim_is_drawn(name, tmp_path):
    lines = lines_of(name)
    assert "figure" in lines, f"{name}.cfg names no figure"
    command = (FOLDER / f"{name}.cfg").read_text().split()[2]
    path = tmp_path / f"{name}.h5"
    done = subprocess.run([popflow.program(), command, "--config", str(FOLDER / f"{name}.cfg"),
                           "--quiet", *shortened(name, command, lines), "-o", str(path)],
                          capture_output=True, text=True)
    assert done.returncode in ((0, 4) if name == "joma-erf-law" else (0,)), done.stderr
    figure = popflow.figure(path)
    figure.savefig(tmp_path / "figure.png")
    drawn = [axes for axes in figure.axes if axes.has_data()]
    panels = [panel for panel in lines["figure"][0].split(";")] if command == "run" else [""]
    assert len(drawn) >= len(panels), [axes.get_title("left") for axes in drawn]


def test_a_figure_names_only_existing_observables(tmp_path):
    def run(*words, config=None):
        if config is not None:
            (tmp_path / "own.cfg").write_text(config)
            words = ("--config", str(tmp_path / "own.cfg"), *words)
        return subprocess.run([popflow.program(), "run", "markov", *words, "--quiet", "--t-end",
                               "1", "-o", str(tmp_path / "x.h5"), "--force"],
                              capture_output=True, text=True)

    typo = run("--figure", "los; e over w")
    assert typo.returncode == 2 and "'los'" in typo.stderr and "'loss'" in typo.stderr
    assert run("--figure", "; ").returncode == 2
    assert run(config="figure = los\n").returncode == 3
    assert run("--figure", "energy; e over w").returncode == 0
    figure = popflow.figure(tmp_path / "x.h5")
    assert "$e$" in figure.axes[-1].get_ylabel()
    # The option figure does not belong to the parameters that determine results.
    with popflow.open(tmp_path / "x.h5") as data:
        assert "figure" not in str(data.popflow.info()).split("parameters")[1].split("\n")[0]
