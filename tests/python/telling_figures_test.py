# label: long
"""Figures show a paper's own quantities with their stages, and no rounding errors."""

import re

import h5py
import numpy as np
import pytest
import xarray

import popflow
from popflow.figure.declared import panels_of
from popflow.figure.flat import flat
from popflow.figure.rungs import pairs, verdict_of_means
from popflow.figure.runs import early
from popflow.figure.scales import own_ticks
from popflow.figure.style import DASHES, curve

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def modes(folder):
    return popflow.run("deep-linear", strengths=[2, 1], output=folder / "modes.h5", show=False)


@pytest.fixture(scope="module")
def starts(folder):
    return popflow.sweep("markov", over={"w0": popflow.linear(-2, 1, 9)}, record="series",
                         output=folder / "starts.h5", show=False)


@pytest.fixture(scope="module")
def stages(folder):
    return popflow.run("scb", vocab_size=4, context_length=20, schedule="two-stage",
                       coordinates="support", output=folder / "stages.h5", show=False)


@pytest.fixture(scope="module")
def compared(folder):
    """Returns a comparison whose bands reach far beyond its margin."""
    path = folder / "compared.h5"
    popflow.compare("markov", learning_rate=0.2, batch_size=8, runs=6, t_end=6, saves=5,
                    output=path, show=False).close()
    with h5py.File(path, "r+") as file:
        file["comparison/loss_band"][...] = 100
    return popflow.open(path)


def keys(figure):
    return [text.get_text() for key in figure.legends for text in key.get_texts()]


def titles(figure):
    return [axes.get_title("left") for axes in figure.axes]


def test_constant_observables_stand_in_the_key_without_a_panel(modes):
    figure = popflow.figure(modes)
    assert not {"norm of the off-diagonal entries of W", "drift of the invariant imbalance"} & set(
        titles(figure))
    told = {"norm of the off-diagonal entries of W: 0", "drift of the invariant imbalance: none"}
    assert told <= set(keys(figure))
    asked = popflow.figure(modes, observable="misalignment")
    assert len(asked.axes) == 1 and asked.axes[0].lines


def test_nearly_constant_observables_are_recognised():
    data = xarray.Dataset({"one": ("time", 1 + np.array([0, 1e-6, 2e-6])),
                           "tiny": ("time", [0, 1e-9, 2e-9]), "moves": ("time", [1, 1, 1.01])},
                          coords={"time": [0, 1, 2]})
    assert flat(data, "one") == "one: 1 throughout"
    assert flat(data, "tiny").startswith("tiny: at most")
    assert flat(data, "moves") is None


def test_powers_of_ten_stand_in_labels_and_ticks_have_full_numbers(folder):
    """Axes have no offset ("1e-5 + 1") and no power above a panel, which would move its title
    up."""
    run = popflow.run("markov", p=0.5, q=0.5, output=folder / "slow.h5", show=False)
    figure = popflow.figure(run)
    figure.canvas.draw()
    loss = figure.axes[0]
    for axes in figure.axes:
        for along in (axes.xaxis, axes.yaxis):
            offset = along.get_offset_text()
            assert not (offset.get_visible() and offset.get_text()), offset.get_text()
    numbers = [text.get_text() for text in loss.get_yticklabels()]
    assert any("0.6931" in number for number in numbers), numbers
    small = popflow.run("markov", e0=1e-3, w0=-1.2, t_end=1, output=folder / "small.h5", show=False)
    figure = popflow.figure(small, observable="e", log="none")
    assert re.search(r"\[\$10\^\{-[34]\}\$\]$", figure.axes[0].get_ylabel())


def test_lines_over_an_ordered_parameter_are_shades_with_a_colour_bar(starts):
    figure = popflow.figure(starts, observable="excess_loss")
    panel, bar = figure.axes
    colours = [matplotlib.colors.to_hex(line.get_color()) for line in panel.lines]
    assert len(set(colours)) == 9 and "w(0)" in bar.get_ylabel()
    brightness = [sum(matplotlib.colors.to_rgb(colour)) for colour in colours]
    assert (np.diff(brightness) < 0).all(), "the shades are in the order of the values"


