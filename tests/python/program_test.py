# label: fast
"""Finding and calling the program, with stand-ins for it."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import popflow
from popflow import executable

DESCRIPTION = {
    "name": "toy", "title": "A toy",
    "options": [{"name": "vocab-size", "type": "whole", "default": "1e1", "meaning": "tokens"},
                {"name": "lambda", "type": "number", "default": None, "meaning": "penalty",
                 "default_note": "as small as it can be"}],
    "commands": {"run": {"options": [
        {"name": "mode", "type": "word", "default": "flow", "words": ["flow", "sgd"],
         "meaning": "what moves the state"},
        {"name": "output", "type": "file", "default": None, "meaning": "where to write"},
        {"name": "force", "type": "flag", "default": None, "meaning": "overwrite"}]}}}
DESCRIBES = f"""
    if sys.argv[1:] == ["systems", "--json"]:
        print(json.dumps([{{"name": "toy", "title": "A toy"}}])); sys.exit()
    if sys.argv[1:] == ["systems", "toy", "--json"]:
        print({json.dumps(json.dumps(DESCRIPTION))}); sys.exit()
"""


def test_the_package_has_the_programs_version():
    listing = (Path(__file__).resolve().parents[2] / "CMakeLists.txt").read_text()
    assert f"project(popflow VERSION {popflow.__version__} " in listing


def test_the_environment_variable_names_the_program(stand_in, monkeypatch):
    path = stand_in("")
    assert popflow.program() == str(path)
    monkeypatch.setenv("POPFLOW", "/nowhere/popflow")
    with pytest.raises(popflow.NoProgram, match="POPFLOW names /nowhere/popflow"):
        popflow.program()


def test_the_packages_own_program_precedes_that_in_path(stand_in, monkeypatch, tmp_path):
    path = stand_in("")
    monkeypatch.delenv("POPFLOW")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(executable, "own", lambda: None)
    assert popflow.program() == str(path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(popflow.NoProgram, match="pip install"):
        popflow.program()


def test_another_version_is_refused(stand_in):
    stand_in("", version="0.2.0")
    with pytest.raises(popflow.NoProgram, match="is version 0.2.0, this package 0.1"):
        popflow.program()


def test_signatures_come_from_the_program(stand_in):
    stand_in(DESCRIBES)
    run = popflow.systems.__class__().toy.run
    parameters = inspect.signature(run).parameters
    assert list(parameters) == ["output", "problem", "show", "vocab_size", "lambda_", "mode",
                                "force"]
    assert parameters["vocab_size"].default == 10 and parameters["vocab_size"].annotation is int
    assert parameters["lambda_"].default is None and parameters["force"].default is False
    assert run.__doc__.startswith("A toy.")
    assert "mode : flow|sgd, default flow\n    what moves the state" in run.__doc__
    assert "lambda_ : number, default as small as it can be" in run.__doc__


def test_a_progress_bar_is_drawn(stand_in, tmp_path, capsys):
    pytest.importorskip("tqdm")
    stand_in(DESCRIBES + """
    assert sys.argv[-2:] == ["--progress", "json"], sys.argv
    for done in (0.25, 0.7):
        state = {"done": done, "seconds_left": 3805.4, "text": f"t = {done}"}
        print(json.dumps(state), file=sys.stderr)
    print("{this is no progress", file=sys.stderr)
    print("warning: a wild one", file=sys.stderr)
    """)
    with pytest.warns(UserWarning, match="a wild one"):
        executable.work(["run"], tmp_path / "x.h5", show=True)
    drawn = capsys.readouterr().err
    assert " 25%" in drawn and "100%" in drawn and "t = 0.25, 1:03:25 left" in drawn
    with pytest.warns(UserWarning):
        executable.work(["run"], tmp_path / "x.h5", show=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("code, kind", [
    (1, popflow.Error), (2, popflow.UsageError), (3, popflow.InputError), (4, popflow.Diverged),
    (5, popflow.OutputError), (6, popflow.LimitReached), (130, popflow.Interrupted)])
def test_exit_codes_are_exceptions(stand_in, tmp_path, code, kind):
    stand_in(f"""
    print("signals grow", file=sys.stderr)
    print("popflow: error: so it ends\\n  in two lines", file=sys.stderr)
    sys.exit({code})
    """)
    (tmp_path / "x.h5").touch()
    with pytest.raises(kind) as ended:
        executable.work(["run"], tmp_path / "x.h5")
    assert type(ended.value) is kind
    assert str(ended.value) == "so it ends\n  in two lines"
    assert ended.value.path == tmp_path / "x.h5"


@pytest.mark.parametrize("said, sentence", [
    ("popflow: error: so it ends", "so it ends"),
    ("warning: signals grow\nown-system: error: so it ends", "so it ends"),
    ("own system: error: the solver: error: no root", "the solver: error: no root"),
    ("ranks: error: one\nranks: error: two\n", "two"),
    ("note\nwarning: one\nwarning: signals grow\n", "signals grow"),
    (" killed \n", "killed")])
def test_the_sentence_of_an_error(said, sentence):
    """The sentence is that of the last error, under any name of the program."""
    assert executable.sentence(said) == sentence


VERIFIED = {
    "system": "toy", "holds": False, "table": "  check  measured\n  slope  0.5\n\n", "checks": [
        {"name": "slope", "verdict": "fails", "measured": 0.5, "allowed": 1e-6, "at_least": False,
         "note": "off"},
        {"name": "file", "verdict": "skipped", "measured": None, "allowed": None,
         "at_least": False, "note": "none"}]}


def test_a_failed_check_is_a_result(stand_in):
    stand_in(f"""
    assert sys.argv[1:5] == ["verify", "toy", "--seed", "3"] and "--json" in sys.argv, sys.argv
    print({json.dumps(json.dumps(VERIFIED))})
    print("warning: toy fails a check of its declarations", file=sys.stderr)
    sys.exit(1)
    """)
    with pytest.warns(UserWarning, match="toy fails a check") as warned:
        found = popflow.verify("toy", seed=3)
    assert warned[0].filename == __file__
    assert not found and not found.holds
    assert found.checks.check[found.checks.verdict == "fails"].values.tolist() == ["slope"]
    assert np.isnan(found.checks.measured.sel(check="file"))
    assert repr(found) == "  check  measured\n  slope  0.5"


def test_an_unfinished_verification_is_an_error(stand_in):
    stand_in("""
    print("popflow: error: internal error: lost", file=sys.stderr)
    sys.exit(1)
    """)
    with pytest.raises(popflow.Error, match="internal error: lost"):
        popflow.verify("toy")


def test_a_killed_program_is_an_error(stand_in, tmp_path):
    stand_in("""
    import os
    os.kill(os.getpid(), 9)
    """)
    with pytest.raises(popflow.Error, match="SIGKILL") as ended:
        executable.work(["run"], tmp_path / "x.h5")
    assert ended.value.path is None


def test_an_interrupt_ends_the_program(stand_in, tmp_path, monkeypatch):
    """An interrupt also stops the following calls."""
    stand_in("""
    import signal
    # Blocked, the signal waits to be waited for, however soon it comes.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    print("ready", file=sys.stderr, flush=True)
    signal.sigwait([signal.SIGINT])
    """)
    heard = executable.listen

    def listen(child, *_):
        child.stderr.readline()
        monkeypatch.setattr(executable, "listen", heard)
        raise KeyboardInterrupt

    monkeypatch.setattr(executable, "listen", listen)
    with pytest.raises(popflow.Interrupted):
        executable.work(["run"], tmp_path / "x.h5")


@pytest.mark.parametrize("package", ["lib/python3.12/site-packages", "lib/python3/dist-packages",
                                     "share/popflow/python", ""])
def test_an_installed_package_finds_the_program_of_its_prefix(tmp_path, monkeypatch, package):
    prefix = tmp_path / "pre fix"
    (prefix / "bin").mkdir(parents=True)
    monkeypatch.setattr(executable, "__file__",
                        str(prefix / package / "popflow" / "executable.py"))
    (prefix / "bin" / "popflow").write_text("#!/bin/sh\n")  # a script is not the program
    assert executable.own() is None
    (prefix / "bin" / "popflow").write_bytes(b"\x7fELF")
    assert executable.own() == str(prefix / "bin" / "popflow")
