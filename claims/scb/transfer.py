"""Transfer from another chain (claim 6)."""

from __future__ import annotations

import numpy as np

import popflow
from popflow.analysis import Estimate, Threshold, log_line, spearman_kaerber

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .chance import at_most
from .common import SMALL, completed, flow, mean, noisy, stands_out


@claim(6, BIGRAM, "transfer skips stage 1", experiments=["scb-transfer", "scb-fine-tuning"],
       has_long=True)
def transfer(long: bool) -> list[Number]:
    """By the definition that the paper's analysis uses, stage 1 is the wait in which a drift of
    order 1/T lifts the signals, a time that grows with log T: after a transfer there is none
    (flow, N = 10, V = V_pre/2 + mu 1'/2, T up to 10^9). By the clock stage 1 is shortened, not
    skipped: the attention still has to grow from nothing. Its time is taken to count as skipped
    if at most a tenth of that from scratch is left (flow, T = 1000, 6 pairs of chains, whose
    positions differ, and a share of whose transitions).

    Samples (N = 3, V = 0.7 V_pre + 0.3 mu 1', SGD at a rate of 0.1 for 20 units of time): from
    scratch the signals may grow with the wrong sign, the more often the longer the context
    (claim 2), at batches that would find Q; after a transfer none does. Q is found where its
    positions have the largest weights of their columns at the end. Without l1 the batch that
    takes grows with T, about as its root: noise in the attention at T positions lets V decay
    before the attention has grown. With an l1 from the start it grows little more than log T
    does (which itself goes as T^0.2 here; the bound leaves room for that)."""
    return [*wait(), *shortened(), *samples(long)]


def wait() -> list[Number]:
    """The time until the signals are boosted, from scratch and from V_pre/2 + mu 1'/2."""
    lengths = (1e2, 1e4, 1e6, 1e9)
    times: dict[str, list[float]] = {"scratch": [], "transfer": []}
    for T in lengths:
        options = {"context_length": T, "coordinates": "signal", "method": "rosenbrock4",
                   "t_end": 4000, "saves": 2, "show": False}
        scratch = popflow.run("scb", **options)
        tuned = popflow.run("scb", **options, init_from=scratch.popflow.path, init_mix=0.5)
        times["scratch"].append(scratch.time_of.boosted)
        times["transfer"].append(tuned.time_of.boosted)
    slopes = {name: log_line(lengths[1:], values[1:]).slope.value * np.log(10)
              for name, values in times.items()}
    where = "the wait that grows with T"
    return [Check("time for each decade of T, of that from scratch",
                  slopes["transfer"] / slopes["scratch"], where, least=-0.01, most=0.01),
            Number("time for each decade of T, from scratch", slopes["scratch"], where),
            *(Number("boosted at, after a transfer", time, f"T = {T:g}")
              for T, time in zip(lengths, times["transfer"]))]


def shortened() -> list[Number]:
    """All of the time until the signals are boosted, against that from scratch: other positions,
    and a share of other transitions. V may by chance be correlated negatively with the new
    chain; then it goes to -P, and nothing is boosted."""
    shares = (0, 0.5, 0.75)
    ratios: dict[float, list[float]] = {share: [] for share in shares}
    chain = {"vocab_size": 10, "transition_concentration": 0.1, "sparsity": 2}
    for seed in range(1, 7):
        before, other = (flow(1000, **chain, problem_seed=number) for number in (seed, 1000 + seed))
        theirs, own = (run.popflow.group("problem") for run in (before, other))
        for share in shares:
            problem = {"P": (1 - share) * theirs.P + share * own.P, "Q_value": own.Q_value,
                       "Q_position": own.Q_position, "context_length": 1000}
            options = {"problem": problem, "coordinates": "support", "saves": 2, "t_end": 500,
                       "show": False}
            scratch = popflow.run("scb", **options)
            tuned = popflow.run("scb", **options, init_from=before.popflow.path, init_mix=0.5)
            if tuned.attrs["transfer_correlation"] > 0:
                ratios[share].append(tuned.time_of.boosted / scratch.time_of.boosted)
    return [Check("time until boosted, of that from scratch", mean(values),
                  f"all of stage 1 with {share:.0%} new transitions", most=0.1)
            for share, values in ratios.items()]


def samples(long: bool) -> list[Number]:
    """The sign of signal_A, and the batch at which the positions of Q have the largest weights."""
    lengths, trials = ((50, 200, 800, 3200, 12800), 32) if long else ((50, 200, 800), 32)
    batches = (4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 64, *((80, 100, 128) if long else ()))
    found: list[Number] = []
    for name, penalty in (("without l1", 0), ("with lambda = 0.01", 0.01)):
        wrong, counted, doses = 0, 0, []
        for T in lengths:
            start = flow(T, **SMALL).popflow.path
            met = []
            for B in batches:  # one at a time: the attention of all runs is large
                runs = noisy(**SMALL, context_length=T, init_from=start, init_mix=0.7, l1=penalty,
                             learning_rate=0.1, batch_size=B, t_end=20, runs=trials, saves=2,
                             state="ends")
                met.append(float((completed(runs) & stands_out(runs)).mean()))
                # Where noise or l1 leaves nothing of the signals, they have no sign to speak of.
                if met[-1] >= 0.5:
                    wrong += int((runs.signal_A[:, -1] < 0).sum())
                    counted += trials
            doses.append(spearman_kaerber(batches, met, trials, ends="extend"))
        where = f"samples of a transfer {name}"
        found += [Check("share of runs that grow with the wrong sign, at most (95%)",
                        at_most(wrong, counted), where, most=0.05),
                  Check("power of T of the batch that finds Q", growth(lengths, doses), where,
                        most=0.3)]
        found += [Number("batch at which half of the runs find Q", dose.dose, f"{name} at T = {T}")
                  for T, dose in zip(lengths, doses)]
    return found


def growth(lengths: tuple[int, ...], doses: list[Threshold]) -> Estimate:
    logs = [dose.log_dose for dose in doses]
    return log_line(lengths, [one.value for one in logs], [one.error for one in logs]).slope
