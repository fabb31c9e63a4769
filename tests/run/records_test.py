#!/usr/bin/python3
# label: fast
"""The records of a flow change neither its steps nor its results, and reach the file in blocks."""

import subprocess
from time import monotonic, sleep

from kills import calls_of
from runs import BINARY, PATIENCE, Folder, attribute, check, h5py, np, popflow, run_all

FLOWS = {
    "scb": ["scb", "--vocab-size", 10, "--context-length", 20, "--t-end", 50],
    "scb, verner8": ["scb", "--vocab-size", 10, "--context-length", 20, "--t-end", 50, "--method", "verner8",
                     "--rtol", 1e-10],
    "signals": ["scb", "--coordinates", "signal", "--t-end", 100],
    "two stages": ["scb", "--schedule", "two-stage", "--vocab-size", 10, "--context-length", 20],
    "reduced": ["joma", "--tokens", 10],
    "joma-joint": ["joma-joint", "--tokens", 20, "--classes", 10, "--t-end", 50],
    "markov": ["markov", "--t-end", 50],
    "markov, steady": ["markov", "--stop-when", "steady", "--t-end", 1e4],
    "markov, momentum": ["markov", "--t-end", 50, "--optimizer", "momentum", "--learning-rate", 0.1],
    "markov, warm-up": ["markov", "--t-end", 50, "--warmup", 7, "--learning-rate-schedule", "step:20:0.5"],
    "markov, bulirsch_stoer": ["markov", "--t-end", 50, "--method", "bulirsch_stoer"],
    "markov, rosenbrock4": ["markov", "--t-end", 50, "--method", "rosenbrock4"],
    "topic": ["topic", "--topics", 4, "--words-per-topic", 3, "--topics-per-document", 2, "--t-end", 1000],
    "linear-attention": ["linear-attention", "--eigenvalues", "1,0.5", "--method", "fehlberg78"],
    "deep-linear": ["deep-linear", "--strengths", "2,1"],
}


def contents(path):
    """Returns the numbers that must not depend on the number of records, and the records by time."""
    with h5py.File(path) as file:
        time = file["time"][()]
        along = {name: value[()] for name, value in file.items()
                 if isinstance(value, h5py.Dataset) and value.ndim > 0 and len(value) == len(time) > 3}
        whole = {name: file[name][()] for name in
                 ("statistics/accepted_steps", "statistics/rejected_steps")}
        whole |= {f"events/{name}": file["events"][name][()] for name in ("kind", "time", "index")
                  if "events" in file and name in file["events"]}
        whole["steps"] = np.sum(file["statistics/steps"][1:][file["statistics/steps"][1:] > 0])
        if attribute(path, "status") == "complete":
            whole |= {name: value[-1] for name, value in along.items()}
        return whole, time, along


def same(one, other):
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")


def test_records_change_no_flow():
    with Folder() as folder:
        for title, words in FLOWS.items():
            found = []
            for saves in ([5, "--save-spacing", "linear"], [201, "--save-spacing", "linear"],
                          [41, "--save-spacing", "log", "--save-first", 0.01]):
                popflow("run", *words, "--saves", *saves, "--state", "all", "-o", "a.h5", "--force",
                        "--quiet", folder=folder, code=0)
                found.append(contents(f"{folder}/a.h5"))
            few = found[0][0]
            for whole, time, _ in found[1:]:
                for name, value in few.items():
                    check(same(value, whole[name]), (title, name, len(time), value, whole[name]))
            if "loss" not in few:
                continue  # the run stopped at a steady state
            # A record has the same bits whatever others there are.
            for name, value in found[0][2].items():
                check(same(value[1], found[1][2][name][50]), (title, name))


def test_records_within_steps_of_bulirsch_stoer_are_accurate():
    # The steps' own errors are larger: 3 tolerances for markov at 1e-10, and 9 for deep-linear at 1e-12,
    # from which records jump where a step ends. So two records of the same step are compared.
    works = {"markov": (["--p", 0.2, "--q", 0.3, "--e0", 0.3, "--w0", -0.9, "--t-end", 100], 1e-8),
             "deep-linear": (["--strengths", "2,1"], 1e-12)}
    with Folder() as folder:
        for system, (words, rtol) in works.items():
            states = []
            for method, tolerance in (("fehlberg78", 1e-13), ("bulirsch_stoer", rtol)):
                popflow("run", system, *words, "--method", method, "--rtol", tolerance, "--atol",
                        1e-2 * tolerance, "--state", "all", "--saves", 201, "-o", "a.h5", "--force",
                        "--quiet", folder=folder, code=0)
                with h5py.File(f"{folder}/a.h5") as file:
                    fields = attribute(f"{folder}/a.h5", "state_fields").split()
                    states.append({name: file[name][()].reshape(201, -1) for name in fields})
                    steps = file["statistics/steps"][1:]
            exact, found = states
            for name, value in exact.items():
                error = (found[name] - value) / (rtol * np.max(np.abs(value)))
                changes = np.abs(np.diff(error, axis=0))[steps == 0]  # no step ends between the two
                check(len(changes) > 100, (system, len(changes)))
                check(np.max(changes) < 3, (system, name, np.max(changes)))


def test_records_change_no_cell_of_a_sweep():
    with Folder() as folder:
        axes = ["--over", "w0=-1.9:.9:5", "--over", "e0=.1:1:5", "--t-end", 50, "--quiet"]
        popflow("sweep", "markov", *axes, "-o", "end.h5", folder=folder, code=0)
        for saves in (7, 201):
            popflow("sweep", "markov", *axes, "--record", "series", "--saves", saves, "-o", "series.h5",
                    "--force", folder=folder, code=0)
            with h5py.File(f"{folder}/end.h5") as end, h5py.File(f"{folder}/series.h5") as series:
                ends = [name for name in end if name + "_end" in series]
                check("excess_loss" in ends, ends)
                for name in ends:
                    check(same(end[name][()], series[name + "_end"][()]), (name, saves))
                    check(same(end[name][()], series[name][..., -1]), (name, saves))


def test_records_are_written_in_blocks():
    # One record has about thirty variables. On a busy machine a run may need more than one block.
    words = ["run", "markov", "--t-end", 50, "--quiet", "--threads", 1]
    with Folder() as folder:
        few, many = (calls_of([*words, "--saves", saves, "-o", f"{saves}.h5"], folder) for saves in (2, 501))
        check(many < few + 1000, (few, many))


def test_records_reach_the_file_while_the_next_one_is_far_away():
    # The second record follows the first at once, the third after hours.
    words = ["--mode", "sgd", "--save-at", "0,0.1", "--t-end", 1e8, "--max-steps", 1e12, "--quiet"]
    with Folder() as folder:
        path = f"{folder}/run.h5"
        process = subprocess.Popen([BINARY, "run", "markov", *map(str, words), "-o", path])
        done, start = 0, monotonic()
        while done < 2 and monotonic() < start + PATIENCE:
            check(process.poll() is None, "the run goes on for hours")
            sleep(0.1)
            try:
                with h5py.File(path) as file:
                    done = int(np.ravel(file["saves_done"])[0])
                    loss = np.ravel(file["loss"])[:done]
            except OSError:
                continue  # not there yet
        process.kill()
        process.wait()
        check(done == 2 and np.all(np.isfinite(loss)), (done, loss))


if __name__ == "__main__":
    run_all()
