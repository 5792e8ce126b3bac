"""Spelling variants of a word, such as British `colour` and American `color`.

Variants are candidates: callers use only those that occur in some text. A rule may produce words that do not exist, but
must not turn one common word into another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

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
        for one, two, three, four in pairs
        for pattern, other in ((one, two), (three, four))
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
