"""Folds text for comparison, and finds the words that were written with accents."""

from __future__ import annotations

import re
import unicodedata

from commonplace.domain.words.grams import WORD_CHAR
from commonplace.domain.words.scripts import fold_letters

# Marks that people omit when they search: accents, Hebrew points, Arabic vowel signs and the tatweel. The breve of the
# Cyrillic `й` is excluded, because `й` is a separate letter.
_MARKS = re.compile(
    "[\u0300-\u0305\u0307-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]"
    "|(?<![\u0418\u0438])\u0306"
)
_LATIN_MARKS = "".join(map(chr, range(0x300, 0x370)))
_MARKED = re.compile(f"(?P<latin>[A-Za-z])[\u0300-\u036f]+|{_MARKS.pattern}")
"""Matches marks, with the Latin letter before them if there is one."""
_ACCENTED = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]")
_ACCENTED_WORD = re.compile(rf"(?<!{WORD_CHAR}){WORD_CHAR}*{_ACCENTED.pattern}{WORD_CHAR}*")
# Matches text that folding may change in addition to the index's own folding of Latin letters.
_TO_FOLD = re.compile("[\u0300-\u1cff\u1f00-\u1fff\u2100-\u214f\u2460-\u24ff\u3000-\u30ff\u3200-\u33ff\uf900-\uffef]")
_DOT = "\u0307"
"""The combining dot that lower-casing the Turkish `İ` produces."""
# Names with significant signs: `C++`, `C#`, `F#`. Each pattern begins with the sign itself, which is found at memory
# speed, and checks the text before the sign afterwards.
_FIRST = rf"(?<!{WORD_CHAR})(?<!_)[A-Za-z]"
_SIGNED = (
    ("#", re.compile(rf"#(?:(?<={_FIRST}#)|(?<={_FIRST}[A-Za-z]#))(?![A-Za-z_+#])"), "sharp"),
    ("++", re.compile(rf"\+\+(?:(?<={_FIRST}\+\+)|(?<={_FIRST}[A-Za-z]\+\+))(?![A-Za-z_+#])"), "plusplus"),
)


def fold_text(text: str) -> str:
    """Fold text for comparison, except for the accents of Latin letters, which the index folds itself.

    Case, width and compatibility forms are unified, and accents of other scripts are removed. Letters of scripts whose
    vowels are marks (Devanagari, Thai) are unchanged. `C++` and `C#` become words. The length of ASCII text does not
    change unless it contains such a name; then the text becomes longer.
    """
    for sign, signed, name in _SIGNED:
        if sign in text:
            text = signed.sub(name, text)
    if text.isascii():
        return text.lower()
    if not _TO_FOLD.search(text):
        return text.lower().replace(_DOT, "")
    bare = _MARKED.sub(_without_marks, unicodedata.normalize("NFKD", text))
    return fold_letters(unicodedata.normalize("NFC", bare).lower().replace(_DOT, ""))


def accented_words(text: str) -> list[str]:
    """The words of folded text that have Latin letters with accents, as written.

    The index stores these words in addition to the words without accents. In languages such as Vietnamese, many words
    differ only in accents.
    """
    return _ACCENTED_WORD.findall(text) if _ACCENTED.search(text) else []


def _without_marks(found: re.Match[str]) -> str:
    """A Latin letter with those marks that are part of a letter; "" for marks of other scripts."""
    return unicodedata.normalize("NFC", found[0]).rstrip(_LATIN_MARKS) if found["latin"] else ""
