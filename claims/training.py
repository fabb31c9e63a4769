"""Training rules: results of gradient flow under momentum and Adam (claims 26 and 27)."""

from __future__ import annotations

from typing import Any

import numpy as np

import popflow
from popflow.analysis import Estimate

from .claim import Check, Number, claim
from .papers import OWN, TOPIC

#: Steps of the discrete rule along the population gradient; the noise is too small to matter.
FULL_BATCH: dict[str, Any] = {"mode": "sde", "method": "gradient_descent", "noise": "isotropic",
                              "noise_scale": 1e-13, "state": "none"}

#: Learning rates and final flow time of each rule. The rates of momentum are ten times smaller,
#: because its steps are ten times longer. Adaptive rules have rates that are common in practice.
RULES: dict[str, tuple[list[float], float]] = {
    "sgd": ([1.0, 0.3, 0.1], 4000), "momentum": ([0.1, 0.03, 0.01], 400),
    "nesterov": ([0.1, 0.03, 0.01], 400), "rmsprop": ([1e-2, 1e-3, 1e-4], 4),
    "adam": ([1e-2, 1e-3, 1e-4], 4)}
SCALES = [0.001, 0.01, 0.1]
TOPICS: dict[str, Any] = {"topics": 5, "words_per_topic": 4, "topics_per_document": 2}
WORDS = 1 + 5 * 4


@claim(26, TOPIC, "The two stages occur with a variety of optimizers",
       forms=("", ""))
def stages_by_rule(long: bool) -> list[Number]:
    """Full-batch training by the discrete rules, from W_V = 0 and Gaussian W_K and W_Q of standard
    deviation `scale`, without weight decay: 20 words, 2 topics in a document. The map is over rule,
    learning rate and scale; the short form has two scales and the largest rates. Stage 1 ends when
    the norm of W_V is within 1% of its value under uniform attention, and stage 2 begins when the
    norm of W_K has doubled. A cell has "two stages" if the norms of W_K and W_Q change by at most a
    tenth in stage 1, and that of W_V by at most a tenth between the stages. If stage 1 does not end
    within the rule's time, the cell counts as one without two stages. This time is t = 4000 for
    sgd, 400 for momentum and Nesterov, 4 for the adaptive rules."""
    found: list[Number] = []
    for rule, (all_rates, end) in RULES.items():
        for scale in SCALES if long else SCALES[1:]:
            # The long form measures what the short one leaves out.
            rates = all_rates[:1] if not long else all_rates[scale > SCALES[0]:]
            changes = [stages(rule, rate, scale, end) for rate in rates]
            where = f"{rule}, scale {scale:g}"
            for rate, (before, between, order) in zip(rates, changes, strict=True):
                found += [Check(f"change of the norms of W_K and W_Q until stage 1 ends, rate "
                                f"{rate:g}", before, where, most=0.1),
                          Check(f"change of the norm of W_V between the stages, rate {rate:g}",
                                between, where, most=0.1),
                          Number(f"start of stage 2 relative to the end of stage 1, rate {rate:g}",
                                 order,
                                 where)]
    return found


def stages(rule: str, rate: float, scale: float, end: float) -> tuple[float, float, float]:
    """Returns the change of the factors until stage 1 ends, the change of W_V between the stages,
    and the start of stage 2 relative to the end of stage 1. They are infinite or NaN if stage 1
    does not end."""
    draw = np.random.default_rng(22)
    start = {name: draw.normal(0, scale, (WORDS, WORDS)) for name in ("W_K", "W_Q")}
    run = popflow.run("topic", problem=start, optimizer=rule, learning_rate=rate,
                      steps=round(end / rate), saves=1001, save_spacing="log", save_first=rate,
                      **FULL_BATCH, **TOPICS)
    first, second = (float(run.time_of[name].values[0]) for name in ("stage1_end", "stage2_start"))
    if not np.isfinite(first):
        return np.inf, np.nan, np.nan
    time = run.time.values
    value, *factors = (run[name].values[0] for name in ("norm_value", "norm_key", "norm_query"))
    last = second if np.isfinite(second) else time[-1]
    between = (time >= first) & (time <= last)
    moved = (float(np.ptp(value[between]) / np.interp(first, time, value)) if between.any()
             else np.nan)
    return (max(abs(float(np.interp(first, time, norm) / norm[0] - 1)) for norm in factors), moved,
            second / first)


# ---- momentum against a larger learning rate

