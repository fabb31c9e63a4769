"""Matrices over the words of a topic model, ordered by topic."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from .fields import aggregated, at_end, bar
from .labels import heading
from .runs import recorded, well
from .style import GRADED

MOST_WORDS = 120  # per side; larger models show their first topics
CLASSES = ("value_same_word", "value_same_topic", "value_other_topic")


def blocks(axes: Any, data: xarray.Dataset, name: str) -> None:
    """Draws `W_V` or `E` over the words at the last record, beside the blocks of the topics.

    A reduced run has no matrix; its class values (same word, same topic, other topic) fill one. `E`
    is the product W_E' W_E of the embedding. The matrix of topics has the largest entry of the
    learned matrix for two words of one topic, and 0 elsewhere.
    """
    data = recorded(well(data))
    topics, size = sizes(data)
    size_drawn = min(size, MOST_WORDS // 2)
    drawn = max(1, min(topics, MOST_WORDS // size_drawn))
    words = np.add.outer(size * np.arange(drawn), np.arange(size_drawn)).ravel()
    learned = of_words(data, name, words, size)
    same = np.equal.outer(words // size, words // size)
    largest = float(np.nanmax(np.abs(learned)))
    signed = float(np.nanmin(learned)) < -0.05 * largest
    for place, cells in enumerate((learned, largest * same)):
        image = axes.imshow(aggregated(cells), extent=(1.1 * place, 1.1 * place + 1, len(words), 0),
                            aspect="auto", vmin=-largest if signed else min(0, learned.min()),
                            vmax=largest, cmap="PuOr" if signed else GRADED,
                            interpolation="nearest")
    axes.set_xlim(0, 2.1)
    symbol = "$W_V$" if name == "W_V" else "$E = W_E^\\top W_E$"
    axes.set_xticks([0.5, 1.6], [f"{symbol}, learned", "topics, true"])
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("word, topic by topic")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.spines[["left", "bottom"]].set_visible(False)
    bar(axes, image, "", below=True)
    what = "value matrix" if name == "W_V" else "inner products of embeddings"
    some = len(words) < topics * size
    heading(axes, what + (f" (the first {len(words)} of {topics * size} words)" if some else ""))


def sizes(data: xarray.Dataset) -> tuple[int, int]:
    """Returns the number of topics and the words in each."""
    parameters = data.popflow.parameters
    return int(parameters["topics"]), int(parameters["words_per_topic"])


def of_words(data: xarray.Dataset, name: str, words: Any, size: int) -> Any:
    """Returns the matrix over the first words: the recorded one, or one made of class values."""
    field = "W_V" if name == "W_V" else "W_E"
    if field in data and data[field].shape[-1] == data[field].shape[-2] > words[-1] + 1:
        full = np.asarray(at_end(data, field).values, float)
        full = full if name == "W_V" else full.T @ full
        return full[np.ix_(words + 1, words + 1)]
    same_word, same_topic, other = (float(at_end(data, each)) for each in CLASSES)
    cells = np.where(np.equal.outer(words // size, words // size), same_topic, other)
    np.fill_diagonal(cells, same_word)
    return cells


def has_blocks(data: xarray.Dataset, name: str) -> bool:
    """Returns whether this run of a topic model trains the matrix."""
    if not all(each in data and np.isfinite(data[each].values).any() for each in CLASSES):
        return False
    parameters = data.popflow.parameters
    return (parameters.get("train") == "embedding") == (name != "W_V") and "topics" in parameters
