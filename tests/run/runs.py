"""Runs the program and compares the files it writes, for the tests in this folder."""

import ctypes
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BINARY = os.environ["POPFLOW_BINARY"]


class Skipped(Exception):
    """Raised by a test that cannot run here; the message says why."""


def must_not_skip():
    """Returns whether skipping is forbidden: continuous integration has everything that
    scripts/setup installs."""
    return os.environ.get("CI") == "true" or bool(os.environ.get("POPFLOW_NO_SKIPS"))


def skip_file(reason):
    """Ends a test file that lacks a package, with the exit code that CTest takes for "skipped"."""
    print(f"skipped: {reason}")
    sys.exit(1 if must_not_skip() else 77)


def need(program):
    """Skips a test if a program of a package that scripts/setup installs is missing."""
    if shutil.which(program) is None:
        check(not must_not_skip(), f"{program} is missing")
        raise Skipped(f"{program} is missing")


try:
    import h5py
    import numpy as np
    import xarray
except ImportError as missing:
    skip_file(missing)

# Seconds after which a program counts as hanging. On a busy machine with sanitizers one second of
# work may take a minute.
PATIENCE = 300

# Groups and attributes that may differ between an interrupted run and an uninterrupted one.
FREE_GROUPS = ("provenance", "restart")
FREE_ATTRIBUTES = ("history",)


class Folder:
    """New empty folder, removed at the end."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="popflow-test-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Ended:
    """Exit code (negative for a signal) and output of a program."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def check_values_refused(option, cases, folder):
    """Checks that all commands refuse each value of an option before a file is made. The sentence
    must name the option and contain a part given in `cases`."""
    for command in ("run", "sweep", "compare"):
        for value, part in cases.items():
            said = popflow(command, "markov", option, value, folder=folder, code=2).err
            check(option in said and part in said, f"{command} {value!r}: {said}")
    check(os.listdir(folder) == [], "a file was made")


def sanitized():
    """Returns whether the program was built with sanitizers, which keep freed memory and are
    slow."""
    with open(BINARY, "rb") as file:
        program = file.read()
    return b"__asan_init" in program or b"__tsan_init" in program


def has_mpi():
    """Returns whether the program was built with MPI: linked, or as a shared library that the
    program names and loads on a rank."""
    with open(BINARY, "rb") as program:
        named = b"libmpi" in program.read()
    linked = subprocess.run(["ldd", BINARY], capture_output=True, text=True).stdout
    return named or "libmpi" in linked


def some(cases):
    """Returns a third of a slow test's cases, or all with $POPFLOW_ALL_CASES, which scripts/nightly
    sets."""
    cases = list(cases)
    return cases if os.environ.get("POPFLOW_ALL_CASES") else cases[::3]


def shorter(length):
    """Returns a run's length, or a fifth of it under sanitizers. Sanitizers check each step; the
    release build checks the numbers of long runs."""
    return length / 5 if sanitized() else length


def systems():
    """Returns the names of the program's systems."""
    return [line.split()[0] for line in popflow("systems", code=0).out.splitlines()]


def examples(name="examples.txt"):
    """Yields (system, options that define the problem, other options) from
    dynamics/*/examples.txt."""
    source = os.environ["POPFLOW_SOURCE_DIR"]
    for system in systems():
        path = os.path.join(source, "tests", "dynamics", system, name)
        if name != "examples.txt" and not os.path.exists(path):
            continue  # this system has no noisy mode yet
        with open(path) as lines:
            for line in lines:
                if line.strip() and not line.startswith("#"):
                    words = [os.path.join(source, word) if word.startswith("data/") else word
                             for word in line.split()]
                    bar = words.index("|")
                    yield system, words[:bar], words[bar + 1:]


def same_problem(system, words, path):
    """Returns options that give the problem of the run in a file: the file if the system reads
    problem files, otherwise the `words` that made it."""
    reads = "Problem file (--problem" in popflow("systems", system, code=0).out
    return ["--problem", path] if reads else words


