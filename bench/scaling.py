#!/usr/bin/python3
"""Measures how cost grows with the work: processor time and peak memory against one size at a time.

    bench/report.py --only scaling       measures, and writes the table of docs/performance.md
    bench/scaling.py FILE.png            draws the figure from the stored results

Each kind of work starts at its default size and grows by half a decade. It ends, after three sizes, when
the next size would take longer than BUDGET seconds of processor time or more than MOST_MEMORY bytes.
Processor time depends little on the load of the machine; the time of waiting does not count.
"""

import math
import os
import subprocess
import sys
import tempfile

import measure

BUDGET = 3.0  # s, of processor time of one run
MOST_MEMORY = 4e9  # bytes
STEP = math.sqrt(10)
FEWEST = 3  # sizes
VISIBLE = 0.3  # growth of a cost, in units of that of the smallest size, from which a power is fitted
HOUR = 3600.0
MEMORY = 24 * 2**30  # bytes, of the machine whose limit the table gives


def falling(number):
    """Returns that many numbers between 4 and 1."""
    return ",".join(f"{4 - 3 * i / max(1, number - 1):.6g}" for i in range(number))


def steps_of(mode, rate=0.01):
    """Returns the words for a thousand steps of a mode."""
    return ["--mode", mode, "--learning-rate", rate,
            *(["--t-end", f"{1000 * rate:g}"] if mode == "sde" else ["--steps", 1000])]


def square(cells):
    side = max(2, round(math.sqrt(cells)))
    return ["sweep", "markov", "--over", f"w0=-1.9:0.9:{side}", "--over", f"e0=0.1:1:{side}", "--t-end", 50]


SHORT = ["--saves", 2, "--state", "none"]

# Titles, sizes to begin with (the default ones), and the words for a size.
WORKS = {
    "`scb` flow, N": (10, lambda n: ["run", "scb", "--vocab-size", n, *SHORT]),
    "`scb` flow, T": (1000, lambda n: ["run", "scb", "--context-length", n, *SHORT]),
    "`scb` SDE, 1000 steps, N":
        (10, lambda n: ["run", "scb", "--vocab-size", n, "--context-length", 100, *steps_of("sde"), *SHORT]),
    "`scb` SGD, 1000 steps, N":
        (10, lambda n: ["run", "scb", "--vocab-size", n, "--context-length", 100, *steps_of("sgd"), *SHORT]),
    "`scb` SGD, 1000 steps, T":
        (100, lambda n: ["run", "scb", "--context-length", n, *steps_of("sgd"), *SHORT]),
    "`joma` flow, M": (10, lambda n: ["run", "joma", "--tokens", n, *SHORT]),
    "`joma-joint` flow, M = C": (20, lambda n: ["run", "joma-joint", "--tokens", n, "--classes", n, *SHORT]),
    "`joma-joint` SDE, 1000 steps, M = C":
        (4, lambda n: ["run", "joma-joint", "--tokens", n, "--classes", n, *steps_of("sde"), *SHORT]),
    "`joma-joint` SGD, 1000 steps, M = C":
        (4, lambda n: ["run", "joma-joint", "--tokens", n, "--classes", n, *steps_of("sgd"), *SHORT]),
    "`topic` flow, words of a topic": (10, lambda n: ["run", "topic", "--words-per-topic", n, *SHORT]),
    "`topic` SGD, 1000 steps, words of a topic":
        (2, lambda n: ["run", "topic", "--words-per-topic", n, *steps_of("sgd"), *SHORT]),
    "`topic` SDE, 1000 steps, words of a topic":
        (2, lambda n: ["run", "topic", "--words-per-topic", n, *steps_of("sde"), *SHORT]),
    "`linear-attention` flow, dimension":
        (3, lambda n: ["run", "linear-attention", "--eigenvalues", falling(n), *SHORT]),
    "`linear-attention` SDE, 1000 steps, dimension":
        (3, lambda n: ["run", "linear-attention", "--eigenvalues", falling(n), *steps_of("sde", 1e-4), *SHORT]),
    "`linear-attention` SGD, 1000 steps, dimension":
        (3, lambda n: ["run", "linear-attention", "--eigenvalues", falling(n), *steps_of("sgd", 1e-4), *SHORT]),
    "`deep-linear` flow, dimension": (3, lambda n: ["run", "deep-linear", "--strengths", falling(n), *SHORT]),
    "`deep-linear` SDE, 1000 steps, dimension":
        (3, lambda n: ["run", "deep-linear", "--strengths", falling(n), *steps_of("sde"), *SHORT]),
    "`deep-linear` SGD, 1000 steps, dimension":
        (3, lambda n: ["run", "deep-linear", "--strengths", falling(n), *steps_of("sgd"), *SHORT]),
    "`markov` sweep of flows to t = 50, cells": (100, square),
    "`markov` SDE, 1000 steps, runs": (16, lambda n: ["run", "markov", "--runs", n, *steps_of("sde"), *SHORT]),
    "`markov` SGD, 1000 steps, runs": (16, lambda n: ["run", "markov", "--runs", n, *steps_of("sgd"), *SHORT]),
    "`markov` flow, records": (201, lambda n: ["run", "markov", "--saves", n]),
}

