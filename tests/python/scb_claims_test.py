# label: long
"""The tables of the bigram paper's claims at small sizes: they can be made, and cells that also
belong to the large tables have the numbers of docs/scb-claims.md."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench"))

import scb_claims

import popflow


@pytest.fixture(autouse=True)
def folder(tmp_path):
    popflow.folder(tmp_path)


@pytest.fixture
def rows(capsys):
    """Returns the cells of each line of the tables that a claim prints."""
    def made(claim, **small):
        claim(False, **small)
        lines = capsys.readouterr().out.splitlines()
        return [line.strip("| ").split(" | ") for line in lines
                if line.startswith("| ") and "---" not in line]
    return made


def test_growth(rows):
    found = rows(scb_claims.growth, ends=(50, 400), saves=2001)
    assert found[1][1:4] == ["6.5e-08", "0.0647", "0.0952"]
    assert found[2][1:4] == ["4.08e-09", "0.00186", "0.00268"]
    rests = {row[0]: row[1] for row in found[4:]}
    assert rests == {"0": "no", "default": "no", "1e-05": "424", "3e-05": "150", "0.0001": "46",
                     "0.001": "4", "0.01": "throughout"}


def test_l1(rows):
    head, plain, slow, *staged = rows(scb_claims.l1, cells=((100, 2, (64,), 4, 2),))
    assert [row[3] for row in staged] == ["two stages, l1 = 0", "two stages",
                                          "two stages, l1 = 0.01"]
    # The claim's order: two stages end nearer to Q than plain SGD at its largest learning rate.
    Q = head.index("Q")
    assert float(staged[1][Q].split()[0]) < float(plain[Q].split()[0])
    assert float(slow[4]) == float(staged[0][4]) < float(plain[4])


def test_size(rows):
    noise1, noise2, *_ = rows(scb_claims.size, T=1000, vocabularies=(5,), rates=(0.05, 0.02))[1:]
    assert noise1[:2] == ["noise, N = 5", "1"] and noise2[:2] == ["noise, N = 5", "2"]
    assert float(noise2[8]) < 1e-3 * float(noise1[8])  # column of the excess loss


def test_transfer(rows):
    (_, values) = rows(scb_claims.transfer, T=200, pairs=2, shares=(0,))
    assert values[1] == "0"
    assert float(values[4].split()[0]) < float(values[3].split()[0])


def test_softmax(rows):
    found = rows(scb_claims.softmax, lengths=(50,), runs=2)
    assert [row[1] for row in found] == ["attention", "linear", "softmax", "attention", "linear",
                                         "linear, two stages", "softmax"]
    assert 20 < float(found[2][2]) / float(found[1][2])  # slower by a factor T
