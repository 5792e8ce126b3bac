"""A parsed document: its bytes, and the offsets of its parts.

All offsets are byte offsets into `Document.raw`, so that an edit can name the bytes that it changes. The values are
created by `domain.document_reader` (structure), `domain.frontmatter` (YAML) and `domain.links`. Values of which a
document has many are named tuples: they cost a third of a frozen dataclass to create, and an index creates millions.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, wraps
from itertools import takewhile
from typing import NamedTuple, overload

from commonplace.domain.addresses import Address
from commonplace.domain.json import Json

LINE_END_BYTES = 2
"""Maximum number of bytes of a text that is only a line end."""

_LINE_END = re.compile(r"\A(?:\r?\n|\r)")


class Span(NamedTuple):
    """A half-open byte range `[start, end)` in a document's raw bytes."""

    start: int
    end: int


class Severity(StrEnum):
    """Severity of a finding."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a document that is found while reading it. It is a value, never an exception.

    `rule` is a stable name (`bad_yaml`, `not_utf8`, `broken_link`, ...). `field` is the frontmatter key with the
    problem; "" for none. `line` counts from 1; 0 means the whole file. `lines` are those of all places, if there are
    several.
    """

    rule: str
    severity: Severity
    message: str
    field: str = ""
    line: int = 0
    lines: tuple[int, ...] = ()


class Section(NamedTuple):
    """A heading and the text under it, or (level 0, ordinal 0) the text before the first heading.

    Every document has at least the section of level 0, which may be empty. Sections are in document order. Their spans
    `[start, end)` cover the body without gaps or overlaps.
    """

    ordinal: int
    level: int
    """Level of the heading, 1 to 6; 0 for the text before the first heading."""
    heading: str
    """The heading's plain text, without markers, attributes and inline markup; "" at level 0."""
    path: tuple[str, ...]
    """The headings above this one, outermost first, this one last; empty at level 0."""
    anchor: str
    """The slug that links use, unique in the document (`usage`, `usage-1`); "" at level 0."""
    attributes: str
    """The text between the braces of `## Heading {...}`; "" without braces."""
    start: int
    """Start of the heading line (level 0: start of the body)."""
    content: int
    """Start of the text after the heading line (both lines of a setext heading) and a line of attributes below it."""
    end: int
    """Start of the next heading of any level, or the end of the document."""
    tree_end: int
    """Start of the next heading of this or a higher rank, or the end of the document."""
    atx: bool
    """Whether the heading is an ATX heading (written with `#`)."""


class LinkKind(StrEnum):
    """The syntax of a link."""

    WIKI = "wiki"
    EMBED = "embed"
    MARKDOWN = "markdown"
    IMAGE = "image"
    FRONTMATTER = "frontmatter"


