"""Positions of headings, sections, links and code in a Markdown text: one pass over the events of pulldown-cmark.

The parser takes linear time for any input, handles nesting without recursion, and returns byte ranges. Most events are
irrelevant here: outside of headings and links the pass only looks for starts; inside them it also collects text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple, TypedDict, cast

from pyromark import Markdown, Options
from pyromark.event import Range

from commonplace.domain.documents import Section
from commonplace.domain.link_brackets import definition_key, with_marked_brackets, without_marks
from commonplace.domain.slugs import anchor

OPTIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_WIKILINKS
)
"""Options of the parser. Those for frontmatter and heading attributes are off, because these have their own parsers."""

_PARSER = Markdown(options=OPTIONS)

MAX_HEADINGS = 50_000
"""Maximum number of headings of a text that begin a section."""
MAX_QUOTES = 1_000
"""Maximum depth of quotes within quotes."""
_DEEP_QUOTES = re.compile(rf"(?m)^((?:[ \t]*>){{{MAX_QUOTES}}})([ \t>]*>)")
MAX_EMPTY_CELLS = 100_000
"""Maximum number of cells that the rows of a text's tables lack. The parser adds each missing cell."""
_DELIMITER_ROW = re.compile(r"^[ \t>]*[|:-][ \t\r|:-]*$", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t\r>]*(?=\n)")
MAX_LABEL_PIECES = 64
"""Maximum number of stored pieces of a link's text, so that deeply nested images take linear time."""


@dataclass(slots=True)
class HeadingEvent:
    """A heading outside of lists, quotes and footnotes, or in an outline. Offsets are bytes of the scanned text."""

    level: int
    start: int
    end: int
    pieces: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Offset and text of each piece of the heading's text."""


@dataclass(slots=True)
class LinkEvent:
    """A link, image, wikilink or embed. Offsets are bytes of the scanned text."""

    kind: str
    """`WikiLink`, or the kind of a Markdown link: `Inline`, `Reference`, `Collapsed`, `Shortcut`, `Autolink`."""
    image: bool
    destination: str
    """The destination without escapes and entities, still percent-encoded."""
    reference: str
    """The label of the definition that a reference link names; "" for none."""
    start: int
    end: int
    piped: bool = False
    """Whether a wikilink has a label after a `|`."""
    label_end: int = 0
    """End of the link's text; the `](` or `][` of a Markdown link follows."""
    label: str = ""

    @property
    def text_start(self) -> int:
        """Start of the link's text, after `[` or `![`."""
        return self.start + (2 if self.image else 1)


@dataclass(slots=True)
class Structure:
    """The results of one pass, each list in text order."""

    is_outline: bool = False
    """Whether the text is one bullet list with headings in its items."""
    headings: list[HeadingEvent] = field(default_factory=list[HeadingEvent])
    has_more_headings: bool = False
    """Whether there are more than `MAX_HEADINGS`; the rest of the text belongs to the last of these."""
    links: list[LinkEvent] = field(default_factory=list[LinkEvent])
    opaque: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Ranges of links, code and HTML, in which a `#word` is not a tag. They do not overlap."""
    html: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Ranges of HTML: single tags within a text, and whole blocks."""

    def add_html(self, start: int, end: int) -> None:
        """Add a range of HTML; the lines of one block become one range."""
        if self.html and self.html[-1][1] == start:
            start = self.html.pop()[0]
        self.html.append((start, end))


def bounded(text: str) -> str:
    """The text, of the same length, without what costs the parser far more than its bytes.

    Tables whose rows lack too many cells become paragraphs, and the marks of quotes that are nested too deeply text.
    """
    if text.count(">") > MAX_QUOTES:
        text = _DEEP_QUOTES.sub(lambda marks: marks[1] + marks[2].replace(">", "."), text)
    return _with_bounded_tables(text) if "|" in text else text


def _with_bounded_tables(text: str) -> str:
    """The text without tables whose rows lack too many cells: 9 kB can lack 260,000 cells.

    Such a table becomes a paragraph: a dash of each of its delimiter rows is replaced. Missing cells are counted before
    the text is parsed, and never too few: a table may begin in any line, and it ends at the next blank line.
    """
    parts: list[str] = []
    done = missing = 0
    for row in _DELIMITER_ROW.finditer(text):
        if row.start() < done or "|" not in row[0]:
            continue
        blank = _BLANK_LINE.search(text, row.end())
        block = text[row.start() : blank.start() if blank else len(text)]
        lacking = _missing_cells(block, MAX_EMPTY_CELLS - missing)
        if lacking > MAX_EMPTY_CELLS - missing:
            parts += [text[done : row.start()], _DELIMITER_ROW.sub(lambda row: row[0].replace("-", ".", 1), block)]
        else:
            missing += lacking
            parts.append(text[done : row.start() + len(block)])
        done = row.start() + len(block)
    return "".join([*parts, text[done:]])


