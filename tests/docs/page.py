"""Runs the commands of a documentation page and compares their output with the page.

Fenced blocks run from top to bottom in one folder: blocks of `sh` in bash, blocks of `python` in
one session. A block of `text` right after such a block shows its output (standard output and error
together). A line `...` stands for any omitted lines. Indented blocks and other languages are not
run. Times, paths, sizes, the number of threads and the last digits of numbers may differ.
Everything else must match, including pictures in the terminal.
"""

import contextlib
import io
import itertools
import os
import re
import subprocess

FENCE = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)

# Characters of terminal pictures, in whose lines blanks count.
PICTURE = re.compile("[\u00b7\u2500-\u28ff]")

# Patterns of text that differs between machines, folders and times.
FREE = [
    (re.compile(r"(?<!\S)/\S+"), "PATH"),
    (re.compile(r"threads \d+"), "threads N"),
    (re.compile(r"wall time +[\d.e-]+ s"), "wall time T"),
    (re.compile(r"[\d.]+ [kM]B"), "SIZE"),
]
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
ROUNDING = 1e-9  # smaller numbers are rounding errors of zeros
TOLERANCE = 1e-3


class OutOfDate(Exception):
    pass


def blocks(path):
    """Yields each block's line number, language, code and shown output (None if it shows none)."""
    with open(path, encoding="utf-8") as page:
        text = page.read()
    for match in FENCE.finditer(text):
        language, code, shown = match.groups()
        if language in ("sh", "python"):
            yield text.count("\n", 0, match.start()) + 2, language, code, shown


def run(path, environment):
    """Runs a page's blocks in the working folder. Returns how many outputs were compared."""
    compared = 0
    session = {"__name__": "__main__"}
    for line, language, code, shown in blocks(path):
        place = f"{os.path.basename(path)}:{line}"
        if language == "sh":
            ended = subprocess.run(["bash", "-eu", "-c", code], env=environment, text=True,
                                   encoding="utf-8", stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
            printed = ended.stdout
            if ended.returncode:
                raise OutOfDate(f"{place}: exit code {ended.returncode}\n{code}{printed}")
        else:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, place, "exec"), session)
            printed = out.getvalue()
        if shown is not None:
            compare(shown, printed, place)
            compared += 1
    return compared


def compare(shown, printed, place="page"):
    """Raises OutOfDate unless the output has the parts between lines `...` in the page's order."""
    words = tokens(printed)
    begin = 0
    for number, piece in enumerate(re.split(r"^ *\.\.\.\n", shown, flags=re.M)):
        wanted = tokens(piece)
        starts = [begin] if number == 0 else range(begin, len(words) - len(wanted) + 1)
        found = next((s for s in starts if same(wanted, words[s:s + len(wanted)])), None)
        if found is None:
            raise OutOfDate(f"{place}: the page shows\n{piece}\nbut what is printed is\n{printed}")
        begin = found + len(wanted)
    if begin < len(words) and not re.search(r"^ *\.\.\.\n\Z", shown, re.M):
        raise OutOfDate(f"{place}: the page does not show the end of\n{printed}")


def tokens(text):
    """Splits a text into words across lines, since the length of paths decides where lines break. A
    line of a picture counts as one word."""
    found = []
    for picture, group in itertools.groupby(text.splitlines(), is_picture):
        lines = list(group)
        found += [line.rstrip() for line in lines] if picture else words(" ".join(lines))
    return found


def is_picture(line):
    return PICTURE.search(line) is not None


def words(text):
    text = " ".join(text.split())
    for pattern, name in FREE:
        text = pattern.sub(name, text)
    return text.split()


def same(wanted, printed):
    return len(wanted) == len(printed) and all(map(alike, wanted, printed))


def alike(a, b):
    """Returns whether two words are equal except for the last digits of their numbers."""
    if a == b:
        return True
    if is_picture(a) or NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    pairs = zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b)))
    return all(abs(x - y) <= TOLERANCE * max(abs(x), abs(y)) or max(abs(x), abs(y)) < ROUNDING
               for x, y in pairs)
