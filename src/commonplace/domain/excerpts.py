"""Excerpts: the consecutive whole paragraphs of a long section that best answer a question, with markup."""

from __future__ import annotations

import re
from collections.abc import Collection

from commonplace.domain.words.grams import WORD, sought_grams

CUT = "…"
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n")


def query_words(question: str) -> frozenset[str]:
    """The words of a question that an excerpt should contain, casefolded, 3 characters or longer.

    In scripts without blanks between words, sequences of two or three characters count as words.
    """
    folded = question.casefold()
    words = (word for word in WORD.findall(folded) if len(word) > 2)  # noqa: PLR2004
    return frozenset([*words, *sought_grams(folded)])


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
    paragraphs = [part.strip("\r\n") for part in _PARAGRAPHS.split(text) if part.strip()]
    worths = [_worth(part, words) for part in paragraphs]
    first = max(range(len(paragraphs)), key=lambda at: (worths[at], -at))
    start = end = first
    size = min(len(paragraphs[first]), room)
    while True:
        before = len(paragraphs[start - 1]) + 2 if start else room
        behind = len(paragraphs[end + 1]) + 2 if end + 1 < len(paragraphs) else room
        nearer_before = start > 0 and (end + 1 >= len(paragraphs) or worths[start - 1] > worths[end + 1])
        if nearer_before and size + before <= room:
            start, size = start - 1, size + before
        elif end + 1 < len(paragraphs) and size + behind <= room:
            end, size = end + 1, size + behind
        elif start > 0 and size + before <= room:
            start, size = start - 1, size + before
        else:
            break
    chosen = "\n\n".join(paragraphs[start : end + 1])[:room].rstrip()
    lead = f"{CUT}\n" if start else ""
    tail = f"\n{CUT}" if end + 1 < len(paragraphs) or len(paragraphs[first]) > room else ""
    return f"{lead}{chosen}{tail}"


def _worth(paragraph: str, words: Collection[str]) -> int:
    folded = paragraph.casefold()
    return sum(word in folded for word in words)
