"""Parses a search into words, phrases and exclusions, and folds text for comparison.

Every query is valid. Text that is neither a quotation nor an exclusion is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from commonplace.domain.words.scripts import fold_letters

MAX_QUERY_CHARS = 2000
"""Maximum length of a query in characters; the rest is cut. Every further word costs time."""

Analyze = Callable[[str], list[str]]
"""Splits folded text into the terms of the index."""

_QUOTES = str.maketrans("“”„«»「」『』\uff02", '"' * 10)
_PART = re.compile(r'(?P<sign>(?<!\S)-)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')

# Scripts that write words without blanks between them, and Hangul, whose words include their particles.
_RUNS = re.compile(
    "[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]+"
    "|[\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3040-\u309f\u30a0-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
    "|[\u0e00-\u0e7f]+|[\u0e80-\u0eff]+|[\u1000-\u109f]+|[\u1780-\u17ff]+|[\u0f00-\u0fff]+"
)
_ANY_RUN = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3040-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
# Marks that people omit when they search: accents, Hebrew points, Arabic vowel signs and the tatweel. The breve of the
# Cyrillic `й` is excluded, because it makes another letter, which nobody omits.
_MARKS = re.compile(
    "[\u0300-\u0305\u0307-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]"
    "|(?<![\u0418\u0438])\u0306"
)
# Text in which folding can change anything that the index's own folding of Latin letters does not.
_TO_FOLD = re.compile("[\u0300-\u1cff\u1f00-\u1fff\u2100-\u214f\u2460-\u24ff\u3000-\u30ff\u3200-\u33ff\uf900-\uffef]")
_DOT = "\u0307"
"""The combining dot that lower-casing the Turkish `İ` produces."""
# `C++`, `C#`, `F#`: names whose sign matters. Each pattern begins with the sign itself, which is found at memory speed,
# and checks the text before the sign afterwards.
_SIGNED = (
    ("#", re.compile(r"#(?:(?<=\b[A-Za-z]#)|(?<=\b[A-Za-z]{2}#))(?![A-Za-z_+#])"), "sharp"),
    ("++", re.compile(r"\+\+(?:(?<=\b[A-Za-z]\+\+)|(?<=\b[A-Za-z]{2}\+\+))(?![A-Za-z_+#])"), "plusplus"),
)
_OPERATORS = frozenset({"AND", "OR"})
_RUN_OF_WORD = re.compile(r"[^\W_]+")
_INNER_EDGES = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z][a-z])")
"""Unwritten word boundaries within a word: `utf8`, `getName`."""
MAX_INNER_PARTS = 4
"""Maximum number of parts of a word with such boundaries; a word with more is a number or a key."""


@dataclass(frozen=True, slots=True)
class PhraseTerms:
    """Words and character bigrams that must be adjacent."""

    words: tuple[str, ...]
    grams: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed search. Repeated words occur as often as they were typed."""

    words: tuple[str, ...] = ()
    grams: tuple[str, ...] = ()
    compounds: tuple[tuple[str, ...], ...] = ()
    """Words that were typed as one: `std::vector`, `foo_bar`."""
    parted: tuple[tuple[str, ...], ...] = ()
    """Words split at unwritten boundaries: `utf8`, which also matches `utf-8`; `getName`."""
    phrases: tuple[PhraseTerms, ...] = ()
    excluded: tuple[PhraseTerms, ...] = ()
    unfinished: frozenset[str] = frozenset()
    """Words that match as prefixes: the last one, which may be incomplete, and `word*`."""
    exact: bool = False
    """Whether no word except `word*` matches as a prefix."""

    @property
    def has_terms(self) -> bool:
        """Whether the query has positive terms. Without any, all documents match except the excluded ones."""
        return bool(self.words or self.grams or self.phrases)

    @property
    def empty(self) -> bool:
        """Whether the query has no terms at all."""
        return not (self.has_terms or self.excluded)


