"""Topic models by models of popflow.model: cross-entropy (claim 42) and words of unequal frequency
(claim 45)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import popflow

from .claim import Check, Number, claim
from .papers import TOPIC
from .topic import EXCESS, tolerance
from .topic_laws import Documents, Orbits, embedding, one_layer
from .topics import PAPERS, SMALL, Sizes

L2 = (1e-4, 1e-3)
DRAWS = 3


@dataclass(frozen=True)
class Course:
    """Joint training of one layer, over its records."""

    time: np.ndarray
    #: Norms of W_V, W_K and W_Q (matrix, time).
    norms: np.ndarray
    #: Contrast of the attention, the queried word counted.
    contrast: np.ndarray
    #: Mean entries of W_V: a word with itself, with its topic, with other topics (entry, time).
    value: np.ndarray

    def at(self, series: np.ndarray, time: float) -> float:
        return float(np.interp(time, self.time, series))

    @property
    def stage2(self) -> float:
        """Time at which the norm of W_K has doubled; infinite if it does not."""
        over = np.flatnonzero(self.norms[1] >= 2 * self.norms[1, 0])
        if len(over) == 0:
            return np.inf
        i = over[0]
        return float(np.interp(2 * self.norms[1, 0], self.norms[1, i - 1:i + 1],
                               self.time[i - 1:i + 1]))


@claim(42, TOPIC, "The results remain with cross-entropy in place of squared loss", models=True)
def cross_entropy(long: bool) -> list[Number]:
    """A model of popflow.model has the loss of one layer of attention for each document, each word
    that it shows and each word that was masked there. Documents are infinitely long.

    With T = v = 10 and 4 topics in a document, W_K and W_Q start as 0.01 times the identity and W_V
    at 0. Permutations of words and topics then leave the state as it is, and 16 numbers describe it
    exactly. With 20 words (5 topics of 4, 2 in a document) all matrices are trained, from Gaussian
    W_K and W_Q of 0.01 (three draws), and biases. There each query of each document is a sample.
    Biases would stay equal in the symmetric state, where they have no effect.

    The plateau of W_V is its norm in training under uniform attention, at t = 10/l2. Stage 1 ends
    when the norm in joint training first is within 1% of it, and stage 2 begins when the norm of
    W_K has doubled. Attention and W_V are judged at ten times this time. The attention is judged at
    the end of training, too: t = 1e7 from the identity; from Gaussian matrices the first power of
    ten from 1e4 that is at least ten times the start of stage 2. Before that, the models with
    squared loss are compared with the system topic, at each size from one start."""
    del long
    found: list[Number] = []
    for sizes, name in ((PAPERS, "T = v = 10"), (SMALL, "20 words")):
        found.append(Check("largest difference of the loss from that of the system topic",
                           from_topic(sizes), f"squared loss, {name}", most=1e-6))
    for l2 in L2:
        found += measured(PAPERS, l2, None)
        for draw in range(DRAWS):
            found += measured(SMALL, l2, draw)
    return found


def measured(sizes: Sizes, l2: float, draw: int | None) -> list[Number]:
    """Measures the requirements with cross-entropy, from the symmetric start or a Gaussian one."""
    case = "" if draw is None else f", draw {draw}"
    size = "T = v = 10" if draw is None else "20 words"
    level, alone = uniform(sizes, l2, draw)
    course = joint(sizes, l2, draw)
    later = 10 * course.stage2
    if later > course.time[-1]:
        raise ValueError(f"training ends at t = {course.time[-1]:g}, before ten times the start of "
                         f"stage 2 ({course.stage2:g}); let it run for longer")

    def place(words: str) -> str:
        return f"{words}, {size}, l2 = {l2:g}"

    value = np.array([course.at(each, later) for each in course.value])
    return [*stages(course, level, case, place("two stages")),
            Check(EXCESS + case, excess(alone), place("W_V block-wise, uniform attention"),
                  most=0.1),
            Check(EXCESS + case, excess(value), place("W_V block-wise, trained attention"),
                  most=0.1),
            Check(f"contrast, the queried word counted{case}", course.at(course.contrast, later),
                  place("attention to the topic"), least=1.1),
            Check(f"contrast, the queried word counted{case}", float(course.contrast[-1]),
                  place("attention to the topic at the end"), least=1.1),
            Number(f"end of training{case}", float(course.time[-1]),
                   place("attention to the topic at the end")),
            Check("relative excess of the mean product within topics over that of two topics"
                  + case, of_embeddings(sizes, l2, draw), place("embeddings by topic"),
                  least=0.1)]


def stages(course: Course, level: float, case: str, place: str) -> list[Number]:
    """Applies the three bounds of claim 22. Not a number: the norm of W_V is never within 1% of its
    plateau before stage 2 begins."""
    inside = np.flatnonzero(np.abs(course.norms[0] / level - 1) <= 0.01)
    first = float(course.time[inside[0]]) if len(inside) else np.inf
    second, value = course.stage2, course.norms[0]
    between = (course.time >= first) & (course.time <= second)
    then = course.at(value, second)
    return [Check(f"growth of the norm of W_V until stage 2, relative to the norm at that time"
                  f"{case}", (then - value[0]) / then, place, least=1 / 3),
            Check(f"change of the norms of W_K and W_Q until stage 1 ends{case}",
                  max(abs(course.at(norm, first) / norm[0] - 1) for norm in course.norms[1:])
                  if np.isfinite(first) else np.nan, place, most=0.1),
            Check(f"change of the norm of W_V between the stages{case}",
                  float(np.ptp(value[between]) / course.at(value, first))
                  if between.any() else np.nan, place, most=0.1),
            Number(f"start of stage 2{case}", second, place),
            Number(f"start of stage 2 relative to the end of stage 1{case}", second / first,
                   place)]


def excess(value: np.ndarray) -> float:
    own, topic, other = value[:3]
    return float((own - topic) / (topic - other))


def starts_of(sizes: Sizes) -> dict[str, list[np.ndarray]]:
    """Returns Gaussian W_K and W_Q of 0.01 for each draw."""
    shape = (sizes.symbols, sizes.symbols)
    generators = [np.random.default_rng([42, draw]) for draw in range(DRAWS)]
    pairs = [(rng.normal(0, 0.01, shape), rng.normal(0, 0.01, shape)) for rng in generators]
    return {name: [pair[i] for pair in pairs] for i, name in enumerate(("W_K", "W_Q"))}


def start_of_embeddings(sizes: Sizes, seed: int) -> list[np.ndarray]:
    """Returns Gaussian W_E of 0.01 for each draw."""
    return [np.random.default_rng([seed, draw]).normal(0, 0.01, (sizes.symbols, sizes.symbols))
            for draw in range(DRAWS)]


def uniform(sizes: Sizes, l2: float, draw: int | None) -> tuple[float, np.ndarray]:
    """Returns the norm of W_V and its mean entries at t = 10/l2 under uniform attention."""
    if draw is None:
        last = flow(Orbits(sizes).model("cross-entropy", "value"), 10 / l2, l2=l2).V.values[-1]
        return float(np.linalg.norm(last)), last / np.sqrt(Orbits(sizes).entries)
    model = one_layer(Documents(sizes), "cross-entropy", {}, "value")
    last = flow(model, 10 / l2, l2=l2).W_V.values[-1]
    return float(np.linalg.norm(last)), classes(sizes, last)


def joint(sizes: Sizes, l2: float, draw: int | None) -> Course:
    """Trains all matrices until ten times the start of stage 2 at least."""
    if draw is None:
        return of_orbits(sizes, flow(Orbits(sizes).model("cross-entropy"), 1e7, 401, l2=l2))
    model = one_layer(Documents(sizes), "cross-entropy", starts_of(sizes))
    t_end = 1e4
    while True:
        course = of_matrices(sizes, flow(model, t_end, 401, l2=l2, draw=draw))
        if 10 * course.stage2 <= t_end or t_end >= 1e7:
            return course
        t_end *= 10


def flow(model: Any, t_end: float, saves: int = 2, **options: float) -> Any:
    """Runs the flow of a model, with implicit steps where it has few weights."""
    built = model.build()
    spacing = {"save_spacing": "log", "save_first": 1} if saves > 2 else {}
    few = {"method": "rosenbrock4"} if built.name.startswith("orbits") else {}
    return popflow.run(built, t_end=t_end, saves=saves, show=False, **tolerance(10), **spacing,
                       **few, **options)


def of_orbits(sizes: Sizes, run: Any) -> Course:
    orbits, v = Orbits(sizes), sizes.words
    own, topic, other, *_ = (np.exp(each) for each in orbits.product(run.K.values.T,
                                                                     run.Q.values.T))
    return Course(run.time.values, np.array([np.linalg.norm(run[name].values, axis=1)
                                             for name in "VKQ"]),
                  (own + (v - 1) * topic) / v / other,
                  (run.V.values / np.sqrt(orbits.entries)).T)


def of_matrices(sizes: Sizes, run: Any) -> Course:
    contrasts = []
    for K, Q in zip(run.W_K.values, run.W_Q.values):
        weights = attention(Documents(sizes), K.T @ Q)
        own, topic, other = sizes.by_class(weights)
        contrasts.append(np.append(own, topic).mean() / other.mean())
    return Course(run.time.values, np.array([np.linalg.norm(run[name].values, axis=(1, 2))
                                             for name in ("W_V", "W_K", "W_Q")]),
                  np.array(contrasts), np.array([classes(sizes, each)
                                                 for each in run.W_V.values]).T)


def classes(sizes: Sizes, value: np.ndarray) -> np.ndarray:
    """Returns the means of the entries of W_V: a word with itself, its topic, other topics."""
    return np.array([each.mean() for each in sizes.by_class(np.vstack([np.zeros(sizes.symbols),
                                                                       value]))])


def attention(documents: Documents, logits: np.ndarray, both: bool = False) -> np.ndarray:
    """Returns the weight of one occurrence of each key, for each query, (key, query), averaged over
    the documents that contain the query (and the key, if `both`). Uniform attention is 1."""
    weights = np.exp(logits - logits.max(axis=0))
    each = weights / (documents.shown @ weights)[:, None, :]  # (document, key, query)
    contains = np.hstack([np.ones((len(documents.words), 1)), documents.words > 0])
    counted = contains[:, None, :] * (contains[:, :, None] if both else np.ones_like(each))
    with np.errstate(invalid="ignore"):
        return (each * counted).sum(axis=0) / counted.sum(axis=0)


def of_embeddings(sizes: Sizes, l2: float, draw: int | None) -> float:
    """Returns the relative excess of the mean product within topics at t = 10/l2."""
    if draw is None:
        orbits = Orbits(sizes)
        run = flow(orbits.model("cross-entropy", "embedding"), 10 / l2, l2=l2)
        _, topic, other, *_ = orbits.product(run.E.values[-1], run.E.values[-1])
        return float(1 - other / topic)
    model = embedding(Documents(sizes), "cross-entropy", start_of_embeddings(sizes, 43))
    run = flow(model, 10 / l2, l2=l2, draw=draw)
    within, between = sizes.pairs(run.W_E.values[-1].T @ run.W_E.values[-1])
    return float(1 - between.mean() / within.mean())


def from_topic(sizes: Sizes) -> float:
    """Returns the largest difference between the losses of the models with squared loss and the
    system topic, in joint training to t = 1e4."""
    saves: dict[str, Any] = {"t_end": 1e4, "saves": 31, "save_spacing": "linear", "show": False,
                             **tolerance(1)}
    if sizes == PAPERS:
        mine = popflow.run(Orbits(sizes).model("squared").build(), **saves)
        other = popflow.run("topic", **saves, **sizes.options)
    else:
        starts = starts_of(sizes)
        mine = popflow.run(one_layer(Documents(sizes), "squared", starts).build(), **saves)
        first = {name: each[0] for name, each in starts.items()}
        zero = np.zeros((sizes.symbols, sizes.symbols))
        other = popflow.run("topic", problem={"W_V": zero, **first}, **saves, **sizes.options)
    return float(np.abs(mine.loss.values - other.loss.values).max())


@claim(45, TOPIC, "Co-occurrence alone does not explain topic-wise behaviour", models=True)
def beyond_co_occurrence(long: bool) -> list[Number]:
    """Words of a topic follow Zipf's law: the r-th has a frequency proportional to r^-s. Models of
    popflow.model train embeddings with uniform attention, and attention with W_V at its optimum
    under uniform attention, as in the protocol. Same-topic pairs are compared with as many pairs
    that co-occur most. In infinitely long documents two words co-occur in proportion to the product
    of their frequencies, averaged over all documents. At s = 0 all words are equally frequent, and
    both sets of pairs are the same."""
    del long
    found: list[Number] = []
    for zipf, draws in ((0.0, 1), (0.5, DRAWS), (1.0, DRAWS), (2.0, DRAWS)):
        documents = Documents(SMALL, zipf)
        name = f"s = {zipf:g}, 20 words"
        topic, frequent = pairs(documents)
        found.append(Number("share of same-topic pairs among the pairs that co-occur most",
                            float(topic[frequent].mean()), name))
        for draw in range(draws):
            cosines = cosine(documents, draw)
            found.append(Check(f"cosine similarity of same-topic pairs less that of the pairs that "
                               f"co-occur most, draw {draw}",
                               float(cosines[topic].mean() - cosines[frequent].mean()),
                               f"embeddings, {name}", least=0.1))
            found += [Number(f"cosine similarity of {words}, draw {draw}",
                             float(cosines[of].mean()), f"embeddings, {name}")
                      for words, of in (("same-topic pairs", topic),
                                        ("the pairs that co-occur most", frequent))]
            found += attended(documents, draw, topic, frequent, name)
    return found


def pairs(documents: Documents) -> tuple[np.ndarray, np.ndarray]:
    """Tells which pairs of different words have one topic, and which as many co-occur most.

    Of pairs that co-occur equally often, those of one topic come first, then those of the first
    words."""
    words = documents.words
    together = words.T @ words / len(words)
    upper = np.triu(np.ones(together.shape, bool), 1)
    topic = (documents.topic[:, None] == documents.topic) & upper
    order = np.lexsort((~topic[upper], -np.round(together[upper] / together.max(), 12)))
    frequent = np.zeros_like(topic)
    frequent[upper] = np.isin(np.arange(upper.sum()), order[:topic.sum()])
    return topic, frequent


def cosine(documents: Documents, draw: int, l2: float = 1e-4) -> np.ndarray:
    """Returns the cosine similarities of the words' embeddings."""
    model = embedding(documents, "squared", start_of_embeddings(documents.sizes, 45))
    trained = flow(model, 10 / l2, l2=l2, draw=draw).W_E.values[-1][:, 1:]
    unit = trained / np.linalg.norm(trained, axis=0)
    return unit.T @ unit


