"""JoMA: attention that follows from the MLP above it (claims 10 to 15)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

import popflow
from popflow.analysis import Estimate, power_law

from .claim import Check, Number, claim
from .papers import JOMA
from .share import share

#: The set-up of the paper's figures 2 and 3.
FIGURE_2 = {"tokens": 20, "temperature": 0.5, "activation": "identity",
            "backprop": "cross-entropy", "data": "gaussian", "init_scale": 0.01}


def with_attention(attention: str) -> dict[str, Any]:
    """Returns the set-up of figures 2 and 3 with another attention. Linear attention has no
    temperature."""
    idle = {"temperature"} if attention == "linear" else set()
    return {"attention": attention,
            **{name: value for name, value in FIGURE_2.items() if name not in idle}}


def tolerance(times: float = 1) -> dict[str, float]:
    """Returns the program's default tolerance times a factor."""
    return {"rtol": 1e-8 * times, "atol": 1e-10 * times}


def as_wide(*widths: int) -> dict[str, Any]:
    """Cross-entropy has as many hidden nodes as classes."""
    return {"width": {"classes": list(widths), "nodes": list(widths)}}


@claim(10, JOMA, "Theorem 1: the logits follow the weights, exactly for linear and exp "
       "attention, nearly for softmax",
       experiments=["joma-figure2", "joma-joint-correlation"], forms=("32 draws", "96 draws"))
def theorem(long: bool) -> list[Number]:
    """The flow of figure 2 is run with each attention. The theorem's invariant may change by no
    more than the solver error, which falls with the tolerance. The correlation over tokens between
    z and the theorem's z must be 1.

    For softmax the theorem is an approximation. It counts as nearly exact if it explains nine
    tenths of the variance of z over tokens. For this, the correlation's least value up to t = 200,
    averaged over draws, must be at least 0.95. Data, number of nodes, activation and scale of the
    start are varied one by one from figure 2. Only the pattern of the logits over tokens follows
    the theorem, not their size: the invariant changes by several times the range of the logits.

    The theorem is about flows. Gradient steps of size eta change the invariants of linear and exp
    attention by amounts proportional to eta. Exp attention makes the flow stiff as its logits grow.
    Larger steps are then unstable, and the theorem fails. Softmax attention stays stable with such
    steps."""
    widths = (4, 5, 10, 20, 40) if long else (2, 3, 5, 10, 20)
    found = [number for attention in ("linear", "exp") for number in exact(attention, widths)]
    draws = 96 if long else 32
    for data in ("Gaussian", "Dirichlet"):
        for width in widths:
            found += approximate(width, draws, f"{data} data", data=data.lower())
    for activation in ("relu", "square", "tanh"):
        found += approximate(10, draws, activation, activation=activation)
    for scale in (0.1, 0.5, 1):
        found += approximate(10, draws, f"starts of {scale:g}", init_scale=scale)
    return found + [number for attention in ("linear", "exp", "softmax")
                    for number in with_steps(attention)]


def exact(attention: str, widths: tuple[int, ...]) -> list[Number]:
    place = f"{attention} attention"
    found: list[Number] = []
    for rtol in (1e-6, 1e-8):
        flow = popflow.sweep("joma-joint", as_wide(*widths), t_end=100, record="series", saves=51,
                             rtol=rtol, atol=rtol / 100, **with_attention(attention))
        change, correlation = flow.theorem_residual.max(), flow.correlation[..., 1:].min()
        found += [Check(f"largest change of the invariant, rtol = {rtol:g}", float(change), place,
                        most=100 * rtol),
                  Check(f"1 - correlation, rtol = {rtol:g}", float(1 - correlation), place,
                        most=100 * rtol)]
    return found


