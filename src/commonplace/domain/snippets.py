"""Snippets: one line of plain text from a section, around the terms of a search.

Only the neighbourhood of the chosen position is stripped of markup, so the cost does not grow with the section.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape

from commonplace.domain.languages import content_words, language_of
from commonplace.domain.link_brackets import without_marks
from commonplace.domain.markdown.code import CodePiece, code_pieces
from commonplace.domain.markdown.structure import with_marks
from commonplace.domain.query_parser import parse_query
from commonplace.domain.words.grams import WORD, WORD_CHAR, begins_word, name_before_number
from commonplace.domain.words.scripts import fold_accents, fold_text

MAX_SOURCE_CHARS = 50_000
"""Maximum number of characters of a section that are searched."""
MAX_OCCURRENCES = 10
"""Maximum number of occurrences of each word that are considered."""
MAX_TRIED = 5
"""Maximum number of positions that are tried until one remains in the stripped text."""
MIN_MARKED_PREFIX = 3
"""Minimum length of a query word that also marks longer words with this prefix."""
MAX_ARTICLE_CHARS = 3
"""Maximum length of an article that some languages join to the following word."""

SENTENCE_BYTES = 600
"""Number of bytes before and after a link that are searched for the ends of its sentence."""

PIPED_LINK = re.compile(r"\[\[([^\[\]|\n]+)\|([^\[\]|\n]+)\]\]")
"""A link `[[a|b]]`, of which a snippet shows `b`."""

_LINE_BELOW = re.compile(rb"\n[ \t>]*[^\s>]")
_SENTENCE_END = re.compile(r"[.!?…]['\"”)\]]*(?=\s+(?![a-z]))|[\u3002\uff01\uff1f]")
_WORD_END = re.compile(f"{WORD_CHAR}*")
_HTML = (
    "a|abbr|b|blockquote|body|br|caption|cite|code|col|colgroup|dd|del|details|div|dl|dt|em|figcaption|figure|font|"
    "h[1-6]|hr|i|iframe|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|section|small|span|strong|sub|summary|sup|table|tbody|"
    "td|tfoot|th|thead|tr|tt|u|ul|var|video"
)
# The destination after the text of a link or image. Without a destination, brackets are plain text: `a[0]`, `[1]`.
_AIM = r"\((?:<[^<>\n]{0,500}>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)?)(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'))?\)|\[[^\[\]\n]*\]"
# Every repetition is bounded or cannot match the text after it, so the time is linear in the text. Each match begins
# with a sign or a line end, so that text between matches is skipped at memory speed. A lookbehind then distinguishes
# the signs.
_MARKUP = re.compile(
    r"[\n<|!\[\]`*_\\](?:"
    r"(?<=\n)(?:(?P<rule>[ \t]*(?:```|~~~)[^\n]*$|[ \t|:+=_*-]{3,}$|[ \t]*\[[^\[\]\n]{1,80}\]:[^\n]*$)"
    r"|(?P<lead>[ \t]*(?:>[ \t]?|[*+-][ \t]+|\d{1,9}[.)][ \t]+|\#{1,6}[ \t]+)+))"
    rf"|(?P<gap>(?<=\|)|(?<=<)(?:/?(?:{_HTML})(?:[ /][^<>\n]{{0,300}})?>|!--[^<>]{{0,500}}-->))"
    r"|(?:(?P<embed>(?<=!)\[)|(?<=\[))\[(?P<target>[^\[\]|\n]*)(?:\|(?P<shown>[^\[\]\n]*))?\]\]"
    rf"|(?P<mark>(?<=\])(?:{_AIM})"
    rf"|(?:(?<=!)\[|(?<=\[))(?=[^\[\]\n]*\](?:{_AIM})|!\[[^\[\]\n]*\]\([^()\s]*\)\]\([^()\s]*\)))"
    r"|(?P<code>(?<=`)`*)"
    r"|(?<=\*)\*{0,2}(?=[^\s*])(?P<star>(?>\\[^\n]|[^*\n]){1,300}(?:\n\w[^*\n]{0,300})?)(?<=\S)\*{1,3}"
    r"|(?<!\w_)(?<=_)_?(?=[^\s_])(?P<line>(?>\\[^\n]|[^_\n]){1,300}(?:\n\w[^_\n]{0,300})?)(?<=\S)_{1,2}(?!\w)"
    r"|(?<=\\)(?:(?P<escaped>[!-/:-@\[-`{-~])|(?=\r?\n[ \t>]*[^\s>])))",
    re.MULTILINE,
)


# Markup that is no CommonMark: callouts, tasks, footnotes, block ids, shortcodes and template tags, containers, formula
# blocks, comments, highlights, struck text, and addresses in angle brackets. Built like `_MARKUP`.
_SIGNS = re.compile(
    r"[\[^{:$%=~<](?:"
    r"(?<!\S\[)(?<=\[)(?:![\w-]{1,30}\][+-]?|[ xX]\](?=\s))"
    r"|(?<=\[)\^[^\]\s]{1,40}\]:?"
    r"|(?<=\s\^)[A-Za-z0-9-]{1,60}[ \t]*$"
    r"|(?<=\{)(?:\{[<%][^{}\n]{0,300}[>%]\}\}|%[^{}\n]{0,300}%\})"
    r"|(?<=\n:)::+[ \t]*\w*"
    r"|(?<=\$)\$(?:(?<=\n\$\$)|(?=[ \t]*$))"
    r"|(?<=%)%(?:(?<!\w%%)|(?!\w))"
    r"|(?<![\w=]=)(?<==)=(?=[^\s=])(?P<high>[^=\n]{1,300})(?<=\S)==(?![\w=])"
    r"|(?<=~)~(?=[^\s~])(?P<struck>[^~\n]{1,300})(?<=\S)~~"
    r"|(?<=<)(?P<url>(?:https?|mailto):[^<>\s]{1,500})>)",
    re.MULTILINE,
)
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_HOLDER, _NO_CHARACTER = "\0", "\ufffd"
"""The sign around the number of a piece of code, while the text around it is stripped, and what it is replaced by."""
_HELD = re.compile(f"{_HOLDER}([0-9]+){_HOLDER}")
_MEDIA = re.compile(
    r"[^#]*\.(?:png|jpe?g|gif|svg|webp|avif|bmp|ico|tiff?|heic|mp3|wav|ogg|m4a|flac|opus|mp4|webm|ogv|mov|m4v)(?:#.*)?",
    re.IGNORECASE,
)
_SIZE = re.compile(r"\s*\d{1,4}(?:x\d{1,4})?\s*")
"""The label of an embed that gives its size in pixels."""
_ATOM = re.compile(
    r"!?\[\[[^\[\]\n]{1,300}\]\]|!?\[[^\[\]\n]{0,300}\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,80}\])"
    r"|<[A-Za-z/!][^<>\n]{0,300}>"
)
"""Markup that would be shown as it stands if a part of it were cut off."""
MAX_ATOM_CHARS = 800
"""Number of characters before and after a cut that are searched for such markup."""
_BETWEEN_WORDS = frozenset({"gap", "rule", "lead"})
"""Names of the pattern's groups for markup that separates words."""


