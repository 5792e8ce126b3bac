"""The pages of an editor: maps files to collections, and reads the editor's text if a file is open."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol.types import Location, Position, PositionEncodingKind, Range

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.document_reader import Fragments, read_document
from commonplace.domain.documents import Document, Link, Section, Span
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.query import ResolvedLink
from commonplace.domain.words.text_decoder import decoded
from commonplace.faces.lsp.positions import LineTable
from commonplace.services.collections import Collection, Collections
from commonplace.services.links import target_by_name

_BLOCK_ID = re.compile(rb"[ \t]+\^[A-Za-z0-9-]+[ \t]*$")


@dataclass(frozen=True, slots=True)
class OpenText:
    """The text of a file that is open in the editor."""

    text: str
    version: int | None = None
    """The editor's version number of the text, or an earlier one. The editor refuses edits for an outdated version."""

    @property
    def raw(self) -> bytes:
        """The text in UTF-8."""
        return self.text.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a page that contains a link."""

    uri: str
    lines: LineTable
    version: int | None = None
    """Version of the text in the editor; None for saved text."""


@dataclass(frozen=True, slots=True)
class EditorPage:
    """A page with its text in the editor, or its saved text if it is not open."""

    collection: Collection
    document: Document
    uri: str
    lines: LineTable
    version: int | None = None
    """Version of the text in the editor; None for saved text."""

    @property
    def address(self) -> Address:
        """The address in the collection."""
        return self.document.address

    def link_at(self, position: Position) -> ResolvedLink | None:
        """The link at a position, with its target; None if there is none."""
        offset = self.lines.offset(position)
        for link in self.document.links:
            span = link.span if link.span.end else link.target_span
            if span.start <= offset <= span.end and span.end:
                return self.collection.index.resolve(replace(self.document, links=(link,)))[0]
        return None

    def heading_at(self, position: Position) -> Section | None:
        """The section whose heading line contains a position; None if there is none."""
        offset = self.lines.offset(position)
        return next((one for one in self.document.sections if one.level and one.start <= offset < one.content), None)


@dataclass(frozen=True, slots=True)
class LinkLocation:
    """The target of a link within a page."""

    page: EditorPage
    section: Section | None
    """The section that the link's fragment names; None without one."""
    span: Span
    """Byte range of the heading or block; empty at the start of the page if there is neither."""

    def location(self) -> Location:
        """The location in the protocol's form."""
        return Location(self.page.uri, self.page.lines.range(self.span))