def popflow(*args, folder=None, code=None, timeout=PATIENCE, input=None, **surroundings):
    if input is not None:
        surroundings["stdin"] = subprocess.PIPE
    process = subprocess.Popen([BINARY, *map(str, args)], cwd=folder, text=True, errors="replace",
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **surroundings)
    said = f"popflow {' '.join(map(str, args))}"
    try:
        out, err = process.communicate(input, timeout)
    except subprocess.TimeoutExpired:
        at = doing(process.pid)
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{said}\nhas not ended after {timeout} s:\n{at}{out}{err}") from None
    if code is not None and process.returncode != code:
        raise AssertionError(f"{said}\nended with {process.returncode}, not {code}:\n{out}{err}")
    return Ended(process.returncode, out, err)


def doing(process):
    """Describes what the threads of a process wait for, and the processor ticks that they used."""
    lines = []
    for thread in sorted(os.listdir(f"/proc/{process}/task")):
        told = {}
        for name in ("stat", "wchan", "syscall"):
            try:
                with open(f"/proc/{process}/task/{thread}/{name}") as file:
                    told[name] = file.read().strip()
            except OSError:
                told[name] = "?"
        state, *fields = told["stat"].rpartition(")")[2].split() or "?"
        lines.append(f"  thread {thread}: {state}, user and system ticks {fields[10:12]}, "
                     f"in {told['wchan']}, system call {told['syscall']}\n")
    return "".join(lines)


