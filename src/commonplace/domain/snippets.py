"""Snippets: a line of plain text from a section, round the words that answer a search.

Only the neighbourhood of the chosen place is freed of its markup, so a snippet costs the same in a long section.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

MAX_SOURCE_CHARS = 50_000
"""How much of a section is looked through."""
MAX_OCCURRENCES = 10
"""How many places of each word are looked at."""
MAX_TRIED = 5
"""Places that are tried until one is left in the text without its markup."""
MAX_ARTICLE_CHARS = 3
"""Letters that some languages write as one with a word before it."""

SENTENCE_BYTES = 600
"""How far round a link its sentence is looked for."""

_SENTENCE_END = re.compile(r"[.!?…]['\"”)\]]*(?=\s+(?![a-z]))|[\u3002\uff01\uff1f]")
_WORD_END = re.compile(r"[^\W_]*")
_HTML = (
    "a|abbr|b|blockquote|body|br|caption|cite|code|col|colgroup|dd|del|details|div|dl|dt|em|figcaption|figure|font|"
    "h[1-6]|hr|i|iframe|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|section|small|span|strong|sub|summary|sup|table|tbody|"
    "td|tfoot|th|thead|tr|tt|u|ul|var|video"
)
# What stands behind the text of a link or image, without which brackets are brackets: `a[0]`, `[1]`, `[ ]`.
_AIM = r"\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:[ \t]+\"[^\"\n]*\")?\)|\[[^\[\]\n]*\]"
# Every repetition is bounded or cannot match what follows it, so the time is linear in the text. Each match begins with
# a sign or a line end, so that what stands between is passed over at memory speed; which it was is looked up behind.
_MARKUP = re.compile(
    r"[\n<|!\[\]`*_\\](?:"
    r"(?<=\n)(?:(?P<rule>[ \t]*(?:```|~~~)[^\n]*$|[ \t|:+=_*-]{3,}$|[ \t]*\[[^\[\]\n]{1,80}\]:[^\n]*$)"
    r"|(?P<lead>[ \t]*(?:>[ \t]?|[*+-][ \t]+|\d{1,9}[.)][ \t]+|\#{1,6}[ \t]+)+))"
    rf"|(?P<gap>(?<=\|)|(?<=<)(?:/?(?:{_HTML})(?:[ /][^<>\n]{{0,300}})?>|!--[^<>]{{0,500}}-->))"
    r"|(?:(?<=!)\[|(?<=\[))\[(?P<target>[^\[\]|\n]*)(?:\|(?P<shown>[^\[\]\n]*))?\]\]"
    rf"|(?P<mark>(?<=\])(?:{_AIM})"
    rf"|(?:(?<=!)\[|(?<=\[))(?=[^\[\]\n]*\](?:{_AIM})|!\[[^\[\]\n]*\]\([^()\s]*\)\]\([^()\s]*\)))"
    r"|(?P<code>(?<=`)`*)"
    r"|(?<=\*)\*{0,2}(?=[^\s*])(?P<star>[^*\n]{1,300})(?<=\S)\*{1,3}"
    r"|(?<!\w_)(?<=_)_?(?=[^\s_])(?P<line>[^_\n]{1,300})(?<=\S)_{1,2}(?!\w)"
    r"|(?<=\\)(?=[!-/:-@\[-`{-~]))",
    re.MULTILINE,
)


_BETWEEN_WORDS = frozenset({"gap", "rule", "lead"})
"""Markup that parts the words before it from those behind it."""


@dataclass(frozen=True, slots=True)
class HighlightTerms:
    """What a search looks for in a text, in the index's own folded form."""

    words: Mapping[str, frozenset[str]]
    """Forms of a word, by what they all begin with."""
    grams: tuple[str, ...] = ()
    fold: Callable[[str], str] = str.casefold
    """The folded form of one word."""


def strip_markdown(markdown: str) -> str:
    """Markdown without its markup, as one line."""
    return " ".join(_MARKUP.sub(_shown, f"\n{markdown}").split())


def snippet(markdown: str, wanted: HighlightTerms, limit: int) -> str:
    """At most `limit` characters of a text, round the place where most of the wanted words stand close together.

    Args:
        markdown: The section's text.
        wanted: What to show; where none of it stands, the text's beginning is shown.
        limit: Characters, `…` at a cut end included; 0 gives "".
    """
    if limit <= 0:
        return ""
    found = matching_snippet(markdown, wanted, limit)
    if found:
        return found
    source = markdown[:MAX_SOURCE_CHARS]
    text = strip_markdown(source[: 4 * limit + 200])
    return _cut(text, None, limit, cut_before=False, cut_behind=len(source) > 4 * limit + 200)


def matching_snippet(markdown: str, wanted: HighlightTerms, limit: int) -> str | None:
    """The same, None where none of the wanted words stands in the text; `limit` is at least 1."""
    source = markdown[:MAX_SOURCE_CHARS]
    for place in _by_worth(_places(source, wanted), limit):
        start, end = _neighbourhood(source, place, limit)
        text = strip_markdown(source[start:end])
        shown = _places(text, wanted, most=1)
        if shown:
            return _cut(text, shown[0], limit, cut_before=start > 0, cut_behind=end < len(source))
    return None


