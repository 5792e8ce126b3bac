"""Makes the words of a search stand out in what it found."""

from __future__ import annotations

import re
from collections.abc import Callable

from commonplace.domain.languages import content_words, language_of
from commonplace.domain.query_parser import parse_query
from commonplace.domain.words.scripts import fold_accents
from commonplace.faces.cli.output import BOLD, Output, one_line

MIN_PREFIX_CHARS = 3
"""Characters from which on a searched word also marks the longer words that begin with it."""

_WORD = re.compile(r"\w+")


def highlighter(out: Output, query: str) -> Callable[[str], str]:
    """A function that makes a text safe and one line, with the words of the query bold if styles are shown."""
    mark = marker(query, lambda word: out.styled(BOLD, word))
    return lambda text: mark(one_line(text))


def marker(query: str, mark: Callable[[str], str]) -> Callable[[str], str]:
    """A function that marks the words of a query in a text that is already safe.

    Args:
        query: As it was searched.
        mark: What makes a word stand out.
    """
    question = parse_query(query, _words, prefix=False)
    asked = [*question.words, *(word for phrase in question.phrases for word in phrase.words)]
    words = set(content_words(asked, language_of(asked, lambda _: 0.0)))
    # A script without blanks has no words to compare: pairs of characters are marked wherever they stand.
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
