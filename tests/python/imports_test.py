# label: fast
"""No modules of the package import each other in a circle, not even within functions."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "popflow"


def modules():
    """Returns the package's modules, and those that each one imports by name."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ("popflow", *path.relative_to(PACKAGE).with_suffix("").parts)
        names[parts[:-1] if parts[-1] == "__init__" else parts] = path
    found = {}
    for name, path in names.items():
        package = name if path.stem == "__init__" else name[:-1]
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            targets = []
            if isinstance(node, ast.ImportFrom):
                base = package[:len(package) - node.level + 1] if node.level else ()
                base += tuple((node.module or "").split(".")) if node.module else ()
                targets = [(*base, one.name) for one in node.names]
                targets = [one if one in names else one[:-1] for one in targets]
            elif isinstance(node, ast.Import):
                targets = [tuple(one.name.split(".")) for one in node.names]
            found[name] |= {one for one in targets if one in names} - {name}
    return found


def circle(imports):
    """Returns modules that import each other in a circle, or none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):]
        if name in done:
            return []
        path.append(name)
        for other in sorted(imports[name]):
            if around := visit(other):
                return around
        path.pop()
        done.add(name)
        return []

    for name in sorted(imports):
        if around := visit(name):
            return around
    return []


def test_no_modules_import_each_other_in_a_circle():
    imports = modules()
    assert len(imports) > 50 and sum(map(len, imports.values())) > 100
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c"]
    assert not circle(imports), " -> ".join(".".join(one) for one in circle(imports))
