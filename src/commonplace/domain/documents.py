"""A parsed document: its bytes, and the offsets of its parts.

All offsets are byte offsets into `Document.raw`, so that an edit can name the bytes that it changes. The values are
created by `domain.document_reader` (structure), `domain.frontmatter` (YAML) and `domain.links`. Values of which a
document has many are named tuples: they cost a third of a frozen dataclass to create, and an index creates millions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from commonplace.domain.addresses import Address
from commonplace.domain.json import Json

_LINE_END = re.compile(r"\A(?:\r?\n|\r)")


class Span(NamedTuple):
    """Half-open byte range `[start, end)` in a document's raw bytes."""

    start: int
    end: int


class Severity(StrEnum):
    """Severity of a finding."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a document, found while reading it. Never an exception.

    `rule` is a stable name (`bad_yaml`, `not_utf8`, `broken_link`, ...). `field` is the frontmatter key concerned, or
    "". `line` is 1-based, or 0 if the finding concerns the whole file.
    """

    rule: str
    severity: Severity
    message: str
    field: str = ""
    line: int = 0


class Section(NamedTuple):
    """A heading and the text under it, or (level 0, ordinal 0) the text before the first heading.

    Every document has at least the section of level 0, which may be empty. Sections are in document order. Their spans
    `[start, end)` cover the body without gaps or overlaps.
    """

    ordinal: int
    level: int
    """1 to 6; 0 for the text before the first heading."""
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
    """Start of the text after the heading line (after both lines of a setext heading)."""
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
    """The heading or `^block` after `#`, or ""."""
    label: str = ""
    """The text shown for the link, or ""."""
    collection: str = ""
    """The `kb` of `[[kb:id]]`, or ""."""
    relation: str = ""
    """The relation of a frontmatter link, or ""."""
    note: str = ""
    """The note of a frontmatter link, or ""."""
    span: Span = Span(0, 0)
    """Span of the whole link in the document; `Span(0, 0)` for a frontmatter link."""
    target_span: Span = Span(0, 0)
    """Span of the path part alone (no fragment, alias, collection): the bytes that a rename rewrites."""
    page_last: bool = False
    """Whether the target is `b` of `[[a|b]]`."""
    other: Link | None = None
    """The same `[[a|b]]` with its other side as the target; None for any other link. It has no `other` itself."""


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


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed Markdown file: its bytes and its structure."""

    address: Address
    raw: bytes
    text: str
    """`raw` decoded, without BOM. Bytes that are no UTF-8 are read as CP1252, and `decodable` is false."""
    decodable: bool
    """False if the bytes are not UTF-8: offsets then refer to `text` encoded again, and edits are rejected."""
    newline: str
    r"""The document's prevailing line end: the more frequent of `\n` and `\r\n`; `\n` without any."""
    frontmatter: Frontmatter
    sections: tuple[Section, ...]
    links: tuple[Link, ...]
    tags: tuple[str, ...]
    """Frontmatter tags and `#tags` of the body, without `#`, in order, without duplicates."""
    findings: tuple[Finding, ...]
    title: str
    """Frontmatter `title`, else the first heading of level 1, else the file's stem."""
    words: int
    """Number of white-space-separated words of the body."""
    readable: bytes | None = None
    """The source with everything blanked that is no Markdown, of the same length; None if all of it is Markdown."""

    @property
    def encoded(self) -> bytes:
        """The bytes that the offsets refer to: `raw`, or `text` in UTF-8 if `raw` is not UTF-8."""
        return self.raw if self.decodable else self.text.encode()

    @property
    def source(self) -> bytes:
        """`encoded` with everything blanked that is no Markdown. Texts are read from it, edits are not made in it."""
        return self.encoded if self.readable is None else self.readable

    @property
    def body_start(self) -> int:
        """Byte offset of the text after the frontmatter."""
        return self.frontmatter.span.end

    @property
    def body(self) -> str:
        """The text after the frontmatter as its writer gave it.

        That is without the blank line below the frontmatter.
        """
        text = self.encoded[self.body_start :].decode("utf-8", "replace")
        return _LINE_END.sub("", text, count=1) if self.frontmatter.present else text
