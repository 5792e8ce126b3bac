"""Fusion of keyword scores and similarities into one ranking.

Keyword scores are divided by the best one. To each score is added a weight times the amount by which the document's
similarity exceeds the collection's ordinary similarity. The weight decreases with the share of the query that the model
does not know. It is 0 if the best documents by words are not more similar to the query than others: these documents are
relevant often enough that a useful model agrees with them. Thus a model whose similarities are uniform, always high or
random does not affect the ranking. A document without vectors is expected to exceed the ordinary similarity as much as
documents of its keyword score do. docs/search.md has the measurements.
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
"""Weight of an excess similarity of 1, relative to the best keyword score, if the model knows the whole query."""
CODE_WEIGHT = 0.3
"""Weight of a similarity if the query is an identifier or an error message, whose words are literal."""
FLOOR = 0.3
"""Minimum similarity of a hit that contains none of the words."""
MIN_UNDERSTOOD = 0.25
"""Minimum share of a query that the model knows for similarities to have a weight.

Texts that are spelled letter by letter are similar at random: the nDCG@10 of Arabic by similarity alone is .03.
"""
MIN_SAMPLE = 8
"""Minimum number of documents to determine an ordinary similarity; among fewer, the best one has too much influence."""
MIN_WITNESSES = 8
"""Minimum number of documents by words to determine whether the model agrees with the words."""
AGREEMENT = (1.0, 4.0)
"""Agreement, in standard deviations of chance, at which the weight begins to be positive, and at which it is full."""
DEVIATIONS_OF_MAD = 1.4826
"""Factor from a median absolute deviation to the standard deviation, for normally distributed values."""

_CODE = re.compile(r"\w(?:::|->|\.|_)\w|\w\(|[a-z][A-Z]|[A-Za-z]\d|[{}<>=;$\\]|--?\w+=|/\w+/")


def weight_of(text: str, understood: float = 1.0) -> float:
    """The weight of similarity for a query: lower if at least half of its words are code.

    Args:
        text: The query.
        understood: Share of the query's tokens that the model knows, 0 to 1. It is squared, because about the same
            share of the documents in the query's language is known, and only known tokens are compared.
    """
    words = text.split()
    code = sum(bool(_CODE.search(word)) for word in words)
    if understood < MIN_UNDERSTOOD:
        return 0.0
    return understood**2 * (CODE_WEIGHT if words and 2 * code >= len(words) else WEIGHT)


def background(similarities: Sequence[float]) -> Background:
    """The ordinary similarity; unknown if there are fewer than `MIN_SAMPLE` documents.

    The deviation is estimated by medians, too, so that documents with high similarities do not raise it.

    Args:
        similarities: Similarities of documents that were chosen regardless of the query.
    """
    if len(similarities) < MIN_SAMPLE:
        return Background()
    middle = statistics.median(similarities)
    spread = statistics.median(abs(one - middle) for one in similarities)
    return Background(middle, DEVIATIONS_OF_MAD * spread)


def agreement(by_words: Mapping[Key, float], near: Mapping[Key, float], ordinary: Background) -> float:
    """Agreement of the model that documents with the words match the query: 0 (as by chance) to 1.

    It is computed from the mean deviation of their similarities from the ordinary one, weighted by the square of the
    keyword score and divided by the deviation by chance. 1 if there are fewer than `MIN_WITNESSES` documents. 0 if the
    ordinary similarity is unknown and most of the documents have no vector: a few documents that are embedded first
    would come before all others.

    Args:
        by_words: Keyword scores of the best documents.
        near: Similarities.
        ordinary: The ordinary similarity.
    """
    witnesses = [(by_words[key], near[key]) for key in by_words.keys() & near.keys()]
    best = max((score for score, _ in witnesses), default=0.0)
    if not ordinary.deviation and 2 * len(witnesses) < len(by_words):
        return 0.0
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

    A document without a similarity gets the excess that the documents with both have at its keyword score, by the line
    through 0 with the least squares. With an excess of 0, it would fall behind every document with a similarity.

    Args:
        by_words: Keyword scores.
        near: Similarities; documents without vectors have none.
        scale: Divisor of keyword scores.
        weight: Factor of similarities.
        ordinary: The similarity above which a document gets an additional score.
    """
    excess = {key: max(similarity - ordinary, 0.0) for key, similarity in near.items()}
    both = [(by_words[key] / scale, excess[key]) for key in by_words.keys() & near.keys()]
    squares = sum(score * score for score, _ in both)
    slope = sum(score * more for score, more in both) / squares if squares else 0.0
    scores = {
        key: (score := by_words.get(key, 0.0) / scale) + weight * excess.get(key, slope * score)
        for key in {**by_words, **near}
    }
    return dict(sorted(scores.items(), key=lambda scored: -scored[1]))
