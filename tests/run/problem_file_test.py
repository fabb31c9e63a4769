#!/usr/bin/python3
# label: fast
"""A nearly correct problem file is refused with its probable error."""

import os

from runs import Folder, check, h5py, np, popflow, run_all


def refusal(folder, **datasets):
    """Returns the error of `run scb` on a problem file; None if the file is accepted."""
    path = os.path.join(folder, "problem.h5")
    with h5py.File(path, "w") as file:
        for name, values in datasets.items():
            file[name] = values
    ended = popflow("run", "scb", "--problem", path, "--t-end", 1, "--dry-run", folder=folder)
    check(ended.code in (0, 3), ended.err)
    return " ".join(ended.err.split()) if ended.code else None


def problem(tokens=5, length=7):
    random = np.random.default_rng(1)
    P = random.random((tokens, tokens)) + 0.1
    Q = np.zeros((length, tokens))
    Q[np.arange(tokens), np.arange(tokens)] = 1
    return {"P": P / P.sum(axis=0), "Q": Q}


def test_single_precision():
    with Folder() as folder:
        right = problem()
        check(refusal(folder, **right) is None, "the correct problem was refused")
        said = refusal(folder, P=right["P"].astype("f4"), Q=right["Q"])
        check("single precision? Normalise them in double" in said, said)
        said = refusal(folder, P=0.9 * right["P"], Q=right["Q"])
        check("sums to 0.9" in said and "single" not in said, said)


def test_transposed():
    with Folder() as folder:
        right = problem()
        said = refusal(folder, P=right["P"].T, Q=right["Q"])
        check("rows of P sum to 1" in said and "transposed" in said, said)
        said = refusal(folder, P=right["P"], Q=right["Q"], V0=np.zeros((5, 4)))
        check("transposed" not in said, said)
        said = refusal(folder, P=right["P"], Q=right["Q"].T)
        check("Q has shape (5, 7)" in said and "transposed" in said, said)


def test_misspelt():
    with Folder() as folder:
        right = problem()
        value, vector = np.linalg.eig(right["P"])
        mu = np.real(vector[:, np.argmax(np.real(value))])
        mu /= mu.sum()
        check(refusal(folder, **right, mu=mu) is None, "mu is taken")
        for name, meant in (("Mu", "mu"), ("v0", "V0"), ("q_position", "Q_position")):
            said = refusal(folder, **right, **{name: mu})
            check(f"holds {name}, " in said and f"did you mean '{meant}'?" in said, said)
        check(refusal(folder, **right, mu=mu, MU=mu) is None, "MU was refused beside mu")
        check(refusal(folder, **right, notes=mu) is None, "an unrelated name was refused")


if __name__ == "__main__":
    run_all()
