"""Compiles generated source to plug-ins, and caches them."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .errors import ModelError

# No -march=native and no -ffast-math: plug-ins give the same bits on every machine. CXXFLAGS of the
# environment are ignored for the same reason.
FLAGS = ("-std=c++20", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC",
         "-shared", "-fvisibility=hidden")


def compiler() -> str:
    """Returns the compiler that POPFLOW_CXX names, else g++ or clang++."""
    wanted = os.environ.get("POPFLOW_CXX")
    found = shutil.which(wanted) if wanted else shutil.which("g++") or shutil.which("clang++")
    if found is None:
        what = f"POPFLOW_CXX names {wanted}, which is no program" if wanted else \
            "a model needs a C++ compiler, and there is none"
        raise ModelError(f"{what}; install g++ 12 or later (on Debian: apt-get install g++)")
    return found


@functools.cache
def version_of(path: str) -> str:
    done = subprocess.run([path, "--version"], capture_output=True, text=True)
    if done.returncode != 0:
        raise ModelError(f"the compiler {path} does not run: {done.stderr.strip()}")
    return done.stdout.splitlines()[0]


def headers() -> Path:
    """Returns the folder of popflow's headers: in the package, its checkout or its installation."""
    here = Path(__file__).resolve().parent
    places = [here.parent / "include", here.parents[2] / "include"]
    places += [folder / "include" for folder in here.parents[:6]]
    for place in places:
        if (place / "popflow" / "model.hpp").is_file():
            return place
    raise ModelError("popflow's headers were not found beside the package; install it again")


@functools.cache
def digest_of_headers() -> bytes:
    made = hashlib.sha256()
    folder = headers() / "popflow"
    for path in sorted([*folder.glob("math/*.hpp"), folder / "math.hpp", folder / "pack.hpp",
                        folder / "lanes.hpp", folder / "widest.hpp", folder / "model.hpp",
                        folder / "matrices.hpp",
                        folder / "plugin.h"]):
        made.update(path.read_bytes())
    return made.digest()


def cache() -> Path:
    """Returns the folder of compiled models: popflow/models in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "popflow" / "models"


def place_of(digest: bytes, name: str) -> Path:
    """Returns the path of the plug-in of a model with these contents, which need not exist yet."""
    path = compiler()
    whole = hashlib.sha256(b"\0".join([digest, version_of(path).encode(), " ".join(FLAGS).encode(),
                                       digest_of_headers()]))
    return cache() / whole.hexdigest()[:32] / f"{name}.so"


def is_built(target: Path) -> bool:
    """Returns whether a plug-in is in the cache: its library is the last of its files to be
    written."""
    return target.is_file()


def compiled(source: str, target: Path, digest: str) -> Path:
    """Compiles to `target`, and writes the hash of the generated source beside it.

    Safe if several processes do so at once: each writes to a folder of its own and renames whole
    files, the library last."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(prefix="build-", dir=target.parent)
    except OSError as error:
        raise ModelError(f"the cache of models cannot be written: {error}; set XDG_CACHE_HOME to a "
                         "folder that can") from None
    try:
        written = Path(folder) / f"{target.stem}.cpp"
        written.write_text(source)
        library = Path(folder) / target.name
        command = [compiler(), *FLAGS, "-I", str(headers()), str(written), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 or not library.is_file():
            kept = target.with_suffix(".failed.cpp")
            written.replace(kept)
            errors = re.findall(r"error: .*", done.stderr) or done.stderr.splitlines()[-3:]
            raise ModelError(f"the compiler refused the model's generated source {kept}: "
                             + "; ".join(errors[:2]))
        hash_file = Path(folder) / f"{target.stem}.hash"
        hash_file.write_text(digest)
        written.replace(target.with_suffix(".cpp"))
        hash_file.replace(target.with_suffix(".hash"))
        library.replace(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return target