def start(*args, folder=None):
    return subprocess.Popen([BINARY, *map(str, args)], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


# ---- Moments of a running program. They are states of its file or of the process, since the time
# to reach them depends on the machine's load.

LIBC = ctypes.CDLL(None, use_errno=True)


def hear_hangups():
    """Makes the program receive SIGHUP. nohup ignores this signal, and programs inherit this
    setting unless they begin with this call."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def until(condition, process, ended="it ended too early"):
    """Waits until a condition holds. If the process ends first it returns False, or fails with the
    sentence `ended`."""
    while not condition():
        if process.poll() is not None:
            if condition():
                return True
            check(ended is None, ended)
            return False
        time.sleep(0.0003)
    return True


def until_there(path, process):
    """Waits for a file that a process makes."""
    until(lambda: os.path.exists(path), process, "it ended without its file")


def used(process):
    """Returns the processor seconds that a process has used; infinite if it has ended."""
    clock = ctypes.c_int()
    if LIBC.clock_getcpuclockid(process.pid, ctypes.byref(clock)) != 0:
        return math.inf
    try:
        return time.clock_gettime(clock.value)
    except OSError:
        return math.inf


def until_used(process, seconds):
    """Waits until a process has used this many processor seconds, or has ended. Returns whether it
    still runs."""
    return until(lambda: used(process) >= seconds, process, None)


def until_recorded(path, process, count, name="saves_done"):
    """Waits until the sum of a dataset's numbers reaches `count`; the dataset may not exist yet."""
    def reached():
        try:
            with h5py.File(path, "r", locking=False) as file:
                return np.sum(file[name][()] > 0 if name == "status" else file[name][()]) >= count
        except OSError:
            return False  # the file does not exist yet
    until(reached, process)


def worked():
    """Returns the processor seconds used by all programs that have ended."""
    times = resource.getrusage(resource.RUSAGE_CHILDREN)
    return times.ru_utime + times.ru_stime


def cut(args, folder, after, by=signal.SIGINT):
    """Starts a run and sends it a signal after it has used `after` processor seconds. Returns its
    exit code."""
    process = start(*args, folder=folder)
    if until_used(process, after):
        process.send_signal(by)
    process.communicate(timeout=PATIENCE)
    return process.returncode


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def check_refused(command, said):
    """Checks that each list of words is refused with its sentence and leaves no file."""
    with Folder() as folder:
        for args, sentence in said.items():
            ended = popflow(command, *args, folder=folder, code=2)
            check(sentence in ended.err, f"{args}: {ended.err}")
            check(os.listdir(folder) == [], f"{args} left a file")


def plain(value):
    return value.decode() if isinstance(value, bytes) else value


def same(a, b):
    """Returns whether values are equal bit for bit; all NaNs are equal."""
    a, b = np.asarray(plain(a)), np.asarray(plain(b))
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tobytes() == b.tobytes() or bool(np.all((a == b) | ((a != a) & (b != b))))


def contents(file, free_attributes=(), free_groups=FREE_GROUPS):
    """Returns all datasets and attributes of a file by their paths."""
    found = {}

    def add_attributes(where, item):
        for key, value in item.attrs.items():
            hidden = ("REFERENCE_LIST", "DIMENSION_LIST")
            if key not in hidden and key not in FREE_ATTRIBUTES and key not in free_attributes:
                found[f"{where}@{key}"] = value

    def visit(name, item):
        if set(name.split("/")) & set(free_groups):
            return
        add_attributes(name, item)
        if isinstance(item, h5py.Dataset):
            found[name] = item[()]

    add_attributes("", file)
    file.visititems(visit)
    return found


def last_slot(file):
    """Returns the newest restart slot."""
    restart = file["restart"]
    slot = int(np.argmax(restart["sequence"][()]))
    names = [name for name in restart if name not in ("sequence", "checksum")]
    return {name: restart[name][slot] for name in names
            if restart[name].shape and restart[name].shape[0] == 2 and name != "restart_slot"}


def first_difference(a, b):
    a, b = np.asarray(plain(a)), np.asarray(plain(b))
    if a.shape != b.shape or not a.shape or a.dtype != b.dtype:
        return f"{a!r} and {b!r}"
    where = tuple(np.argwhere(~((a == b) | ((a != a) & (b != b))))[0])
    return f"at {tuple(map(int, where))}: {a[where]!r} and {b[where]!r}"


def difference(path, other, free_attributes=(), free_groups=FREE_GROUPS, slots=True):
    """Returns the first difference between two files; None if they are equal."""
    with h5py.File(path, "r") as a, h5py.File(other, "r") as b:
        one = contents(a, free_attributes, free_groups)
        two = contents(b, free_attributes, free_groups)
        if list(one) != list(two):
            return f"names: {sorted(set(one) ^ set(two))}"
        for name, value in one.items():
            if not same(value, two[name]):
                return f"{name}: {first_difference(value, two[name])}"
        if slots:
            one, two = last_slot(a), last_slot(b)
            for name, value in one.items():
                if not same(value, two[name]):
                    return f"restart/{name}: {first_difference(value, two[name])}"
    return None


def check_equal(path, other, **free):
    found = difference(path, other, **free)
    check(found is None, f"{path} and {other} differ in {found}")


def attribute(path, name, group="/"):
    with h5py.File(path, "r") as file:
        return plain(file[group].attrs[name])


def run_all():
    """Runs the test functions of the started file, or those whose names contain all words of the
    command line. Prints failures and exits with 77, which CTest takes for "skipped", if one was
    skipped and none failed."""
    random.seed(20240607)
    failed = skipped = 0
    for name, test in list(vars(sys.modules["__main__"]).items()):
        if not name.startswith("test_") or not all(word in name for word in sys.argv[1:]):
            continue
        began = time.monotonic()
        try:
            verdict = test() or "passed"
        except Skipped as reason:
            skipped += 1
            verdict = f"skipped: {reason}"
        except Exception as problem:  # any exception is a failure
            failed += 1
            verdict = f"FAILED: {type(problem).__name__}: {problem}"
        print(f"{name} ({time.monotonic() - began:.1f} s): {verdict}", flush=True)
    sys.exit(1 if failed else 77 if skipped else 0)
