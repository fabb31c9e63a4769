"""Measurements against the machine's limits or against popflow itself.

Parts are kernels, whole programs, sweeps, threads and shares of processor time. Each part measures into a
dictionary (seconds, bytes, ...) and turns it into lines of a table."""

import json
import os
import pathlib
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import measure
import precision
import scaling
import shares


def interleaved(works):
    """Returns the results of several functions, run in turn."""
    found = {name: [] for name in works}
    for _ in range(measure.REPETITIONS):
        for name, work in works.items():
            found[name].append(work())
    return found


def medians(found):
    return {name: statistics.median(values) for name, values in found.items()}


# ---- kernels, by Google Benchmark

STEPS = 64  # steps per iteration of the kernels sgd/... and sde_isotropic

JOMA = {
    "joma_rhs/drive_exp": "right-hand side, drives, exp attention (one exponential a token)",
    "joma_rhs/target_exp": "targets, exp attention (two)",
    "joma_rhs/target_softmax": "targets, softmax (two, in two passes)",
    "joma_rhs/target_exp_full": "targets, exp attention, full coordinates (one)",
    "joma_rhs/target_linear": "targets, linear attention (one, and a root)",
    "joma_observe/target_exp": "all observables",
    "joma_events/target_exp": "the entropy's events",
}


def kernels(build, chosen):
    """Runs the kernels that match a regular expression; returns seconds, and rates if known."""
    benchmark = build / "bench" / "popflow_bench"
    if not benchmark.exists():
        sys.exit(f"{benchmark} is missing: cmake --preset bench && cmake --build --preset bench")
    out = subprocess.run(
        [benchmark, f"--benchmark_filter={chosen}", "--benchmark_format=json",
         "--benchmark_repetitions=7", "--benchmark_report_aggregates_only=true",
         "--benchmark_enable_random_interleaving=true"],
        check=True, capture_output=True, text=True).stdout
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return {b["run_name"].removesuffix("/real_time").removeprefix("BM_"): {
                "seconds": b["real_time"] * unit[b["time_unit"]],
                "bytes_per_second": b.get("bytes_per_second"), "flops": b.get("flops")}
            for b in json.loads(out)["benchmarks"] if b["aggregate_name"] == "median"}


def measure_kernels(_program, build):
    return kernels(build, ".")


def kernel_lines(found):
    t = {name: kernel["seconds"] for name, kernel in found.items()}
    speed = {name: kernel["bytes_per_second"] for name, kernel in found.items()}
    flops = {name: kernel["flops"] for name, kernel in found.items()}
    paper, large, noisy = (t[name] / STEPS for name in ("sgd/paper", "sgd/large", "sde_isotropic"))
    return [
        ("`y = c x` over the weights of `scb`, N = 500, T = 100 000 (5e7)",
         f"{speed['scale'] / 1e9:.1f} GB/s", ""),
        ("right-hand side of `scb` on these, full coordinates",
         f"{t['rhs'] * 1e3:.1f} ms, {t['scale'] / t['rhs']:.0%} of `y = c x`", "70%"),
        ("the same with softmax", f"{t['rhs_softmax'] * 1e3:.0f} ms", ""),
        ("a `dopri5` step", f"{t['dopri5_step'] * 1e3:.0f} ms, "
         f"{speed['dopri5_step'] / speed['scale']:.0%} of `y = c x` for its tableau's traffic", ""),
        ("a `dopri5` step: full against support coordinates",
         f"{t['dopri5_step'] / t['dopri5_step_in/support']:.0f} times", "1000"),
        ("a `dopri5` step in signal coordinates", f"{t['dopri5_step_in/signal'] * 1e6:.2f} us",
         "microseconds"),
        ("recording full states against a plain sequential write into existing blocks",
         f"{speed['record_states'] / speed['plain_write']:.0%}", "80%"),
        ("laying out, filling with NaN and recording: each byte is written twice",
         f"{speed['create_and_record'] / speed['plain_write']:.0%} of a plain write", ""),
        ("SGD step, N = 20, T = 5000, B = 256",
         f"{paper * 1e3:.2f} ms, {t['sgd_limit/paper'] / paper:.0%} of it for drawing the "
         "tokens and moving the columns they touch", ""),
        ("SGD step, N = 500, T = 100 000, B = 64",
         f"{large * 1e3:.1f} ms, {t['sgd_limit/large'] / large:.0%} of it for the same", ""),
        ("step with isotropic noise, N = 500, T = 100 000",
         f"{noisy * 1e3:.0f} ms, {t['normals'] / noisy:.0%} of it for the normals alone", ""),
        *((f"`joma-joint`: products of matrices, K = {nodes}, a thread",
           f"{flops[f'product/{nodes}'] / 1e9:.0f} GFlop/s, "
           f"{flops[f'product/{nodes}'] / flops['registers/1']:.0%} of multiplications in registers",
           "") for nodes in (20, 100)),
        *((f"`joma` at a million tokens: {what}",
           f"{t[name] * 1e3:.1f} ms, {t[name] / t['joma_own_exp']:.1f} of its exponentials of the "
           f"array, {t[name] / t['joma_library_exp']:.2f} of the C library's", "")
          for name, what in JOMA.items()),
    ]


