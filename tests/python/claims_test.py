# label: fast
"""Claims: verdicts follow from numbers, and the pages from the stored measurements."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from popflow.analysis import Estimate

sys.path.insert(0, str(Path(__file__).parents[2]))
from claims import (  # noqa: E402
    CLAIMS,
    Check,
    Number,
    figures,
    page,
    results,
    texts,
    verdict,
)
from claims.__main__ import nightly, without_casadi  # noqa: E402
from claims.claim import named, near  # noqa: E402
from claims.papers import OWN  # noqa: E402
from claims.share import share  # noqa: E402


def test_a_check_holds_if_its_whole_interval_does():
    assert Check("slope", 6.4, least=6, most=7).holds() is True
    assert Check("slope", 5.9, least=6, most=7).holds() is False
    assert Check("slope", Estimate(6.5, 0.1), least=6, most=7).holds() is True
    assert Check("slope", Estimate(6.1, 0.1), least=6, most=7).holds() is None
    assert Check("slope", Estimate(5.5, 0.1), least=6, most=7).holds() is False
    assert Check("slope", float("nan"), most=7).holds() is False


def test_a_verdict_names_conditions_only_where_they_differ():
    assert verdict([Check("a", 1, "N = 3", most=2), Check("a", 1, "N = 5", most=2)]) == "holds"
    assert verdict([Check("a", 3, "N = 3", most=2), Check("a", 3, "N = 5", most=2)]) == \
        "does not hold"
    mixed = [Check("a", 1, "N = 3", most=2), Check("a", 3, "N = 5", most=2),
             Check("b", 1, "N = 5", most=2), Check("a", Estimate(2, 1), "N = 7", most=2)]
    assert verdict(mixed) == "holds: N = 3; does not hold: N = 5; undecided: N = 7"
    assert verdict([*mixed[:1], Number("told", 100)]) == "holds"


def test_the_interval_of_a_share_covers_the_probability():
    """Wilson's interval also covers if none or all of a few runs succeed, where Wald's has no
    width."""
    draw = np.random.default_rng(1)
    for probability in (0.02, 0.3, 0.5, 0.9):
        inside = 0
        for successes in draw.binomial(20, probability, 1000):
            low, high = share(np.arange(20) < successes).interval()
            inside += low <= probability <= high
        # The least count here is 958; Wald's interval contains 0.02 in 339 of 1000 cases.
        assert inside > 920, probability


def test_results_are_read_back_unchanged(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    numbers = [Number("told", 1.5), Check("slope", Estimate(2.0, 0.5), "N = 3", least=1.0)]
    results.keep(99, "short", results.Result(numbers, 3.0))
    assert results.load(99) == {"short": results.Result(numbers, 3.0)}


def test_results_agree_whatever_the_order_of_their_conditions():
    one, two = Check("a", 1, "N = 3", most=2), Check("a", 3, "N = 5", most=2)
    assert results.Result([one, two], 1).agrees(results.Result([two, one], 1))
    assert not results.Result([one, two], 1).agrees(results.Result([one], 1))
    assert not results.Result([one], 1).agrees(
        results.Result([Check("a", 3, "N = 3", most=2)], 1))


def test_stored_files_have_a_line_for_each_record():
    """A record that is measured again changes one line."""
    number = Number("told", float("inf"), "N = 3")
    assert results.spread({"b": {"numbers": [results.row_of(number)] * 2}, "a": {}}, 3) == (
        '{\n"a": {},\n"b": {\n"numbers": [\n'
        '{"decides": false, "found": "inf", "what": "told", "where": "N = 3"},\n'
        '{"decides": false, "found": "inf", "what": "told", "where": "N = 3"}\n]\n}\n}')
    for place in results.FOLDER.glob("[0-9]*.json"):
        text = place.read_text()
        assert text == results.spread(json.loads(text), 3) + "\n", place.name


def test_a_form_is_a_part_of_the_name_of_its_conditions():
    assert named([Number("a", 1, "N = 3"), Number("b", 1)], "8 draws") == \
        [Number("a", 1, "N = 3 (8 draws)"), Number("b", 1, "(8 draws)")]
    assert named([Number("a", 1, "N = 3")], "") == [Number("a", 1, "N = 3")]


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_no_two_measurements_have_one_name(number):
    """A condition's name says all that differs. So no number of one form replaces another's."""
    names = [(one.what, one.where) for result in results.load(number).values()
             for one in result.numbers]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_a_decision_near_its_bound_is_marked():
    assert near(Check("a", Estimate(3.0, 1.0), most=0))
    assert not near(Check("a", Estimate(4.0, 1.0), most=0))
    assert not near(Check("a", Estimate(1.0, 1.0), most=0)), "undecided"
    assert not near(Check("a", 1e-9, most=0)) and not near(Number("a", Estimate(3.0, 1.0)))


def test_the_interval_of_a_share_stays_between_0_and_1():
    assert Number("share of runs that end", Estimate(0.98, 0.1)).interval()[1] == 1
    assert Number("share of draws that bounce, p = 0.2", Estimate(0.02, 0.1)).interval()[0] == 0
    assert Number("share of |A|, relative to another", Estimate(1.2, 0.1)).interval()[0] > 1


def test_a_vertical_bar_is_escaped_in_a_cell():
    assert page.cells("share of |A|", "") == r"| share of \|A\| |  |"


def test_what_is_not_a_number_has_no_interval():
    assert page.exact(Number("a", float("nan"))) == "nan"
    assert page.exact(Number("a", 2.0)) == "2" and not page.has_interval(Number("a", 2.0))
    assert page.exact(Number("a", Estimate(2.0, 0.1))) == "2 [1.8, 2.2]"


def test_stored_numbers_fill_a_text():
    forms = {"short": results.Result([Number("a", 1.25, "N = 3"),
                                      Check("b", Estimate(2.0, 0.1), "N = 5", most=3)], 1.0)}
    assert page.filled("at {a @ N = 3}, {b @ N = 5}.", forms) == "at 1.25, 2 [1.8, 2.2]."
    with pytest.raises(KeyError, match="take one of the names"):
        page.filled("{a @ N = 4}", forms)


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_every_claim_has_a_protocol(number):
    """A protocol has the paper's statement, its settings, the knobs, the rule, the refuting outcome
    and the rule's power."""
    protocol = CLAIMS[number].protocol
    assert protocol.missing() == [] and protocol.power
    assert not protocol.needs, "a claim that is measured needs no extension"


