"""The pages of an editor: which collection a file belongs to, and its text as the editor shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol.types import Location, Position, PositionEncodingKind, Range

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.document_reader import find_fragment, named_sections, read_document
from commonplace.domain.documents import Document, Link, Section, Span
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.query import ResolvedLink
from commonplace.domain.words.text_decoder import decoded
from commonplace.faces.lsp.positions import LineTable
from commonplace.services.collections import Collection, Collections


@dataclass(frozen=True, slots=True)
class OpenText:
    """The text of a file that the editor has open."""

    text: str
    version: int | None = None
    """Its version as the editor counts, at most that of the text; edits name it, and are refused for a newer text."""

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
    """As in `EditorPage`."""


@dataclass(frozen=True, slots=True)
class EditorPage:
    """A page with its text as the editor shows it, saved or not."""

    collection: Collection
    document: Document
    uri: str
    lines: LineTable
    version: int | None = None
    """The version of its text in the editor; None for the saved text."""

    @property
    def address(self) -> Address:
        """Its address in the collection."""
        return self.document.address

    def link_at(self, position: Position) -> ResolvedLink | None:
        """The link at a position, with its target."""
        offset = self.lines.offset(position)
        for link in self.document.links:
            span = link.span if link.span.end else link.target_span
            if span.start <= offset <= span.end and span.end:
                return self.collection.index.resolve(replace(self.document, links=(link,)))[0]
        return None

    def heading_at(self, position: Position) -> Section | None:
        """The section whose heading is on the line of a position."""
        offset = self.lines.offset(position)
        return next((one for one in self.document.sections if one.level and one.start <= offset < one.content), None)


@dataclass(frozen=True, slots=True)
class LinkLocation:
    """Where a link leads."""

    page: EditorPage
    section: Section | None
    """The section that its fragment names."""
    span: Span
    """The heading or block; empty at the beginning of the page without one."""

    def location(self) -> Location:
        """The location for the client."""
        return Location(self.page.uri, self.page.lines.range(self.span))


class EditorPages:
    """The pages of all open folders.

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
        """The page at a URI; None if the file is in no open folder, or is not a page."""
        place = self._place(file_path(uri))
        if place is None or not place[1].is_document:
            return None
        try:
            return self.at(*place)
        except NotFoundError:
            return None

    def at(self, collection: Collection, address: Address) -> EditorPage:
        """A page of a collection.

        Raises:
            NotFoundError: there is no such file.
            StorageError: it cannot be read.
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
            NotFoundError: there is no such file.
            StorageError: it cannot be read.
        """
        raw = collection.store.read(address)
        source = decoded(raw).encode()  # offsets refer to UTF-8, whatever the file is written in
        return SourceText(self.uri_of(collection, address), LineTable(source, self._encoding))

    def unsaved(self, collection: Collection) -> dict[Address, OpenText]:
        """The texts of the editor's open pages in a collection."""
        texts: dict[Address, OpenText] = {}
        for file, shown in self._unsaved().items():
            place = self._place(file)
            if place is not None and place[0].name == collection.name and place[1].is_document:
                texts[place[1]] = shown
        return texts

    def address_of(self, uri: str) -> tuple[Collection, Address] | None:
        """The collection and address of a file, which need not exist; None if it is in no open folder."""
        return self._place(file_path(uri))

    def root_of(self, collection: Collection) -> Path:
        """The real folder of a collection."""
        names = [one.name for one in self.collections.members]
        return self._roots[names.index(collection.name)]

    def uri_of(self, collection: Collection, address: Address) -> str:
        """The URI of a file."""
        return (self.root_of(collection) / address.path).as_uri()

    def target(self, page: EditorPage, resolved: ResolvedLink) -> LinkLocation | None:
        """Where a link of a page leads; None if it is broken, or leads to a file that is not a page."""
        found = self._target_address(page, resolved)
        if found is None or not found[1].is_document:
            return None
        try:
            target = page if found == (page.collection, page.address) else self.at(*found)
        except KnowledgeError:
            return None
        return fragment_of(target, resolved.link)

    def _target_address(self, page: EditorPage, resolved: ResolvedLink) -> tuple[Collection, Address] | None:
        name = resolved.link.collection
        if resolved.target is not None:
            return page.collection, resolved.target
        if not name or name == page.collection.name:
            return None
        for other in self.collections.members:
            if other.name == name:
                record = other.index.find(resolved.link.target)
                return (other, record.address) if record else None
        return None

    def _place(self, file: Path | None) -> tuple[Collection, Address] | None:
        """The innermost open folder that contains a file."""
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
    """The real path of a `file:` URI; None for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or "\0" in (path := unquote(parts.path)):
        return None
    file = Path(path)
    return file.parent.resolve() / file.name  # a link is its own file, as for the store


def fragment_of(target: EditorPage, link: Link) -> LinkLocation:
    """The part of a page that a link names; the beginning if it names none, or one that is not there.

    Of several equal headings it is the first, where all programs for notes go.
    """
    if not link.fragment:
        return LinkLocation(target, None, Span(0, 0))
    if not link.fragment.startswith("^"):
        section = next(iter(named_sections(target.document, link.fragment)), None)
        return LinkLocation(target, section, Span(section.start, section.content) if section else Span(0, 0))
    try:
        start, end, _ = find_fragment(target.document, link.fragment)
    except NotFoundError:
        return LinkLocation(target, None, Span(0, 0))
    return LinkLocation(target, None, Span(start, end))


def heading_span(page: EditorPage, section: Section) -> Span:
    """The text of a heading without markers and attributes, as it is written."""
    line = page.document.source[section.start : section.content]
    first = line.splitlines()[0] if line else b""
    start = len(first) - len(first.lstrip(b"# \t")) if section.atx else len(first) - len(first.lstrip())
    end = len(first.rstrip())
    if section.attributes and b"{" in first:
        end = len(first[: first.rindex(b"{")].rstrip())
    if section.atx:
        closed = first[start:end].rstrip(b"#")
        end = start + len(closed.rstrip()) if closed != first[start:end] and closed.endswith((b" ", b"\t")) else end
    return Span(section.start + start, section.start + max(start, end))


def whole_range(page: EditorPage) -> Range:
    """The range of a page's first line, for what concerns the whole of it."""
    return page.lines.line_range(0)


@lru_cache(maxsize=64)
def _parsed(address: Address, raw: bytes) -> Document:
    return read_document(address, raw)