# ---- whole programs

SIZE = "--vocab-size 500 --sparsity 3"
PROGRAMS = {
    "full": f"scb {SIZE} --context-length 100000 --t-end 0.05 --saves 1 --state none",
    "support": f"scb {SIZE} --context-length 1e9 --coordinates support",
    "signal": "scb --context-length 1e9 --coordinates signal --method rosenbrock4 --t-end 1e11 "
              "--save-spacing log",
    "start": "topic --t-end 0 --saves 2 --state ends --threads 2",
}


def run(program, words):
    """Returns seconds, peak bytes and file bytes of a run."""
    with tempfile.TemporaryDirectory(prefix="popflow-bench-") as folder:
        file = pathlib.Path(folder) / "run.h5"
        begin = time.perf_counter()
        child = subprocess.Popen([program, "run", *words.split(), "--quiet", "-o", file])
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"popflow run {words} failed")
        return [seconds, usage.ru_maxrss * 1024, file.stat().st_size]


def measure_programs(program, _build):
    return interleaved({name: lambda words=words: run(program, words)
                        for name, words in PROGRAMS.items()})


def program_lines(found):
    median = {name: [statistics.median(values) for values in zip(*runs)]
              for name, runs in found.items()}
    state = 8 * (500 * 500 + 500 * 100000)
    (_, peak, _), (seconds, small, file) = median["full"], median["support"]
    return [
        ("peak memory of a `dopri5` run, full coordinates, N = 500, T = 100 000",
         f"{peak / state:.2f} states of {state / 1e6:.0f} MB", "10 and the program"),
        ("T = 1e9, N = 500, support coordinates, to its end",
         f"{seconds:.1f} s, {small / 1e6:.0f} MB, a file of {file / 1e6:.1f} MB", ""),
        ("T = 1e9, signal coordinates, `rosenbrock4`, to t = 1e11",
         f"{median['signal'][0]:.2f} s", ""),
        ("a run that does nothing (`topic`, `--t-end 0`): the program's start and its file",
         f"{median['start'][0] * 1e3:.0f} ms", ""),
    ]


# ---- sweeps

FLOWS = ("markov --over e0=0.02:2:256 --over w0=-2:1:256 --rtol 1e-8 --atol 1e-10 "
         "--t-end {t_end} --threads {threads}")
# Cells take from 0.2 ms to 0.2 s. There are so many that the last one, which a thread computes alone, is
# 1% of the whole.
MIXED = ("markov --over problem-seed=1..60 --over steps=20,200,2000,20000 --mode sgd "
         "--batch-size 16 --learning-rate 0.05 --threads {threads}")
RANKS = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
         "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def sweep(program, words, launcher=()):
    """Returns the seconds of one sweep, including process start and file."""
    with tempfile.TemporaryDirectory(prefix="popflow-bench-") as folder:
        begin = time.perf_counter()
        subprocess.run([*launcher, program, "sweep", *words.split(), "--quiet", "-o",
                        f"{folder}/sweep.h5"], check=True, env=RANKS, stderr=subprocess.DEVNULL)
        return time.perf_counter() - begin


