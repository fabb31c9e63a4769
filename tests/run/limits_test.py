#!/usr/bin/python3
# label: slow
"""Limits of memory, threads, descriptors and disk: each command succeeds, or ends with a sentence
and the right exit code. It loses no data, and neither hangs nor crashes."""

import os
import resource
import signal
import subprocess

from kills import FAULTS, OUTPUT, Case, Undisturbed, command, equal, fresh
from runs import BINARY, Folder, Skipped, check, popflow, run_all, sanitized, some

LONGEST = 60  # seconds after which a command counts as hanging
ENSEMBLE = "run markov --mode sgd --batch-size 16 --steps 200 --saves 6 --state all --threads 4"
SWEEP = "sweep markov --over w0=-1:1:8 --over e0=.1:1:5 --t-end 20 --threads 4"
CASES = {
    "run": Case("run scb --vocab-size 6 --context-length 40 --t-end 10 --saves 6 --threads 4"),
    "ensemble": Case(f"{ENSEMBLE} --runs 8"),
    "extension": Case(f"resume {OUTPUT} --t-end 4 --threads 4", [f"{ENSEMBLE} --runs 8 -o {OUTPUT}"],
                      extends=True),
    "sweep": Case(SWEEP),
    "merge": Case("merge a.h5 b.h5", [f"{ENSEMBLE} --runs 4 --first-run 0 -o a.h5",
                                      f"{ENSEMBLE} --runs 4 --first-run 4 -o b.h5"], resumes=False),
    "comparison": Case("compare markov --learning-rate .1 --t-end 4 --saves 5 --runs 8 --rungs "
                       "flow,sgd --batch-size 64 --threads 4"),
    "comparison of files": Case("compare --from flow=a.h5,sgd=b.h5",
                                ["run markov --t-end 10 --saves 5 -o a.h5",
                                 "run markov --mode sgd --runs 8 --t-end 10 --saves 5 "
                                 "--learning-rate .1 -o b.h5"], resumes=False),
}


def limited(words, folder, what, most, **surroundings):
    """Runs the program under a resource limit; returns its exit code and errors."""
    def limit():
        resource.setrlimit(what, (most, most))
        # Only the message matters, so no core file is written.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        ended = subprocess.run([BINARY, *words], cwd=folder, capture_output=True, text=True,
                               errors="replace", timeout=LONGEST, check=False,
                               preexec_fn=limit if what is not None else None, **surroundings)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{words[0]} under {most}: hangs") from None
    return ended.returncode, ended.stderr


def check_case(name, limits, codes, what=None, says=None, **surroundings):
    """Runs a case under each limit, and then without. `says` has words, one of which an error must
    contain."""
    case = CASES[name]
    if case.undisturbed is None:
        case.undisturbed = Undisturbed(case)
    for most in limits:
        with Folder() as outer:
            folder, told = os.path.join(outer, "limited"), f"{name} under {most}"
            fresh(case.undisturbed.before, folder)
            there, path = set(os.listdir(folder)), os.path.join(folder, case.output)
            code, said = limited(command(case), folder, what, most, **surroundings)
            check(code in codes, f"{told}: ended with {code}: {said}")
            if code == 127:
                continue  # the system could not load the program
            if code != 0:
                check("error" in said, f"{told}: no sentence, but '{said}'")
                check(says is None or any(word in said for word in says), f"{told}: {said}")
                check("damaged" not in said, f"{told}: a good file is blamed: {said}")
            check(set(os.listdir(folder)) <= there | {case.output},
                  f"{told}: left behind: {os.listdir(folder)}")
            if code != 0 and not case.extends and not case.resumes:
                check(not os.path.exists(path), f"{told}: an unfinished output is in place")
            goes_on = case.resumes and os.path.exists(path)
            popflow(*command(case, goes_on, again=True), folder=folder, code=0)
            found = equal(case, path, case.undisturbed)
            check(found is None, f"{told}: other values: {found}")


# ---- disk

