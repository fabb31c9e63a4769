# label: fast
"""Logarithmic axes show data, not the rounding errors of zeros; powers of ten stand in labels."""

import warnings

import numpy as np
import pytest

import popflow
from popflow.figure.page import powers_in_labels
from popflow.figure.scales import above, floors, logarithmic_y

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")

OPTIONS = {
    # Signals start at rounding errors of 0, of about 1e-33.
    "scb": {"vocab_size": 4, "context_length": 50, "t_end": 30},
    # Both symbols are equally frequent and independent, so the slope is always 0.
    "markov": {"p": 0.5, "q": 0.5, "e0": 0, "w0": 0, "t_end": 2},
    "deep-linear": {"strengths": [2, 1], "init_scale": 1e-6},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def figure_of(run):
    """Draws a figure; any warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = popflow.figure(run.popflow.path)
        figure.canvas.draw()
    return figure


@pytest.mark.parametrize("system", OPTIONS)
def test_rounding_errors_do_not_stretch_an_axis(system, folder):
    run = popflow.run(system, **OPTIONS[system], output=folder / f"{system}.h5", show=False)
    for axes in figure_of(run).axes:
        if axes.get_yscale() != "log" or axes.get_title() == "":
            continue
        low, high = axes.get_ylim()
        assert 0 < low < high
        for line in axes.lines:
            y = np.asarray(line.get_ydata(), float)
            y = y[np.isfinite(y) & (y > 0)]
            if len(y) > 2:  # marks of events have two points
                assert y.min() > 1e-17 * high, (system, axes.get_title(), line.get_label())


def test_a_constant_zero_is_drawn_on_a_linear_axis():
    for log in (None, "y", "xy"):
        assert not logarithmic_y(np.zeros(5), log)
    assert logarithmic_y(np.logspace(0, 4, 9), None)


def test_an_observable_that_is_negative_at_first_is_drawn_on_a_linear_axis():
    """3% of these values are negative; the others spread over three decades."""
    positive, time = np.logspace(-3, 0, 101), np.linspace(0, 1, 101)
    assert not logarithmic_y([positive, time - 0.05], None)
    assert logarithmic_y([positive, np.maximum(time - 0.05, -1e-6)], None)


def test_only_logarithmic_axes_leave_out_values_within_rounding():
    y = np.array([6e-33, 1e-9, 1e-4, 1.0])
    (floor,) = floors(y, "y")
    assert np.array_equal(np.isnan(above(y, floor)), [True, False, False, False])
    (floor,) = floors(y, "none")
    assert np.array_equal(above(y, floor), y)


def test_rounding_is_relative_to_each_observable():
    small, large = 1e-20 * np.logspace(0, 3, 5), np.logspace(0, 3, 5)
    assert all(np.isfinite(above(y, floor)).all()
               for y, floor in zip((small, large), floors([small, large], "y")))


def test_an_ensemble_with_runs_that_start_at_zero_is_drawn(folder):
    run = popflow.run("markov", mode="sgd", runs=6, e0=0, w0=0, t_end=3, saves=7,
                      learning_rate=0.1, output=folder / "ensemble.h5", show=False)
    assert figure_of(run).axes


def test_a_power_of_ten_stands_in_the_label_of_its_axis():
    with warnings.catch_warnings(), matplotlib.rc_context({"axes.formatter.use_mathtext": True}):
        warnings.simplefilter("error")
        figure, (small, plain) = matplotlib.pyplot.subplots(2)
        small.plot([1e-7, 3e-7])
        small.set_ylabel("loss")
        plain.plot([1, 2])
        figure.canvas.draw()
        assert [powers_in_labels(axes) for axes in figure.axes] == [True, False]
    assert small.get_ylabel() == "loss [$10^{-7}$]"
    assert not small.yaxis.get_offset_text().get_visible()
    matplotlib.pyplot.close(figure)
