"""Times popflow and its peers in turn, so that all see the same machine, and stores results."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
REPETITIONS = 3
MOST_REPETITIONS = 25  # most repetitions of short work, at most five seconds in all
VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2"}  # by flag of the processor; the widest first
SHORT = 0.5  # seconds; shorter work depends on caches and memory that other programs left


def machine():
    """Returns the machine's properties that timings depend on."""
    def first(path, begin):
        with open(path) as lines:
            return next(line.split(":")[1].strip() for line in lines if line.startswith(begin))

    flags = first("/proc/cpuinfo", "flags").split()
    return {"processor": first("/proc/cpuinfo", "model name"),
            "vectors": next((name for flag, name in VECTORS.items() if flag in flags), "neither AVX2 nor AVX-512"),
            "cores": len(os.sched_getaffinity(0)),
            "memory": f"{int(first('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GiB"}


def version(program):
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return said.split()[-1]


def store(name, measured, program, before):
    """Stores a result with the machine and its load averages (1, 5 and 15 minutes)."""
    RESULTS.mkdir(exist_ok=True)
    versions = {"popflow": version(program), **measured.pop("versions", {})}
    whole = {**measured, "machine": machine(), "load": {"before": before, "after": os.getloadavg()},
             "versions": versions}
    (RESULTS / f"{name}.json").write_text(json.dumps(whole, indent=1) + "\n")


def stored(name):
    """Returns a stored result, or None."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


class Process:
    """A running peer that has compiled, agrees with popflow, and repeats its work on request."""

    def __init__(self, peer, program, checked, timed, share):
        self.name, self.share = peer.name, share
        python = ROOT / peer.python
        if not python.exists():
            sys.exit(f"{peer.python} is missing: run scripts/setup --peers")
        # A single BLAS thread, since NumPy's peers start a thread per row of work.
        surroundings = {**os.environ, "POPFLOW": str(program)}
        if peer.name == "NumPy":
            surroundings["OPENBLAS_NUM_THREADS"] = "1"
        self.process = subprocess.Popen(
            [python, ROOT / "bench" / "peers" / peer.script, peer.work, checked, timed],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=surroundings)
        self.told = json.loads(self.answer())
        if any(not apart <= limit for apart, limit in self.told["agreement"].values()):
            sys.exit(f"{peer.script} {peer.work} disagrees with popflow: "
                     f"{self.told['agreement']}")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended with {self.process.wait()}")
        return line

    def spent(self):
        """Returns the peer's seconds and processor seconds for popflow's work, scaled from the part that the
        peer does."""
        before = self.processor()
        print(file=self.process.stdin, flush=True)
        seconds = json.loads(self.answer())
        return [x / self.told["part"] * self.share for x in (seconds, self.processor() - before)]

    def processor(self):
        """Returns the processor seconds so far, in ticks of 10 ms, of all threads and child processes."""
        own = pathlib.Path(f"/proc/{self.process.pid}")
        children = (own / "task" / str(self.process.pid) / "children").read_text().split()
        found = (pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
                 for pid in (self.process.pid, *children))
        return sum(int(ticks) for of in found for ticks in of) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def spent(program, words, file, threads=2):
    """Returns the seconds and the processor seconds of a whole program."""
    def processor():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    begin, before = time.perf_counter(), processor()
    subprocess.run([program, *words.split(), "--threads", str(threads), "--quiet", "--force", "-o",
                    file], check=True)
    return [time.perf_counter() - begin, processor() - before]


def popflow(program, words, file, threads=2):
    """Returns the seconds of a whole program."""
    return spent(program, words, file, threads)[0]


def warmed(taken, work):
    """Repeats short work of popflow and peers once before the timing.

    No program then pays for caches that another one filled, or for memory that the virtual machine
    reclaimed.
    """
    if taken < SHORT:
        work()
    return work()


def model(name, program):
    """Builds a model of models.py, and returns the path of its plug-in."""
    return subprocess.run(["/usr/bin/python3", ROOT / "bench" / "models.py", name], check=True,
                          env={**os.environ, "POPFLOW": str(program)}, text=True,
                          stdout=subprocess.PIPE).stdout.split()[-1]


def row(row, program):
    """Measures a row and stores the result."""
    before = os.getloadavg()
    words = row.words.replace("MODEL", model(row.model, program)) if row.model else row.words
    with tempfile.TemporaryDirectory(prefix="popflow-bench-") as folder:
        checked, timed, again = (f"{folder}/{name}.h5" for name in ("checked", "timed", "again"))
        taken = popflow(program, f"{words} {row.timed}", timed)
        popflow(program, f"{words} {row.checked or row.timed}", checked)
        share = row.units / (row.units + row.less_units)
        peers = [Process(peer, program, checked, timed, share) for peer in row.peers]
        taken_by = {name: [] for name in ["popflow", *(peer.name for peer in peers)]}
        whole, start = [], []
        for _ in range(max(REPETITIONS, min(MOST_REPETITIONS, round(5 / taken)))):
            whole.append(warmed(taken, lambda: spent(program, f"{words} {row.timed}", again)))
            if row.less:
                start.append(warmed(taken, lambda: spent(program, f"{words} {row.less}", again)))
            for peer in peers:
                taken_by[peer.name].append(warmed(taken, peer.spent))
        for peer in peers:
            peer.end()
    taken_by["popflow"] = [[w - s for w, s in zip(*both)] for both in zip(whole, start)] if row.less else whole
    store(row.name, {
        "command": f"popflow {row.words} {row.timed}".strip() + " --threads 2",
        **({"less": f"popflow {row.words} {row.less}"} if row.less else {}),
        "seconds": {name: [round(s, 6) for s, _ in found] for name, found in taken_by.items()},
        "processor": {name: [round(s, 6) for _, s in found] for name, found in taken_by.items()},
        **({"whole": [s for s, _ in whole], "start": [s for s, _ in start]} if row.less else {}),
        "peers": {p.name: {key: p.told[key] for key in ("part", "agreement", "facts")}
                  for p in peers},
        "versions": {k: v for p in peers for k, v in p.told["versions"].items()},
    }, program, before)