def attended(documents: Documents, draw: int, topic: np.ndarray, frequent: np.ndarray, name: str,
             l2: float = 1e-4) -> list[Number]:
    """Trains attention with W_V fixed at its optimum under uniform attention."""
    model = one_layer(documents, "squared", starts_of(documents.sizes), "attention",
                      optimum(documents, l2))
    t_end = 1e4
    while True:
        run = flow(model, t_end, 401, draw=draw)
        norm = np.linalg.norm(run.W_K.values, axis=(1, 2))
        doubled = np.flatnonzero(norm >= 2 * norm[0])
        if len(doubled) and 10 * run.time.values[doubled[0]] <= t_end:
            break
        if t_end >= 1e7:
            raise ValueError(f"W_K has not doubled by t = {t_end / 10:g}; let it train for longer")
        t_end *= 10
    at = np.searchsorted(run.time.values, 10 * run.time.values[doubled[0]])
    ratios = []
    for when in (at, -1):
        weights = attention(documents, run.W_K.values[when].T @ run.W_Q.values[when], both=True)
        both = (weights + weights.T)[1:, 1:] / 2  # either word is the query
        ratios.append(float(both[topic].mean() / both[frequent].mean()))
    what = "attention within same-topic pairs relative to that within the pairs that co-occur most"
    return [Check(f"{what}, draw {draw}", ratios[0], f"attention, {name}", most=0.9),
            Number(f"{what}, draw {draw}, at the end of training", ratios[1], f"attention, {name}"),
            Number(f"end of training, draw {draw}", t_end, f"attention, {name}")]


def optimum(documents: Documents, l2: float) -> np.ndarray:
    """Returns the W_V of least squared loss under uniform attention, with its penalty l2."""
    z, x = documents.shown, documents.words
    count = len(z)
    return x.T @ z / count @ np.linalg.inv(z.T @ z / count + l2 * np.eye(z.shape[1]))
