"""JoMA trained jointly with its attention: order of learning and size of the model (claims 36 and
37)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

import popflow

from .claim import Check, Number, claim
from .joma import bounced, mean_of
from .papers import JOMA, OWN
from .share import share


@claim(36, JOMA, "Salient tokens are learned first, also where MLP and attention are trained "
       "together")
def salient_first(long: bool) -> list[Number]:
    """joma-joint with softmax attention, 10 classes and nodes, cross-entropy, to t = 200. The
    saliency of a token for a node is its drive at the start, sum_c p_c (1{k = c} - 1/K) x_c, where
    this is positive. The token is learned when its weight first reaches half of its largest value.
    Salient tokens count as first if Spearman's correlation over tokens between saliency and
    learning time is at most -0.5, as the mean over nodes and twelve draws.

    By this rule, which the protocol named before the measurement, salient tokens are not first.
    Weights grow side by side, and under cross-entropy those of salient tokens go on growing
    longest. After this outcome a second measure was added, with conditions of its own: the time at
    which a weight reaches a level common to all tokens. The level is a tenth of the node's largest
    weight at the end. A token that never reaches it counts as the latest."""
    del long
    found: list[Number] = []
    for activation in ("identity", "tanh", "relu", "square"):
        for data in ("Gaussian", "Dirichlet"):
            values = np.array([order(activation, data.lower(), seed) for seed in range(1, 13)])
            for column, words in enumerate(("", ", common level")):
                found.append(Check("rank correlation of saliency and learning time, mean over "
                                   "draws",
                                   mean_of(values[:, column]),
                                   f"{activation}, {data} data{words}", most=-0.5))
    return found


def order(activation: str, data: str, seed: int) -> tuple[float, float]:
    """Returns Spearman's correlation of saliency with two times, each as the mean over nodes: the
    time to half of the token's own largest weight, and the time to a tenth of the node's largest
    weight at the end."""
    run = popflow.run("joma-joint", classes=10, activation=activation, data=data, t_end=200,
                      saves=401, save_spacing="log", save_first=1e-2, problem_seed=seed, show=False)
    problem = run.popflow.group("problem")
    X, weight = problem.X.transpose("token", "class").values, problem.class_weight.values
    back = np.eye(10) - 0.1  # node, class
    drive = np.einsum("kc,c,lc->lk", back, weight, X)
    V = np.abs(run.V.transpose("time", "token", "node").values)
    levels = 0.5 * V.max(axis=0), np.broadcast_to(0.1 * V[-1].max(axis=0), V.shape[1:])
    own, common = (correlation(drive, first_at(V, level)) for level in levels)
    return own, common


def first_at(V: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Returns the record at which a weight first reaches its level, or one after the last record if
    it never does."""
    reached = V >= level
    return np.where(reached.any(axis=0), reached.argmax(axis=0), len(V))


def correlation(drive: np.ndarray, times: np.ndarray) -> float:
    """Returns Spearman's correlation over the tokens with a positive drive, averaged over nodes."""
    each = []
    for node in range(drive.shape[1]):
        salient = drive[:, node] > 0
        if salient.sum() > 2 and np.ptp(times[salient, node]) > 0:
            each.append(float(stats.spearmanr(drive[salient, node], times[salient, node])[0]))
    return float(np.mean(each)) if each else 0.0


@claim(37, OWN, "The fall and rise of the attention's entropy does not depend on the model's "
       "size",
       forms=("32 to 200 draws", "200 draws"))
def size(long: bool) -> list[Number]:
    """The paper leaves open how the size of the model matters. joma-joint with squared activation,
    softmax, cross-entropy and Gaussian data is trained to t = 1000. The bounce is that of claim 13:
    the entropy falls by 0.1 nats and ends 0.1 above its minimum. Each width has 32 draws, and 200
    if all of them bounce."""
    found: list[Number] = []
    for nodes in (5, 10, 20, 40):
        for tau in (1, 2):
            place = f"{nodes} nodes, temperature {tau}"
            entropy = course(nodes, tau, 200 if long else 32)
            if not long and bounced(entropy).all() and nodes <= 20:
                entropy = course(nodes, tau, 200)
            least = entropy.min(axis=-1)
            found += [Check("share of draws that bounce", share(bounced(entropy)), place,
                            least=0.9),
                      Number("draws", float(len(entropy)), place),
                      Number("median of the least entropy relative to the initial one",
                             float(np.median(least / entropy[..., 0])), place),
                      Number("median of the final entropy relative to the initial one",
                             float(np.median(entropy[..., -1] / entropy[..., 0])), place)]
    return found


def course(nodes: int, tau: float, draws: int) -> Any:
    """Returns the entropy of attention over draws and time."""
    return popflow.sweep("joma-joint", {"problem_seed": range(1, draws + 1)}, classes=nodes,
                         activation="square", temperature=tau, t_end=1000, saves=201,
                         record="series", state="none").attention_entropy.values
