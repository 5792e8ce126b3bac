"""Marks the words of a query in search results."""

from __future__ import annotations

import re
from collections.abc import Callable

from commonplace.domain.languages import content_words, language_of
from commonplace.domain.query_parser import parse_query
from commonplace.domain.words.scripts import fold_accents
from commonplace.faces.cli.output import BOLD, Output, one_line

MIN_PREFIX_CHARS = 3
"""Minimum length of a query word that also marks longer words with this prefix."""

_WORD = re.compile(r"\w+")


def highlighter(out: Output, query: str) -> Callable[[str], str]:
    """A function that returns a text as one safe line, with the words of the query in bold if styles are shown."""
    mark = marker(query, lambda word: out.styled(BOLD, word))
    return lambda text: mark(one_line(text))


def marker(query: str, mark: Callable[[str], str]) -> Callable[[str], str]:
    """A function that marks the words of a query in a safe text.

    Args:
        query: The query as typed.
        mark: Returns a word with styles.
    """
    question = parse_query(query, _words, prefix=False)
    asked = [*question.words, *(word for phrase in question.phrases for word in phrase.words)]
    words = set(content_words(asked, language_of(asked, lambda _: 0.0)))
    # In scripts without blanks, no words can be compared. Character n-grams of the query are marked instead.
    grams = {*question.grams, *(gram for phrase in question.phrases for gram in phrase.grams)}
    pairs = re.compile(f"(?:{'|'.join(map(re.escape, sorted(grams, key=len, reverse=True)))})+" if grams else r"(?!)")

    def marked(found: re.Match[str]) -> str:
        if _is_meant(fold_accents(found[0]), words):
            return mark(found[0])
        return pairs.sub(lambda part: mark(part[0]), found[0])

    return lambda text: _WORD.sub(marked, text)


def _is_meant(word: str, wanted: set[str]) -> bool:
    return word in wanted or any(len(one) >= MIN_PREFIX_CHARS and word.startswith(one) for one in wanted)


def _words(text: str) -> list[str]:
    return [fold_accents(word) for word in _WORD.findall(text)]
