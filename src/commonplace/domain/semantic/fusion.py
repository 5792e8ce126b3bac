"""Fusion of keyword scores and similarities into one ranking.

Keyword scores are divided by the best one, and the cosine is added unchanged. The sum is safe because cosines of
equally similar documents differ little: if the model does not understand a language or a name, it adds nearly the same
to every document, and words decide. docs/search.md has the measurements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

WEIGHT = 1.0
"""Weight of a similarity of 1, relative to the best keyword score."""
CODE_WEIGHT = 0.3
"""Weight of a similarity if the query is an identifier or an error message, whose words are literal."""
FLOOR = 0.3
"""Minimum similarity of a hit that contains none of the words."""

_CODE = re.compile(r"\w(?:::|->|\.|_)\w|\w\(|[a-z][A-Z]|[A-Za-z]\d|[{}<>=;$\\]|--?\w+=|/\w+/")


def weight_of(text: str) -> float:
    """The weight of similarity for a query: lower if at least half of its words are code."""
    words = text.split()
    code = sum(bool(_CODE.search(word)) for word in words)
    return CODE_WEIGHT if words and 2 * code >= len(words) else WEIGHT


def fused(by_words: Mapping[int, float], near: Mapping[int, float], scale: float, weight: float) -> dict[int, float]:
    """Scores of the documents of both rankings, best first.

    Args:
        by_words: Keyword scores.
        near: Similarities; missing ones count as 0.
        scale: Divisor of keyword scores.
        weight: Factor of similarities.
    """
    scores = {
        key: by_words.get(key, 0.0) / scale + weight * max(near.get(key, 0.0), 0.0) for key in {**by_words, **near}
    }
    return dict(sorted(scores.items(), key=lambda one: -one[1]))