def measure_sweeps(program, _build):
    works = {
        "flows-1": lambda: sweep(program, FLOWS.format(t_end=50, threads=1)),
        "flows-2": lambda: sweep(program, FLOWS.format(t_end=50, threads=2)),
        "empty": lambda: sweep(program, FLOWS.format(t_end=0, threads=1)),
        "mixed-1": lambda: sweep(program, MIXED.format(threads=1)),
        "mixed-2": lambda: sweep(program, MIXED.format(threads=2))}
    if shutil.which("mpirun"):
        for ranks in ("1", "2"):
            works[f"ranks-{ranks}"] = lambda ranks=ranks: sweep(
                program, MIXED.format(threads=1), ("mpirun", "-n", ranks))
    return interleaved(works)


def sweep_lines(found):
    t = medians(found)
    lines = [
        ("65 536 `markov` flows to t = 50 into a file: 2 threads against 1",
         f"{t['flows-1'] / t['flows-2']:.2f} times", ""),
        ("a cell of these without any integration (`--t-end 0`), 1 thread",
         f"{t['empty'] / 65536 * 1e6:.1f} us, {t['empty'] / t['flows-1']:.0%} of a flow", ""),
        ("SGD cells of 0.2 ms to 0.2 s mixed: 2 threads against 1",
         f"{t['mixed-1'] / t['mixed-2']:.2f} times", "")]
    if "ranks-1" in t:
        lines.append(("the same: 2 ranks against 1 (`mpirun`, its start included)",
                      f"{t['ranks-1'] / t['ranks-2']:.2f} times", ""))
    return lines


# ---- threads

# Work of every system and mode, large enough for two threads, and long enough that program start and file,
# which are serial, are a small part.
JOINT = "run joma-joint --saves 2 --state ends --batch-size 64 --context-length 100"
TOPIC = ("run topic --saves 2 --state ends --learning-rate 1 --batch-size 16 --document-length 200 "
         "--runs 4")
MARKOV = "run markov --saves 2 --state ends --batch-size 16 --context-length 32 --runs 1000"
SCB = "run scb --sparsity 3 --saves 2 --state none --context-length 5000"
THREADS = {
    "`scb` flow, N = 200, T = 5000, `dopri5`": f"{SCB} --vocab-size 200 --t-end 30",
    "`scb` SDE, N = 200, T = 5000, isotropic noise":
        f"{SCB} --vocab-size 200 --mode sde --noise isotropic --dt 0.001 --t-end 0.6",
    "`scb` SGD, N = 20, T = 5000, B = 256":
        f"{SCB} --vocab-size 20 --mode sgd --batch-size 256 --steps 1000",
    "`joma` flow, a million tokens": "run joma --activation nonlinear --attention exp --t-end 3.6 "
                                     "--saves 2 --state ends --tokens 1000000",
    "`joma` flow, softmax, a million tokens":
        "run joma --activation nonlinear --attention softmax --t-end 1e8 --saves 2 --state ends "
        "--tokens 1000000",
    "`joma-joint` flow, M = 2000, C = K = 100": f"{JOINT} --tokens 2000 --classes 100 --t-end 200",
    "`joma-joint` SDE, M = C = K = 20, 16 runs": f"{JOINT} --mode sde --t-end 4 --runs 16",
    "`joma-joint` SGD, M = C = K = 20, 16 runs": f"{JOINT} --mode sgd --steps 3000 --runs 16",
    "`joma-joint` SGD, M = 2000, C = K = 100, one run":
        f"{JOINT} --tokens 2000 --classes 100 --mode sgd --steps 3000",
    "`markov` sweep of 65 536 flows": "sweep " + FLOWS.partition(" --threads")[0].format(t_end=50),
    "`markov` SDE, 1000 runs": f"{MARKOV} --mode sde --t-end 80",
    "`markov` SGD, 1000 runs": f"{MARKOV} --mode sgd --steps 5000",
    "`topic` SDE, 10 topics of 10 words, 4 runs": f"{TOPIC} --mode sde --t-end 40",
    "`topic` SGD, 10 topics of 10 words, 4 runs": f"{TOPIC} --mode sgd --steps 1000",
}


