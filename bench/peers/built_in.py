"""popflow's built-in system markov as a peer of the same flow written as a model."""

import os
import subprocess
import tempfile

import h5py
import peer


def flows(checked, timed):
    """Times the built-in system on the sweep of the timed file: a whole program on two threads."""
    words = ["sweep", "markov", "--threads", "2", "--quiet", "--force"]
    for name in ("e0", "w0"):
        values = timed.file[name][()]
        words += ["--over", f"{name}={float(values[0])!r}:{float(values[-1])!r}:{len(values)}"]
    for name in ("rtol", "atol", "t-end", "error-norm"):
        words += [f"--{name}", str(timed.parameter(name))]
    folder = tempfile.TemporaryDirectory(prefix="popflow-bench-")
    file = f"{folder.name}/built-in.h5"

    def work():
        subprocess.run([os.environ["POPFLOW"], *words, "-o", file], check=True)

    work()
    agreement = peer.Agreement()
    with h5py.File(file) as ends:
        for name in "ew":
            start = timed.file[f"{name}0"][()]
            start = start[:, None] if name == "e" else start[None, :]
            agreement.close(name, ends[name][()], checked.file[name][()], start)
    peer.serve(work, agreement, ["h5py"])


if __name__ == "__main__":
    peer.main({"flows": flows})
