"""One order out of two: how well documents answer by their words, and how near they are in meaning.

Scores by words are divided by the best one, and the cosine is added as it is. That a cosine spreads little among
documents that are all about as near is what makes the sum safe: where the model does not understand a language or a
name, it adds nearly the same to every document, and words decide. docs/search.md has the measurements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

WEIGHT = 1.0
"""What a similarity of 1 adds to the best score by words, which is 1."""
CODE_WEIGHT = 0.3
"""The same where the search is an identifier or an error's text: such words mean what they say."""
FLOOR = 0.3
"""The similarity from which on a document is found that holds none of the words."""

_CODE = re.compile(r"\w(?:::|->|\.|_)\w|\w\(|[a-z][A-Z]|[A-Za-z]\d|[{}<>=;$\\]|--?\w+=|/\w+/")


def weight_of(text: str) -> float:
    """What meaning counts for a search: less for one that is code, of few words."""
    words = text.split()
    code = sum(bool(_CODE.search(word)) for word in words)
    return CODE_WEIGHT if words and 2 * code >= len(words) else WEIGHT


def fused(by_words: Mapping[int, float], near: Mapping[int, float], scale: float, weight: float) -> dict[int, float]:
    """The documents of both, best first.

    Args:
        by_words: Scores of those that were found by words.
        near: Similarities, as far as they are known.
        scale: What a score by words is divided by.
        weight: Of a similarity.
    """
    scores = {
        key: by_words.get(key, 0.0) / scale + weight * max(near.get(key, 0.0), 0.0) for key in {**by_words, **near}
    }
    return dict(sorted(scores.items(), key=lambda one: -one[1]))