@dataclass(frozen=True, slots=True)
class HighlightTerms:
    """The terms of a search, in the folded form of the index."""

    words: Mapping[str, frozenset[str]]
    """Forms of a word, by their common prefix."""
    grams: tuple[str, ...] = ()
    fold: Callable[[str], str] = str.casefold
    """Returns the folded form of one word."""


def strip_markdown(markdown: str) -> str:
    """Plain text of Markdown, as one line. Code is shown as it stands."""
    markdown = with_marks(markdown)
    return _plain(markdown, code_pieces(markdown), 0, len(markdown))


def _plain(markdown: str, codes: Sequence[CodePiece], start: int, end: int) -> str:
    """The characters `[start, end)` of a text, whose code and brackets are marked, as plain text in one line."""
    parts: list[str] = ["\n"]
    held: list[str] = []
    at = start
    for code in codes:
        if code.end <= start or code.start >= end:
            continue
        first, last = max(code.start, start), min(code.end, end)
        parts.append(markdown[at:first].replace(_HOLDER, _NO_CHARACTER))
        parts.append(f"{_HOLDER}{len(held)}{_HOLDER}" if code.text else "\n")
        if code.text:
            held.append(code.text if (first, last) == (code.start, code.end) else markdown[first:last])
        at = last
    parts.append(markdown[at:end].replace(_HOLDER, _NO_CHARACTER))
    text = _MARKUP.sub(_shown, _SIGNS.sub(_signified, "".join(parts)))
    # Last, because a character in its written form is no markup, and code has neither.
    text = _ENTITY.sub(lambda entity: unescape(entity[0]), text)
    text = _HELD.sub(lambda place: held[int(place[1])], text) if held else text
    return " ".join(without_marks(text).split())