def test_many_curves_have_different_looks():
    looks = {(curve(number)["color"], str(curve(number)["linestyle"])) for number in range(49)}
    assert len(looks) == 49 and len(set(map(str, DASHES))) == len(DASHES)


def test_a_sweep_of_series_draws_all_series(starts):
    figure = popflow.figure(starts)
    panels = [axes for axes in figure.axes if axes.lines]
    assert titles(figure)[:len(panels)] == [
        "population loss, in nats", "the model's Pr(0 $\\to$ 1)", "the model's Pr(1 $\\to$ 0)"]
    assert [axes.get_xlabel() for axes in panels] == ["flow time, $t$"] * 3
    for axes, name in zip(panels, ("loss", "prob_0to1", "prob_1to0")):
        assert len(axes.lines) == starts.sizes["w0"]
        for line, series in zip(axes.lines, starts[name].values):
            assert np.isin(line.get_ydata(), series).all() and len(line.get_ydata()) > 100


@pytest.mark.parametrize("system, options, first", [
    ("deep-linear", {"strengths": [2, 1]}, "W_{kk}"),
    ("joma-joint", {"tokens": 4, "classes": 3, "saves": 11, "t_end": 2}, "corr"),
    ("topic", {"topics": 4, "words_per_topic": 3, "topics_per_document": 2, "t_end": 100},
     "W_{V}")])
def test_a_systems_own_quantity_comes_first(folder, system, options, first):
    run = popflow.run(system, **options, output=folder / f"{system}.h5", show=False)
    panel = popflow.figure(run).axes[0]
    said = [panel.get_ylabel(), *(text.get_text() for text in panel.get_legend().get_texts())]
    assert any(first in text for text in said), said


def test_the_half_times_of_modes_are_drawn_over_their_strengths(modes):
    panels = {title.replace("\n", " "): axes for title, axes in zip(
        titles(popflow.figure(modes)), popflow.figure(modes).axes)}
    panel = panels["time at which the mode has half its strength"]
    assert panel.get_xlabel() == "strengths"
    drawn = {x: y for line in panel.lines for x, y in line.get_xydata()}
    assert drawn == dict(zip([2, 1], modes.half_time.values))


def test_a_sweep_shows_its_systems_own_quantity(folder):
    swept = popflow.sweep("deep-linear", {"init_scale": popflow.logarithmic(1e-3, 1e-1, 4)},
                          strengths=[2, 1], output=folder / "scales.h5", show=False)
    title = titles(popflow.figure(swept))[0].replace("\n", " ")
    assert title == "time at which the mode has half its strength"
    lines = popflow.figure(swept).axes[0].lines
    assert np.array_equal(lines[0].get_ydata(), swept.half_time[:, 0])


def test_a_map_of_few_items_is_drawn_item_by_item(folder):
    swept = popflow.sweep("deep-linear", {"init_scale": popflow.logarithmic(1e-3, 1e-1, 7),
                                          "problem_seed": range(1, 8)},
                          strengths=[2, 1], output=folder / "items.h5", show=False)
    maps = popflow.figure(swept, observable="half_time").axes
    assert [axes.get_title("left").replace("\n", " ") for axes in maps[:2]] == [
        f"time at which the mode has half its strength, mode {mode}" for mode in (0, 1)]
    scales = [axes.collections[0].norm for axes in maps[:2]]
    assert (scales[0].vmin, scales[0].vmax) == (scales[1].vmin, scales[1].vmax)


def test_a_file_without_the_figure_attribute_uses_its_systems_default(folder, modes):
    path = folder / "old.h5"
    path.write_bytes((folder / "modes.h5").read_bytes())
    with h5py.File(path, "r+") as file:
        for name in ("figure", "figure_of_sweeps"):
            file.attrs.pop(name, None)
    assert popflow.figure(path).axes[0].get_title("left") == "population loss"


