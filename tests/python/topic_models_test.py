# label: slow
"""Models behind claims 42 and 45: with squared loss they agree with the system topic."""

import sys
from pathlib import Path

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()
sys.path.insert(0, str(Path(__file__).parents[2]))
from claims import topic_models  # noqa: E402
from claims.topic_laws import Documents, Orbits, embedding, one_layer  # noqa: E402
from claims.topics import PAPERS, Sizes  # noqa: E402

import popflow  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")
TINY = Sizes(3, 3, 2)
RUN = {"t_end": 300, "saves": 4, "save_spacing": "linear", "show": False,
       "rtol": 1e-9, "atol": 1e-12}


def largest(one, other):
    return float(np.abs(one.loss.values - other.loss.values).max())


def test_every_pair_of_document_and_query_counts():
    documents = Documents(Sizes(5, 4, 2), zipf=1.0)
    assert np.allclose(documents.words.sum(axis=1), 1)
    assert np.allclose(documents.shown.sum(axis=1), 1)
    document, _, masked, probability = documents.queries()
    assert np.allclose(masked.sum(axis=1), 1) and np.isclose(probability.sum(), 1)
    # Summed over what a position shows, the masked word has the frequency in the document.
    mean = np.zeros_like(documents.words)
    np.add.at(mean, document, masked * probability[:, None] * len(documents.words))
    assert np.allclose(mean, documents.words)


def test_types_of_queries_count_every_word():
    for sizes in (TINY, PAPERS):
        *_, size, masked, probability = Orbits(sizes).types
        assert np.all(size.sum(axis=1) == sizes.topics * sizes.words)
        assert np.allclose(masked.sum(axis=1), 1) and np.isclose(probability.sum(), 1)


def test_symmetric_matrices_follow_the_system_topic():
    model = Orbits(TINY).model("squared").build(check=False)
    assert largest(popflow.run(model, **RUN), popflow.run("topic", **RUN, **TINY.options)) < 1e-9


def test_full_matrices_follow_the_system_topic():
    """The parameter draw chooses one of the starts."""
    rng = np.random.default_rng(1)
    shape = (TINY.symbols, TINY.symbols)
    starts = {name: [rng.normal(0, 0.3, shape) for _ in range(2)] for name in ("W_K", "W_Q")}
    model = one_layer(Documents(TINY), "squared", starts).build(check=False)
    for draw in range(2):
        mine = popflow.run(model, draw=draw, **RUN)
        start = {name: each[draw] for name, each in starts.items()}
        theirs = popflow.run("topic", problem={"W_V": np.zeros(shape), **start}, **RUN,
                             **TINY.options)
        assert largest(mine, theirs) < 1e-9
    weights = topic_models.attention(Documents(TINY), mine.W_K.values[-1].T @ mine.W_Q.values[-1])
    for of, name in zip(TINY.by_class(weights), ("word", "topic")):
        assert np.isclose(of.mean(), float(theirs[f"attention_same_{name}"][-1]), rtol=1e-6)


def test_embeddings_follow_the_system_topic():
    start = 0.1 * np.eye(TINY.symbols)
    mine = popflow.run(embedding(Documents(TINY), "squared", [start]).build(check=False), **RUN)
    theirs = popflow.run("topic", train="embedding", init_scale=0.1, **RUN, **TINY.options)
    assert largest(mine, theirs) < 1e-9


def test_the_optimum_under_uniform_attention_is_a_minimum():
    documents = Documents(TINY, zipf=1.0)
    value = topic_models.optimum(documents, 1e-3)
    gradient = 1e-3 * value + (value @ documents.shown.T - documents.words.T) @ documents.shown \
        / len(documents.words)
    assert np.abs(gradient).max() < 1e-14


def test_pairs_that_co_occur_most():
    """Equally frequent words co-occur most with their topic. Under Zipf's law frequent words of two
    topics co-occur more than rare ones of one topic."""
    topic, frequent = topic_models.pairs(Documents(TINY))
    assert topic.sum() == 9 and np.array_equal(topic, frequent)
    topic, frequent = topic_models.pairs(Documents(TINY, zipf=2.0))
    assert topic.sum() == frequent.sum() and 0 < topic[frequent].sum() < 9
    assert frequent[0, 3] and not frequent[1, 2]


def test_stages_of_a_course():
    time = np.arange(6.0)
    course = topic_models.Course(time, np.array([[0, 1, 2, 2, 2, 2.5], [1, 1, 1, 1, 1.5, 2.5],
                                                 [1, 1, 1, 1, 1, 1.0]]), time, np.zeros((3, 6)))
    assert course.stage2 == 4.5
    grown, factors, rest, *_ = topic_models.stages(course, 2.0, "", "")
    assert grown.found == 1 and factors.found == 0 and rest.found == 0
    assert [one.holds() for one in (grown, factors, rest)] == [True, True, True]