def test_every_protocol_can_be_read():
    lines = page.tables().splitlines()
    for number in texts.numbers():
        protocol = texts.protocol(number)
        assert protocol.missing() == [], number
        assert bool(protocol.needs) == bool(protocol.claim), number
        assert not protocol.needs or any(line.startswith(f"| {number} |") for line in lines)


def test_a_text_has_each_known_part_at_most_once():
    names = ["paper", "refuted_by"]
    assert texts.parse("Paper: One: two\n  three.\nRefuted by: four.\n", names) == \
        {"paper": "One: two three.", "refuted_by": "four."}
    assert texts.Protocol("one", refuted_by="two").missing() == ["Settings", "Knobs", "Rule"]
    with pytest.raises(ValueError, match="belongs to no part"):
        texts.parse("Paper: one.\nOpinion: two.\n", names)
    with pytest.raises(ValueError, match="two parts"):
        texts.parse("Paper: one.\nPaper: two.\n", names)


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_a_claim_has_one_line(number):
    """The line has one word of verdict, and a number at the paper's settings."""
    claim, forms = CLAIMS[number], results.load(number)
    rows = [line for line in page.tables().splitlines() if line.startswith(f"| [{number}](")]
    assert len(rows) == 1
    _, says, word, found, breaks, *_ = [cell.strip()
                                        for cell in rows[0].replace(r"\|", "").split("|")[1:]]
    assert says and found and breaks and len(breaks) < 700
    assert word in ("**holds**", "**fails**", "**open**", "**not testable**")
    headline = page.headline(claim, forms)
    assert claim.finding.in_setting(headline.where) or claim.finding.left


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_the_numbers_decide_a_verdict(number):
    """Words in place of the numbers' verdict say that the paper leaves the decision open; they
    never say that it holds or fails. Patterns of conditions match some, and no control has the
    paper's settings."""
    claim = CLAIMS[number]
    found = claim.finding
    assert all((found.number, found.setting, found.breaks, found.found))
    assert found.referee.count("?") and not found.referee.startswith("Whether")
    word, _, reason = found.left.partition(": ")
    assert not found.left or (word in ("open", "not testable") and reason)
    places = {one.where for one in page.checks(results.load(number))}
    for pattern in f"{found.setting};{found.controls}".split(";"):
        assert pattern.strip() in ("", "none") or \
            any(texts.matches(pattern, place) for place in places), pattern
    assert not any(found.in_setting(place) and found.is_control(place) for place in places)
    assert found.left or any(found.in_setting(place) for place in places)


def test_one_bound_for_each_quantity():
    """A quantity of a paper that two of its claims measure has one bound."""
    bounds = {}
    for claim in CLAIMS.values():
        for one in page.checks(results.load(claim.number)):
            bounds.setdefault((claim.paper, one.what), set()).add((one.least, one.most))
    # The rates of relaxation and the shares that a claim compares with several opponents differ.
    assert {what for (_, what), of in bounds.items() if len(of) > 1} <= \
        {"share of |A| at the positions of Q, softmax relative to the opponent"}


