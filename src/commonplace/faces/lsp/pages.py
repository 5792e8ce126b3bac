"""The pages of an editor: maps files to collections, and reads the editor's text if a file is open."""

from __future__ import annotations

import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from urllib.parse import unquote

from lsprotocol.types import Location, Position, PositionEncodingKind, Range, TextEdit

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.document_reader import Fragments, read_document
from commonplace.domain.documents import Document, Link, Section, Span
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.query import ResolvedLink
from commonplace.domain.sources import url_parts
from commonplace.domain.words.text_decoder import decoded
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
        return next(
            (
                section
                for section in self.document.sections
                if section.level and section.start <= offset < section.content
            ),
            None,
        )


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
        names = [member.name for member in self.collections.members]
        return self._roots[names.index(collection.name)]

    def uri_of(self, collection: Collection, address: Address) -> str:
        """The URI of a file."""
        return (self.root_of(collection) / address.path).as_uri()

    def target(self, page: EditorPage, resolved: ResolvedLink) -> LinkLocation | None:
        """The target of a link in a page; None if the link is broken, or its target is not a page."""
        target_address = self._target_address(page, resolved)
        if target_address is None or not target_address[1].is_document:
            return None
        try:
            target = page if target_address == (page.collection, page.address) else self.at(*target_address)
        except KnowledgeError:
            return None
        return fragment_of(target, resolved.link)

    def _target_address(self, page: EditorPage, resolved: ResolvedLink) -> tuple[Collection, Address] | None:
        if resolved.target is not None:
            return page.collection, resolved.target
        document = target_by_name(self.collections, page.collection, resolved)
        return (document.collection, document.record.address) if document else None

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
    parts = url_parts(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or "\0" in (path := unquote(parts.path)):
        return None
    file = Path(path)
    return file.parent.resolve() / file.name  # a symbolic link is a file of its own, as in the store


def fragment_of(target: EditorPage, link: Link) -> LinkLocation:
    """The part of a page that a link's fragment names; the start of the page without a fragment or a match.

    If several headings match, the first is used, as in other note-taking programs.
    """
    row = Fragments(target.document).find(link.fragment) if link.fragment else None
    if row is None:
        return LinkLocation(target, None, Span(0, 0))
    start, end, section = row
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


# Conversion between positions of the protocol (line and character) and byte offsets of a text.


_LINE_END = re.compile(rb"\r\n|\n|\r")
STEP = 512
"""Interval in bytes at which character counts of a long line are cached."""
_CODECS = {PositionEncodingKind.Utf8: ("utf-8", 1), PositionEncodingKind.Utf32: ("utf-32-le", 4)}
"""Codec and bytes per unit of a position encoding. The default is UTF-16, as in the protocol."""
_CONTINUATION = bytes(range(0x80, 0xC0))
"""Continuation bytes of UTF-8 characters."""
_FOUR_BYTES = bytes(range(0xF0, 0x100))
"""First bytes of characters that take two units in UTF-16."""


class LineTable:
    """The lines of a text. A byte order mark belongs to no line, because editors do not show it.

    Args:
        text: The text in UTF-8.
        encoding: The position encoding that client and server agreed on; None for UTF-16.
    """

    def __init__(self, text: bytes, encoding: PositionEncodingKind | str | None = None) -> None:
        self.text = text
        self.encoding = encoding
        """The position encoding, as given."""
        self._codec, self._unit = _CODECS.get(PositionEncodingKind(encoding or "utf-16"), ("utf-16-le", 2))
        first = len(BOM_UTF8) if text.startswith(BOM_UTF8) else 0
        self._starts = [first, *(match.end() for match in _LINE_END.finditer(text))]
        self._counted: tuple[int, list[int]] = (-1, [])
        """Number of the most recently used line, and its character counts before each multiple of `STEP` bytes."""

    def position(self, offset: int) -> Position:
        """The position of a byte offset."""
        line = max(bisect_right(self._starts, offset) - 1, 0)
        start = self._starts[line]
        number, counts = self._counted
        if number != line:
            counts = [0]
            self._counted = (line, counts)
        for at in range(len(counts), (offset - start) // STEP + 1):
            counts.append(counts[-1] + self._units(start + STEP * (at - 1), start + STEP * at))
        nearest = max(offset - start, 0) // STEP
        return Position(line, counts[nearest] + self._units(start + STEP * nearest, offset))

    def _units(self, start: int, end: int) -> int:
        """Length of a part of the text in units. A character counts at its first byte."""
        part = self.text[start:end]
        if self._codec == "utf-8" or part.isascii():
            return len(part)
        characters = len(part.translate(None, _CONTINUATION))
        return characters + (len(part) - len(part.translate(None, _FOUR_BYTES)) if self._codec == "utf-16-le" else 0)

    def offset(self, position: Position) -> int:
        """The byte offset of a position. A position beyond the end of its line or of the text means that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start, line = self._starts[position.line], self.line(position.line)
        units = line.decode("utf-8", "replace").encode(self._codec, "replace")[: position.character * self._unit]
        return start + len(units.decode(self._codec, "ignore").encode())

    def line(self, number: int) -> bytes:
        """A line without its line end, by number from 0; b"" if there is no such line."""
        if number >= len(self._starts):
            return b""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : end].rstrip(b"\r\n")

    def range(self, span: Span) -> Range:
        """The range of a span."""
        return Range(self.position(span.start), self.position(span.end))

    def line_range(self, number: int) -> Range:
        """The range of a line's text, by 0-based number."""
        start = self._starts[min(number, len(self._starts) - 1)]
        return self.range(Span(start, start + len(self.line(number))))


def text_edits(before: LineTable, after: bytes) -> list[TextEdit]:
    """The edits, in whole lines, that turn one text into the other."""
    old, new = before.text.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    edits: list[TextEdit] = []
    for first, last, begin, end in _differences(old, new):
        inserted = b"".join(new[begin:end]).decode("utf-8", "replace").removeprefix("\ufeff" if begin == 0 else "")
        edits.append(TextEdit(before.range(Span(starts[first], starts[last])), inserted))
    return edits


def _differences(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """The differing runs of lines: start and end in the old lines, then in the new lines; ends are exclusive.

    If both texts have the same number of lines, lines are compared by position. Rewritten links do not change the
    number of lines, and a full comparison takes seconds on a long page.
    """
    if len(old) == len(new):
        for differs, numbers in groupby(range(len(old)), lambda number: old[number] != new[number]):
            if differs:
                run = list(numbers)
                yield run[0], run[-1] + 1, run[0], run[-1] + 1
        return
    for tag, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield first, last, begin, end
