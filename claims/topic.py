"""Topic models: value matrix, attention and embeddings that learn which words go together (claims
21 to 25)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import popflow

from .claim import Check, Number, claim
from .papers import TOPIC

#: Those that flows have by default, and a tenth of them.
TOLERANCES: tuple[dict[str, float], ...] = ({}, {"rtol": 1e-9, "atol": 1e-11})
TOPICS, WORDS = 10, 10  # topics, and words in each; 4 topics in a document unless said
SYMBOLS = 1 + TOPICS * WORDS  # [MASK] and the words
WITHIN = np.kron(np.eye(TOPICS), np.ones((WORDS, WORDS))) > 0
ITSELF = np.eye(TOPICS * WORDS) > 0


def by_class(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The entries of a matrix over the words: of a word with itself, its topic, other topics."""
    words = matrix[1:, 1:]
    return words[ITSELF], words[WITHIN & ~ITSELF], words[~WITHIN]


@claim(21, TOPIC, "with uniform attention W_V becomes block-wise by topic",
       experiments=["topic-stage1-optimum", "topic-value-sgd"], has_long=True)
def blocks(long: bool) -> list[Number]:
    """W_V trained under uniform attention, from zero, from the identity, and from Gaussian matrices
    (full coordinates), until t = 10/l2. Block-wise: entries that belong to a pair of topics (a word
    with itself among them) differ by no more than 1e-6 of what own topic and others differ by; the
    slowest difference decays as exp(-2 l2 t), to 2e-9.

    So it is for any l2 > 0. Without, the loss does not see what differs within a block, and from
    the identity these differences stay. SGD on documents of 200 words, where a word's own count
    tells of it, ends with a larger entry of the word itself."""
    found: list[Number] = []
    for l2 in (1e-5, 1e-4, 1e-3):
        for init, scale in (("zero", 0.01), ("identity", 1)):
            run = popflow.run("topic", train="value", value_init=init, init_scale=scale, l2=l2,
                              t_end=10 / l2, saves=2)
            own, topic, other = (float(run[f"value_{name}"][-1])
                                 for name in ("same_word", "same_topic", "other_topic"))
            found += [Check(f"differences within blocks, start {init}",
                            abs(own - topic) / (topic - other), f"l2 = {l2:g}", most=1e-6),
                      Check(f"own topic less others, start {init}", topic - other, f"l2 = {l2:g}",
                            least=0.01)]
    start = np.random.default_rng(21).normal(0, 0.1, (SYMBOLS, SYMBOLS))
    start[0] = 0
    run = popflow.run("topic", train="value", problem={"W_V": start}, l2=1e-3, t_end=1e4, saves=2)
    words, topics, others = by_class(run.W_V.values[-1])
    found.append(Check("differences within blocks, start Gaussian",
                       max(np.ptp(np.append(words, topics)), np.ptp(others))
                       / (topics.mean() - others.mean()), "l2 = 0.001", most=1e-6))
    run = popflow.run("topic", train="value", value_init="identity", init_scale=1, l2=0, t_end=1e5,
                      saves=2)
    found.append(Check("differences within blocks, start identity",
                       float(abs(run.value_same_word[-1] - run.value_same_topic[-1])
                             / (run.value_same_topic[-1] - run.value_other_topic[-1])),
                       "l2 = 0", most=1e-6))
    if long:
        runs = popflow.run(config="topic-value-sgd")
        own, topic, other = (float(runs[f"value_{name}"][:, -1].mean())
                             for name in ("same_word", "same_topic", "other_topic"))
        found.append(Number("a word's own entry less its topic's, over the difference of topics",
                            (own - topic) / (topic - other), "SGD on documents of 200 words"))
    return found


@claim(22, TOPIC, "two stages: the norm of W_V grows first, those of W_K and W_Q later",
       experiments=["topic-two-stages"], has_long=True)
