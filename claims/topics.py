"""Sizes of a topic model, and measures of its matrices and its attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sizes:
    topics: int
    words: int  # in each topic
    per_document: int

    @property
    def symbols(self) -> int:
        """Number of symbols: [MASK] and the words."""
        return 1 + self.topics * self.words

    @property
    def options(self) -> dict[str, Any]:
        return {"topics": self.topics, "words_per_topic": self.words,
                "topics_per_document": self.per_document}

    def by_class(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Splits the entries of a matrix over the symbols: a word with itself, with other words of
        its topic, with words of other topics. Leading axes stay."""
        words = matrix[..., 1:, 1:]
        within = np.kron(np.eye(self.topics), np.ones((self.words, self.words))) > 0
        itself = np.eye(self.topics * self.words) > 0
        return words[..., itself], words[..., within & ~itself], words[..., ~within]

    def pairs(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the entries for pairs of words of one topic, and of two topics."""
        _, topic, other = self.by_class(matrix)
        return topic, other

    def blocks(self, matrix: np.ndarray) -> tuple[float, float]:
        """Returns the largest difference within the blocks of W_V, and the largest between the
        blocks' means."""
        word, topic, other = self.by_class(matrix)
        return (float(max(np.ptp(np.append(word, topic)), np.ptp(other))),
                float(topic.mean() - other.mean()))

    def contrasts(self, run: Any) -> tuple[np.ndarray, np.ndarray]:
        """Returns the contrast, the attention to the own topic relative to its frequency, divided
        by that to other topics. The first one counts the queried word, the second does not."""
        topic = run.attention_same_topic.values
        word, other = run.attention_same_word.values, run.attention_other_topic.values
        return ((word + (self.words - 1) * topic) / self.words / other, topic / other)


#: The paper's sizes (with 4 topics in a document, our choice), and small ones for full matrices.
PAPERS, SMALL = Sizes(10, 10, 4), Sizes(5, 4, 2)
