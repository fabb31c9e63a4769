# label: fast
"""The cache of compiled models: processes at once, broken files, unsafe folders, bad compilers."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import popflow
from popflow import private
from popflow.errors import OutputError
from popflow.model import Model, ModelError, building, compilers, finite

# Replaces the compiler: writes its output in two pieces, so that others may see half of it.
COMPILER = """#!{python}
import sys, time
if "--version" in sys.argv:
    print("a slow compiler")
    sys.exit(0)
with open({calls!r}, "a") as file:
    file.write("called ")
with open(sys.argv[sys.argv.index("-o") + 1], "w") as file:
    for piece in ("half", "half"):
        file.write(piece)
        file.flush()
        time.sleep({seconds})
"""

BUILD = """
from popflow.model import building, compilers
target = building.compiled(compilers.compiler(), "source", "digest", "key")
assert target.read_text() == "halfhalf" and building.built(target) == "digest"
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "popflow" / "models"


def stand_in(tmp_path, monkeypatch, text):
    path = tmp_path / "compiler"
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("POPFLOW_CXX", str(path))
    return path


def counted(tmp_path, monkeypatch, seconds=0.0):
    """A stand-in for the compiler; returns the file to which its calls are written."""
    calls = tmp_path / "calls"
    calls.touch()
    stand_in(tmp_path, monkeypatch,
             COMPILER.format(python=sys.executable, calls=str(calls), seconds=seconds))
    return calls


def test_processes_that_build_at_once_leave_a_complete_library(tmp_path, monkeypatch, cache):
    counted(tmp_path, monkeypatch, seconds=0.3)
    target = cache / "objects" / "key" / "formulas.o"
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(
        [str(Path(building.__file__).parents[2]), *sys.path])}
    builds = []
    for _ in range(3):
        builds.append(subprocess.Popen([sys.executable, "-c", BUILD], env=surroundings,
                                       stderr=subprocess.PIPE, text=True))
        time.sleep(0.1)
    seen = 0
    while any(build.poll() is None for build in builds):
        if building.built(target):  # a reader finds the complete file
            assert target.read_text() == "halfhalf"
            seen += 1
        time.sleep(0.002)
    for build in builds:
        assert build.wait() == 0, build.communicate()[1]
    assert seen > 0
    # No other file is left behind.
    assert sorted(path.name for path in target.parent.iterdir()) == [
        "formulas.cpp", "formulas.hash", "formulas.o"]


def test_a_broken_file_of_the_cache_is_made_again(tmp_path, monkeypatch, cache):
    calls = counted(tmp_path, monkeypatch)

    def made():
        return building.compiled(compilers.compiler(), "source", "digest", "key")
    target = made()
    hashes = target.with_suffix(".hash")
    other_machine = target.read_bytes()[:3] + b"\xb7" + target.read_bytes()[4:]
    breaks = [lambda: target.write_bytes(b""), lambda: target.write_bytes(b"half"),
              lambda: target.write_bytes(other_machine), target.unlink, hashes.unlink,
              lambda: hashes.write_text(""), lambda: hashes.write_text("digest"),
              lambda: hashes.write_bytes(b"\xff\xfe")]
    for number, damage in enumerate(breaks):
        assert made() == target and calls.read_text().count("called") == 1 + number
        damage()
        assert building.built(target) is None
        assert made().read_text() == "halfhalf" and building.built(target) == "digest"


def test_files_reach_the_disk_before_their_names(tmp_path, monkeypatch, cache):
    """A crash of the machine leaves whole files: each is synchronised, then renamed, then its
    folder."""
    order = []
    replace, synchronise = Path.replace, building.synchronise
    monkeypatch.setattr(Path, "replace", lambda one, to: (order.append(("rename", one.name)),
                                                          replace(one, to))[1])
    monkeypatch.setattr(building, "synchronise", lambda one: (order.append(("sync", one.name)),
                                                              synchronise(one)))
    counted(tmp_path, monkeypatch)
    building.compiled(compilers.compiler(), "source", "digest", "key")
    files = ["formulas.cpp", "formulas.o", "formulas.hash"]
    assert order == [*(("sync", name) for name in files), *(("rename", name) for name in files),
                     ("sync", "key")]


# ---- Folders that others can change.


