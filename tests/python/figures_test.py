# label: long
"""Figures show the contents of their files."""

import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray
from figure_files import maker

import popflow
from popflow.figure import Page, kinds
from popflow.figure.choice import comparison
from popflow.figure.choice_of_sweeps import turned
from popflow.figure.command import run
from popflow.figure.symbols import converted, mathematics, prose

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return maker(tmp_path_factory.mktemp("files"))



def drawn(made, name, **options):
    return popflow.figure(made(name).popflow.path, **options)


def labels(figure):
    """Returns the texts of all keys, including the key at the foot of the page."""
    keys = [axes.get_legend() for axes in figure.axes] + figure.legends
    return [text.get_text() for key in keys if key for text in key.get_texts()]


def curve_of(axes, number=0):
    return axes.lines[number].get_xydata().T


def test_a_run_has_its_panels_and_events(made):
    run, figure = made("run"), drawn(made, "run")
    loss, signals, plane, distances, *matrices = figure.axes
    assert len(matrices) == 4  # V beside P and A beside Q, with their colour bars
    assert np.array_equal(curve_of(loss), [run.time, run.excess_loss])
    assert loss.get_yscale() == "log" and loss.get_ylabel() == "$L - L^{*}$"
    # The signal starts at a rounding error of 0, which a logarithmic axis leaves out.
    assert signals.get_yscale() == "log" and abs(run.signal_A[0]) < 1e-15
    assert np.isnan(curve_of(signals, 1)[1][0])
    assert np.array_equal(curve_of(signals, 1)[:, 1:], [run.time[1:], run.signal_A[1:]])
    assert np.array_equal(curve_of(plane), [run.signal_V, run.signal_A])
    error = run.attention_sum_error.values  # the error starts at 0 and is mentioned in the key only
    error = np.where(error > 0, error, np.nan)  # zeros are left out on a logarithmic axis
    drift = drawn(made, "run", observable="attention_sum_error").axes[0]
    assert np.array_equal(curve_of(drift)[1], error, equal_nan=True)
    assert any(label.startswith("drift of 3 invariants: at most") for label in labels(figure))
    assert loss.get_xlabel() == "flow time, $t$"
    # On the valley the signals' product is 1.
    valley = next(line for line in plane.lines if str(line.get_label()).startswith("valley"))
    assert np.allclose(valley.get_xdata() * valley.get_ydata(), 1)
    # Events are marked in all panels over time, and named at the foot.
    boosted = float(run.time_of.boosted)
    for axes in (loss, signals, distances):
        assert any(np.allclose(line.get_xdata(), boosted) for line in axes.lines[1:])
    assert f"boosted, $t$ = {boosted:.4g}" in labels(figure)


def test_the_key_explains_only_marked_events(made):
    def of_events(**options):
        return [label for label in labels(drawn(made, "run", **options)) if "boosted" in label]

    assert of_events(observable="A") == []  # a matrix has no time axis
    assert len(of_events(observable="loss")) == 1
    assert len(of_events(observable="signal_A", against="signal_V")) == 1


def test_a_blow_up_is_marked_at_its_time(made):
    run = made("drives")
    weights = drawn(made, "drives").axes[1]
    assert weights.get_xlim()[1] >= run.attrs["blow_up_time"]
    assert any(np.allclose(line.get_xdata(), run.attrs["blow_up_time"]) for line in weights.lines)
    assert [text.get_text() for text in weights.texts] == ["$t^{*}$"]
    # one run ends before the blow-up, and the other one shows a map of nodes and tokens
    for name in ("early", "nodes"):
        weights = drawn(made, name).axes[1]
        assert len(weights.images) == (name == "nodes") and not weights.texts
        assert not any(np.allclose(line.get_xdata(), made(name).attrs["blow_up_time"])
                       for line in weights.lines)


def test_stages_begin_at_their_events(made):
    run, figure = made("stages"), drawn(made, "stages", observable="loss")
    # Shades are polygons or rectangles, depending on matplotlib's version.
    shades = [patch.get_patch_transform().transform(patch.get_path().vertices)[:, 0]
              for patch in figure.axes[0].patches]
    assert {"stage: boosting", "stage: regularised"} <= set(labels(figure))
    assert shades[1].min() == pytest.approx(float(run.time_of.stage2))


