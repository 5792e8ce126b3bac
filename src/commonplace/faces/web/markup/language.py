"""The language and direction of a text, for hyphenation, screen readers and layout."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from commonplace.domain.documents import Document
from commonplace.domain.languages import language_of

SAMPLE_CHARS = 3_000
"""Maximum characters of a document that are examined."""
_CACHED = 2_000
"""Maximum number of cached samples."""
_CODES = {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt",
    "dutch": "nl", "danish": "da", "swedish": "sv", "norwegian": "nb", "finnish": "fi", "hungarian": "hu",
    "romanian": "ro", "russian": "ru", "turkish": "tr",
}  # fmt: skip
_SCRIPTS = {
    "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CJK": "zh", "HEBREW": "he", "ARABIC": "ar", "GREEK": "el",
    "THAI": "th", "DEVANAGARI": "hi",
}  # fmt: skip
_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_WORD = re.compile(r"[^\W\d_]{2,}")
_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def language_and_direction(document: Document) -> tuple[str, str]:
    """The language as a BCP 47 tag (front matter's `lang` or `language`, else a guess), and `ltr` or `rtl`."""
    raw = document.encoded
    body = raw[document.body_start :][: 4 * SAMPLE_CHARS].decode("utf-8", "ignore")[:SAMPLE_CHARS]
    values = document.frontmatter.values
    given = values.get("lang") or values.get("language")
    guessed, direction = _of_sample(body)
    return given if isinstance(given, str) and _TAG.fullmatch(given) else guessed, direction


@lru_cache(_CACHED)
def _of_sample(body: str) -> tuple[str, str]:
    letters = Counter(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in body if c.isalpha())
    return _guessed(body), "rtl" if letters[True] > letters[False] else "ltr"


def _guessed(text: str) -> str:
    scripts = Counter(unicodedata.name(c, "").split(" ", 1)[0].split("-", 1)[0] for c in text if c.isalpha())
    if not scripts:
        return "en"
    if scripts["HIRAGANA"] + scripts["KATAKANA"] > sum(scripts.values()) // 20:
        return "ja"
    script = scripts.most_common(1)[0][0]
    if script in _SCRIPTS:
        return _SCRIPTS[script]
    words = [word.casefold() for word in _WORD.findall(text)]
    return _CODES.get(language_of(words, lambda _: 0.0), "en")
