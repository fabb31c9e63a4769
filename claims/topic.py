"""Topic models: topic structure in the value matrix, the attention and the embeddings (claims 21 to
25, 41, 43 and 44)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import popflow
from popflow.analysis import Estimate

from .claim import Check, Number, claim
from .papers import TOPIC
from .topics import PAPERS, SMALL, Sizes

TOPICS, WORDS = 10, 10  # topics, and words in each; documents have 4 topics by default
SYMBOLS = 1 + TOPICS * WORDS  # [MASK] and the words
WITHIN = np.kron(np.eye(TOPICS), np.ones((WORDS, WORDS))) > 0
ITSELF = np.eye(TOPICS * WORDS) > 0


def tolerance(times: float = 1) -> dict[str, float]:
    """Returns the program's default tolerance times a factor."""
    return {"rtol": 1e-8 * times, "atol": 1e-10 * times}


def by_class(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Splits the entries of a matrix over the words: a word with itself, with its topic, with other
    topics."""
    words = matrix[1:, 1:]
    return words[ITSELF], words[WITHIN & ~ITSELF], words[~WITHIN]


@claim(21, TOPIC, "W_V becomes block-wise by topic, with uniform and with trained attention",
       experiments=["topic-stage1-optimum", "topic-value-sgd"], forms=("", ""))
def blocks(long: bool) -> list[Number]:
    """The theorem: W_V is trained under uniform attention from zero, from the identity, and from
    Gaussian matrices (full coordinates), until t = 10/l2. Entries for one pair of topics, a word
    with itself included, must be equal. They may differ by at most 1e-6 of the difference between
    own topic and other topics; the slowest difference decays as exp(-2 l2 t), to 2e-9. This holds
    for every l2 > 0. Without l2, to t = 1e5, the loss does not depend on the differences within a
    block. From zero there are none, and W_V becomes block-wise; from the identity the initial
    differences stay.

    The experiments: a word's own entry may exceed its topic's by a tenth of the difference between
    topics. With trained attention (joint training from W_V = 0, l2 = 1e-4) this holds on the
    plateau, when stage 2 has brought attention to the topic. It is lost later, when each word
    attends to itself (t = 1e14)."""
    found: list[Number] = []
    for length in (125, 200, 2000) if long else (125, 2000):
        count = 16 if long else 3
        runs = popflow.run("topic", train="value", mode="sgd", topics=10, words_per_topic=10,
                           topics_per_document=4, document_length=length, learning_rate=2,
                           batch_size=16, runs=count, t_end=4000, saves=2, state="ends")
        found.append(Check(EXCESS, mean_of(excess_of_words(runs)[:, -1]),
                           f"SGD on documents of {length} words, {count} runs", most=0.1))
    return found if long else found + without_samples()


def without_samples() -> list[Number]:
    """Measures W_V of infinitely long documents."""
    found: list[Number] = []
    for l2 in (1e-5, 1e-4, 1e-3):
        for init in ("zero", "identity"):
            found += block_wise(init, l2, 10 / l2, "uniform attention, l2 > 0")
    start = np.random.default_rng(21).normal(0, 0.1, (SYMBOLS, SYMBOLS))
    start[0] = 0

    def from_gaussian(times: float) -> float:
        run = popflow.run("topic", train="value", problem={"W_V": start}, l2=1e-3, t_end=1e4,
                          saves=2, **tolerance(times))
        words, topics, others = by_class(run.W_V.values[-1])
        return (max(np.ptp(np.append(words, topics)), np.ptp(others))
                / (topics.mean() - others.mean()))

    found += [Check("largest difference within blocks relative to that between them, start "
                    "Gaussian", from_gaussian(1),
                    "uniform attention, l2 > 0", most=1e-6),
              Number("change of this ratio at ten times the tolerance",
                     abs(from_gaussian(10) - from_gaussian(1)), "uniform attention, l2 > 0")]
    for init in ("zero", "identity"):
        found += block_wise(init, 0, 1e5, f"uniform attention, l2 = 0 from "
                                          f"{'the ' * (init != 'zero')}{init}")
    run = popflow.run("topic", method="rosenbrock4", t_end=1e14, saves=201, save_spacing="log",
                      save_first=1e3, **tolerance(10))
    excess = excess_of_words(run)
    on = on_plateau(run)
    found += [Check(EXCESS, float(excess[on].max()) if on.any() else np.nan,
                    "trained attention, on the plateau", most=0.1),
              Number("start of the plateau", float(run.time[on][0]),
                     "trained attention, on the plateau"),
              Number("end of the plateau", float(run.time[on][-1]),
                     "trained attention, on the plateau"),
              Check(EXCESS, float(excess[-1]), "trained attention, at the end", most=0.1)]
    return found


#: Deviation of W_V from the block-wise pattern.
EXCESS = "excess of a word's own entry over its topic's, relative to the difference of topics"


def excess_of_words(run: Any) -> np.ndarray:
    own, topic, other = (run[f"value_{name}"].values
                         for name in ("same_word", "same_topic", "other_topic"))
    with np.errstate(invalid="ignore"):  # all entries are 0 at the start
        return (own - topic) / (topic - other)


def mean_of(values: Any) -> Estimate:
    """Returns the mean of independent values with its standard error."""
    values = np.ravel(values)
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))),
                    len(values) - 1)


def block_wise(init: str, l2: float, t_end: float, place: str) -> list[Number]:
    """Measures the differences within blocks and between them, and their solver error."""
    def ends(times: float) -> np.ndarray:
        run = popflow.run("topic", train="value", value_init=init, l2=l2, t_end=t_end, saves=2,
                          init_scale=0.01 if init == "zero" else 1, **tolerance(times))
        own, topic, other = (float(run[f"value_{name}"][-1])
                             for name in ("same_word", "same_topic", "other_topic"))
        return np.array([abs(own - topic) / (topic - other), topic - other])

    found = ends(1)
    return [Check(f"difference within blocks relative to that between them, start {init}, l2 = "
                  f"{l2:g}", found[0], place,
                  most=1e-6),
            Check(f"entry of the own topic less that of others, start {init}, l2 = {l2:g}",
                  found[1], place,
                  least=0.01),
            Number(f"larger change of these two at a tenth of the tolerance, start {init}, "
                   f"l2 = {l2:g}",
                   float(np.abs(ends(0.1) - found).max()), place)]


@claim(22, TOPIC, "Training has two stages: the norm of W_V grows first, those of W_K and W_Q "
       "later",
       experiments=["topic-two-stages"], forms=("", ""))
def two_stages(long: bool) -> list[Number]:
    """All matrices are trained together from W_V = 0. Stage 1 ends when the norm of W_V is within
    1% of its value under uniform attention, and stage 2 begins when the norm of W_K has doubled.
    There are two stages if the norms of W_K and W_Q change by at most a tenth in stage 1, and that
    of W_V by at most a tenth between the stages.

    From W_K = W_Q = scale times the identity this holds up to a scale of 0.3; from 1 on W_V does
    not rest at a plateau. It holds for 1 to 9 topics in a document, and for l2 between 1e-6 and
    0.01. The tolerance hardly matters: the largest change of any of these numbers is given for each
    condition.

    Random starts (full matrices, three draws each; 20 words in the short form, 100 in the long
    form) have a further condition: the norm of W_V must grow by half or more before W_K has
    doubled. Otherwise a norm that falls, or only passes the level, would count as a stage. From W_V
    = 0 there are two stages. From Gaussian entries of 0.02 there are two stages with 20 words; with
    100 words W_V changes by slightly more than a tenth between them. From the default of
    frameworks, uniform within +-1/sqrt(d), from Gaussian entries of that size and from the identity
    there are none, because W_V starts too large. With 100 words its norm falls until stage 2. With
    20 words the norm falls, or passes the level without resting there (picture; the dotted line is
    the norm under uniform attention)."""
    return from_random_starts(PAPERS, 1e5) if long else [*from_identities(),
                                                         *from_random_starts(SMALL, 1e4)]


def from_identities() -> list[Number]:
    """Starts from W_V = 0 and W_K = W_Q = scale times the identity."""
    found: list[Number] = []
    cases: list[tuple[str, str, str, list[float]]] = [
        ("init_scale", "scale", "scales up to 0.3", [0.001, 0.01, 0.1, 0.3]),
        ("init_scale", "scale", "scale 1", [1.0]),
        ("topics_per_document", "topics in a document", "1 to 9 topics in a document",
         [1, 2, 6, 9]),
        ("l2", "l2", "l2 from 1e-6 to 0.01", [1e-6, 1e-5, 1e-3, 1e-2])]
    for name, label, place, values in cases:
        fine, runs = (popflow.sweep("topic", {name: values}, method="rosenbrock4", t_end=1e6,
                                    record="series", saves=2001, save_spacing="log", save_first=10,
                                    **tolerance(times)) for times in (0.1, 1))
        pairs = [(stages(runs.sel({name: value}), f"{label} {value:g}", place),
                  stages(fine.sel({name: value}), "", place)) for value in values]
        found += [number for numbers, _ in pairs for number in numbers]
        found.append(Number("largest change of these numbers at a tenth of the tolerance",
                            max(moved(*pair) for pair in pairs), place))
    return found


def from_random_starts(sizes: Sizes, t_end: float) -> list[Number]:
    found: list[Number] = []
    for kind in STARTS:
        place = f"{kind}, {sizes.topics * sizes.words} words"
        for draw in range(3):
            run = popflow.run("topic", problem=random_start(kind, draw, sizes), saves=401,
                              t_end=t_end, save_spacing="log", save_first=1, state="ends",
                              **tolerance(10), **sizes.options)
            found += [*stages(run, f"draw {draw}", place), grows(run, f"draw {draw}", place)]
    return found


#: Starts of W_V, W_K and W_Q that frameworks and papers use.
STARTS = ["W_V = 0, small Gaussian W_K, W_Q", "all Gaussian with 0.02",
          "W_V uniform +-1/sqrt(d), small Gaussian W_K, W_Q", "all uniform +-1/sqrt(d)",
          "W_V Gaussian with 1/sqrt(d), small Gaussian W_K, W_Q",
          "W_V = identity, small Gaussian W_K, W_Q"]


def random_start(kind: str, draw: int, sizes: Sizes) -> dict[str, np.ndarray]:
    """Draws the matrices of a start of this kind. Row 0 of W_V is 0, as in the model."""
    rng = np.random.default_rng([22, draw])
    shape, width = (sizes.symbols, sizes.symbols), 1 / np.sqrt(sizes.symbols)
    draws: dict[str, Callable[[], np.ndarray]] = {
        "0": lambda: np.zeros(shape), "identity": lambda: np.eye(sizes.symbols),
        "small": lambda: rng.normal(0, 0.01, shape), "0.02": lambda: rng.normal(0, 0.02, shape),
        "uniform": lambda: rng.uniform(-width, width, shape),
        "Gaussian": lambda: rng.normal(0, width, shape)}
    value, factor = {STARTS[0]: ("0", "small"), STARTS[1]: ("0.02", "0.02"),
                     STARTS[2]: ("uniform", "small"), STARTS[3]: ("uniform", "uniform"),
                     STARTS[4]: ("Gaussian", "small"), STARTS[5]: ("identity", "small")}[kind]
    start = {name: draws[of]() for name, of in (("W_V", value), ("W_K", factor), ("W_Q", factor))}
    start["W_V"][0] = 0
    return start


def grows(run: Any, what: str, place: str) -> Check:
    """Checks how far the norm of W_V has grown when the norm of W_K has doubled."""
    value = run.norm_value.values
    then = float(np.interp(float(run.time_of.stage2_start), run.time.values, value))
    return Check(f"growth of the norm of W_V until stage 2, relative to the norm at that time, "
                 f"{what}",
                 (then - value[0]) / then, place, least=1 / 3)


def moved(numbers: list[Number], others: list[Number]) -> float:
    """Returns the largest difference between two lists, over the numbers that decide."""
    return max(abs(float(one.found) - float(other.found))
               for one, other in zip(numbers, others, strict=True) if isinstance(one, Check))


def stages(run: Any, what: str, place: str) -> list[Number]:
    first, second = (float(run.time_of[name]) for name in ("stage1_end", "stage2_start"))
    time, value = run.time.values, run.norm_value.values
    factors = [run.norm_key.values, run.norm_query.values]
    between = (time >= first) & (time <= second)
    if not np.isfinite(first):  # the norm of W_V never comes within 1% of its optimum
        return [Check(f"change of the norms of W_K and W_Q until stage 1 ends, {what}", np.nan,
                      place, most=0.1)]
    return [Check(f"change of the norms of W_K and W_Q until stage 1 ends, {what}",
                  max(abs(float(np.interp(first, time, norm) / norm[0] - 1)) for norm in factors),
                  place, most=0.1),
            Check(f"change of the norm of W_V between the stages, {what}",
                  float(np.ptp(value[between]) / np.interp(first, time, value))
                  if between.any() else np.nan, place, most=0.1),
            Number(f"start of stage 2 relative to the end of stage 1, {what}",
                   second / first if first > 0 else np.inf, place)]


@claim(23, TOPIC, "Words come to attend more to words of their own topic",
       experiments=["topic-attention-map", "topic-two-stages", "topic-after-the-plateau"],
       forms=("", ""))
def attention_to_the_topic(long: bool) -> list[Number]:
    """The second stage is tested in two settings: W_V frozen at its optimum under uniform
    attention, as in the paper's theorem, and W_V trained along. There are 2 to 9 topics in a
    document and several l2. (With one topic or all ten, documents do not distinguish topics.) The
    contrast is the weight of the own topic relative to its frequency, divided by that of other
    topics; it must be at least 1.1. It has two definitions: with the queried word counted as one of
    its topic, as in the paper's averages and claim 24, and without it. It is measured at t = 1e7,
    and at t = 1e14, where it no longer changes. (With frozen W_V and l2 = 0.1 other topics still
    lose weight then.) The tolerance is rtol = 1e-7.

    The definition matters where each word attends to itself: with the word counted the own topic
    has more weight there, without it less. The start decides the time: W_K = W_Q = 0.01 times the
    identity is special. From Gaussian factors (full matrices: three draws with 20 words, two with
    100 words) training leaves the first plateau far earlier, with 100 words between t = 3e4 and
    1e5, for a state with more attention to the topic in both definitions.

    Frozen W_V: the claim holds for good with l2 up to 0.01; with 0.01 and 9 topics it does not hold
    yet at t = 1e7. At l2 = 0.1 W_V has almost lost the topics, and with 5 topics or more attention
    turns to [MASK].

    Trained W_V: attention to the topic is a plateau and not the end. The plateau is a saddle of the
    flow. A word's own logit, from the start a little above that of its topic, grows until each word
    attends to itself, and the rest of its topic has less weight than other topics. The loss is
    lower there. The larger l2, the longer the plateau: it ends by about t = 1e7 where l2 is 1e-5 or
    less, between 2e7 and 5e7 at 1e-4, and at about 3e8 at 1e-3. (With 9 topics and l2 = 1e-3 the
    contrast stays above 1 until t = 2e12, but it is a ratio of vanishing weights. From 1e9 on each
    word attends to itself, and the rest of its topic has 3e-6 of its frequency or less.) At l2 =
    0.01 the plateau lasts until 2e9 or longer with up to 5 topics. With more topics, and with any
    number at 0.1, attention turns to [MASK]."""
    sizes = range(2, 10) if long else [2, 4, 6, 9]
    settings = {
        ("attention", "frozen W_V"): {"l2 up to 1e-3": [1e-6, 1e-5, 1e-4, 1e-3],
                                      "l2 = 0.01": [0.01], "l2 = 0.1": [0.1]},
        ("joint", "trained W_V"): {"l2 up to 1e-5": [1e-6, 1e-5], "l2 1e-4 to 1e-3": [1e-4, 1e-3],
                                   "l2 from 0.01": [0.01, 0.1]}}
    found: list[Number] = []
    for (train, name), groups in settings.items():
        runs, fine = (popflow.sweep("topic", {"topics_per_document": sizes,
                                              "l2": sum(groups.values(), [])},
                                    train=train, method="rosenbrock4", t_end=1e14, record="series",
                                    saves=222, save_spacing="log", save_first=1e3,
                                    **tolerance(times)) for times in (10, 1))
        for label, values in groups.items():
            counted = "2 to 9 topics" if long else "2, 4, 6 and 9 topics"
            case = f"{name} with {label}, {counted}"
            found += contrasts(runs.sel(l2=values), fine.sel(l2=values), case)
            if train == "joint" and max(values) < 0.01:
                found += plateau(runs.sel(l2=values), fine.sel(l2=values),
                                 f"{case} at the end, {DEFINITIONS[False]}")
    return found + (from_random_factors(PAPERS, [3e4, 1e5], 2) if long else
                    from_random_factors(SMALL, [1e4, 1e5], 3))


#: Definitions of the contrast.
DEFINITIONS = {True: "the queried word counted", False: "other words alone"}


def contrasts(runs: Any, fine: Any, case: str) -> list[Number]:
    found: list[Number] = []
    for time, when in ((1e7, "t = 1e7"), (1e14, "the end")):
        for with_word, definition in DEFINITIONS.items():
            contrast, finer = (attention_contrast(one.sel(time=time, method="nearest"), with_word)
                               for one in (runs, fine))
            place = f"{case} at {when}, {definition}"
            found += [Check(f"cases of {contrast.size} with a contrast below 1.1",
                            int((contrast < 1.1).sum()), place, most=0),
                      Number("least contrast", float(contrast.min()), place),
                      Number("largest contrast", float(contrast.max()), place),
                      Number("largest relative change of a contrast at a tenth of the tolerance",
                             float(np.abs(finer / contrast - 1).max()), place)]
    return found


def from_random_factors(sizes: Sizes, times: list[float], draws: int) -> list[Number]:
    """Measures contrasts of joint training from W_V = 0 and Gaussian W_K, W_Q, at several times."""
    found: list[Number] = []
    ends: dict[tuple[float, bool], list[float]] = {}
    left = []
    for draw in range(draws):
        start = random_start(STARTS[0], draw, sizes)
        run = popflow.run("topic", problem=start, save_at=times[:-1], t_end=times[-1],
                          state="none", **tolerance(10), **sizes.options)
        for with_word, values in zip((True, False), sizes.contrasts(run), strict=True):
            for time, value in zip(times, values[-len(times):], strict=True):
                ends.setdefault((time, with_word), []).append(float(value))
        left.append(float(run.time_of.stage2_start))
    kind = f"Gaussian start, {sizes.topics * sizes.words} words"
    for (time, with_word), values in ends.items():
        place = f"{kind}, at t = {time:g}, {DEFINITIONS[with_word]}"
        found += [Check(f"least contrast of {draws} draws", min(values), place, least=1.1),
                  Number("mean contrast over draws", mean_of(values), place)]
    return [*found, Number("time at which the norm of W_K has doubled, mean over draws",
                           mean_of(left), kind)]


def plateau(runs: Any, fine: Any, place: str) -> list[Number]:
    """Measures how long the contrast lasts, and how much lower the loss is at the end."""
    until, finer = (lasts(one) for one in (runs, fine))
    time, loss = runs.time.values, runs.loss.values
    half = np.abs(np.log(time[1:] / (until[..., None] / 2))).argmin(axis=-1) + 1
    before = np.take_along_axis(loss, half[..., None], axis=-1)[..., 0]
    return [Number("shortest time for which a contrast stays above 1.1", float(until.min()),
                   place),
            Number("longest time for which a contrast stays above 1.1", float(until.max()),
                   place),
            Number("largest relative change of these times at a tenth of the tolerance",
                   float(np.abs(finer / until - 1).max()), place),
            Number("largest contrast over time, least over cases",
                   float(attention_contrast(runs).max(axis=-1).min()), place),
            Number("largest change of the loss since half of this time",
                   float((loss[..., -1] - before).max()), place)]


def lasts(runs: Any) -> np.ndarray:
    """Returns the last time at which the contrast is at least 1.1, interpolated between records."""
    time, contrast = runs.time.values, np.log(attention_contrast(runs) / 1.1)
    last = contrast.shape[-1] - 1 - (contrast[..., ::-1] >= 0).argmax(axis=-1)
    after = np.minimum(last + 1, contrast.shape[-1] - 1)
    high, low = (np.take_along_axis(contrast, at[..., None], axis=-1)[..., 0]
                 for at in (last, after))
    part = np.where(after > last, high / np.where(after > last, high - low, 1), 0)
    return time[last] * (time[after] / time[last]) ** part


def attention_contrast(runs: Any, with_word: bool = False) -> np.ndarray:
    """Returns the attention to the own topic relative to that to other topics. The axes are sizes,
    l2 and, unless one is chosen, time. The queried word is left out, or counts as a word of its
    topic if `with_word` is true."""
    own, alone = PAPERS.contrasts(runs)
    return own if with_word else alone


@claim(24, TOPIC, "The loss over (alpha, beta) is least where words attend more to their own "
       "topic",
       experiments=["topic-landscape"], forms=("", ""))
def landscape(long: bool) -> list[Number]:
    """Attention weights are given relative to a word of another topic, which has weight 1. Another
    word of the query's topic has weight alpha, and the queried word itself has weight beta. W_V is
    frozen in one of two forms that are optimal under uniform attention. The form with blocks has
    equal entries for all pairs of words of a topic; it is the optimum with l2. The diagonal form
    has equal entries for all pairs of different words. A word's entry with itself is larger, so
    that its topic has the same sum as in the form with blocks. Without l2 this form is as good. The
    least loss over the plane is found by grids that are refined around their best point.

    With blocks the loss depends on (v-1) alpha + beta alone. Its minima are a valley, along which
    the mean weight of the own topic, ((v-1) alpha + beta)/v, is far above 1, that of uniform
    attention. With the diagonal form the minimum lies at a very large beta. The mean weight of the
    own topic is as high, but it is all on the word itself, and the topic's other words have less
    weight than those of other topics. (With eight topics in a document the loss hardly changes with
    alpha where alpha is below 0.1.) So the form of W_V decides whether attention shows the topic.

    Attention pays because of the kept words. With keep-prob 0 the mean weight at the minimum is
    1.005 to 1.010, and uniform attention loses only 1e-8. Without random words, too, the loss does
    not depend on the attention at all. Without random words alone the minimum lies further out, at
    12 to thousands.

    The picture, for 4 topics in a document, shows the valley as a line, the minimum as a dot, and
    uniform attention as a cross."""
    found: list[Number] = []
    for topics in (6,) if long else (2, 4, 8):
        case = f"{topics} topics in a document"
        blocks, diagonal = loss_over(topics, "blocks"), loss_over(topics, "diagonal")
        weight, least, step = along_the_diagonal(blocks)
        found += [Check(f"mean weight of the own topic at the minimum, {case}", weight,
                        "W_V with blocks", least=1.1),
                  Check(f"change of the loss along the valley, {case}", valley(blocks, weight),
                        "W_V with blocks", most=1e-12),
                  Number(f"last step of the search, in the weight's logarithm, {case}", step,
                         "W_V with blocks"),
                  Number(f"change of W_V's entries at a tenth of the tolerance, {case}",
                         float(np.abs(optimum(topics, 0.1) - optimum(topics)).max()),
                         "W_V with blocks"),
                  Number(f"loss of uniform attention less the least loss, {case}",
                         blocks([0.0], [0.0])[0, 0] - least, "W_V with blocks")]
        alpha, beta, least, step = minimum(diagonal)
        found += [Check(f"mean weight of the own topic at the minimum, {case}",
                        ((WORDS - 1) * alpha + beta) / WORDS, "W_V diagonal", least=1.1),
                  Check(f"alpha at the minimum, {case}", alpha,
                        "other words of the topic with W_V diagonal", least=1.1),
                  Number(f"beta at the minimum, {case}", beta, "W_V diagonal"),
                  Number(f"last step of the search, in log alpha and log beta, {case}", step,
                         "W_V diagonal"),
                  Number(f"loss of uniform attention less the least loss, {case}",
                         diagonal([0.0], [0.0])[0, 0] - least, "W_V diagonal")]
    for keep, random in () if long else ((0.0, 0.1), (0.1, 0.0), (0.0, 0.0)):
        place = f"W_V with blocks, keep-prob {keep:g}, random-prob {random:g}"
        for topics in (2, 4, 8):
            loss = loss_over(topics, "blocks", keep_prob=keep, random_prob=random)
            weight, least, step = along_the_diagonal(loss)
            gain = loss([0.0], [0.0])[0, 0] - least
            found += [Check(f"mean weight of the own topic at the minimum, {topics} topics in a "
                            "document", weight, place, least=1.1),
                      Number(f"loss of uniform attention less the least loss, {topics} topics in a "
                             "document", gain, place)]
    return found


Loss = Callable[[Sequence[float], Sequence[float]], np.ndarray]


def optimum(topics: int, times: float = 1) -> np.ndarray:
    """Returns the entries of W_V under uniform attention, for own topic, other topics and [MASK],
    at `times` the tolerance."""
    value = popflow.run("topic", train="value", topics_per_document=topics, t_end=1e5, saves=2,
                        **tolerance(times))
    return np.array([float(value[f"value_{name}"][-1])
                     for name in ("same_topic", "other_topic", "mask")])


def loss_over(topics: int, form: str, **masking: float) -> Loss:
    """Returns a function that computes the loss over grids of log alpha and log beta."""
    own, other, mask = optimum(topics) if form == "diagonal" else (0.0, 0.0, 0.0)
    diagonal = {"value_same_word": WORDS * own - (WORDS - 1) * other, "value_same_topic": other,
                "value_other_topic": other, "value_mask": mask}
    problem = ({name: np.float64(entry) for name, entry in diagonal.items()}
               if form == "diagonal" else None)

    def loss(log_alpha: Sequence[float], log_beta: Sequence[float]) -> np.ndarray:
        return popflow.sweep("topic", {"init_logit_same_topic": list(map(float, log_alpha)),
                                       "init_logit_same_word": list(map(float, log_beta))},
                             topics_per_document=topics, train="attention", t_end=0,
                             problem=problem, parameterization="direct", **masking).loss.values

    return loss


def along_the_diagonal(loss: Loss) -> tuple[float, float, float]:
    """Returns alpha and the loss at the minimum on the line beta = alpha, and the last step of the
    search."""
    centre, reach = 0.0, 8.0
    for _ in range(5):
        steps = np.round(centre + np.linspace(-reach, reach, 33), 9)
        values = np.diag(loss(steps, steps))
        centre, reach = steps[values.argmin()], reach / 8
    return float(np.exp(centre)), float(values.min()), float(steps[1] - steps[0])


def valley(loss: Loss, weight: float) -> float:
    """Returns the range of the loss along (v-1) alpha + beta = v weight."""
    part = np.linspace(0.001, 0.999, 9)
    values = loss(np.log(WORDS * weight * part / (WORDS - 1)), np.log(WORDS * weight * (1 - part)))
    return float(np.ptp(np.diag(values)))


def minimum(loss: Loss) -> tuple[float, float, float, float]:
    """Returns alpha, beta and the loss at the minimum, and the last step of the search. The grids
    shrink slowly, since the minimum lies in a narrow valley, which a coarse grid meets only at a
    few points."""
    centre, reach = np.zeros(2), 8.0
    for _ in range(14):
        steps = np.linspace(-reach, reach, 25)
        values = loss(np.round(centre[0] + steps, 9), np.round(centre[1] + steps, 9))
        i, j = np.unravel_index(values.argmin(), values.shape)
        centre, reach = np.round(centre + [steps[i], steps[j]], 9), reach / 2
    return (float(np.exp(centre[0])), float(np.exp(centre[1])), float(values.min()),
            float(steps[1] - steps[0]))


@claim(25, TOPIC, "Embeddings of words of one topic have larger inner products than those of two",
       experiments=["topic-embedding"])
def embeddings(long: bool) -> list[Number]:
    """Embeddings are trained with uniform attention, from scale times the identity until t =
    1e4/l2, and from Gaussian matrices. The inner products of words of one topic must exceed those
    of two topics by at least a tenth of themselves. From Gaussian matrices, where products differ,
    this must hold for every pair."""
    del long
    found: list[Number] = []
    for l2 in (1e-6, 1e-4, 1e-2):
        place = f"l2 = {l2:g}"
        ends = {}
        for scale in (0.01, 0.3):
            ends[scale] = excess = excesses(scale, l2, 1e4 / l2)
            sooner, finer = excesses(scale, l2, 1e3 / l2), excesses(scale, l2, 1e4 / l2, 0.1)
            found += [Check("relative excess of products within topics, least for 1 to 9 topics "
                            "in a document, "
                            f"scale {scale:g}", float(excess[:9].min()), place, least=0.1),
                      Number(f"relative excess for 4 topics in a document, scale {scale:g}",
                             float(excess[3]), place),
                      Number(f"relative excess for all ten topics in a document, scale {scale:g}",
                             float(excess[9]), place),
                      Number("largest change of these excesses since t = 1e3/l2, "
                             f"scale {scale:g}", float(np.abs(excess - sooner).max()), place),
                      Number("largest change of these excesses at a tenth of the tolerance, "
                             f"scale {scale:g}", float(np.abs(excess - finer).max()), place)]
        found.append(Number("largest difference of these excesses between the scales",
                            float(np.abs(ends[0.01] - ends[0.3]).max()), place))
    (middle, end), (_, rough) = from_gaussian_embedding(1), from_gaussian_embedding(10)
    return [*found,
            Check("relative excess of the least product within topics over the largest of two "
                  "topics",
                  end, "Gaussian start", least=0.1),
            Number("change of this excess since half of the time", abs(end - middle),
                   "Gaussian start"),
            Number("change of this excess at ten times the tolerance", abs(end - rough),
                   "Gaussian start")]


def excesses(scale: float, l2: float, t_end: float, times: float = 1) -> np.ndarray:
    """Returns the relative excess of products within topics over those of two topics, for 1 to 10
    topics in a document."""
    runs = popflow.sweep("topic", {"topics_per_document": range(1, 11)}, train="embedding",
                         init_scale=scale, l2=l2, t_end=t_end, method="rosenbrock4",
                         **tolerance(times))
    return (1 - runs.value_other_topic / runs.value_same_topic).values


def from_gaussian_embedding(times: float) -> list[float]:
    """Returns the relative excess, least over all pairs, at half of the time and at its end."""
    start = np.random.default_rng(25).normal(0, 0.01, (SYMBOLS, SYMBOLS))
    run = popflow.run("topic", train="embedding", problem={"W_E": start}, t_end=3e4, saves=3,
                      **tolerance(times))
    classes = [by_class(factor.T @ factor) for factor in run.W_E.values[1:]]
    return [float(1 - other.max() / topic.min()) for _, topic, other in classes]


def on_plateau(run: Any) -> np.ndarray:
    """Tells at which records attention is on the topic and still about equal on all of its
    words."""
    contrast, _ = PAPERS.contrasts(run)
    return (contrast > 2) & (run.attention_same_word < 1.01 * run.attention_same_topic).values


@claim(41, TOPIC, "Training W_V first and then the attention is a fair simplification of joint "
       "training")
def alternating(long: bool) -> list[Number]:
    """Alternating training is compared with joint training from W_V = 0. Alternating training takes
    W_V at its optimum under uniform attention, freezes it, and trains W_K and W_Q until t = 1e14.
    Both trainings start from W_K = W_Q = 0.01 times the identity. Contrasts (the queried word
    counted) and norms of W_V must agree to a tenth, on the plateau of joint training and at the
    end. On the plateau they are taken where the logarithm of the contrast changes least with that
    of time."""
    del long
    found: list[Number] = []
    axes = {"topics_per_document": [2, 4, 6], "l2": [1e-4, 1e-3]}
    runs = {train: popflow.sweep("topic", axes, train=train, method="rosenbrock4", t_end=1e14,
                                 record="series", saves=222, save_spacing="log", save_first=1e3,
                                 **tolerance(10)) for train in ("joint", "attention")}
    for topics in axes["topics_per_document"]:
        for l2 in axes["l2"]:
            joint, alone = (runs[train].sel(topics_per_document=topics, l2=l2)
                            for train in ("joint", "attention"))
            inside = np.flatnonzero(on_plateau(joint))
            speed = np.abs(np.gradient(np.log(PAPERS.contrasts(joint)[0][inside]),
                                       np.log(joint.time.values[inside])))
            for place, when in (("on the plateau", inside[speed.argmin()]), ("at the end", -1)):
                both = [float(PAPERS.contrasts(one)[0][at]) for one, at in
                        ((alone, -1), (joint, when))]
                case = f"{topics} topics in a document, l2 = {l2:g}"
                norm = float(alone.norm_value[-1] / joint.norm_value[when])
                found += [Check(f"contrast of alternating training, {case}", both[0], place,
                                least=1.1),
                          Number(f"contrast of alternating training relative to joint training, "
                                 f"{case}", both[0] / both[1], place),
                          Number(f"norm of W_V in alternating training relative to joint training, "
                                 f"{case}", norm, place),
                          Number(f"contrast of joint training, {case}", both[1], place)]
    return found


@claim(43, TOPIC, "The results remain with documents of 100 to 150 words",
       forms=("20 different words", "100 different words"))
def short_documents(long: bool) -> list[Number]:
    """Sampled training on documents of 100, 125 and 150 words: three runs with batches of 16
    documents each. Both forms have these lengths; their vocabularies differ:

    - The short form has 20 different words: five topics of four words, two topics in a document.
      Joint training ends at t = 6000.
    - The long form has the paper's T = v = 10, 100 different words: ten topics of ten words, four
      topics in a document (our choice). Joint training ends at t = 1e5.

    There are three requirements. W_V under uniform attention must be block-wise to a tenth at
    t = 4000, as in claim 21. Joint training from Gaussian W_K and W_Q must have a contrast of at
    least 1.1, as in claim 23. Embeddings from Gaussian matrices must have products that are larger
    within topics by a tenth at t = 2000, as in claim 25, but here on average over pairs.

    The generator has disjoint topics with equal shares in a document: the paper's special case of
    LDA. LDA's random shares of topics would need another generator."""
    sizes = PAPERS if long else SMALL
    found: list[Number] = []
    for length in (100, 125, 150):
        sampled = {"mode": "sgd", "batch_size": 16, "document_length": length, "runs": 3,
                   "learning_rate": 1.0, **sizes.options}
        value = popflow.run("topic", train="value", t_end=4000, saves=2, state="ends", **sampled)
        found.append(Check(f"{EXCESS}, {length} words", mean_of(excess_of_words(value)[:, -1]),
                           "W_V block-wise", most=0.1))
        start = random_start(STARTS[0], 0, sizes)
        joint = popflow.run("topic", problem=start, t_end=1e5 if long else 6000, saves=2,
                            state="none", **sampled)
        own, alone = sizes.contrasts(joint)
        found += [Check(f"contrast, the queried word counted, {length} words", mean_of(own[:, -1]),
                        "attention to the topic", least=1.1),
                  Number(f"contrast, other words alone, {length} words", mean_of(alone[:, -1]),
                         "attention to the topic")]
        factor = np.random.default_rng(43).normal(0, 0.1, (sizes.symbols, sizes.symbols))
        trained = popflow.run("topic", train="embedding", problem={"W_E": factor}, saves=2,
                              state="ends", t_end=2000, **{**sampled, "learning_rate": 0.2})
        excess = []
        for each in trained.W_E.values[:, -1]:
            within, between = sizes.pairs(each.T @ each)
            excess.append(1 - between.mean() / within.mean())
        found.append(Check("relative excess of the mean product within topics over that of two "
                           "topics, "
                           f"{length} words", mean_of(excess), "embeddings by topic",
                           least=0.1))
    return found


@claim(44, TOPIC, "If one part is not trained, the other compensates")
def compensation(long: bool) -> list[Number]:
    """One part is trained alone, until its training has ended: embeddings with uniform attention,
    W_V with uniform attention, or attention with W_V frozen at its optimum. Topic structure:
    products of embeddings within topics exceed those of two topics by a tenth, and so do entries of
    W_V; the contrast of the attention is at least 1.1. Loss: joint training removes a part of the
    loss, from 1 at the start (W_V = 0) to its end (t = 1e14). Of this part each single training
    must leave at most a tenth."""
    del long
    found: list[Number] = []
    axes = {"topics_per_document": [2, 4, 6], "l2": [1e-4, 1e-3]}
    ends = {train: popflow.sweep("topic", axes, train=train, method="rosenbrock4",
                                 t_end=1e4 / 1e-4 if train in ("value", "embedding") else 1e14,
                                 **tolerance(10))
            for train in ("joint", "attention", "value", "embedding")}
    names = {"embedding": "embeddings with uniform attention",
             "value": "W_V with uniform attention",
             "attention": "attention with frozen W_V"}
    for topics in axes["topics_per_document"]:
        for l2 in axes["l2"]:
            case = f"{topics} topics in a document, l2 = {l2:g}"
            end = {train: runs.sel(topics_per_document=topics, l2=l2)
                   for train, runs in ends.items()}
            for train in ("embedding", "value"):
                ratio = float(end[train].value_other_topic / end[train].value_same_topic)
                found.append(Check(
                    f"relative excess of entries within topics over those of two topics, "
                    f"{names[train]}, "
                    f"{case}", 1 - ratio, "topic structure", least=0.1))
            found.append(Check(f"contrast, the queried word counted, {names['attention']}, {case}",
                               float(PAPERS.contrasts(end["attention"])[0]), "topic structure",
                               least=1.1))
            removed = 1 - float(end["joint"].loss)
            found += [Number(f"share left of the loss that joint training removes, {case}",
                             1 - (1 - float(end[train].loss)) / removed, f"loss, {name}")
                      for train, name in names.items()]
    return found