@pytest.mark.parametrize("name, losses, chances", [
    ("chain", ["$H(x_{n+1}|x_{n})$", r"$H(\pi )$"], ["$p$", "$q$"]),
    ("symmetric", ["$H(x_{n+1}|x_{n})$", r"$H(\pi )$"], ["$p$, $q$"]),
    ("squeezed", ["$H(x_{n+1}|x_{n})$", r"$H(\pi )$"], ["$p$", "$q$"]),
    ("independent", ["$H(x_{n+1}|x_{n})$", r"$H(\pi )$"], ["$p$", "$q$"])])
def test_levels_can_be_distinguished(made, name, losses, chances):
    """Equal levels share a symbol; symbols of close levels are stacked in order."""
    figure = drawn(made, name)
    for axes, symbols in zip(figure.axes, (losses, chances)):
        assert [text.get_text() for text in axes.texts] == symbols
        boxes = [text.get_window_extent() for text in axes.texts]
        assert all(low.y1 <= high.y0 + 1 for low, high in zip(boxes, boxes[1:]))
        panel = axes.get_window_extent()
        assert all(panel.y0 - 1 <= box.y0 and box.y1 <= panel.y1 + 1 for box in boxes)
        dashed = [line for line in axes.lines if line.get_linestyle() == "--"
                  and np.ptp(line.get_ydata()) == 0 and line.get_color() == "0.45"]
        assert len(dashed) == len({text.xy[1] for text in axes.texts})


def test_an_ensemble_has_its_median_and_band(made):
    runs, figure = made("ensemble"), drawn(made, "ensemble", observable="loss")
    loss = figure.axes[0]
    assert np.array_equal(curve_of(loss, 0)[1], runs.loss[0])
    medians = [line for line in loss.lines if line.get_linewidth() > 1]
    assert np.allclose(medians[0].get_ydata(), runs.loss.median("run"))
    band = loss.collections[0].get_paths()[0].vertices
    assert np.isclose(band[:, 1].max(), runs.loss.quantile(0.9, "run").max())
    assert "median of 12 runs" in labels(figure)


def test_a_comparison_shows_its_verdicts(made):
    compared, figure = made("comparison"), drawn(made, "comparison", observable="loss")
    mean, difference = figure.axes[:2]
    assert np.array_equal(curve_of(mean)[1], compared.loss_mean.sel(rung="flow"))
    words = compared.popflow.words("loss_verdict").values
    pair = int(np.flatnonzero((compared.first == 0) & (compared.second == 2))[0])
    said = words[pair].replace("undecided", "differ, perhaps within the margin")
    assert f"sgd $-$ flow: {said}" in [
        text.get_text().replace("\n", " ") for text in difference.get_legend().get_texts()]
    margins = [line.get_ydata()[0] for line in difference.lines if line.get_linestyle() == ":"]
    assert sorted(margins) == [-float(compared.loss_margin), float(compared.loss_margin)]
    bands = [path.vertices[:, 1].max() for band in difference.collections
             for path in band.get_paths()]
    edge = (compared.loss_difference + compared.loss_band.fillna(0))[pair].max()
    assert np.isclose(bands, edge).any()


def compared_runs(folder, **options):
    given = {"learning_rate": 0.2, "batch_size": 8, "t_end": 4, "saves": 3, **options}
    return popflow.compare("markov", **given, output=folder / "a.h5", show=False)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_single_runs_have_differences_without_a_band(tmp_path):
    compared = compared_runs(tmp_path, runs=1)
    mean, difference, ratio = popflow.figure(compared.popflow.path, observable="loss").axes
    assert ratio.get_yscale() == "log"
    assert np.array_equal(curve_of(mean)[1], compared.loss_mean.sel(rung="flow"))
    pair = int(np.flatnonzero((compared.first == 0) & (compared.second == 2))[0])
    assert any(np.array_equal(line.get_ydata(), compared.loss_difference[pair])
               for line in difference.lines)
    assert [text.get_text() for text in difference.texts] == ["no band: too few runs"]
    assert np.abs(difference.get_ylim()).max() < 3 * float(compared.loss_margin)