def approximate(width: int, draws: int, words: str, **options: Any) -> list[Number]:
    """Measures softmax attention in the set-up of figure 2 with some options changed."""
    def flow(rtol: float, seeds: int) -> Any:
        return popflow.sweep("joma-joint", {**as_wide(width), "problem_seed": range(1, seeds + 1)},
                             attention="softmax", t_end=200, record="series", saves=101, rtol=rtol,
                             **{**FIGURE_2, **options})

    fine = flow(1e-8, draws)
    least, coarser = (run.correlation[..., 1:].min(run.correlation.dims[-1]).values.ravel()
                      for run in (fine, flow(1e-6, 2)))
    change = fine.theorem_residual.isel(time=-1) / (fine.z.max("token") - fine.z.min("token"))
    place = f"softmax, {width} nodes, {words}"
    return [Check("least correlation over time, mean over draws", mean_of(least), place,
                  least=0.95),
            Number("least correlation over time, worst draw", float(least.min()), place),
            Number("change of the least correlation at a hundred times the tolerance, 2 draws",
                   float(abs(least[:2] - coarser).max()), place),
            Number("change of the invariant relative to the final range of the logits, mean over "
                   "draws",
                   float(change.mean()), place)]


def with_steps(attention: str) -> list[Number]:
    """Measures how far gradient steps depart from the theorem."""
    def trained(steps: list[float], t_end: float) -> Any:
        return popflow.sweep("joma-joint", {"dt": steps}, method="euler", t_end=t_end,
                             record="series", saves=21, classes=10, **with_attention(attention))

    found: list[Number] = []
    if attention != "softmax":
        small = trained([0.0125, 0.025, 0.05], 20)
        power = power_law(small.dt, small.theorem_residual.max("time")).exponent
        found.append(Number("exponent of the step length in the change of the invariant", power,
                            f"{attention} attention, gradient steps"))
    for step, run in trained([0.05, 0.2, 1], 100).groupby("dt"):
        found.append(Number(f"correlation after steps of {step:g}", run.correlation[..., -1].item(),
                            f"{attention} attention, gradient steps"))
    return found


@claim(11, JOMA, "The correlation between the logits and those of theorem 1 stays near 1 under "
       "SGD with cross-entropy",
       experiments=["joma-figure2-sgd", "joma-joint-correlation"],
       forms=("10 draws", "96 draws"))
def correlation(long: bool) -> list[Number]:
    """Figure 2: 2000 steps of 0.1 with softmax attention, here on batches of 20 contexts of 100
    tokens, for several draws of problem and start. The least correlation over time, averaged over
    runs, must be at least 0.95, so that nine tenths of the variance over tokens are explained."""
    draws = 96 if long else 10
    found: list[Number] = []

    def least(where: str, **options: Any) -> None:
        options = {**FIGURE_2, "learning_rate": 0.1, "context_length": 100, "classes": 20,
                   "batch_size": 20, **options}
        runs = popflow.sweep("joma-joint", {"problem_seed": range(1, draws + 1)}, mode="sgd",
                             record="series", saves=101, t_end=200, state="none", **options)
        low = runs.correlation[..., 1:].min(runs.correlation.dims[-1]).values.ravel()
        found.append(Check("least correlation over time, mean over runs", mean_of(low), where,
                           least=0.95))

    least("figure 2")
    least("learning rate 1", learning_rate=1)
    least("Dirichlet data", data="dirichlet")
    least("contexts of 10 tokens", context_length=10)
    least("10 nodes", classes=10)
    least("5 nodes", classes=5)
    return found


def mean_of(values: Any) -> Estimate:
    values = np.asarray(values, float)
    return Estimate(float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size)),
                    values.size - 1)


@claim(12, JOMA, "With linear activation, weights grow by the error function and attention only "
       "becomes sparser",
       experiments=["joma-erf-law"], forms=("8 draws", "32 draws"))
