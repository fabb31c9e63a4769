"""The C++ compiler of models: which one, its identity, and one run of it."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import ModelError

# No -march=native and no -ffast-math: plug-ins give the same bits on every machine. CXXFLAGS of the
# environment are ignored for the same reason. popflow/own_runtime.hpp takes the place of the C++
# library: a plug-in is then loaded faster, and ziglang need not compile that library first, which
# takes 100 s of processor.
FLAGS = ("-std=c++20", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC",
         "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-DPOPFLOW_OWN_RUNTIME",
         "-D_LIBCPP_VERBOSE_ABORT(...)=__builtin_abort()")
LINK = ("-shared", "-Wl,--as-needed", "-static-libgcc")
GLIBC = "2.28"  # the oldest C library on which ziglang's plug-ins run
READ = 4_000_000  # bytes of a compiler's program that identify it
# Variables that name folders of headers and programs, and those that change flags.
FOLDERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH",
           "GCC_EXEC_PREFIX")
CHANGING = ("CCC_OVERRIDE_OPTIONS", "CCC_ADD_ARGS", "QA_OVERRIDE_GCC3_OPTIONS", "CXXFLAGS")
INSTALL = ("install g++ 12 or later (on Debian: apt-get install g++), or `pip install "
           "'popflow[model]'`, which brings a compiler")


@dataclass(frozen=True)
class Compiler:
    """A compiler: its command, its version in words, and a digest of its program."""

    command: tuple[str, ...]
    version: str
    identity: str

    @property
    def is_zig(self) -> bool:
        return any(Path(word).name in ("zig", "ziglang") for word in self.command)

    def flags(self) -> tuple[str, ...]:
        return FLAGS + (("-fno-sanitize=all",) if self.is_zig else ())

    def key(self) -> str:
        """Everything about the compiler on which a plug-in depends."""
        return repr((self.command, self.version, self.identity, self.flags(), LINK,
                     [os.environ.get(name) for name in FOLDERS]))

    def compile(self, source: Path, into: Path, caches: Path) -> None:
        """Compiles a source file to an object file."""
        self.run([*self.flags(), "-I", str(headers()), "-c", str(source), "-o", str(into)], caches)

    def link(self, parts: Sequence[Path], into: Path, caches: Path) -> None:
        """Links object files to a shared library."""
        options = ("-shared", "-nostdlib") if self.is_zig else LINK
        self.run([*options, *map(str, parts), "-o", str(into)], caches)

    def run(self, words: Sequence[str], caches: Path) -> None:
        """Runs the compiler. Raises ModelError with its first errors if it fails."""
        surroundings = {name: value for name, value in os.environ.items() if name not in CHANGING}
        surroundings["LC_ALL"] = "C"
        if self.is_zig:
            surroundings["ZIG_GLOBAL_CACHE_DIR"] = surroundings["ZIG_LOCAL_CACHE_DIR"] = \
                str(caches / "zig")
        done = called([*self.command, *words], surroundings)
        name = " ".join(self.command)
        if done.returncode < 0:
            raise ModelError(f"the compiler {name} was ended by "
                             f"{signal.Signals(-done.returncode).name}; it may lack memory")
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            errors = re.findall(r"error: .*", done.stderr) or lines[-3:] or \
                [f"exit code {done.returncode}, without a message"]
            raise ModelError(f"the compiler {name} refused the model's generated source: "
                             + "; ".join(errors[:2]))


def called(command: Sequence[str],
           surroundings: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, text=True,
                              errors="replace", env=surroundings)
    except OSError as problem:
        raise ModelError(f"the compiler {command[0]} does not run: {problem.strerror or problem}; "
                         f"{INSTALL}") from None


def compiler() -> Compiler:
    """Returns the compiler that POPFLOW_CXX names, else g++, clang++, or that of ziglang."""
    wanted = os.environ.get("POPFLOW_CXX")
    if wanted:
        whole = shutil.which(wanted)
        words = [wanted] if whole else shlex.split(wanted)
        found = whole or (shutil.which(words[0]) if words else None)
        if found is None:
            raise ModelError(f"POPFLOW_CXX names {wanted}, which is no program; {INSTALL}")
        return identified((found, *words[1:]))
    found = shutil.which("g++") or shutil.which("clang++")
    if found is not None:
        return identified((found,))
    zig = zig_program()
    if zig is None:
        raise ModelError(f"a model needs a C++ compiler, and there is none; {INSTALL}")
    version = importlib.metadata.version("ziglang")
    return Compiler((str(zig), "c++", "-target", f"{platform.machine()}-linux-gnu.{GLIBC}",
                     "-mcpu=baseline"), f"ziglang {version}", version)


def zig_program() -> Path | None:
    """Returns the program of the package ziglang, or None."""
    found = importlib.util.find_spec("ziglang")
    for folder in (found.submodule_search_locations or []) if found is not None else []:
        if (Path(folder) / "zig").is_file():
            return Path(folder) / "zig"
    return None


def identified(command: tuple[str, ...]) -> Compiler:
    program = os.path.realpath(command[0])
    status = os.stat(program)
    return Compiler(command, *version_and_digest(command, program, status.st_size,
                                                 status.st_mtime_ns))


@functools.cache
def version_and_digest(command: tuple[str, ...], program: str, size: int,
                       _changed: int) -> tuple[str, str]:
    """Returns a compiler's version and a digest of its program, both asked for once."""
    done = called([*command, "--version"])
    version = done.stdout.strip()
    if done.returncode != 0 or not version:
        lines = done.stderr.strip().splitlines() or [f"`--version` has exit code {done.returncode}"]
        raise ModelError(f"{' '.join(command)} is no C++ compiler: {lines[0]}; {INSTALL}")
    with open(program, "rb") as file:
        made = hashlib.sha256(file.read(READ))
    made.update(repr((program, size, version)).encode())
    return version.splitlines()[0], made.hexdigest()


def headers() -> Path:
    """Returns the folder of popflow's headers: in the package, its checkout or its installation."""
    here = Path(__file__).resolve().parent
    places = [here.parent / "include", here.parents[2] / "include"]
    places += [folder / "include" for folder in here.parents[:6]]
    for place in places:
        if (place / "popflow" / "model.hpp").is_file():
            return place
    raise ModelError("popflow's headers were not found beside the package; install it again")


def needed_headers() -> list[Path]:
    """Returns the headers of popflow that generated source includes, directly or not. A package
    that builds models needs these, and no other library's headers."""
    folder = headers()
    waiting, found = ["popflow/model.hpp"], {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = folder / name
            text = found[name].read_text()
            waiting += re.findall(r'^ *# *include *"([^"]+)"', text, re.MULTILINE)
    return [found[name] for name in sorted(found)]


def digest_of_headers() -> str:
    made = hashlib.sha256()
    for path in needed_headers():
        text = path.read_bytes()
        made.update(b"%d:%s" % (len(text), text))
    return made.hexdigest()