def test_panels_are_parsed_from_the_figure_attribute():
    panels = panels_of('loss at least="L*" p; s over w; V beside P; v by target when end="t*"; '
                       "t_90 over target; a b", ["t_90"], ["v", "V", "a", "b"])
    said = [[(own.draw.__name__, own.arguments, own.options) for own in panel] for panel in panels]
    assert said == [
        [("curves", (["loss"],), {}), ("levels", ({"least": "L*", "p": "p"},), {})],
        [("plane", ("w", "s"), {})], [("beside", ("V", "P"), {})],
        [("field", ("v",), {"colour_by": "target"}), ("instants", ({"end": "t*"},), {})],
        [("passages", ("t_90",), {"over": "target"})], [("curves", (["a", "b"],), {})]]


def test_an_early_stage_has_a_logarithmic_time_axis(folder):
    options = {"topics": 4, "words_per_topic": 3, "topics_per_document": 2}
    run = popflow.run("topic", **options, t_end=5e4, saves=2001, save_spacing="linear",
                      output=folder / "early.h5", show=False)
    assert early(run)
    panels = [axes for axes in popflow.figure(run).axes if axes.get_label() == "over time"]
    assert {axes.get_xscale() for axes in panels} == {"log"}
    # Two records in the first hundredth: a logarithmic axis would begin after the first event.
    few = popflow.run("joma-joint", output=folder / "few.h5", show=False)
    assert not early(few) and 0 < few.time_of["rank_falls"] < few.time[1]
    late = popflow.run("markov", output=folder / "late.h5", show=False)
    assert not early(late) and popflow.figure(late).axes[0].get_xscale() == "linear"


@pytest.mark.parametrize("options, field, label", [
    ({}, "W_V", "$W_V$, learned"),
    ({"train": "embedding"}, "E", "$E = W_E^\\top W_E$, learned"),
    ({"mode": "sgd", "train": "value", "document_length": 20, "learning_rate": 1, "t_end": 100,
      "batch_size": 4, "runs": 3, "saves": 5}, "W_V", "$W_V$, learned")])
def test_a_topic_models_matrix_stands_beside_its_topics(folder, options, field, label):
    sizes = {"topics": 4, "words_per_topic": 3, "topics_per_document": 2}
    run = popflow.run("topic", **sizes, **options, output=folder / "blocks.h5", force=True,
                      show=False)
    figure = popflow.figure(run)
    panel = next(axes for axes in figure.axes
                 if label in [text.get_text() for text in axes.get_xticklabels()])
    learned, true = (image.get_array() for image in panel.images)
    assert panel.images[0].get_clim() == panel.images[1].get_clim()
    topic = np.arange(12) // 3
    same = np.equal.outer(topic, topic)
    assert np.array_equal(true > 0, same) and true.max() == pytest.approx(np.abs(learned).max())
    last = run.isel(time=-1)
    if "runs" in options:  # full matrices; for an ensemble the median
        assert np.array_equal(learned, last[field].median("run").values[1:, 1:])
    else:
        assert np.allclose(learned[~same], last.value_other_topic)
        assert np.allclose(np.diag(learned), last.value_same_word)


def test_maps_of_quantities_with_one_meaning_have_different_titles(folder):
    maps = popflow.sweep("topic", over={"topics_per_document": [2, 4], "l2": [1e-4, 1e-2]},
                         topics=6, words_per_topic=2, t_end=100, output=folder / "maps.h5",
                         show=False)
    figure = popflow.figure(maps, observable=["attention_same_topic", "attention_same_word"])
    same_topic, same_word = (title for title in titles(figure) if title)
    assert "another word of its topic" in same_topic.replace("\n", " ")
    assert "the same word" in same_word.replace("\n", " ")


def test_an_undecided_difference_that_is_no_chance_is_said_to_differ(compared):
    changed = compared.dataset.copy(deep=True)
    pair = [name for name, *_ in pairs(changed)][0]
    words = changed.loss_verdict.attrs["flag_meanings"].split()
    changed["loss_verdict"][:] = words.index("undecided")
    for p_value, word in ((0.5, "undecided"), (0.001, "differ, perhaps within the margin")):
        changed["loss_p_value"][pair] = p_value
        assert verdict_of_means(changed, "loss", pair) == word


def test_a_large_topic_model_shows_its_first_topics(folder):
    run = popflow.run("topic", topics=50, words_per_topic=100, train="value", saves=3,
                      output=folder / "large.h5", show=False)
    panel = next(axes for axes in popflow.figure(run).axes if len(axes.images) == 2)
    assert panel.images[0].get_array().shape == (120, 120)
    assert "the first 120 of 5000 words" in panel.get_title("left").replace("\n", " ")


