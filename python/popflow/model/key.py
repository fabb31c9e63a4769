"""Keys of the cache of models: digests of everything on which a plug-in depends.

A key is found without CasADi. It covers what a model holds, object by object, rather than a list of
attributes that somebody has to keep: an attribute that is added to `Model` belongs to the key.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from .parts import Parts
from .symbols import Symbol

SIMPLE = (type(None), bool, int, float, complex, str, bytes, range, slice)
MOST_INLINE = 256  # bytes of an array that is written among a symbol's other parts
# Attributes of a symbol, except caches.
SLOTS = tuple(name for name in Symbol.__slots__ if name != "args" and not name.startswith("_"))


def key_of(model: Parts, *others: str) -> str:
    """Returns the key of a model's plug-in; `others` are texts on which it depends, too."""
    made = Contents()
    made.add(model)
    made.add([generator(), machine(), *others])
    return made.made.hexdigest()[:32]


class Contents:
    """Digests values with all that they refer to.

    Objects get numbers when they are first met, so that shared objects, and the weights to which a
    rate or a solution belongs, are part of the digest.
    """

    def __init__(self) -> None:
        self.made = hashlib.sha256()
        self.numbers: dict[int, int] = {}  # by the ids of symbols and other objects

    def write(self, *parts: Any) -> None:
        for part in parts:
            text = part if isinstance(part, bytes) else repr(part).encode()
            self.made.update(b"%d:%s" % (len(text), text))

    def add(self, value: Any) -> None:
        if isinstance(value, Symbol):
            self.add_symbol(value)
        elif isinstance(value, SIMPLE):
            self.write((type(value).__name__, value))
        elif isinstance(value, np.generic):
            self.write((type(value).__name__, value.dtype.str), value.tobytes())
        elif isinstance(value, np.memmap):  # the name of a file of samples has its hash
            self.write(("mapped", os.path.basename(str(value.filename)), value.dtype.str,
                        value.shape))
        elif isinstance(value, np.ndarray) and value.dtype != object:
            if self.is_new(value):
                self.write((value.dtype.str, value.shape), value.tobytes())
        elif isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
            parts = list(value) if isinstance(value, (list, tuple)) else \
                list(value.ravel()) if isinstance(value, np.ndarray) else sorted(value, key=repr)
            self.write((type(value).__name__, len(parts), np.shape(value)
                        if isinstance(value, np.ndarray) else ()))
            for part in parts:
                self.add(part)
        elif isinstance(value, dict):
            self.write(("dict", len(value)))
            for name, part in value.items():
                if name == id(part):  # a symbol by its own id, which differs from run to run
                    self.write("itself")
                elif isinstance(name, int) and name in self.numbers:  # the id of a symbol
                    self.write(("of object", self.numbers[name]))
                else:
                    self.add(name)
                self.add(part)
        elif any(kind.__module__.startswith(__package__) for kind in type(value).__mro__):
            if self.is_new(value):
                self.write(type(value).__name__)
                self.add(vars(value))
        else:  # nothing is known of such a value: no other model has this key
            self.write(("unknown", os.urandom(16)))

    def add_symbol(self, root: Symbol) -> None:
        """Adds a symbol after those on which it depends, without recursion."""
        numbers = self.numbers
        found: list[Any] = []
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if id(node) in numbers:
                continue
            missing = [arg for arg in node.args if id(arg) not in numbers]
            if missing:
                waiting.append(node)
                waiting += missing
                continue
            numbers[id(node)] = len(numbers)
            found.append([numbers[id(arg)] for arg in node.args])
            for name in SLOTS:
                value = getattr(node, name)
                if type(value) in SIMPLE or type(value) is tuple and name == "shape":
                    found.append(value)
                elif type(value) is np.ndarray and value.nbytes <= MOST_INLINE \
                        and value.dtype != object:
                    found.append((value.dtype.str, value.shape, value.tobytes()))
                else:
                    found.append([name])
                    self.add(value)
        self.write((found, numbers[id(root)]))

    def is_new(self, value: Any) -> bool:
        """Returns whether an object was not met before, and writes its number."""
        count = len(self.numbers)
        number = self.numbers.setdefault(id(value), count)
        self.write(("object", number))
        return number == count


def generator() -> list[Any]:
    """Returns what turns a model into source: this package's files, and versions of others."""
    folder = Path(__file__).parent
    files = [(str(path.relative_to(folder)), path.read_bytes())
             for path in sorted(folder.rglob("*.py"))]
    return [files, version("casadi"), np.__version__, platform.python_version()]


def version(package: str) -> Any:
    """Returns the version of a package that is installed, without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            return None
        status = os.stat(found.origin)
        return [found.origin, status.st_size, status.st_mtime_ns]


def machine() -> list[str]:
    """Returns the kind of machine and C library for which plug-ins are compiled."""
    return [platform.system(), platform.machine(),
            os.confstr("CS_GNU_LIBC_VERSION") or "" if hasattr(os, "confstr") else ""]
