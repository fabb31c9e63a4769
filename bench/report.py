#!/usr/bin/python3
"""Runs the benchmarks and prints what docs/performance.md reports: ratios measured in one run.

usage: bench/report.py [BUILD_FOLDER] [--only NAME ...]     (default build/bench, all of them)
"""

import argparse
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


@functools.cache
def kernels(build: pathlib.Path) -> dict:
    """Median seconds (and bytes a second) of every kernel."""
    out = subprocess.run(
        [build / "bench" / "popflow_bench", "--benchmark_format=json",
         "--benchmark_repetitions=7", "--benchmark_report_aggregates_only=true",
         "--benchmark_enable_random_interleaving=true"],
        check=True, capture_output=True, text=True).stdout
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return {
        b["run_name"].removesuffix("/real_time").removeprefix("BM_"):
            (b["real_time"] * unit[b["time_unit"]], b.get("bytes_per_second", float("nan")))
        for b in json.loads(out)["benchmarks"] if b["aggregate_name"] == "median"
    }


def program(binary: pathlib.Path, *words: str) -> tuple:
    """Seconds, peak bytes and file bytes of one run of the program."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "run.h5"
        begin = time.perf_counter()
        child = subprocess.Popen([binary, "run", "scb", *words, "--quiet", "-o", file])
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"popflow run scb {' '.join(words)} failed")
        return seconds, usage.ru_maxrss * 1024, file.stat().st_size


def peer(script: str) -> dict:
    """Seconds by form, as a script of a peer prints them."""
    out = subprocess.run(["/usr/bin/python3", ROOT / "bench" / script], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return {name: float(seconds) for name, seconds in map(str.split, out.splitlines())}


STEPS = 64  # of an iteration of the kernels sgd/... and sde_isotropic


def noisy_modes(build: pathlib.Path) -> None:
    k = kernels(build)
    step = k["sgd/paper"][0] / STEPS
    torch = peer("scb_sgd_torch.py")
    row("SGD step, N=20 T=5000 B=256",
        f"{step * 1e3:.2f} ms, {k['sgd_limit/paper'][0] / step:.0%} of the limit")
    row("the same in PyTorch, tuned",
        f"{torch['float64'] * 1e3:.0f} ms, {torch['float64'] / step:.1f} times ours; "
        f"float32 {torch['float32'] * 1e3:.0f} ms, {torch['float32'] / step:.1f} times", "10")
    step = k["sgd/large"][0] / STEPS
    row("SGD step, N=500 T=100000 B=64",
        f"{step * 1e3:.1f} ms, {k['sgd_limit/large'][0] / step:.0%} of the limit")
    step = k["sde_isotropic"][0] / STEPS
    numpy = peer("scb_noise_numpy.py")
    one = min(numpy["whole"], numpy["rows"])
    row("isotropic step, N=500 T=100000",
        f"{step * 1e3:.0f} ms, {k['normals'][0] / step:.0%} of it for the normals alone")
    row("the same in NumPy, tuned",
        f"{one * 1e3:.0f} ms, {one / step:.1f} times ours; with a generator a thread "
        f"{numpy['threads'] * 1e3:.0f} ms, {numpy['threads'] / step:.1f} times", "10")


def row(what: str, value: str, wanted: str = "") -> None:
    print(f"| {what} | {value} | {wanted} |")


def weights(build: pathlib.Path) -> None:
    k = kernels(build)
    tuned, as_it_reads = map(float, subprocess.run(
        ["/usr/bin/python3", ROOT / "bench" / "rhs_numpy.py"], check=True, capture_output=True,
        text=True).stdout.split())
    row("y = c x over the same arrays", f"{k['scale'][1] / 1e9:.1f} GB/s")
    row("right-hand side, full, N=500 T=100000",
        f"{k['rhs'][0] * 1e3:.1f} ms, {k['scale'][0] / k['rhs'][0]:.0%} of y = c x", "70%")
    row("the same in NumPy, tuned", f"{tuned * 1e3:.0f} ms, {tuned / k['rhs'][0]:.1f} times ours",
        "10")
    row("the same in NumPy, as it reads",
        f"{as_it_reads * 1e3:.0f} ms, {as_it_reads / k['rhs'][0]:.1f} times ours", "10")
    row("dopri5 step, full",
        f"{k['dopri5_step'][0] * 1e3:.0f} ms, "
        f"{k['dopri5_step'][1] / k['scale'][1]:.0%} of y = c x for its tableau's traffic")
    row("full / support, a dopri5 step",
        f"{k['dopri5_step'][0] / k['dopri5_step_in/support'][0]:.0f} times", "1000")
    row("dopri5 step, signal", f"{k['dopri5_step_in/signal'][0] * 1e6:.2f} us",
        "microseconds")
    row("recording states",
        f"{k['record_states'][1] / k['plain_write'][1]:.0%} of a plain write", "80%")
    row("laying out, filling and recording",
        f"{k['create_and_record'][1] / k['plain_write'][1]:.0%} of a plain write")
    row("softmax right-hand side, full", f"{k['rhs_softmax'][0] * 1e3:.0f} ms")


def programs(build: pathlib.Path) -> None:
    binary = build / "popflow"
    size = ["--vocab-size", "500", "--context-length", "100000", "--sparsity", "3"]
    seconds, peak, file = program(binary, *size, "--t-end", "0.05", "--saves", "1",
                                  "--state", "none")
    state = 8 * (500 * 500 + 500 * 100000)
    row("peak memory, full, dopri5",
        f"{peak / state:.2f} states of {state / 1e6:.0f} MB", "10 and the program")
    seconds, peak, file = program(binary, "--vocab-size", "500", "--context-length", "1e9",
                                  "--sparsity", "3", "--coordinates", "support")
    row("T = 1e9, N=500, support, to its end",
        f"{seconds:.1f} s, {peak / 1e6:.0f} MB, file {file / 1e6:.1f} MB")
    seconds, peak, file = program(binary, "--context-length", "1e9", "--coordinates", "signal",
                                  "--method", "rosenbrock4", "--t-end", "1e11",
                                  "--save-spacing", "log")
    row("T = 1e9, signal, rosenbrock4, to t = 1e11", f"{seconds:.2f} s")



PARTS = {"kernels": weights, "noisy-modes": noisy_modes, "programs": programs}


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints what docs/performance.md reports.")
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build" / "bench")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="NAME",
                        help=f"one or more of {', '.join(PARTS)}; default: all")
    arguments = parser.parse_args()
    print("| what | measured | wanted |\n| --- | --- | --- |")
    for name in arguments.only:
        PARTS[name](arguments.build.resolve())


if __name__ == "__main__":
    main()