def _missing_cells(block: str, limit: int) -> int:
    """Maximum number of cells that the lines of a block lack; any number over the limit if it is exceeded."""
    if block.count("\n") * (block.count("|") + 1) <= limit // 16:  # true of almost every table
        return 0
    columns = lacking = 0
    for line in block.split("\n"):
        bars = line.count("|")
        lacking += max(columns - bars, 0)
        if bars >= columns and _DELIMITER_ROW.fullmatch(line):
            columns = bars + 1
        if lacking > limit:
            break
    return lacking


def scan(text: str) -> Structure:
    """Scan a Markdown text without frontmatter. Headings in items count if the whole text is one bullet list."""
    text = bounded(text)
    structure = Structure(is_outline="- #" in text and _is_outline(text))
    _Pass(structure).run(cast("Iterator[tuple[_Event, Range]]", events_with_range(_PARSER, text)))
    return structure


def events_with_range(parser: Markdown, text: str) -> Iterator[object]:
    """The parser's events of a bounded text, in which `[[1]](page.md)` is a link with the text `[1]`, as in CommonMark.

    For the parser alone it would be a wikilink to `1`.
    """
    marked = with_marks(text)
    events = iter(parser.events_with_range(marked))
    return events if marked is text else map(_without_marks, events)


def with_marks(text: str) -> str:
    """A bounded text, of the same length, with marks instead of the brackets around the texts of Markdown's links."""
    labels = link_definitions(text) if "]][" in text and "]:" in text else ()
    return with_marked_brackets(text, labels)