def two_stages(long: bool) -> list[Number]:
    """All matrices trained together, from W_V = 0. Stage 1 ends when the norm of W_V is within 1%
    of its value under uniform attention, stage 2 begins when that of W_K has doubled. Two stages:
    when the first ends the norms of W_K and W_Q have changed by no more than a tenth, and from then
    until the second begins that of W_V has not either.

    From W_K = W_Q = scale times the identity this holds up to a scale of 0.3; from 1 W_V does not
    rest at a plateau. It holds from small Gaussian W_K and W_Q, for 1 to 9 topics in a document,
    and for l2 between 1e-6 and 0.01."""
    found: list[Number] = []
    cases: list[tuple[str, str, str, list[float]]] = [
        ("init_scale", "scale", "scales up to 0.3", [0.001, 0.01, 0.1, 0.3]),
        ("init_scale", "scale", "scale 1", [1.0]),
        ("topics_per_document", "topics in a document", "1 to 9 topics in a document",
         [1, 2, 6, 9]),
        ("l2", "l2", "l2 from 1e-6 to 0.01", [1e-6, 1e-5, 1e-3, 1e-2])]
    for name, label, place, values in cases:
        runs, accurate = (popflow.sweep("topic", {name: values}, method="rosenbrock4", t_end=1e6,
                                        record="series", saves=2001, save_spacing="log",
                                        save_first=10, **tolerances)
                          for tolerances in TOLERANCES)
        for value in values:
            found += stages(runs.sel({name: value}), f"{label} {value:g}", place)
        found.append(stages_error(runs, accurate, place))
    sizes = {"topics": 10, "words_per_topic": 10} if long else {"topics": 5, "words_per_topic": 4}
    count = 1 + sizes["topics"] * sizes["words_per_topic"]
    draw = np.random.default_rng(22)
    gaussian = {name: draw.normal(0, 0.01, (count, count)) for name in ("W_K", "W_Q")}
    run, accurate = (popflow.run("topic", problem=gaussian, topics_per_document=2, t_end=1e5,
                                 saves=1001, save_spacing="log", save_first=10, state="ends",
                                 **sizes, **tolerances) for tolerances in TOLERANCES)
    found += stages(run, f"{count - 1} words, 2 topics in a document", "Gaussian start")
    return [*found, stages_error(run, accurate, "Gaussian start")]


def stages_error(runs: Any, accurate: Any, place: str) -> Number:
    """The solver's own error, of the norms and of the times of the stages."""
    changes = [np.abs(accurate[name] / runs[name] - 1).max()
               for name in ("norm_key", "norm_query")]
    changes.append(np.abs(accurate.norm_value - runs.norm_value).max() / runs.norm_value.max())
    changes += [np.abs(accurate.time_of[event] / runs.time_of[event] - 1).max()
                for event in ("stage1_end", "stage2_start")]
    return Number("norms and times of the stages, largest relative change at a tenth of the "
                  "tolerance", max(float(change) for change in changes), place)


def stages(run: Any, what: str, place: str) -> list[Number]:
    first, second = (float(run.time_of[name]) for name in ("stage1_end", "stage2_start"))
    time, value = run.time.values, run.norm_value.values
    factors = [run.norm_key.values, run.norm_query.values]
    between = (time >= first) & (time <= second)
    return [Check(f"change of the norms of W_K and W_Q until stage 1 ends, {what}",
                  max(abs(float(np.interp(first, time, norm) / norm[0] - 1)) for norm in factors),
                  place, most=0.1),
            Check(f"change of the norm of W_V between the stages, {what}",
                  float(np.ptp(value[between]) / np.interp(first, time, value))
                  if between.any() else np.nan, place, most=0.1),
            Number(f"stage 2's start over stage 1's end, {what}", second / first, place)]


@claim(23, TOPIC, "words come to attend more to words of their own topic",
       experiments=["topic-attention-map", "topic-two-stages", "topic-after-the-plateau"],
       has_long=True)
