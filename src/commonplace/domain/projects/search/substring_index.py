"""Which of many texts hold a string: `C++`, `$x`, `中文`, a single letter or part of a word.

A text is cut into tokens: runs of letters and digits, and runs of other signs. A string without blanks lies in one
token, or ends one, holds some whole and begins another; so the texts that may hold it are known by their tokens, and
only those are looked at. A string that very many texts hold is looked for in all of them: it is met early there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

MAX_LISTED = 4
"""Times the number of texts: where the lists of a string's tokens are longer than that together, they are no help."""

_TOKEN = re.compile(r"\w+|[^\w\s]+")
_WORD = re.compile(r"\w+")
_EDGE = "\n"
"""Stands between the tokens of the vocabulary, and in none of them."""


class SubstringIndex:
    """Texts by number, and which hold what.

    Args:
        texts: Folded as what is looked for will be.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._listed: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            for token in set(_TOKEN.findall(text)):
                self._listed.setdefault(token, []).append(number)
        self._vocabulary = _EDGE + "".join(f"{token}{_EDGE}" for token in self._listed)

    def holding(self, wanted: str) -> Collection[int]:
        """The numbers of the texts in which a string occurs, each once.

        Args:
            wanted: At least one character.
        """
        tokens = _TOKEN.findall(wanted)
        if len(tokens) == 1 and tokens[0] == wanted:
            lists = self._lists(wanted) if len(wanted) > 1 else None
            return self._looked_through(wanted) if lists is None else _united(lists)
        candidates = self._candidates(tokens) if "".join(tokens) == wanted else None
        if candidates is None:
            return self._looked_through(wanted)
        return [number for number in candidates if wanted in self._texts[number]]

    def whole_words(self, wanted: str) -> Collection[int] | None:
        """The numbers of the texts that have a word whole, each once; None for a string that is no word alone."""
        return self._listed.get(wanted, ()) if _WORD.fullmatch(wanted) else None

    def _looked_through(self, wanted: str) -> list[int]:
        return [number for number, text in enumerate(self._texts) if wanted in text]

    def _candidates(self, tokens: Sequence[str]) -> Collection[int] | None:
        """The texts that have the rarest of several tokens that follow each other; None where all are too common."""
        first, *between, last = tokens
        found = [self._lists(f"{first}{_EDGE}"), self._lists(f"{_EDGE}{last}")]
        found += [[self._listed.get(token, [])] for token in between]
        known = [lists for lists in found if lists is not None]
        return _united(min(known, key=lambda lists: sum(map(len, lists)))) if known else None

    def _lists(self, part: str) -> list[list[int]] | None:
        """For each token that holds a part the texts that have it; None where they are too many to be a help."""
        vocabulary, lists = self._vocabulary, list[list[int]]()
        left = MAX_LISTED * len(self._texts)
        at = vocabulary.find(part)
        while at >= 0 and left >= 0:
            begin = at + 1 if vocabulary[at] == _EDGE else vocabulary.rfind(_EDGE, 0, at) + 1
            end = vocabulary.index(_EDGE, begin)
            lists.append(self._listed[vocabulary[begin:end]])
            left -= len(lists[-1])
            at = vocabulary.find(part, end)
        return None if left < 0 else lists


def _united(lists: Sequence[Sequence[int]]) -> Collection[int]:
    return lists[0] if len(lists) == 1 else set[int]().union(*lists)