def test_own_questions_stand_apart():
    assert sorted(number for number, claim in CLAIMS.items() if claim.paper == OWN) == [27, 37]
    assert [claim.number for claim in page.ordered()][-2:] == [27, 37]


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_every_claim_has_stored_results(number):
    claim, kept = CLAIMS[number], results.load(number)
    assert "short" in kept and set(kept) <= {"short", "long"}
    assert ("long" in kept) <= claim.has_long
    for result in kept.values():
        assert any(isinstance(one, Check) for one in result.numbers)
    form = claim.forms[0] if claim.forms else ""
    assert all(one.where.endswith(f"({form})") for one in kept["short"].numbers) or not form


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_a_claim_has_a_short_page(number):
    """The page has the figure with a description, and at most 120 lines."""
    claim, forms = CLAIMS[number], results.load(number)
    text = page.claim_page(claim, forms)
    name = figures.picture(number)
    assert len(text.splitlines()) < 120
    assert " @ " not in text, "an expression for a stored number is left"
    for drawn in (name, figures.picture(number, small=True)):
        assert (page.DOCS / "pictures" / drawn).exists(), \
            f"cd docs/pictures && PYTHONPATH=../../python:../.. ./draw_results.py {number} draws it"
    shown = re.findall(rf"^!\[(.*)\]\(../pictures/{name}\)$", text, re.M)
    assert len(shown) == 1 and len(shown[0]) > 30 and shown[0] != claim.says


@pytest.mark.parametrize("number", sorted(figures.COURSES))
def test_a_course_has_points(number):
    """The patterns of a claim's courses match the names of its stored numbers."""
    panels = figures.courses(number, results.load(number))
    for course in figures.COURSES[number]:
        of = [panel for panel in panels if panel.course == course]
        assert of, course
        assert all(len(points.numbers) > 1 for panel in of for points in panel.lines), course


@pytest.mark.parametrize("number", sorted(set(CLAIMS) - set(figures.SHOWN)))
def test_a_figure_shows_every_number_that_decides(number):
    """The figure has every condition of the paper's settings, the line's number among them."""
    forms = results.load(number)
    along, rows = figures.panels(number, forms)
    drawn = [one for panel in [*along, *rows] for one in panel.numbers]
    assert not [one for one in figures.shown(forms)
                if isinstance(one, Check) and one not in drawn]
    found = CLAIMS[number].finding
    assert {figures.setting(one.where) for one in page.checks(forms)
            if found.in_setting(one.where)} <= {figures.setting(one.where) for one in drawn}


def test_a_condition_is_drawn_at_its_best_precision():
    assert figures.setting("figure 2 (24 draws)") == "figure 2"
    assert figures.setting("5 nodes until t = 1e6, 400 draws") == "5 nodes until t = 1e6"
    assert figures.setting("SGD, N = 3 (T = 200)") == "SGD, N = 3 (T = 200)"
    few, many = Check("a", 1, "N = 3 (8 draws)", most=2), Check("a", 3, "N = 3 (24 draws)", most=2)
    assert figures.shown({"short": results.Result([few], 1), "long": results.Result([many], 1)}) \
        == [many]


def test_conditions_of_a_forest_plot_have_rows():
    checks = [Check("loss, N = 3", 1, "SGD", most=2), Check("loss, N = 5", 3, "SGD", most=2),
              Check("share (3 of 8)", 0.4, "SGD", least=0.5)]
    loss, share = figures.forest(checks)
    assert (loss.title, list(loss.rows)) == ("loss", ["SGD, N = 3", "SGD, N = 5"])
    assert (share.title, share.least, list(share.rows)) == ("share", 0.5, ["SGD"])
    merged, _ = figures.forest(checks * 10)
    assert list(merged.rows) == ["SGD"] and len(merged.rows["SGD"]) == 20


def test_the_pages_are_made_from_the_stored_results():
    for path, text in page.files().items():
        assert path.read_text() == text, f"scripts/claims --page makes {path.name} anew"
    assert len(page.PLACE.read_text().splitlines()) < 300


def test_names_in_a_figure_ascend_by_their_numbers():
    names = ["T = 50", "T = 100", "else", "rate 1e-05 of 2", "T = 25", "rate 1e-06 of 3"]
    assert figures.ascending(names) == ["T = 25", "T = 50", "T = 100", "else", "rate 1e-06 of 3",
                                        "rate 1e-05 of 2"]


def test_claims_by_models_are_left_out_without_casadi(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert without_casadi([41, 42, 45]) == [42, 45]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert without_casadi([41, 42, 45]) == []


def test_the_check_of_every_change_is_short():
    """Claims with longer short forms are checked nightly only."""
    seconds = {number: results.load(number)["short"].seconds for number in CLAIMS}
    left = nightly()
    assert left and max(seconds[number] for number in CLAIMS if number not in left) <= \
        min(seconds[number] for number in left)
    assert sum(seconds[number] for number in CLAIMS if number not in left) < 120