@pytest.mark.filterwarnings("error:.*masked element")
def test_rates_of_single_runs_have_no_panels_of_variances(tmp_path):
    compared = compared_runs(tmp_path, runs=1, learning_rate=None, learning_rates=[0.4, 0.2])
    figure = popflow.figure(compared.popflow.path)
    assert len(figure.axes) == 3 and all(axes.has_data() for axes in figure.axes)
    assert not any("variance" in axes.get_ylabel() for axes in figure.axes)


def test_observables_without_a_margin_are_drawn_if_none_has_one(tmp_path):
    compared = compared_runs(tmp_path, runs=3, e0=0)  # the start is on a line where nothing moves
    assert not (compared.loss_margin > 0)
    means = popflow.figure(compared.popflow.path).axes[0]
    assert np.array_equal(curve_of(means)[1], compared.loss_mean.sel(rung="flow"))


@pytest.mark.parametrize("options", [{}, {"observable": "loss"}])
def test_a_comparison_of_one_record_has_no_figure(tmp_path, options):
    compared = compared_runs(tmp_path, runs=3, saves=1)
    means = popflow.figure(compared.popflow.path, **options).axes[0]
    ends = [0, float(compared.time[-1])]
    assert np.array_equal(curve_of(means)[0], ends), "the start is saved, too"
    # Earlier versions saved only the end.
    observables = ["loss"] if options else None
    with pytest.raises(popflow.InputError, match="the comparison has one record"):
        comparison(compared.isel(time=[-1]), kinds.COMPARISON, observables, None, None)


def test_the_boundary_separates_the_basins(made):
    basins, figure = made("basins"), drawn(made, "basins", observable="outcome")
    axes = figure.axes[0]
    shown = axes.collections[0].get_array().reshape(basins.sizes["e0"], basins.sizes["w0"])
    local = basins.popflow.words("outcome").transpose("e0", "w0") == "local"
    assert np.array_equal(shown == 1, local)
    w, e = next(line for line in axes.lines if line.get_label() == "exact boundary").get_data()
    height = np.interp(basins.w0, w, e, right=0)
    assert np.array_equal(local, basins.e0.values[:, np.newaxis] < height)
    assert 0 < int(local.sum()) < local.size


def test_a_free_bias_has_no_separatrix_in_the_plane(tmp_path):
    run = popflow.run("markov", bias="free", b0=2, w0=-0.9, output=tmp_path / "a.h5", show=False)
    for options in ({}, {"observable": "e", "against": "w"}):
        figure = popflow.figure(run.popflow.path, **options)
        assert "separatrix" not in labels(figure) and "global minima" in labels(figure)


@pytest.mark.parametrize("p, q", [(0.2, 0.8), (0.6, 0.4), (0.5, 0.5), (1 / 3, 2 / 3)])
def test_independent_symbols_have_two_lines_of_minima_and_no_saddle(tmp_path, p, q):
    """In floating point 1 - 0.6 - 0.4 is not 0, but the symbols count as independent."""
    run = popflow.run("markov", p=p, q=q, w0=-0.3, e0=1.5, output=tmp_path / "a.h5", show=False)
    for options in ({}, {"observable": "e", "against": "w"}):
        figure = popflow.figure(run.popflow.path, **options)
        plane = next(axes for axes in figure.axes if "phase plane" in axes.get_title("left"))
        assert "separatrix" not in labels(figure) and "global minima" in labels(figure)
        assert not any(line.get_marker() == "x" for line in plane.lines)
        minima = next(line for line in plane.lines if line.get_label() == "global minima")
        w, e = minima.get_data()
        assert (w[:2], list(e[:2])) == (pytest.approx(plane.get_xlim()), [0, 0])
        assert list(w[-2:]) == pytest.approx([-np.sqrt(0.5)] * 2)
        assert list(e[-2:]) == pytest.approx(plane.get_ylim())


