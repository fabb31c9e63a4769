#!/usr/bin/python3
"""Draws figures of the claims' pages from the numbers in claims/results, into the working folder.

    PYTHONPATH=python:. docs/pictures/draw_results.py           all claims without another script
    PYTHONPATH=python:. docs/pictures/draw_results.py 9 26      some of them

Numbers along an axis are drawn against it. The other numbers that decide make a forest plot, with a
row for each condition. Which numbers have an axis is said in claims/figures.py.
"""

import itertools
import math
import re
import sys
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from claims import CLAIMS, Check, figures, page, results
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from PIL import Image, ImageDraw

BLUE, RED, YELLOW = "#0072b2", "#d55e00", "#e69f00"  # colours that the colour-blind tell apart
LINES = (BLUE, RED, "#009e73", "#cc79a7", YELLOW, "#56b4e9", "#000000", "#999999", "#882255",
         "#b8a800")
STYLES = ("-", "--", ":")
BAND = "#e3e9ee"
#: Colour, shape and words of each verdict.
VERDICTS = {True: (BLUE, "o", "holds"), False: (RED, "X", "does not hold"),
            None: (YELLOW, "D", "undecided")}
#: How a point along an axis shows its verdict.
FILLS = {True: {"fillstyle": "full"}, False: {"markerfacecolor": "white"},
         None: {"fillstyle": "left", "markerfacecoloralt": "white"}}
#: Span of the numbers, greatest over least, above which their axis is logarithmic.
WIDE = 50
#: Characters of a row's label and of a panel's title in one line.
LABEL, TITLE = 70, 60

SYMBOLS = ((r"\bW_([KQV])\b", r"$W_\1$"), (r"\b(signal)_([AV])\b", r"\1$_\2$"),
           (r"\bE_saddle\b", r"$E_{\\mathrm{saddle}}$"), (r"excess_loss", "excess loss"),
           (r"e\^\(-2t\)", r"$e^{-2t}$"), (r"\beta/\(1 - beta\)", r"$\\eta/(1 - \\beta)$"),
           (r"(?<!\\)\b(lambda|beta|eta|sigma)\b", r"$\\\1$"), (r"\bl([12])\b", r"$\\ell_\1$"),
           (r"\b([NTBpq])(?= [=<>+])", r"$\1$"), (r"(?<=[a-z0-9] )([NTBQPA])(?=,? |$)", r"$\1$"),
           (r"\b1e([+-])0*(\d+)", lambda e: f"$10^{{{e[1].strip('+')}{e[2]}}}$"))


def symbols(text):
    """Sets the symbols of a text as formulas."""
    for pattern, formula in SYMBOLS:
        text = re.sub(pattern, formula, text)
    return text


def wrapped(text, width):
    return symbols("\n".join(lines_of(text, width)))


def lines_of(text, width):
    """Breaks a text into lines, but not around =, <, > and +."""
    together = re.sub(r" ([=<>+]) ", "\u00a0\\1\u00a0", text)
    return [line.replace("\u00a0", " ")
            for line in textwrap.wrap(together, width, break_long_words=False)]


def bounds(numbers):
    """Returns the different bounds of the numbers that decide."""
    return list(dict.fromkeys((one.least, one.most) for one in numbers if isinstance(one, Check)))


def shade(axes, least, most, along):
    """Shades the allowed values, and draws the bounds. `along` is the axis of the values."""
    low, high = axes.get_xlim() if along == "x" else axes.get_ylim()
    span, line = ((axes.axvspan, axes.axvline) if along == "x" else (axes.axhspan, axes.axhline))
    span(max(least, low), min(most, high), color=BAND, linewidth=0, zorder=0)
    for bound in {least, most} - {-math.inf, math.inf}:
        line(bound, color="grey", linewidth=0.8, zorder=0.5)
    (axes.set_xlim if along == "x" else axes.set_ylim)(low, high)


def scale_of(values, inside):
    """Returns the scale of an axis for the values and the bounds."""
    finite = [one for one in [*values, *inside] if math.isfinite(one)]
    positive = [one for one in finite if one > 0]
    if min(finite, default=0) >= 0 and 0 in inside and max(finite) > WIDE:
        return "symlog"
    wide = positive and max(positive) > WIDE * min(positive)
    below = -min(finite, default=0) > max(positive, default=0)  # more than a rounding error
    return "log" if wide and not below and min(inside) != 0 and \
        all(one > 0 for one in inside if math.isfinite(one)) else "linear"


