# label: fast
"""Attributes that the package does not have: the error says what to use instead."""

import importlib
import os
import subprocess
import sys

import pytest

import popflow
from popflow.missing import INSTEAD, SUBPACKAGES, names_of


@pytest.mark.parametrize(("name", "advice"), [
    ("plot", "popflow.figure(path) draws a file; in a terminal, `popflow plot FILE` does"),
    ("Model", "use popflow.model.Model"),
    ("Run", "use popflow.run"),
    ("comapre", "did you mean popflow.compare"),
    ("swep", "did you mean popflow.sweep"),
    ("powerlaw", "popflow.analysis.power_law"),
    ("uniform", "use popflow.model.uniform"),
    ("xyzzy", "dir(popflow) lists the package's names"),
])
def test_missing_attribute_names_the_nearest(name, advice):
    with pytest.raises(AttributeError) as found:
        getattr(popflow, name)
    assert str(found.value).startswith(f"module 'popflow' has no attribute '{name}': ")
    assert advice in str(found.value)


def test_the_comparison_modules_error_names_the_verdicts():
    with pytest.raises(AttributeError, match=r"popflow\.compare\(\.\.\.\)\.verdicts"):
        importlib.import_module("popflow.comparison").verdict


def test_names_that_tools_look_up_get_no_advice():
    with pytest.raises(AttributeError) as found:
        popflow._repr_png_
    assert str(found.value) == "module 'popflow' has no attribute '_repr_png_'"


def test_advice_names_what_exists():
    assert not set(INSTEAD) & set(dir(popflow))
    for package in SUBPACKAGES:
        module = importlib.import_module(f"popflow.{package}")
        assert names_of(package) == module.__all__
        assert all(hasattr(module, name) for name in names_of(package))


def test_subpackages_are_attributes_and_load_on_first_use(package_folder):
    code = ("import sys, popflow\n"
            "assert not hasattr(popflow, 'powerlaw')\n"
            "assert 'scipy' not in sys.modules and 'popflow.model' not in sys.modules\n"
            "print(popflow.model.Model.__name__, popflow.analysis.median.__name__)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": package_folder})
    assert done.stdout.split() == ["Model", "median"]