@pytest.mark.parametrize("p, q, bounded", [(0.2, 0.8, False), (0.6, 0.4, False), (0.2, 0.7, True)])
def test_independent_symbols_have_no_boundary(tmp_path, p, q, bounded):
    starts = popflow.sweep("markov", over={"w0": popflow.linear(-2, 1, 7),
                                           "e0": popflow.linear(0.1, 2, 8)},
                           p=p, q=q, t_end=5, output=tmp_path / "a.h5", show=False)
    figure = popflow.figure(starts.popflow.path, observable="outcome")
    assert ("exact boundary" in labels(figure)) == bounded


def test_the_boundary_belongs_to_the_texts_chain(tmp_path):
    text, other = tmp_path / "a.txt", tmp_path / "b.txt"
    text.write_text(20 * "pa pa pa pa ap pa pap")  # this text has p + q above 1
    other.write_text(20 * "aaa ppp aaaa pppp")
    starts = {"w0": popflow.linear(-2, 1, 7), "e0": popflow.linear(0.1, 2, 8)}

    def curve(name, **options):
        over = {**options.pop("over", {}), **starts}
        made = popflow.sweep("markov", over=over, **options, t_end=5, output=tmp_path / name,
                             show=False)
        figure = popflow.figure(made, observable="outcome")
        lines = [line for axes in figure.axes for line in axes.lines
                 if line.get_label() == "exact boundary"]
        return lines and lines[0].get_xydata()

    resolved = popflow.run("markov", text=text, t_end=1).popflow.parameters
    chain = {name: resolved[name] for name in "pq"}
    assert chain["p"] + chain["q"] > 1
    of_text = curve("text.h5", text=text)
    assert np.array_equal(of_text, curve("chain.h5", **chain))
    assert not np.array_equal(of_text, curve("default.h5"))
    assert len(curve("both.h5", over={"text": [text, other]})) == 0


def test_bands_below_zero_end_at_the_foot_of_a_logarithmic_axis(tmp_path):
    compared = popflow.compare("markov", rungs="flow,sgd", learning_rate=1, batch_size=1, runs=6,
                               t_end=43, saves=41, state="none", output=tmp_path / "a.h5",
                               show=False)
    low = compared.excess_loss_mean - 2 * compared.excess_loss_mean_error
    assert (low.values < 0).any()
    figure = popflow.figure(compared, observable="excess_loss")
    panel = next(axes for axes in figure.axes if axes.get_yscale() == "log")
    for band in panel.collections:
        for outline in band.get_paths():
            assert (outline.vertices[:, 1] > 0).all()


def test_a_map_of_series_shows_their_ends(tmp_path):
    made = popflow.sweep("markov", over={"w0": [-1, 0.5, 1], "e0": [0.1, 0.2, 0.4]}, t_end=1,
                         saves=3, record="series", output=tmp_path / "a.h5", show=False)
    figure = popflow.figure(made, observable="loss")
    assert "population loss at the end, in nats" in [axes.get_title("left") for axes in figure.axes]


def test_flows_that_stopped_early_show_their_last_values(tmp_path):
    cells = popflow.sweep("markov", over={"w0": [-1, 0.5, 1]}, stop_when="steady", t_end=1e5,
                          saves=5, record="series", output=tmp_path / "cells.h5", show=False)
    assert np.isnan(cells.loss.isel(time=-1)).all()
    figure = popflow.figure(cells, observable="loss", against="w0")
    assert np.isfinite(curve_of(figure.axes[0])[1]).all()


def test_a_file_without_numbers_is_refused(tmp_path):
    path = tmp_path / "reduced.h5"
    with pytest.raises(popflow.Diverged):
        popflow.sweep("joma", over={"seed": [1, 2, 3]}, mode="sde", noise="isotropic", runs=3,
                      noise_scale=3, t_end=5, reduce="runs", output=path, show=False)
    with pytest.raises(popflow.Error, match="no cell has a number"):
        popflow.figure(path)


