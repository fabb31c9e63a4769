#!/usr/bin/python3
# label: fast
"""Checks the claims of data/experiments/deep-linear-*.cfg as numbers."""

from experiment import check, experiment, near, np
from runs import run_all

STRENGTHS = np.array([4, 2, 1, 0.5])


def sigmoid_starts(run):
    """Returns a_k(0): column k of W_1 plus row k of W_2, orthogonalised against those of stronger
    modes."""
    below, above = run.first("W")
    taken, starts = [], []
    for k in range(len(STRENGTHS)):
        c = below[:, k] + above[k]
        for direction in taken:
            c = c - (direction @ c) * direction
        starts.append(c @ c / 4)
        taken.append(c / np.linalg.norm(c))
    return np.array(starts)


def test_modes_one_by_one():
    run = experiment("deep-linear-modes.cfg")
    half = run["half_time"]
    check(np.allclose(half[:4], [1.98, 3.82, 7.43, 14.03], atol=5e-3), f"half times {half}")
    check(np.all(np.isnan(half[4:])), "modes of strength 0 have no half")
    check(np.allclose(half[:4] * STRENGTHS, [7.9, 7.6, 7.4, 7.0], atol=0.05), "not of order 1/s")
    # Halfway between the half times of two modes the stronger ones are learned and the others are
    # not.
    near(run.first("loss"), np.sum(STRENGTHS ** 2) / 2, 1e-4)
    for k in range(3):
        plateau = np.sum(STRENGTHS[k + 1:] ** 2) / 2
        middle = np.argmin(np.abs(run["time"] - half[k:k + 2].mean()))
        check(0.9 * plateau < run["loss"][middle] < 1.1 * plateau, f"no plateau at {plateau}")
    check(np.max(run["misalignment"]) < 0.026, "modes are mixed")
    near(run.last("loss"), 0, 1e-8)


def test_sigmoids():
    run = experiment("deep-linear-modes.cfg")
    starts = sigmoid_starts(run)
    predicted = np.log(STRENGTHS / starts - 1) / (2 * STRENGTHS)
    check(np.allclose(run["half_time"][:4], predicted, rtol=2e-5), "half times")
    time = run["time"][:, None]
    predicted = STRENGTHS / (1 + (STRENGTHS / starts - 1) * np.exp(-2 * STRENGTHS * time))
    check(np.max(np.abs(run["mode_strength"][:, :4] - predicted)) < 2e-4, "not on the sigmoids")


def test_spectral_start():
    """Sigmoids are exact from a spectral start."""
    run = experiment("deep-linear-modes.cfg", "--start", "spectral", "--rtol", 1e-11)
    exact = np.log(STRENGTHS / 1e-6 - 1) / (2 * STRENGTHS)
    check(np.allclose(run["half_time"][:4], exact, rtol=1e-7), "half times")
    check(np.all(run["misalignment"] == 0), "modes are mixed")


if __name__ == "__main__":
    run_all()