def parse_query(text: str, analyze: Analyze, *, prefix: bool = True) -> ParsedQuery:
    """Parse a search.

    An unpaired quotation mark is ignored. A `-` excludes only at the beginning of a word or quotation that contains a
    letter or digit, so `- x`, `a-b` and `--` exclude nothing.

    Args:
        text: The search as typed.
        analyze: The index's tokenizer.
        prefix: Whether the last word may also match as a prefix.
    """
    straight = text[:MAX_QUERY_CHARS].translate(_QUOTES)
    if straight.count('"') % 2:
        head, _, tail = straight.rpartition('"')
        straight = f"{head} {tail}"
    words: list[str] = []
    pairs: list[str] = []
    compounds: list[tuple[str, ...]] = []
    parted: list[tuple[str, ...]] = []
    phrases: list[PhraseTerms] = []
    excluded: list[PhraseTerms] = []
    unfinished: set[str] = set()
    for part, is_phrase, is_excluded in _parts(straight):
        phrase = _phrase(part, analyze)
        if is_excluded:
            excluded.append(phrase)
        elif is_phrase:
            phrases.append(phrase)
        else:
            words += phrase.words
            pairs += phrase.grams
            compounds += [phrase.words] if len(phrase.words) > 1 else []
            parted += _taken_apart(part, analyze)
            if part[-1] == "*" or (prefix and part[-1].isalnum() and straight.endswith(part)):
                unfinished.update(phrase.words[-1:])
    return ParsedQuery(
        tuple(words),
        tuple(pairs),
        tuple(compounds),
        tuple(parted),
        tuple(phrases),
        tuple(excluded),
        frozenset(unfinished),
        exact=not prefix,
    )


def fold_text(text: str) -> str:
    """Fold text for comparison, except for the accents of Latin letters, which the index folds itself.

    Case, width and compatibility forms are unified and the accents of other scripts dropped. Letters of scripts whose
    vowels are marks (Devanagari, Thai) stay whole. `C++` and `C#` become words. ASCII text keeps its length unless it
    contains such a name; then it becomes longer.
    """
    for sign, signed, name in _SIGNED:
        if sign in text:
            text = signed.sub(name, text)
    if text.isascii():
        return text.lower()
    if not _TO_FOLD.search(text):
        return text.lower().replace(_DOT, "")
    bare = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))
    return fold_letters(bare.lower())


def grams(text: str) -> list[str]:
    """Character bigrams of every run in a script without blanks, and each run's last character.

    With the last character alone, every character begins some gram, so that a search for a single one finds all its
    occurrences.
    """
    if text.isascii() or not _ANY_RUN.search(text):
        return []
    found: list[str] = []
    for run in _RUNS.finditer(text):
        run_text = run[0]
        found += [run_text[at : at + 2] for at in range(len(run_text))]
    return found


def without_grams(text: str) -> str:
    """The text with the runs of scripts without blanks replaced by blanks, for search by words."""
    return text if text.isascii() else _RUNS.sub(" ", text)


def count_each(items: tuple[str, ...]) -> dict[str, int]:
    """Number of occurrences of each item, in the order of first occurrence."""
    return dict(Counter(items))


def _taken_apart(text: str, analyze: Analyze) -> list[tuple[str, ...]]:
    """The parts of words with unwritten boundaries, word by word."""
    found: list[tuple[str, ...]] = []
    for run in _RUN_OF_WORD.findall(text):
        inner = _INNER_EDGES.sub(" ", run)
        words = analyze(without_grams(fold_text(inner))) if inner != run else ()
        if 1 < len(words) <= MAX_INNER_PARTS:
            found.append(tuple(words))
    return found


def _phrase(text: str, analyze: Analyze) -> PhraseTerms:
    folded = fold_text(text)
    found = grams(folded)
    # The last character of a run is indexed alone only for single-character searches; the pair covers it otherwise.
    pairs = [gram for gram in found if len(gram) > 1]
    return PhraseTerms(tuple(analyze(without_grams(folded))), tuple(pairs or found))


def _parts(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Text, whether it was quoted, and whether it is excluded, of every part with a letter or digit.

    `AND` and `OR` after other words are dropped: words are always combined with OR.
    """
    for found in _PART.finditer(text):
        phrase, word = found["phrase"], found["word"]
        body = word if phrase is None else phrase
        if any(c.isalnum() for c in body) and not (word in _OPERATORS and found.start()):
            yield body, phrase is not None, bool(found["sign"])