def test_many_items_are_shaded(tmp_path):
    made = popflow.sweep("joma", over={"temperature": [0.5, 1, 2]}, activation="nonlinear",
                         tokens=12, output=tmp_path / "a.h5", show=False)
    figure = popflow.figure(made, observable="time_to_90")
    assert len(figure.axes) == 2 and figure.axes[1].get_ylabel() == "contextual token"
    assert len({line.get_color() for line in figure.axes[0].lines}) == 12 or \
        len(figure.axes[0].collections[0].get_paths()) == 12


@pytest.mark.parametrize("options, over", [
    ({}, {"chain": {"p": [0.2, 0.7], "q": [0.3, 0.8]}}),  # each chain has another boundary
    ({"bias": "free"}, {})])  # a free bias conserves no energy
def test_an_unknown_boundary_is_not_drawn(tmp_path, options, over):
    starts = popflow.sweep("markov", over={**over, "w0": popflow.linear(-2, 1, 7),
                                           "e0": popflow.linear(0.1, 2, 8)},
                           **options, t_end=5, output=tmp_path / "a.h5", show=False)
    figure = popflow.figure(starts.popflow.path, observable="outcome")
    assert "exact boundary" not in labels(figure)


def test_compared_sweeps_are_maps_of_verdicts(tmp_path):
    """The maps have no boundary, since only the compared files know the chain."""
    files = [f"{mode}={tmp_path / mode}.h5" for mode in ("flow", "sgd")]
    for mode, own in (("flow", {}), ("sgd", {"learning_rate": 0.1, "batch_size": 2, "runs": 3})):
        popflow.sweep("markov", over={"w0": popflow.linear(-2, 1, 7),
                                      "e0": popflow.linear(0.1, 2, 8)}, mode=mode, **own, p=0.7,
                      q=0.8, t_end=2, record="series", saves=3, output=tmp_path / f"{mode}.h5",
                      show=False)
    compared = popflow.compare(**{"from": ",".join(files)}, output=tmp_path / "b.h5", show=False)
    figure = popflow.figure(compared.popflow.path, observable="all")
    assert "exact boundary" not in labels(figure) and figure.axes[0].has_data()
    # Without options observables with a verdict are drawn; the energy, an invariant, has none.
    maps = [axes.get_title(loc="left") for axes in popflow.figure(compared.popflow.path).axes]
    assert [re.split("[:,]", title)[0] for title in maps[1:]] == ["loss", "loss", "excess loss"]
    assert popflow.figure(compared.popflow.path, observable="energy").axes[0].has_data()


def test_starts_have_the_papers_axes_in_any_order_of_the_sweep():
    markov, other = (xarray.Dataset(attrs={"system": name}) for name in ("markov", "scb"))
    assert turned(markov, "e0", "w0") == turned(markov, "w0", "e0") == ("w0", "e0")
    assert turned(markov, "q", "p") == ("q", "p")
    assert turned(other, "e0", "w0") == ("e0", "w0")


def test_a_sweep_over_one_axis_is_drawn_as_lines(made):
    lengths, figure = made("lengths"), drawn(made, "lengths")
    times, loss = figure.axes
    assert times.get_xscale() == "log" and times.get_xlabel() == "number of positions, $T$"
    assert np.array_equal(curve_of(times), [lengths.context_length, lengths.time_of_boosted])
    assert np.array_equal(curve_of(loss)[1], lengths.excess_loss)
    assert "fast phase end" in labels(figure)


def test_runs_that_diverged_are_left_out(made):
    rates, figure = made("some diverge"), drawn(made, "some diverge", observable="loss")
    well = rates.popflow.words("status") != "diverged"
    counted = well.sum("run").values
    assert counted[0] == 12 and 0 < counted[1] < 12 and 0 < counted[2] < 12
    medians = rates.loss.where(well).median("run")
    assert [np.array_equal(curve_of(figure.axes[0], row)[1], medians[row])
            for row in range(3)] == [True] * 3