def limits(scale, values, inside):
    """Returns limits of an axis that contain the values and the bounds."""
    finite = [one for one in [*values, *inside] if math.isfinite(one)]
    if scale == "symlog":
        return -0.3, 3 * max(finite)
    if scale == "log":
        positive = [math.log10(one) for one in finite if one > 0]
        room = 0.06 * (max(positive) - min(positive)) or 0.1
        left = 2.5 if min(finite) <= 0 else 1
        return 10 ** (min(positive) - left * room), 10 ** (max(positive) + room)
    low, high = min(finite, default=0), max(finite, default=1)
    room = 0.06 * (high - low)
    return (low - room, high + room) if room else (low - 0.1, high + 1)


def ends_of(numbers):
    """Returns all numbers and the ends of their intervals."""
    return [end for one in numbers for end in (*one.interval(), middle(one))]


def ticks(axis, scale, low, high):
    """Sets readable ticks: few on a linear axis, and three a decade on a short logarithmic one."""
    if scale == "linear":
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    elif scale == "log" and high < 150 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(lambda at, _: f"{at:g}")
        axis.set_minor_formatter(NullFormatter())


def draw_rows(axes, panel):
    """Draws one quantity of a forest plot. Tells whether numbers lie beyond the axis."""
    inside, beyond = (panel.least, panel.most), False
    shares = panel.title.startswith("share") and panel.least >= 0.5
    scale = "linear" if shares else scale_of(ends_of(panel.numbers), inside)
    low, high = limits(scale, ends_of(panel.numbers), inside)
    axes.set_xscale(scale, **({"linthresh": 1} if scale == "symlog" else {}))
    axes.set_xlim(low, high)
    ticks(axes.xaxis, scale, low, high)
    shade(axes, *inside, "x")
    heights = np.array([heights_of(label, of) for label, of in panel.rows.items()])
    places = np.cumsum(heights) - heights / 2
    for height, of in zip(places, panel.rows.values()):
        shifts = np.linspace(-0.3, 0.3, len(of)) if len(of) > 1 else [0]
        if absent := [one for one in of if math.isnan(middle(one))]:
            cases = f" ({len(absent)} of {len(of)})" if len(of) > 1 else ""
            axes.annotate(f"not a number{cases}", (0.99, height), ha="right", va="center",
                          xycoords=("axes fraction", "data"), color=VERDICTS[absent[0].holds()][0],
                          fontsize=8)
        for shift, one in zip(shifts, of):
            colour, shape, _ = VERDICTS[one.holds()]
            left, right = one.interval()
            at = middle(one)
            if math.isnan(at):
                continue
            axes.plot(np.clip([left, right], low, high), [height + shift] * 2, color=colour,
                      linewidth=1.5)
            beyond |= not low <= at <= high
            shape = "<" if at < low else ">" if at > high else shape
            axes.plot(min(max(at, low), high), height + shift, shape, color=colour, markersize=5,
                      clip_on=False, zorder=3)
    axes.set_yticks(places, [wrapped(label, LABEL) for label in panel.rows])
    axes.set_ylim(sum(heights) + 0.1, -0.1)
    axes.tick_params(axis="y", length=0)
    cases = " (a point for each case)" if max(map(len, panel.rows.values())) > 1 else ""
    axes.set_title(wrapped(panel.title + cases, TITLE), loc="left", fontsize=9)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return beyond


def heights_of(label, of):
    """Returns the height of a row, relative to that of one line and one number."""
    return max(1, 0.95 * len(lines_of(label, LABEL)), 1.25 if len(of) > 3 else 1)


def middle(number):
    return float(getattr(number.found, "value", number.found))