def test_panels_end_where_training_has_ended(stages):
    words = stages.popflow.words("stage").values
    ended = float(stages.time[int(np.flatnonzero(words == "ended")[0])])
    figure = popflow.figure(stages)
    assert figure.axes[0].get_xlim()[1] == ended < float(stages.time[-1])
    assert "stage: ended" not in keys(figure)


def test_learned_and_true_matrices_share_a_colour_scale(folder):
    run = popflow.run("scb", vocab_size=4, context_length=6, coordinates="full", t_end=5,
                      output=folder / "full.h5", show=False)
    panel = next(axes for axes in popflow.figure(run).axes
                 if [text.get_text() for text in axes.get_xticklabels()] == [
                     "$V$, learned", "$P$, true"])
    learned, true = panel.images
    assert np.array_equal(learned.get_array(), run.V[-1])
    assert np.array_equal(true.get_array(), run.popflow.group("problem").P)
    assert learned.get_clim() == true.get_clim()
    asked = popflow.figure(run, observable="A,Q,A-Q").axes
    A, Q, difference = (axes.images[0] for axes in asked[:3])
    assert np.array_equal(Q.get_array(), run.popflow.group("problem").Q)
    assert A.get_clim() == Q.get_clim()
    assert np.allclose(difference.get_array(), A.get_array() - Q.get_array())
    headings = [axes.get_title("left").replace("\n", " ") for axes in asked[:3]]
    assert headings[2] == f"{headings[0]} minus {headings[1]}"
    with pytest.raises(popflow.InputError, match="A and P differ in their shapes"):
        popflow.figure(run, observable="A-P,Q")


def test_of_a_thousand_positions_the_largest_entry_of_each_block_is_shown():
    from popflow.figure.fields import MOST_ROWS, aggregated

    cells = np.random.default_rng(1).random((1000, 7))
    shown = aggregated(cells)
    assert shown.shape == (112, 7) and shown.shape[0] <= MOST_ROWS
    assert np.array_equal(shown[0], cells[:9].max(axis=0))
    assert np.array_equal(shown[-1], cells[999:].max(axis=0))
    assert aggregated(cells[:120]) is not None and aggregated(cells[:120]).shape == (120, 7)


def test_labels_of_a_matrix_are_legible():
    from popflow.figure.fields import named_places

    axes = matplotlib.figure.Figure().add_subplot()
    words = ["a", " ", "(other)"]
    named_places(axes, xarray.DataArray(np.eye(3), dims=("out", "in"),
                                        coords={"out": words, "in": words}))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "blank", "(other)"]
    assert {text.get_rotation() for text in axes.get_xticklabels()} == {90}


def test_an_ensemble_keeps_the_panels_of_a_run(folder):
    runs = popflow.run("deep-linear", strengths=[2, 1], mode="sgd", runs=6, learning_rate=0.02,
                       t_end=6, saves=13, output=folder / "ensemble.h5", show=False)
    strength, half = popflow.figure(runs).axes[:2]
    medians = [line for line in strength.lines if line.get_linewidth() > 1]
    assert np.allclose(medians[0].get_ydata(), runs.mode_strength[..., 0].median("run"))
    assert np.allclose(half.lines[0].get_ydata(), runs.half_time.median("run"), equal_nan=True)


def test_each_outcome_has_its_own_median(folder):
    runs = popflow.run("markov", mode="sgd", runs=12, t_end=60, saves=16, learning_rate=0.3,
                       batch_size=1, context_length=8, e0=0.25, w0=-0.95,
                       output=folder / "basins.h5", show=False)
    runs.close()
    path = folder / "basins.h5"
    with h5py.File(path, "r+") as file:  # set outcomes so that both occur
        words = file["outcome"].attrs["flag_meanings"].split()
        words = [word.decode() if isinstance(word, bytes) else word for word in words]
        file["outcome"][:] = [words.index("local")] * 5 + [words.index("global")] * 7
    runs = popflow.open(path)
    figure = popflow.figure(runs, observable="loss")
    medians = [line.get_ydata() for line in figure.axes[0].lines if line.get_linewidth() > 1]
    assert np.allclose(medians[0], runs.loss[5:].median("run"))
    assert np.allclose(medians[1], runs.loss[:5].median("run"))
    assert {"global (7 runs)", "local (5 runs)", "median of 12 runs by outcome"} <= set(
        keys(figure))