def attention_to_the_topic(long: bool) -> list[Number]:
    """The second stage in two settings: W_V frozen at its optimum under uniform attention, as in
    the paper's theorem, and trained along. For 2 to 9 topics in a document (with one topic or all
    ten there is nothing to tell) and several l2, to t = 1e7: the weight of a word of the own topic,
    relative to its frequency, must exceed that of a word of another topic by a tenth or more.

    Frozen, it does unless l2 is so large that W_V has hardly any topics left. Trained along, it
    does in a band of l2 only. Below, the state with attention to the topic is a saddle: the
    contrast is there for long, and then each word turns to itself. Above, attention turns to
    [MASK]."""
    sizes = range(2, 10) if long else [2, 4, 6, 9]
    groups = {"l2 up to 1e-5": [1e-6, 1e-5], "l2 1e-4 to 1e-3": [1e-4, 1e-3],
              "l2 from 0.01": [0.01, 0.1]}
    found: list[Number] = []
    for train, name in (("attention", "frozen W_V"), ("joint", "trained W_V")):
        runs, rough = (popflow.sweep("topic", {"topics_per_document": sizes,
                                               "l2": sum(groups.values(), [])},
                                     train=train, method="rosenbrock4", t_end=1e7, rtol=rtol,
                                     record="series", saves=101, save_spacing="log", save_first=1e3)
                       for rtol in (1e-8, 1e-6))
        for label, values in groups.items():
            contrast, other = (attention_contrast(one.sel(l2=values)) for one in (runs, rough))
            end, place = contrast[..., -1], f"{name} with {label}"
            found += [Check(f"of {end.size} cases, prefer the own topic by less than a tenth",
                            int((end < 1.1).sum()), place, most=0),
                      Number("least contrast at the end", float(end.min()), place),
                      Number("least over cases of the largest in time",
                             float(contrast.max(axis=-1).min()), place),
                      Number("contrasts at the end, largest relative change at rtol = 1e-6",
                             float(np.abs(other[..., -1] / end - 1).max()), place)]
    return found


def attention_contrast(runs: Any) -> np.ndarray:
    """Own topic over other topics, over sizes, l2 and time."""
    return (runs.attention_same_topic / runs.attention_other_topic).values


@claim(24, TOPIC, "the loss over (alpha, beta) is least where words attend more to their own topic",
       experiments=["topic-landscape"], picture="claim-24.png", has_long=True)
def landscape(long: bool) -> list[Number]:
    """Another word of the query's topic has alpha times, the queried word itself beta times the
    weight of a word of another topic. W_V is frozen in either of two forms that are optimal under
    uniform attention: with equal entries in a topic's block, which is the optimum with l2, or with
    the block's sums on the diagonal alone, which is as good without l2. The least loss over the
    plane is found by grids that are refined around their best point.

    With blocks the loss depends on (v-1) alpha + beta alone: its minima are a valley, along which
    the mean weight of the own topic, ((v-1) alpha + beta)/v, is far above that of uniform
    attention, 1. With the diagonal the minimum lies far out in beta: the mean weight of the own
    topic is as high, but it is the word's own, and the topic's other words have less weight than
    those of other topics. (With eight topics in a document the loss hardly changes with alpha
    where that is below 0.1.) So the form of W_V decides whether attention shows the topic.

    The picture, for 4 topics in a document, has the valley as a line, the minimum as a dot, and
    uniform attention as a cross."""
    found: list[Number] = []
    for topics in (2, 4, 6, 8) if long else (2, 4, 8):
        case = f"{topics} topics in a document"
        blocks, diagonal = loss_over(topics, "blocks"), loss_over(topics, "diagonal")
        weight, least = along_the_diagonal(blocks)
        found += [Check(f"mean weight of the own topic at the minimum, {case}", weight,
                        "W_V with blocks", least=1.1),
                  Check(f"change of the loss along the valley, {case}", valley(blocks, weight),
                        "W_V with blocks", most=1e-12),
                  Number(f"loss below that of uniform attention, {case}",
                         blocks([0.0], [0.0])[0, 0] - least, "W_V with blocks")]
        alpha, beta, least = minimum(diagonal)
        found += [Check(f"mean weight of the own topic at the minimum, {case}",
                        ((WORDS - 1) * alpha + beta) / WORDS, "W_V diagonal", least=1.1),
                  Check(f"alpha at the minimum, {case}", alpha,
                        "other words of the topic with W_V diagonal", least=1.1),
                  Number(f"beta at the minimum, {case}", beta, "W_V diagonal"),
                  Number(f"loss below that of uniform attention, {case}",
                         diagonal([0.0], [0.0])[0, 0] - least, "W_V diagonal")]
    return found


Loss = Callable[[Sequence[float], Sequence[float]], np.ndarray]


