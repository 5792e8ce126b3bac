# ruff: noqa: RUF001 (the letters are intended)
"""Script-specific folding: letters with two spellings, and words with joined articles."""

from __future__ import annotations

import re
import unicodedata

# Arabic final forms that are often written without dots, Persian letters as the Arabic ones, and the final sigma.
_LETTERS = {"ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ς": "σ"}
_DIGITS = {chr(zero + digit): str(digit) for zero in (0x0660, 0x06F0) for digit in range(10)}
_SAME = str.maketrans({**_LETTERS, **_DIGITS})
_ANY = re.compile(f"[{''.join(_LETTERS)}\u0600-\u06ff]")
_ARABIC = re.compile("[\u0620-\u064a\u0671-\u06d3]{4,}")
_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")
_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")
MIN_AND_LETTERS = 3
"""Minimum length of an Arabic word after its initial `and` is removed."""
MIN_WORD_LETTERS = 2
"""Minimum length of a word after an article or an ending is removed."""

_SCRIPTS = (
    (re.compile("[\u0400-\u052f]"), "russian"),
    (re.compile("[\u0370-\u03ff]"), "greek"),
    (re.compile("[\u0b80-\u0bff]"), "tamil"),
)


def fold_letters(text: str) -> str:
    """Text with one spelling for each letter and digit, and Arabic words without articles and endings.

    Arabic words are stemmed as by Larkey, Ballesteros and Connell's *light10* (2002), which retrieves better than
    roots.
    """
    if not _ANY.search(text):
        return text
    return _ARABIC.sub(_light, text.translate(_SAME))


def fold_accents(word: str) -> str:
    """The word without case, accents and width."""
    apart = unicodedata.normalize("NFKD", word)
    return unicodedata.normalize("NFC", "".join(c for c in apart if not unicodedata.combining(c))).casefold()


def language_of_script(word: str) -> str:
    """The language whose stemmer applies to words of this script; "" for Latin and others."""
    return next((language for script, language in _SCRIPTS if script.match(word)), "")


def _light(found: re.Match[str]) -> str:
    word = found[0]
    if word[0] == "و" and len(word) > MIN_AND_LETTERS:
        word = word[1:]
    for article in _ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + MIN_WORD_LETTERS:
            word = word[len(article) :]
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + MIN_WORD_LETTERS:
            word = word[: -len(ending)]
    return word