def test_outcomes_of_diverged_cells_are_drawn_without_a_warning(tmp_path, recwarn):
    with pytest.raises(popflow.Diverged):
        popflow.sweep("markov", over={"w0": popflow.linear(-2, 1, 9),
                                      "e0": popflow.linear(0.1, 2, 9)}, mode="sgd", bias="free",
                      learning_rate=1e30, t_end=1e31, runs=2, output=tmp_path / "a.h5", show=False)
    figure = popflow.figure(tmp_path / "a.h5", observable="outcome")
    assert figure.axes and not [one for one in recwarn if one.category is RuntimeWarning]


def test_cells_with_diverged_runs_only_are_marked(made):
    rates, figure = made("rates too high"), drawn(made, "rates too high", observable="loss")
    gone = (rates.popflow.words("status") == "diverged").all("run").values
    assert gone[-1] and not gone[0]
    line, crosses = figure.axes[0].lines
    assert np.array_equal(crosses.get_xdata(), rates.learning_rate[gone])
    assert not np.isfinite(line.get_ydata()[gone]).any()
    assert figure.axes[0].get_xlim()[1] > 2
    assert [text.get_text() for text in figure.axes[0].texts] == ["diverged"]
    assert not drawn(made, "lengths").axes[0].texts


def test_requested_observables_are_drawn(made):
    run = made("run")
    figure = drawn(made, "run", observable="loss,A", log="xy")
    assert np.array_equal(curve_of(figure.axes[0])[1], run.loss)
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    assert figure.axes[1].images[0].get_array().max() == run.A[-1].max()
    figure = drawn(made, "run", observable="loss", against="time")
    assert np.array_equal(curve_of(figure.axes[0]), [run.time, run.loss])
    figure = drawn(made, "run", observable=["signal_A"], against="signal_V")
    assert np.array_equal(curve_of(figure.axes[0]), [run.signal_V, run.signal_A])
    figure = drawn(made, "chains", observable="loss", against="w0")
    assert np.array_equal(curve_of(figure.axes[0])[1], made("chains").loss[0])
    assert "$p$ = 0.1, $q$ = 0.2" in labels(figure)


@pytest.mark.parametrize("options, kind, said", [
    ({"observable": "los"}, popflow.UsageError, "this file has: loss, excess_loss"),
    ({"against": "A"}, popflow.UsageError, "this file has: time, loss"),
    ({"log": "z"}, popflow.UsageError, "one of none, x, y, xy"),
    ({"style": "nowhere.mplstyle"}, popflow.InputError, "nowhere.mplstyle does not exist")])
def test_wrong_options_are_refused(made, options, kind, said):
    with pytest.raises(kind, match=said):
        drawn(made, "run", **options)


def test_a_style_overrides_defaults(made, tmp_path):
    style = tmp_path / "large.mplstyle"
    style.write_text("axes.labelsize: 14\n")
    loss = drawn(made, "chain", observable="loss", style=style).axes[0]
    assert loss.xaxis.label.get_fontsize() == 14
    style.write_text("axes.prop_cycle: cycler(color=['red'])\n")
    loss = drawn(made, "chain", observable="loss", style=style).axes[0]
    assert loss.lines[0].get_color() == "red"
    style.write_text("axes.labelsizes: 14\n")
    with pytest.raises(popflow.InputError, match="Bad key axes.labelsizes"):
        drawn(made, "chain", style=style)


def test_the_commands_script_draws_the_same_picture(made, tmp_path, monkeypatch, package_folder):
    monkeypatch.chdir(tmp_path)
    words = [str(made("run").popflow.path), "--observable", "excess_loss", "-o", "a.png",
             "--script", "draw.py"]
    assert run(words) == 0
    picture = (tmp_path / "a.png").read_bytes()
    script = (tmp_path / "draw.py").read_text()
    assert 'curves(page[0], run, ["excess_loss"])' in script
    (tmp_path / "a.png").unlink()
    subprocess.run([sys.executable, "draw.py"], cwd=tmp_path, check=True,
                   env={"PYTHONPATH": package_folder})
    assert (tmp_path / "a.png").read_bytes() == picture


