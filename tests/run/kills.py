"""Random kills: a command gets a signal at a random moment, and is resumed until it is done. All
values must equal those of the undisturbed command, at each moment and at the end.

A seed determines a kill, and a failure names it: `kills_test.py 17` repeats the kill of seed 17.
"""

import atexit
import contextlib
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile

from runs import (BINARY, LIBC, PATIENCE, Folder, check, difference, h5py, hear_hangups, np, plain,
                  popflow, same, until_used, worked)

FAULTS = os.environ["POPFLOW_FAULTS"]
OUTPUT = "out.h5"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Attributes that hold the words of a command, which may differ.
FREE = ("from", "config", "output", "force", "threads", "not_default", "save-at", "saves", "steps", "t-end")


class Case:
    """A command that writes a file.

    `inputs`: commands that make its input files. `resumes`: `popflow resume` can continue its
    unfinished file; otherwise the command starts again. `extends`: its file exists before it
    starts. `weight`: relative frequency of the case."""

    def __init__(self, words, inputs=(), resumes=True, extends=False, weight=4, output=OUTPUT):
        self.words = words.split()
        self.inputs = [line.split() for line in inputs]
        self.resumes, self.extends, self.weight, self.output = resumes, extends, weight, output
        self.undisturbed = None


SGD = "run markov --mode sgd --batch-size 16 --saves 11 --checkpoint-every 0"
SDE = "run markov --mode sde --learning-rate .1 --saves 11 --checkpoint-every 0"
FLOW = "run scb --vocab-size 10 --context-length 200 --rtol 1e-10 --checkpoint-every 0"
PART = "run markov --mode sgd --learning-rate .1 --batch-size 4 --t-end 30 --saves 301 --state all"
CASES = {
    "flow": Case(f"{FLOW} --t-end 100 --saves 41"),
    "flow with step memory": Case(f"{FLOW} --method bulirsch_stoer --t-end 60 --saves 9"),
    "flow that stops early": Case(f"{FLOW} --t-end 4000 --saves 21 --stop-when steady "
                                  "--steady-tolerance 1e-3"),
    "stages": Case("run scb --vocab-size 8 --context-length 100 --schedule two-stage --stage1-time 6 "
                   "--threshold 0.01 --plateau-time 4 --t-end 16 --saves 17 --checkpoint-every 0"),
    "sde": Case(f"{SDE} --runs 1 --t-end 1000"),
    "sgd": Case(f"{SGD} --runs 1 --steps 20000"),
    "sgd of scb": Case("run scb --mode sgd --vocab-size 6 --context-length 40 --learning-rate .1 "
                       "--steps 300 --saves 31 --state all --checkpoint-every 0"),
    "ensemble by sde": Case(f"{SDE} --runs 20 --t-end 200 --threads 2"),
    "ensemble by sgd": Case(f"{SGD} --runs 6 --steps 4000 --state all --threads 2"),
    "extended flow": Case(f"resume {OUTPUT} --t-end 80", [f"{FLOW} --t-end 40 --saves 21 -o {OUTPUT}"],
                          extends=True),
    "extended ensemble": Case(f"resume {OUTPUT} --t-end 40",
                              [f"{SGD} --runs 4 --steps 1000 -o {OUTPUT}"], extends=True),
    "sweep of flows": Case("sweep markov --over w0=-1.9:.9:20 --over e0=.1:1:10 --rtol 1e-11 --t-end "
                           "3000 --kernel scalar --threads 2", weight=6),
    "sweep of series": Case("sweep markov --over w0=-1.9:.9:20 --over e0=.1:1:10 --t-end 300 "
                            "--record series --saves 7"),
    "sweep of ensembles": Case("sweep markov --over w0=-1:1:5 --over steps=10:6000:4:log --mode sgd "
                               "--runs 5 --context-length 20", weight=6),
    "reduced sweep": Case("sweep markov --over w0=-1:1:5 --over steps=10:6000:4:log --mode sgd "
                          "--runs 5 --context-length 20 --reduce runs"),
    "merged ensemble": Case("merge a.h5 b.h5", [f"{PART} --runs 20 --first-run 0 -o a.h5",
                                                f"{PART} --runs 20 --first-run 20 -o b.h5"],
                            resumes=False, weight=3),
    "merged sweep": Case("merge a.h5 b.h5",
                         [f"sweep markov --over w0=-1:1:40 --t-end 30 --shard {i}/2 -o {name}.h5"
                          for i, name in ((1, "a"), (2, "b"))], resumes=False, weight=3),
    "comparison": Case("compare markov --learning-rate .05 --t-end 10 --saves 5 --runs 8 --rungs "
                       "flow,sde,sgd --batch-size 64 --checkpoint-every 0 --threads 2", weight=6),
    "comparison of files": Case("compare --from flow=a.h5,sgd=b.h5",
                                ["run markov --t-end 10 --saves 5 -o a.h5",
                                 "run markov --mode sgd --runs 8 --t-end 10 --saves 5 "
                                 "--learning-rate .1 -o b.h5"], resumes=False, weight=3),
    "figure": Case("plot a.h5", ["run markov --t-end 10 --saves 50 -o a.h5"], resumes=False, weight=1,
                   output="out.png"),
}


