"""Fusion of keyword scores and similarities into one ranking.

Keyword scores are divided by the best one. To them is added by how much a document's similarity stands out from the
ordinary one of the collection, times a weight. The weight falls with the share of the query that the model does not
understand, and to nothing if the best documents by words are no more similar to the query than any others: they are
right often enough that a model that knows something agrees with them. So a model whose similarities are alike, high for
any document, or random leaves the ranking to the words. docs/search.md has the measurements.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from commonplace.domain.similarity import Background

Key = TypeVar("Key", bound=Hashable)

WEIGHT = 2.0
"""Weight of a similarity that stands out by 1, relative to the best keyword score, if the whole query is understood."""
CODE_WEIGHT = 0.3
"""Weight of a similarity if the query is an identifier or an error message, whose words are literal."""
FLOOR = 0.3
"""Minimum similarity of a hit that contains none of the words."""
MIN_SAMPLE = 8
"""Minimum number of documents for an ordinary similarity; among fewer, the best one changes it too much."""
MIN_WITNESSES = 8
"""Minimum number of documents by words whose similarities say whether the model agrees with the words."""
AGREEMENT = (1.0, 4.0)
"""Agreement of a model that says nothing, and of one that counts fully, in standard deviations of chance."""
DEVIATIONS_OF_MAD = 1.4826
"""Standard deviations in a median absolute deviation, of normally distributed values."""

_CODE = re.compile(r"\w(?:::|->|\.|_)\w|\w\(|[a-z][A-Z]|[A-Za-z]\d|[{}<>=;$\\]|--?\w+=|/\w+/")


def weight_of(text: str, understood: float = 1.0) -> float:
    """The weight of similarity for a query: lower if at least half of its words are code.

    Args:
        text: The query.
        understood: The share of its tokens, 0 to 1, that the model knows. The share counts twice: the documents in
            the query's language consist of unknown tokens to about the same part, and only what is known on both sides
            is compared.
    """
    words = text.split()
    code = sum(bool(_CODE.search(word)) for word in words)
    return understood**2 * (CODE_WEIGHT if words and 2 * code >= len(words) else WEIGHT)


def background(similarities: Sequence[float]) -> Background:
    """The ordinary similarity; unknown for a few documents.

    The deviation is estimated from the median too, so that the documents that stand out do not raise it.

    Args:
        similarities: Similarities of documents that were chosen regardless of the query.
    """
    if len(similarities) < MIN_SAMPLE:
        return Background()
    middle = statistics.median(similarities)
    spread = statistics.median(abs(one - middle) for one in similarities)
    return Background(middle, DEVIATIONS_OF_MAD * spread)


def agreement(by_words: Mapping[Key, float], near: Mapping[Key, float], ordinary: Background) -> float:
    """How far the model agrees that documents with the words are about the query: 0 (as by chance) to 1.

    The mean deviation of their similarities from the ordinary one, each by the square of its keyword score, divided by
    what chance makes of it. 1 if there are too few documents to tell.

    Args:
        by_words: Keyword scores of the best documents.
        near: Similarities.
        ordinary: The ordinary similarity.
    """
    witnesses = [(by_words[key], near[key]) for key in by_words.keys() & near.keys()]
    best = max((score for score, _ in witnesses), default=0.0)
    if len(witnesses) < MIN_WITNESSES or not ordinary.deviation or best <= 0:
        return 1.0
    weighted = [((score / best) ** 2, (one - ordinary.median) / ordinary.deviation) for score, one in witnesses]
    found = sum(weight * one for weight, one in weighted) / math.sqrt(sum(weight**2 for weight, _ in weighted))
    nothing, full = AGREEMENT
    return min(max((found - nothing) / (full - nothing), 0.0), 1.0)


def fused(
    by_words: Mapping[Key, float], near: Mapping[Key, float], scale: float, weight: float, ordinary: float = 0.0
) -> dict[Key, float]:
    """Scores of the documents of both rankings, best first.

    Args:
        by_words: Keyword scores.
        near: Similarities; missing ones count as 0.
        scale: Divisor of keyword scores.
        weight: Factor of similarities.
        ordinary: The similarity above which one counts.
    """
    scores = {
        key: by_words.get(key, 0.0) / scale + weight * max(near.get(key, 0.0) - ordinary, 0.0)
        for key in {**by_words, **near}
    }
    return dict(sorted(scores.items(), key=lambda one: -one[1]))