def loss_over(topics: int, form: str) -> Loss:
    """The loss over grids of log alpha and log beta."""
    value = popflow.run("topic", train="value", topics_per_document=topics, t_end=1e5, saves=2)
    own, other, mask = (float(value[f"value_{name}"][-1])
                        for name in ("same_topic", "other_topic", "mask"))
    diagonal = {"value_same_word": WORDS * own - (WORDS - 1) * other, "value_same_topic": other,
                "value_other_topic": other, "value_mask": mask}
    problem = ({name: np.float64(entry) for name, entry in diagonal.items()}
               if form == "diagonal" else None)

    def loss(log_alpha: Sequence[float], log_beta: Sequence[float]) -> np.ndarray:
        return popflow.sweep("topic", {"init_logit_same_topic": list(map(float, log_alpha)),
                                       "init_logit_same_word": list(map(float, log_beta))},
                             topics_per_document=topics, train="attention", t_end=0,
                             problem=problem, parameterization="direct").loss.values

    return loss


def along_the_diagonal(loss: Loss) -> tuple[float, float]:
    """alpha and the loss at the least where beta = alpha."""
    centre, reach = 0.0, 8.0
    for _ in range(5):
        steps = np.round(centre + np.linspace(-reach, reach, 33), 9)
        values = np.diag(loss(steps, steps))
        centre, reach = steps[values.argmin()], reach / 8
    return float(np.exp(centre)), float(values.min())


def valley(loss: Loss, weight: float) -> float:
    """How much the loss differs along (v-1) alpha + beta = v weight."""
    part = np.linspace(0.001, 0.999, 9)
    values = loss(np.log(WORDS * weight * part / (WORDS - 1)), np.log(WORDS * weight * (1 - part)))
    return float(np.ptp(np.diag(values)))


def minimum(loss: Loss) -> tuple[float, float, float]:
    """alpha, beta and the loss at the least. The grids shrink slowly, since it lies in a narrow
    valley, which a coarse one meets only here and there."""
    centre, reach = np.zeros(2), 8.0
    for _ in range(14):
        steps = np.linspace(-reach, reach, 25)
        values = loss(np.round(centre[0] + steps, 9), np.round(centre[1] + steps, 9))
        i, j = np.unravel_index(values.argmin(), values.shape)
        centre, reach = np.round(centre + [steps[i], steps[j]], 9), reach / 2
    return float(np.exp(centre[0])), float(np.exp(centre[1])), float(values.min())


@claim(25, TOPIC, "embeddings of words of one topic have larger inner products than those of two",
       experiments=["topic-embedding"])
def embeddings(long: bool) -> list[Number]:
    """Embeddings trained with uniform attention, from scale times the identity and from Gaussian
    matrices: the products of words of one topic must exceed those of two topics by a tenth of
    themselves or more; from Gaussian matrices, where they differ, for every pair. If documents have
    all ten topics there is nothing to tell, and with an l2 of 0.01 and nine topics in a
    document too little is left of it."""
    found: list[Number] = []
    for l2 in (1e-6, 1e-4, 1e-2):
        for scale in (0.01, 0.3):
            runs = popflow.sweep("topic", {"topics_per_document": range(1, 11)}, train="embedding",
                                 init_scale=scale, l2=l2)
            excess = 1 - runs.value_other_topic / runs.value_same_topic
            place = f"l2 = {l2:g}"
            found += [Check("excess of one topic over two, least for 1 to 9 topics in a document, "
                            f"scale {scale:g}", float(excess[:9].min()), place, least=0.1),
                      Number(f"the same with 4 topics, scale {scale:g}", float(excess[3]), place),
                      Number(f"the same with all ten, scale {scale:g}", float(excess[9]), place)]
    start = np.random.default_rng(25).normal(0, 0.01, (SYMBOLS, SYMBOLS))
    run = popflow.run("topic", train="embedding", problem={"W_E": start}, saves=2)
    factor = run.W_E.values[-1]
    _, topic, other = by_class(factor.T @ factor)
    return [*found, Check("least product of one topic's words, less the largest of two, over the "
                          "former", 1 - other.max() / topic.min(), "Gaussian start", least=0.1)]
