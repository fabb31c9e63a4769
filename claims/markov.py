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
#: A tenth of the tolerances that flows have by default.
ACCURATE = {"rtol": 1e-9, "atol": 1e-11}
#: Neighbours that tend to be equal, and such that tend to alternate.
CHAINS = {"p + q < 1": {"p": 0.2, "q": 0.3}, "p + q > 1": {"p": 0.7, "q": 0.8}}
#: The same, and chains whose two symbols are not about as frequent.
BASIN_CHAINS = [*CHAINS.values(), {"p": 0.1, "q": 0.6}, {"p": 0.3, "q": 0.9}]


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
    with such a free bias, from 0 and from its optimum. "Decides" is taken at its word: of those
    that end in a minimum, none may end in the other kind than the theorem says. Starts that are
    still undecided are counted apart. How many end elsewhere, and how far from the separatrix, is
    told without deciding anything.

    With a free bias starts end elsewhere in each of the chains. While the bias moves, so does the
    energy: dE/dt = -2 e^2 db/dt. From 0 such starts are few and near the separatrix where p and q
    are nearly equal. Where they differ much the optimum of the bias is far from 0, and such starts
    are many and also far from the separatrix. From its optimum they can be far from it, too: with
    p + q < 1 and large e, e falls fast, the bias lags behind, and meanwhile the energy grows."""
    found: list[Number] = []
    for chain in BASIN_CHAINS:
        found += with_optimal_bias(chain, 400 if long else 100)
    starts = drawn_starts(6000 if long else 1500)
    for chain in BASIN_CHAINS:
        there = popflow.sweep("markov", {"start": starts}, t_end=0, **chain)
        found += [*with_free_bias(chain, starts, "0"), moved_energy(chain)]
        found += with_free_bias(chain, {**starts, "b0": plain(there.b)}, "its optimum")
    return found


def named(chain: dict[str, float]) -> str:
    return f"p = {chain['p']:g}, q = {chain['q']:g}"


def with_optimal_bias(chain: dict[str, float], count: int) -> list[Number]:
    ends = popflow.sweep("markov", {"w0": popflow.linear(-2, 1.99, count),
                                    "e0": popflow.linear(0.005, 2, count)}, **chain)
    elsewhere = ends.popflow.words("outcome") != expected(ends.w0, ends.e0, chain)
    return [Check(f"of {count * count} starts, end elsewhere, {named(chain)}",
                  int(elsewhere.sum()), "optimal bias", most=0),
            # e is bisected to 1e-8, and the energy changes by at most 2 e of that.
            Check(f"energy at the boundary, off E_saddle, {named(chain)}", boundary_error(chain),
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


def moved_energy(chain: dict[str, float]) -> Number:
    """How far the change of the energy is from -2 times the integral of e^2 db, over time."""
    run = popflow.run("markov", bias="free", e0=1.1, w0=-1.9, t_end=50, saves=5001,
                      save_spacing="linear", **chain)
    change = (run.energy - run.energy[0]).values[1:]
    squares = run.e.values**2
    integral = np.cumsum((squares[1:] + squares[:-1]) * np.diff(run.b.values))
    return Number(f"change of the energy from (e, w) = (1.1, -1.9), off -2 times the integral of "
                  f"e^2 db, of its largest, {named(chain)}",
                  float(np.abs(change + integral).max() / np.abs(change).max()),
                  "free bias from 0")


def with_free_bias(chain: dict[str, float], starts: dict[str, list[float]],
                   bias: str) -> list[Number]:
    ends = popflow.sweep("markov", {"start": starts}, bias="free", **chain)
    outcome = ends.popflow.words("outcome").values
    decided = np.isin(outcome, ["global", "local"])
    other = decided & (outcome != expected(ends.w0, ends.e0, chain).values)
    distance = np.abs(energy_of(ends.w0, ends.e0) - SADDLE_ENERGY).values
    where = f"free bias from {bias}"
    accurate = popflow.sweep("markov", {"start": starts}, bias="free", **ACCURATE, **chain)
    return [Check(f"of {decided.sum()} starts that end in a minimum, end elsewhere, "
                  f"{named(chain)}", int(other.sum()), where, most=0),
            Number(f"further starts, undecided, {named(chain)}", int((~decided).sum()), where),
            Number(f"share that ends elsewhere, {named(chain)}", share(other[decided]), where),
            Number(f"of those that end elsewhere, farther than 0.1 from E_saddle, {named(chain)}",
                   int((other & (distance > 0.1)).sum()), where),
            Number(f"largest distance from E_saddle of one that ends elsewhere, {named(chain)}",
                   float(distance[other].max(initial=0)), where),
            Number(f"outcomes that change at a tenth of the tolerance, {named(chain)}",
                   int((accurate.popflow.words("outcome").values != outcome).sum()), where)]


@claim(18, MARKOV, "the critical points are global minima on a curve, and on the line e = 0 local "
       "minima, maxima and a saddle", experiments=["markov-left-of-saddle"])
def critical_points(long: bool) -> list[Number]:
    """The loss of e and w, with the bias at its optimum, on stencils around the points that the
    paper names. Their gradient is zero, their Hessian's eigenvalues have the signs of their kind:
    along the curve and along the line the loss is constant, so that one eigenvalue is 0. At the
    saddle both are; on a small circle around it the loss goes both above and below its own.

    That there are no others is checked on a grid of the plane: the norm of the gradient is below
    its neighbours' only at points next to the curve or the line.

    With a free bias, at its optimum, the maxima are saddles: the loss rises in one direction and
    falls in another. The local minima stay minima."""
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
        found += [*saddle(where, chain), others(where, chain)]
        for kind, of, lowest in (("local minima", attracts, True), ("maxima", ~attracts, False)):
            found += with_bias(kind, where, chain, line[of], lowest)
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


def with_bias(kind: str, where: str, chain: dict[str, float], w: np.ndarray,
              lowest: bool) -> list[Number]:
    """Points of the line e = 0 with a free bias at its optimum: along the line the loss is
    constant, the other two eigenvalues are both positive, or of both signs."""
    there = popflow.sweep("markov", {"start": {"e0": plain(0 * w), "w0": plain(w)}}, t_end=0,
                          **chain)
    gradient, eigenvalues = hessians(chain, 0 * w, w, there.b.values)
    place = f"{kind} with a free bias" + (", which are saddles" if not lowest else "")
    least = eigenvalues[:, 1] if lowest else -eigenvalues[:, 0]
    along = eigenvalues[:, 0] if lowest else eigenvalues[:, 1]
    return [Check(f"largest gradient, {where}", float(gradient.max()), place, most=1e-13),
            Check(f"least of the second largest curvature, {where}" if lowest
                  else f"least curvature downwards, {where}", float(least.min()), place,
                  least=1e-3),
            Check(f"least of the largest curvature, {where}", float(eigenvalues[:, 2].min()), place,
                  least=1e-3),
            Check(f"largest curvature along, {where}", float(np.abs(along).max()), place,
                  most=1e-3)]


def hessians(chain: dict[str, float], e: np.ndarray, w: np.ndarray, b: np.ndarray | None = None,
             h: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Norm of the gradient, and eigenvalues of the Hessian in rising order, at each point. The bias
    is at its optimum, or free and `b`."""
    at = {"e0": e, "w0": w} | ({} if b is None else {"b0": b})
    names = list(at)
    steps = [np.zeros(len(names))]
    for i, one in enumerate(np.eye(len(names))):
        for other in np.eye(len(names))[:i + 1]:
            steps += [one + other, one - other, other - one, -one - other]
    shifted = {name: plain(np.concatenate([at[name] + h * step[i] / 2 for step in steps]))
               for i, name in enumerate(names)}
    there = popflow.sweep("markov", {"start": shifted}, t_end=0,
                          bias="optimal" if b is None else "free", **chain)
    loss = there.loss.values.reshape(len(steps), len(e))
    matrices = np.zeros((len(e), len(names), len(names)))
    rest = iter(loss[1:])
    for i in range(len(names)):
        for j in range(i + 1):
            matrices[:, i, j] = matrices[:, j, i] = (
                next(rest) - next(rest) - next(rest) + next(rest)) / h**2
    return there.gradient_norm.values[:len(e)], np.linalg.eigvalsh(matrices)


