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

    @property
    def text_start(self) -> int:
        """Where its text begins: behind `[` or `![`."""
        return self.start + (2 if self.image else 1)


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


class _Tag(TypedDict):
    """An element that has data: one of these keys or another, never several; one that has none is a text."""

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


_Events = Iterator[tuple[_Event, Range]]


class _Pass:
    """The state of one pass: what was found, and up to where no heading counts."""

    def __init__(self, found: Structure) -> None:
        self._found = found
        self._container_end = 0

    def run(self, events: _Events) -> None:
        """Take in all events."""
        begin, hide = self._begin, self._found.opaque.append
        for event, span in events:
            # Outside of headings and links most events are passed over, by what costs least to ask.
            if "Text" in event or "End" in event:
                continue
            if "Start" in event:
                tag = event["Start"]
                if tag.__class__ is not _TEXT:
                    begin(tag, span, events)
            elif event.__class__ is not _TEXT:  # code or HTML, no line break or rule
                hide((span["start"], span["end"]))

    def _begin(self, tag: _Tag, span: Range, events: _Events) -> None:
        """Take in the beginning of an element that has data, and all of a heading or link."""
        start, end = span["start"], span["end"]
        if "Link" in tag or "Image" in tag:
            self._found.opaque.append((start, end))
            self._run_inside(events, [(self._link(tag, start, end), 0)], in_heading=False)
        elif "Heading" in tag:
            if start >= self._container_end:
                level = int(tag["Heading"]["level"][1])
                pieces = self._run_inside(events, [], in_heading=True)
                self._found.headings.append(HeadingEvent(level, start, end, pieces))
        elif "CodeBlock" in tag:
            self._found.opaque.append((start, end))
        elif "BlockQuote" in tag or "List" in tag or "FootnoteDefinition" in tag:
            self._container_end = max(self._container_end, end)

    def _run_inside(
        self, events: _Events, links: list[tuple[LinkEvent, int]], *, in_heading: bool
    ) -> list[tuple[int, str]]:
        """Take in events up to the end of the outermost heading or link that is open; the pieces of text met.

        Args:
            events: What is still to come.
            links: Those that are open, outermost first, each with the number of pieces that came before its own.
            in_heading: Whether a heading is open round them.
        """
        pieces: list[tuple[int, str]] = []
        seen = links[0][0].text_start if links else 0
        for event, span in events:
            if "Text" in event:
                pieces.append((span["start"], event["Text"]))
            elif "End" in event:
                tag = event["End"]
                if tag.__class__ is not _TEXT:  # within a heading only its own end has data
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
        """Take in the beginning of a link inside a heading or link; where its text begins."""
        if not links:
            self._found.opaque.append((span["start"], span["end"]))
        link = self._link(tag, span["start"], span["end"])
        links.append((link, pieces))
        return link.text_start

    def _take_other(self, event: _Event, span: Range, pieces: list[tuple[int, str]], *, hidden: bool) -> None:
        """Take in a line break, code or HTML inside a heading or link."""
        if event.__class__ is _TEXT:
            pieces.append((span["start"], " "))
            return
        if hidden:
            self._found.opaque.append((span["start"], span["end"]))
        pieces.append((span["start"], event.get("Code", "")))

    def _link(self, tag: _Tag, start: int, end: int) -> LinkEvent:
        """The link that begins with a tag, its text still to come."""
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
    """Give a link its text: the pieces from the first of its own on."""
    link.label_end = seen
    if len(pieces) == first + 1:
        link.label = pieces[first][1]
    else:
        link.label = "".join([text for _, text in pieces[first : first + MAX_LABEL_PIECES]])
