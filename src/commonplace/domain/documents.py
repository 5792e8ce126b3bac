"""What a document is once it has been read: the bytes, and where in them everything stands.

All offsets are byte offsets into `Document.raw`, so that an edit can name the bytes that it changes and no others.
The values are made by `domain.document_reader` (structure), `domain.frontmatter` (YAML) and `domain.links`. Those of
which a document has many are named tuples: they cost a third of a frozen dataclass to make, and an index makes
millions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from commonplace.domain.addresses import Address
from commonplace.domain.json import Json


class Span(NamedTuple):
    """Half-open byte range `[start, end)` in a document's raw bytes."""

    start: int
    end: int


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a document, found while reading it; never an exception.

    `rule` is a stable name (`bad_yaml`, `not_utf8`, `broken_link`, ...), `field` the frontmatter key it is about or
    "", `line` 1-based or 0 when the finding is about the whole file.
    """

    rule: str
    severity: Severity
    message: str
    field: str = ""
    line: int = 0


class Section(NamedTuple):
    """A heading and the text under it, or (level 0, ordinal 0) the text before the first heading.

    Every document has at least the section of level 0, which may be empty. Sections are in document order and their
    own spans `[start, end)` tile the body.
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
    """What stands between the braces of `## Heading {...}`, "" when there are none."""
    start: int
    """Where the heading line begins (level 0: where the body begins)."""
    content: int
    """Where the text after the heading line (both lines of a setext heading) begins."""
    end: int
    """Where the next heading of any level begins, or the document ends."""
    tree_end: int
    """Where the next heading of this or a higher rank begins, or the document ends."""
    atx: bool
    """Whether the heading is written with `#`."""


class LinkKind(StrEnum):
    """How a link is written."""

    WIKI = "wiki"
    EMBED = "embed"
    MARKDOWN = "markdown"
    IMAGE = "image"
    FRONTMATTER = "frontmatter"


class Link(NamedTuple):
    """A reference from a document to another document or file of a collection. External URLs are no links here."""

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
    """The whole link in the document; `Span(0, 0)` for a frontmatter link."""
    target_span: Span = Span(0, 0)
    """The bytes of the path part alone (no fragment, alias, collection): what a rename rewrites."""


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The YAML block at the top of a document."""

    values: Mapping[str, Json]
    """Every readable key in order, dates as ISO strings; empty when there is no block or it is unreadable."""
    span: Span
    """The block with both fences and the last line's end; `Span(n, n)` behind the BOM when there is none."""
    present: bool
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One Markdown file as read: its bytes and what they mean."""

    address: Address
    raw: bytes
    text: str
    """`raw` decoded, BOM removed; undecodable bytes became U+FFFD (then `decodable` is false)."""
    decodable: bool
    """False when the bytes are no UTF-8: offsets are then those of `text` encoded again, and edits are refused."""
    newline: str
    """The document's own line end: the commoner of `\\n` and `\\r\\n`, `\\n` for a file without any."""
    frontmatter: Frontmatter
    sections: tuple[Section, ...]
    links: tuple[Link, ...]
    tags: tuple[str, ...]
    """Frontmatter tags and `#tags` of the body, without `#`, in order, without repeats."""
    findings: tuple[Finding, ...]
    title: str
    """Frontmatter `title`, else the first heading of level 1, else the file's stem."""
    words: int
    """White-space-separated runs of the body."""

    @property
    def body_start(self) -> int:
        """Byte offset at which the text after the frontmatter begins."""
        return self.frontmatter.span.end
