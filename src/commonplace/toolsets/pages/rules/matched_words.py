"""Finds the words of a query in a page as a search server matches them, for excerpts.

A server can report the positions of its matches, but that takes ten times as long as the search itself.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from commonplace.domain.languages import content_words, language_of
from commonplace.domain.snippets import MAX_SOURCE_CHARS, HighlightTerms, flat_text, matching_snippet, snippet
from commonplace.domain.words.grams import WORD, WORD_CHAR, begins_word, ends_word, grams, without_grams
from commonplace.toolsets.pages.rules.page import without_title
from commonplace.toolsets.pages.rules.queries import SNIPPET_CHARS

ONE_TYPO, TWO_TYPOS = 5, 9
"""Minimum length of a word in which one typing error is tolerated, and in which two are."""
MAX_FORMS = 12
"""Maximum number of forms of one word that are highlighted."""
MAX_TRIES = 200
"""Maximum number of occurrences of a word inside other words that are examined."""
MAX_QUERY_WORDS = 32
MAX_WORD_CHARS = 64
"""Maximum length of a word for inexact matches; longer words match only as a whole."""


Occurrence = tuple[int, int]
"""Start and end offset."""


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a query, folded: lower case without accents."""

    words: tuple[str, ...]
    last: str
    """The word that also matches as a prefix, which is the last one; "" if there is none."""
    parts: tuple[str, ...]
    """Grams of text in scripts without blanks between words."""

    @classmethod
    def of(cls, text: str) -> QueryWords:
        """The words of a query. Stop words of long queries are omitted."""
        spaced = without_grams(text)
        words = [fold_word(word) for word in WORD.findall(spaced.lower())]
        known_words = list(dict.fromkeys(words))
        chosen = content_words(known_words, language_of(known_words, lambda _: 0.0))[:MAX_QUERY_WORDS]
        open_end = text[-1:].isalnum() and spaced[-1:].isalnum()
        last = words[-1] if open_end and words[-1] in chosen else ""
        joined = [first + second for first, second in pairwise(chosen)]
        return cls((*chosen, *joined), last, tuple(dict.fromkeys(grams(text.lower()))))

    def in_text(self, text: str) -> HighlightTerms:
        """The forms in which the words occur in a text, as whole words or prefixes.

        Words with typing errors match only if nothing else does.

        Args:
            text: A page's Markdown.
        """
        lower = text.lower()
        spans = self._spans(lower)
        if not spans and not lower.isascii():
            spans = self._spans(flat_text(lower))
        words = {lower[start:end]: frozenset({lower[start:end]}) for start, end in spans}
        parts = [part for part in self.parts if len(part) > 1 and part in lower]
        if self.parts and not parts:
            parts = sorted(set("".join(self.parts)))
        return HighlightTerms(words, grams=tuple(parts), fold=str.lower)

    def _spans(self, text: str) -> list[Occurrence]:
        spans = [span for word in self.words for span in _whole(word, text)]
        if self.last:
            spans += _begun(self.last, text)
        if not spans:
            spans = [span for word in self.words for span in _near(word, text, prefix=word == self.last)]
        return spans or [span for word in self.words for span in _compound_spans(word, text)]


@lru_cache(maxsize=16_384)
def fold_word(word: str) -> str:
    """A lower-case word without accents."""
    if word.isascii():
        return word
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))


