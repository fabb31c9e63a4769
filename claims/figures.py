"""Figures of the claims: which stored numbers a figure shows, and in which panels.

docs/pictures/draw_results.py draws them, and the page takes their descriptions from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .claim import Check, Number
from .results import Forms


@dataclass(frozen=True)
class Course:
    """A quantity that is measured along an axis.

    `numbers` matches "what @ where" of the numbers to draw. Its group x is the position on the
    axis. The groups line (colour), style (line style) and panel are optional."""

    numbers: str
    x: str  # label of the axis
    y: str = ""  # label of the quantity; by default the panel's name
    log: str = "x"  # axes with a logarithmic scale


TOPICS = r"(?P<x>\d+) topics in a document, (?P<style>l2 = [\d.e-]+)"

#: Claims with numbers along an axis. Their other numbers are drawn in rows.
COURSES: dict[int, tuple[Course, ...]] = {
    5: (Course(r"share of runs with signal_A above 0.1 after stage 1 @ "
               r"(?P<line>N = \d+ and T = \d+) with B = (?P<x>\S+)",
               "batch size B", "share of runs with signal_A above 0.1"),),
    6: (Course(r"batch size at which half of the runs find Q @ "
               r"(?P<line>\D+[\d.]*) at T = (?P<x>\d+)",
               "context length T", "batch size B at which half of the runs find Q", "xy"),),
    7: (Course(r"largest difference of signal_V @ without the projection, "
               r"(?P<line>T = \d+), N = (?P<x>\d+).*",
               "number of symbols N", "difference of signal_V without the projection", "xy"),),
    19: (Course(r"share of starts that end (?:global|local), (?P<style>\w+ bias), "
                r"(?P<line>p = \S+ q = \S+) @ (?P<panel>p \+ q [<>] 1) "
                r"with sigma = (?P<x>[\d.]+).*",
                "sigma, the size of the starts", "share of starts that end as claimed"),),
    25: (Course(r"relative excess of products within topics, least for 1 to 9 topics in a "
                r"document, (?P<line>scale [\d.]+) @ l2 = (?P<x>\S+)",
                "l2 penalty", "least relative excess of products within topics"),),
    26: (Course(r"change of the (?P<style>norms? of W_\w(?: and W_\w)?) .*, rate (?P<x>[\d.]+) @ "
                r"(?P<panel>\w+), (?P<line>scale [\d.]+)",
                "learning rate", "relative change of a norm", "xy"),),
    27: (Course(r"(?P<panel>largest difference without noise|means agree .*|"
                r"standard deviation of the slope relative to plain SGD) @ "
                r"with(?:out)? noise, (?P<line>beta = \S+), eta/\(1 - beta\) = (?P<x>[\d.]+)",
                "eta/(1 - beta)"),),
    28: (Course(r"share of runs that diverge @ (?P<line>.*), B = (?P<x>\d+) "
                r"\((?P<style>T = \d+)\)", "batch size B",
                "share of runs that diverge"),),
    29: (Course(r"rise of the excess loss above its least value @ (?P<line>\w+), "
                r"lambda = (?P<x>\S+)", "lambda",
                "rise of the excess loss above its least value"),),
    31: (Course(r"share of runs with the right sign, dose (?P<x>[\d.]+) @ "
                r"(?P<line>\w+ attention), (?P<panel>T = \d+)",
                "dose: batch size over learning rate", "share of runs with the right sign"),),
    33: (Course(r"steps of softmax relative to linear attention until .* @ (?P<line>\w+) at rate "
                r"(?P<x>[\d.]+), (?P<panel>T = \d+)", "learning rate",
                "steps of softmax relative to linear attention", "xy"),),
    34: (Course(r"(?P<panel>.* relative to the opponent's) @ (?P<line>against .*), N = (?P<x>\d+) "
                r"\((?P<style>T = \d+)\)",
                "number of symbols N"),),
    37: (Course(r"share of draws that bounce @ (?P<x>\d+) nodes, (?P<line>temperature \d+)",
                "hidden nodes", "share of draws that bounce"),),
    41: (Course(r"(?P<line>contrast|norm of W_V) (?:of|in) alternating training relative to "
                rf"joint training, {TOPICS} @ (?P<panel>.*)",
                "topics in a document", "alternating relative to joint training", ""),),
    43: (Course(r"(?P<panel>excess of a word's own entry over its topic's|"
                r"contrast, the queried word counted|"
                r"relative excess of the mean product within topics).*, (?P<x>\d+) words @ .*",
                "words in a document", log=""),),
    44: (Course(rf"(?P<panel>share left of the loss that joint training removes), {TOPICS} @ "
                r"loss, (?P<line>.*)", "topics in a document", log=""),
         Course(r"(?P<panel>relative excess of entries within topics) .*, "
                rf"(?P<line>[^,]*), {TOPICS} @ .*", "topics in a document", log=""),
         Course(r"(?P<panel>contrast, the queried word counted), "
                rf"(?P<line>[^,]*), {TOPICS} @ .*", "topics in a document", log="y")),
}

#: Figures that other scripts or `popflow plot` draw, and what they show.
SHOWN = {
    1: "Distance from the linear system against the context length, for three numbers of symbols",
    2: "Boosting time of the flow against the number of positions T, for five numbers of symbols N",
    4: "Distances of V to P and of the attention to Q over time: both fall, then rise again",
    8: "Share of |A| at the positions of Q over time, for four ways of training",
    10: "Least correlation over time against the number of hidden nodes, for two kinds of data",
    13: "Share of draws that bounce against the number of hidden nodes, until two times",
    14: "Stable rank over time for each draw and its median, by activation and kind of data",
    15: "Largest start from which tokens are learned in the tree's order, against the temperature",
    18: "Loss over (e, w) for both kinds of chains, with its minima, maxima and saddle",
    22: "Norms of the three matrices over time, from three starts of W_V, with 20 words",
    23: "Both definitions of the contrast over time, from two kinds of W_K and W_Q, 20 words",
    24: "Loss above its least value over alpha and beta, for both forms of W_V, with the minimum",
    30: "Excess loss over time, for both kinds of attention and of weights",
}

#: Number of rows that a figure has room for. More numbers share a row with others of their
#: condition.
ROWS = 26


@dataclass
class Points:
    """Numbers of one colour and line style, by their positions on the axis."""

    line: str
    style: str
    numbers: dict[float, Number] = field(default_factory=dict)


@dataclass
class Along:
    """A panel with a quantity along an axis."""

    course: Course
    title: str
    lines: list[Points] = field(default_factory=list)

    @property
    def numbers(self) -> list[Number]:
        return [number for points in self.lines for number in points.numbers.values()]


@dataclass
class Rows:
    """A panel of a forest plot: a quantity with its bounds, and a row for each condition."""

    title: str
    least: float
    most: float
    rows: dict[str, list[Check]] = field(default_factory=dict)

    @property
    def numbers(self) -> list[Check]:
        return [number for row in self.rows.values() for number in row]


def picture(number: int, small: bool = False) -> str:
    """Returns the name of a claim's figure in docs/pictures, or of its small picture, which shows
    the verdicts by condition."""
    return f"claim-{number:02}{'-small' if small else ''}.png"


#: What a condition's name says about the precision of its measurement.
PRECISION = re.compile(r" \((?:N to \d+|[\d to]+ (?:draws|runs|starts)(?:, batches of .*)?)\)$|"
                       r", (?:\d+ (?:draws|runs)|batches to \d+|2 to 9 topics|"
                       r"2, 4, 6 and 9 topics)(?=,| |$)")


def setting(where: str) -> str:
    """Returns the name of a condition without the precision of the measurement."""
    return PRECISION.sub("", where)


def shown(forms: Forms) -> list[Number]:
    """Returns the numbers of the long form, and those of the short form that the long one has not
    measured more precisely."""
    found: dict[tuple[str, str], Number] = {}
    for form in ("long", "short"):
        for number in forms[form].numbers if form in forms else ():
            found.setdefault((without_counts(number.what), setting(number.where)), number)
    return list(found.values())


def courses(claim: int, forms: Forms) -> list[Along]:
    """Returns the panels with the claim's numbers along an axis."""
    panels: dict[tuple[str, str], Along] = {}
    for course in COURSES.get(claim, ()):
        for number in shown(forms):
            match = re.fullmatch(course.numbers, f"{number.what} @ {setting(number.where)}")
            if match:
                groups = match.groupdict(default="")
                name = groups.get("panel", "")
                panel = panels.setdefault((course.numbers, name), Along(course, name))
                line, style = groups.get("line", ""), groups.get("style", "")
                points = next((one for one in panel.lines
                               if (one.line, one.style) == (line, style)), None)
                if points is None:
                    points = Points(line, style)
                    panel.lines.append(points)
                points.numbers.setdefault(float(groups["x"]), number)
    names = ascending([name for _, name in panels])
    return sorted(panels.values(), key=lambda panel: names.index(panel.title))


NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def ascending(names: Sequence[str]) -> list[str]:
    """Sorts names that differ in numbers alone by these. Other names keep their order."""
    kinds = [NUMBER.sub("", name) for name in names]
    return sorted(dict.fromkeys(names), key=lambda name: (
        kinds.index(NUMBER.sub("", name)), [float(one) for one in NUMBER.findall(name)]))


def forest(checks: Iterable[Check]) -> list[Rows]:
    """Returns the panels of a forest plot, one for each quantity with the same bounds."""
    groups: dict[tuple[str, float, float], list[Check]] = {}
    for check in checks:
        groups.setdefault((without_counts(check.what).split(", ")[0], check.least, check.most),
                          []).append(check)
    single = sum(map(len, groups.values())) <= ROWS
    panels = []
    for (_, least, most), of in groups.items():
        parts = [without_counts(one.what).split(", ") for one in of]
        shared = 0
        while all(len(one) > shared and one[shared] == parts[0][shared] for one in parts):
            shared += 1
        panel = Rows(", ".join(parts[0][:shared]), least, most)
        for one, words in zip(of, parts):
            rest = words[shared:] if single else []
            panel.rows.setdefault(", ".join(filter(None, [setting(one.where), *rest])),
                                  []).append(one)
        panel.rows = {name: panel.rows[name] for name in ascending(list(panel.rows))}
        panels.append(panel)
    return panels