class Link(NamedTuple):
    """A reference from a document to another document or file of a collection. External URLs are not included."""

    kind: LinkKind
    target: str
    """The target as a path or id: percent-decoded for Markdown links; without fragment, alias and collection."""
    raw: str
    """The target as written, without label: `a%20b.md#x`, `Note#Heading`, `kb:id`."""
    fragment: str = ""
    """The heading or `^block` after `#`; "" for none."""
    label: str = ""
    """The text shown for the link; "" for none."""
    collection: str = ""
    """The `kb` of `[[kb:id]]`; "" for none."""
    relation: str = ""
    """The relation of a frontmatter link; "" for none."""
    note: str = ""
    """The note of a frontmatter link; "" for none."""
    span: Span = Span(0, 0)
    """Span of the whole link in the document; `Span(0, 0)` for a frontmatter link."""
    target_span: Span = Span(0, 0)
    """Span of the path alone, without fragment, alias and collection; a rename rewrites these bytes."""
    page_last: bool = False
    """Whether the target is `b` of `[[a|b]]`."""
    other: Link | None = None
    """The same `[[a|b]]` with its other side as the target, and no `other` itself; None for any other link."""


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The block of YAML or TOML at the top of a document."""

    values: Mapping[str, Json]
    """Every readable key in order, dates as ISO strings; empty if there is no block or the block is unreadable."""
    span: Span
    """Span of the block with both fences and the last line end; `Span(n, n)` after the BOM if there is no block."""
    present: bool
    findings: tuple[Finding, ...] = ()
    is_toml: bool = False
    """Whether the block is TOML, between lines `+++`. Its keys are read and never changed."""
    is_fields: bool = False
    """Whether the block is the fields of a tiddler. They are read and never changed."""
    is_properties: bool = False
    """Whether the block is lines `key:: value` of Logseq; without a block, whether a new one is to be such lines."""
    beside: str = ""
    """Path of the file `NAME.meta` that has the fields of the page in TiddlyWiki; "" for a page without one."""

    @property
    def is_yaml(self) -> bool:
        """Whether the block, if there is one, is YAML or lines `key:: value`, whose keys are changed."""
        return not (self.is_toml or self.is_fields or self.beside)


@contextmanager
def gc_disabled() -> Generator[None]:
    """Disable garbage collection for the duration of a `with` block, or of a function that it decorates.

    Documents contain no cycles. Scanning the hundreds of thousands of objects of a large one, or of a batch, again and
    again takes up to half of the time in which they are made.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class LazyLinks(Sequence[Link]):
    """The links of a document, read at their first use: most readers of a page need none, and a large page has many."""

    __slots__ = ("_links", "_read")

    def __init__(self, read: Callable[[], tuple[Link, ...]]) -> None:
        self._read = read
        self._links: tuple[Link, ...] | None = None

    @property
    def _all(self) -> tuple[Link, ...]:
        if self._links is None:
            with gc_disabled():
                self._links = self._read()
        return self._links

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, index: int) -> Link: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Link, ...]: ...
    def __getitem__(self, index: int | slice) -> Link | tuple[Link, ...]:
        return self._all[index]

    def __eq__(self, other: object) -> bool:
        return self._all == (other._all if isinstance(other, LazyLinks) else other)

    def __hash__(self) -> int:
        return hash(self._all)


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed Markdown file: its bytes and its structure."""

    address: Address
    raw: bytes
    text: str
    """`raw` decoded, without BOM. If `raw` is not UTF-8, invalid bytes are read as CP1252, and `decodable` is false."""
    decodable: bool
    """Whether the bytes are UTF-8. If not, offsets refer to `text` encoded as UTF-8, and edits are rejected."""
    newline: str
    r"""The more frequent line end of the document, `\n` or `\r\n`; `\n` if there are none."""
    frontmatter: Frontmatter
    sections: tuple[Section, ...]
    links: Sequence[Link]
    tags: tuple[str, ...]
    """Frontmatter tags and `#tags` of the body, without `#`, in order, without duplicates."""
    findings: tuple[Finding, ...]
    title: str
    """Frontmatter `title`, otherwise the first heading of level 1, otherwise the file's stem."""
    words: int
    """Number of white-space-separated words of the body."""
    readable: bytes | None = None
    """The source with blanks in place of all parts that are not Markdown; None if everything is Markdown."""
    in_graph: bool = False
    """Whether the document is known to be of a graph of Logseq."""

    @property
    def encoded(self) -> bytes:
        """The bytes that the offsets refer to: `raw`, or `text` in UTF-8 if `raw` is not UTF-8."""
        return self.raw if self.decodable else self.text.encode()

    @property
    def source(self) -> bytes:
        """`encoded` with blanks in place of all parts that are not Markdown; for reading texts, not for edits."""
        return self.encoded if self.readable is None else self.readable

    @property
    def body_start(self) -> int:
        """Byte offset of the text after the frontmatter."""
        return self.frontmatter.span.end

    @property
    def body(self) -> str:
        """The text after the frontmatter, without the blank line below the frontmatter."""
        text = self.encoded[self.body_start :].decode("utf-8", "replace")
        return _LINE_END.sub("", text, count=1) if self.frontmatter.present else text

    def with_properties(self) -> Document:
        """The same document of a graph of Logseq, where a new frontmatter is lines `key:: value`."""
        if self.frontmatter.present:
            return replace(self, in_graph=True)
        return replace(self, frontmatter=replace(self.frontmatter, is_properties=True), in_graph=True)

    def with_fields_beside(self, path: str) -> Document:
        """The same document, whose fields are in the file at this path beside it."""
        return replace(self, frontmatter=replace(self.frontmatter, beside=path))

    def in_form_of(self, other: Document) -> Document:
        """The same document, with its fields where those of another version of it are."""
        if other.frontmatter.beside:
            return self.with_fields_beside(other.frontmatter.beside)
        return self.with_properties() if other.is_blocks else self

    @property
    def is_blocks(self) -> bool:
        """Whether the text is blocks of Logseq, whose tasks have markers, also below a frontmatter of YAML."""
        return self.in_graph or self.frontmatter.is_properties


