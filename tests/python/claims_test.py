# label: fast
"""Claims: verdicts follow from numbers, and docs/claims.md from the stored measurements."""

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
    protocols,
    results,
    verdict,
)
from claims.claim import NAMED, verdict_in_line  # noqa: E402
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


def test_the_table_counts_the_conditions_of_both_forms():
    """A condition measured in both forms has the verdict of the long form."""
    short = results.Result([Check("a", 3, "B = 4", most=2), Check("a", 3, "B = 64", most=2)], 1.0)
    long = results.Result([Check("a", 1, "B = 64", most=2), Check("a", 1, "B = 512", most=2),
                           Number("told", 3, "B = 4")], 1.0)
    both = page.together({"short": short, "long": long})
    assert verdict(both) == "holds: B = 64, B = 512; does not hold: B = 4"
    assert verdict(page.together({"short": short})) == "does not hold"


def test_a_vertical_bar_is_escaped_in_a_cell():
    assert page.cells("share of |A|", "") == r"| share of \|A\| |  |"


def test_a_line_names_the_exceptions_and_three_conditions_at_most():
    """The line first has conditions that the claim names, then those with the rarest verdict."""
    numbers = [Check("a", at, f"N = {at}", most=7) for at in range(10)]
    assert verdict_in_line(numbers) == "Holds in 8 of 10 conditions. Not: N = 8; N = 9."
    assert verdict_in_line(numbers[:8]) == "Holds"
    assert verdict_in_line(numbers[6:9]) == "Holds: N = 6; N = 7. Not: N = 8."
    assert verdict_in_line(numbers[7:]) == "Holds: N = 7. Not: N = 8; N = 9."
    unclear = Check("a", Estimate(7, 1), "N = 10", most=7)
    assert verdict_in_line([*numbers, unclear]) == \
        "Holds in 8 of 11 conditions. Not: N = 8; N = 9. Undecided: N = 10."
    assert verdict_in_line([*numbers[5:], Check("a", 10, "N = 11", most=7), unclear]) == \
        "Holds in 3 of 7 conditions, such as N = 5; N = 6. Not in 3. Undecided: N = 10."
    more = [*numbers[4:], *(Check("a", 9, f"N = {at}", most=7) for at in (11, 12))]
    assert verdict_in_line(more, ["N = 5", "N = 9"]) == \
        "Holds in 4 of 8 conditions, such as N = 4; N = 5. Not in 4, such as N = 9."
    assert verdict_in_line([Number("told", 1)]) == "No number decides"
    assert verdict_in_line(numbers[:6:-1]) == "Holds: N = 7. Not: N = 9; N = 8."


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_every_claim_has_a_protocol(number):
    """A protocol has the paper's statement, its settings, the knobs, the rule, and the refuting
    outcome."""
    claim = CLAIMS[number]
    assert claim.protocol.missing() == []
    assert not claim.protocol.needs, "a claim that is measured needs no extension"
    assert len(claim.conditions) <= NAMED


@pytest.fixture(scope="module")
def lines():
    """Returns the lines of the table."""
    return page.table().splitlines()


def test_every_protocol_can_be_read(lines):
    for number in protocols.numbers():
        protocol = protocols.load(number)
        assert protocol.missing() == [], number
        assert bool(protocol.needs) == bool(protocol.claim), number
        assert not protocol.needs or any(line.startswith(f"| {number} |") for line in lines)


def test_a_protocol_has_each_known_part_at_most_once():
    protocol = protocols.parse("Paper: One: two\n  three.\nRefuted by: four.\n")
    assert (protocol.paper, protocol.refuted) == ("One: two three.", "four.")
    assert protocol.missing() == ["Settings", "Knobs", "Rule"]
    with pytest.raises(ValueError, match="belongs to no part"):
        protocols.parse("Paper: one.\nOpinion: two.\n")
    with pytest.raises(ValueError, match="two parts"):
        protocols.parse("Paper: one.\nPaper: two.\n")


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_a_claim_has_one_line(number, lines):
    """Each claim has one row in the table, with one number and no more than three conditions."""
    rows = [line for line in lines if line.startswith(f"| [{number}](")]
    assert len(rows) == 1
    # A vertical bar within a cell is escaped.
    _, says, found, said, *_ = [cell.strip() for cell in rows[0].replace(r"\|", "").split("|")[1:]]
    assert says and said and found.count("±") <= 1
    # Conditions are listed after a colon or "such as".
    lists = re.findall(r"(?:: |, such as )(.*?)\.(?= |$)", said.replace("**", ""))
    assert sum(len(listed.split("; ")) for listed in lists) <= NAMED


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_a_line_shows_what_was_measured(number):
    """The results contain the number and the conditions that a claim names for its line."""
    claim, forms = CLAIMS[number], results.load(number)
    if not forms:
        return  # the table says that the claim is not measured yet
    if any(claim.headline):
        found = page.headline(claim, forms)
        assert (found.what, found.where) == claim.headline
    assert set(claim.conditions) <= {one.where for one in page.together(forms)}


