# label: fast
"""Training trajectories of other programs: datasets and arrays as rungs of a comparison."""

import numpy as np
import pytest
import xarray

import popflow

TRAINING = {"learning_rate": 0.05, "batch_size": 8, "runs": 8}


@pytest.fixture(scope="module")
def sgd(tmp_path_factory):
    """Returns a stand-in for a training by another program."""
    return popflow.run("markov", mode="sgd", t_end=2, saves=6, seed=3, **TRAINING,
                       output=tmp_path_factory.mktemp("sgd") / "sgd.h5")


def verdicts(comparison, pair):
    table = comparison.verdicts.sel(pair=pair)
    return [(str(s), str(q), str(v)) for s, q, v in
            zip(table.subject.values, table.question.values, table.verdict.values)]


def test_dataset_arrays_and_file_are_the_same(sgd, tmp_path):
    dataset = xarray.Dataset({"loss": (("time", "run"), sgd.loss.values.T)},
                             {"time": sgd.time.values})  # transposed, as some programs write it
    dataset.to_netcdf(tmp_path / "mine.nc", engine="h5netcdf")
    ways = [dataset, {"time": sgd.time.values, "loss": sgd.loss.values}, tmp_path / "mine.nc"]
    found = [popflow.compare("markov", trajectories={"mine": way}, rungs=["flow", "sgd"],
                             output=tmp_path / f"{number}.h5", **TRAINING)
             for number, way in enumerate(ways)]
    for one in found:
        assert verdicts(one, "mine-flow") == verdicts(found[0], "mine-flow")
        np.testing.assert_array_equal(one.loss_mean, found[0].loss_mean)
        np.testing.assert_array_equal(one.popflow.group("mine").loss, sgd.loss)
    np.testing.assert_allclose(found[0].time, sgd.time)
    assert verdicts(found[0], "mine-sgd")[0] == ("loss", "range", "agree")


def test_verdicts_equal_those_of_popflows_own_file(sgd, tmp_path):
    """An opened file of popflow, with its fields, is accepted like any dataset."""
    flow = popflow.run("markov", t_end=2, saves=6, output=tmp_path / "flow.h5")
    own = popflow.compare(from_={"flow": flow, "sgd": sgd}, output=tmp_path / "own.h5")
    mine = popflow.compare(trajectories={"mine": sgd}, from_={"flow": flow},
                           output=tmp_path / "mine.h5")
    wanted = [row for row in verdicts(own, "sgd-flow") if row[1] in ("range", "depth")]
    assert [row for row in verdicts(mine, "mine-flow") if row[1] in ("range", "depth")] == wanted
    assert "mine-flow" in repr(mine)


def test_trajectories_are_compared_without_rungs(tmp_path):
    draws = np.random.default_rng(4).normal(size=(2, 30, 5)).cumsum(axis=2)
    time = np.arange(5.0)
    result = popflow.compare_trajectories(
        a={"time": time, "height": draws[0]}, b={"time": time, "height": draws[1] + 20},
        output=tmp_path / "ab.h5", options={"delta": 0.1})
    assert verdicts(result, "b-a") == [("height", "range", "differ")]
    exact = {"time": time, "height": time**2, "deterministic": True}
    result = popflow.compare_trajectories(a=exact, b=exact, output=tmp_path / "aa.h5")
    assert verdicts(result, "b-a") == [("height", "range", "agree")]


@pytest.mark.parametrize(("trajectories", "said"), [
    ([1, 2], "trajectories is a list"),
    ({"mine": [1, 2]}, r"trajectories\['mine'\] is a list"),
    ({"mine": {"time": [0, 1], "loss": ["a", "b"]}}, r"trajectories\['mine'\]\['loss'\] holds str"),
    ({"mine": {"time": [0, 1], 3: [1, 2]}}, "has the key 3"),
    ({"a/b": {}}, "has the name 'a/b'"),
    ({"sgd": {"time": [0, 1], "loss": [1, 2]}}, "the name of one of popflow's rungs"),
])
def test_messages_name_wrong_arguments(trajectories, said):
    with pytest.raises(popflow.UsageError, match=said):
        popflow.compare("markov", trajectories=trajectories, rungs="flow")


@pytest.mark.parametrize(("arrays", "said"), [
    ({"loss": [1.0, 2]}, "neither a variable 'time'"),
    ({"time": [0.0, 1], "lose": [1.0, 2]}, "did you mean loss with lose"),
    ({"time": [0.0, 1], "loss": [1.0, np.nan]}, "'loss' is NaN or missing in run 0 at t = 1"),
    ({"time": [0.0, 0], "loss": [1.0, 2]}, "times must increase"),
    ({"time": [0.0, 1], "loss": np.ones((2, 3))}, r"'loss' has the shape \(2, 3\)"),
])
def test_messages_name_wrong_contents(arrays, said):
    with pytest.raises(popflow.InputError, match=said):
        popflow.compare("markov", trajectories={"mine": arrays}, rungs="flow", **TRAINING)


def test_figures_compare_the_rungs_with_the_trajectories(sgd, tmp_path):
    from popflow.figure.rungs import pairs

    result = popflow.compare("markov", trajectories={"mine": sgd}, rungs=["flow", "sgd"],
                             output=tmp_path / "c.h5", **TRAINING)
    assert [other for _, _, _, other in pairs(result)] == ["flow", "sgd"]
    popflow.figure(tmp_path / "c.h5", "loss").savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_packed_and_masked_arrays_are_decoded(tmp_path):
    """As netCDF4-python gives them (masked), and xarray without decoding."""
    from popflow.problem import image
    from popflow.real_arrays import real_array
    from popflow.trajectories import arrays

    time, loss = np.arange(5), np.arange(10).reshape(2, 5)
    packed = xarray.Dataset({"loss": (("run", "time"), loss, {"scale_factor": 0.5})},
                            {"time": ("time", time, {"scale_factor": 0.1, "add_offset": 1.0})})
    found = arrays("mine", packed)
    np.testing.assert_array_equal(found["loss"], 0.5 * loss)
    np.testing.assert_allclose(found["time"], 1 + 0.1 * time)
    for spans in (time.astype("timedelta64[s]"), time.astype("datetime64[s]")):
        with pytest.raises(popflow.UsageError, match=r"\['time'\] holds (timedelta|datetime)64"):
            arrays("mine", packed.assign_coords(time=spans.astype(spans.dtype.str[:3] + "[ns]")))
    masked = real_array("it", np.ma.masked_equal(loss, 3))
    assert np.isnan(masked[0, 3]) and masked[0, 4] == 4
    problem = xarray.Dataset({"P": (("o", "i"), loss, {"scale_factor": 0.5})})
    (tmp_path / "p.h5").write_bytes(image(tmp_path / "p.h5", problem, {}))
    with xarray.open_dataset(tmp_path / "p.h5", engine="h5netcdf", phony_dims="sort") as written:
        np.testing.assert_array_equal(written.P, 0.5 * loss)
