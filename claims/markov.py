"""Markov chains: energy, basins, and where the starts end (claims 16 to 20)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

import popflow
from popflow.analysis import logistic

from .claim import Check, Number, claim
from .papers import MARKOV
from .share import share

SADDLE, SADDLE_ENERGY = -np.sqrt(0.5), -(1 + np.log(2)) / 2
#: Neighbours that tend to be equal, and such that tend to alternate.
CHAINS = {"p + q < 1": {"p": 0.2, "q": 0.3}, "p + q > 1": {"p": 0.7, "q": 0.8}}


@claim(16, MARKOV, "the flow conserves the energy",
       experiments=["markov-small-start-correlated", "markov-high-energy"])
def energy(long: bool) -> list[Number]:
    """The largest change of the energy along the flow, over starts in the plane and both signs of
    p + q - 1. It is the solver's error, since it falls with the tolerance."""
    del long
    found: list[Number] = []
    for rtol in (1e-6, 1e-10):
        runs = popflow.sweep("markov", {"e0": popflow.linear(-1.5, 1.5, 8),
                                        "w0": popflow.linear(-1.5, 1.5, 8), "q": [0.3, 0.9]},
                             record="series", p=0.3, t_end=50, rtol=rtol, atol=rtol / 100)
        drift = np.abs(runs.energy - runs.energy.isel(time=0)).max()
        found.append(Check("largest change of the energy", float(drift), f"rtol = {rtol:g}",
                           most=100 * rtol))
    return found


@claim(17, MARKOV, "the side of the separatrix decides whether a start ends in a local minimum",
       experiments=["markov-basins", "markov-basins-alternating"], has_long=True)
def basins(long: bool) -> list[Number]:
    """The theorem is about the flow of e and w with the bias b at its optimum. There no start in
    the plane may end elsewhere than it says, and the boundary between the outcomes, found by
    bisection, must have the saddle's energy, E_saddle = -(1 + log 2)/2.

    Training moves the bias, too. Starts drawn at random from -2 < w < 0, 0 < e < 1.5 are followed
    with such a free bias. If it starts at 0, they end elsewhere only near the separatrix. If it
    starts at its optimum, starts with p + q < 1 and large e can be far below the separatrix and
    yet end in a global minimum: e falls fast, the bias lags behind, and meanwhile the energy
    grows."""
    found: list[Number] = []
    for where, chain in CHAINS.items():
        found += with_optimal_bias(where, chain, 400 if long else 100)
    starts = drawn_starts(6000 if long else 1500)
    for where, chain in CHAINS.items():
        found += with_free_bias(where, chain, starts, "0", near=0.1)
        there = popflow.sweep("markov", {"start": starts}, t_end=0, **chain)
        found += with_free_bias(where, chain, {**starts, "b0": plain(there.b)}, "its optimum",
                                near=1)
    return found


def with_optimal_bias(where: str, chain: dict[str, float], count: int) -> list[Number]:
    ends = popflow.sweep("markov", {"w0": popflow.linear(-2, 1.99, count),
                                    "e0": popflow.linear(0.005, 2, count)}, **chain)
    elsewhere = ends.popflow.words("outcome") != expected(ends.w0, ends.e0, chain)
    return [Check(f"of {count * count} starts with {where}, end elsewhere",
                  int(elsewhere.sum()), "optimal bias", most=0),
            # e is bisected to 1e-8, and the energy changes by at most 2 e of that.
            Check(f"energy at the boundary, off E_saddle, {where}", boundary_error(chain),
                  "optimal bias", most=1e-7)]


def expected(w: Any, e: Any, chain: dict[str, float]) -> Any:
    """What the theorem says of starts with e != 0 that are not on the separatrix."""
    below = (w < 0) & (energy_of(w, e) < SADDLE_ENERGY)
    if chain["p"] + chain["q"] < 1:
        local = below & (w < SADDLE)
    else:
        local = (w >= 0) | below & (w > SADDLE)
    return xarray.where(local, "local", "global")


def energy_of(w: Any, e: Any) -> Any:
    with np.errstate(divide="ignore"):
        return e**2 - w**2 - np.sign(w) * np.log(np.abs(w))


def boundary_error(chain: dict[str, float]) -> float:
    """The largest distance of energy, over several w, of the boundary from the saddle."""
    worst = 0.0
    left = chain["p"] + chain["q"] < 1
    for w in (-1.6, -1.3, -1.0) if left else (-0.6, -0.4, -0.2):
        low, high = 1e-3, 3.0  # ends locally, and globally
        while high - low > 1e-8:
            ends = popflow.sweep("markov", {"e0": popflow.linear(low, high, 201)}, w0=w, **chain)
            last = int(np.flatnonzero(ends.popflow.words("outcome") == "local").max())
            low, high = float(ends.e0[last]), float(ends.e0[last + 1])
        worst = max(worst, abs(energy_of(w, (low + high) / 2) - SADDLE_ENERGY))
    return float(worst)