def without_counts(what: str) -> str:
    """Returns the name of a quantity without counts of this measurement, such as "(45 of 4096)"."""
    return re.sub(r" \(\d+ of \d+\)", "", re.sub(r" of \d+( decided ones)? that", r" that", what))


def panels(claim: int, forms: Forms) -> tuple[list[Along], list[Rows]]:
    """Returns the panels of a claim's figure: numbers along an axis, and the other numbers that
    decide in rows."""
    along = courses(claim, forms)
    drawn = [number for panel in along for number in panel.numbers]
    return along, forest([one for one in shown(forms)
                          if isinstance(one, Check) and one not in drawn])


def description(claim: int, forms: Forms) -> str:
    """Returns what the figure shows, for readers who do not see it."""
    if claim in SHOWN:
        return SHOWN[claim]
    along, rows = panels(claim, forms)
    by_axis: dict[str, list[str]] = {}
    for panel in along:
        by_axis.setdefault(panel.course.x, []).append(panel.course.y or panel.title)
    said = [f"{'; '.join(dict.fromkeys(names))}, against {x}" for x, names in by_axis.items()]
    if len(along) > 1 and along[0].course.y:
        said.append(f"in panels: {'; '.join(panel.title for panel in along)}")
    if rows:
        said.append(f"{'in rows' if said else 'forest plot'}: "
                    f"{'; '.join(panel.title for panel in rows)}")
    numbers = [one for panel in [*along, *rows] for one in panel.numbers if isinstance(one, Check)]
    counts = {words: sum(one.holds() is verdict for one in numbers)
              for words, verdict in (("within", True), ("outside", False), ("undecided", None))}
    said.append("numbers and their bounds: " +
                ", ".join(f"{count} {words}" for words, count in counts.items() if count))
    return ". ".join(sentence[0].upper() + sentence[1:] for sentence in said)