def draw_course(axes, panel, colours, styles):
    """Draws a quantity along an axis, with its bounds."""
    course = panel.course
    inside = [bound for pair in bounds(panel.numbers) for bound in pair]
    scale = "log" if "y" in course.log else "linear"
    low, high = limits(scale, ends_of(panel.numbers), inside)
    axes.set_yscale(scale)
    axes.set_xscale("log" if "x" in course.log else "linear")
    axes.set_ylim(low, high)
    ticks(axes.yaxis, scale, low, high)
    for least, most in bounds(panel.numbers):
        shade(axes, least, most, "y")
    places = sorted({at for points in panel.lines for at in points.numbers})
    names = list(colours)
    drawn = [name for name in names if any(points.line == name for points in panel.lines)]
    crowded = coincide(panel, scale)
    for points in panel.lines:
        # Each line is thinner than the one before and lies beside it, so that both show.
        rank = drawn.index(points.line)
        x = np.array(sorted(points.numbers))
        of = [points.numbers[at] for at in x]
        y = np.array([middle(one) for one in of])
        error = np.nan_to_num(np.abs(np.array([one.interval() for one in of]).T - y))
        if error.any():
            aside = 0.01 * (rank - (len(drawn) - 1) / 2)
            x = x * (places[-1] / places[0]) ** aside if "x" in course.log else \
                x + aside * (places[-1] - places[0])
        colour = colours[points.line]
        size, width = (max(3.5, 7.5 - 1.5 * rank), max(0.9, 2.8 - rank)) if crowded else (5, 1.4)
        known = np.isfinite(y)
        axes.errorbar(x[known], y[known], error[:, known], color=colour, capsize=2,
                      linestyle=styles[points.style], linewidth=width, elinewidth=1)
        for at, one in zip(x, of):
            value = middle(one)
            held = one.holds() if isinstance(one, Check) else True
            if math.isfinite(value):
                axes.plot(at, value, "o", color=colour, markersize=size, **FILLS[held])
            else:
                height, shape = (0.97, "^") if value > 0 else (0.03 + 0.05 * rank, "x")
                axes.plot(at, height, shape, color=colour, markersize=5,
                          transform=axes.get_xaxis_transform())
    if "x" not in course.log or places[-1] < 100 * places[0] or len(places) < 4:
        axes.set_xticks(places, [symbols(f"{at:g}") for at in places])
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axes.set_xlabel(symbols(course.x))
    if panel.title:
        axes.set_title(wrapped(panel.title, 34), fontsize=9)


def coincide(panel, scale):
    """Tells whether two lines of a panel lie on each other."""
    values = [{at: middle(one) for at, one in points.numbers.items()} for points in panel.lines]
    if scale == "log":
        values = [{at: math.log(y) if y > 0 else math.nan for at, y in of.items()} for of in values]
    known = [y for of in values for y in of.values() if math.isfinite(y)]
    near = 0.02 * (max(known) - min(known))
    return any(one.keys() == other.keys() and all(abs(one[at] - other[at]) <= near for at in one)
               for one, other in itertools.combinations(values, 2))