# Work at ten times the size of the papers' experiments, in words of the command line.
TEN_TIMES = {
    "`scb` SGD, N = 200, T = 50 000, B = 256, 1000 steps (paper: N = 20, T = 5000)":
        "run scb --vocab-size 200 --context-length 50000 --batch-size 256 --mode sgd --steps 1000",
    "`scb` flow in support coordinates, N = 5000, T = 1 000 000, to t = 10 (paper: N = 500, T = 100 000)":
        "run scb --vocab-size 5000 --context-length 1000000 --coordinates support --t-end 10",
    "`scb` SDE with isotropic noise, N = 5000, T = 1 000 000, 10 steps":
        "run scb --vocab-size 5000 --context-length 1000000 --mode sde --noise isotropic --steps 10",
    "`joma` flow, 100 targets, exp attention, to t = 3.6 (paper: 10)":
        "run joma --tokens 100 --activation nonlinear --attention exp --t-end 3.6",
    "`joma-joint` flow, M = C = K = 200, to t = 200 (paper: 20)":
        "run joma-joint --tokens 200 --classes 200 --t-end 200",
    "`joma-joint` SGD, M = C = K = 200, B = 64, 2000 steps":
        "run joma-joint --tokens 200 --classes 200 --mode sgd --batch-size 64 --learning-rate 0.1 --steps 2000",
    "`topic` flow, 10 topics of 100 words, to t = 2e5 (paper: 10 of 10)":
        "run topic --words-per-topic 100 --t-end 2e5",
    "`topic` SGD, full matrices, 10 topics of 100 words, B = 16, documents of 200, 1000 steps":
        "run topic --words-per-topic 100 --mode sgd --learning-rate 1 --batch-size 16 --document-length 200 --steps 1000",
    "`markov` SGD, 640 symbols, B = 160, 1000 steps, 12 runs (comparisons here: 64, 16)":
        "run markov --context-length 640 --batch-size 160 --mode sgd --steps 1000 --runs 12",
}


def run(program, words, folder):
    """Returns processor seconds and peak bytes of a run; None if the program refuses or fails."""
    command = [program, *map(str, words), "--threads", "1", "--quiet", "--force", "-o",
               os.path.join(folder, "run.h5")]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        return None
    return used.ru_utime + used.ru_stime, 1024.0 * used.ru_maxrss


def grown(program, begin, words, folder):
    """Returns sizes, seconds and bytes of growing work, and why it ends there."""
    found = {"sizes": [], "seconds": [], "bytes": [], "end": "memory"}
    for i in range(20):
        size = round(begin * STEP**i)
        taken = run(program, words(size), folder)
        if taken is None:
            found["end"] = "refused"
            break
        found["sizes"].append(size)
        found["seconds"].append(taken[0])
        found["bytes"].append(taken[1])
        if len(found["sizes"]) < FEWEST:
            continue
        if taken[0] * STEP**max(0.5, exponent(found, "seconds") or 0) > BUDGET:
            found["end"] = "time"
            break
        if taken[1] * STEP**max(0.5, exponent(found, "bytes") or 0) > MOST_MEMORY:
            break
    return found


