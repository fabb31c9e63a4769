"""Checks the claims of examples/own-class: own_class.py LOGISTIC."""

import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

LOGISTIC, = sys.argv[1:]


def check(holds, sentence):
    if not holds:
        sys.exit(f"own_class.py: {sentence}")


def call(*words, code=0):
    done = subprocess.run([LOGISTIC, *map(str, words)], capture_output=True, text=True)
    check(done.returncode == code, f"{words} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout + done.stderr


def write(path, x, y):
    with h5py.File(path, "w") as file:
        file["x"], file["y"] = x, y
    return path


def main():
    with tempfile.TemporaryDirectory() as folder:
        def inside(name):
            return os.path.join(folder, name)

        told = call("run", "logistic", "-o", inside("run.h5"))
        check("separated at t" in told and "outcome" in told, f"how it ends is not told:\n{told}")
        with h5py.File(inside("run.h5")) as file:
            check(file["error_rate"][-1] == 0 and file["margin"][-1] > 0, "nothing is learned")
            check(file["problem/x"].shape == (50, 5), "the problem is not kept")

        # The stored problem gives the same run.
        call("run", "logistic", "--problem", inside("run.h5"), "-o", inside("again.h5"))
        with h5py.File(inside("run.h5")) as one, h5py.File(inside("again.h5")) as other:
            check(np.array_equal(one["w"], other["w"]), "its own problem gives another run")

        # Two examples on either side of zero: w grows as the logarithm of time.
        line = write(inside("line.h5"), [[1.0], [-1.0]], [1, -1])
        call("run", "logistic", "--problem", line, "--t-end", 1000, "-o", inside("line-run.h5"))
        with h5py.File(inside("line-run.h5")) as file:
            w, t = file["w"][-1, 0], file["time"][-1]
            # dw/dt = 1/(1 + e^w), so w + e^w = t + w(0) + e^w(0).
            check(abs(w + np.exp(w) - t - 0.01 - np.exp(0.01)) < 1e-4, f"w is {w} at t = {t}")

        def refused(x, y, *words):
            told = call("run", "logistic", "--problem", write(inside("bad.h5"), x, y),
                        "-o", inside("none.h5"), code=3)
            check(all(word in told for word in words), f"it is not said what is wrong:\n{told}")

        refused([[1.0], [-1.0]], [1, 0], "y[1] is 0", "-1 or 1")
        refused([[1.0], [np.nan]], [1, -1], "x[1] is nan")
        refused([[1.0], [-1.0]], [1, -1, 1], "y has", "2 examples")
        told = call("run", "logistic", "--problem", line, "--inputs", 3, "-o", inside("none.h5"),
                    code=2)
        check("--inputs 3 disagrees with" in told, f"sizes that disagree are not named:\n{told}")

        check("FAIL" not in call("verify", "logistic"), "verify finds fault with it")


main()