def draw(number):
    forms = results.load(number)
    along, rows = figures.panels(number, forms)
    across = min(len(along), 3)
    down = math.ceil(len(along) / 3)
    tall = 2.7 * down + (0.2 if across else 0)
    longest = max((min(LABEL, len(label)) for panel in rows for label in panel.rows), default=0)
    wide = max(4.5 + 0.06 * longest if rows else 4.8, 4.8 if across < 2 else 8.4)
    heights = [0.22 * sum(heights_of(label, of) for label, of in panel.rows.items()) + 0.45 +
               0.15 * len(lines_of(panel.title, TITLE)) for panel in rows]
    names = dict.fromkeys(one.line for panel in along for one in panel.lines)
    kinds = dict.fromkeys(one.style for panel in along for one in panel.lines)
    colours, styles = dict(zip(names, LINES * 2)), dict(zip(kinds, STYLES))
    keys = [*series_keys(colours, styles),
            *explained([one for panel in along for one in panel.numbers], dots=True)]
    row_keys = explained([one for panel in rows for one in panel.numbers], dots=False)
    count = columns(keys, wide)
    sizes = [tall, 0.2 * math.ceil(len(keys) / max(1, count)) + 0.1] if along else []
    sizes += [sum(heights), 0.25] if rows else []
    figure = plt.figure(figsize=(wide, sum(sizes)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08)
    parts = list(figure.subfigures(len(sizes), 1, height_ratios=sizes))
    legend = {"loc": "center", "frameon": False, "fontsize": 8}
    if along:
        grid = list(parts[0].subplots(down, across, squeeze=False).flat)
        for axes, panel in zip(grid, along):
            draw_course(axes, panel, colours, styles)
        for axes in grid[len(along):]:
            axes.set_visible(False)
        if along[0].course.y:
            parts[0].supylabel(wrapped(along[0].course.y, 40), fontsize=9)
        parts[1].legend(handles=keys, ncol=count, **legend)
    if rows:
        grid = parts[-2].subplots(len(rows), 1, squeeze=False,
                                  gridspec_kw={"height_ratios": heights})[:, 0]
        if any([draw_rows(axes, panel) for axes, panel in zip(grid, rows)]):
            row_keys.append(Line2D([], [], color="dimgrey", marker="<", markersize=5,
                                   linestyle="none", label="beyond the axis"))
        parts[-1].legend(handles=row_keys, ncol=len(row_keys), **legend)
    return figure


def series_keys(colours, styles):
    """Returns the legend's entries for the colours and the line styles."""
    keys = [Line2D([], [], color=colour, marker="o", markersize=5, label=symbols(name))
            for name, colour in colours.items() if name]
    return keys + [Line2D([], [], color="grey", linestyle=style, label=symbols(kind))
                   for kind, style in styles.items() if kind]


def columns(keys, wide):
    """Returns the number of legend columns that fit."""
    longest = max((len(one.get_label().replace("$", "")) for one in keys), default=1)
    return max(1, min(len(keys), int(72 * wide / (36 + 4.4 * longest))))


def explained(numbers, dots):
    """Returns the legend's entries for the verdicts that occur and for the bounds."""
    checks = [one for one in numbers if isinstance(one, Check)]
    keys = []
    for verdict, (colour, shape, words) in VERDICTS.items():
        if any(one.holds() is verdict for one in checks):
            if dots:
                keys.append(Line2D([], [], color="dimgrey", marker="o", markersize=5, label=words,
                                   linestyle="none", **FILLS[verdict]))
            else:
                keys.append(Line2D([], [], color=colour, marker=shape, markersize=5, label=words,
                                   linewidth=1.5))
    keys += [Patch(color=BAND, label="within the bounds")] if checks else []
    for shape, words, occurs in (("x", "not a number", math.isnan), ("^", "infinite", math.isinf)):
        if dots and any(occurs(middle(one)) for one in numbers):
            keys.append(Line2D([], [], color="dimgrey", marker=shape, markersize=5, label=words,
                               linestyle="none"))
    return keys


def save(figure, name):
    """Writes a figure with a palette of its colours, which makes its file two thirds smaller."""
    figure.set_dpi(100)
    figure.canvas.draw()
    image = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    image.quantize(palette=palette(), dither=Image.Dither.NONE).save(name, optimize=True)


def palette():
    """Returns an image whose palette has all colours, and their blends with the background."""
    colours = [to_rgb(one) for one in (*LINES, "grey", "dimgrey")]
    shades = [np.array(paper) + (np.array(colour) - paper) * share
              for paper, count in (((1, 1, 1), 12), (to_rgb(BAND), 8))
              for colour in colours for share in np.linspace(0, 1, count)]
    image = Image.new("P", (1, 1))
    image.putpalette(np.rint(255 * np.unique(np.round(shades, 3), axis=0)).astype(np.uint8)
                     .ravel().tolist())
    return image


#: Pixels from one condition of a small picture to the next, and conditions in a line.
STEP, ACROSS = 12, 14


def small(number):
    """Returns a small picture of the verdicts: a mark for each condition, in a block for each part
    that conditions have in the claim. Blue dots hold, red crosses fail, yellow diamonds are
    open."""
    marks = {words: (colour, shape) for (colour, shape, _), words in
             zip(VERDICTS.values(), page.WORDS)}
    blocks = [(name, [words for words, places in said.items() for _ in places])
              for name, said in page.by_part(CLAIMS[number], results.load(number)).items() if said]
    tall = sum(14 + STEP * math.ceil(len(of) / ACROSS) for _, of in blocks)
    image = Image.new("RGB", (ACROSS * STEP + 4, tall + 2), "white")
    canvas, top = ImageDraw.Draw(image), 1
    for name, of in blocks:
        canvas.text((2, top), name.lower(), fill="dimgrey")
        top += 14
        for place, words in enumerate(of):
            x, y = 2 + STEP * (place % ACROSS), top + STEP * (place // ACROSS)
            colour, shape = marks[words]
            if shape == "o":
                canvas.ellipse((x, y, x + 8, y + 8), fill=colour)
            elif shape == "X":
                canvas.line((x, y, x + 8, y + 8), fill=colour, width=2)
                canvas.line((x, y + 8, x + 8, y), fill=colour, width=2)
            else:
                canvas.polygon([(x + 4, y), (x + 8, y + 4), (x + 4, y + 8), (x, y + 4)],
                               fill=colour)
        top += STEP * math.ceil(len(of) / ACROSS)
    return image


def main():
    for number in CLAIMS:
        small(number).save(figures.picture(number, small=True), optimize=True)
    numbers = [int(word) for word in sys.argv[1:]] or \
        [number for number in sorted(CLAIMS) if number not in figures.SHOWN]
    if others := [number for number in numbers if number in figures.SHOWN]:
        sys.exit(f"another script draws the claims {others}: draw_claims.py or draw_kept_claims.py")
    with matplotlib.rc_context({"font.size": 9}):
        for number in numbers:
            if results.load(number):
                figure = draw(number)
                save(figure, figures.picture(number))
                plt.close(figure)


if __name__ == "__main__":
    main()