def _without_marks(value: object) -> object:
    """An event with brackets in place of the marks."""
    if isinstance(value, str):
        return without_marks(value)
    if isinstance(value, dict):
        return {key: _without_marks(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, tuple):
        return tuple(map(_without_marks, cast("tuple[object, ...]", value)))
    return value


_BULLET_HEADING = re.compile(r"(?m)^[ \t]*- #{1,6} ")
_OUTLINE_LINE = re.compile(r"- |-$|[ \t]")
"""Beginning of each line of a page that is one bullet list."""


def _is_outline(text: str) -> bool:
    """Whether a text is one bullet list, as outliners such as Logseq write pages, with headings in its items."""
    lines = list(filter(str.strip, text.splitlines()))
    return len(lines) > 1 and bool(_BULLET_HEADING.search(text)) and all(map(_OUTLINE_LINE.match, lines))


class UnclosedBlock(NamedTuple):
    """A block that only the end of the text closes."""

    name: str
    """Name of its kind, for messages."""
    start: int
    """Offset of its first line in bytes."""
    content: int
    """Offset behind its first line."""


def unclosed_block(source: bytes, structure: Structure) -> UnclosedBlock | None:
    """The code fence or HTML comment that contains the end of a text because nothing closes it; None without one.

    Args:
        source: The text without frontmatter, in UTF-8.
        structure: Its structure.
    """
    if not structure.opaque or source[structure.opaque[-1][1] :].strip():
        return None
    start, end = structure.opaque[-1]
    if structure.html and structure.html[-1][1] == end:  # HTML, whose lines may look like fences
        return _unclosed_comment(source, structure.html[-1][0])
    text = source[start:end].rstrip()
    if fence := _FENCE.match(text):
        first, _, last = text.rpartition(b"\n")
        mark, closing = fence[1], last.strip(b" \t>")
        if first and len(closing) >= len(mark) and not closing.strip(mark[:1]):
            return None
        return UnclosedBlock("code fence", start, _line_end(source, start))
    return None


def _unclosed_comment(source: bytes, start: int) -> UnclosedBlock | None:
    """The comment at the beginning of a line that nothing closes, in HTML from an offset to the end of the text."""
    comment = source.find(b"<!--", max(start, source.rfind(b"-->", start)))
    if comment < 0 or source[:comment].rpartition(b"\n")[2].strip():
        return None
    return UnclosedBlock("HTML comment", comment, _line_end(source, comment))


def _line_end(source: bytes, at: int) -> int:
    """Offset behind the line that contains an offset."""
    end = source.find(b"\n", at)
    return end + 1 if end >= 0 else len(source)


_FENCE = re.compile(rb"(`{3,}(?![^`\n]*`)|~{3,})")
"""The beginning of fenced code. That of a code span has another backtick in its line."""


class LinkDefinition(NamedTuple):
    """A link reference definition: `[label]: destination`."""

    start: int
    end: int
    destination: str
    """The destination without escapes and entities, still percent-encoded."""


def link_definitions(text: str) -> dict[str, LinkDefinition]:
    """The link reference definitions of a text by `definition_key`, in text order."""
    link_defs = _PARSER.reference_definitions(bounded(text)).items()
    every = [
        (key, LinkDefinition(link_def["span"]["start"], link_def["span"]["end"], link_def["dest"]))
        for key, link_def in link_defs
    ]
    return {definition_key(label): definition for label, definition in sorted(every, key=itemgetter(1))}


class _LinkData(TypedDict):
    """The parser's data of a link. The parser's own type for it is private."""

    link_type: str | Mapping[str, Mapping[str, bool]]
    dest_url: str
    id: str


class _HeadingData(TypedDict):
    level: str


class _Tag(TypedDict):
    """An element with data: a dict with exactly one of these keys. An element without data is a str."""

    Link: _LinkData
    Image: _LinkData
    Heading: _HeadingData


_TEXT: type[object] = str
"""Class of events and elements without data; comparing classes costs a third of `isinstance`."""


class _Event(TypedDict, total=False):
    """A dict with one of these keys, or a str for a line break or rule, which contains none of them."""

    Text: str
    Code: str
    Html: str
    InlineHtml: str
    Start: _Tag
    End: str | Mapping[str, object]


_Events = Iterator[tuple[_Event, Range]]


class _Pass:
    """State of one pass: the results, and the offset up to which headings do not count, except in an outline."""

    def __init__(self, structure: Structure) -> None:
        self._found = structure
        self._container_end = 0

    def run(self, events: _Events) -> None:
        """Process all events."""
        begin, hide = self._begin, self._found.opaque.append
        for event, span in events:
            # Outside of headings and links most events are skipped, with the cheapest test first.
            if "Text" in event or "End" in event:
                continue
            if "Start" in event:
                tag = event["Start"]
                if tag.__class__ is not _TEXT:
                    begin(tag, span, events)
            elif event.__class__ is not _TEXT:  # code or HTML; not a line break or rule
                hide((span["start"], span["end"]))
                if "Html" in event or "InlineHtml" in event:
                    self._found.add_html(span["start"], span["end"])

    def _begin(self, tag: _Tag, span: Range, events: _Events) -> None:
        """Process the start of an element with data; if it is a heading or link, process it completely."""
        start, end = span["start"], span["end"]
        if "Link" in tag or "Image" in tag:
            self._found.opaque.append((start, end))
            self._run_inside(events, [(self._link(tag, start, end), 0)], in_heading=False)
        elif "Heading" in tag:
            if len(self._found.headings) >= MAX_HEADINGS:
                self._found.has_more_headings = True
            elif start >= self._container_end:
                level = int(tag["Heading"]["level"][1])
                pieces = self._run_inside(events, [], in_heading=True)
                self._found.headings.append(HeadingEvent(level, start, end, pieces))
        elif "CodeBlock" in tag:
            self._found.opaque.append((start, end))
        elif "BlockQuote" in tag or "List" in tag or "FootnoteDefinition" in tag:
            self._hide_headings(end)

    def _hide_headings(self, end: int) -> None:
        """Let no heading before an offset count, unless the text is an outline."""
        self._container_end = self._container_end if self._found.is_outline else max(self._container_end, end)

    def _run_inside(
        self, events: _Events, links: list[tuple[LinkEvent, int]], *, in_heading: bool
    ) -> list[tuple[int, str]]:
        """Process events up to the end of the outermost open heading or link; return the pieces of its text.

        Args:
            events: The remaining events.
            links: The open links, outermost first, each with the number of pieces before its own.
            in_heading: Whether the links are inside an open heading.
        """
        pieces: list[tuple[int, str]] = []
        seen = links[0][0].text_start if links else 0
        for event, span in events:
            if "Text" in event:
                pieces.append((span["start"], event["Text"]))
            elif "End" in event:
                tag = event["End"]
                if tag.__class__ is not _TEXT:  # within a heading, only its own end has data
                    break
                if tag in _LINKS:
                    _close(*links.pop(), pieces, seen)
                    if not links and not in_heading:
                        break
            elif "Start" in event:
                if event["Start"].__class__ is not _TEXT:
                    seen = self._begin_inside(event["Start"], span, links, len(pieces))
                continue
            else:
                self._take_other(event, span, pieces, hidden=not links)
            seen = span["end"]
        return pieces

    def _begin_inside(self, tag: _Tag, span: Range, links: list[tuple[LinkEvent, int]], pieces: int) -> int:
        """Process the start of a link inside a heading or link; return the offset of its text."""
        if not links:
            self._found.opaque.append((span["start"], span["end"]))
        link = self._link(tag, span["start"], span["end"])
        links.append((link, pieces))
        return link.text_start

    def _take_other(self, event: _Event, span: Range, pieces: list[tuple[int, str]], *, hidden: bool) -> None:
        """Process a line break, code or HTML inside a heading or link."""
        if event.__class__ is _TEXT:
            pieces.append((span["start"], " "))
            return
        if hidden:
            self._found.opaque.append((span["start"], span["end"]))
        if "InlineHtml" in event:
            self._found.add_html(span["start"], span["end"])
        pieces.append((span["start"], event.get("Code", "")))

    def _link(self, tag: _Tag, start: int, end: int) -> LinkEvent:
        """Add the link that a tag starts; its text is not known yet."""
        image = "Image" in tag
        data = tag["Image"] if image else tag["Link"]
        kind = data["link_type"]
        if isinstance(kind, str):
            link = LinkEvent(kind, image, data["dest_url"], data["id"], start, end)
        else:
            link = LinkEvent("WikiLink", image, data["dest_url"], "", start, end, kind["WikiLink"]["has_pothole"])
        self._found.links.append(link)
        return link


_LINKS = frozenset({"Link", "Image"})


def _close(link: LinkEvent, first: int, pieces: list[tuple[int, str]], seen: int) -> None:
    """Set a link's text: the pieces from `first` on."""
    link.label_end = seen
    if len(pieces) == first + 1:
        link.label = pieces[first][1]
    else:
        link.label = "".join([text for _, text in pieces[first : first + MAX_LABEL_PIECES]])


# Derives the sections of a document from its headings. Sections cover the whole body.


# Atomic and possessive, so that no text causes backtracking.
_WORD = r"""(?>\#[^\s{}\\]+|\.[^\s{}\\]+|[\w:][\w:.\-]*=(?:"[^"{}]*"|'[^'{}]*'|[^\s"'{}\\]*))"""
_ATTRIBUTES = re.compile(rf":?\s*+{_WORD}(?>(?:\s++{_WORD})*)\s*+")
ATTRIBUTE_LINE = re.compile(rb" {0,3}\{(:[^{}\r\n]*+)\}[ \t]*(?:\r?\n|\Z)")
"""Attributes in kramdown's form on a line of their own below a heading: `{: #id}`."""
_BLANK = ord(" ")
_HASH = ord("#")
_KEY = re.compile(r"(?<!\S)\#([^\s{}\\]+)")


def read_sections(source: bytes, base: int, headings: Sequence[HeadingEvent]) -> tuple[Section, ...]:
    """The sections of a document, including the section before the first heading.

    Args:
        source: The whole document.
        base: Offset of the body; the offsets of the headings are relative to it.
        headings: The headings of the body, in order.
    """
    end = len(source)
    starts = [_line_start(source, base + heading.start) for heading in headings]
    tree_ends = _tree_ends([heading.level for heading in headings], starts, end)
    ends = [*starts, end]
    sections = [Section(0, 0, "", (), "", "", base, base, ends[0], end, atx=False)]
    path: list[str] = []
    levels: list[int] = []
    anchors: dict[str, int] = {}
    for index, heading in enumerate(headings):
        text, attributes = _text_and_attributes(source, base, heading)
        content = base + heading.end
        below = None if attributes else ATTRIBUTE_LINE.match(source, content)
        if below and _ATTRIBUTES.fullmatch(below[1].decode("utf-8", "replace")):
            attributes, content = below[1].decode("utf-8", "replace").strip(), below.end()
        while levels and levels[-1] >= heading.level:
            levels.pop()
            path.pop()
        levels.append(heading.level)
        path.append(text)
        sections.append(
            Section(
                index + 1,
                heading.level,
                text,
                tuple(path),
                _unique(_own_anchor(text, attributes), anchors),
                attributes,
                starts[index],
                content,
                ends[index + 1],
                tree_ends[index],
                source[base + heading.start] == _HASH,
            )
        )
    return tuple(sections)


def _line_start(source: bytes, at: int) -> int:
    """Start of a heading's line, which may be indented by up to three blanks, or be the item of an outline."""
    while at and source[at - 1] == _BLANK:
        at -= 1
    return source.rfind(b"\n", 0, at) + 1 if source[at - 1 : at] == b"-" else at


def _tree_ends(levels: Sequence[int], starts: Sequence[int], end: int) -> list[int]:
    """Start of the next heading of the same or a higher rank, for each heading."""
    ends = [end] * len(levels)
    waiting: list[int] = []
    for index, level in enumerate(levels):
        while waiting and levels[waiting[-1]] >= level:
            ends[waiting.pop()] = starts[index]
        waiting.append(index)
    return ends


def _text_and_attributes(source: bytes, base: int, heading: HeadingEvent) -> tuple[str, str]:
    pieces = heading.pieces
    text = pieces[0][1] if len(pieces) == 1 else "".join([piece for _, piece in pieces])
    if "}" not in text:
        return " ".join(text.split()), ""
    brace, attributes = (
        heading_attributes(source, base + heading.start, base + heading.end) if text.rstrip().endswith("}") else (0, "")
    )
    if attributes:
        text = "".join([_before(brace - base - at, piece) for at, piece in pieces if base + at < brace])
    return " ".join(text.split()), attributes


def heading_attributes(source: bytes, start: int, end: int) -> tuple[int, str]:
    """Offset of `{#key a=b}` at the end of a heading `[start, end)`, and the text between the braces; "" for none."""
    close = source.rfind(b"}", start, end)
    brace = source.rfind(b"{", start, max(close, start))
    attributes = source[brace + 1 : close].decode("utf-8", "replace").strip()
    alone = brace >= 0 and source[brace - 1 : brace] in b" \t\r\n" and not source[close + 1 : end].strip(b" \t\r\n#=-")
    return (brace, attributes) if alone and _ATTRIBUTES.fullmatch(attributes) else (0, "")


def _before(count: int, piece: str) -> str:
    return piece if len(piece) * 4 <= count else piece.encode()[:count].decode("utf-8", "ignore")


def _own_anchor(text: str, attributes: str) -> str:
    key = _KEY.search(attributes) if attributes else None
    return key[1] if key else anchor(text) or "section"


def _unique(name: str, seen: dict[str, int]) -> str:
    """The name with the first number that makes it unique. Counts are cached, so that many repetitions are cheap."""
    result = name
    while result in seen:
        seen[name] += 1
        result = f"{name}-{seen[name]}"
    seen[result] = 0
    return result


# `#tags` in a body, by Obsidian's rules: any script, nested by `/`, not only digits, not in code or links.


# The mark must follow nothing, a blank or an opening bracket. \x80 may end an ideographic space, which is checked
# afterwards.
_CANDIDATE = re.compile(rb"#(?<![^\s(|>*\x80]#)([^\x00-\x20!-,.:-@\[-^`{-~\x7f]++)")
_END = re.compile(
    r"[\s\u0080-\u00bf\u2000-\u200b\u200e-\u206f\u3000-\u303f\ufe30-\ufe4f\uff00-\uff0f\uff1a-\uff20\ufffd]"
)
_WIDE_BLANK = "\u3000".encode()


def body_tags(
    body: bytes, hidden: Sequence[tuple[int, int]], definitions: Callable[[], Iterable[tuple[int, int]]]
) -> Iterator[str]:
    """The tags of a body in order, duplicates included, without `#`.

    Args:
        body: The text after the frontmatter.
        hidden: Ranges without tags (code, links), not overlapping.
        definitions: Returns the ranges of link reference definitions; called only if there may be tags.
    """
    candidates = _outside(list(_CANDIDATE.finditer(body)), hidden)
    # Definitions are only parsed if there are candidates, because this costs more than all other steps.
    for match in _outside(candidates, definitions()) if candidates else ():
        at = match.start()
        if body[at - 1 : at] == b"\x80" and not body.endswith(_WIDE_BLANK, 0, at):
            continue
        if body.endswith(b"](", 0, at):  # a link's target, where a table's `|` or an escape hides the link
            continue
        tag = _END.split(match[1].decode("utf-8", "replace"), maxsplit=1)[0].strip("/")
        if not all(c.isdigit() or c in "/-_" for c in tag):
            yield tag


def _outside(candidates: list[re.Match[bytes]], hidden: Iterable[tuple[int, int]]) -> list[re.Match[bytes]]:
    """The candidates that begin outside of these ranges, which do not overlap."""
    if not candidates:
        return []
    ranges = sorted(hidden)
    starts = [start for start, _ in ranges]
    befores = [bisect_right(starts, match.start()) - 1 for match in candidates]
    return [
        match
        for match, before in zip(candidates, befores, strict=True)
        if before < 0 or match.start() >= ranges[before][1]
    ]
