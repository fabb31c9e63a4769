#!/usr/bin/python3
"""Gathers the sources of the site: the Markdown of the checkout, and the pages of this folder.

    docs/site/prepare.py FOLDER      scripts/docs calls it

A page of the site has one source, which stays where it is. Long pages are split at their headings
of the second level. Links between files become links between pages. Lines `@part arguments` in the
pages of this folder are replaced by what `PARTS` makes: tables, drawings, pictures.
"""

import inspect
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import drawings
import gallery

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
WORK = ROOT / "build" / "site-work" / "gallery"
FENCE = re.compile(r"^ *(```+|:::+|~~~+)")
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))|(?<=<img src=\")([^\"]+)(?=\")")
#: Files whose sections of the second level are pages of their own.
SPLIT = {"docs/tutorial.md", "docs/guide.md", "reference.md"}
#: Pages from elsewhere than docs/ and docs/site/.
OTHERS = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog", "SECURITY.md": "security",
          "dynamics/README.md": "add-a-system", "src/README.md": "sources",
          "packaging/README.md": "packaging"}
#: Pages of docs/ below which others stand.
BELOW = {"claims": ("claims/*", "scb-claims")}


def slug(heading):
    """Returns the anchor of a heading, as hosts of Markdown and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def plain(text):
    """Returns a text whose characters mean nothing to Markdown."""
    return re.sub(r"([\\|*_<\[\]$])", r"\\\1", text)


def toctree(option, names):
    return ["", "```{toctree}", option, ":glob:", "", *(f"/{name}" for name in names), "```"]


@dataclass
class Page:
    name: str                                       # path without suffix, from the site's root
    source: Path                                    # the file whose links it has
    lines: list[str]
    anchors: list[str] = field(default_factory=list)


def headings(lines):
    """Yields the number, level and text of each heading outside of code."""
    inside = None
    for number, line in enumerate(lines):
        if fence := FENCE.match(line):
            mark = fence[1][0] * 3
            inside = None if inside == mark else inside or mark
        elif inside is None and (found := re.match(r"(#+) (.*)", line)):
            yield number, len(found[1]), found[2]


def pages_of(name, source, text, split):
    """Returns the pages of a file. If it is split, the first one lists the others."""
    lines = text.splitlines()
    cuts = [number for number, level, _ in headings(lines) if level == 2] if split else []
    parts = [lines[a:b] for a, b in zip([0, *cuts], [*cuts, len(lines)])]
    pages = [Page(name, source, parts[0])]
    for part in parts[1:]:
        for number, _, _ in headings(part):
            part[number] = part[number][1:]
        title = part[0][2:]
        short = re.match(r"`([\w-]+)`: ", title)  # the reference of a system
        pages.append(Page(f"{name}/{short[1] if short else slug(title)}", source, part))
    for page in pages:
        page.anchors = [slug(text) for _, _, text in headings(page.lines)]
    if split:
        pages[0].lines += toctree(":maxdepth: 1", [page.name for page in pages[1:]])
    below = [one for one in BELOW.get(name, ()) if list((ROOT / "docs").glob(f"{one}.md"))]
    if below:
        pages[0].lines += toctree(":hidden:", below)
    return pages


def gather(reference):
    """Returns the pages of each source file, by its path."""
    found = {}
    for path in sorted(ROOT.glob("docs/**/*.md")):
        base = SITE if path.is_relative_to(SITE) else ROOT / "docs"
        found[path] = str(path.relative_to(base).with_suffix(""))
    found |= {ROOT / name: page for name, page in OTHERS.items()}
    pages = {path: pages_of(name, path, path.read_text(encoding="utf-8"),
                            str(path.relative_to(ROOT)) in SPLIT) for path, name in found.items()}
    pages[ROOT / "reference.md"] = pages_of("commands", ROOT / "reference.md",
                                            reference.read_text(encoding="utf-8"), True)
    return pages


class Links:
    """Turns links between files into links between pages."""

    def __init__(self, pages, folder):
        self.pages, self.folder = pages, folder

    def of(self, page, target):
        """Returns the link of a page, or None if the site does not have what it leads to."""
        if re.match(r"\w+:|/", target):
            return target
        name, _, anchor = target.partition("#")
        path = Path(os.path.normpath(page.source.parent / name)) if name else page.source
        if path == ROOT / "README.md":
            return self.to(page, "index.md")
        if path in self.pages:
            there = self.pages[path]
            one = next((one for one in there if anchor in one.anchors), there[0])
            if anchor and anchor != one.anchors[0] or one is page and anchor:
                return f"{self.to(page, one.name + '.md')}#{anchor}"
            return self.to(page, one.name + ".md")
        if path.is_file() and path.suffix != ".md":
            copy = self.folder / "files" / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
            return self.to(page, str(copy.relative_to(self.folder)))
        return None

    @staticmethod
    def to(page, target):
        return os.path.relpath(target, os.path.dirname(page.name))

    def rewritten(self, page):
        """Yields the lines of a page with its links and parts."""
        inside = None
        for line in page.lines:
            if found := re.match(r"@(\w+) (.*)", line):
                yield from self.part(page, found[1], found[2])
                continue
            if fence := FENCE.match(line):
                mark = fence[1][0] * 3
                inside = None if inside == mark else inside or mark
            yield line if inside in ("```", "~~~") else self.line(page, line)

    def part(self, page, kind, about):
        """Returns the lines that stand for `@kind about`."""
        source, lines = PARTS[kind](about, self.folder)
        return self.rewritten(Page(page.name, source, lines))

    def line(self, page, line):
        def one(found):
            return self.of(page, found[0]) or f"missing:{found[0]}"
        line = LINK.sub(one, line)
        # Folders, and Markdown outside of the site, are no pages: their links become plain text.
        return re.sub(r"(?<!!)\[([^\]]*)\]\(missing:[^)]*\)", r"\1", line)


def section(about, _):
    """The section of a page, `FILE HEADING`, without its heading."""
    name, heading = about.split(" ", 1)
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [(number, level) for number, level, text in headings(lines) if text == heading]
    if not found:
        raise SystemExit(f"docs: {name} has no heading '{heading}'.")
    begin, level = found[0]
    end = next((number for number, other, _ in headings(lines)
                if number > begin and other <= level), len(lines))
    part = lines[begin + 1:end]
    for number, _, _ in headings(part):
        part[number] = part[number][level - 1:]
    return ROOT / name, part


def experiments(system, _):
    """A table of the system's configurations, with the first sentence of each claim."""
    lines = ["## Experiments", "", "| configuration | what it shows |", "| --- | --- |"]
    for path in sorted((ROOT / "data" / "experiments").glob("*.cfg")):
        text = path.read_text(encoding="utf-8")
        if not re.search(rf"^system = {system}$", text, re.M):
            continue
        said = " ".join(line[2:] for line in text.splitlines() if line.startswith("# "))
        said = re.search(r"Claim[^:]*: (.*?[.])( [A-Z]|$)", said)[1]
        said = plain(said[0].upper() + said[1:])
        lines.append(f"| [{path.stem}](data/experiments/{path.name}) | {said} |")
    lines += ["", "`popflow experiments NAME` prints a configuration; its first line is the "
              "command that runs it."]
    return ROOT / "README.md", lines


