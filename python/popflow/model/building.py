"""Compiles generated source to plug-ins, and caches them.

The cache has a folder for each key (key.py) with the library, its source, and a file `.hash`: the
hash of the generated source, and that of the library's bytes. Compiled formulas lie in `objects`,
by all that reaches the compiler: plug-ins that differ in their description share them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..errors import OutputError
from ..private import private_folder
from .compilers import Compiler
from .errors import ModelError

ADVICE = "set XDG_CACHE_HOME to a folder that is yours and can be written"


def cache() -> Path:
    """Returns the folder of compiled models: popflow/models in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "popflow" / "models"


def own(folder: Path) -> Path:
    """Returns a folder of the cache. Refuses one that others can change: its code would run."""
    try:
        return private_folder(folder)
    except OutputError as problem:
        raise ModelError(f"the cache of models cannot be used: {problem}; {ADVICE}") from None


def folder_of(*keys: str) -> Path:
    """Returns the folder of the cache for a key."""
    folder = own(cache())
    for key in keys:
        folder = own(folder / key)
    return folder


def require_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ModelError(f"the cache of models cannot be written: {folder} is read-only; {ADVICE}, "
                         "or build(check=False) a model that is in the cache")


def built(target: Path) -> str | None:
    """Returns the hash of the source of a file in the cache; None if the file is not there or not
    whole. Files are written before their hash, so that a file with its hash is complete."""
    try:
        digest, of_file = target.with_suffix(".hash").read_text().split()
        return digest if hash_of(target) == of_file else None
    except (OSError, ValueError):
        return None


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest_of(*texts: str) -> str:
    made = hashlib.sha256()
    for text in texts:
        made.update(b"%d:" % len(text) + text.encode())
    return made.hexdigest()[:32]


def written(target: Path, digest: str, make: Callable[[Path], list[Path]]) -> None:
    """Fills a file of the cache. `make` writes a file of the same name, and others, to a folder,
    and returns the others.

    Safe if several processes do so at once, and if the machine crashes: each writes to a folder of
    its own and renames whole files, the hash last."""
    require_writable(target.parent)
    folder = Path(tempfile.mkdtemp(prefix="build-", dir=target.parent))
    try:
        others = make(folder)
        new = folder / target.name
        hashes = folder / target.with_suffix(".hash").name
        hashes.write_text(f"{digest}\n{hash_of(new)}\n")
        for path in (*others, new, hashes):
            synchronise(path)
        for path in (*others, new, hashes):
            path.replace(target.parent / path.name)
        synchronise(target.parent)
    except OSError as error:
        raise ModelError(f"the cache of models cannot be written: {error}; {ADVICE}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def synchronise(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def compiled(compiler: Compiler, source: str, digest: str, key: str, anew: bool = False) -> Path:
    """Returns the object file of a model's formulas: compiled, or from the cache by its key."""
    target = folder_of("objects", key) / "formulas.o"
    if not anew and built(target) is not None:
        return target

    def make(folder: Path) -> list[Path]:
        text, new = folder / "formulas.cpp", folder / target.name
        text.write_text(source)
        try:
            compiler.compile(text, new, cache())
            require_made(compiler, new)
        except ModelError as error:
            kept = text.replace(target.with_suffix(".failed.cpp"))
            raise ModelError(f"{error} (the source is {kept})") from None
        return [text]

    written(target, digest, make)
    return target


def linked(compiler: Compiler, target: Path, formulas: Path, description: str,
           digest: str) -> None:
    """Makes a plug-in of its formulas and the source of its description."""
    def make(folder: Path) -> list[Path]:
        text, new = folder / f"{target.stem}-description.cpp", folder / target.name
        text.write_text(description)
        source = folder / f"{target.stem}.cpp"
        shutil.copyfile(formulas.with_suffix(".cpp"), source)
        part = folder / "description.o"
        compiler.compile(text, part, cache())
        compiler.link([formulas, part], new, cache())
        part.unlink()
        require_made(compiler, new)
        return [text, source]

    written(target, digest, make)


def require_made(compiler: Compiler, path: Path) -> None:
    if not path.is_file():
        raise ModelError(f"the compiler {' '.join(compiler.command)} made no {path.name}: it is no "
                         "C++ compiler")