def measure_threads(program, build):
    limits = kernels(build, "registers|memory")
    with tempfile.TemporaryDirectory(prefix="popflow-bench-") as folder:
        return {"limits": limits, "programs": interleaved({
            f"{title}; {threads}": lambda words=words, threads=threads: measure.popflow(
                program, words, f"{folder}/run.h5", threads)
            for title, words in THREADS.items() for threads in (1, 2)})}


def threads_lines(found):
    limits = found["limits"]
    one, two = (limits[f"registers/{threads}"]["flops"] for threads in (1, 2))
    yield ("the machine: multiplications in registers",
           f"{one / 1e9:.0f}, {two / 1e9:.0f} GFlop/s: {two / one:.2f} times", "")
    one, two = (limits[f"memory/{threads}"]["bytes_per_second"] for threads in (1, 2))
    yield ("the machine: `y = c x` beyond the caches",
           f"{one / 1e9:.1f}, {two / 1e9:.1f} GB/s: {two / one:.2f} times", "")
    t = medians(found["programs"])
    for title in THREADS:
        one, two = t[f"{title}; 1"], t[f"{title}; 2"]
        yield title, f"{one:.2f} s, {two:.2f} s: {one / two:.2f} times", "1.9"


# ---- models

def measure_models(program, _build):
    """Returns processor seconds of builds of the gallery's models: empty cache, then three times cached."""
    return json.loads(subprocess.run(
        ["/usr/bin/python3", measure.ROOT / "bench" / "models.py", "--times"], check=True, text=True,
        env={**os.environ, "POPFLOW": str(program)}, stdout=subprocess.PIPE).stdout)


def model_lines(found):
    for name, times in found.items():
        (cold, _), cached = times[0], statistics.median(seconds for seconds, _ in times[1:])
        imported = any(casadi for _, casadi in times[1:])
        yield (f"`{name}`", f"{cold:.1f} s; from the cache {cached * 1e3:.0f} ms"
               + (", CasADi imported" if imported else ""), "5 s; 50 ms")


# ---- building the program

TARGETS = ("popflow", "popflow_plain", "popflow_kernels", "popflow_cxx17", "popflow_program")


def measure_building(program, _build):
    """Returns the compiler's processor seconds for each unit of the program, one at a time, without a cache
    of compiled objects."""
    seconds = {}
    for unit in json.loads((program.parent / "compile_commands.json").read_text()):
        words = shlex.split(unit["command"])
        place = words.index("-o") + 1
        target, _, name = words[place].removeprefix("CMakeFiles/").partition(".dir/")
        if target not in TARGETS:
            continue
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryDirectory() as folder:
            words[place] = f"{folder}/object"
            subprocess.run(words, check=True, cwd=unit["directory"])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds[f"{target}: {name.removeprefix('Unity/unity_').partition('.')[0]}"] = (
            after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return {"seconds": seconds}


def building_lines(found):
    seconds = found["seconds"]
    yield "the program from nothing, without the tests", f"{sum(seconds.values()):.0f} s", "400 s"
    for name in sorted(seconds, key=seconds.get, reverse=True)[:5]:
        yield f"`{name}`", f"{seconds[name]:.0f} s", ""


PARTS = {"precision": (precision.measure_precision, precision.precision_lines),
         "shares": (shares.measure_shares, shares.share_lines),
         "kernels": (measure_kernels, kernel_lines),
         "programs": (measure_programs, program_lines),
         "sweeps": (measure_sweeps, sweep_lines),
         "threads": (measure_threads, threads_lines),
         "scaling": (scaling.measure_scaling, scaling.scaling_lines),
         "ten-times": (scaling.measure_ten_times, scaling.ten_times_lines),
         "models": (measure_models, model_lines),
         "building": (measure_building, building_lines)}

# Columns of tables that have others than those of most parts.
COLUMNS = {"precision": ("relative tolerance", "popflow, `dopri5`", "popflow, `verner8`", "heyoka"),
           "scaling": ("work, size that grows", "measured", "one run stops at")}