def saddle(where: str, chain: dict[str, float]) -> list[Number]:
    """The curvature at the saddle, and the less of how far the loss rises and falls on a circle
    around it."""
    angle = np.linspace(0, 2 * np.pi, 201)
    start = {"e0": plain(np.append(0.05 * np.cos(angle), 0)),
             "w0": plain(np.append(SADDLE + 0.05 * np.sin(angle), SADDLE))}
    loss = popflow.sweep("markov", {"start": start}, t_end=0, **chain).loss.values
    change = loss[:-1] - loss[-1]
    gradient, eigenvalues = hessians(chain, np.zeros(1), np.array([SADDLE]))
    return [Check(f"largest gradient, {where}", float(gradient.max()), "saddle", most=1e-13),
            Check(f"largest curvature, {where}", float(np.abs(eigenvalues).max()), "saddle",
                  most=1e-3),
            Check(f"rise and fall of the loss at a distance of 0.05, {where}",
                  float(min(change.max(), -change.min())), "saddle", least=1e-6)]


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
    p + q > 1 in a local one. High is taken to be 99%. Starts that are undecided count as failures.
    Larger sigma show how far this goes: with p + q > 1 it fails from 0.3, where starts come above
    the separatrix, and with p + q < 1 at 1, where they come left of the saddle.

    What the paper advises for p + q > 1, w < 0 and an energy above the saddle's, is tested with
    starts around (e, w) = (0.5, -1), with a spread of 0.02. (About one of 2500 is below it.)

    The shares are Agresti and Coull's, which are never quite 0 or 1. The counts are beside them."""
    count = 6000 if long else 3000
    draw = np.random.default_rng(19)
    found: list[Number] = []
    for sigma in (0.02, 0.1, 0.3, 1.0):
        normal = draw.normal(0, sigma, (3, count))
        for where, chain in CHAINS.items():
            found += learning(f"{where} with sigma = {sigma:g}", chain, normal,
                              "global" if where == "p + q < 1" else "local")
    advised = draw.normal(0, 0.02, (3, count)) + np.array([[0.5], [-1], [0]])
    for where, chain in CHAINS.items():
        found += learning(f"{where} around (0.5, -1)", chain, advised, "global")
    return found