class Undisturbed:
    """Results of an undisturbed case: the files it starts from (`before`) and its output (`path`).
    Its processor seconds and the number of calls that change files determine the moments of
    kills."""

    def __init__(self, case):
        self.before = tempfile.mkdtemp(prefix="popflow-kills-")
        atexit.register(shutil.rmtree, self.before, ignore_errors=True)
        for words in case.inputs:
            popflow(*words, "--quiet", folder=self.before, code=0)
        after = os.path.join(self.before, "after")
        fresh(self.before, after)
        began = worked()
        self.calls = calls_of(command(case), after)
        self.seconds = worked() - began
        self.path = os.path.join(after, case.output)


def fresh(before, folder):
    """Copies the files that a case starts from to a new folder."""
    os.mkdir(folder)
    for name in os.listdir(before):
        if os.path.isfile(os.path.join(before, name)):
            shutil.copy(os.path.join(before, name), folder)


def command(case, goes_on=False, again=False):
    """Returns the words of a case. `goes_on`: words that finish its file; `again`: words that may
    replace its file."""
    if case.extends:
        return [*case.words, "--quiet"]
    if goes_on:
        return ["resume", case.output, "--quiet"]
    quiet = [] if case.words[0] == "plot" else ["--quiet"]
    return [*case.words, "-o", case.output, *quiet, *(["--force"] if again else [])]


@contextlib.contextmanager
def counting(fault=""):
    """Yields the file that counts calls, and the environment of a disturbed program."""
    with tempfile.NamedTemporaryFile(prefix="popflow-count-") as count:
        count.write(bytes(8))
        count.flush()
        count.seek(0)
        yield count, {**os.environ, "LD_PRELOAD": FAULTS, "POPFLOW_FAULT": fault,
                      "POPFLOW_FAULT_COUNT": count.name}


def calls_of(words, folder, code=0):
    """Runs the program undisturbed; returns the number of calls that change files."""
    with counting() as (count, surroundings):
        popflow(*words, folder=folder, code=code, env=surroundings)
        return struct.unpack("Q", count.read(8))[0]


def strike(words, folder, fault="", at_start=None):
    """Runs the program until a fault (tests/faults), the function `at_start` or the program itself
    ends it. Returns its exit code and errors."""
    with counting(fault) as (_, surroundings), \
            tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen([BINARY, *map(str, words)], cwd=folder, start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=said, env=surroundings,
                                   preexec_fn=hear_hangups)
        if at_start is not None:
            at_start(process)
        code = process.wait(timeout=PATIENCE)
        if words[0] == "plot":
            # If only the program was killed, its Python process still draws: kill the whole process
            # group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        said.seek(0)
        return code, said.read()


class Moment:
    """Moment at which a process gets a signal: before a numbered call that changes files, or after
    some processor seconds. Forked processes may get the signal too."""

    def __init__(self, chance, undisturbed):
        self.signal = chance.choice((signal.SIGKILL, *SIGNALS))
        self.group = chance.random() < 0.4
        calls = undisturbed.calls
        # The first calls create files, and the last ones close them.
        self.call = chance.choice((None, chance.randint(1, calls), chance.randint(1, min(60, calls)),
                                   max(1, calls - chance.randint(0, 40))))
        self.seconds = chance.uniform(0, 1.05) * undisturbed.seconds

    def __str__(self):
        when = f"after {self.seconds:.3f} s" if self.call is None else f"before call {self.call}"
        return f"{self.signal.name} {'to the group ' if self.group else ''}{when}"

    def strike(self, words, folder):
        """Runs the program until the signal or the program itself ends it. Returns its exit code
        and errors."""
        def send(process):
            if until_used(process, self.seconds):
                with contextlib.suppress(ProcessLookupError):  # the process has just ended
                    (os.killpg if self.group else os.kill)(process.pid, self.signal)

        if self.call is None:
            return strike(words, folder, at_start=send)
        whom = "group" if self.group else "process"
        return strike(words, folder, f"{whom} {int(self.signal)} {self.call}")


def dimension(item, axis):
    return item.dims[axis][0].name.split("/")[-1] if len(item.dims[axis]) else ""


def recorded(path, whole, extended=None):
    """Checks that all values that a file counts as recorded equal the whole file's. A run that is
    extended replaces the records of its last steps; until then they equal those of the file that is
    `extended`. Returns the number of saves or cells."""
    def kept(item, count):
        if extended is None:
            return False
        with h5py.File(extended, "r") as old:
            before = old[item.name][:count]
            mine, expected = item[:len(before)], whole_file[item.name][:count]
            return (same(item[len(before):count], expected[len(before):]) and
                    all(same(row, there) or same(row, new)
                        for row, there, new in zip(mine, before, expected)))

    def of_group(group, expected):
        total = 0
        if "saves_done" in group:
            done = group["saves_done"][()]
            for name, item in group.items():
                if not isinstance(item, h5py.Dataset) or not item.shape:
                    continue
                axes = [dimension(item, axis) for axis in range(min(2, item.ndim))]
                if axes[:1] == ["time"] and np.ndim(done) == 0:
                    check(same(item[:done], expected[name][:done]) or kept(item, done),
                          f"{item.name} of {done} saves")
                elif axes == ["run", "time"]:
                    for run, count in enumerate(done):
                        check(same(item[run, :count], expected[name][run, :count]),
                              f"{item.name} of run {run}, {count} saves")
            total += int(np.sum(done))
        return total

    with h5py.File(path, "r") as file, h5py.File(whole, "r") as whole_file:
        if "sweep" in file:
            return cells(file, whole_file)
        return of_group(file, whole_file) + sum(of_group(item, whole_file[name])
                                              for name, item in file.items()
                                              if isinstance(item, h5py.Group))