class SnippetSource:
    """The text of a section for snippets. What no search changes is computed once: brackets, and where code is.

    Args:
        markdown: The text; its first `MAX_SOURCE_CHARS` characters are used.
    """

    __slots__ = ("_codes", "marked")

    def __init__(self, markdown: str) -> None:
        self.marked = with_marks(markdown[:MAX_SOURCE_CHARS])
        self._codes: list[CodePiece] | None = None

    @property
    def codes(self) -> Sequence[CodePiece]:
        """The code of the text."""
        if self._codes is None:
            self._codes = code_pieces(self.marked)
        return self._codes


def with_labels(source: SnippetSource, label_first: Callable[[], Collection[tuple[str, str]]]) -> SnippetSource:
    """The text in which each `[[label|page]]` is replaced by its label.

    Args:
        source: The text.
        label_first: Returns the label and the page of each link that has the label first. Called only when needed.
    """
    known_pairs = label_first() if PIPED_LINK.search(source.marked) else ()
    if not known_pairs:
        return source

    def shown(match: re.Match[str]) -> str:
        label = match[1].removesuffix("\\").strip()  # in a table, the | is escaped
        is_code = any(code.start <= match.start() < code.end for code in source.codes)
        return label if (label, match[2].strip()) in known_pairs and not is_code else match[0]

    return SnippetSource(without_marks(PIPED_LINK.sub(shown, source.marked)))


def snippet(markdown: str | SnippetSource, terms: HighlightTerms, limit: int) -> str:
    """A part of a text with at most `limit` characters, around the place with most of the wanted words.

    Args:
        markdown: The section's text.
        terms: The words to show; if none occurs, the beginning of the text is returned.
        limit: Maximum number of characters, including the `…` at cut ends; 0 gives "".
    """
    if limit <= 0:
        return ""
    prepared = SnippetSource(markdown) if isinstance(markdown, str) else markdown
    part = matching_snippet(prepared, terms, limit)
    if part:
        return part
    source = prepared.marked
    end = _outside(source, min(4 * limit + 200, len(source)), forward=True)
    text = strip_markdown(source[:end])
    return _cut(text, None, limit, cut_before=False, cut_behind=len(source) > end)


def matching_snippet(markdown: str | SnippetSource, terms: HighlightTerms, limit: int) -> str | None:
    """The result of `snippet`; None if none of the wanted words occurs in the text. `limit` is at least 1."""
    prepared = SnippetSource(markdown) if isinstance(markdown, str) else markdown
    source = prepared.marked
    for place in _by_worth(_places(source, terms), limit):
        start, end = _neighbourhood(source, place, limit)
        text = _plain(source, prepared.codes, start, end)
        shown = _places(text, terms, most=1)
        if shown:
            return _cut(text, shown[0], limit, cut_before=start > 0, cut_behind=end < len(source))
    return None


