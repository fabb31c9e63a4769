# label: slow
"""Runs that continue each other, joined along one time axis."""

import numpy as np
import pytest

import popflow

SMALL = {"vocab_size": 4, "context_length": 12, "show": False}
TIGHT = {"rtol": 1e-11, "atol": 1e-13}


def test_phases_of_a_flow_equal_one_long_run(tmp_path):
    files = [tmp_path / f"{number}.h5" for number in range(3)]
    popflow.run("scb", **SMALL, **TIGHT, t_end=8, saves=5, output=files[0])
    popflow.run("scb", **SMALL, **TIGHT, t_end=4, saves=3, init_from=files[0], output=files[1])
    popflow.run("scb", **SMALL, **TIGHT, t_end=8, saves=5, init_from=files[1], output=files[2])
    whole = popflow.run("scb", **SMALL, **TIGHT, t_end=20, saves=11, output=tmp_path / "whole.h5")
    assert [popflow.open(file).attrs.get("continues_at") for file in files] == [None, 8, 12]
    joined = popflow.phases(*files)
    np.testing.assert_allclose(joined.time, whole.time)
    for name in whole.attrs["observables"].split() + ["V", "A"]:
        np.testing.assert_allclose(joined[name], whole[name], rtol=1e-7, atol=1e-9)
    assert "continues_at" not in joined.attrs

    # An extended file still names the time at which it continues the previous one.
    popflow.resume(files[2], t_end=12, show=False)
    assert popflow.open(files[2]).attrs["continues_at"] == 12
    assert float(popflow.phases(*files).time[-1]) == 24


@pytest.mark.parametrize("options", [
    {"mode": "sgd", "learning_rate": 0.5, "batch_size": 4, "runs": 3},
    {"mode": "sde", "learning_rate": 0.1, "runs": 2, "noise": "isotropic", "noise_scale": 1e-4}])
def test_phases_of_an_ensemble_continue_run_by_run(tmp_path, options):
    first = popflow.run("scb", **SMALL, **options, t_end=6, saves=4, output=tmp_path / "a.h5")
    second = popflow.run("scb", **SMALL, **options, t_end=4, saves=3, seed=2, init_from=first,
                         output=tmp_path / "b.h5")
    joined = popflow.phases(first, second)
    assert list(joined.time.values) == [0, 2, 4, 6, 8, 10]
    assert joined.sizes["run"] == options["runs"]
    np.testing.assert_array_equal(joined.loss.isel(time=slice(4, None)), second.loss[:, 1:])
    np.testing.assert_allclose(joined.loss.isel(time=3), second.loss[:, 0], rtol=1e-12)


def test_runs_that_do_not_continue_each_other_are_refused(tmp_path):
    first = popflow.run("scb", **SMALL, t_end=6, saves=4, output=tmp_path / "a.h5")
    other = popflow.run("scb", **SMALL, t_end=3, saves=4, output=tmp_path / "b.h5")
    second = popflow.run("scb", **SMALL, t_end=4, saves=3, init_from=first,
                         output=tmp_path / "c.h5")
    with pytest.raises(popflow.InputError, match="does not continue a run"):
        popflow.phases(first, other)
    with pytest.raises(popflow.InputError, match="starts at t = 6 of the whole time"):
        popflow.phases(other, second)
    with pytest.raises(popflow.InputError, match="the files of runs"):
        popflow.phases()
    assert list(popflow.phases(second).time.values) == [6, 8, 10]
