"""Derives the sections of a document from its headings. Sections cover the whole body."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.domain.documents import Section
from commonplace.domain.markdown.structure import HeadingEvent
from commonplace.domain.slugs import anchor

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
