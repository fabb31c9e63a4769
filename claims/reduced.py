"""Reduced forms of claims, cheap enough for every training rule: plain steps, momentum and Adam.

Each form trains by the discrete rule and with the population gradient, unless a claim is about
samples. The number of steps is the same under every rule. Momentum has a tenth of plain training's
learning rate, since its steps are ten times as long; Adam has a rate that is common in practice."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import popflow
from popflow.analysis import Estimate

from .claim import Check, Number
from .markov import CHAINS, expected, plain
from .share import share
from .topics import SMALL as SIZES
from .training import FULL_BATCH, stages

Reduced = Callable[["Rule"], list[Number]]


@dataclass(frozen=True)
class Rule:
    """A training rule with its learning rate in units of that of plain training."""

    name: str
    #: Divisor of plain training's rate.
    slower: float

    def steps(self, rate: float, steps: int, adaptive: float) -> dict[str, Any]:
        """Returns options for a number of steps at plain training's `rate`, or at the rate
        `adaptive` for Adam."""
        rate = adaptive if self.name == "adam" else rate / self.slower
        return {"optimizer": self.name, "learning_rate": rate, "steps": steps}

    def flow(self, rate: float, t_end: float) -> dict[str, Any]:
        """Returns options of the rule's flow, for systems whose reduced coordinates have no
        noise."""
        return {"optimizer": self.name, "learning_rate": rate / self.slower,
                "t_end": t_end / self.slower}


PLAIN, MOMENTUM, ADAM = Rule("sgd", 1), Rule("momentum", 10), Rule("adam", 1)


def quiet(command: Callable[..., Any], *words: Any, **options: Any) -> Any:
    """Runs a command without warnings, since runs may diverge or end undecided."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return command(*words, **options)


def separatrix(rule: Rule) -> list[Number]:
    """Claim 17 from 200 starts."""
    draw = np.random.default_rng(17)
    starts = {"w0": plain(draw.uniform(-2, 0, 200)), "e0": plain(draw.uniform(0, 1.5, 200))}
    found: list[Number] = []
    for bias in ("optimal", "free"):
        for chain in CHAINS.values():
            ends = quiet(popflow.sweep, "markov", {"start": starts}, bias=bias,
                         **rule.steps(0.1, 20_000, 0.01), **FULL_BATCH, **chain)
            outcome = ends.popflow.words("outcome").values.ravel()
            decided = np.isin(outcome, ["global", "local"])
            other = decided & (outcome != expected(ends.w0, ends.e0, chain).values)
            found.append(Check("starts that end elsewhere", int(other.sum()), f"{bias} bias",
                               most=0))
    return found


def small_starts(rule: Rule) -> list[Number]:
    """Claim 19 from 400 Gaussian starts, with Adam for a quarter of the steps."""
    found: list[Number] = []
    for sigma in (0.02, 0.3):
        e, w, b = np.random.default_rng(19).normal(0, sigma, (3, 400))
        start = {"e0": plain(e), "w0": plain(w), "b0": plain(b)}
        for where, chain in CHAINS.items():
            ends = quiet(popflow.sweep, "markov", {"start": start}, bias="free",
                         **rule.steps(0.1, 10_000 if rule.name == "adam" else 40_000, 0.01),
                         **FULL_BATCH, **chain)
            good = "global" if where == "p + q < 1" else "local"
            found.append(Check(f"share that ends {good}",
                               share(ends.popflow.words("outcome").values.ravel() == good),
                               f"{where} with sigma = {sigma:g}", least=0.98))
    return found


def value_blocks(rule: Rule) -> list[Number]:
    """Claim 21 with 20 words."""
    draw = np.random.default_rng(21)
    starts = {"zero": np.zeros((SIZES.symbols, SIZES.symbols)),
              "Gaussian": draw.normal(0, 0.1, (SIZES.symbols, SIZES.symbols))}
    found: list[Number] = []
    for name, start in starts.items():
        start[0] = 0
        run = popflow.run("topic", train="value", problem={"W_V": start}, l2=1e-2, saves=2,
                          **rule.steps(1, 4000, 0.01), **FULL_BATCH | {"state": "ends"},
                          **SIZES.options)
        within, between = SIZES.blocks(
            run.W_V.values[..., -1, :, :].reshape(start.shape))
        found.append(Check("differences within blocks relative to those between them",
                           within / between,
                           f"from {name}", most=1e-6))
    return found


