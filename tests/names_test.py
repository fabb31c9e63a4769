#!/usr/bin/python3
# label: fast
"""Checks that no two headers define classes of one name in one namespace. Otherwise the linker
would silently use the functions of one class (of a vector of them, for example) for the other."""

import collections
import os
import pathlib
import re

ROOT = pathlib.Path(os.environ["POPFLOW_SOURCE_DIR"])
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
TEMPLATE = re.compile(r"template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
# Matches the start of a namespace, a class or another block, or the end of a block.
BRACE = re.compile(r"namespace\s*(?P<space>[\w:]*)\s*\{"
                   r"|\b(?:class|struct|enum)\s+(?:class\s+)?(?P<name>\w+)(?P<rest>[^;{}()=]*)\{"
                   r"|[{}]")


def definitions(text):
    """Yields the full names of classes defined outside functions, classes and unnamed namespaces.
    Specialisations and definitions of nested classes (`struct A::B`) are left out."""
    blocks = []
    for found in BRACE.finditer(TEMPLATE.sub("", COMMENT_OR_TEXT.sub("", text))):
        if found[0] == "}":
            if blocks:
                blocks.pop()
        elif found["space"] is not None:
            blocks.append(found["space"] or None)
        else:
            rest = (found["rest"] or "").lstrip()
            whole = found["name"] and not rest.startswith(("<", "::"))
            if whole and all(blocks):
                yield "::".join([*blocks, found["name"]])
            blocks.append(None)


def clashes(sources):
    """Returns the names that several sources define, each with its paths. `sources` maps paths to
    texts."""
    places = collections.defaultdict(set)
    for path, text in sources.items():
        for name in definitions(text):
            places[name].add(path)
    return {name: sorted(paths) for name, paths in places.items() if len(paths) > 1}


def test_clashes_are_found():
    first = 'namespace a {\n// struct D {\ntemplate <class T> class B : C<T> { struct D {}; };\n}'
    assert list(definitions(first)) == ["a::B"]
    second = "namespace a {\nnamespace { struct E {}; }\nstruct B::D {};\nstruct S<int> {};\nclass B {};\n}"
    assert clashes({"1": first, "2": second}) == {"a::B": ["1", "2"]}


def test_no_class_name_is_defined_twice():
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
               for folder in ("include", "src", "dynamics")
               for path in (ROOT / folder).rglob("*.[ch]pp")}
    assert len(sources) > 400, len(sources)
    assert clashes(sources) == {}, clashes(sources)


test_clashes_are_found()
test_no_class_name_is_defined_twice()
