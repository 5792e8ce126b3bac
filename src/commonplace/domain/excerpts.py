"""Excerpts: the whole paragraphs of long sections that best answer a question, with markup."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from commonplace.domain.ranking import rarity
from commonplace.domain.words.grams import WORD, sought_grams

CUT = "…"
_BEGINNING = 4
"""Minimum number of characters of a word that are looked for; the ends of longer words vary."""
MAX_PARAGRAPH_CHARS = 600
"""Number of characters above which a paragraph is divided into its lines, as a chat or a log has no blank ones."""
NEIGHBOUR_WEIGHT = 0.4
"""Weight of the words of each neighbour of a paragraph, relative to its own."""
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n")
_LINE = re.compile(r"[^\n]+")
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
    ends = [(found.start(), found.end()) for found in _PARAGRAPHS.finditer(text)]
    bounds = zip([0, *(end for _, end in ends)], [*(start for start, _ in ends), len(text)], strict=True)
    spans: list[Span] = []
    for start, end in bounds:
        if end - start > MAX_PARAGRAPH_CHARS:
            spans += (line.span() for line in _LINE.finditer(text, start, end) if not line[0].isspace())
        elif text[start:end].strip():
            spans.append((start, end))
    return spans


def paragraph_worths(texts: Sequence[Sequence[str]], question: str) -> list[list[float]]:
    """The share of a question that each paragraph and its neighbours contain, by rarity; the best has 1.

    Args:
        texts: The paragraphs of each text.
        question: The question.
    """
    words = {word[: max(_BEGINNING, len(word) - 2)] for word in query_words(question)}
    folded = [[paragraph.casefold() for paragraph in text] for text in texts]
    count = sum(map(len, folded))
    own = [[0.0] * len(text) for text in folded]
    for word in words:
        holders = [(at, place) for at, text in enumerate(folded) for place, one in enumerate(text) if word in one]
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
    chosen = "\n\n".join(parts[start : end + 1])[:room].rstrip()
    lead = f"{CUT}\n" if start else ""
    tail = f"\n{CUT}" if end + 1 < len(parts) or len(parts[first]) > room else ""
    return f"{lead}{chosen}{tail}"


def _worth(paragraph: str, words: Collection[str]) -> int:
    folded = paragraph.casefold()
    return sum(word in folded for word in words)
