"""Tokens of texts: words, and grams in scripts without blanks between words.

A gram is a short sequence of characters: two in scripts of syllables and ideographs, and three in scripts of letters,
where two characters are not specific enough. A word ends where such a script begins, and begins where it ends, with or
without a blank: `使用Python编写` has the word `Python`. Index, queries, snippets and highlights use this rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# Scripts that write words without blanks between them, and Hangul, whose words include their particles.
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_IDEOGRAPHS = (
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3040-\u309f\u30a0-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_LETTERS = ("\u0e00-\u0e7f", "\u0e80-\u0eff", "\u1000-\u109f", "\u1780-\u17ff", "\u0f00-\u0fff")
_RUNS = re.compile(f"[{_HANGUL}]+|[{_IDEOGRAPHS}]+|(?P<letters>{'|'.join(f'[{script}]+' for script in _LETTERS)})")
SPACELESS = f"{_HANGUL}{_IDEOGRAPHS}{''.join(_LETTERS)}"
"""Characters, for use in a pattern's set, of the scripts without blanks between words."""
_ANY_RUN = re.compile(f"[{SPACELESS}]")
WORD_CHAR = rf"[^\W_{SPACELESS}]"
"""Pattern for a letter or digit of a word; characters of scripts without blanks are none."""
WORD = re.compile(f"{WORD_CHAR}+")
_LETTER = rf"[^\W\d_{SPACELESS}]"
_EDGE = re.compile(rf"(?<={_LETTER})(?=[0-9])")
_NUMBERED = re.compile(rf"[0-9](?<={_LETTER}[0-9])[0-9]*(?:\.[0-9]+)*(?!{WORD_CHAR})")
"""A number directly after a letter, at the end of its word."""
_ONE_LETTER = re.compile(_LETTER)
_NAME = re.compile(rf"({_LETTER}{{2,}})[0-9]+")
MIN_NAME_LENGTH = 2
"""Minimum number of letters of a name before its number; `v2` and `a4` are one word."""
_PLACE = "\u4e00"
"""A token that stands for a run while words are analysed. It is a run itself, so that no word equals it."""
GRAM_LENGTH = 2
LETTERS_GRAM_LENGTH = 3
"""Number of characters of a gram in Thai, Lao, Burmese, Khmer and Tibetan; `GRAM_LENGTH` is for other scripts."""


def grams(text: str) -> list[str]:
    """The grams of a text for the index: in every run of such characters, one gram begins at each character.

    The last grams of a run are shorter. Thus every character begins a gram, and a search for fewer characters than a
    gram's length finds all occurrences.
    """
    if not has_runs(text):
        return []
    return [gram for run in _RUNS.finditer(text) for gram in _grams_of(run)]


def tokens(text: str, analyze: Callable[[str], list[str]]) -> list[str]:
    """The words and grams of a text in their order, for phrases; [] for a text without grams.

    A name and the number after it are two words: `Python3` is `python`, `3`.

    Args:
        text: Folded text.
        analyze: The index's tokenizer.
    """
    if not has_runs(text):
        return []
    runs = _RUNS.finditer(text)
    words: list[str] = []
    for token in analyze(_EDGE.sub(" ", _RUNS.sub(f" {_PLACE} ", text))):
        words += _grams_of(next(runs)) if token == _PLACE else [token]
    return words


def sought_grams(text: str) -> list[str]:
    """The grams of a query: the whole grams; if there are none, the runs themselves as prefixes of grams."""
    if not has_runs(text):
        return []
    runs = list(_RUNS.finditer(text))
    whole = [
        run[0][at : at + length] for run in runs for length in (_length(run),) for at in range(len(run[0]) - length + 1)
    ]
    return whole or [run[0] for run in runs]


def sought_tokens(text: str, analyze: Callable[[str], list[str]]) -> list[str]:
    """The words and grams of a phrase in their order; [] for a phrase without grams.

    The text may continue after the phrase. Therefore, a last run ends with a whole gram, or, if the run is shorter than
    a gram, with the run itself as a prefix of grams.
    """
    words = tokens(text, analyze)
    last = _RUNS.search(words[-1]) if words else None
    if last is None:
        return words
    *_, run = _RUNS.finditer(text)
    spare = min(len(run[0]), _length(run)) - 1
    return words[: len(words) - spare]


def parted_names(text: str) -> str:
    """The names of a text that end with a number, divided from it, one a line: `Python 3.11` for `Python3.11`.

    Indexed after the text, they let the name, the number, and both with a blank between them match.
    """
    names = {
        f"{name} {number[0]}": None for number in _NUMBERED.finditer(text) if (name := _name(text, number.start()))
    }
    return "\n".join(names)


def _name(text: str, end: int) -> str:
    """The letters before an offset, if they are a word's beginning and enough for a name; otherwise ""."""
    start = end
    while start and _ONE_LETTER.match(text[start - 1]):
        start -= 1
    return text[start:end] if end - start >= MIN_NAME_LENGTH and begins_word(text, start) else ""


def name_before_number(word: str) -> str:
    """The letters of a word that is a name with a number: `python` of `python3`; "" for any other word."""
    match = _NAME.fullmatch(word)
    return match[1] if match else ""


def is_whole(gram: str) -> bool:
    """Whether a gram has the full length. A shorter one is a prefix of longer grams."""
    run = _RUNS.match(gram)
    return run is None or len(gram) >= _length(run)


def without_grams(text: str) -> str:
    """The text with the runs of scripts without blanks replaced by blanks, for search by words."""
    return text if text.isascii() else _RUNS.sub(" ", text)


def begins_word(text: str, at: int) -> bool:
    """Whether a word that stands at an offset begins there: no letter or digit of a word is before the offset."""
    return at == 0 or not (text[at - 1].isalnum() and WORD.match(text[at - 1]))


def ends_word(text: str, at: int) -> bool:
    """Whether a word before an offset ends there: no letter or digit of a word follows."""
    return at >= len(text) or not (text[at].isalnum() and WORD.match(text[at]))


def has_runs(text: str) -> bool:
    """Whether a text has characters of scripts without blanks between words."""
    return not text.isascii() and _ANY_RUN.search(text) is not None


def _grams_of(run: re.Match[str]) -> Iterator[str]:
    text, length = run[0], _length(run)
    return (text[at : at + length] for at in range(len(text)))


def _length(run: re.Match[str]) -> int:
    return LETTERS_GRAM_LENGTH if run["letters"] else GRAM_LENGTH
