"""Parsing of Markdown to events of pulldown-cmark, with the extensions that pages support."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from pyromark import Markdown, Options

from commonplace.domain.documents import Link, LinkKind, gc_disabled
from commonplace.domain.markdown.link_syntax import read_html_links, read_link
from commonplace.domain.markdown.structure import OPTIONS, LinkEvent, bounded, events_with_range
from commonplace.faces.web.markup.sanitizer import CHECK_EVENTS, Budget, OverBudgetError

_PARSER = Markdown(options=OPTIONS | Options.ENABLE_MATH)

Event = dict[str, Any] | str
"""An event of pyromark: a string for a break or rule, else a dictionary whose only key is the event's name."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """One piece of Markdown, parsed."""

    source: bytes
    events: Sequence[tuple[Event, int, int]]
    """Events with their byte ranges in `source`."""


@dataclass(frozen=True, slots=True)
class LinkKey:
    """Identifies equal links of a page, as they are written."""

    wiki: bool
    image: bool
    destination: str
    inside: str = ""
    """The text between the brackets of `[[a|b]]`; `<` for a link in HTML; "" for other links."""


@gc_disabled()
def parse(source: bytes, budget: Budget | None = None) -> Parsed:
    """Parse a piece of Markdown.

    Args:
        source: The piece.
        budget: Counts the events; None for a budget of its own.

    Raises:
        OverBudgetError: the piece has too many events, or needs `bounded`.
        Stopped: the client has disconnected.
    """
    budget = budget or Budget()
    text = source.decode("utf-8", "replace")
    if bounded(text) != text:
        raise OverBudgetError
    found_events = iter(cast("Iterable[tuple[Event, dict[str, int]]]", events_with_range(_PARSER, text)))
    events: list[tuple[Event, int, int]] = []
    while group := list(islice(found_events, CHECK_EVENTS)):
        budget.take(events=len(group))
        for event, span in group:
            before = events[-1][0] if events else ""
            if isinstance(event, dict) and isinstance(before, dict) and "Html" in event and "Html" in before:
                before["Html"] += event["Html"]  # the lines of one block, whose tags may have line ends
            else:
                events.append((event, span["start"], span["end"]))
    return Parsed(source, events)


def definitions(source: bytes) -> bytes:
    """The link reference definitions of a text, one per line, for rendering a part of the text on its own."""
    if b"]:" not in source:
        return b""
    link_defs = _PARSER.reference_definitions(bounded(source.decode("utf-8", "replace")))
    return b"\n".join(
        source[link_def["span"]["start"] : link_def["span"]["end"]].strip() for link_def in link_defs.values()
    )


_FOOTNOTE = re.compile(rb"\[\^([^\]\s]{1,100})\]")
_FOOTNOTE_TEXT = re.compile(rb"(?m)^\[\^([^\]\s]{1,100})\]:[^\n]*(?:\n(?: {4}|\t)[^\n]*)*")


def missing_definitions(part: bytes, whole: bytes) -> list[bytes]:
    """Definitions in `whole` that `part` needs: those of link references, and of footnotes that it refers to."""
    result: list[bytes] = []
    if b"]" not in part or b"]:" not in whole:
        return result
    links = definitions(whole)
    if links:
        result.append(links)
    matches = set(_FOOTNOTE.findall(part)) - {match[1] for match in _FOOTNOTE_TEXT.finditer(part)}
    if matches:
        result += [match[0] for match in _FOOTNOTE_TEXT.finditer(whole) if match[1] in matches]
    return result


def link_key(data: dict[str, Any], written: bytes, *, image: bool) -> LinkKey:
    """The key of a link, given the data of its event and the bytes of its range."""
    destination, kind = str(data["dest_url"]), data["link_type"]
    if isinstance(kind, str):
        # pulldown-cmark omits `mailto:` from the destination of `<ada@example.org>`.
        return LinkKey(wiki=False, image=image, destination=f"mailto:{destination}" if kind == "Email" else destination)
    piped = kind["WikiLink"]["has_pothole"]
    if image:
        return LinkKey(True, True, destination.removesuffix("\\") if piped else destination)  # in a table, | is escaped
    return LinkKey(True, False, destination, written[2:-2].decode("utf-8", "replace") if piped else "")


def html_links(html: bytes) -> Iterator[tuple[LinkKey, Link]]:
    """The links to documents and files in HTML, with their positions in it."""
    for link in read_html_links(html, 0, len(html)):
        yield LinkKey(wiki=False, image=link.kind is LinkKind.IMAGE, destination=link.raw, inside="<"), link


def written_links(parsed: Iterable[Parsed]) -> dict[LinkKey, Link]:
    """The links to documents and files in these pieces; external URLs are left out."""
    result: dict[LinkKey, Link] = {}
    for other_parsed in parsed:
        for event, _, _ in other_parsed.events:
            html = (event.get("Html") or event.get("InlineHtml")) if isinstance(event, dict) else None
            if html:
                result |= html_links(html.encode("utf-8", "replace"))
        for key in _keys(other_parsed):
            if key not in result:
                link = _link(key)
                if link is not None:
                    result[key] = link
    return result


def _keys(parsed: Parsed) -> Iterator[LinkKey]:
    for event, start, end in parsed.events:
        tag = event.get("Start") if isinstance(event, dict) else None
        if isinstance(tag, dict):
            data = cast("dict[str, dict[str, Any]]", tag)
            if "Link" in data:
                yield link_key(data["Link"], parsed.source[start:end], image=False)
            elif "Image" in data:
                yield link_key(data["Image"], b"", image=True)


def _link(key: LinkKey) -> Link | None:
    """The link as parsed for the index, but without its position."""
    kind = "WikiLink" if key.wiki else "Inline"
    source = f"[[{key.inside}]]".encode() if key.inside else b""
    event = LinkEvent(kind, key.image, key.destination, "", 0, len(source), piped=bool(source))
    return read_link(source, 0, event, dict)
