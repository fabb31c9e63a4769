"""Labels of axes and curves: symbols and meanings from the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import xarray

from .symbols import is_symbol, mathematics, prose

WIDTH = 42  # characters across a panel
BESIDE_BAR = 31  # characters above a panel with a colour bar
KEY = 40  # characters beside a line of the panel's key
MADE = re.compile(r"((?:median_)?time_of|fraction_of)_(.+)")  # names that sweeps derive from events

MADE_IN_WORDS = {"time_of": "time of the event: ", "median_time_of": "median time of the event: ",
                 "fraction_of": "fraction of the runs: "}


def symbol(data: xarray.Dataset, name: str) -> str:
    """Returns the variable's symbol, or its name in words if it has no symbol."""
    own = data[name].attrs.get("symbol", "") if name in data.variables else ""
    if name == "time" or "time_of_" in name:
        return "$t$"
    if name.startswith("fraction_of_"):
        return "fraction"
    return mathematics(own) if own and (own != name or len(own) == 1) else name.replace("_", " ")


def both(data: xarray.Dataset, name: str) -> str:
    """Returns meaning and symbol, or the meaning alone if there is no symbol."""
    own = symbol(data, name)
    return f"{meaning(data, name)}, {own}" if own.startswith("$") else meaning(data, name)


def meaning(data: xarray.Dataset, name: str) -> str:
    """Returns the meaning in a few words: the first part of the file's long_name."""
    if made := MADE.match(name):
        return MADE_IN_WORDS[made[1]] + spoken(made[2])
    return prose(parts_of_meaning(data, name)[0]) or name.replace("_", " ")


def parts_of_meaning(data: xarray.Dataset, name: str) -> list[str]:
    """Returns the parts of the file's long_name, without what stands in brackets."""
    text = data[name].attrs.get("long_name", "") if name in data.variables else ""
    text = re.sub(r" \([^()]*[a-z]{3}[^()]*\)", "", text)  # first: brackets may hold semicolons
    return re.split("[;:] *", text)


def own_meaning(data: xarray.Dataset, name: str) -> str:
    """Returns the meaning; if other variables have the same first part, its beginning and the
    second part."""
    first, *more = parts_of_meaning(data, name)
    others = [parts_of_meaning(data, str(other))[0] for other in data.data_vars if other != name]
    if not first or not more or first not in others:
        return meaning(data, name)
    start = first.split(",")[0]
    first = first if start in others and start != first else start
    if " " not in start and not is_symbol(start):  # the name of a variable
        first = first.replace("_", " ")
    return prose(f"{first}, {more[0]}")


def spoken(name: str) -> str:
    """Returns the name of an event in words: "stage 1 end" of stage1_end."""
    return re.sub(r"([a-z])(\d)", r"\1 \2", name.replace("_", " "))


def told_apart(data: xarray.Dataset, names: Sequence[str]) -> list[str]:
    """Returns the labels of a panel's curves: names alone if three or more labels would be long."""
    found = [both(data, name) for name in names]
    alike = len({meaning(data, name) for name in names}) < len(names)
    if not alike and (len(names) < 3 or all("\n" not in wrapped(text, KEY) for text in found)):
        return found
    return [f"{name.replace('_', ' ')}, {symbol(data, name)}" for name in names]


def number(value: float, digits: int = 4) -> str:
    """Returns a number as text for a figure."""
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text.replace("-", "$-$")
    mantissa, power = text.split("e")
    return (f"$10^{{{int(power)}}}$" if mantissa == "1" else
            rf"${mantissa} \times 10^{{{int(power)}}}$")


def axis(data: xarray.Dataset, name: str, width: int = 38) -> str:
    """Returns a label with meaning and symbol, wrapped to the length of the axis."""
    return wrapped(both(data, name), width)


def upright(data: xarray.Dataset, name: str) -> str:
    """Returns the label of a vertical axis, which is shorter."""
    return axis(data, name, 26)


def wrapped(text: str, width: int = WIDTH) -> str:
    """Wraps text to a width; formulas stay whole, and a value stays beside its name."""
    held = re.sub(r"\$[^$]*\$", lambda found: found[0].replace(" ", "\0"), text)
    held = re.sub(r" = (?=\S)", "\0=\0", held)
    lines: list[str] = [""]
    for word in held.split(" "):
        if lines[-1] and seen(lines[-1]) + seen(word) + 1 > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines).replace("\0", " ")


def seen(text: str) -> int:
    """Returns about how many characters are visible; commands and braces of formulas are not."""
    return len(re.sub(r"\\(mathrm|mathbf|bar)|\\[A-Za-z]+(?=\W)|[{}$^_\\\0]", "",
                      re.sub(r"\\(?!mathrm|mathbf|bar)[A-Za-z]+", "x", text)))


def heading(axes: Any, text: str, width: int = WIDTH) -> None:
    """Sets a title at the left, wrapped to the panel's width."""
    columns = len(axes.get_subplotspec().colspan)
    axes.set_title(wrapped(text, columns * width), loc="left")


def key(axes: Any) -> None:
    """Draws the panel's key above the panel; short names stand side by side."""
    found, names = axes.get_legend_handles_labels()
    if found:
        longest = max(map(seen, names)) + 7
        axes.legend(found, [wrapped(name, KEY) for name in names], loc="lower left",
                    bbox_to_anchor=(0, 1.01), ncol=max(1, (KEY + 7) // longest),
                    borderpad=0)


def key_of_page(axes: Any, handles: Any = None) -> None:
    """Moves the panel's key to the page, for panels that share it."""
    more = axes.get_legend_handles_labels()[0] if handles is None else handles
    axes.key_of_page = [*getattr(axes, "key_of_page", []), *more]
