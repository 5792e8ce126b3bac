"""Reads a document: whole, a section, its outline, a range of lines, or an old version."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.addresses import Address, parse_document_address
from commonplace.domain.changes import Revision
from commonplace.domain.document_reader import find_fragment, find_section, read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection


@dataclass(frozen=True, slots=True)
class TextPassage:
    """A part of a document, and its position."""

    document: Document
    revision: Revision
    text: str
    """The Markdown as in the file."""
    section: Section | None = None
    """The section, if the part is a section; otherwise None."""
    first_line: int = 1
    """1-based number of the part's first line in the file."""


def whole(collection: Collection, address: Address, *, at: str = "") -> TextPassage:
    """The document with its frontmatter, now or at a revision.

    Args:
        collection: Collection of the document.
        address: Address of the document.
        at: A commit or blob id (a unique prefix of 7 or more hex digits); "" for the current file.

    Raises:
        NotFoundError: no such document, or not at that revision.
        InvalidInputError: `at` is not a revision.
    """
    document = document_at(collection, address, at)
    return TextPassage(document, revision_of(document.raw), document.text)


def section(collection: Collection, address: Address, heading: str, *, at: str = "") -> TextPassage:
    """The section under a heading, with its subsections.

    Args:
        collection: Collection of the document.
        address: Address of the document.
        heading: The heading's text, a path of headings (`Setup > Linux`), or an anchor.
        at: A revision as in `whole`.

    Raises:
        NotFoundError: no such section; context holds `nearest`.
    """
    document = document_at(collection, address, at)
    found_section = find_section(document, [part.strip() for part in heading.split(" > ")])
    return _passage(document, found_section.start, found_section.tree_end, found_section)


def fragment(collection: Collection, address: Address, name: str, *, at: str = "") -> TextPassage:
    """The part of a document that a link's fragment names: `Heading`, `Heading#Sub`, an anchor, or `^block`.

    Raises:
        NotFoundError: the document has no such part; context holds `nearest`.
    """
    document = document_at(collection, address, at)
    start, end, found_section = find_fragment(document, name)
    return _passage(document, start, end, found_section)


def outline(collection: Collection, address: Address) -> tuple[Section, ...]:
    """The headings of a document in order, without the section before the first heading."""
    return tuple(s for s in collection.index.document(address).sections if s.level)


def lines(collection: Collection, address: Address, first: int, last: int) -> TextPassage:
    """A range of lines of the file.

    Args:
        collection: Collection of the document.
        address: Address of the document.
        first: Number of the first line, from 1.
        last: Number of the last line; a number past the end means the end.

    Raises:
        InvalidInputError: the range is empty or begins past the end.
    """
    document = collection.index.document(address)
    # Bytes are split, because `str.splitlines` also splits at characters such as U+2028, which editors do not.
    all_lines = document.text.encode("utf-8", "surrogatepass").splitlines(keepends=True)
    if not 1 <= first <= last or first > len(all_lines):
        raise InvalidInputError(
            f"There are no lines {first} to {min(last, max(first, len(all_lines)))}: the document has {len(all_lines)},"
            " counted from 1.",
            kind="range",
        )
    text = b"".join(all_lines[first - 1 : last]).decode("utf-8", "surrogatepass")
    return TextPassage(document, revision_of(document.raw), text, first_line=first)


def document_at(collection: Collection, address: Address, at: str = "") -> Document:
    """The parsed document, now or at a revision; at a commit under the address that it had in it."""
    if not at:
        return collection.index.document(address)
    history = collection.store.history
    raw = history.read(address, at)
    is_own = revision_of(raw).startswith(at.lower())
    return read_document(address if is_own else history.address_at(address, at) or address, raw)


def address_of(collection: Collection, reference: str) -> Address:
    """The address that a reference means in a collection: that of an existing document, otherwise the parsed text."""
    address = parse_document_address(reference)
    if collection.index.record(address) is None:
        record = collection.index.find(reference)
        return record.address if record else address
    return address


def _passage(document: Document, start: int, end: int, found_section: Section | None) -> TextPassage:
    raw = document.encoded
    text = raw[start:end].decode("utf-8", errors="replace")
    return TextPassage(document, revision_of(document.raw), text, found_section, raw.count(b"\n", 0, start) + 1)