def cells(file, expected):
    """Checks the finished cells of a sweep and returns their number."""
    if "status" not in file:
        return 0  # a reduced sweep stores its counts elsewhere
    done = file["status"][()] > 0
    for name, item in file.items():
        if isinstance(item, h5py.Dataset) and item.shape[:done.ndim] == done.shape:
            check(same(item[()][done], expected[name][()][done]), f"{name} of finished cells")
    return int(np.count_nonzero(done))


def equal(case, path, undisturbed):
    """Returns the first difference between the finished output and the undisturbed one, or None."""
    if case.output.endswith(".png"):
        with open(path, "rb") as one, open(undisturbed.path, "rb") as other:
            return None if one.read() == other.read() else "another figure"
    return difference(path, undisturbed.path, free_attributes=FREE, slots=False)


def look(case, path, undisturbed, before):
    """Checks the output of a killed command. Returns its number of saves or cells, which must be at
    least `before`."""
    if not os.path.exists(path):
        check(not case.extends and before == 0, "the file is gone")
        return 0
    if not case.resumes:
        found = equal(case, path, undisturbed)
        check(found is None, f"an unfinished output is in place: {found}")
        return 0
    popflow("info", path, code=0)
    count = recorded(path, undisturbed.path,
                     os.path.join(undisturbed.before, case.output) if case.extends else None)
    check(count >= before, f"{before} saves or cells were recorded, now {count}")
    return count


def finish(case, folder, path):
    """Runs the remaining command until it is done."""
    goes_on = case.resumes and os.path.exists(path)
    words = command(case, goes_on, again=True)
    ended = popflow(*words, folder=folder)
    if ended.code == 5 and "another process" in ended.err:
        # A forked process that examines the file can outlive the killed program.
        LIBC.sched_yield()
        for _ in range(1000):
            ended = popflow(*words, folder=folder)
            if ended.code != 5 or "another process" not in ended.err:
                break
        print(f"  the lock outlived the program: {' '.join(words)}", flush=True)
    check(ended.code == 0, f"{' '.join(words)} ended with {ended.code}: {ended.err}")


def allowed_codes(struck):
    """Returns the possible exit codes of a program that got a signal or had already ended."""
    number = int(struck)
    return (0, -number) if struck == signal.SIGKILL else (0, -number, 128 + number)


def kill_once(seed):
    """Makes the kill of a seed and returns a description of it."""
    chance = random.Random(seed)
    name = chance.choices(list(CASES), [case.weight for case in CASES.values()])[0]
    case = CASES[name]
    if case.undisturbed is None:
        case.undisturbed = Undisturbed(case)
    undisturbed = case.undisturbed
    told, before = f"seed {seed}, {name}", 0
    with Folder() as outer:
        folder = os.path.join(outer, "killed")
        fresh(undisturbed.before, folder)
        there, path = set(os.listdir(folder)), os.path.join(folder, case.output)
        clean = True  # whether each process could remove its temporary files
        kills = chance.choice((1, 1, 2, 3))
        try:
            for _ in range(kills):
                moment = Moment(chance, undisturbed)
                told += f"; {moment}"
                words = command(case, case.resumes and os.path.exists(path), again=True)
                code, said = moment.strike(words, folder)
                told += f": {code}"
                if code == 5 and "another process" in said:
                    break  # finish() handles this case
                check(code in allowed_codes(moment.signal), f"ended with {code}: {said}")
                clean = clean and code >= 0
                check(not clean or set(os.listdir(folder)) <= there | {case.output},
                      f"left behind: {os.listdir(folder)}")
                before = look(case, path, undisturbed, before)
            finish(case, folder, path)
            found = equal(case, path, undisturbed)
            check(found is None, f"other values: {found}")
            if case.resumes:
                with h5py.File(path, "r") as file:
                    check(plain(file.attrs["status"]) in ("complete", "steady"), "its status")
        except AssertionError as problem:
            raise AssertionError(f"{told}: {problem}") from None
    return told


def kill_many(seeds):
    """Makes the kills of these seeds, and reports all failures at the end."""
    failed = []
    for seed in seeds:
        try:
            kill_once(seed)
        except AssertionError as problem:
            failed.append(str(problem))
            print(f"  {problem}", flush=True)
    check(not failed, f"{len(failed)} of {len(seeds)} failed")
    return f"passed: {len(seeds)} kills"
