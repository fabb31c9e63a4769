#!/usr/bin/python3
# label: fast
"""Checks that links between the pages lead to existing files and headings."""

import os
import re

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.M | re.S)


def pages():
    for folder, inside, names in os.walk(SOURCE):
        inside[:] = [name for name in inside if name[0] != "." and not name.startswith("build")]
        yield from (os.path.join(folder, name) for name in names if name.endswith(".md"))


def text(path):
    with open(path, encoding="utf-8") as page:
        return CODE.sub("", page.read())


def anchors(path):
    """Returns the names that GitHub and most other hosts give to headings."""
    headings = re.findall(r"^#+ (.*)$", text(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page):
    for link in LINK.findall(text(page)):
        if re.match(r"\w+:", link):
            continue  # a link to a website
        name, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
        if not os.path.exists(target):
            yield f"{os.path.relpath(page, SOURCE)}: {link}: no such file"
        elif anchor and anchor not in anchors(target):
            yield f"{os.path.relpath(page, SOURCE)}: {link}: no such heading"


def main():
    found = list(pages())
    assert len(found) > 10, found
    wrong = [sentence for page in found for sentence in broken(page)]
    assert not wrong, "\n".join(wrong)


main()
