"""Grams: short sequences of characters that replace words in scripts without blanks between words.

A gram has two characters in scripts of syllables and ideographs, and three in scripts of letters, where two characters
are not specific enough.
"""

from __future__ import annotations

import re

# Scripts that write words without blanks between them, and Hangul, whose words include their particles.
_RUNS = re.compile(
    "[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]+"
    "|[\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3040-\u309f\u30a0-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
    "|(?P<letters>[\u0e00-\u0e7f]+|[\u0e80-\u0eff]+|[\u1000-\u109f]+|[\u1780-\u17ff]+|[\u0f00-\u0fff]+)"
)
_ANY_RUN = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3040-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
GRAM_LENGTH = 2
LETTERS_GRAM_LENGTH = 3
"""Number of characters of a gram in Thai, Lao, Burmese, Khmer and Tibetan; `GRAM_LENGTH` is for other scripts."""


def grams(text: str) -> list[str]:
    """The grams of a text for the index: in every run of such characters, one gram begins at each character.

    The last grams of a run are shorter. Thus every character begins a gram, and a search for fewer characters than a
    gram's length finds all occurrences.
    """
    if not _has_runs(text):
        return []
    found: list[str] = []
    for run in _RUNS.finditer(text):
        run_text, length = run[0], _length(run)
        found += [run_text[at : at + length] for at in range(len(run_text))]
    return found


def sought_grams(text: str) -> list[str]:
    """The grams of a query: the whole grams; if there are none, the runs themselves as prefixes of grams."""
    if not _has_runs(text):
        return []
    runs = list(_RUNS.finditer(text))
    whole = [
        run[0][at : at + length] for run in runs for length in (_length(run),) for at in range(len(run[0]) - length + 1)
    ]
    return whole or [run[0] for run in runs]


def is_whole(gram: str) -> bool:
    """Whether a gram has the full length. A shorter one is a prefix of longer grams."""
    run = _RUNS.match(gram)
    return run is None or len(gram) >= _length(run)


def without_grams(text: str) -> str:
    """The text with the runs of scripts without blanks replaced by blanks, for search by words."""
    return text if text.isascii() else _RUNS.sub(" ", text)


def _has_runs(text: str) -> bool:
    return not text.isascii() and _ANY_RUN.search(text) is not None


def _length(run: re.Match[str]) -> int:
    return LETTERS_GRAM_LENGTH if run["letters"] else GRAM_LENGTH
