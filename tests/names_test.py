#!/usr/bin/python3
# label: fast
"""No two headers define classes of one name in one namespace: the linker would take the functions of one
for those of the other (vectors of them, for example), and say nothing."""

import collections
import os
import pathlib
import re

ROOT = pathlib.Path(os.environ["POPFLOW_SOURCE_DIR"])
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
TEMPLATE = re.compile(r"template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
# Opens a namespace, a class or another block, or closes one.
BRACE = re.compile(r"namespace\s*(?P<space>[\w:]*)\s*\{"
                   r"|\b(?:class|struct|enum)\s+(?:class\s+)?(?P<name>\w+)(?P<rest>[^;{}()=]*)\{"
                   r"|[{}]")


def definitions(text):
    """The full names of the classes that a source defines outside functions, classes and unnamed
    namespaces, without specialisations of templates and classes that others hold."""
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
    """Names that several sources define, from the sources' texts by their paths."""
    places = collections.defaultdict(set)
    for path, text in sources.items():
        for name in definitions(text):
            places[name].add(path)
    return {name: sorted(paths) for name, paths in places.items() if len(paths) > 1}


def test_finds_what_it_looks_for():
    first = 'namespace a {\n// struct D {\ntemplate <class T> class B : C<T> { struct D {}; };\n}'
    assert list(definitions(first)) == ["a::B"]
    second = "namespace a {\nnamespace { struct E {}; }\nstruct B::D {};\nstruct S<int> {};\nclass B {};\n}"
    assert clashes({"1": first, "2": second}) == {"a::B": ["1", "2"]}


def test_no_name_stands_twice():
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
               for folder in ("include", "src", "dynamics")
               for path in (ROOT / folder).rglob("*.[ch]pp")}
    assert len(sources) > 400, len(sources)
    assert clashes(sources) == {}, clashes(sources)


test_finds_what_it_looks_for()
test_no_name_stands_twice()
