"""A search as typed, taken apart: words, phrases, exclusions; and the forms in which text is compared.

There is no wrong query. Whatever is no quotation and no exclusion is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from commonplace.domain.words.scripts import fold_letters

MAX_QUERY_CHARS = 2000
"""What is longer is cut: no question needs more, and every further word costs time."""

Analyze = Callable[[str], list[str]]
"""Splits folded text into the index's words."""

_QUOTES = str.maketrans("“”„«»「」『』\uff02", '"' * 10)
_PART = re.compile(r'(?P<sign>(?<!\S)-)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')

# Scripts that write words without blanks between them, and Hangul, whose words carry their particles along.
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
# Marks that readers leave out when they search: accents, Hebrew points, Arabic vowel signs and the tatweel. The short
# sign of the Cyrillic `и` is none: it makes another letter, which nobody leaves out.
_MARKS = re.compile(
    "[\u0300-\u0305\u0307-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]"
    "|(?<![\u0418\u0438])\u0306"
)
# Text in which folding can change anything that the index's own folding of Latin letters does not.
_TO_FOLD = re.compile("[\u0300-\u1cff\u1f00-\u1fff\u2100-\u214f\u2460-\u24ff\u3000-\u30ff\u3200-\u33ff\uf900-\uffef]")
_DOT = "\u0307"
"""What lower case makes of the dot of the Turkish `\u0130`."""
# `C++`, `C#`, `F#`: names whose sign matters. Each pattern begins with the sign itself, which is found at memory speed,
# and looks at what stands before it after.
_SIGNED = (
    ("#", re.compile(r"#(?:(?<=\b[A-Za-z]#)|(?<=\b[A-Za-z]{2}#))(?![A-Za-z_+#])"), "sharp"),
    ("++", re.compile(r"\+\+(?:(?<=\b[A-Za-z]\+\+)|(?<=\b[A-Za-z]{2}\+\+))(?![A-Za-z_+#])"), "plusplus"),
)
_OPERATORS = frozenset({"AND", "OR"})
_RUN_OF_WORD = re.compile(r"[^\W_]+")
_INNER_EDGES = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z][a-z])")
"""Where a word has an edge that is not written: `utf8`, `getName`."""
MAX_INNER_PARTS = 4
"""Parts of a word with such edges; one with more is a number or a key."""


@dataclass(frozen=True, slots=True)
class PhraseTerms:
    """Words, and pairs of characters, that stand one behind the other."""

    words: tuple[str, ...]
    grams: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A search as words of the index; repeated words stand as often as they were written."""

    words: tuple[str, ...] = ()
    grams: tuple[str, ...] = ()
    compounds: tuple[tuple[str, ...], ...] = ()
    """Words that were written as one: `std::vector`, `foo_bar`."""
    parted: tuple[tuple[str, ...], ...] = ()
    """Words taken apart at edges that were not written: `utf8`, which elsewhere is `utf-8`; `getName`."""
    phrases: tuple[PhraseTerms, ...] = ()
    excluded: tuple[PhraseTerms, ...] = ()
    unfinished: frozenset[str] = frozenset()
    """Words of which only the beginning was written: the last one, as more of it may be coming, and `word*`."""
    exact: bool = False
    """Whether no other word is to be taken for the beginning of one."""

    @property
    def has_terms(self) -> bool:
        """Whether anything is looked for; else everything but what is excluded is."""
        return bool(self.words or self.grams or self.phrases)

    @property
    def empty(self) -> bool:
        """Whether the search says nothing at all."""
        return not (self.has_terms or self.excluded)


def parse_query(text: str, analyze: Analyze, *, prefix: bool = True) -> ParsedQuery:
    """Take a search apart.

    A quotation mark without its partner is ignored; a `-` excludes only at the beginning of a word or quotation that
    holds a letter or digit, so that `- x`, `a-b` and `--` exclude nothing.

    Args:
        text: As typed.
        analyze: How the index splits text.
        prefix: Whether words, above all the last, may be the beginning of one.
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
    """Text as the index compares it, but for the accents of Latin letters, which the index folds itself.

    Case, width and compatibility forms are unified and the accents of other scripts dropped; the letters of scripts
    whose vowels are marks (Devanagari, Thai) stay whole. `C++` and `C#` become words of their own: a text of plain
    ASCII without them keeps its length, and one with them gets longer.
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
    """Pairs of neighbouring characters of every run in a script without blanks, and each run's last character.

    The last character alone makes every character the beginning of some gram, so that a search for a single one
    finds all its places.
    """
    if text.isascii() or not _ANY_RUN.search(text):
        return []
    found: list[str] = []
    for run in _RUNS.finditer(text):
        run_text = run[0]
        found += [run_text[at : at + 2] for at in range(len(run_text))]
    return found


def without_grams(text: str) -> str:
    """The text with those runs blanked, for what is searched by words."""
    return text if text.isascii() else _RUNS.sub(" ", text)


def count_each(items: tuple[str, ...]) -> dict[str, int]:
    """How many times each was written, in the order of their first place."""
    return dict(Counter(items))


def _taken_apart(text: str, analyze: Analyze) -> list[tuple[str, ...]]:
    """The parts of words that have edges within, word by word."""
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
    # The last character of a run stands alone only to be found; nobody asks for it beside its pair.
    pairs = [gram for gram in found if len(gram) > 1]
    return PhraseTerms(tuple(analyze(without_grams(folded))), tuple(pairs or found))


def _parts(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Text, whether it was quoted, and whether it is excluded, of every part that holds a letter or digit.

    `AND` and `OR` between other words are left out: all words are ored, and who writes them does not look for them.
    """
    for found in _PART.finditer(text):
        phrase, word = found["phrase"], found["word"]
        body = word if phrase is None else phrase
        if any(c.isalnum() for c in body) and not (word in _OPERATORS and found.start()):
            yield body, phrase is not None, bool(found["sign"])