def drawn_starts(count: int) -> dict[str, list[float]]:
    draw = np.random.default_rng(17)
    return {"w0": plain(draw.uniform(-2, 0, count)), "e0": plain(draw.uniform(0, 1.5, count))}


def plain(values: Any) -> list[float]:
    """With the 15 digits that the values of axes have."""
    return [float(f"{value:.15g}") for value in np.asarray(values)]


def with_free_bias(where: str, chain: dict[str, float], starts: dict[str, list[float]], bias: str,
                   near: float) -> list[Number]:
    """Counts starts whose energy is nearer than `near` to the separatrix, and the others."""
    ends = popflow.sweep("markov", {"start": starts}, bias="free", **chain)
    outcome = ends.popflow.words("outcome")
    other = (outcome != expected(ends.w0, ends.e0, chain)).values
    distance = np.abs(energy_of(ends.w0, ends.e0) - SADDLE_ENERGY).values
    free = f"free bias from {bias}"
    closer = distance < near
    accurate = popflow.sweep("markov", {"start": starts}, bias="free", rtol=1e-11, atol=1e-13,
                             **chain)
    return [Check(f"of {closer.sum()} starts with {where}, end elsewhere", int(other[closer].sum()),
                  f"{free} within {near:g} of E_saddle", most=0),
            Check(f"of {(~closer).sum()} starts with {where}, end elsewhere",
                  int(other[~closer].sum()), f"{free} beyond {near:g} of E_saddle", most=0),
            Number(f"largest distance from E_saddle of one that ends elsewhere, {where}",
                   float(distance[other].max(initial=0)), free),
            Number(f"outcomes that change at a thousandth of the tolerance, {where}",
                   int((accurate.popflow.words("outcome") != outcome).sum()), free)]


@claim(18, MARKOV, "the critical points are global minima on a curve, and on the line e = 0 local "
       "minima, maxima and a saddle", experiments=["markov-left-of-saddle"])
def critical_points(long: bool) -> list[Number]:
    """The loss of e and w, with the bias at its optimum, on stencils around the points that the
    paper names. Their gradient is zero, their Hessian's eigenvalues have the signs of their kind:
    along the curve and along the line the loss is constant, so that one eigenvalue is 0. The
    saddle's Hessian is zero altogether; on a small circle around it the loss goes both above and
    below its own.

    That there are no others is checked on a grid: away from curve and line every place where the
    gradient is smaller than at its neighbours is near them.

    With a free bias the maxima are saddles, since the loss is convex in the bias."""
    del long
    found: list[Number] = []
    for where, chain in CHAINS.items():
        line = np.linspace(-2, 2, 41)
        sign = 1 if chain["p"] + chain["q"] < 1 else -1
        attracts = sign * (1 + 2 * line * np.abs(line)) < 0
        for kind, of, lowest in (("local minima", attracts, True), ("maxima", ~attracts, False)):
            found += degenerate(kind, where, chain, 0 * line[of], line[of], lowest)
        w = np.linspace(-0.65, 2, 41) if sign > 0 else np.linspace(-2, -0.75, 41)
        slope = np.log((1 - chain["p"]) * (1 - chain["q"]) / (chain["p"] * chain["q"]))
        e = np.sqrt(slope / (1 + 2 * w * np.abs(w)))
        found += degenerate("global minima", where, chain, e, w, lowest=True)
        found += [saddle(where, chain), others(where, chain)]
    return found


def degenerate(kind: str, where: str, chain: dict[str, float], e: np.ndarray, w: np.ndarray,
               lowest: bool) -> list[Number]:
    """Points along which the loss is constant: the eigenvalue across them is positive or negative,
    the other one 0 to the error of the differences."""
    gradient, eigenvalues = hessians(chain, e, w)
    across = eigenvalues[:, -1] if lowest else -eigenvalues[:, 0]
    along = eigenvalues[:, 0] if lowest else eigenvalues[:, -1]
    # The points have 15 digits: their gradient is below 1e-14 times the curvature.
    return [Check(f"largest gradient, {where}", float(gradient.max()), kind, most=1e-13),
            Check(f"least curvature across, {where}" if lowest
                  else f"least curvature across, downwards, {where}", float(across.min()), kind,
                  least=1e-3),
            # Differences over h = 1e-3 of a loss near 1: rounding makes 1e-10, terms of order h^2
            # 1e-6 times the fourth derivatives.
            Check(f"largest curvature along, {where}", float(np.abs(along).max()), kind,
                  most=1e-3)]