def learning(where: str, chain: dict[str, float], starts: np.ndarray, good: str) -> list[Number]:
    found: list[Number] = []
    changed = 0
    for bias in ("optimal", "free"):
        ends = outcomes(starts, chain, bias)
        found.append(Check(f"share that ends {good}, {bias} bias ({counted(ends == good)})",
                           share(ends == good), where, least=0.99))
        some = slice(1000)
        changed += np.count_nonzero(outcomes(starts[:, some], chain, bias, **ACCURATE)
                                    != ends[some])
    return [*found, Number("of the first 1000 starts with either bias, change their outcome at a "
                           "tenth of the tolerance", changed, where)]


def counted(happened: Any) -> str:
    return f"{np.count_nonzero(happened)} of {np.size(happened)}"


def outcomes(starts: np.ndarray, chain: dict[str, float], bias: str,
             **tolerances: float) -> np.ndarray:
    e, w, b = (plain(row) for row in starts)
    start = {"e0": e, "w0": w} | ({"b0": b} if bias == "free" else {})
    ends = popflow.sweep("markov", {"start": start}, bias=bias, **tolerances, **chain)
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
    to learn, and every run must end where the theorem says: one that is undecided does not.

    Noise blurs the separatrix. Starts with w = -1.5 have energies around the saddle's, the bias is
    kept at its optimum, so that the flow is that of the theorem, and steps are larger (0.2). The
    share that learns is fitted by a logistic curve in the energy, whose slope says how wide the
    blur is. At a distance of 0.2 batches of one short chain end elsewhere too often, and those of
    the paper's size do not. Shares are of the runs that have decided; the others are counted
    apart."""
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
                  Number(f"loss of the flow, largest change at a tenth of the tolerance, over what "
                         f"there is to learn, {where}", flow_error(start, learnable),
                         "B = 16 with 1024 symbols"),
                  Check(f"of {runs} runs, end elsewhere or are undecided, {where}",
                        int((outcome != good).sum()), "B = 16 with 1024 symbols", most=0)]
    for batch, length in [(1, 9), (16, 9)] + [(4, 9), (16, 1024)] * long:
        found += blur(batch, length, 4 * runs)
    return found


def flow_error(start: dict[str, float], learnable: float) -> float:
    usual, accurate = (
        popflow.run("markov", bias="free", t_end=100, saves=51, save_spacing="linear", **start,
                    **tolerances).loss.values for tolerances in ({}, ACCURATE))
    return float(np.abs(usual - accurate).max() / learnable)


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
    decided = away.notnull().values
    wrong = np.stack([away[0] == 1, away[1] == 0])[decided]
    # Fluctuations go as 1/sqrt(B); the drift that moves the middle does not.
    reach = 0.02 + 0.6 / np.sqrt(batch * (length - 1) / 8)
    distance = np.linspace(-reach, reach, 10)
    near = learned(distance, runs)
    curve = logistic(distance, near.mean("run").values, near.count("run").values,
                     undetermined="nan", scale="linear")
    return [Check(f"share that ends elsewhere at a distance of 0.2 ({counted(wrong)})",
                  share(wrong), place, most=0.02),
            Number("further runs, undecided at a distance of 0.2", int((~decided).sum()), place),
            Number("distance of the energy from which half learn", curve.threshold.place, place),
            Number("slope of the logit in the energy", curve.slope, place)]
