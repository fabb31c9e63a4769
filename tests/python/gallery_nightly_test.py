# label: nightly
"""The models of examples/models, without the switches of gallery_test.py, agree with their exact
results."""

import sys
from pathlib import Path

import pytest
from model_support import need_casadi

need_casadi()

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "models"))

import gallery  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")


def test_the_gallery_holds(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gallery.py"])
    failed = gallery.main()
    assert not failed, capsys.readouterr().out
