# label: long
"""Figures of every kind of file are legible: nothing overlaps, is cut off or is empty."""

import itertools

import pytest
from figure_files import FILES, maker

import popflow

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return maker(tmp_path_factory.mktemp("files"))


def written(figure):
    """Returns all texts with their places on the page."""
    figure.canvas.draw()
    found = {}
    for place, axes in enumerate(figure.axes):
        ticks = [(along, text) for along in (axes.xaxis, axes.yaxis)
                 for text in along.get_ticklabels()
                 if text.get_text() and shows(axes, along, text)]
        texts = [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label,
                 axes.yaxis.get_offset_text(), axes.xaxis.get_offset_text()]
        for text in [*texts, *(text for _, text in ticks), *axes.texts]:
            if text.get_visible() and text.get_text():
                found[f"{place}: {text.get_text()} {len(found)}"] = text.get_window_extent()
        if axes.get_legend():
            found[f"{place}: key"] = axes.get_legend().get_window_extent()
    for key in figure.legends:
        found["key of the page"] = key.get_window_extent()
    return found


def shows(axes, along, text):
    low, high = sorted(along.get_view_interval())
    return low <= text.get_position()[0 if along is axes.xaxis else 1] <= high


@pytest.mark.parametrize("name", FILES)
def test_a_figure_is_legible(made, name):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = popflow.figure(made(name).popflow.path)
    FigureCanvasAgg(figure)
    assert figure.get_figwidth() <= 5.5  # width of a NeurIPS page
    found = written(figure)
    page = figure.bbox
    for text, box in found.items():
        assert box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1, f"{text} is cut at the sides"
        assert box.y0 >= page.y0 - 1 and box.y1 <= page.y1 + 1, f"{text} is cut"
    for (one, its), (other, others) in itertools.combinations(found.items(), 2):
        apart = (its.x1 <= others.x0 + 1 or others.x1 <= its.x0 + 1
                 or its.y1 <= others.y0 + 1 or others.y1 <= its.y0 + 1)
        assert apart, f"{one} and {other} overlap"
    for axes in figure.axes:
        if key := axes.get_legend():  # the key is above the curves
            assert key.get_window_extent().y0 >= axes.get_window_extent().y1
    for axes in figure.axes:
        for along in (axes.xaxis, axes.yaxis):
            if along.get_scale() == "log":
                assert any(text.get_text() and shows(axes, along, text)
                           for text in along.get_ticklabels()), "no number at an axis"
    panels = [axes for axes in figure.axes if hasattr(axes, "get_subplotspec")]
    assert all(axes.has_data() for axes in panels), "a panel is empty"
    assert min(axes.get_window_extent().height for axes in panels) >= 1.2 * figure.dpi
    sizes = [text.get_fontsize() for axes in figure.axes
             for text in [axes.xaxis.label, axes.title, *axes.get_xticklabels()]]
    assert min(sizes) >= 7
