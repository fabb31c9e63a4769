#!/usr/bin/python3
"""Measures error against processor time for the flows of `markov`, by popflow's methods and by heyoka.

    bench/report.py --only precision       measures, and writes the table of docs/performance.md
    bench/precision.py FILE.png            draws the figure from the stored results

The error is the largest error of an end, relative to the largest distance that a flow moves, against popflow's
fehlberg78 at a tighter tolerance. Processor time depends little on the load of the machine.
"""

import statistics
import sys
import tempfile

import h5py
import measure
import rows

sys.path.append(str(measure.ROOT / "bench" / "peers"))
import peer as peers  # noqa: E402

TOLERANCES = [10.0**-digits for digits in range(4, 14)]
METHODS = ["dopri5", "verner8"]
WORDS = "sweep markov --over e0=0.02:2:128 --over w0=-2:1:128 --t-end 50 " + rows.RMS
REFERENCE = "--method fehlberg78 --rtol 1e-14 --atol 1e-16"


def error(file, reference):
    agreement = peers.Agreement()
    with h5py.File(file) as found, h5py.File(reference) as exact:
        e0, w0 = exact["e0"][()][:, None], exact["w0"][()][None, :]
        for name, start in ("e", e0), ("w", w0):
            agreement.close(name, found[name][()], exact[name][()], start)
    return max(apart for apart, _ in agreement.found.values())


def measure_precision(program, _build):
    """Returns, for each tolerance, errors and processor seconds by popflow's methods and by heyoka."""
    found = []
    with tempfile.TemporaryDirectory(prefix="popflow-bench-") as folder:
        reference, file = f"{folder}/reference.h5", f"{folder}/flows.h5"
        measure.popflow(program, f"{WORDS} {REFERENCE}", reference)
        for tolerance in TOLERANCES:
            words = f"{WORDS} --rtol {tolerance:g} --atol {tolerance / 100:g} --method"
            errors = {}
            for method in METHODS:
                measure.popflow(program, f"{words} {method}", file)
                errors[method] = error(file, reference)
            heyoka = measure.Process(rows.heyoka("precision"), program, reference, file, 1)
            errors["heyoka"] = max(apart for apart, _ in heyoka.told["agreement"].values())
            seconds = {name: [] for name in errors}
            for _ in range(measure.REPETITIONS):
                for method in METHODS:
                    seconds[method].append(measure.spent(program, f"{words} {method}", file)[1])
                seconds["heyoka"].append(heyoka.spent()[1])
            heyoka.end()
            found.append({"tolerance": tolerance, "errors": errors, "seconds": seconds})
    return found


def precision_lines(results):
    """Returns the lines of the table, one for each tolerance."""
    for found in results:
        yield (f"{found['tolerance']:.0e}", *(
            f"{found['errors'][name]:.0e}: {statistics.median(seconds) * 1e3:.0f} ms"
            for name, seconds in found["seconds"].items()))


def draw(path):
    """Draws processor seconds against the error."""
    import matplotlib  # noqa: PLC0415
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415
    results = measure.stored("precision")["found"]
    with matplotlib.rc_context({"font.size": 8}):
        figure, panel = plt.subplots(figsize=(5, 3.4), layout="constrained")
        for i, name in enumerate(results[0]["seconds"]):
            panel.plot([found["errors"][name] for found in results],
                       [statistics.median(found["seconds"][name]) for found in results],
                       marker="os^"[i], markersize=4, linewidth=1.2, color=f"C{i}",
                       label=name if name == "heyoka" else f"popflow, {name}")
        panel.set(xscale="log", yscale="log", xlabel="largest error of an end", ylabel="processor time of 16 384 flows (s)")
        panel.invert_xaxis()
        panel.legend(frameon=False)
        figure.savefig(path, dpi=100)


if __name__ == "__main__":
    draw(sys.argv[1])