def private_home(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


def test_a_new_folder_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        made = private.private_folder(tmp_path / "new" / "deep" / "cache")
    finally:
        os.umask(before)
    for folder in (made, made.parent, made.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def everybody_writes(home):
    (home / "cache").mkdir()
    (home / "cache").chmod(0o777)
    return home / "cache"


def everybody_writes_to_its_parent(home):
    (home / "cache").mkdir(mode=0o700)
    home.chmod(0o777)
    return home / "cache"


def everybody_makes_files(home):
    """The sticky bit protects what lies in a folder, not the names that it lacks."""
    (home / "cache").mkdir()
    (home / "cache").chmod(0o1777)
    return home / "cache"


def a_link(home):
    (home / "target").mkdir(mode=0o700)
    (home / "cache").symlink_to("target")
    return home / "cache"


def a_link_to_a_place_of_everybody(home):
    (home / "target").mkdir()
    (home / "target" / "cache").mkdir(mode=0o700)
    (home / "target").chmod(0o777)
    (home / "middle").symlink_to("target")
    return home / "middle" / "cache"


def a_file(home):
    (home / "cache").write_text("")
    return home / "cache"


@pytest.mark.parametrize("make, reason", [
    (everybody_writes, "it can be written by everybody"),
    (everybody_writes_to_its_parent, "home can be written by everybody"),
    (everybody_makes_files, "it can be written by everybody"), (a_link, "it is a symbolic link"),
    (a_link_to_a_place_of_everybody, "target can be written by everybody"),
    (a_file, "cannot be used: File exists")])
def test_an_unsafe_folder_is_refused_with_the_reason(tmp_path, make, reason):
    path = make(private_home(tmp_path))
    with pytest.raises(OutputError, match=reason):
        private.private_folder(path)


def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    home = private_home(tmp_path)
    (home / "cache").mkdir(mode=0o700)
    me = os.geteuid()
    if me == 0:
        os.chown(home / "cache", 65534, -1)
        with pytest.raises(OutputError, match="it belongs to nobody, not to root"):
            private.private_folder(home / "cache")
        os.chown(home / "cache", 0, -1)
        os.chown(home, 65534, -1)
        with pytest.raises(OutputError, match="home belongs to nobody"):
            private.private_folder(home / "cache")
    else:
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
        with pytest.raises(OutputError, match="belongs to"):
            private.private_folder(home / "cache")


def test_safe_folders_are_taken_and_closed_to_readers(tmp_path):
    home = private_home(tmp_path)
    home.chmod(0o1777)  # as /tmp
    (home / "real").mkdir(mode=0o700)
    (home / "link").symlink_to(home / "real")  # as ~/.cache on a larger disk
    (home / "real" / "cache").mkdir(mode=0o755)
    made = private.private_folder(home / "link" / "cache")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_the_cache_of_models_and_the_sessions_folder_are_private(tmp_path, monkeypatch, cache):
    counted(tmp_path, monkeypatch)
    target = building.compiled(compilers.compiler(), "source", "digest", "key")
    for folder in (target.parent, target.parents[1], cache):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    cache.chmod(0o777)
    with pytest.raises(ModelError, match="written by everybody; set XDG_CACHE_HOME"):
        building.compiled(compilers.compiler(), "source", "digest", "key")

    import tempfile
    open_to_all = tmp_path / "tmp"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(open_to_all))
    monkeypatch.setattr(sys.modules[popflow.folder.__module__], "_folder", None)
    with pytest.raises(OutputError, match="tmp can be written by everybody; set TMPDIR"):
        popflow.folder()
    open_to_all.chmod(0o1777)
    monkeypatch.setattr(sys.modules[popflow.folder.__module__], "_folder", None)
    first = popflow.folder()
    assert stat.S_IMODE(first.stat().st_mode) == 0o700 and popflow.folder() == first
    first.rmdir()  # as programs that clean /tmp do
    assert popflow.folder() != first and popflow.folder().is_dir()


def test_a_read_only_cache_is_named_before_the_checks(tmp_path, monkeypatch, cache):
    counted(tmp_path, monkeypatch)
    m = Model("tiny", "a model")
    w = m.weights("w", np.ones(2), "w")
    x = m.data(finite(np.eye(2)))
    m.loss((w @ x) ** 2 / 2)
    monkeypatch.setattr(building, "built", lambda path: "digest")  # it was built before
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).startswith(str(cache))
                        and access(path, mode))
    monkeypatch.setattr(Model, "checked", lambda *_: pytest.fail("the checks were run"))
    assert m.build(check=False).hash == "digest"
    with pytest.raises(ModelError, match="models/.* is read-only; set XDG_CACHE_HOME"):
        m.build()


# ---- Compilers that do not compile.


@pytest.mark.parametrize("text, reason", [
    ("#!/bin/sh\nexit 0\n", "is no C\\+\\+ compiler: `--version` has exit code 0"),
    ("#!/bin/sh\necho unknown option >&2; exit 2\n", "is no C\\+\\+ compiler: unknown option"),
    ("#!/no/such/interpreter\n", "does not run: No such file or directory"),
    ("#!/bin/sh\necho a 1.0\n", "made no formulas.o: it is no C\\+\\+ compiler"),
    ("#!/bin/sh\n[ $1 = --version ] && echo a 1.0 || kill -9 $$\n", "was ended by SIGKILL"),
    ("#!/bin/sh\n[ $1 = --version ] && echo a 1.0 || exit 1\n",
     "refused the model's generated source: exit code 1, without a message"),
    ("#!/bin/sh\n[ $1 = --version ] && echo a 1.0 && exit\n"
     "printf 'a.cpp:1: error: no\\377\\n' >&2; exit 1\n",
     "error: no.* \\(the source is .*/formulas.failed.cpp\\)")])
def test_a_bad_compiler_gets_one_sentence(tmp_path, monkeypatch, cache, text, reason):
    stand_in(tmp_path, monkeypatch, text)
    with pytest.raises(ModelError, match=reason) as caught:
        building.compiled(compilers.compiler(), "source", "digest", "key")
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "compiler") in str(caught.value)


def test_the_compiler_of_ziglang_is_the_last_choice(tmp_path, monkeypatch):
    monkeypatch.delenv("POPFLOW_CXX", raising=False)
    zig = tmp_path / "zig"
    monkeypatch.setattr(compilers, "zig_program", lambda: zig)
    monkeypatch.setattr(compilers.importlib.metadata, "version", lambda package: "0.99")
    monkeypatch.setattr(compilers.shutil, "which", lambda name: None)
    found = compilers.compiler()
    assert found.command[:3] == (str(zig), "c++", "-target") and found.is_zig
    assert found.command[3].endswith("-linux-gnu.2.28") and found.command[4] == "-mcpu=baseline"
    assert found.version == "ziglang 0.99"
    for name in ("clang++", "g++"):  # g++ comes first
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\necho {name} 1\n")
        path.chmod(0o755)
        monkeypatch.setattr(compilers.shutil, "which",
                            lambda name: str(p) if (p := tmp_path / name).exists() else None)
        assert compilers.compiler().version == f"{name} 1"