def exponent(found, what):
    """Returns the power of the size at the two largest sizes, without the cost of the smallest one; None
    if the cost hardly grows."""
    if len(found["sizes"]) < FEWEST:
        return None
    before, after = (found[what][i] - found[what][0] for i in (-2, -1))
    if min(before, after) < VISIBLE * found[what][0]:
        return None
    return math.log(after / before) / math.log(found["sizes"][-1] / found["sizes"][-2])


def measure_scaling(program, _build):
    with tempfile.TemporaryDirectory() as folder:
        return {title: grown(program, begin, words, folder) for title, (begin, words) in WORKS.items()}


def measure_ten_times(program, _build):
    """Returns seconds and bytes of each work, or why there is none."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for title, words in TEN_TIMES.items():
            taken = run(program, [*words.split(), *SHORT], folder)
            found[title] = taken and {"seconds": taken[0], "bytes": taken[1]}
    return found


def ten_times_lines(results):
    """Returns the lines of the table of ten times the papers' sizes."""
    for title, found in results.items():
        yield (title, f"{found['seconds']:.2g} s, {found['bytes'] / 1e6:.0f} MB" if found else
               "refused: more than this machine's memory", "")


def rounded(number):
    """Returns a number with one digit: 3e5."""
    return f"{number:.0e}".replace("e+0", "e").replace("e+", "e")


def reached(found, what, limit):
    """Returns the size at which a cost reaches its limit, by the fitted power; infinity if it does not grow."""
    power = exponent(found, what)
    if power is None or power <= 0:
        return math.inf
    return float(found["sizes"][-1] * (limit / found[what][-1])**(1 / power))


def scaling_lines(results):
    """Returns the lines of the table: what was measured, and the costs and limits."""
    for title, found in results.items():
        of_ten = f"10 times {found['sizes'][0]}: " + (
            f"{found['seconds'][2]:.2g} s, {found['bytes'][2] / 1e6:.0f} MB" if len(found["sizes"]) >= FEWEST else
            found["end"])
        powers = ", ".join(
            f"{name} by the power {power:.2f}" if power is not None else f"{name} hardly grows"
            for name, power in (("time", exponent(found, "seconds")), ("memory", exponent(found, "bytes"))))
        by_time, by_memory = reached(found, "seconds", HOUR), reached(found, "bytes", MEMORY)
        limit = min(by_time, by_memory)
        ends = ("not by these" if limit == math.inf else
                f"{rounded(limit)} ({'an hour' if by_time <= by_memory else 'memory'})")
        yield (title, f"{of_ten}; {found['sizes'][-1]}: {found['seconds'][-1]:.2g} s, "
                      f"{found['bytes'][-1] / 1e6:.0f} MB; {powers}", ends)


def draw(path):
    """Draws time and memory against the size: flows on the left, noisy runs on the right."""
    import matplotlib  # noqa: PLC0415
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415
    results = measure.stored("scaling")["found"]
    noisy = [title for title in results if "SDE" in title or "SGD" in title]
    columns = {"flows": [title for title in results if title not in noisy], "1000 steps of SDE and SGD": noisy}
    with matplotlib.rc_context({"font.size": 8}):
        figure, grid = plt.subplots(2, 2, figsize=(9, 6.6), sharex="col", sharey="row", layout="constrained")
        for (heading, titles), (above, below) in zip(columns.items(), grid.T):
            for i, title in enumerate(titles):
                found = results[title]
                style = {"marker": "os^vD<>"[i % 7], "markersize": 4, "linewidth": 1.2, "color": f"C{i}"}
                label = title.replace("`", "").replace(", 1000 steps", "")
                above.plot(found["sizes"], found["seconds"], label=label, **style)
                below.plot(found["sizes"], [size / 1e6 for size in found["bytes"]], **style)
            above.set(xscale="log", yscale="log", title=heading)
            below.set(xscale="log", yscale="log", xlabel="size, as the legend names it")
            below.legend(*above.get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, -0.2),
                         ncol=2, frameon=False)
        grid[0, 0].set_ylabel("processor time (s)")
        grid[1, 0].set_ylabel("peak memory (MB)")
        grid[1, 0].set_yticks([20, 50, 100, 200], labels=["20", "50", "100", "200"])
        grid[1, 0].tick_params(axis="y", which="minor", labelleft=False)
        figure.savefig(path, dpi=100)


if __name__ == "__main__":
    draw(sys.argv[1])