def error_function(long: bool) -> list[Number]:
    """Theorem 3, for exp attention and one node: erf(v/(sqrt 2 tau)) of every token grows linearly
    in time, at a rate proportional to its drive, until the first weight blows up. Two numbers are
    measured along the flow up to 99% of that time, at several temperatures. They are the distance
    from this law, which is the solver error, and the largest rise of the entropy from one record to
    the next.

    The entropy only falls if the weights start equal, as in the paper. From weights of either sign
    it can rise."""
    draws = 32 if long else 8
    found: list[Number] = []
    for tau in (0.5, 1.0, 2.0):
        place = f"temperature {tau:g}"
        for rtol in (1e-6, 1e-9):
            off, rise, left = law(tau, rtol, draws)
            found.append(Check(f"largest distance from the error-function law, rtol = {rtol:g}",
                               off, place,
                               most=100 * rtol))
        found += [Check("largest rise of the entropy", rise, place, most=1e-6),
                  Number("largest final entropy (at most log 10 = 2.303)", left, place)]
    for attention in ("softmax", "linear"):
        runs = popflow.sweep("joma", {"problem_seed": range(1, draws + 1)}, activation="linear",
                             attention=attention, record="series", saves=401)
        found.append(Check("largest rise of the entropy",
                           float(runs.attention_entropy.diff("save").max()),
                           f"{attention} attention", most=1e-6))
    unequal = [rise_from_unequal(seed) for seed in range(draws)]
    return [*found, Number("share of starts from which the entropy rises by more than 0.01",
                           share(np.array(unequal) > 0.01), "starts that differ")]


def law(tau: float, rtol: float, draws: int) -> tuple[float, float, float]:
    """Returns the distance from the law, the largest rise of the entropy, and the largest final
    entropy."""
    off, rise, left = 0.0, -np.inf, 0.0
    for seed in range(1, draws + 1):
        ask = {"activation": "linear", "attention": "exp", "temperature": tau, "problem_seed": seed}
        blow_up = popflow.run("joma", t_end=1e-9, **ask).attrs["blow_up_time"]
        run = popflow.run("joma", t_end=0.99 * blow_up, saves=201, rtol=rtol, atol=rtol / 100,
                          coordinates="full", **ask)
        drive = run.popflow.group("problem").drive.values[0]
        grown = special.erf(run.v.values[:, 0] / (math.sqrt(2) * tau))
        expected = grown[0] + math.sqrt(2 / math.pi) / tau * np.outer(run.time, drive)
        entropy = run.attention_entropy.values
        off = max(off, float(np.abs(grown - expected).max()))
        rise, left = max(rise, float(np.diff(entropy).max())), max(left, float(entropy[-1]))
    return off, rise, left


def rise_from_unequal(seed: int) -> float:
    """Returns the largest rise of the entropy above an earlier value, from starts of either
    sign."""
    draw = np.random.default_rng(seed)
    run = popflow.run("joma", problem={"drive": draw.uniform(1, 4, 10),
                                       "v0": draw.normal(0, 1, (1, 10))}, saves=201)
    entropy = run.attention_entropy.values
    return float((entropy - np.minimum.accumulate(entropy)).max())


@claim(13, JOMA, "With nonlinear activation, the entropy of attention falls and rises again, and "
       "salient tokens are learned first",
       experiments=["joma-figure4", "joma-salient-first", "joma-first-learned"],
       forms=("", ""))
