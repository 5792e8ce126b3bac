"""Fusion of keyword scores and similarities into one ranking.

Keyword scores are divided by the best one. To them is added by how much a document's similarity stands out from the
ordinary one of the collection, times a weight that falls with the share of the query that the model does not
understand. Similarities that say nothing are alike, or are high for any document: such a model, or none, leaves the
ranking to the words. docs/search.md has the measurements.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence

WEIGHT = 2.0
"""Weight of a similarity that stands out by 1, relative to the best keyword score, if the whole query is understood."""
CODE_WEIGHT = 0.3
"""Weight of a similarity if the query is an identifier or an error message, whose words are literal."""
FLOOR = 0.3
"""Minimum similarity of a hit that contains none of the words."""
MIN_SAMPLE = 8
"""Minimum number of documents for an ordinary similarity; among fewer, the best one changes it too much."""
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


def background(similarities: Sequence[float]) -> float:
    """The similarity that a document has to exceed to stand out: the median plus a standard deviation; 0 for a few.

    The deviation is estimated from the median too, so that the documents that stand out do not raise it.

    Args:
        similarities: Similarities of documents that were chosen regardless of the query.
    """
    if len(similarities) < MIN_SAMPLE:
        return 0.0
    middle = statistics.median(similarities)
    spread = statistics.median(abs(one - middle) for one in similarities)
    return middle + DEVIATIONS_OF_MAD * spread


def fused(
    by_words: Mapping[int, float], near: Mapping[int, float], scale: float, weight: float, ordinary: float = 0.0
) -> dict[int, float]:
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
