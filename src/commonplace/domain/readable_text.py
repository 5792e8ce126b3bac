"""Readable text of a document without markup, and the sentence around a link."""

from __future__ import annotations

import re

from pyromark import Markdown
from pyromark.event import BrokenLink

from commonplace.domain.documents import Document, Span
from commonplace.domain.markdown.structure import OPTIONS

SENTENCE_CHARS = 200

_REACH = 600
"""Bytes on either side of a position in which its sentence is searched."""

_END_OF: dict[str, str] = {
    "TableCell": " ",
    **dict.fromkeys(
        ("Paragraph", "Item", "TableRow", "TableHead", "CodeBlock", "HtmlBlock", "FootnoteDefinition"), "\n"
    ),
}
"""Text after an element, unless it is empty; lists, quotes and headings also end a line."""

_TAGS = re.compile(r"<!--.*?(?:-->|\Z)|<[^<>]*>", re.DOTALL)
_BLOCK_EDGE = re.compile(
    rb"\n[ \t>]*\r?\n|\n[ \t>]*(?=(?:[-*+]|[0-9]{1,9}[.)])[ \t]|#{1,6}[ \t]|\||```|~~~)|^[ \t]*\[\^"
)
_SENTENCE_EDGE = re.compile("(?<=[.!?\u2026])([\"'\u201d\u2019)\\]]*)\\s+(?![a-z])|(?<=[\u3002\uff01\uff1f])")
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
"""Noncharacters that mark a position in a text while its markup is removed."""


def source_bytes(document: Document) -> bytes:
    """The bytes that a document's offsets refer to: its own, or those of its text if it is not UTF-8."""
    return document.source


def plain_text(document: Document, start: int, end: int) -> str:
    """The readable text of a range of the body, one line per paragraph, item, row and line of code.

    Args:
        document: The document.
        start: Byte offset, best at the beginning of a line.
        end: Byte offset after the range.
    """
    source = source_bytes(document)
    start = max(start, document.body_start)
    pieces: list[bytes] = []
    for section in document.sections:
        if section.attributes and start <= section.start and section.content <= end:
            brace = source.rfind(b"{", section.start, section.content)
            pieces.append(source[start:brace])
            start = source.find(b"}", brace) + 1
    pieces.append(source[start:end])
    return _without_markup(b"".join(pieces).decode("utf-8", "ignore"))


def sentence_around(document: Document, span: Span, limit: int = SENTENCE_CHARS) -> str:
    """The sentence around a span, as one line of at most `limit` characters; "" for an empty span."""
    if span.start >= span.end:
        return ""
    source = source_bytes(document)
    before = source[max(span.start - _REACH, document.body_start) : span.start]
    after = source[span.end : span.end + _REACH]
    edges = [edge.end() for edge in _BLOCK_EDGE.finditer(before)]
    edge = _BLOCK_EDGE.search(after)
    parts = (
        before[edges[-1] if edges else 0 :],
        source[span.start : span.end],
        after[: edge.start() if edge else None],
    )
    head, place, tail = (part.decode("utf-8", "ignore").replace(_OPEN, "").replace(_CLOSE, "") for part in parts)
    text = _without_markup(f"{head}{_OPEN}{place}{_CLOSE}{tail}")
    first = text.rfind("\n", 0, max(text.find(_OPEN), 0)) + 1
    last = text.find("\n", max(text.find(_CLOSE), 0))
    line = " ".join(text[first : last if last >= 0 else None].split())
    return _sentence(line.strip("| "), limit)


def _sentence(text: str, limit: int) -> str:
    """The sentence around the marks, without the marks."""
    start, end = text.find(_OPEN), text.find(_CLOSE)
    text = text.replace(_OPEN, "").replace(_CLOSE, "")
    if start < 0 or end < 0:
        start, end = 0, 1
    edges = [(max(edge.start(), edge.end(1)), edge.end()) for edge in _SENTENCE_EDGE.finditer(text)]
    first = max((stop for _, stop in edges if stop <= start), default=0)
    last = min((begin for begin, _ in edges if begin >= end - 1), default=len(text))
    return _clipped(text[first:last].strip(), start - first, limit)


def _clipped(text: str, at: int, limit: int) -> str:
    """At most `limit` characters of a line, including those around `at`; cut between words if possible."""
    if len(text) <= limit:
        return text
    start = max(0, min(at - limit // 3, len(text) - limit))
    if start:
        start = text.find(" ", start, start + 20) + 1 or start
    room = limit - (2 if start else 1)
    end = min(start + room, len(text))
    if end < len(text):
        blank = text.rfind(" ", end - 20, end)
        end = blank if blank > at else end
    return f"{'…' if start else ''}{text[start:end].strip()}{'…' if end < len(text) else ''}"


def _known(link: BrokenLink) -> tuple[str, str] | None:
    """Definitions are outside of most ranges: `[text][label]` is treated as a link, `[text]` is not."""
    return None if str(link["link_type"]).startswith("Shortcut") else ("", "")


_READER = Markdown(options=OPTIONS, broken_link_callback=_known)


def _without_markup(text: str) -> str:
    parts: list[str] = []
    html: list[str] = []
    for event in _READER.events(text):
        if isinstance(event, str):
            parts.append(" " if event == "SoftBreak" else "\n")
        elif "Text" in event:
            parts.append(event["Text"])
        elif "Code" in event:
            parts.append(event["Code"])
        elif "Html" in event:
            html.append(event["Html"])
        elif "Start" in event:
            parts.append("\n" if "List" in event["Start"] else "")
        elif "InlineHtml" in event and event["InlineHtml"].startswith("<br"):
            parts.append(" ")
        elif "End" in event:
            if html:
                parts.append(_TAGS.sub(" ", "".join(html)))
                html = []
            parts.append(_END_OF.get(event["End"], "") if isinstance(event["End"], str) else "\n")
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join([line for line in lines if line])
