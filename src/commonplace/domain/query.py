"""What can be asked of an index, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.documents import Finding, Link
from commonplace.domain.json import Json

if TYPE_CHECKING:  # a server answers its client before anything is searched
    from commonplace.domain.similarity import SimilarityScores
    from commonplace.domain.snippets import HighlightTerms

SortKey = Literal["path", "title", "type", "date", "created", "updated", "updated_day", "score"]
"""`updated_day` counts days alone, so that documents of one day stand by path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which documents are meant; every given part must hold. Empty: all of them.

    Values are compared whole and without regard to case; days are inclusive `YYYY-MM-DD` strings.
    """

    prefix: str = ""
    """Path prefix, such as `notes/`; compared as written."""
    types: tuple[str, ...] = ()
    """One of these types (frontmatter `type`, else `category`)."""
    tags: tuple[str, ...] = ()
    """All of these tags; `a` also matches the nested `a/b`."""
    any_tags: tuple[str, ...] = ()
    """At least one of these tags, whole."""
    date_from: str = ""
    date_to: str = ""
    """Bounds on the document's own `date`; documents without one are left out when a bound is given."""
    created_from: str = ""
    created_to: str = ""
    updated_from: str = ""
    updated_to: str = ""
    dates: tuple[tuple[str, int | None, int | None], ...] = ()
    """Frontmatter key (of `records.STATED_KEYS`), and the first and last second, in unix seconds and None where that
    is open, of the moment that it states; documents in which it states none are left out."""
    fields: tuple[tuple[str, str], ...] = ()
    """Frontmatter key and value; a list matches when one of its items does."""
    among: tuple[Address, ...] | None = None
    """Only these documents, in any order."""
    without: tuple[Address, ...] = ()
    """Not these documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """A page of the documents that a filter keeps."""

    filter: Filter = Filter()
    sort: SortKey = "path"
    descending: bool = False
    offset: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A search as the caller typed it."""

    text: str
    filter: Filter = Filter()
    sort: SortKey = "score"
    descending: bool = True
    offset: int = 0
    limit: int = 20
    sections: int = 1
    """How many sections to name for each document, best first; with 0 no document is opened."""
    records: bool = True
    """Whether hits are wanted; else the answer says only where the documents lie."""
    snippet: int = 200
    """Characters of a snippet at the most."""
    prefix: bool = True
    """Whether the last word also matches as the beginning of a word."""
    similarity: SimilarityScores | None = None
    """How near documents are in meaning, where that counts: within the filter."""
    words: bool = True
    """Whether words count; without them, meaning alone does."""
    scale: float = 0.0
    """What a score by words is divided by to be added to a similarity; 0 for the best document's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What the index knows of a document without opening it."""

    address: Address
    id: str
    """Frontmatter `id` as a string, else the path without its suffix."""
    title: str
    type: str
    """Frontmatter `type`, else `category`, else ""."""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    description: str = ""
    """Frontmatter `summary`, else `description`, else ""."""
    date: str = ""
    """Frontmatter `date` as `YYYY-MM-DD…`, or ""."""
    created: str = ""
    """ISO 8601 UTC: frontmatter, else the first commit, else the file's times."""
    updated: str = ""
    words: int = 0
    size: int = 0
    revision: Revision = ""
    frontmatter: Mapping[str, Json] = field(default_factory=dict[str, Json])
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionHit:
    """The section of a document that answers, and the words in it that do."""

    ordinal: int
    path: tuple[str, ...]
    """Headings from the outermost to this section's own; empty for the text before the first heading."""
    anchor: str
    snippet: str
    """Plain text that contains a matched word wherever the section has one."""
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that answers a search."""

    record: Record
    score: float
    """Higher is better; comparable within one answer only."""
    sections: tuple[SectionHit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A page of hits."""

    hits: tuple[Hit, ...]
    total: int
    """How many documents match in all, whatever the limit."""
    addresses: tuple[Address, ...] = ()
    """Where the documents lie, in order, when no hits were wanted."""
    highlight: HighlightTerms | None = None
    """What was looked for, for callers who cut snippets themselves; None when nothing was."""
    generation: int = -1
    """That of the index which answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPage:
    """A page of records."""

    records: tuple[Record, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLink:
    """A link, who holds it and where it leads."""

    source: Address
    link: Link
    target: Address | None
    """The document or file meant, or None when the link is broken."""
    sentence: str = ""
    """The text round the link, one line, for people; "" when not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Totals over a collection."""

    documents: int
    sections: int
    links: int
    tags: int
    types: tuple[tuple[str, int], ...] = ()
    """Type and number of documents, commonest first; documents without a type count under ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What bringing an index up to date changed."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unreadable: tuple[tuple[str, str], ...] = ()
    """Path and reason of files that could not be read; they are served no more, and listed by `check`."""
