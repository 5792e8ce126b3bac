"""Scores of terms in texts (BM25), and edit distances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

K1 = 1.2
B = 0.75
"""Parameter b of BM25; `K1` is the other one. Both are Tantivy's, so that scores are comparable."""

NAME_BONUS = 0.5
"""Bonus of a section whose title and headings contain the whole query, relative to the best score by words.

The title field's own weight stays low: raising it costs up to .11 nDCG@10.
"""
MIN_COVERED = 0.3
"""Share of a query, 0 to 1, above which a title that contains it gives a bonus."""
TIE = 0.3
"""Weight of the score of each further form of a word, which is added to the best form's score."""


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """Statistics of a field over all documents, for BM25."""

    documents: int
    average_length: float
    """Average length of the field in words."""


def bm25(count: int, length: int, holders: int, statistics: FieldStatistics) -> float:
    """BM25 score of a word that occurs `count` times in a field of `length` words.

    Args:
        count: Number of occurrences, at least 1.
        length: Length of the field in words.
        holders: Number of documents that contain the word in this field.
        statistics: Statistics of the field.
    """
    return phrase_bm25(count, length, [holders], statistics)


def phrase_bm25(count: int, length: int, holders: Iterable[int], statistics: FieldStatistics) -> float:
    """BM25 score of a phrase that occurs `count` times.

    Args:
        count: Number of occurrences, at least 1.
        length: Length of the field in words.
        holders: For each word, the number of documents that contain it in this field.
        statistics: Statistics of the field.
    """
    rare = sum(rarity(number, statistics.documents) for number in holders)
    relative = length / statistics.average_length if statistics.average_length else 1.0
    return rare * (K1 + 1) * count / (count + K1 * (1 - B + B * relative))


def name_bonus(best: float, title: float, section: float) -> float:
    """The bonus of a section for the words of the query in the names of its document and in its headings.

    A title with less than `MIN_COVERED` of the words gives none, because a question shares some words with many titles.
    The squares favour the title with all words.

    Args:
        best: The best score by words.
        title: Share of the query's words that title, aliases and file name contain, by rarity, 0 to 1.
        section: The same for these names and the headings of the section together.
    """
    section = max(title, section)
    if section <= MIN_COVERED:
        return 0.0
    of_title, of_section = max(title - MIN_COVERED, 0.0), section - MIN_COVERED
    return NAME_BONUS * best * (of_title * of_title + of_section * of_section) / (2 * (1 - MIN_COVERED) ** 2)


def rarity(holders: int, documents: int) -> float:
    """The inverse document frequency of a word that this number of documents contain."""
    total = max(documents, holders)
    return math.log(1 + (total - holders + 0.5) / (holders + 0.5))


def best_of(scores: Iterable[float], tie: float = TIE) -> float:
    """The best score plus `tie` times each other one; 0 for none."""
    found = list(scores)
    best = max(found, default=0.0)
    return best + tie * (sum(found) - best)


def phrase_count(words: Sequence[str], wanted: Sequence[str]) -> int:
    """Number of occurrences of the sequence `wanted` in `words`."""
    if not wanted:
        return 0
    first, size = wanted[0], len(wanted)
    target = list(wanted)
    return sum(word == first and list(words[at : at + size]) == target for at, word in enumerate(words))


def near_words(word: str, others: Iterable[str], most: int) -> dict[str, int]:
    """The words within an edit distance of `most`, each with its distance."""
    letters, size = set(word), len(word)
    return {
        other: typos
        for other in others
        # These cheap conditions exclude most words without computing the distance.
        if -most <= len(other) - size <= most and len(letters.difference(other)) <= most
        if (typos := typos_between(word, other, most)) <= most
    }


def typos_between(one: str, other: str, most: int) -> int:
    """Edit distance (insertions, deletions, substitutions, transpositions of neighbours); `most + 1` if greater."""
    if abs(len(one) - len(other)) > most or len(set(one) - set(other)) > most:
        return most + 1
    start = shared_beginning(one, other)
    one, other = one[start:], other[start:]
    end = shared_beginning(one[::-1], other[::-1])
    if end:
        one, other = one[:-end], other[:-end]
    return min(_distance(one, other), most + 1) if min(len(one), len(other)) else len(one) + len(other)


def shared_beginning(one: str, other: str) -> int:
    """Length of the common prefix of two words."""
    at = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        at += 1
    return at


def _distance(one: str, other: str) -> int:
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, other_letter in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != other_letter))
            swapped = row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == other_letter
            line.append(min(cost, before[column - 2] + 1) if swapped else cost)
        before, last = last, line
    return last[-1]


def best_forms(weights: Mapping[str, float], holders: Mapping[str, int], limit: int) -> dict[str, float]:
    """The `limit` forms of a word with the greatest weight, then with most documents."""
    chosen = sorted(weights, key=lambda form: (-weights[form], -holders.get(form, 0), form))[:limit]
    return {form: weights[form] for form in chosen}
