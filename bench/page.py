"""Writes the measured parts of docs/performance.md from bench/results."""

import re
import statistics

import measure
import parts
import rows

PAGE = measure.ROOT / "docs" / "performance.md"
PART = re.compile(r"(<!-- measured: ([\w-]+) -->\n).*?(<!-- end -->)", re.S)


def seconds(t):
    """Returns a duration in a unit with one to three digits before the point."""
    unit, size = next((u for u in (("s", 1), ("ms", 1e-3)) if t >= u[1]), ("us", 1e-6))
    number = t / size
    return f"{number:.{max(0, 2 - len(str(int(number))) + 1)}f} {unit}"


def apart(agreement):
    """Returns the largest difference from the peer: relative, or in standard errors."""
    largest, limit = max(agreement.values(), key=lambda found: found[0] / found[1])
    return f"{largest:.1f} s.e." if limit > 1 else f"{largest:.0e}"


def load(result):
    """Returns the one-minute load averages before and after."""
    before, after = (result["load"][when][0] for when in ("before", "after"))
    return f"{before:.1f}, {after:.1f}"


def peer_lines():
    yield ("| work | popflow | peer | | popflow is faster | wanted | ends apart | load |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- |\n")
    for row in rows.ROWS:
        result = measure.stored(row.name)
        if result is None:
            yield f"| {row.title} | not measured | | | | {row.wanted:g} times | | |\n"
            continue
        medians = {name: statistics.median(found) for name, found in result["seconds"].items()}
        ours = medians.pop("popflow")
        processor = {name: statistics.median(found) for name, found in result.get("processor", {}).items()}
        for i, (name, theirs) in enumerate(medians.items()):
            per = f" a {row.unit}" if row.unit else ""
            title, of_row = (row.title, f"{seconds(ours / row.units)}{per}") if i == 0 else ("", "")
            told = result["peers"][name]
            facts = told["facts"]
            took = f", {facts['steps']:.0f} steps" if "steps" in facts else ""
            took += f", compiled in {seconds(facts['compiled'])}" if "compiled" in facts else ""
            faster = f"{theirs / ours:.2g} times"
            faster += f", {processor[name] / processor['popflow']:.2g} by processor" if processor else ""
            yield (f"| {title} | {of_row} | {name} | {seconds(theirs / row.units)}{took} | "
                   f"{faster} | {row.wanted:g} times | {apart(told['agreement'])} | "
                   f"{load(result) if i == 0 else ''} |\n")


def part_lines(name):
    columns = parts.COLUMNS.get(name, ("what", "measured", "wanted"))
    yield f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}\n"
    result = measure.stored(name)
    if result is None:
        yield "| not measured | | |\n"
        return
    for line in parts.PARTS[name][1](result["found"]):
        yield f"| {' | '.join(line)} |\n"


def machines(names):
    """Returns a line per distinct machine, load and versions among the results."""
    found = {}
    for name in names:
        result = measure.stored(name)
        if result is None:
            continue
        where = "{processor}, {cores} cores, {memory}".format(**result["machine"])
        where += f", {result['machine']['vectors']}" if "vectors" in result["machine"] else ""
        for package, version in result["versions"].items():
            found.setdefault((where), {}).setdefault(package, set()).add(version)
    for where, versions in found.items():
        told = ", ".join(f"{package} {' and '.join(sorted(of))}"
                         for package, of in sorted(versions.items(), key=lambda x: x[0].lower()))
        yield f"\nMeasured on: {where}; {told}.\n"


def measured(name):
    """Returns the lines of one part of the page."""
    if name == "peers":
        return "".join([*peer_lines(), *machines(row.name for row in rows.ROWS)])
    lines = [*part_lines(name), *machines([name])]
    result = measure.stored(name)
    if result is not None:
        lines.append(f"Load averages of a minute before and after: {load(result)}.\n")
    return "".join(lines)


def rewritten(text):
    return PART.sub(lambda part: part[1] + measured(part[2]) + part[3], text)


def write():
    PAGE.write_text(rewritten(PAGE.read_text()))
