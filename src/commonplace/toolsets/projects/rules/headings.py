"""Titles of headings as written on the heading line, so that a title round-trips."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import InvalidInputError

_OPENING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]+|$)")
_CLOSING = re.compile(r"(?:(?<=[ \t])|^)#+[ \t]*$")
_UNDERLINE = re.compile(r"\n[ ]{0,3}(?:=+|-+)[ \t]*$")
_MARKED = re.compile(r"(#{1,6})[ \t]+(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EditedDocument:
    """A document after an edit."""

    raw: bytes
    gone: tuple[str, ...] = ()
    """Titles of the subsections that the edit removed, in order."""


def title_of(document: Document, section: Section) -> str:
    """A section's heading as written, without its markers; inline markup and attributes stay."""
    source = document.encoded  # the section's offsets refer to this encoding
    line = source[section.start : section.content].decode("utf-8", "replace").replace("\r\n", "\n").strip("\n")
    if not section.atx:
        return " ".join(_UNDERLINE.sub("", line).split())
    text = _CLOSING.sub("", _OPENING.sub("", line, count=1)).strip()
    return re.sub(r"\\(#+)$", r"\1", text)


def heading_line(level: int, title: str) -> str:
    """The heading line that parses to this title."""
    # A final run of `#` after a blank would be parsed as a closing sequence.
    text = re.sub(r"((?:^|[ \t]))(#+)$", r"\1\\\2", title)
    return f"{'#' * level} {text}"


def split_header(header: str) -> tuple[int, str]:
    """Level and title of a header such as `## Title`; a title without markers is of level 2."""
    marked = _MARKED.fullmatch(header.strip())
    if marked:
        return len(marked[1]), marked[2].strip()
    return 2, header.strip()


def has_title(document: Document, section: Section, title: str) -> bool:
    """Whether `title` names this section, as written or as rendered."""
    return title in {title_of(document, section), section.heading}


def titles_between(document: Document, start: int, end: int) -> tuple[str, ...]:
    """Titles of the sections that begin in a byte range of the document, in order."""
    found = [section for section in document.sections if section.level and start <= section.start < end]
    return tuple(title_of(document, section) for section in found)


def without_hiding(
    document: Document, changed: bytes, behind: Sequence[Section], added: int = 0, what: str = "chapter"
) -> bytes:
    """The new bytes, if the sections after the change and the added one are still parsed.

    Args:
        document: The document before the change.
        changed: Its new bytes.
        behind: Sections after the change.
        added: Number of added sections.
        what: Name of a section in the error.

    Raises:
        InvalidInputError: kind "content": a section would be hidden.
    """
    again = read_document(document.address, changed)
    kept = [title_of(document, section) for section in behind]
    now = [title_of(again, section) for section in again.sections if section.level]
    before = sum(1 for section in document.sections if section.level) - len(behind)
    if now[len(now) - len(kept) :] != kept or (added and len(now) < before + added + len(kept)):
        if not behind and _hides_what_follows(document):
            raise InvalidInputError(
                f"The last {what} would hide one after it: a code fence, HTML block or comment in it is not closed",
                kind="content",
                hint=f"Close it first: update the last {what}.",
            )
        raise InvalidInputError(
            f"The content would hide a {what}: a code fence, HTML block or comment is not closed",
            kind="content",
            hint="Close it, in the content or at the end of the document.",
        )
    return changed


def _hides_what_follows(document: Document) -> bool:
    """Whether a heading after the end of a document would not be parsed as one."""
    again = read_document(document.address, document.raw + b"\n\n# End\n")
    return len(again.sections) == len(document.sections)
