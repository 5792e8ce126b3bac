"""Scores of terms in texts (BM25), and edit distances."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from commonplace.domain.words.grams import WORD, sought_grams

K1 = 1.2
B = 0.75
"""Parameter b of BM25; `K1` is the other one. Both are Tantivy's, so that scores are comparable."""

NAME_BONUS = 0.5
"""Bonus of a section whose title and headings contain the whole query, relative to the best score by words.

The title field's own weight stays low: raising it costs up to .11 nDCG@10.
"""
HEADING_BONUS = 0.15
"""Bonus of a section whose own heading has only words of the query, relative to the best score by words.

It counts among the sections of a document alone: among documents, it costs .02 of the mean reciprocal rank on cpp-docs.
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
    found_scores = list(scores)
    best = max(found_scores, default=0.0)
    return best + tie * (sum(found_scores) - best)


def phrase_count(words: Sequence[str], wanted_texts: Sequence[str]) -> int:
    """Number of occurrences of the sequence `wanted_texts` in `words`."""
    if not wanted_texts:
        return 0
    first, size = wanted_texts[0], len(wanted_texts)
    target = list(wanted_texts)
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


def typos_between(word: str, other: str, most: int) -> int:
    """Edit distance (insertions, deletions, substitutions, transpositions of neighbours); `most + 1` if greater."""
    if abs(len(word) - len(other)) > most or len(set(word) - set(other)) > most:
        return most + 1
    start = shared_beginning(word, other)
    text, other = word[start:], other[start:]
    end = shared_beginning(text[::-1], other[::-1])
    if end:
        text, other = text[:-end], other[:-end]
    return min(_distance(text, other), most + 1) if min(len(text), len(other)) else len(text) + len(other)


def shared_beginning(word: str, other: str) -> int:
    """Length of the common prefix of two words."""
    at = 0
    for a, b in zip(word, other, strict=False):
        if a != b:
            break
        at += 1
    return at


def _distance(element: str, other: str) -> int:
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(element, 1):
        line = [row]
        for column, other_letter in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != other_letter))
            swapped = row > 1 and column > 1 and letter == other[column - 2] and element[row - 2] == other_letter
            line.append(min(cost, before[column - 2] + 1) if swapped else cost)
        before, last = last, line
    return last[-1]


def best_forms(weights: Mapping[str, float], holders: Mapping[str, int], limit: int) -> dict[str, float]:
    """The `limit` forms of a word with the greatest weight, then with most documents."""
    chosen = sorted(weights, key=lambda form: (-weights[form], -holders.get(form, 0), form))[:limit]
    return {form: weights[form] for form in chosen}


# Excerpts: the whole paragraphs of long sections that best answer a question, with markup.


CUT = "…"
_BEGINNING = 4
"""Minimum number of characters of a word that are looked for; the ends of longer words vary."""
MAX_PARAGRAPH_CHARS = 600
"""Number of characters above which a paragraph is divided into its lines, as a chat or a log has no blank ones."""
NEIGHBOUR_WEIGHT = 0.4
"""Weight of the words of each neighbour of a paragraph, relative to its own."""
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n")
_LINE = re.compile(r"[^\n]+")
_BLANK = re.compile(r"\s+")
_WORD_CHARS = 40
"""Maximum number of characters that a cut is moved to the next blank."""
_MAX_PLACES = 2000
"""Maximum number of occurrences of words that are considered for a part of a long line."""
Span = tuple[int, int]
"""Beginning and end of a paragraph in a text."""


def query_words(question: str) -> frozenset[str]:
    """The words of a question that an excerpt should contain, casefolded, 3 characters or longer.

    In scripts without blanks between words, sequences of two or three characters count as words.
    """
    folded = question.casefold()
    words = (word for word in WORD.findall(folded) if len(word) > 2)  # noqa: PLR2004
    return frozenset([*words, *sought_grams(folded)])


def paragraphs(text: str) -> list[Span]:
    """The paragraphs of a text, and the lines of long ones."""
    ends = [(match.start(), match.end()) for match in _PARAGRAPHS.finditer(text)]
    bounds = zip([0, *(end for _, end in ends)], [*(start for start, _ in ends), len(text)], strict=True)
    spans: list[Span] = []
    for start, end in bounds:
        if end - start > MAX_PARAGRAPH_CHARS:
            spans += (line.span() for line in _LINE.finditer(text, start, end) if not line[0].isspace())
        elif text[start:end].strip():
            spans.append((start, end))
    return spans


def _beginnings(words: Collection[str]) -> set[str]:
    """The part of each word that is looked for: the ends of longer words vary."""
    return {word[: max(_BEGINNING, len(word) - 2)] for word in words}


def paragraph_worths(texts: Sequence[Sequence[str]], question: str) -> list[list[float]]:
    """The share of a question that each paragraph and its neighbours contain, by rarity; the best has 1.

    Args:
        texts: The paragraphs of each text.
        question: The question.
    """
    words = _beginnings(query_words(question))
    folded = [[paragraph.casefold() for paragraph in text] for text in texts]
    count = sum(map(len, folded))
    own = [[0.0] * len(text) for text in folded]
    for word in words:
        holders = [(at, place) for at, text in enumerate(folded) for place, item in enumerate(text) if word in item]
        weight = rarity(len(holders), count)
        for at, place in holders:
            own[at][place] += weight
    worths = [
        [
            worth + NEIGHBOUR_WEIGHT * sum(text[max(at - 1, 0) : at] + text[at + 1 : at + 2])
            for at, worth in enumerate(text)
        ]
        for text in own
    ]
    best = max((worth for text in worths for worth in text), default=0.0) or 1.0
    return [[worth / best for worth in text] for text in worths]


def chosen_text(text: str, spans: Sequence[Span], chosen: Collection[int]) -> str:
    """The chosen paragraphs of a text; `…` marks what is left out between, before and after them."""
    places = sorted(chosen)
    firsts = [place for place in places if place - 1 not in chosen]
    lasts = [place for place in places if place + 1 not in chosen]
    runs = [text[spans[first][0] : spans[last][1]] for first, last in zip(firsts, lasts, strict=True)]
    lead = [CUT] if places and places[0] else []
    tail = [CUT] if places and places[-1] + 1 < len(spans) else []
    return "\n".join([*lead, f"\n{CUT}\n".join(runs), *tail])


def excerpt(markdown: str, words: Collection[str], limit: int) -> str:
    """The consecutive paragraphs with most of the words, at most `limit` characters; `…` marks a cut.

    Args:
        markdown: The text.
        words: Lower-case words.
        limit: Maximum number of characters; 0 or less gives "".
    """
    text = markdown.strip()
    if len(text) <= limit:
        return text
    room = limit - 2 * len(CUT) - 2
    if room <= 0:
        return ""
    parts = [text[start:end].strip("\r\n") for start, end in paragraphs(text)]
    worths = [_worth(part, words) for part in parts]
    first = max(range(len(parts)), key=lambda at: (worths[at], -at))
    start = end = first
    size = min(len(parts[first]), room)
    while True:
        before = len(parts[start - 1]) + 2 if start else room
        behind = len(parts[end + 1]) + 2 if end + 1 < len(parts) else room
        nearer_before = start > 0 and (end + 1 >= len(parts) or worths[start - 1] > worths[end + 1])
        if nearer_before and size + before <= room:
            start, size = start - 1, size + before
        elif end + 1 < len(parts) and size + behind <= room:
            end, size = end + 1, size + behind
        elif start > 0 and size + before <= room:
            start, size = start - 1, size + before
        else:
            break
    if len(parts[first]) > room:
        return around(parts[first], words, limit)
    lead = f"{CUT}\n" if start else ""
    tail = f"\n{CUT}" if end + 1 < len(parts) else ""
    return "".join([lead, "\n\n".join(parts[start : end + 1]), tail])


def around(text: str, words: Collection[str], limit: int) -> str:
    """The part of a text with most of the words, at most `limit` characters; `…` marks a cut.

    Args:
        text: The text.
        words: Lower-case words.
        limit: Maximum number of characters; 0 or less gives "".
    """
    if len(text) <= limit:
        return text
    room = limit - 2 * len(CUT) - 2
    if room <= 0:
        return ""
    start = _densest(text, words, room)
    end = min(start + room, len(text))
    if start and (blank := _BLANK.search(text, start, start + min(_WORD_CHARS, room // 4))):
        start = blank.end()
    if end < len(text) and (blanks := list(_BLANK.finditer(text, end - min(_WORD_CHARS, room // 4), end))):
        end = blanks[-1].start()
    lead, tail = f"{CUT}\n" if start else "", f"\n{CUT}" if end < len(text) else ""
    return f"{lead}{text[start:end].strip()}{tail}"


def _densest(text: str, words: Collection[str], room: int) -> int:
    """The beginning of the part of `room` characters that contains most of the words, in its middle."""
    pattern = re.compile("|".join(map(re.escape, sorted(_beginnings(words)))) or "(?!)", re.IGNORECASE)
    places = [
        (match.start(), match.end(), match[0].casefold()) for match in islice(pattern.finditer(text), _MAX_PLACES)
    ]
    best, chosen, last = 0, (0, 0), 0
    within: Counter[str] = Counter()
    for first, (start, _, word) in enumerate(places):
        while last < len(places) and places[last][1] - start <= room:
            within[places[last][2]] += 1
            last += 1
        if len(+within) > best:
            best, chosen = len(+within), (start, places[max(last - 1, first)][1])
        within[word] -= 1
    start, end = chosen
    return max(0, min(start - (room - (end - start)) // 2, len(text) - room)) if best else 0


def _worth(paragraph: str, words: Collection[str]) -> int:
    folded = paragraph.casefold()
    return sum(word in folded for word in words)