class EditorPages:
    """The pages of all open collections.

    Args:
        collections: The open collections.
        roots: Folder of each collection, in the same order.
        unsaved: Texts of the files that the editor has open, by their real path.
        encoding: The position encoding of the session.
    """

    def __init__(
        self,
        collections: Collections,
        roots: Sequence[Path],
        unsaved: Callable[[], Mapping[Path, OpenText]],
        encoding: PositionEncodingKind | str | None = None,
    ) -> None:
        self.collections = collections
        self._roots = [root.resolve() for root in roots]
        self._unsaved = unsaved
        self._encoding = encoding

    def page(self, uri: str) -> EditorPage | None:
        """The page at a URI; None if the file is not a page of an open collection."""
        place = self._place(file_path(uri))
        if place is None or not place[1].is_document:
            return None
        try:
            return self.at(*place)
        except NotFoundError:
            return None

    def at(self, collection: Collection, address: Address) -> EditorPage:
        """A page of a collection, with the editor's text if it is open.

        Raises:
            NotFoundError: the file does not exist.
            StorageError: the file cannot be read.
        """
        file = self.root_of(collection) / address.path
        shown = self._unsaved().get(file)
        raw = collection.store.read(address) if shown is None else shown.raw
        document = _parsed(address, raw)
        lines = LineTable(document.source, self._encoding)
        return EditorPage(collection, document, file.as_uri(), lines, shown.version if shown else None)

    def text(self, collection: Collection, address: Address) -> SourceText:
        """The saved text of a page.

        Raises:
            NotFoundError: the file does not exist.
            StorageError: the file cannot be read.
        """
        raw = collection.store.read(address)
        source = decoded(raw).encode()  # offsets are in UTF-8, regardless of the file's encoding
        return SourceText(self.uri_of(collection, address), LineTable(source, self._encoding))

    def unsaved(self, collection: Collection) -> dict[Address, OpenText]:
        """The texts of the pages of a collection that are open in the editor."""
        texts: dict[Address, OpenText] = {}
        for file, shown in self._unsaved().items():
            place = self._place(file)
            if place is not None and place[0].name == collection.name and place[1].is_document:
                texts[place[1]] = shown
        return texts

    def address_of(self, uri: str) -> tuple[Collection, Address] | None:
        """The collection and address of a file, which need not exist; None if it is in no open collection."""
        return self._place(file_path(uri))

    def root_of(self, collection: Collection) -> Path:
        """The folder of a collection, with symbolic links resolved."""
        names = [one.name for one in self.collections.members]
        return self._roots[names.index(collection.name)]

    def uri_of(self, collection: Collection, address: Address) -> str:
        """The URI of a file."""
        return (self.root_of(collection) / address.path).as_uri()

    def target(self, page: EditorPage, resolved: ResolvedLink) -> LinkLocation | None:
        """The target of a link in a page; None if the link is broken, or its target is not a page."""
        found = self._target_address(page, resolved)
        if found is None or not found[1].is_document:
            return None
        try:
            target = page if found == (page.collection, page.address) else self.at(*found)
        except KnowledgeError:
            return None
        return fragment_of(target, resolved.link)

    def _target_address(self, page: EditorPage, resolved: ResolvedLink) -> tuple[Collection, Address] | None:
        if resolved.target is not None:
            return page.collection, resolved.target
        found = target_by_name(self.collections, page.collection, resolved)
        return (found.collection, found.record.address) if found else None

    def _place(self, file: Path | None) -> tuple[Collection, Address] | None:
        """The collection whose folder is the innermost around a file, and the file's address; None if there is none."""
        if file is None:
            return None
        places = [
            (collection, root)
            for collection, root in zip(self.collections.members, self._roots, strict=True)
            if file.is_relative_to(root) and file != root
        ]
        if not places:
            return None
        collection, root = max(places, key=lambda place: len(place[1].parts))
        try:
            return collection, parse_address(file.relative_to(root).as_posix())
        except InvalidInputError:
            return None


def file_path(uri: str) -> Path | None:
    """The path of a `file:` URI with links in its folders resolved; None for any other URI."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or "\0" in (path := unquote(parts.path)):
        return None
    file = Path(path)
    return file.parent.resolve() / file.name  # a symbolic link is a file of its own, as in the store


def fragment_of(target: EditorPage, link: Link) -> LinkLocation:
    """The part of a page that a link's fragment names; the start of the page without a fragment or a match.

    If several headings match, the first is used, as in other note-taking programs.
    """
    found = Fragments(target.document).find(link.fragment) if link.fragment else None
    if found is None:
        return LinkLocation(target, None, Span(0, 0))
    start, end, section = found
    return LinkLocation(target, section, Span(section.start, section.content) if section else Span(start, end))


def heading_span(page: EditorPage, section: Section) -> Span:
    """The range of a heading's text in the source, without markers, attributes and block id."""
    line = page.document.source[section.start : section.content]
    first = line.splitlines()[0] if line else b""
    start = len(first) - len(first.lstrip(b"# \t")) if section.atx else len(first) - len(first.lstrip())
    end = len(first.rstrip())
    if section.attributes and b"{" in first:
        end = len(first[: first.rindex(b"{")].rstrip())
    if section.atx:
        closed = first[start:end].rstrip(b"#")
        end = start + len(closed.rstrip()) if closed != first[start:end] and closed.endswith((b" ", b"\t")) else end
    if block_id := _BLOCK_ID.search(first, start, end):
        end = block_id.start()
    return Span(section.start + start, section.start + max(start, end))


def whole_range(page: EditorPage) -> Range:
    """The range of a page's first line, for diagnostics of the whole page."""
    return page.lines.line_range(0)


@lru_cache(maxsize=64)
def _parsed(address: Address, raw: bytes) -> Document:
    return read_document(address, raw)