# Rows contain no containers, so there can be no cycles.
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode

_OutlineRow = tuple[int, str, str, int, int, int]
"""Level, heading, anchor, and byte offsets of the section, of its text and of its end."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of one document, in order; at least one. It is stored, so that a text is found without parsing."""

    _rows: Sequence[_OutlineRow]

    @staticmethod
    def of(sections: Sequence[Section]) -> Outline:
        """The outline of a parsed document."""
        return Outline([(s.level, s.heading, s.anchor, s.start, s.content, s.end) for s in sections])

    @staticmethod
    def from_stored(stored: str) -> Outline:
        """Parse the result of `stored`."""
        return Outline(json.loads(stored))

    def stored(self) -> str:
        """The form stored in the catalogue."""
        return _encode(self._rows)

    @property
    def last(self) -> int:
        """Ordinal of the last section."""
        return len(self._rows) - 1

    def anchor(self, ordinal: int) -> str:
        """The anchor of a section."""
        return self._rows[ordinal][2]

    def text(self, ordinal: int) -> slice:
        """The byte range of a section's own text, without its heading and its subsections, which may be suppressed."""
        return slice(*self._rows[ordinal][4:6])

    def shown_text(self, ordinal: int) -> slice:
        """The byte range that represents a section: its own text, or that of its first subsection with text."""
        level = self._rows[ordinal][0]
        below = takewhile(lambda row: row[0] > level, self._rows[ordinal + 1 :])
        for _, _, _, _, content, end in (self._rows[ordinal], *(below if level else ())):
            if end - content > LINE_END_BYTES:
                return slice(content, end)
        return self.text(ordinal)

    def path(self, ordinal: int) -> tuple[str, ...]:
        """The headings from the outermost to the section's own; empty for the text before the first heading."""
        path: list[str] = []
        lowest = 7
        for level, heading, *_ in reversed(self._rows[: ordinal + 1]):
            if 0 < level < lowest:
                path.append(heading)
                lowest = level
            if lowest == 1:
                break
        return tuple(reversed(path))

    def first_with_text(self) -> int:
        """The first section with text other than a line end; otherwise the first section."""
        return next((at for at, row in enumerate(self._rows) if row[5] - row[4] > 1), 0)


class OutlinedText(NamedTuple):
    """The sections of a document, and the bytes that their ranges refer to."""

    outline: Outline
    source: bytes
    """`Document.source`."""


LARGE_BYTES = 500_000
"""Size in bytes from which the last parsed documents are cached: one write or search parses them several times."""
MAX_CACHED_DOCUMENTS = 2
"""Number of these: the state before a write, and that after it."""


def caching_large(read: Callable[[Address, bytes], Document]) -> Callable[[Address, bytes], Document]:
    """Let a function that parses files cache the last large documents, and run without garbage collection."""
    cached = lru_cache(MAX_CACHED_DOCUMENTS)(read)

    @wraps(read)
    @gc_disabled()
    def read_or_cached(address: Address, raw: bytes) -> Document:
        return (cached if len(raw) >= LARGE_BYTES else read)(address, raw)

    return read_or_cached