def two_stages(rule: Rule) -> list[Number]:
    """Claim 22 with 20 words, from Gaussian factors."""
    found: list[Number] = []
    for scale in (0.001, 0.01):
        rate, end = {"sgd": (1.0, 4000), "momentum": (0.1, 400), "adam": (0.01, 40)}[rule.name]
        before, between, _ = stages(rule.name, rate, scale, end)
        found += [Check("change of W_K and W_Q until stage 1 ends", before, f"scale {scale:g}",
                        most=0.1),
                  Check("change of W_V between the stages", between, f"scale {scale:g}", most=0.1)]
    return found


def attention(rule: Rule) -> list[Number]:
    """Claim 23 with 20 words: joint training from Gaussian factors and W_V = 0."""
    draw = np.random.default_rng(23)
    start = {name: draw.normal(0, 0.01, (SIZES.symbols, SIZES.symbols)) for name in ("W_K", "W_Q")}
    run = popflow.run("topic", problem=start, saves=101, **rule.steps(1, 20_000, 0.003),
                      **FULL_BATCH, **SIZES.options)
    with_word, without = (float(of[-1]) for of in SIZES.contrasts(run.isel(run=0)))
    return [Check("contrast", with_word, "the queried word counted", least=1.1),
            Check("contrast", without, "other words of the topic alone", least=1.1)]


def embeddings(rule: Rule) -> list[Number]:
    """Claim 25 with 20 words, from Gaussian embeddings."""
    start = np.random.default_rng(25).normal(0, 0.01, (SIZES.symbols, SIZES.symbols))
    run = popflow.run("topic", train="embedding", problem={"W_E": start}, saves=2,
                      **rule.steps(0.3, 20_000, 0.003), **FULL_BATCH | {"state": "ends"},
                      **SIZES.options)
    factor = run.W_E.values[..., -1, :, :].reshape(start.shape)
    own, other = SIZES.pairs(factor.T @ factor)
    return [Check("relative excess of the least product within topics over the largest of two "
                  "topics",
                  float(1 - other.max() / own.min()), least=0.1)]


def theorem(rule: Rule) -> list[Number]:
    """Claim 10: figure 2's set-up with 10 nodes."""
    found: list[Number] = []
    for kind in ("linear", "exp", "softmax"):
        own = {} if kind == "linear" else {"temperature": 0.5}
        run = quiet(popflow.run, "joma-joint", attention=kind, tokens=20, activation="identity",
                    backprop="cross-entropy", data="gaussian", init_scale=0.01, classes=10,
                    nodes=10, saves=51, **own, **rule.steps(0.002, 20_000, 0.001), **FULL_BATCH)
        least = float(run.correlation.values.ravel()[1:].min())
        found.append(Check("least correlation over time", least, f"{kind} attention",
                           least=0.95 if kind == "softmax" else 0.999))
    return found


def draws_of_joma(rule: Rule, rate: float, steps: int, adaptive: float, draws: int,
                  **options: Any) -> Any:
    return quiet(popflow.sweep, "joma-joint", {"problem_seed": range(1, draws + 1)},
                 record="series", saves=101, save_spacing="log",
                 save_first=10 * rule.steps(rate, 1, adaptive)["learning_rate"], **options,
                 **rule.steps(rate, steps, adaptive), **FULL_BATCH)


def correlation(rule: Rule) -> list[Number]:
    """Claim 11: sampled training on figure 2's data and on Dirichlet data."""
    found: list[Number] = []
    for data in ("gaussian", "dirichlet"):
        runs = quiet(popflow.sweep, "joma-joint", {"problem_seed": range(1, 9)}, mode="sgd",
                     record="series", saves=101, state="none", batch_size=20, context_length=100,
                     tokens=20, temperature=0.5, activation="identity", backprop="cross-entropy",
                     data=data, init_scale=0.01, classes=20, nodes=20, attention="softmax",
                     **rule.steps(0.1, 2000, 0.01))
        least = runs.correlation.values.reshape(8, -1)[:, 1:].min(axis=-1)
        found.append(Check("least correlation over time, mean over runs",
                           Estimate(float(least.mean()), float(least.std(ddof=1) / np.sqrt(8)), 7),
                           f"{data.capitalize()} data", least=0.95))
    return found