def files_of(name):
    """Returns limits on file sizes: too small for the first bytes, the structure, or the last
    bytes."""
    case = CASES[name]
    if case.undisturbed is None:
        case.undisturbed = Undisturbed(case)
    size = os.path.getsize(case.undisturbed.path)
    return (0, 1000, size // 3, size - 1000)


def test_a_full_disk_is_reported_and_loses_no_data():
    for name in CASES:
        check_case(name, files_of(name), (5,), resource.RLIMIT_FSIZE, ("cannot write", "too large"))


def test_a_full_device_is_reported():
    with Folder() as folder:
        popflow("run", "markov", "--t-end", 1, "--saves", 5, "-o", "a.h5", folder=folder, code=0)
        for words in (["info", "a.h5"], ["info", "a.h5", "--csv"], ["systems"], ["--help"],
                      ["plot", "a.h5"]):
            with open("/dev/full", "w") as full:
                ended = subprocess.run([BINARY, *words], cwd=folder, stdout=full, text=True,
                                       stderr=subprocess.PIPE, timeout=LONGEST, check=False)
            check(ended.returncode == 5, f"{words}: ended with {ended.returncode}: {ended.stderr}")
            check("error" in ended.stderr, f"{words}: {ended.stderr}")


# ---- threads

def check_threads(name):
    for most in (0, 1, 2):
        check_case(name, [most], (0,), env={**os.environ, "LD_PRELOAD": FAULTS,
                                            "POPFLOW_FAULT": f"threads {most}"})


def test_commands_work_with_fewer_threads():
    for name in CASES:
        check_threads(name)


# ---- descriptors

def check_descriptors(name):
    check_case(name, some(range(4, 14)), (0, 2, 3, 5, 127), resource.RLIMIT_NOFILE,
               ("Too many open files", "too many open files", "descriptor"))


def test_too_few_descriptors_are_reported():
    for name in CASES:
        check_descriptors(name)


# ---- memory

def least_memory():
    """Returns the least address space, in bytes, in which the program can print its version."""
    for megabytes in range(8, 400, 2):
        code, _ = limited(["--version"], None, resource.RLIMIT_AS, megabytes << 20)
        if code == 0:
            return megabytes << 20
    raise Skipped("the program needs more address space than is tried")


def test_too_little_memory_is_reported():
    if sanitized():
        raise Skipped("sanitizers take the whole address space")
    least = least_memory()
    for name in CASES:
        check_case(name, [least + (extra << 20) for extra in some((1, 4, 8, 16, 40, 100))], (0, 2, 5),
                   resource.RLIMIT_AS, ("memory",))


# ---- processes and files left by a command

def python_below(process):
    """Returns the process of the Python that a process starts, once it runs."""
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    while process.poll() is None:
        with open(children) as file:
            for child in file.read().split():
                try:
                    with open(f"/proc/{child}/comm") as name:
                        if name.read().startswith("python"):
                            return child
                except OSError:  # the child has ended
                    pass
    return None


def test_a_terminated_plot_leaves_no_process_and_no_file():
    for ending, code in (signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129):
        with Folder() as folder:
            popflow("run", "markov", "--t-end", 1, "--saves", 5, "-o", "a.h5", folder=folder,
                    code=0)
            process = subprocess.Popen([BINARY, "plot", "a.h5", "-o", "a.png"], cwd=folder,
                                       start_new_session=True, stderr=subprocess.PIPE, text=True)
            child = python_below(process)
            check(child, "no Python was started")
            process.send_signal(ending)
            _, said = process.communicate(timeout=LONGEST)
            lives = os.path.exists(f"/proc/{child}")
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            check(not lives, "the Python that draws has not ended")
            check(process.returncode == code, f"ended with {process.returncode}: {said}")
            check(os.listdir(folder) == ["a.h5"], f"left behind: {os.listdir(folder)}")
            check("Traceback" not in said, said)


if __name__ == "__main__":
    run_all()
