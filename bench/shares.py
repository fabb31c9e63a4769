"""Profiles the rows that miss their target: shares of processor time by function, from Linux perf.

Rows that subtract the time of a shorter run are profiled in the same way."""

import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure
import rows

PRODUCTS = "products of matrices", r"\bmultiply_(avx512|avx2)\b|\bmultiply<"

# Per row: its name here, and groups of functions. A function that fits several groups counts for the first.
JOINT_FLOW = [PRODUCTS, ("sums of slopes and errors", r"ThreadedAlgebra"),
              ("attention", r"joma_joint::kernels::")]
SHARES = {
    "scb-euler": ("`scb`, a step of Euler's", [("the step itself", r"\baffine_pass")]),
    "scb-isotropic": ("the same with isotropic noise", [
        ("normals", r"\bnormals_of_groups"), ("the step itself", r"\baffine_sums_add")]),
    "markov-flows": ("`markov`, 65 536 flows", [
        ("right-hand sides", r"markov::.*\boptimal_flow"),
        ("the rest of steps", r"advance_entry|choose_factor|judge_lanes|add_square_of_entry|judge_entry|"
                              r"root_of_mean|LaneDopri5::|LanePace::|\btake\b")]),
    "joma-joint-flow": ("`joma-joint` flow", JOINT_FLOW),
    "joma-joint-flow-by-entry": ("the same with each entry within its tolerance", JOINT_FLOW),
    "joma-joint-sde": ("`joma-joint` SDE, M = C = K = 20", [
        PRODUCTS,
        ("probabilities of classes", r"weigh_side_by_side"),
        ("random words, tokens and normals", r"\bwords<|\bContexts::draw|draw_eights|draw_tokens|"
                                             r"ContextLaw|normal")]),
    "joma-joint-sde-large": ("`joma-joint` SDE, M = C = K = 200", [
        PRODUCTS, ("attention and probabilities of classes", r"joma_joint::kernels::")]),
    "topic-sde-large": ("`topic` SDE, 10 topics of 100 words", [PRODUCTS]),
}

SAMPLES_A_SECOND = 5000
LINE = re.compile(r"\s*(\d+)\s+\[(.)\]\s+(.*)")


def samples(program, words):
    """Returns the number of samples of each function in a run, by name."""
    if shutil.which("perf") is None:
        sys.exit("perf is missing: scripts/setup --bench installs it")
    with tempfile.TemporaryDirectory(prefix="popflow-bench-") as folder:
        data = pathlib.Path(folder) / "perf.data"
        subprocess.run(
            ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_A_SECOND), "-o", data, program,
             *words.split(), "--threads", "2", "--quiet", "-o", f"{folder}/run.h5"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told = subprocess.run(
            ["perf", "report", "-i", data, "--stdio", "--no-children", "-g", "none", "-F",
             "sample,symbol"], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in map(LINE.match, told.splitlines()):
        if line:
            found[line[3]] = found.get(line[3], 0) + int(line[1])
    return found


def group_of(function, groups):
    return next((what for what, names in groups if re.search(names, function)), "the rest")


def grouped(found, groups):
    sums = dict.fromkeys([*(what for what, _ in groups), "the rest"], 0)
    for function, count in found.items():
        sums[group_of(function, groups)] += count
    return sums


def share(program, row, groups):
    """Returns the samples of each group in a row: medians over repetitions."""
    repeated = []
    for _ in range(measure.REPETITIONS):
        sums = grouped(samples(program, f"{row.words} {row.timed}"), groups)
        if row.less:
            start = grouped(samples(program, f"{row.words} {row.less}"), groups)
            sums = {what: count - start[what] for what, count in sums.items()}
        repeated.append(sums)
    return {what: statistics.median(sums[what] for sums in repeated) for what in repeated[0]}


def measure_shares(program, _build):
    by_name = {row.name: row for row in rows.ROWS}
    return {name: share(program, by_name[name], groups)
            for name, (_, groups) in SHARES.items()}


def without_the_rest(name, part):
    """Returns the ratio to the peers if only `part` of popflow's time were left."""
    result = measure.stored(name)
    if result is None:
        return ""
    medians = {of: statistics.median(seconds) for of, seconds in result["seconds"].items()}
    ours = medians.pop("popflow") * part
    return "; alone: " + ", ".join(f"{theirs / ours:.1f} times {peer}" for peer, theirs in medians.items())


def share_lines(found):
    for name, sums in found.items():
        whole = sum(sums.values())
        first, *others = ((what, count / whole) for what, count in sums.items())
        told = [f"{first[1]:.0%} {first[0]}{without_the_rest(name, first[1])}"]
        told += [f"{part:.0%} {what}" for what, part in others]
        yield SHARES[name][0], "; ".join(told), ""
