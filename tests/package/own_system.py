"""Checks the claims of examples/own-system: own_system.py PRODUCT POPFLOW.

PRODUCT is the example's program. POPFLOW is the standard program, which does not know PRODUCT's
system.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

PRODUCT, POPFLOW = sys.argv[1:]


def check(holds, sentence):
    if not holds:
        sys.exit(f"own_system.py: {sentence}")


def call(program, *words, code=0):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    check(done.returncode == code,
          f"{os.path.basename(program)} {words} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout + done.stderr


def datasets(path):
    with h5py.File(path) as file:
        return {name: item[()] for name, item in file.items() if isinstance(item, h5py.Dataset)}


def same(path, other):
    one, two = datasets(path), datasets(other)
    check(one.keys() == two.keys(), f"{path} and {other} hold other datasets")
    for name in one:
        check(one[name].tobytes() == two[name].tobytes(), f"{name} of {other} differs")


def killed_and_resumed(folder):
    """Checks that a killed and resumed run has the same bits as an uninterrupted one."""
    words = ["run", "product", "--mode", "sgd", "--steps", 200000, "--runs", 3, "--saves", 50,
             "--batch-size", 2, "--checkpoint-every", 0]
    whole, cut = (os.path.join(folder, name) for name in ("whole.h5", "cut.h5"))
    call(PRODUCT, *words, "-o", whole)
    process = subprocess.Popen([PRODUCT, *map(str, words), "-o", cut],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if os.path.exists(cut):
            time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.001)
    process.wait()
    call(PRODUCT, "resume", cut)
    same(whole, cut)


def main():
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run.h5")
        check("half at t" in call(PRODUCT, "run", "product", "-o", run),
              "the event is not reported")
        end = datasets(run)
        check(abs(end["product"][-1] - 1) < 1e-6, "the slope is not learned")
        check(np.ptp(end["balance"]) < 1e-6, "the balance is not kept")

        # The standard program summarises the file without knowing its system.
        told = call(POPFLOW, "info", run)
        for part in ("product", "balance", "half at t", "two scalar weights"):
            check(part in told, f"popflow info does not show '{part}':\n{told}")
        rows = call(POPFLOW, "info", run, "--csv").splitlines()
        check(rows[0].startswith("time,loss,product") and len(rows) == 202, "--csv is incomplete")
        call(POPFLOW, "resume", run, "--t-end", 20, code=3)
        check("product" in call(POPFLOW, "run", "product", code=2), "an unknown system is not named")

        sweep = os.path.join(folder, "sweep.h5")
        call(PRODUCT, "sweep", "product", "--over", "slope=0.5,1", "-o", sweep)
        told = call(POPFLOW, "info", sweep, code=3)
        check("has the system 'product', which this program does not have" in told,
              f"whose file it is is not said:\n{told}")

        killed_and_resumed(folder)
        again = os.path.join(folder, "again.h5")
        call(PRODUCT, "run", "product", "--init-from", run, "-o", again)
        check(datasets(again)["a"][0] == end["a"][-1], "--init-from does not start at the end")
        refused = call(PRODUCT, "run", "product", "--problem", run, "-o", again, "--force", code=2)
        check("--problem" in refused, "a problem file is not refused")

        compared = os.path.join(folder, "compared.h5")
        table = call(PRODUCT, "compare", "product", "--learning-rate", 0.05, "--batch-size", 4,
                     "--t-end", 5, "--runs", 8, "--saves", 6, "-o", compared)
        check("sgd" in table and "product" in table, f"the comparison tells nothing:\n{table}")
        check("product" in call(POPFLOW, "info", compared), "its comparison is not shown")
        check("slope" in call(PRODUCT, "systems", "product"), "its page lacks its parameters")
        said = call(PRODUCT, "run", "product", "--slope", 0, "-o", again, "--force", code=2)
        check("--slope is 0; it must be a number, above 0" in said, f"a slope of 0: {said}")
        check("--config" not in call(PRODUCT, "experiments"), "experiments of systems it lacks")


main()
