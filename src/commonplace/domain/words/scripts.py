# ruff: noqa: RUF001 (the letters are intended)
"""Scripts of letters, folded text, and the spellings of a word that a query may mean."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from commonplace.domain.words.grams import WORD_CHAR

# Script-specific folding: letters with two spellings, and words with joined articles.


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


def any_accents(text: str) -> str:
    """The pattern for SQLite's GLOB that matches a text in lower case with any accents."""
    variants = _variants()
    return "".join(
        f"[{letter}{variants[letter]}]" if letter in variants else f"[{letter}]" if letter in "*?[" else letter
        for letter in fold_accents(text)
    )


@cache
def _variants() -> Mapping[str, str]:
    """The accented forms of letters in lower case, by the letter without accents."""
    variants: dict[str, str] = {}
    for letter in filter(str.isalpha, map(chr, range(0xC0, 0x3100))):
        bare = fold_accents(letter)
        if len(bare) == 1 and bare != letter == letter.casefold():
            variants[bare] = variants.get(bare, "") + letter
    return variants


def language_of_script(word: str) -> str:
    """The language whose stemmer applies to words of this script; "" for Latin and others."""
    return next((language for script, language in _SCRIPTS if script.match(word)), "")


def _light(match: re.Match[str]) -> str:
    word = match[0]
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


# Folds text for comparison, and finds the words that were written with accents.


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


def _without_marks(match: re.Match[str]) -> str:
    """A Latin letter with those marks that are part of a letter; "" for marks of other scripts."""
    return unicodedata.normalize("NFC", match[0]).rstrip(_LATIN_MARKS) if match["latin"] else ""


# Spelling variants of a word, such as British `colour` and American `color`.
#
# Variants are candidates: callers use only those that occur in some text. A rule may produce words that do not exist,
# but must not turn one common word into another.


MIN_LETTERS = 5
"""Minimum length of a word with spelling variants."""

SpellingRule = tuple[re.Pattern[str], str]

_ENGLISH = (
    # colour, organise, analyse, centre, catalogue, defence, programme, cancelled, ageing, judgement, sulphur
    (r"(?<=\w{3})our", "or", r"(?<=\w{3})or", "our"),
    (r"(?<=\w{3})is(?=e|ing|ation)", "iz", r"(?<=\w{3})iz(?=e|ing|ation)", "is"),
    (r"(?<=\w{3})ys(?=e|ing)", "yz", r"(?<=\w{3})yz(?=e|ing)", "ys"),
    (r"(?<=[bt])re(?=s?$)", "er", r"(?<=[bt])er(?=s?$)", "re"),
    (r"ogue(?=s?$)", "og", r"og(?=s?$)", "ogue"),
    (r"(?<=\w{3})ence(?=s?$)", "ense", r"(?<=\w{3})ense(?=s?$)", "ence"),
    (r"amme(?=s?$)", "am", r"am(?=s?$)", "amme"),
    (r"ll(?=ed$|ing$|er$)", "l", r"(?<=[a-z][aeiou])l(?=ed$|ing$|er$)", "ll"),
    (r"geing$", "ging", r"ging$", "geing"),
    (r"dgement", "dgment", r"dgment", "dgement"),
    (r"sulph", "sulf", r"sulf", "sulph"),
    # haematology, oestrogen; but not `shoes`
    (r"ae", "e", r"(?<![aeo])e(?![ae])", "ae"),
    (r"oe(?!s$)", "e", r"(?<![aeo])e(?![ae])", "oe"),
)
_GERMAN = tuple((f"{vowel}e", vowel, f"{vowel}(?!e)", f"{vowel}e") for vowel in "aou")
"""Spelling rules for umlauts written as two letters; the index folds an umlaut to the bare vowel."""


def _rules(pairs: Sequence[tuple[str, str, str, str]]) -> tuple[SpellingRule, ...]:
    return tuple(
        (re.compile(pattern), other)
        for element, two, three, four in pairs
        for pattern, other in ((element, two), (three, four))
    )


_RULES: Mapping[str, tuple[SpellingRule, ...]] = {"english": _rules(_ENGLISH), "german": _rules(_GERMAN)}


def spellings(word: str, language: str) -> Iterator[str]:
    """Spelling variants of a word, each once.

    Args:
        word: A word in the folded form of the index.
        language: Name of the Snowball stemmer.
    """
    if len(word) < MIN_LETTERS or not (word.isascii() and word.isalpha()):
        return
    seen = {word}
    for pattern, other in _RULES.get(language, ()):
        for place in pattern.finditer(word):
            changed = f"{word[: place.start()]}{other}{word[place.end() :]}"
            if changed not in seen:
                seen.add(changed)
                yield changed
