"""Appended text: where it goes in a section or document, and in which form."""

from __future__ import annotations

import re

from commonplace.domain import edits
from commonplace.domain.documents import Document, Section
from commonplace.domain.graphs import block_around
from commonplace.domain.markdown.wikitext import TIDDLER_SUFFIX
from commonplace.domain.status import history_of, kept_texts

_DEFINITION = re.compile(rb" {0,3}\[(\^)?[^\[\]\r\n]+\]:")
_INDENTED = (b"    ", b"\t")
_MARKER = re.compile(rb" {0,3}(?:[#>|<=-]|[*+][ \t]|`{3}|~{3}|\$\$|\d{1,9}[.)][ \t])")
"""The beginning of a line that does not continue the paragraph above it."""


def append_text(document: Document, section: Section | None, text: str) -> bytes:
    """Append text to a section's own text, or to the whole document; see `edits.insert_text`.

    Raises:
        InvalidInputError: as of `edits.insert_text`.
    """
    at = text_end(document, *own_range(document, section), text)
    return edits.insert_text(document, at, edits.as_blocks(document, section, text))


def is_outline(document: Document) -> bool:
    """Whether a text is one list of blocks, as Logseq writes pages."""
    first = document.raw[document.body_start :].lstrip(b"\r\n")
    headings = (document.raw[section.start : section.content] for section in document.sections if section.level)
    return bool(edits.ITEM.match(first)) and (document.is_blocks or any(map(edits.ITEM.match, headings)))


def own_range(document: Document, section: Section | None) -> tuple[int, int]:
    """Byte range of a section's own text, or of the whole body without a section."""
    if section is None:
        return document.body_start, len(document.raw)
    if edits.ITEM.match(document.raw[section.start : section.content]):
        # What is indented below it, and not its siblings.
        return section.content, min(section.end, block_around(document.raw, section.start)[1])
    return section.content, section.end


def text_end(document: Document, start: int, end: int, text: str) -> int:
    """The offset at which a text is added to a range.

    The section at the end of a document in which superseded texts are kept, and the definitions of footnotes and links
    at the end, remain its end: other text goes above them. Logseq and TiddlyWiki write no definitions there.

    Args:
        document: The document.
        start: Start of the range.
        end: End of the range.
        text: The added text, which goes below the definitions if it begins with one.
    """
    is_markdown = not document.is_blocks and not document.address.path.endswith(TIDDLER_SUFFIX)
    if end < len(document.raw) or not is_markdown:
        return end
    end = _kept_texts_start(document, start)
    if _DEFINITION.match(edits.utf8(text).lstrip(b"\r\n")):
        return end
    return definitions_start(document.raw[:end], start)


def _kept_texts_start(document: Document, start: int) -> int:
    """The start of the section at the document's end that keeps superseded texts; the end if there is none."""
    history = history_of(document)
    is_last = history is not None and start <= history.start and history.tree_end == len(document.raw)
    return history.start if history and is_last and kept_texts(document, history) else len(document.raw)


def definitions_start(raw: bytes, start: int) -> int:
    """The offset behind `start` from which on there are only definitions; the end if there are none."""
    first, at, is_below_blank = len(raw), start, True
    for line in raw[start:].splitlines(keepends=True):
        definition = _DEFINITION.match(line)
        if definition and (definition[1] or is_below_blank):
            first = min(first, at)
        elif line.strip() and not line.startswith(_INDENTED) and (is_below_blank or _MARKER.match(line)):
            first = len(raw)
        is_below_blank = not line.strip()
        at += len(line)
    return first
