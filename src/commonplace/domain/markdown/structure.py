"""Where headings, links and code stand in a Markdown text: one pass over the events of pulldown-cmark.

The parser is linear in its input whatever that is, knows nesting without recursing, and gives byte ranges. Most events
of a text are of no interest here, so the pass has two gears: outside of headings and links it only looks for
beginnings, inside it also collects their text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypedDict, cast

from pyromark import Markdown, Options
from pyromark.event import Range

OPTIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_WIKILINKS
)
"""Front matter and heading attributes are read by rules of our own, so the parser's are off."""

_PARSER = Markdown(options=OPTIONS)

MAX_LABEL_PIECES = 64
"""Pieces of a link's text that are kept, so that a thousand nested images stay linear."""


@dataclass(slots=True)
class HeadingEvent:
    """A heading outside of every list, quote and footnote. Offsets are bytes of the scanned text."""

    level: int
    start: int
    end: int
    pieces: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Where each piece of its text begins, and the piece."""


@dataclass(slots=True)
class LinkEvent:
    """A link, image, wikilink or embed that the parser saw. Offsets are bytes of the scanned text."""

    kind: str
    """`WikiLink`, or the form of an ordinary link: `Inline`, `Reference`, `Collapsed`, `Shortcut`, `Autolink`."""
    image: bool
    destination: str
    """Without escapes and entities, but still percent-encoded."""
    reference: str
    """The label of the definition that a link by reference names, or ""."""
    start: int
    end: int
    piped: bool = False
    """Whether a wikilink has a text of its own behind a `|`."""
    label_end: int = 0
    """Where its text ends: what follows is the `](` or `][` of an ordinary link."""
    label: str = ""


@dataclass(slots=True)
class Structure:
    """What one pass found, each list in the text's order."""

    headings: list[HeadingEvent] = field(default_factory=list[HeadingEvent])
    links: list[LinkEvent] = field(default_factory=list[LinkEvent])
    opaque: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Ranges of links, code and HTML, in which a `#word` is no tag; they do not overlap."""


def scan(text: str) -> Structure:
    """Find the structure of a Markdown text without front matter."""
    found = Structure()
    _Pass(found).run(cast("Iterator[tuple[_Event, Range]]", _PARSER.events_with_range(text)))
    return found


def definition_spans(text: str) -> dict[str, tuple[int, int]]:
    """Start and end of the link reference definitions of a text, by `definition_key`."""
    found = _PARSER.reference_definitions(text)
    return {definition_key(label): (entry["span"]["start"], entry["span"]["end"]) for label, entry in found.items()}


def definition_key(label: str) -> str:
    """The form in which the labels of links by reference are compared."""
    return " ".join(label.split()).casefold()


class _LinkData(TypedDict):
    """What the parser says of a link; its own name for this is private."""

    link_type: str | Mapping[str, Mapping[str, bool]]
    dest_url: str
    id: str


class _HeadingData(TypedDict):
    level: str


class _Tag(TypedDict, total=False):
    """An element that has data: one of these keys or another; one that has none is a text."""

    Link: _LinkData
    Image: _LinkData
    Heading: _HeadingData


_TEXT: type[object] = str
"""What an event or element without data is; to compare classes costs a third of `isinstance`."""


class _Event(TypedDict, total=False):
    """An event has one of these keys or another; a line break or rule is a text, which holds none of them."""

    Text: str
    Code: str
    Start: _Tag
    End: str | Mapping[str, object]


class _Pass:
    """The state of one pass: what is open, and the text met inside it."""

    def __init__(self, found: Structure) -> None:
        self._found = found
        self._heading: HeadingEvent | None = None
        self._links: list[tuple[LinkEvent, int]] = []
        self._pieces: list[tuple[int, str]] = []
        self._container_end = 0
        self._seen = 0

    def run(self, events: Iterator[tuple[_Event, Range]]) -> None:
        """Take in all events."""
        begin = self._begin
        for event, span in events:
            # Outside of headings and links most events are passed over, by what costs least to ask.
            if "Text" in event or "End" in event:
                continue
            if "Start" in event:
                tag = event["Start"]
                if tag.__class__ is not _TEXT and begin(tag, span):
                    self._run_inside(events)
            elif event.__class__ is not _TEXT:  # no line break or rule
                self._take_opaque(event, span, inside=False)

    def _run_inside(self, events: Iterator[tuple[_Event, Range]]) -> None:
        """Take in events up to the end of the outermost heading or link that is open."""
        collect = self._pieces.append
        for event, span in events:
            if "Text" in event:
                collect((span["start"], event["Text"]))
                self._seen = span["end"]
            elif "End" in event:
                if not self._end(event["End"], span["end"]):
                    return
            elif "Start" in event:
                tag = event["Start"]
                if tag.__class__ is not _TEXT:
                    self._begin(tag, span)
            elif event.__class__ is _TEXT:  # a line break or rule
                self._collect(span, " ")
            else:
                self._take_opaque(event, span, inside=True)

    def _take_opaque(self, event: _Event, span: Range, *, inside: bool) -> None:
        """Take in code or HTML."""
        if not self._links:
            self._found.opaque.append((span["start"], span["end"]))
        if inside:
            self._collect(span, event.get("Code", ""))

    def _collect(self, span: Range, text: str) -> None:
        """Keep a text that stands inside a heading or link."""
        self._pieces.append((span["start"], text))
        self._seen = span["end"]

    def _begin(self, tag: _Tag, span: Range) -> bool:
        """Take in the beginning of an element that has data; whether its text is now collected."""
        if "Link" in tag:
            self._begin_link(tag["Link"], span, image=False)
            return True
        if "Heading" in tag:
            start = span["start"]
            if start < self._container_end:
                return False
            self._heading = HeadingEvent(int(tag["Heading"]["level"][1]), start, span["end"], self._pieces)
            return True
        if "CodeBlock" in tag:
            self._found.opaque.append((span["start"], span["end"]))
        elif "Image" in tag:
            self._begin_link(tag["Image"], span, image=True)
            return True
        elif "BlockQuote" in tag or "List" in tag or "FootnoteDefinition" in tag:
            self._container_end = max(self._container_end, span["end"])
        return False

    def _begin_link(self, data: _LinkData, span: Range, *, image: bool) -> None:
        kind, start, end = data["link_type"], span["start"], span["end"]
        if isinstance(kind, str):
            link = LinkEvent(kind, image, data["dest_url"], data["id"], start, end)
        else:
            link = LinkEvent("WikiLink", image, data["dest_url"], "", start, end, kind["WikiLink"]["has_pothole"])
        self._found.links.append(link)
        if not self._links:
            self._found.opaque.append((start, end))
        self._links.append((link, len(self._pieces)))
        self._seen = start + (2 if image else 1)

    def _end(self, tag: str | Mapping[str, object], at: int) -> bool:
        """Take in the end of an element inside a heading or link; whether the next event is inside as well."""
        if not isinstance(tag, str):
            if self._heading and "Heading" in tag:
                self._found.headings.append(self._heading)
                self._heading = None
        elif tag in {"Link", "Image"}:
            link, first = self._links.pop()
            link.label_end = self._seen
            pieces = self._pieces
            if len(pieces) == first + 1:
                link.label = pieces[first][1]
            else:
                link.label = "".join([text for _, text in pieces[first : first + MAX_LABEL_PIECES]])
        self._seen = at
        if self._links or self._heading:
            return True
        self._pieces = []
        return False
