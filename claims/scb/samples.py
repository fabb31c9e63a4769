"""Length of the stages and number of samples that they take (claim 2)."""

from __future__ import annotations

import numpy as np

import popflow
from popflow.analysis import log_line, power_law

from ..claim import Check, Number, claim
from ..papers import BIGRAM
from .chance import power_of_length
from .common import SMALL, TWO_STAGES, completed, flow, noisy, stage2_bound, thresholded


@claim(2, BIGRAM, "Stage 1 lasts about log T; its samples grow polynomially with T, those of "
       "stage 2 only with N and the sparsity",
       experiments=["scb-boosting-time"], forms=("shorter contexts", "longer contexts"))
def lengths_and_samples(long: bool) -> list[Number]:
    """Length (picture: `popflow sweep --config scb-boosting-time`): the flow's time until the
    signals are boosted is log T / sqrt(kappa K_P) plus a constant, for T from 10^6 to 10^12 and
    alphabets of 5 to 80 tokens.

    Samples of stage 1: at a fixed learning rate, training is limited by the *sign* of the signals.
    A drift of order 1/T has to win against noise that has no preferred sign. If the drift loses,
    both signals grow towards -P and -Q. The probability of the wrong sign is measured over T and B
    (N = 3, SGD at a rate of 0.1, to the flow's boosting time). The batch size that keeps this
    probability fixed grows nearly in proportion to T. The rate does not have to fall with T for
    stability, and noise depends only on the rate divided by the batch size. So the number of
    samples (batch size times steps) grows in the same way.

    Stage 2 starts from the flow's thresholded state and is judged twice. *Loss*: only T changes,
    and the rate is a quarter of the largest that the longest context allows. With a lambda above
    the noise of a batch, as the paper prescribes, weights off the positions stay at zero, and the
    excess loss at which training settles hardly depends on T. Without l1 this loss grows in
    proportion to T. With l1 it is mostly the bias of l1, which is shown beside it. *Samples*: batch
    size times steps until the runs' mean excess loss is at most twice the one at which the flow
    with the same lambda (0.01) settles. Stage 2 works without the projection and is stable only
    below a rate of 2/(T |mu|^2), so each T has a rate of a quarter of its own bound. At a fixed
    batch size the number of steps, and so of samples, grows in proportion to T. At the best of
    several batch sizes it grows nearly as fast. `popflow` has one lambda for all columns; the
    noisiest column sets it, measured with single steps."""
    return [*length(), *first_stage(long), *second_stage(long), *samples_of_stage2(long)]


def length() -> list[Number]:
    """Measures the slope of the boosting time in log T, for T from 10^6 to 10^12."""
    slopes = {}
    for rtol in (1e-8, 1e-9):
        runs = popflow.sweep(config="scb-boosting-time", rtol=rtol, show=False)
        large = runs.where(runs.context_length >= 1e6, drop=True)
        fitted = log_line(large.context_length, large.time_of.boosted)
        slopes[rtol] = fitted.slope.value
    rate = np.sqrt(large.kappa * large.K_P).isel(context_length=-1)
    off = float(np.abs(slopes[1e-8] * rate - 1).max())
    error = float(np.abs(slopes[1e-9] / slopes[1e-8] - 1).max())
    ten = float(slopes[1e-8].sel(vocab_size=10) * np.log(10))
    where = "length of stage 1"
    return [Check("largest deviation from log T / sqrt(kappa K_P), N = 5 to 80", off, where,
                  most=1e-3),
            Number("change of this deviation at a tenth of the tolerance", error, where),
            Number("added time per decade of T, N = 10", ten, where)]


def first_stage(long: bool) -> list[Number]:
    """Counts how often signal_A grows with the wrong sign in training from scratch."""
    lengths, trials = ((50, 200, 800, 3200, 12800), 64) if long else ((50, 200, 800), 64)
    batches, spans, right, ended = [], [], [], []
    for T in lengths:
        tried = [B for B in (2, 4, 8, 16, 32, 64, 128) if T / 100 <= B <= T / 6]
        runs = noisy({"batch_size": tried}, **SMALL, context_length=T, learning_rate=0.1,
                     t_end=flow(T, **SMALL).time_of.boosted, saves=2, runs=trials)
        well = completed(runs)
        batches += tried
        spans += [T] * len(tried)
        ended += list(well.sum("run").values)
        right += list((well & (runs.signal_A[..., -1] > 0)).sum("run").values)
    where = "samples of stage 1"
    shares = 1 - np.array(right) / np.array(ended)
    # The bound separates a power of T from a power of log T: log T itself grows as T^0.19 over the
    # lengths of the short form and as T^0.16 over those of the long form.
    return [Check("exponent of T in the batch size that keeps the chance of the right sign",
                  power_of_length(spans, batches, right, ended), where, least=0.5),
            *(Number("share of runs whose signals grow with the wrong sign", float(share),
                     f"T = {T}, B = {B}") for T, B, share in zip(spans, batches, shares)
              if B == max(b for b, t in zip(batches, spans) if t == T) or B == 16)]


