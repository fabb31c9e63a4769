# label: fast
"""Arguments in Python become words of the command line."""

import sys
from pathlib import Path

import h5py
import numpy as np
import xarray

from popflow import linear, logarithmic, sampled
from popflow.axes import axes
from popflow.problem import write_problem
from popflow.words import word, words


def test_options():
    assert words({"vocab_size": 10, "text": Path("a b.txt"), "force": True, "quiet": False,
                  "l1": None, "lambda_": 2}) == [
        "--vocab-size", "10", "--text", "a b.txt", "--force", "--lambda", "2"]
    assert words({"rungs": ["flow", "sgd"], "save_at": np.array([1.5, 2])}) == [
        "--rungs", "flow,sgd", "--save-at", "1.5,2"]
    assert words({"from_": {"sgd": "a,b.h5"}}) == ["--from", r"sgd=a\,b.h5"]
    assert words({"from_": {"flow": Path("a.h5"), "sgd": "b.h5"}}) == [
        "--from", "flow=a.h5,sgd=b.h5"]


def test_numbers_keep_their_digits():
    for value in (0.1, 1 / 3, 1e-300, 1e22, -2.5, sys.float_info.max):
        assert float(word(value)) == value
        assert word(np.float64(value)) == word(value)
    assert (word(1e3), word(np.int64(7)), word(np.array(0.5))) == ("1000", "7", "0.5")
    assert word(xarray.DataArray(0.25)) == "0.25"


def test_an_opened_dataset_stands_for_its_file():
    opened = xarray.Dataset(attrs={"path": "/a/b.h5"})
    assert words({"init_from": opened, "from_": {"flow": opened, "sgd": "c.h5"}}) == [
        "--init-from", "/a/b.h5", "--from", "flow=/a/b.h5,sgd=c.h5"]


def test_axes():
    assert axes({"e0": linear(0.02, 2, 200), "learning_rate": logarithmic(1e-3, 1, 13),
                 "problem_seed": range(1, 10**6 + 1), "bias": ["optimal", "free"],
                 "w0": sampled(-2, 2), "text": ["a,b.txt"], "p": 0.5, "q": range(1, 9, 2),
                 "b0": range(3, 0, -1), "steps": range(5, 6)}) == [
        "--over", "e0=0.02:2:200", "--over", "learning-rate=0.001:1:13:log",
        "--over", "problem-seed=1:1000000:1000000", "--over", "bias=optimal,free",
        "--over", "w0=-2:2", "--over", "text=a\\,b.txt", "--over", "p=0.5", "--over", "q=1:7:4",
        "--over", "b0=3,2,1", "--over", "steps=5"]


def test_parameters_that_change_together():
    assert axes({"chain": {"p": [0.1, 0.2], "t_end": np.array([1.0, 2])}}) == [
        "--over", "chain:p=0.1,0.2", "--over", "chain:t-end=1,2"]


def test_problem_files(tmp_path):
    arrays = {"P": np.eye(2), "Q_position": xarray.DataArray([[3, 7]])}
    write_problem(tmp_path / "p.h5", arrays, {"context_length": 100, "sparsity": 2})
    with h5py.File(tmp_path / "p.h5") as file:
        assert dict(file.attrs) == {"context_length": 100}
        assert file["Q_position"].dtype == np.int64 and file["P"].shape == (2, 2)
    write_problem(tmp_path / "q.h5", {**arrays, "context_length": 50}, {})
    with h5py.File(tmp_path / "q.h5") as file:
        assert list(file) == ["P", "Q_position"] and file.attrs["context_length"] == 50