def entropy_bounce(long: bool) -> list[Number]:
    """Figure 4's integrated flow: one node, ten targets uniform on (1, 4), softmax attention of
    exp(v^2/3), to t = 100, for many draws of the targets. A bounce means that the entropy falls by
    at least 0.1 nats and ends at least 0.1 above its minimum. The claim holds if nine draws of ten
    bounce. Tokens must reach 90% of their targets in the order of the targets. Near its target a
    token must relax, with exp attention, at a rate proportional to exp(mu^2/(2 tau^2)).

    Several nodes share a token's attention, whose logit is then a sum over nodes: the first token
    holds the attention for a time of the order of exp(sum of mu^2/(2 tau^2)). So with more nodes
    the entropy falls lower and rises later. Softmax attention is exp attention with rescaled time:
    dt of softmax is the sum of the exponentials times dt of exp. Both follow one path, so the state
    at t = infinity is the end of the exp flow, in which every weight is within 1e-6 of its target
    at time 60. The minimum is taken over the softmax flow until t = 1e6 and the exp flow. At t =
    infinity most draws bounce even with 8 nodes, where hardly any does by t = 1e6. The share falls
    with the number of nodes, because the final attention is sparser."""
    draws = 400 if long else 150
    seeds = range(1, draws + 1)
    orders = range(1, 33 if long else 9)
    found: list[Number] = []
    figure = {"activation": "nonlinear", "attention": "softmax", "temperature": math.sqrt(1.5),
              "record": "series"}
    one = popflow.sweep("joma", {"problem_seed": seeds}, t_end=100, saves=401, **figure)
    rough = popflow.sweep("joma", {"problem_seed": seeds}, t_end=100, saves=401, rtol=1e-6,
                          **figure)
    place = f"figure 4, {draws} draws"
    found += bounces(one.attention_entropy.values, place)
    found.append(Number("largest change of an entropy at a hundred times the tolerance",
                        float(np.abs(one.attention_entropy - rough.attention_entropy).max()),
                        place))
    found.append(Check(f"draws of {len(orders)} in which tokens are not learned in the order of "
                       f"their targets",
                       sum(out_of_order(seed) for seed in orders), place, most=0))
    if not long:
        found.append(Check("largest relative deviation of a ratio of rates from the formula",
                           off_the_ratio(), "exp attention", most=0.03))
    found += at_infinity(1, seeds, one.attention_entropy.values)
    for nodes in (2, 3, 5, 8):
        runs, rough = (popflow.sweep("joma", {"problem_seed": some}, nodes=nodes, t_end=1e6,
                                     saves=401, save_spacing="log", save_first=1e-2,
                                     **tolerance(times), **figure)
                       for times, some in ((1, seeds), (10, range(1, 21))))
        entropy = runs.attention_entropy.values
        place = f"{nodes} nodes until t = 1e6, {draws} draws"
        found += bounces(entropy, place)
        found += [Number("share of draws that bounce by t = 1e5",
                         float(bounced(entropy[..., runs.time.values <= 1e5]).mean()), place),
                  Number("largest change of an entropy at ten times the tolerance, 20 draws",
                         float(np.abs(rough.attention_entropy.values - entropy[:20]).max()), place)]
        found += at_infinity(nodes, seeds, entropy)
        turned = runs.time_of.entropy_minimum.fillna(np.inf)
        found += [Number("median of the least entropy", float(np.median(entropy.min(axis=-1))),
                         place),
                  Number("median time of the least entropy", float(np.median(turned)), place)]
    # At temperature 0.5 the flow is too stiff to go on for long.
    for activation, tau, count, other in (("square", 1.0, 200, 2000), ("square", 0.5, 32, 500),
                                          ("relu", 1.0, 32, 2000)):
        count = count if long else 8
        place = f"trained with the attention ({activation}, temperature {tau:g}), {count} draws"
        t_end = max(1000, other)
        entropy = trained_entropy(activation, tau, count, t_end)
        rough = trained_entropy(activation, tau, 2, t_end, 10)
        found += bounces(entropy[..., :201], place)
        found += [Number(f"share of draws that bounce by t = {other}",
                         float(bounced(entropy[..., :other // 5 + 1]).mean()), place),
                  Number("largest change of an entropy at ten times the tolerance, 2 draws",
                         float(np.abs(rough - entropy[:2]).max()), place)]
    return found


def trained_entropy(activation: str, tau: float, draws: int, t_end: int,
                    times: float = 1) -> np.ndarray:
    """Returns the entropy of attention trained jointly with its MLP, for each draw, every 5 units
    of time."""
    options = {**FIGURE_2, "activation": activation, "temperature": tau, "classes": 20}
    return popflow.sweep("joma-joint", {"problem_seed": range(1, draws + 1)}, t_end=t_end,
                         saves=t_end // 5 + 1, record="series", state="none", **tolerance(times),
                         **options).attention_entropy.values


def at_infinity(nodes: int, seeds: range, until: np.ndarray) -> list[Number]:
    """Tests whether the entropy bounces on the whole path. `until` is the entropy over time with
    softmax attention."""
    path = popflow.sweep("joma", {"problem_seed": seeds}, nodes=nodes, t_end=60, saves=401,
                         save_spacing="log", save_first=1e-3, record="series", attention="exp",
                         activation="nonlinear", temperature=math.sqrt(1.5))
    entropy = path.attention_entropy.values
    least = np.minimum(until.min(axis=-1), entropy.min(axis=-1))
    joined = np.stack([until[..., 0], least, entropy[..., -1]], axis=-1)
    place = (f"{nodes} {'node' if nodes == 1 else 'nodes'} until t = infinity, "
             f"{len(seeds)} draws")
    return [*bounces(joined, place),
            Number("median of the final entropy", float(np.median(entropy[..., -1])), place),
            Number("least final weight relative to its target",
                   float(path.learned_min.values[..., -1].min()), place)]


def bounces(entropy: np.ndarray, place: str) -> list[Number]:
    rise = entropy[..., -1] - entropy.min(axis=-1)
    return [Check("share of draws that bounce", share(bounced(entropy)), place, least=0.9),
            Number("rise of the entropy from its least value to the end, mean over draws",
                   float(rise.mean()), place)]


def bounced(entropy: np.ndarray) -> np.ndarray:
    least = entropy.min(axis=-1)
    return (entropy[..., 0] - least >= 0.1) & (entropy[..., -1] - least >= 0.1)


def out_of_order(seed: int) -> bool:
    """Tells whether a token is learned before one with a larger target."""
    run = popflow.run("joma", activation="nonlinear", attention="softmax", t_end=100,
                      temperature=math.sqrt(1.5), problem_seed=seed)
    target = run.popflow.group("problem").target.values[0]
    times = run.time_to_90.values[0][np.argsort(-target)]
    return bool((np.diff(np.where(np.isfinite(times), times, 1e9)) < 0).any())


def off_the_ratio() -> float:
    """Returns the largest relative deviation from the theorem's ratio of rates, over pairs of
    tokens. Each token's rate is measured near its target, in the experiment joma-salient-first."""
    run = popflow.run(config="joma-salient-first")
    target = run.popflow.group("problem").target.values[0]
    rates = {}
    for mu, v in zip(target, run.v.values[:, 0].T):
        left = mu - v
        near = np.flatnonzero((left < 1e-3) & (left > 1e-9))
        if len(near) > 2:
            rates[mu] = np.log(left[near[-2]] / left[near[-1]]) / float(run.time[1] - run.time[0])
    largest = max(rates)
    return max(abs(rates[largest] / rate / math.exp((largest**2 - mu**2) / 2) - 1)
               for mu, rate in rates.items() if mu != largest)


@claim(14, JOMA, "The stable rank of the MLP's weights falls and rises again",
       forms=("12 to 50 draws", "50 draws"))
def stable_rank(long: bool) -> list[Number]:
    """The paper observes the bounce in pretrained language models. Here it is measured in an MLP
    trained with the attention below it (softmax, cross-entropy), until t = 1000. A bounce means
    that the rank falls by at least a tenth below its start, and ends at least a tenth above its
    minimum. Activation, data, temperature and number of nodes together are a condition. Each
    condition has twelve draws. If all of them bounce it has 50, since fewer draws cannot be told
    from nine of ten."""
    activations = ("identity", "silu", "relu", "square", *(("gelu", "tanh") if long else ()))
    found: list[Number] = []
    for nodes in (10, 20) if long else (10,):
        for activation in activations:
            for data in ("Gaussian", "Dirichlet"):
                for tau in (0.5, 1, 2):
                    place = f"{activation}, {data} data, temperature {tau:g}, {nodes} nodes"
                    found += rank_bounces(place, 50 if long else 12, activation=activation,
                                          data=data.lower(), temperature=tau, classes=nodes)
    return found


def rank_bounces(place: str, draws: int, **options: Any) -> list[Number]:
    """Measures the share of draws that bounce. There are 50 draws if all of the first ones
    bounce."""
    def ranks(seeds: range, times: float = 1) -> Any:
        return popflow.sweep("joma-joint", {"problem_seed": seeds}, t_end=1000, record="series",
                             saves=201, state="none", **tolerance(times), **options).stable_rank

    rank = ranks(range(1, draws + 1))
    if draws < 50 and rank_bounced(rank).all():
        rank = ranks(range(1, 51))
    least = rank.min(rank.dims[-1])
    rough = ranks(range(1, 2), 10)
    return [Check("share of runs that bounce", share(rank_bounced(rank)), place, least=0.9),
            Number("draws", float(rank.shape[0]), place),
            Number("share of runs that bounce by t = 500",
                   float(rank_bounced(rank[..., :101]).mean()), place),
            Number("median of the least rank relative to the initial one",
                   float((least / rank[..., 0]).median()), place),
            Number("median of the final rank relative to the least one",
                   float((rank[..., -1] / least).median()), place),
            Number("largest relative change of the rank at ten times the tolerance, 1 draw",
                   float(np.abs(rough.values / rank.values[:1] - 1).max()), place)]


def rank_bounced(rank: Any) -> Any:
    least = rank.min(rank.dims[-1])
    return (least <= 0.9 * rank[..., 0]) & (rank[..., -1] >= 1.1 * least)


@claim(15, JOMA, "Co-occurrence in the latent tree sets the order in which tokens are learned",
       experiments=["joma-tree"])
def tree(long: bool) -> list[Number]:
    """Tokens are the leaves of a binary latent tree. A token's target is its probability to occur
    together with the query, (1 + rho^(2H))/2 at height H of their common ancestor. The integrated
    flow (nonlinear, exp attention) must learn the tokens level by level: the query, its sibling,
    its cousins, and so on, and all tokens of a level at the same time.

    The largest start with the right order is searched at each temperature. Targets mu below (v(0)
    tau^2)^(1/3) are learned in the opposite order, because they are nearer to the start and
    attention does not yet distinguish tokens. So the boundary in the start is mu^3/tau^2 at the
    least target, if this is below the target itself: small starts keep the order at every
    temperature."""
    del long
    found: list[Number] = []
    least = 0.5  # targets lie above it, and near it at the top of the tree
    temperatures, largest = (1.0, 2.0, 3.0, 5.0, 10.0), []
    for tau in temperatures:
        starts = np.geomspace(0.02, 20, 61) * least**3 / tau**2
        starts = starts[starts < 0.9 * least]
        wrong = wrong_steps(tau, starts)[0].any(axis=(0, -1))
        largest.append(float(starts[~wrong].max()) if not wrong.all() else float("nan"))
        found += [Number("largest start from which tokens are learned in the order of the tree",
                         largest[-1],
                         f"temperature {tau:g}"),
                  Number("largest such start relative to mu^3/tau^2",
                         largest[-1] * tau**2 / least**3,
                         f"temperature {tau:g}")]
    power = float(power_law(temperatures[1:], np.array(largest[1:])).exponent.value)
    found.append(Check("exponent of the temperature in the largest start", power, "boundary",
                       least=-2.2, most=-1.8))
    for tau in (0.3, 1.0, 3.0, 10.0):
        for factor, words in ((0.1, "a tenth of"), (10, "ten times")):
            start = factor * least**3 / tau**2
            if start > 0.5 * least:
                continue  # beyond the targets
            wrong, within, change = wrong_steps(tau, np.array([start]))
            place = f"temperature {tau:g}, start {words} mu^3/tau^2"
            found += [Check(f"pairs of neighbouring levels in the wrong order, out of {wrong.size}",
                            int(wrong.sum()), place, most=0),
                      Check("spread of learning times within a level, relative to the latest time",
                            within, place, most=1e-7),
                      Number("largest relative change of a learning time at a tenth of the "
                             "tolerance",
                             change, place)]
    return found


def wrong_steps(tau: float, starts: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Returns three results. The first tells for each correlation, start and level of the tree
    whether the next level is not learned later. The second is the largest spread of times within a
    level, the third the largest change of a time at a tenth of the tolerance."""
    times, finer = (
        popflow.sweep("joma", {"tree_correlation": [0.5, 0.8, 0.95], "init": list(starts)},
                      temperature=tau, activation="nonlinear", attention="exp", data="tree",
                      tree_depth=6, **tolerance(of)).time_to_90.squeeze("node").values
        for of in (1, 0.1))
    level = np.array([int(leaf).bit_length() for leaf in range(64)])
    within = max(float(np.ptp(times[..., level == one], axis=-1).max()) for one in range(7))
    by_level = np.stack([times[..., level == one][..., 0] for one in range(7)], axis=-1)
    return (np.diff(by_level, axis=-1) <= 0, within / float(times.max()),
            float(np.abs(finer / times - 1).max()))
