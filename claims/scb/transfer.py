"""Transfer from another chain (claims 6 and 38)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import popflow
from popflow.analysis import Line, Threshold, log_line, spearman_kaerber

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from ..share import share
from .chance import at_most
from .common import SMALL, completed, flow, mean, noisy, stands_out


@claim(6, BIGRAM, "Transfer skips stage 1",
       experiments=["scb-transfer", "scb-fine-tuning"], forms=("", ""))
def transfer(long: bool) -> list[Number]:
    """In the paper's analysis, stage 1 is the wait until a drift of order 1/T has lifted the
    signals, a time that grows with log T. After a transfer there is no such wait (flow, N = 10, V =
    V_pre/2 + mu 1'/2, T up to 10^9). Measured as the whole boosting time, stage 1 is shortened but
    not skipped, because the attention still has to grow from nothing. It counts as skipped if it
    takes at most a tenth of its time from scratch. This is measured with the flow at T = 1000, for
    6 pairs of chains that differ in their positions and in a share of their transitions.

    Samples (N = 3, V = 0.7 V_pre + 0.3 mu 1', SGD at a rate of 0.1 for 20 units of time): from
    scratch the signals may grow with the wrong sign at batches that are large enough to find Q,
    more often in longer contexts (claim 2). After a transfer no run has the wrong sign at batches
    at which at least half of the runs find Q. Only such batches are counted. At smaller ones noise
    or l1 leaves little of the signals, and the remainder has the wrong sign in some runs; their
    share is shown beside the verdict. A run finds Q if the positions of Q have the largest weights
    of their columns at the end.

    The batch size that finds Q is compared with log T: an exponent of log T of at most 1.5 counts
    as growing little more than log T does. Without l1 the batch size grows about as the square root
    of T, because noise in the attention at T positions lets V decay before the attention has grown.
    With l1 from the start it follows log T only up to T = 800. From T = 3200 on it grows as T^0.4,
    while log T grows as T^0.11. A single power of T does not describe all T, with l1 or without, as
    the p-value of the straight line's misfit shows. No verdict rests on that line."""
    return samples(long) if long else [*wait(), *shortened(), *samples(long)]


def wait() -> list[Number]:
    """Compares the boosting time from scratch with that from V_pre/2 + mu 1'/2."""
    lengths = (1e2, 1e4, 1e6, 1e9)
    ratios = {}
    for rtol in (1e-9, 1e-8):
        times: dict[str, list[float]] = {"scratch": [], "transfer": []}
        for T in lengths:
            options = {"context_length": T, "coordinates": "signal", "method": "rosenbrock4",
                       "t_end": 4000, "saves": 2, "show": False, "rtol": rtol, "atol": rtol / 100}
            scratch = popflow.run("scb", **options)
            tuned = popflow.run("scb", **options, init_from=scratch.popflow.path, init_mix=0.5)
            times["scratch"].append(scratch.time_of.boosted)
            times["transfer"].append(tuned.time_of.boosted)
        slopes = {name: log_line(lengths[1:], values[1:]).slope.value * np.log(10)
                  for name, values in times.items()}
        ratios[rtol] = slopes["transfer"] / slopes["scratch"]
    where = "the wait that grows with T"
    return [Check("added time per decade of T, relative to training from scratch", ratios[1e-8],
                  where,
                  least=-0.01, most=0.01),
            Number("change of this ratio at a tenth of the tolerance",
                   abs(ratios[1e-9] - ratios[1e-8]), where),
            Number("added time per decade of T, from scratch", slopes["scratch"], where),
            *(Number("boosting time after a transfer", time, f"T = {T:g}")
              for T, time in zip(lengths, times["transfer"]))]


def shortened() -> list[Number]:
    """Compares the whole boosting time after a transfer with that from scratch. The new chain has
    other positions and a share of other transitions. V may by chance be correlated negatively with
    the new chain; then V goes to -P, and nothing is boosted."""
    fresh = (0, 0.5, 0.75)
    ratios, tighter = ({new: shortening(new, rtol) for new in fresh} for rtol in (1e-8, 1e-9))
    found: list[Number] = []
    for new in fresh:
        where = f"all of stage 1 with {new:.0%} new transitions"
        found += [Check("boosting time relative to training from scratch", mean(ratios[new]), where,
                        most=0.1),
                  Number("largest change of a ratio at a tenth of the tolerance",
                         float(np.abs(np.subtract(ratios[new], tighter[new])).max()), where)]
    return found


def shortening(new: float, rtol: float) -> list[float]:
    """Returns the ratio of boosting times for each pair of chains with a positive correlation,
    where `new` is the share of transitions that differ."""
    ratios = []
    chain = {"vocab_size": 10, "transition_concentration": 0.1, "sparsity": 2}
    tolerance = {"rtol": rtol, "atol": rtol / 100}
    for seed in range(1, 7):
        before, other = (flow(1000, **chain, **tolerance, problem_seed=number)
                         for number in (seed, 1000 + seed))
        theirs, own = (run.popflow.group("problem") for run in (before, other))
        problem = {"P": (1 - new) * theirs.P + new * own.P, "Q_value": own.Q_value,
                   "Q_position": own.Q_position, "context_length": 1000}
        options = {"problem": problem, "coordinates": "support", "saves": 2, "t_end": 500,
                   "show": False, **tolerance}
        scratch = popflow.run("scb", **options)
        tuned = popflow.run("scb", **options, init_from=before.popflow.path, init_mix=0.5)
        if tuned.attrs["transfer_correlation"] > 0:
            ratios.append(tuned.time_of.boosted / scratch.time_of.boosted)
    return ratios


#: Runs of a cell.
TRIALS = 32


@dataclass(frozen=True)
class Cell:
    """Number of runs that find Q, and of runs that end with signal_A < 0."""

    found: int
    wrong: int

    def counts(self) -> bool:
        """Tells whether the batch counts. If fewer runs find Q, noise or l1 leaves nothing of the
        signals, and their sign means nothing."""
        return self.found >= TRIALS / 2


def samples(long: bool) -> list[Number]:
    """Measures the sign of signal_A, and the batch size at which runs find Q."""
    ranges = {"T = 50 to 800": (50, 200, 800)}
    if long:
        ranges["T = 3200 to 12800"] = (3200, 12800)
    lengths = [T for these in ranges.values() for T in these]
    batches = (4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 64, *((80, 100, 128) if long else ()))
    found: list[Number] = []
    tried = f"batches to {batches[-1]}"
    for name, penalty in ((f"without l1, {tried}", 0), (f"with lambda = 0.01, {tried}", 0.01)):
        cells = {T: transferred(T, batches, penalty) for T in lengths}
        doses = {T: spearman_kaerber(batches, [cell.found / TRIALS for cell in cells[T]], TRIALS,
                                     ends="extend") for T in lengths}
        found += signs([cell for row in cells.values() for cell in row],
                       f"sign after a transfer {name}")
        for words, these in ranges.items():
            where = f"samples of a transfer {name} at {words}"
            own = [doses[T] for T in these]
            found += [Check("exponent of log T in the batch size that finds Q",
                            growth(np.log(these), own).slope, where, most=1.5),
                      Number("exponent of T in the batch size that finds Q", growth(these,
                                                                                    own).slope,
                             where),
                      Number("exponent of T in log T itself", growth_of_log(these), where)]
        line = growth(lengths, list(doses.values()))
        found.append(Number("p-value of the misfit of one power of T to all T",
                            float(stats.chi2.sf(line.misfit * (len(lengths) - 2),
                                                len(lengths) - 2)), f"a transfer {name}"))
        found += [Number("batch size at which half of the runs find Q", dose.dose,
                         f"{name} at T = {T}")
                  for T, dose in doses.items()]
    return found


def transferred(T: int, batches: tuple[int, ...], penalty: float) -> list[Cell]:
    start = flow(T, **SMALL).popflow.path
    cells = []
    for B in batches:  # one at a time: the attention of all runs is large
        runs = noisy(**SMALL, context_length=T, init_from=start, init_mix=0.7, l1=penalty,
                     learning_rate=0.1, batch_size=B, t_end=20, runs=TRIALS, saves=2, state="ends")
        cells.append(Cell(int((completed(runs) & stands_out(runs)).sum()),
                          int((runs.signal_A[:, -1] < 0).sum())))
    return cells


def signs(cells: list[Cell], where: str) -> list[Number]:
    counted = [cell for cell in cells if cell.counts()]
    others = [cell for cell in cells if not cell.counts()]
    found: list[Number] = [
        Check("upper 95% bound of the share with the wrong sign, where half of the runs find Q",
              at_most(sum(cell.wrong for cell in counted), len(counted) * TRIALS), where,
              most=0.05)]
    if others:
        found.append(Number("share of runs with the wrong sign at smaller batches",
                            share([n < cell.wrong for cell in others for n in range(TRIALS)]),
                            where))
    return found


def growth(x: Any, doses: list[Threshold]) -> Line:
    logs = [dose.log_dose for dose in doses]
    return log_line(x, [one.value for one in logs], [one.error for one in logs])


def growth_of_log(lengths: tuple[int, ...]) -> float:
    """Returns the exponent of T in log T between the ends of the range."""
    return float(np.log(np.log(lengths[-1]) / np.log(lengths[0])) /
                 np.log(lengths[-1] / lengths[0]))


@claim(38, BIGRAM, "Transfer works between chains with different stationary distributions")
def other_distributions(long: bool) -> list[Number]:
    """Flow, N = 10, V = V_pre/2 + mu 1'/2. The new chain mixes the transitions of the old one with
    those of another, a tenth or a half of them, so the stationary distributions differ; the Q's are
    independent. Twelve pairs of each share are split at a total variation of 0.15. As in claim 6,
    the whole boosting time must be at most a tenth of that from scratch (mean over pairs), at
    T = 1000. T = 10^6 is shown beside it. The added time per decade of T, from 10^3 to 10^6, must
    be at most a hundredth of that from scratch."""
    del long
    found: list[Number] = []
    by_distance: dict[str, list[tuple[float, ...]]] = {"nearer": [], "farther": []}
    negative = 0
    for new in (0.1, 0.5):
        for seed in range(1, 13):
            one = other_chain(seed, new)
            if one is None:
                negative += 1
            else:
                by_distance["nearer" if one[0] < 0.15 else "farther"].append(one)
    for name, pairs in by_distance.items():
        distance, ratio, slope, later = zip(*pairs, strict=True)
        where = f"stage 1 with {name} distributions"
        found += [Check("boosting time relative to training from scratch", mean(ratio), where,
                        most=0.1),
                  Number("boosting time relative to training from scratch, T = 1e6", mean(later),
                         where),
                  Check("largest added time per decade of T, relative to training from scratch",
                        max(map(abs, slope)), f"the wait with {name} distributions", most=0.01),
                  Number("pairs", float(len(pairs)), where),
                  Number("mean total variation", mean(distance), where)]
    return [*found, Number("pairs of 24 without a positive correlation", float(negative))]


def other_chain(seed: int, new: float) -> tuple[float, ...] | None:
    """Returns the total variation, the ratio of the boosting times at T = 1000, the ratio of the
    added times per decade of T, and the ratio at T = 10^6. None if the correlation is not positive.
    `new` is the share of transitions from another chain."""
    chain = {"vocab_size": 10, "transition_concentration": 0.1, "sparsity": 2}
    before, other = (flow(1000, **chain, problem_seed=number) for number in (seed, 1000 + seed))
    theirs, own = (run.popflow.group("problem") for run in (before, other))
    times: dict[str, list[float]] = {"scratch": [], "transfer": []}
    for T in (1000, 1_000_000):
        options = {"problem": {"P": (1 - new) * theirs.P + new * own.P, "Q_value": own.Q_value,
                               "Q_position": own.Q_position, "context_length": T},
                   "coordinates": "support", "saves": 2, "t_end": 1000, "show": False}
        scratch = popflow.run("scb", **options)
        tuned = popflow.run("scb", **options, init_from=before.popflow.path, init_mix=0.5)
        if tuned.attrs["transfer_correlation"] <= 0:
            return None
        times["scratch"].append(float(scratch.time_of.boosted))
        times["transfer"].append(float(tuned.time_of.boosted))
    mu = scratch.popflow.group("problem").mu.values
    distance = 0.5 * float(np.abs(mu - theirs.mu.values).sum())
    first, last = (times["transfer"][at] / times["scratch"][at] for at in (0, 1))
    return (distance, first,
            float(np.diff(times["transfer"])[0] / np.diff(times["scratch"])[0]), last)