#: Learning rates eta/(1 - beta) of plain SGD. Each run has TIME/rate steps.
EFFECTIVE = [0.02, 0.1, 0.5]
BETAS = [0.5, 0.9, 0.99]
TIME, TIMES = 8.0, 17
WATCHED = ["loss", "slope", "prob_0to1"]


@claim(27, OWN, "Momentum beta at rate eta equals plain SGD at rate eta/(1 - beta), to 5%",
       forms=("", ""))
def momentum_is_a_larger_rate(long: bool) -> list[Number]:
    """Momentum and plain SGD run for an equal number of steps from one start, to time 8 of the
    larger rate. Without noise (full batches, the discrete rules), the largest difference of loss,
    slope and prob_0to1 over time is measured relative to the range of each. It must be at most
    0.05. With noise there are batches of 16 with 32 symbols and 1600 runs of each rule; the short
    form has 60 runs at the middle rate alone. The means must agree within 5% of their range by a
    test (1: agree, 0: differ; 0.5 ± 1: undecided). The standard deviation of the slope at the end
    must agree within 5% too, with its interval."""
    runs = 1600 if long else 60
    found: list[Number] = []
    for rate in EFFECTIVE:
        steps = round(TIME / rate)
        saved = sorted({round(steps * i / (TIMES - 1)) for i in range(TIMES)})
        for beta in BETAS:
            if not long:
                found += without_noise(rate, beta, saved)
            if long or rate == 0.1:
                found += with_noise(rate, beta, saved, runs)
    return found


def course(of: float, saved: list[int], rate: float, **options: Any) -> dict[str, np.ndarray]:
    """Trains at the rate `of`, and returns the courses over the time of the larger rate."""
    run = popflow.run("markov", learning_rate=of, steps=saved[-1], save_at=[k * of for k in saved],
                      **options)
    return {"time": np.array(saved) * rate, **{each: run[each].values for each in WATCHED}}


def both(rate: float, beta: float, saved: list[int],
         *options: dict[str, Any]) -> list[dict[str, np.ndarray]]:
    """Returns the courses of plain SGD and of momentum."""
    rules = ({}, {"optimizer": "momentum", "momentum": beta})
    return [course(of, saved, rate, **rule, **more) for of, rule, more in
            zip((rate, rate * (1 - beta)), rules, options, strict=True)]


def without_noise(rate: float, beta: float, saved: list[int]) -> list[Number]:
    plain, moved = both(rate, beta, saved, FULL_BATCH, FULL_BATCH)
    apart = max(float(np.abs(moved[each] - plain[each]).max() / np.ptp(plain[each]))
                for each in WATCHED)
    return [Check("largest difference without noise", apart,
                  f"without noise, beta = {beta:g}, eta/(1 - beta) = {rate:g}", most=0.05)]


def with_noise(rate: float, beta: float, saved: list[int], runs: int) -> list[Number]:
    noise = {"mode": "sgd", "batch_size": 16, "context_length": 32, "runs": runs, "state": "none"}
    plain, moved = both(rate, beta, saved, {**noise, "seed": 1}, {**noise, "seed": 2})
    said = popflow.compare_trajectories(sgd_like=plain, momentum=moved).verdicts
    verdicts = [str(word) for word in said.verdict.values.ravel() if str(word)]
    # An undecided comparison has an interval that contains both 0 and 1.
    agree = (0.0 if "differ" in verdicts else
             Estimate(0.5, 1.0) if "undecided" in verdicts else 1.0)
    where = f"with noise, {runs} runs, beta = {beta:g}, eta/(1 - beta) = {rate:g}"
    return [Check("means agree (1: yes, 0: no)", agree, where, least=1),
            Check("standard deviation of the slope relative to plain SGD",
                  spread(moved["slope"][:, -1], plain["slope"][:, -1]), where,
                  least=0.95, most=1.05)]


def spread(a: np.ndarray, b: np.ndarray) -> Estimate:
    """Returns the ratio of two standard deviations, with an error from the fourth moments of the
    samples."""
    def error(x: np.ndarray) -> float:
        kurtosis = max(float(((x - x.mean())**4).mean() / x.var()**2), 3.0)
        return float(np.sqrt((kurtosis - 1) / (4 * len(x))))

    ratio = float(a.std(ddof=1) / b.std(ddof=1))
    return Estimate(ratio, ratio * float(np.hypot(error(a), error(b))))