def hessians(chain: dict[str, float], e: np.ndarray, w: np.ndarray,
             h: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Norm of the gradient, and eigenvalues of the Hessian in rising order, at each point."""
    steps = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)]
    start = {"e0": plain(np.concatenate([e + h * i for i, _ in steps])),
             "w0": plain(np.concatenate([w + h * j for _, j in steps]))}
    there = popflow.sweep("markov", {"start": start}, t_end=0, **chain)
    at = dict(zip(steps, there.loss.values.reshape(len(steps), len(e))))
    ee = (at[1, 0] + at[-1, 0] - 2 * at[0, 0]) / h**2
    ww = (at[0, 1] + at[0, -1] - 2 * at[0, 0]) / h**2
    ew = (at[1, 1] + at[-1, -1] - at[1, -1] - at[-1, 1]) / (4 * h**2)
    matrices = np.moveaxis(np.array([[ee, ew], [ew, ww]]), -1, 0)
    return there.gradient_norm.values[:len(e)], np.linalg.eigvalsh(matrices)


def saddle(where: str, chain: dict[str, float]) -> Number:
    """The less of how far the loss rises and falls on a circle around the saddle."""
    angle = np.linspace(0, 2 * np.pi, 201)
    start = {"e0": plain(np.append(0.05 * np.cos(angle), 0)),
             "w0": plain(np.append(SADDLE + 0.05 * np.sin(angle), SADDLE))}
    loss = popflow.sweep("markov", {"start": start}, t_end=0, **chain).loss.values
    change = loss[:-1] - loss[-1]
    return Check(f"rise and fall of the loss at a distance of 0.05, {where}",
                 float(min(change.max(), -change.min())), "saddle", least=1e-6)


def others(where: str, chain: dict[str, float]) -> Number:
    """Dips of the gradient's norm that are not at the curve or the line."""
    grid = popflow.sweep("markov", {"w0": popflow.linear(-2, 2, 401),
                                    "e0": popflow.linear(-2, 2, 401)}, t_end=0, **chain)
    norm, e, w = grid.gradient_norm.values, grid.e0.values, grid.w0.values
    inner = norm[1:-1, 1:-1]
    around = np.stack([norm[1 + i:400 + i, 1 + j:400 + j]
                       for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j])
    dips = np.all(inner < around, axis=0)
    # The curve, s = s*, crosses a cell where s - s* changes sign.
    slope = np.log((1 - chain["p"]) * (1 - chain["q"]) / (chain["p"] * chain["q"]))
    side = np.sign(e**2 * (1 + 2 * w * np.abs(w))[:, None] - slope)
    near = np.stack([side[1 + i:400 + i, 1 + j:400 + j] != side[1:-1, 1:-1]
                     for i in (-1, 0, 1) for j in (-1, 0, 1)]).any(axis=0)
    near |= np.abs(e[1:-1]) < 0.015
    return Check(f"dips of the gradient elsewhere, {where}", int((dips & ~near).sum()),
                 "no other points", most=0)


@claim(19, MARKOV, "small Gaussian starts learn chains with p + q < 1, and those with p + q > 1 "
       "from w < 0 above the separatrix only",
       experiments=["markov-small-start-correlated", "markov-small-start-alternating",
                    "markov-high-energy"], has_long=True)
def initialisation(long: bool) -> list[Number]:
    """Starts e, w (and b, where it is free) normal with standard deviation sigma: 0.02 is usual for
    transformers. For p + q < 1 they must end in a global minimum with high probability, for
    p + q > 1 in a local one; what the theorem calls high is taken to be 99%, and so is how far
    larger starts may be. With larger sigma both fail: starts come left of the saddle, or above the
    separatrix.

    What the paper advises for p + q > 1, w < 0 and an energy above the saddle's, is tested with
    starts around (e, w) = (0.5, -1), with a spread of 0.02."""
    count = 5000 if long else 1600
    draw = np.random.default_rng(19)
    found: list[Number] = []
    for sigma in (0.02, 0.1, 0.3, 1.0):
        normal = draw.normal(0, sigma, (3, count))
        for where, chain in CHAINS.items():
            for bias in ("optimal", "free"):
                good = "global" if where == "p + q < 1" else "local"
                found.append(Check(f"share that ends {good}, {where}, {bias} bias",
                                   share(outcomes(normal, chain, bias) == good),
                                   f"sigma = {sigma:g}", least=0.99))
    advised = draw.normal(0, 0.02, (3, count)) + np.array([[0.5], [-1], [0]])
    for where, chain in CHAINS.items():
        for bias in ("optimal", "free"):
            found.append(Check(f"share that ends global, {where}, {bias} bias",
                               share(outcomes(advised, chain, bias) == "global"),
                               "starts above the separatrix", least=0.99))
    return found


def outcomes(starts: np.ndarray, chain: dict[str, float], bias: str) -> np.ndarray:
    e, w, b = (plain(row) for row in starts)
    start = {"e0": e, "w0": w} | ({"b0": b} if bias == "free" else {})
    ends = popflow.sweep("markov", {"start": start}, bias=bias, **chain)
    return ends.popflow.words("outcome").values


#: A start in each basin of either chain.
STARTS = {"small start, p + q < 1": {**CHAINS["p + q < 1"], "e0": 0.1, "w0": -0.1},
          "left of the saddle, p + q < 1": {**CHAINS["p + q < 1"], "e0": 0.3, "w0": -1.2},
          "small start, p + q > 1": {**CHAINS["p + q > 1"], "e0": 0.1, "w0": -0.1},
          "above the separatrix, p + q > 1": {**CHAINS["p + q > 1"], "e0": 1.2, "w0": -0.4}}


@claim(20, MARKOV, "sampled training follows the flow, and ends where it does",
       experiments=["markov-sgd-basins", "markov-basins-sgd"], has_long=True)
def sampled(long: bool) -> list[Number]:
    """SGD with a free bias on batches of 16 chains of 1024 symbols, as in the paper (which steps
    with AdamW, not with plain SGD), against the flow, from one start in each basin. The mean loss
    must agree at all times with the comparison's simultaneous 95% band, within 5% of what there is
    to learn, and every run must end where the theorem says.

    Noise blurs the separatrix. Starts with w = -1.5 have energies around the saddle's, the bias is
    kept at its optimum, so that the flow is that of the theorem, and steps are larger (0.2). The
    share that learns is fitted by a logistic curve in the energy, whose slope says how wide the
    blur is. At a distance of 0.2 batches of one short chain end elsewhere too often, and those of
    the paper's size do not."""
    runs = 64 if long else 12
    found: list[Number] = []
    for where, start in STARTS.items():
        pair = popflow.compare("markov", rungs=["flow", "sgd"], bias="free", learning_rate=0.1,
                               batch_size=16, context_length=1024, runs=runs, t_end=100, saves=51,
                               **start)
        sgd = pair.popflow.group("sgd")
        learnable = sgd.attrs["stationary_entropy"] - sgd.attrs["entropy_rate"]
        apart = (np.abs(pair.loss_difference) + pair.loss_band).max() / learnable
        outcome = sgd.popflow.words("outcome")
        good = expected(np.float64(start["w0"]), np.float64(start["e0"]), start)
        found += [Check(f"loss, largest difference with its band, over what there is to learn, "
                        f"{where}", float(apart), "B = 16 with 1024 symbols", most=0.05),
                  Check(f"of {runs} runs, end elsewhere, {where}",
                        int((outcome != good).sum()), "B = 16 with 1024 symbols", most=0)]
    for batch, length in [(1, 9), (16, 9)] + [(4, 9), (16, 1024)] * long:
        found += blur(batch, length, 4 * runs)
    return found


def blur(batch: int, length: int, runs: int) -> list[Number]:
    """How far from the separatrix SGD ends as the flow does."""
    place = f"B = {batch} with {length} symbols near the separatrix"

    def learned(distance: np.ndarray, runs: int) -> xarray.DataArray:
        """Share of the runs that have decided, from energies so far from the saddle's."""
        w = -1.5
        e = np.sqrt(SADDLE_ENERGY + distance + w**2 - np.log(-w))
        ends = popflow.sweep("markov", {"e0": plain(e)}, mode="sgd", w0=w, learning_rate=0.2,
                             batch_size=batch, context_length=length, runs=runs, t_end=400,
                             state="none", **CHAINS["p + q < 1"])
        outcome = ends.popflow.words("outcome")
        return (outcome == "global").where(outcome != "undecided")

    away = learned(np.array([-0.2, 0.2]), 8 * runs)
    wrong = np.stack([away[0] == 1, away[1] == 0])
    # Fluctuations go as 1/sqrt(B); the drift that moves the middle does not.
    reach = 0.02 + 0.6 / np.sqrt(batch * (length - 1) / 8)
    distance = np.linspace(-reach, reach, 10)
    near = learned(distance, runs)
    curve = logistic(np.exp(distance), near.mean("run").values, near.count("run").values,
                     undetermined="nan")
    return [Check("share that ends elsewhere at a distance of 0.2", share(wrong), place, most=0.02),
            Number("distance of the energy from which half learn", curve.threshold.log_dose, place),
            Number("slope of the logit in the energy", curve.slope, place)]
