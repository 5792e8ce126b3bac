"""Index of the texts that contain a string: `C++`, `$x`, `中文`, a single letter or part of a word.

A text is split into tokens: runs of letters and digits, and runs of other signs. A string without blanks is part of one
token, or spans the end of one token, some whole tokens and the start of another. Its tokens therefore give the
candidate texts, and only these are searched. A string that most texts contain is searched in all texts, because each
such search ends early.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

MAX_LISTED = 4
"""Maximum total length of a string's token lists, as a multiple of the number of texts; longer lists are ignored."""

_TOKEN = re.compile(r"\w+|[^\w\s]+")
_WORD = re.compile(r"\w+")
_EDGE = "\n"
"""Separator of the tokens in the vocabulary; occurs in no token."""


class SubstringIndex:
    """Texts by number, with an index of their tokens.

    Args:
        texts: Texts, folded like the strings to search for.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._listed: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            for token in set(_TOKEN.findall(text)):
                self._listed.setdefault(token, []).append(number)
        self._vocabulary = _EDGE + "".join(f"{token}{_EDGE}" for token in self._listed)

    def holding(self, wanted: str) -> Collection[int]:
        """Numbers of the texts that contain a string, each once.

        Args:
            wanted: The string, at least one character.
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
        """Numbers of the texts that contain a whole word, each once; None if the string is not a single word."""
        return self._listed.get(wanted, ()) if _WORD.fullmatch(wanted) else None

    def _looked_through(self, wanted: str) -> list[int]:
        return [number for number, text in enumerate(self._texts) if wanted in text]

    def _candidates(self, tokens: Sequence[str]) -> Collection[int] | None:
        """The texts with the rarest of several consecutive tokens; None if all are too common."""
        first, *between, last = tokens
        found = [self._lists(f"{first}{_EDGE}"), self._lists(f"{_EDGE}{last}")]
        found += [[self._listed.get(token, [])] for token in between]
        known = [lists for lists in found if lists is not None]
        return _united(min(known, key=lambda lists: sum(map(len, lists)))) if known else None

    def _lists(self, part: str) -> list[list[int]] | None:
        """The texts of each token that contains `part`; None if they exceed `MAX_LISTED`."""
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