@pytest.mark.parametrize("number", sorted(CLAIMS))
def test_every_claim_has_stored_results(number):
    """Results have all forms of the claim, each with a number that decides."""
    claim, kept = CLAIMS[number], results.load(number)
    if not kept and number >= 28:
        assert "Not measured yet" in page.row(claim, kept)
        return
    assert "short" in kept and set(kept) <= {"short", "long"}
    assert ("long" in kept) <= claim.has_long
    for result in kept.values():
        assert any(isinstance(one, Check) for one in result.numbers)


@pytest.mark.parametrize("number", [one for one in sorted(CLAIMS) if results.load(one)])
def test_a_measured_claim_has_a_figure(number, lines):
    """A claim's section shows its figure with a description, and the table shows it if it has a
    course."""
    claim, forms = CLAIMS[number], results.load(number)
    name = figures.picture(number)
    assert (page.PLACE.parent / "pictures" / name).exists(), \
        f"cd docs/pictures && PYTHONPATH=../../python:../.. ./draw_results.py {number} draws it"
    shown = re.findall(rf"^!\[(.*)\]\(pictures/{name}\)$", page.section(claim, forms), re.M)
    assert len(shown) == 1 and len(shown[0]) > 30 and shown[0] != claim.says
    line, = [line for line in lines if line.startswith(f"| [{number}](")]
    assert (f"pictures/{name}" in line) == figures.tells_more(number)


@pytest.mark.parametrize("number", [one for one in sorted(figures.COURSES) if results.load(one)])
def test_a_course_has_points(number):
    """The patterns of a claim's courses match the names of its stored numbers."""
    panels = figures.courses(number, results.load(number))
    for course in figures.COURSES[number]:
        of = [panel for panel in panels if panel.course == course]
        assert of, course
        assert all(len(points.numbers) > 1 for panel in of for points in panel.lines), course


@pytest.mark.parametrize("number", [one for one in sorted(CLAIMS) if results.load(one)])
def test_a_figure_shows_every_number_that_decides(number):
    checks = page.together(results.load(number))
    along, rows = figures.panels(number, results.load(number), checks)
    drawn = [one for panel in [*along, *rows] for one in panel.numbers]
    assert [one for one in checks if one not in drawn] == []


def test_conditions_of_a_forest_plot_have_rows():
    checks = [Check("loss, N = 3", 1, "SGD", most=2), Check("loss, N = 5", 3, "SGD", most=2),
              Check("share (3 of 8)", 0.4, "SGD", least=0.5)]
    loss, share = figures.forest(checks)
    assert (loss.title, list(loss.rows)) == ("loss", ["SGD, N = 3", "SGD, N = 5"])
    assert (share.title, share.least, list(share.rows)) == ("share", 0.5, ["SGD"])
    merged, _ = figures.forest(checks * 10)
    assert list(merged.rows) == ["SGD"] and len(merged.rows["SGD"]) == 20


def test_the_page_is_made_from_the_stored_results():
    text = page.PLACE.read_text()
    assert page.page(text) == text, "scripts/claims --page makes it anew"


def test_names_in_a_figure_ascend_by_their_numbers():
    names = ["T = 50", "T = 100", "else", "rate 1e-05 of 2", "T = 25", "rate 1e-06 of 3"]
    assert figures.ascending(names) == ["T = 25", "T = 50", "T = 100", "else", "rate 1e-06 of 3",
                                        "rate 1e-05 of 2"]