def within_typos(word: str, other: str, most: int) -> bool:
    """Whether `most` or fewer insertions, deletions, replacements and swaps of neighbours make one word the other."""
    # Each error removes at most one letter, so many pairs can be rejected without computing the distance.
    if abs(len(word) - len(other)) > most or len(set(word).difference(other)) > most:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        older, before, row = before, row, [at]
        for there, its in enumerate(other, 1):
            cost = min(before[there] + 1, row[there - 1] + 1, before[there - 1] + (letter != its))
            if at > 1 and there > 1 and letter == other[there - 2] and its == word[at - 2]:
                cost = min(cost, older[there - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return False
    return row[-1] <= most


def _whole(word: str, text: str) -> list[Occurrence]:
    """The first occurrence of a word as a whole word, else []."""
    match = _pattern(word).search(text)
    return [match.span()] if match else []


@lru_cache(maxsize=1024)
def _pattern(word: str) -> re.Pattern[str]:
    """A pattern for the whole word. The pattern begins with the word itself, so the search runs at memory speed."""
    whole = re.escape(word)
    return re.compile(rf"{whole}(?<!{WORD_CHAR}{whole})(?!{WORD_CHAR})")


def _begun(word: str, text: str) -> list[Occurrence]:
    """The first words that begin with this word."""
    spans: dict[str, Occurrence] = {}
    at, tries = text.find(word), 0
    while at >= 0 and tries < MAX_TRIES and len(spans) < MAX_FORMS:
        if begins_word(text, at):
            end = _end_of_word(text, at + len(word))
            spans.setdefault(text[at:end], (at, end))
        at, tries = text.find(word, at + 1), tries + 1
    return list(spans.values())


def _near(word: str, text: str, *, prefix: bool = False) -> list[Occurrence]:
    """The first words, or beginnings of words, that differ from a word by tolerated typing errors.

    An error in the first letter counts as two.
    """
    most = _tolerated(word)
    if not most:
        return []
    least, longest, lengths = len(word) - most - 1, str(len(word) + most - 1), range(0)
    if prefix:
        longest, lengths = "", range(len(word) - most, len(word) + most + 1)
    # Each pattern begins with a letter, so the search runs at memory speed. The text before a match is checked
    # afterwards.
    first = re.escape(word[0])
    rest = f"{{{least},{longest}}}"
    alike = re.compile(rf"{first}(?<!{WORD_CHAR}{first}){WORD_CHAR}{rest}(?!{WORD_CHAR})")
    spans: dict[str, Occurrence] = {}
    for match in alike.finditer(text, 0, MAX_SOURCE_CHARS):
        if len(spans) >= MAX_FORMS:
            break
        item = match[0]
        if item not in spans and any(
            within_typos(word, part, most) for part in {item, *(item[:end] for end in lengths)}
        ):
            spans[item] = match.span()
    return [*spans.values(), *(_with_another_first_letter(word, text) if most > 1 else ())]


def _with_another_first_letter(word: str, text: str) -> list[Occurrence]:
    """The first occurrence of a word whose first letter is replaced, omitted or preceded by another letter."""
    for tail in (word[1:], word):
        ending = re.escape(tail)
        for match in islice(re.finditer(rf"{ending}(?!{WORD_CHAR})", text[:MAX_SOURCE_CHARS]), MAX_TRIES):
            start = match.start() - (not begins_word(text, match.start()))
            if begins_word(text, start):
                return [(start, match.end())]
    return []


def _tolerated(word: str) -> int:
    """Number of typing errors tolerated in a word; 0 for numbers and for words longer than `MAX_WORD_CHARS`."""
    if word.isdigit() or len(word) > MAX_WORD_CHARS:
        return 0
    return (len(word) >= ONE_TYPO) + (len(word) >= TWO_TYPOS)


def _compound_spans(word: str, text: str) -> list[Occurrence]:
    """The two parts of a word that the text writes as two words, such as `data base`."""
    if not ONE_TYPO <= len(word) <= MAX_WORD_CHARS:
        return []
    for match in islice(re.finditer(" ?".join(map(re.escape, word)), text[:MAX_SOURCE_CHARS]), MAX_TRIES):
        start, end = match.span()
        if match[0].count(" ") == 1 and begins_word(text, start) and ends_word(text, end):
            middle = start + match[0].index(" ")
            return [(start, middle), (middle + 1, end)]
    return []


def _end_of_word(text: str, at: int) -> int:
    while not ends_word(text, at):
        at += 1
    return at


# Excerpts of pages in search results.


NO_HIGHLIGHT = HighlightTerms({})
ELLIPSIS = "..."


def page_excerpt(content: str, terms: HighlightTerms, limit: int = SNIPPET_CHARS) -> str:
    """Plain text around a matching word in the body; the beginning of the body if no word matches.

    Args:
        content: A page's Markdown, with or without its title line, which is not searched.
        terms: The terms of the search.
        limit: Maximum number of characters, including `...` at a truncated end.
    """
    body = without_title(content).strip()
    room = limit - 2 * (len(ELLIPSIS) - 1)  # The snippet already marks each truncated end with one character.
    # The windows overlap, so that no word is split.
    for start in range(0, max(len(body), 1), MAX_SOURCE_CHARS - limit):
        found_matching_snippet = matching_snippet(body[start : start + MAX_SOURCE_CHARS], terms, room)
        if found_matching_snippet:
            return _marked(found_matching_snippet, limit, more_before=start > 0)
    return _marked(snippet(body, NO_HIGHLIGHT, room), limit, more_before=False)


def _marked(text: str, limit: int, *, more_before: bool) -> str:
    begins, ends = text.startswith("…"), text.endswith("…")
    bare = text[1 if begins else 0 : len(text) - 1 if ends and len(text) > 1 else len(text)]
    return f"{ELLIPSIS if begins or more_before else ''}{bare}{ELLIPSIS if ends else ''}"[:limit]