def claims_of(system, _):
    """A list of the claims about the system's paper."""
    from claims import CLAIMS, papers
    paper = {"scb": papers.BIGRAM, "joma": papers.JOMA, "joma-joint": papers.JOMA,
             "markov": papers.MARKOV, "topic": papers.TOPIC}[system]
    lines = ["## Claims", "", "Each claim of the paper is tested; its page has the verdict.", ""]
    lines += [f"- [{number}. {plain(claim.says)}](claims/{number:02}.md)"
              for number, claim in sorted(CLAIMS.items()) if claim.paper == paper]
    return ROOT / "docs" / "claims.md", lines


def drawing(system, _):
    """The architecture of a system, as a drawing in the page's colours."""
    return SITE / "drawings.py", ["```{raw} html", drawings.svg(system), "```"]


def cards(system, folder):
    """The cards of a system, or `all`."""
    lines = ["## Pictures", ""] if system != "all" else []
    chosen = [card for card in gallery.CARDS if system in ("all", *card.systems)]
    return SITE / "gallery.py", [*lines, *gallery.markdown(chosen, WORK, folder)]


def headers(_, __):
    """The public headers, each with its first comment and its text."""
    lines = []
    for path in sorted((ROOT / "include" / "popflow").rglob("*.h*")):
        text = path.read_text(encoding="utf-8")
        first = re.search(r"(?:^/// .*\n)+", text, re.M)
        said = " ".join(line[4:] for line in first[0].splitlines()) if first else ""
        said = re.split(r"(?<=[.]) (?=[A-Z])", said)[0]
        lines += [f"## `popflow/{path.relative_to(ROOT / 'include' / 'popflow')}`", "",
                  plain(said), "",
                  ":::{dropdown} The header", "```cpp", text.rstrip(), "```", ":::", ""]
    return ROOT / "README.md", lines


