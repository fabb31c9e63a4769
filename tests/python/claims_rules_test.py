# label: fast
"""The table of verdicts under other training rules has a verdict or a reason in every cell."""

import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

sys.path.insert(0, str(Path(__file__).parents[2]))
from claims import markov, rules, topic  # noqa: E402
from claims.reduced import MOMENTUM, PLAIN, bounced  # noqa: E402
from claims.topics import Sizes  # noqa: E402


@pytest.mark.parametrize("number", range(1, 26))
@pytest.mark.parametrize("rule", ["momentum", "adam"])
def test_each_claim_has_a_verdict_or_a_reason(number, rule):
    kept = rules.load().get(f"{number:02}", {})
    assert (rule in kept) != ((number, rule) in rules.ALONE)
    if rule in kept:
        assert kept[rule]["form"] == kept["sgd"]["form"], "the rules are compared by one form"


def test_a_cell_names_three_conditions_at_most():
    """These are the conditions with the rarest verdicts."""
    def said(holds, fails, undecided=()):
        named = {"holds": holds, "does not hold": fails, "undecided": undecided}
        return rules.sentences({words: [f"N = {n}" for n in of]
                                for words, of in named.items() if of})

    assert said(range(8), [8, 9]) == "Holds in 8 of 10 conditions. Not: N = 8; N = 9."
    assert said(range(8), []) == "Holds"
    assert said([6, 7], [8]) == "Holds: N = 6; N = 7. Not: N = 8."
    assert said(range(8), [8, 9], [10]) == \
        "Holds in 8 of 11 conditions. Not: N = 8; N = 9. Undecided: N = 10."
    assert rules.sentences({}) == "No number decides"


def test_the_table_is_on_the_page():
    text = rules.PLACE.read_text()
    assert rules.page(text) == text, "python3 -m claims.rules --page makes it anew"


def test_momentum_has_a_tenth_of_the_rate_and_the_same_number_of_steps():
    plain, momentum = (rule.steps(0.5, 100, 0.01) for rule in (PLAIN, MOMENTUM))
    assert plain["learning_rate"] == pytest.approx(10 * momentum["learning_rate"])
    assert plain["steps"] == momentum["steps"]


def test_a_bounce_is_a_fall_and_a_rise():
    series = np.array([[1.0, 0.5, 0.9], [1.0, 0.5, 0.55], [1.0, 0.95, 1.2]])
    assert bounced(series, np.full(3, 0.1)).tolist() == [True, False, False]


def test_classes_of_entries_and_contrasts():
    """Two topics with two words each: the word itself, its topic, and the other topic."""
    sizes = Sizes(2, 2, 1)
    matrix = np.full((5, 5), 9.0)
    matrix[1:, 1:] = [[3, 2, 1, 1], [2, 3, 1, 1], [1, 1, 3, 2], [1, 1, 2, 3]]
    assert [set(of.tolist()) for of in sizes.by_class(matrix)] == [{3}, {2}, {1}]
    assert sizes.blocks(matrix) == (1.0, 1.0)


def test_starts_have_the_named_entries():
    """Row 0 of W_V is 0, and entries of uniform starts stay within 1/sqrt(d)."""
    sizes = Sizes(5, 4, 2)
    bound = 1 / np.sqrt(sizes.symbols)
    for kind in topic.STARTS:
        start = topic.random_start(kind, 0, sizes)
        assert not start["W_V"][0].any()
        assert (start["W_K"] != topic.random_start(kind, 1, sizes)["W_K"]).any()
    uniform = topic.random_start("all uniform +-1/sqrt(d)", 0, sizes)
    assert all(0.9 * bound < np.abs(of).max() <= bound for of in uniform.values())


def test_the_theorem_puts_the_advised_start_above_the_separatrix():
    """The advised start is above the separatrix for p + q on both sides of 1; a small start is not
    for p + q > 1."""
    for chain in ({"p": 0.2, "q": 0.3}, {"p": 0.7, "q": 0.8}):
        assert markov.expected(np.float64(-1.0), np.float64(0.5), chain) == "global"
    assert markov.expected(np.float64(-0.1), np.float64(0.1), {"p": 0.7, "q": 0.8}) == "local"


def test_words_exceed_their_topic_by_the_stated_share():
    run = {"value_same_word": xarray.DataArray([0.5]), "value_same_topic": xarray.DataArray([0.4]),
           "value_other_topic": xarray.DataArray([0.2])}
    assert topic.excess_of_words(run) == pytest.approx([0.5])