LIMITED = """
import resource, sys
import matplotlib.font_manager  # whose cache is a file, too
from popflow.figure.command import run
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.parametrize("limit, figure, lost", [
    (2000, "a.pdf", "a.pdf"), (2000, "a.svg", "a.svg"), (2000, "a.png", "a.png"),
    (100, "a.pdf", "draw.py")])
def test_a_failed_write_leaves_files_unchanged(made, tmp_path, package_folder, limit, figure, lost):
    for name in (figure, "draw.py"):
        (tmp_path / name).write_text("old")
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), str(made("chain").popflow.path), "-o", figure,
         "--script", "draw.py"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": package_folder})
    assert ended.stderr == f"popflow: error: cannot write '{lost}': File too large\n"
    assert ended.returncode == 5
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        figure: "old", "draw.py": "old"}


def test_a_file_name_may_have_the_greatest_length(tmp_path):
    path = tmp_path / (251 * "a" + ".png")
    with Page(1, save=path) as page:
        page[0].plot([1, 2])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    (tmp_path / "b").touch()
    assert path.stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.parametrize("words, code, said", [
    (["FILE", "-o", "a.jpg"], 2, "must end in .pdf, .svg or .png"),
    (["FILE", "-o", "a.png", "--nothing"], 2, "unrecognized arguments: --nothing"),
    (["FILE", "-o", "a.png", "--script", "draw.txt"], 2, "must end in .py"),
    (["FILE"], 2, "required: -o/--output"),
    (["no.h5", "-o", "a.png"], 3, "no.h5 cannot be read"),
    (["odd.h5", "-o", "a.png"], 3, "no record yet"),
    (["nowhere.h5", "-o", "a.png"], 3, "nowhere.h5 does not exist"),
    (["FILE", "-o", "no/a.pdf", "--observable", "loss"], 5,
     "cannot write 'no/a.pdf': the folder 'no/' does not exist")])
def test_errors_of_the_command(made, tmp_path, monkeypatch, capsys, words, code, said):
    path = str(made("chain").popflow.path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no.h5").write_text("nothing")
    with h5py.File("odd.h5", "w") as odd:
        odd.attrs["format"] = "popflow"
        odd["time"] = 1.0
    assert run([path if word == "FILE" else word for word in words]) == code
    told = capsys.readouterr().err
    assert said in told and told.startswith("popflow: error: ") and told.count("\n") == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["no.h5", "odd.h5"]


def test_a_variable_without_a_number_is_refused(made):
    with pytest.raises(popflow.InputError, match="no cell has a number for time_of_plateau"):
        drawn(made, "lengths", observable="time_of_plateau")


def test_matplotlib_is_loaded_for_figures_only(package_folder):
    subprocess.run([sys.executable, "-c", "import sys, popflow; "
                    "assert 'matplotlib' not in sys.modules and callable(popflow.figure)"],
                   check=True, env={"PYTHONPATH": package_folder})


def test_texts_that_are_no_symbols_are_unchanged():
    assert mathematics("\\lambda") == "\\lambda" and mathematics("x_{i") == "x_{i"
    assert mathematics("mu_k") == "$\\mu _{k}$"


def test_a_map_of_a_variable_with_its_own_axis_is_refused():
    swept = popflow.sweep("deep-linear", {"problem_seed": range(1, 9), "t_end": range(5, 12)},
                          strengths=range(7, 0, -1))
    with pytest.raises(popflow.UsageError, match="half_time.*an axis of its own.*mode"):
        popflow.figure(swept, observable="half_time")


def test_symbols_become_formulas():
    assert converted("tr(V'P Sigma)/K_P") == r"\mathrm{tr}(V^{\top}P\;\Sigma )/K_{P}"
    assert converted("sum_k mu_k") == r"{\sum}_{k}\;\mu _{k}"
    assert converted("H(x_{n+1}|x_n)") == "H(x_{n+1}|x_{n})"
    assert prose("norm of W_V and mu") == r"norm of $W_{V}$ and $\mu$"
    assert prose("W_KQ of prob_0to1") == "$W_{KQ}$ of prob_0to1"
    assert prose("step of gradient_descent") == "step of gradient_descent"