def marked_spans(query: str) -> Callable[[str], Iterator[tuple[int, int]]]:
    """A function that returns the start and end of each part of a text to mark as matching a query.

    In scripts without blanks, no words can be compared; the grams of the query are marked.
    """
    parsed = parse_query(query, lambda text: [fold_accents(word) for word in WORD.findall(text)], prefix=False)
    quoted = [word for phrase in (*parsed.phrases, *parsed.optional_phrases) for word in phrase.words]
    requested_words = [*parsed.words, *(word for phrase in parsed.phrases for word in phrase.words)]
    words = {*content_words(requested_words, language_of(requested_words, lambda _: 0.0)), *quoted}
    grams = {*parsed.grams, *(gram for phrase in parsed.phrases for gram in phrase.grams)}
    longest_first = "|".join(map(re.escape, sorted(grams, key=len, reverse=True))) or "(?!)"
    parts = re.compile(f"(?P<grams>(?:{longest_first})+)|(?:{WORD_CHAR}[\u0300-\u036f]*)+")

    @cache  # a page of hits has few different words
    def is_asked(word: str) -> bool:
        forms = {fold_accents(word)} if word.isascii() else {fold_accents(word), fold_accents(fold_text(word))}
        return not words.isdisjoint(forms) or any(
            form.startswith(word) for form in forms for word in words if len(word) >= MIN_MARKED_PREFIX
        )

    return lambda text: (part.span() for part in parts.finditer(text) if part["grams"] or is_asked(part[0]))


def sentence_round(raw: bytes, start: int, end: int, shown: str | None = None) -> str:
    """The sentence around a byte range of a document, as plain text on one line; a long sentence is cut.

    Args:
        raw: The document, UTF-8.
        start: Byte offset of the range.
        end: Byte offset after the range.
        shown: Markdown in place of the range; None for the range itself.
    """
    first = raw.rfind(b"\n", max(start - SENTENCE_BYTES, 0), start) + 1 or max(start - SENTENCE_BYTES, 0)
    last = raw.find(b"\n", end, end + SENTENCE_BYTES)
    # Without its indentation, by which a line of its own would be code.
    before = raw[first:start].decode("utf-8", "ignore").lstrip(" \t")
    behind = raw[end : last if last >= 0 else end + SENTENCE_BYTES].decode("utf-8", "ignore")
    if last >= 0 and _LINE_BELOW.match(raw, last):
        behind = behind.rstrip("\r").removesuffix("\\")  # a hard break
    middle = raw[start:end].decode("utf-8", "ignore") if shown is None else shown
    line = with_marks(before + middle + behind)
    codes = code_pieces(line)
    atoms = [*((code.start, code.end) for code in codes), *(atom.span() for atom in _ATOM.finditer(line))]
    ends = [
        stop.end() for stop in _SENTENCE_END.finditer(line) if not any(start < stop.end() < end for start, end in atoms)
    ]
    after = len(before) + len(middle)
    return _plain(
        line,
        codes,
        max((stop for stop in ends if stop <= len(before)), default=0),
        min((stop for stop in ends if stop >= after), default=len(line)),
    )


Occurrence = tuple[int, int, str]
"""Start, end, and the wanted word that matched."""