def test_differences_show_lines_and_margin_and_ratios_have_plain_numbers(compared):
    figure = popflow.figure(compared.attrs["path"], observable="loss")
    figure.canvas.draw()
    difference, ratio = figure.axes[1:3]
    margin = float(compared.loss_margin)
    largest = max(margin, float(np.abs(compared.loss_difference).max()))
    assert np.abs(difference.get_ylim()).max() < 3 * largest
    assert "bands reach beyond" in [text.get_text() for text in difference.texts]
    texts = [text.get_text() for text in ratio.get_yticklabels(which="both")]
    assert not any("times" in text for text in texts), texts


def test_a_comparison_has_no_empty_quarter(compared):
    figure = popflow.figure(compared.attrs["path"])
    panels = len(figure.axes)
    assert panels % 2 == 0 or len(figure.axes[-1].get_subplotspec().colspan) == 2


def test_ticks_stand_at_the_swept_values():
    axes = matplotlib.figure.Figure().add_subplot()

    def ticks(values):
        axes.set_xlim(min(values), max(values))
        own_ticks(axes.xaxis, values)
        return list(axes.get_xticks())

    assert ticks([3, 4, 5]) == [3, 4, 5]
    assert ticks([0.5, 0.875, 1.25]) == [0.5, 0.875, 1.25]
    assert all(tick == round(tick) for tick in ticks(range(30)))
    assert 0.1 not in ticks([0, 0.1, 0.11, 0.12, 10])  # its label would overlap others


def test_seeds_are_not_joined(folder):
    swept = popflow.sweep("markov", {"seed": [1, 2, 3, 4]}, mode="sgd", t_end=3,
                          learning_rate=0.2, output=folder / "seeds.h5", show=False)
    axes = popflow.figure(swept, observable="loss").axes[0]
    assert [line.get_linestyle() for line in axes.lines] == ["None"]
    assert list(axes.get_xticks()) == [1, 2, 3, 4]


def test_a_map_without_numbers_is_hatched_and_has_no_colour_bar(folder):
    swept = popflow.sweep("markov", {"w0": popflow.linear(-1, 1, 7),
                                     "e0": popflow.linear(0.1, 1, 8)}, t_end=0.01,
                          output=folder / "short.h5", show=False)
    assert not np.isfinite(swept.time_of_loss_settled).any()
    figure = popflow.figure(swept, observable="time_of_loss_settled")
    assert len(figure.axes) == 1 and "not by the end" in keys(figure)


def test_means_of_runs_have_error_bars(folder):
    swept = popflow.sweep("markov", {"w0": popflow.linear(-1.2, -0.6, 4)}, mode="sgd", t_end=5,
                          learning_rate=0.2, runs=4, reduce="runs", output=folder / "reduced.h5",
                          show=False)
    axes = popflow.figure(swept, observable="loss_mean").axes[0]
    (bars,) = [one for one in axes.collections if len(one.get_segments()) == 4]
    halves = [np.ptp(segment[:, 1]) / 2 for segment in bars.get_segments()]
    assert np.allclose(halves, 2 * swept.loss_mean_error)


def test_events_are_explained_in_the_order_of_their_times(stages):
    told = [text.split(", $t$")[0] for text in keys(popflow.figure(stages, observable="loss"))
            if "$t$" in text]
    happened = sorted((float(time), name.replace("_", " ").replace("stage2", "stage 2"))
                      for name, time in stages.time_of.items() if np.isfinite(time))
    assert sorted(told) == sorted(name for _, name in happened)
    times = dict((name, time) for time, name in happened)
    assert [times[name] for name in told] == sorted(times.values())


def test_a_notebook_shows_a_figure(modes):
    assert popflow.figure(modes)._repr_png_().startswith(b"\x89PNG")