def bounced(values: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Tells whether each series falls below its start, and ends above its minimum, by at least
    `down`."""
    least = values.min(axis=-1)
    return (values[:, 0] - least >= down) & (values[:, -1] - least >= down)


def entropy(rule: Rule) -> list[Number]:
    """Claim 13 for attention that is trained jointly, to t = 1000 of plain training."""
    found: list[Number] = []
    for activation in ("square", "relu"):
        smooth = {"relu_smoothing": 0.01} if activation == "relu" else {}
        runs = draws_of_joma(rule, 0.1, 10_000, 0.003, 6, **smooth, tokens=20, temperature=1,
                             activation=activation, backprop="cross-entropy", data="gaussian",
                             init_scale=0.01, classes=20, nodes=20, attention="softmax")
        happened = bounced(runs.attention_entropy.values.reshape(6, -1), np.full(6, 0.1))
        found.append(Check("share of 6 draws that bounce", float(happened.mean()), activation,
                           least=0.9))
    return found


def rank(rule: Rule) -> list[Number]:
    """Claim 14 with a smooth activation and with the square, to t = 1000 of plain training."""
    found: list[Number] = []
    for activation in ("identity", "square"):
        for data in ("gaussian", "dirichlet"):
            runs = draws_of_joma(rule, 0.1, 10_000, 0.003, 6, activation=activation, data=data,
                                 temperature=1, classes=10)
            values = runs.stable_rank.values.reshape(6, -1)
            happened = bounced(values, 0.1 * values[:, 0])
            found.append(Check("share of 6 draws that bounce", float(happened.mean()),
                               f"{activation} with {data.capitalize()} data", least=0.9))
    return found


def first_stage(rule: Rule) -> list[Number]:
    """Claim 2: growth of the boosting time with log T."""
    lengths = [10**6, 10**7, 10**8, 10**9]
    runs = quiet(popflow.sweep, "scb", {"context_length": lengths}, coordinates="signal",
                 vocab_size=10, **rule.flow(0.02, 200))
    growth = np.diff(runs.time_of.boosted.values.ravel())
    return [Check("added time for the last decade of T relative to the first",
                  float(growth[-1] / growth[0]), "length of stage 1", least=0.95, most=1.05)]


#: Standard deviation of one sample's gradient in the problem of `gaussian_noise` (claim 5).
SCALE = 1.46


def gaussian_noise(rule: Rule) -> list[Number]:
    """Claim 5: the share of runs with Gaussian noise that leave stage 1, N = 20 and T = 1000."""
    found: list[Number] = []
    for batch in (10_000, 1_000_000):
        runs = quiet(popflow.run, "scb", vocab_size=20, context_length=1000, sparsity=2,
                     transition_concentration=0.1, mode="sde", method="gradient_descent",
                     noise="isotropic", noise_scale=SCALE, batch_size=batch, runs=60, saves=2,
                     state="none", show=False, **rule.steps(0.5, 100, 0.5))
        found.append(Check("share of runs with signal_A above 0.1 after stage 1",
                           share(runs.signal_A.values[:, -1] > 0.1), f"B = {batch}", least=0.9))
    return found


def transfer(rule: Rule) -> list[Number]:
    """Claim 6: growth of the boosting time with T, after a transfer relative to training from
    scratch."""
    waits = {}
    for mix in (0.0, 0.5):
        times = []
        for length in (10**6, 10**8):
            options = {"context_length": length, "coordinates": "signal", "vocab_size": 10,
                       "saves": 2, "show": False}
            start = {}
            if mix:
                first = quiet(popflow.run, "scb", t_end=400, **options)
                start = {"init_from": first.popflow.path, "init_mix": mix}
            run = quiet(popflow.run, "scb", **options, **start, **rule.flow(0.02, 200))
            times.append(float(np.ravel(run.time_of.boosted)[0]))
        waits[mix] = times[1] - times[0]
    return [Check("growth of the wait with T, relative to training from scratch",
                  waits[0.5] / waits[0.0],
                  "the wait that grows with T", least=-0.01, most=0.01)]


def softmax(rule: Rule) -> list[Number]:
    """Claim 8: signal_A of softmax against linear attention near the start."""
    found: list[Number] = []
    for length in (100, 1000):
        ends = [float(np.ravel(quiet(
            popflow.run, "scb", vocab_size=5, sparsity=2, transition_concentration=0.3, show=False,
            coordinates="support", context_length=length, attention=kind, saves=2,
            **rule.flow(0.01, 1)).signal_A.values)[-1]) for kind in ("softmax", "linear")]
        found.append(Check("T^2 times the ratio of signal_A, softmax to linear",
                           ends[0] / ends[1] * length**2, f"start at T = {length}", least=0.98,
                           most=1.02))
    return found


FORMS: dict[int, Reduced] = {
    2: first_stage, 5: gaussian_noise, 6: transfer, 8: softmax, 10: theorem, 11: correlation,
    13: entropy, 14: rank, 17: separatrix, 19: small_starts, 21: value_blocks, 22: two_stages,
    23: attention, 25: embeddings}