def _shown(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind in _BETWEEN_WORDS:
        return " "
    if kind in {"star", "line"}:
        return _MARKUP.sub(_shown, match[kind])
    if kind in {"target", "shown"}:
        return _link_text(match["target"], match["shown"] or "", embedded=match["embed"] is not None)
    return match["escaped"] or ""


_PART_OF_TARGET = re.compile(r"#(?!#|$)")
"""The beginning of a part in a link's target; a `#` at the end, or before one, belongs to a name such as `C#`."""


def _link_text(target: str, label: str, *, embedded: bool) -> str:
    """The text of a wikilink or embed; "" for a picture without a label."""
    if label.strip() and not (embedded and _SIZE.fullmatch(label)):
        return _MARKUP.sub(_shown, label)
    target = target.removesuffix("\\")  # in a table, the | is escaped
    if embedded and _MEDIA.fullmatch(target):
        return ""
    parts = (part.strip() for part in _PART_OF_TARGET.split(target))
    return " > ".join(part for part in parts if part and not part.startswith("^"))


def _signified(sign: re.Match[str]) -> str:
    return sign["high"] or sign["struck"] or sign["url"] or ""


def _places(text: str, terms: HighlightTerms, most: int | None = None) -> list[Occurrence]:
    """Occurrences of the wanted words, word by word. The folded text is searched only if the text itself has none.

    Args:
        text: The text to search.
        terms: The words.
        most: Maximum number of occurrences; None for all.
    """
    lower = text.lower()
    occurrences = _places_in(lower if len(lower) == len(text) else text, text, terms, most)
    return occurrences if occurrences or text.isascii() else _places_in(flat_text(text), text, terms, most)


def _places_in(folded: str, text: str, terms: HighlightTerms, most: int | None) -> list[Occurrence]:
    places: list[Occurrence] = []
    for beginning, forms in terms.words.items():
        at = folded.find(beginning)
        if at >= 0:
            places += _places_of(folded, text, at, beginning, forms, terms.fold)
            if most is not None and len(places) >= most:
                return places
    for gram in terms.grams:
        at, count = folded.find(gram), 0
        while at >= 0 and count < MAX_OCCURRENCES:
            places.append((at, at + len(gram), gram))
            count += 1
            at = folded.find(gram, at + 1)
    return places


def _places_of(
    folded: str, text: str, at: int, beginning: str, forms: frozenset[str], fold: Callable[[str], str]
) -> list[Occurrence]:
    """Occurrences of the forms of one word. `at` is the first candidate."""
    places: list[Occurrence] = []
    plain, length = beginning.isascii(), len(beginning)
    while at >= 0 and len(places) < MAX_OCCURRENCES:
        start = at if plain else _start_of_word(folded, at)
        if start < at or begins_word(folded, at):
            match = _WORD_END.match(folded, at + length)
            end = match.end() if match else at + length
            word = folded[start:end]
            if (
                word in forms
                or name_before_number(word) in forms
                or (not word.isascii() and fold(text[start:end]) in forms)
            ):
                places.append((start, end, beginning))
        at = folded.find(beginning, at + 1)
    return places


def _start_of_word(text: str, at: int) -> int:
    """Possible start of a word before `at`, because an article may be joined to the word."""
    start = at
    while at - start < MAX_ARTICLE_CHARS and not begins_word(text, start):
        start -= 1
    return start


class _Flat(dict[int, str]):
    """Maps each letter to one lower-case letter without accents, so that offsets remain valid."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        bare = "".join(c for c in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(c)).lower()
        self[code] = bare if len(bare) == 1 else letter
        return self[code]


_FLAT = _Flat()


def flat_text(text: str) -> str:
    """The text in lower case without accents, of the same length, so that offsets remain valid."""
    return text.translate(_FLAT)


def _by_worth(places: list[Occurrence], limit: int) -> Iterator[Occurrence]:
    """The best occurrences: those with most different wanted words within a snippet's length after them."""
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
    best = min(worth)  # usually the first one is used, so the rest is sorted only on demand
    yield best[2]
    worth.remove(best)
    worth.sort()
    yield from (place for _, _, place in worth[: MAX_TRIED - 1])


def _neighbourhood(source: str, place: Occurrence, limit: int) -> tuple[int, int]:
    """The range of the source to strip, with room for markup; it begins at the start of the line if possible."""
    end = _outside(source, min(place[1] + 3 * limit, len(source)), forward=True)
    earliest = place[0] - 2 * limit
    if earliest <= 0:
        return 0, end
    line = source.rfind("\n", earliest, place[0]) + 1
    return line or _outside(source, source.find(" ", earliest, place[0]) + 1 or earliest, forward=False), end


def _outside(source: str, at: int, *, forward: bool) -> int:
    """The offset itself, or, if it is inside of a link or tag, the end of this, or its start."""
    for atom in _ATOM.finditer(source, max(at - MAX_ATOM_CHARS, 0), at + MAX_ATOM_CHARS):
        if atom.start() >= at:
            break
        if atom.end() > at:
            return atom.end() if forward else atom.start()
    return at


def _cut(text: str, place: Occurrence | None, limit: int, *, cut_before: bool, cut_behind: bool) -> str:
    """A part of a text of at most `limit` characters around an occurrence, cut between words if possible."""
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
