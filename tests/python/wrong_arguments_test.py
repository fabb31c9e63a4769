# label: fast
"""Wrong arguments raise the package's own errors, which name the arguments."""

import html
import os
import subprocess
import sys

import numpy as np
import pytest
import xarray

import popflow
from popflow import executable
from popflow.long_words import LONGEST
from popflow.words import FLAGS


@pytest.mark.parametrize(("call", "said"), [
    (lambda: popflow.sweep("markov", {3: [1, 2]}), "3 is not the name of a parameter"),
    (lambda: popflow.sweep("markov", {"chain": {3: [1, 2]}}), "3 is not the name of a parameter"),
    (lambda: popflow.run("scb", problem=np.eye(2)), "problem is a ndarray; it must be a file"),
    (lambda: popflow.run("scb", problem=[1, 2]), "problem is a list"),
    (lambda: popflow.run("scb", problem={"P": [[1, 2], [3]]}), r"problem\['P'\] is not an array"),
    (lambda: popflow.run("scb", problem={"P": "abc"}), r"problem\['P'\] holds str"),
    (lambda: popflow.run("scb", problem={"P": [None]}), r"problem\['P'\] holds object"),
    (lambda: popflow.run("scb", problem={"P": [[1j]]}), r"problem\['P'\] holds complex"),
    (lambda: popflow.run("scb", problem={3: np.eye(2)}), "problem has the key 3"),
    (lambda: popflow.run("scb", problem={"P": np.eye(2), "context_length": "x"}),
     r"problem\['context_length'\] is 'x'"),
    (lambda: popflow.run("markov", t_end=1, force="yes"), "force is 'yes'; it must be True"),
    (lambda: popflow.run(3), "system is 3"),
    (lambda: popflow.run("markov", output=3), "output is 3"),
    (lambda: popflow.run("markov", t_end=print), "--t-end is '<built-in function print>'"),
])
def test_messages_name_wrong_arguments(call, said):
    with pytest.raises(popflow.UsageError, match=said):
        call()


def test_netcdf_3_is_distinguished_from_hdf5(tmp_path):
    xarray.Dataset({"a": ("x", [1.0, 2.0])}).to_netcdf(tmp_path / "old.nc", engine="scipy")
    with pytest.raises(popflow.InputError, match="netCDF-3"):
        popflow.open(tmp_path / "old.nc")


def test_the_package_knows_all_flags_of_the_program():
    known = set()
    described = executable.ask_json("systems", "markov")
    for options in (described["options"], *(one["options"] for one in
                                            described["commands"].values())):
        known |= {option["name"] for option in options if option["type"] == "flag"}
    # The package passes these flags itself.
    known -= {"dry-run", "json", "plot", "quiet"}
    assert known <= FLAGS


def test_many_values_are_passed_in_a_configuration_file(tmp_path):
    values = np.linspace(-1, 1, 100_000)
    swept = popflow.sweep("markov", {"w0": values, "e0": [0.1]}, method="euler", dt=0.1, t_end=0.1,
                          state="none", output=tmp_path / "long.h5")
    assert list(swept.sizes)[:2] == ["w0", "e0"]
    assert np.array_equal(swept.w0.values, values)
    again = popflow.resume(tmp_path / "long.h5")  # reads the stored configuration
    assert again.sizes["w0"] == 100_000
    with pytest.raises(popflow.UsageError, match="write them into the file given as config="):
        popflow.sweep("markov", {"w0": values}, config="other.cfg", t_end=0.1)


def test_paths_need_not_be_utf8(tmp_path):
    names = [os.fsdecode(os.path.join(os.fsencode(tmp_path), name)) for name in
             (b"short-\xff.h5", b"long-\xff.h5")]
    assert popflow.run("markov", t_end=1, output=names[0]).sizes["time"] > 0
    # Links to this run, whose names together exceed the length of a command line.
    links = [f"{names[0]}-{number:0200}" for number in range(1 + LONGEST // 230)]
    for link in links:
        os.link(names[0], link)
    swept = popflow.sweep("markov", {"init-from": links}, t_end=0.1, state="none", output=names[1])
    assert swept.sizes["init_from"] == len(links)


def test_the_display_of_a_sweep_begins_with_its_summary(tmp_path, monkeypatch):
    swept = popflow.sweep("markov", {"w0": [-1, 1]}, t_end=1, output=tmp_path / "map.h5")
    page = popflow.executable.ask("info", str(tmp_path / "map.h5")).rstrip()
    assert repr(swept).startswith(page) and "Data variables" in repr(swept)
    asked = []
    ask = popflow.executable.ask
    monkeypatch.setattr(popflow.executable, "ask",
                        lambda *words: asked.append(words) or ask(*words))
    shown = swept._repr_html_()
    assert shown.startswith("<pre>") and "xr-wrap" in shown
    assert len(asked) == 1 and shown.count(html.escape(page.splitlines()[0])) == 1
    assert not repr(swept.isel(w0=0)).startswith(page)


def test_parameters_that_change_together_are_coordinates(tmp_path):
    swept = popflow.sweep("markov", {"chain": {"p": [0.1, 0.2], "q": [0.3, 0.5]}}, t_end=1,
                          output=tmp_path / "chains.h5")
    assert {"p", "q"} <= set(swept.coords)
    assert np.array_equal(swept.loss.sel(chain=1).p, 0.2)


def test_an_import_error_names_missing_packages():
    # Python without site-packages lacks the packages that popflow needs.
    folder = str(executable.Path(popflow.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {folder!r}); import popflow"
    done = subprocess.run([sys.executable, "-S", "-I", "-c", code], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "ImportError: popflow needs" in last and sys.executable in last and "pip install" in last


def test_the_package_contains_analysis():
    code = "import popflow; print(popflow.analysis.line.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**executable.os.environ, "PYTHONPATH": ":".join(sys.path)})
    assert done.stdout.strip() == "line"