def second_stage(long: bool) -> list[Number]:
    """Measures how the excess loss at which stage 2 settles depends on T, all else fixed."""
    lengths, batch = ((50, 100, 200, 400), 4096) if long else ((25, 50, 100), 2048)
    starts = [thresholded(T, **SMALL) for T in lengths]
    rate = stage2_bound(popflow.open(starts[0]).popflow.group("problem").mu, lengths[-1]) / 4
    noise = attention_noise(lengths[0], starts[0])
    above = 2 * noise / np.sqrt(batch)
    runs = noisy({"T": {"context_length": lengths, "init_from": starts}, "l1": [0, above]},
                 **SMALL, **TWO_STAGES, plateau_time=0, learning_rate=rate, batch_size=batch,
                 t_end=30, saves=31, runs=3)
    losses = runs.excess_loss.isel(time=slice(16, None)).mean("time")
    found = [Number("gradient noise of one sample in the attention of the rarest query", noise,
                    "stage 2")]
    for name, penalty in (("without l1", 0), ("with lambda twice a batch's noise", above)):
        own = losses.sel(l1=penalty, method="nearest")
        middle = own.mean("run")
        error = own.std("run", ddof=1) / np.sqrt(own.sizes["run"])
        power = power_law(lengths, middle.values, error.values).exponent
        where = f"loss of stage 2 {name}"
        # "Only with N and the sparsity" allows a factor log T, which grows as T^0.26 over the
        # lengths of the short form and as T^0.2 over those of the long form.
        found.append(Check("exponent of T in the excess loss", power, where, most=0.25)
                     if penalty == above else
                     Number("exponent of T in the excess loss", power, where))
        found.append(Number(f"excess loss at T = {lengths[-1]}", float(middle[-1]), where))
    return found


def samples_of_stage2(long: bool) -> list[Number]:
    """Counts samples (batch size times steps) until the excess loss is at most twice the flow's.
    Each T has a quarter of its own largest stable rate, and all T have the same lambda."""
    lengths = (25, 50, 100, 200, 400) if long else (25, 50, 100, 200)
    batches = (64, 256, 1024, 4096)
    starts = [thresholded(T, **SMALL) for T in lengths]
    taken = np.full((len(lengths), len(batches)), np.inf)
    found: list[Number] = []
    for row, (T, start) in enumerate(zip(lengths, starts)):
        rate = stage2_bound(popflow.open(start).popflow.group("problem").mu, T) / 4
        options = {**SMALL, **TWO_STAGES, "context_length": T, "init_from": start, "l1": 0.01,
                   "plateau_time": 0, "t_end": 8, "saves": 161, "save_spacing": "linear"}
        before, *_, bias = popflow.run("scb", **options, show=False,
                                       state="none").excess_loss.values
        found.append(Number("excess loss at which the flow settles, relative to the start of "
                            "stage 2",
                            bias / before, f"stage 2 with lambda = 0.01, T = {T}"))
        for column, batch in enumerate(batches):
            runs = noisy(**options, learning_rate=rate, batch_size=batch, runs=3)
            below = np.flatnonzero(runs.excess_loss.mean("run").values <= 2 * bias)
            if below.size:
                taken[row, column] = batch * float(runs.time[below[0]] - runs.time[0]) / rate
    for column, name in ((-1, "a fixed batch"), (None, "the best batch")):
        own = taken.min(axis=1) if column is None else taken[:, column]
        where = f"samples of stage 2 at {name}"
        power = power_law(lengths, own).exponent if np.isfinite(own).all() else float("nan")
        found += [Check("exponent of T in the number of samples", power, where, most=0.25),
                  *(Number("samples (batch size times steps)", float(count), f"{where}, T = {T}")
                    for T, count in zip(lengths, own))]
    return found


def attention_noise(T: int, start: str) -> float:
    """Returns the standard deviation of one sample's gradient in the attention of the rarest query,
    where it is largest. Single steps of length 1 measure it."""
    step = noisy(**SMALL, **TWO_STAGES, context_length=T, init_from=start, steps=1, learning_rate=1,
                 batch_size=1, l1=0, plateau_time=0, runs=2000, saves=2, state="ends")
    return float(step.A.diff("time_state").std("run").mean("position").max())