def sentence_round(raw: bytes, start: int, end: int) -> str:
    """The sentence that holds some bytes of a document, as plain text on one line; of a long one the part round them.

    Args:
        raw: The document, UTF-8.
        start: Byte offset of the first.
        end: Byte offset behind the last.
    """
    first = raw.rfind(b"\n", max(start - SENTENCE_BYTES, 0), start) + 1 or max(start - SENTENCE_BYTES, 0)
    last = raw.find(b"\n", end, end + SENTENCE_BYTES)
    before = raw[first:start].decode("utf-8", "ignore")
    behind = raw[end : last if last >= 0 else end + SENTENCE_BYTES].decode("utf-8", "ignore")
    cut = max((found.end() for found in _SENTENCE_END.finditer(before)), default=0)
    found = _SENTENCE_END.search(behind)
    middle = raw[start:end].decode("utf-8", "ignore")
    return strip_markdown(before[cut:] + middle + (behind[: found.end()] if found else behind))


Occurrence = tuple[int, int, str]
"""Start, end, and which of the wanted words it is."""


def _shown(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind in _BETWEEN_WORDS:
        return " "
    if kind in {"target", "shown", "star", "line"}:
        return found[kind] or found["target"] or ""
    return ""


def _places(text: str, wanted: HighlightTerms, most: int | None = None) -> list[Occurrence]:
    """Where wanted words stand, word by word; in the folded text only when the text as it is has none.

    Args:
        text: What is looked through.
        wanted: The words.
        most: How many places are enough; None for all that are looked at.
    """
    lower = text.lower()
    found = _places_in(lower if len(lower) == len(text) else text, text, wanted, most)
    return found if found or text.isascii() else _places_in(_flat(text), text, wanted, most)


def _places_in(folded: str, text: str, wanted: HighlightTerms, most: int | None) -> list[Occurrence]:
    places: list[Occurrence] = []
    for beginning, forms in wanted.words.items():
        at = folded.find(beginning)
        if at >= 0:
            places += _places_of(folded, text, at, beginning, forms, wanted.fold)
            if most is not None and len(places) >= most:
                return places
    for gram in wanted.grams:
        at, count = folded.find(gram), 0
        while at >= 0 and count < MAX_OCCURRENCES:
            places.append((at, at + len(gram), gram))
            count += 1
            at = folded.find(gram, at + 1)
    return places


def _places_of(
    folded: str, text: str, at: int, beginning: str, forms: frozenset[str], fold: Callable[[str], str]
) -> list[Occurrence]:
    """Where the forms of one word stand, the first place that may be one being `at`."""
    places: list[Occurrence] = []
    plain, length = beginning.isascii(), len(beginning)
    while at >= 0 and len(places) < MAX_OCCURRENCES:
        start = at if plain else _start_of_word(folded, at)
        if at == 0 or start < at or not folded[at - 1].isalnum():
            found = _WORD_END.match(folded, at + length)
            end = found.end() if found else at + length
            word = folded[start:end]
            if word in forms or (not word.isascii() and fold(text[start:end]) in forms):
                places.append((start, end, beginning))
        at = folded.find(beginning, at + 1)
    return places


def _start_of_word(text: str, at: int) -> int:
    """Where a word may begin that is found by what follows its article."""
    start = at
    while start and at - start < MAX_ARTICLE_CHARS and text[start - 1].isalnum():
        start -= 1
    return start


class _Flat(dict[int, str]):
    """Letters without accents and in lower case, one for one, so that places stay where they are."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        bare = "".join(c for c in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(c)).lower()
        self[code] = bare if len(bare) == 1 else letter
        return self[code]


_FLAT = _Flat()


def _flat(text: str) -> str:
    return text.translate(_FLAT)


def _by_worth(places: list[Occurrence], limit: int) -> Iterator[Occurrence]:
    """The places with most different wanted words within a snippet's length behind them, the best few of them."""
    if len(places) < 2:  # noqa: PLR2004
        yield from places
        return
    places.sort()
    worth: list[tuple[int, int, Occurrence]] = []
    last = 0
    counts: dict[str, int] = {}
    for place in places:
        start, _, name = place
        furthest = start + limit
        while last < len(places) and places[last][1] <= furthest:
            other = places[last][2]
            counts[other] = counts.get(other, 0) + 1
            last += 1
        worth.append((-len(counts), start, place))
        if name in counts:
            counts[name] -= 1
            if not counts[name]:
                del counts[name]
    best = min(worth)  # mostly it is good, and the others need no order
    yield best[2]
    worth.remove(best)
    worth.sort()
    yield from (place for _, _, place in worth[: MAX_TRIED - 1])


def _neighbourhood(source: str, place: Occurrence, limit: int) -> tuple[int, int]:
    """The part of the source to be shown, with room for the markup in it; from the line's beginning where that fits."""
    end = min(place[1] + 3 * limit, len(source))
    earliest = place[0] - 2 * limit
    if earliest <= 0:
        return 0, end
    line = source.rfind("\n", earliest, place[0]) + 1
    return line or source.find(" ", earliest, place[0]) + 1 or earliest, end


def _cut(text: str, place: Occurrence | None, limit: int, *, cut_before: bool, cut_behind: bool) -> str:
    """`limit` characters of a text, with a place in them, cut between words where one is near."""
    start = 0
    if place and place[1] > limit - 2:
        start = place[0] - limit // 3
        if not cut_behind:
            start = min(start, len(text) - limit + 1)
        start = max(start, place[1] - limit + 2, 0)
        blank = text.find(" ", start, min(place[0], start + 20))
        start = blank + 1 if blank >= 0 else start
    lead = "…" if start or cut_before else ""
    end = start + limit - len(lead)
    if end >= len(text) and not cut_behind:
        return lead + text[start:]
    end = min(end - 1, len(text))
    least = place[1] if place else start
    blank = text.rfind(" ", max(end - 20, least), end + 1) if end < len(text) else -1
    return f"{lead}{text[start : blank if blank > start else end].rstrip()}…"[:limit]