def functions(_, __):
    """The functions and classes of the Python package, with their signatures and documentation."""
    import popflow
    lines = []
    for name in sorted(popflow.__all__):
        thing = getattr(popflow, name)
        if callable(thing) and thing.__doc__:
            try:
                head = f"popflow.{name}{inspect.signature(thing)}"
            except ValueError:
                head = f"popflow.{name}"
            lines += [f"## `{name}`", "", "```python", head, "```", "",
                      "```text", inspect.getdoc(thing), "```", ""]
    return ROOT / "README.md", lines


#: What stands for a line `@part about` in the pages of this folder.
PARTS = {"section": section, "experiments": experiments, "claims": claims_of, "drawing": drawing,
         "gallery": cards, "headers": headers, "functions": functions}


def notebook(path):
    """Returns the tutorial as a notebook: commands are cells, and running them makes the output."""
    cells, kind, lines = [], "markdown", []

    def close():
        text = "\n".join(lines).strip("\n")
        if text and kind != "text":
            cell = {"cell_type": "markdown" if kind == "markdown" else "code", "metadata": {},
                    "id": f"cell-{len(cells)}", "source": text}
            if kind != "markdown":
                cell |= {"outputs": [], "execution_count": None,
                         "source": ("%%bash\n" if kind == "sh" else "") + text}
            cells.append(cell)
        lines.clear()

    for line in path.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"```(sh|python|text)$", line):
            close()
            kind = found[1]
        elif line == "```":
            close()
            kind = "markdown"
        else:
            lines.append(line)
    close()
    return {"cells": cells, "metadata": {"kernelspec": {"name": "python3", "language": "python",
                                                        "display_name": "Python 3"}},
            "nbformat": 4, "nbformat_minor": 5}


def replace(old, new):
    """Puts a folder in the place of another. Files that are the same keep their time, by which
    Sphinx knows what it need not read again."""
    for path in new.rglob("*"):
        before = old / path.relative_to(new)
        if path.is_file() and before.is_file() and path.read_bytes() == before.read_bytes():
            shutil.copystat(before, path)
    shutil.rmtree(old, ignore_errors=True)
    new.rename(old)


def main():
    there, reference = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    folder = there.with_name(f"{there.name}.new")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages = gather(reference)
    links = Links(pages, folder)
    for page in (page for those in pages.values() for page in those):
        path = folder / f"{page.name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(links.rewritten(page)) + "\n", encoding="utf-8")
    book = notebook(ROOT / "docs" / "tutorial.md")
    tutorial = Page("tutorial-notebook", ROOT / "docs" / "tutorial.md", [])
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = "\n".join(links.line(tutorial, line)
                                       for line in cell["source"].splitlines())
    (folder / "tutorial-notebook.ipynb").write_text(json.dumps(book, indent=1))
    for name in ("static", "references.bib"):
        path = SITE / name
        (shutil.copytree if path.is_dir() else shutil.copy)(path, folder / name)
    replace(there, folder)


if __name__ == "__main__":
    main()
