"""Queries of an index, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol
from unicodedata import normalize

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.documents import Finding, Link
from commonplace.domain.json import Json

if TYPE_CHECKING:  # a server answers its client before it loads these modules
    from commonplace.domain.snippets import HighlightTerms
    from commonplace.domain.status import TextStatus
    from commonplace.domain.words.moments import Since


SortKey = Literal["path", "title", "type", "date", "created", "updated", "updated_day", "score"]
"""Sort key of a list. `updated_day` compares days only, so that documents of one day are sorted by path."""

StatusChoice = Literal["any", "current", "draft", "superseded", "retired", "expired"]
"""The status to which a search is narrowed; `current` leaves out drafts and what lapsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A selection of documents; every given part must match. Empty: all documents.

    Values are compared whole and regardless of case; days are inclusive `YYYY-MM-DD` strings.
    """

    prefix: str = ""
    """Path prefix, such as `notes/`; case-sensitive unless `prefix_any_case`, in any Unicode normalization."""
    prefix_any_case: bool = False
    types: tuple[str, ...] = ()
    """Types (frontmatter `type`, otherwise `category`), one of which must match; empty for all."""
    tags: tuple[str, ...] = ()
    """Tags that must all match; `a` also matches the nested `a/b`."""
    any_tags: tuple[str, ...] = ()
    """Tags of which at least one must match, without nested ones."""
    date_from: str = ""
    date_to: str = ""
    """Last day of the document's `date`; `date_from` is the first. With a bound, documents without a date do not match.
    """
    created_from: str = ""
    created_to: str = ""
    updated_from: str = ""
    updated_to: str = ""
    dates: tuple[tuple[str, int | None, int | None], ...] = ()
    """Frontmatter keys (of `records.STATED_KEYS`), each with the minimum and maximum of its value.

    Bounds are in Unix seconds; None for no bound. Documents without a value for the key do not match.
    """
    fields: tuple[tuple[str, str], ...] = ()
    """Frontmatter keys and values; a list matches if one of its items does."""
    among: tuple[Address, ...] | None = None
    """The documents to select from, in any order; None for all."""
    without: tuple[Address, ...] = ()
    """Documents to exclude."""

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The prefix in each normalization in which files may have it; itself first. Empty without a prefix."""
        forms = (self.prefix, *(normalize(form, self.prefix) for form in ("NFC", "NFD")))
        return tuple(dict.fromkeys(forms)) if self.prefix else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """A page of the documents that match a filter."""

    filter: Filter = Filter()
    sort: SortKey = "path"
    descending: bool = False
    offset: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A search as typed by the caller."""

    text: str
    filter: Filter = Filter()
    sort: SortKey = "score"
    descending: bool = True
    offset: int = 0
    limit: int = 20
    sections: int = 1
    """Maximum number of sections per document, best first; with 0 no document is opened."""
    records: bool = True
    """Whether to return hits; if false, only the addresses of the documents are returned."""
    snippet: int = 200
    """Maximum number of characters of a snippet."""
    prefix: bool = True
    """Whether the last word also matches as a prefix."""
    demand: bool = True
    """Whether the phrases of a short query are required, and operators heeded; if false, phrases only raise ranks."""
    similarity: SimilarityScores | None = None
    """Similarities of the documents within the filter; None for a search by words only."""
    words: bool = True
    """Whether the words are searched; if false, only similarity counts."""
    status: str = ""
    """A `StatusChoice` to which `services.searches` narrows the search; "" for any."""
    since: Since | None = None
    """The moment since which text came, to which `services.searches` narrows the search; None for any."""
    scale: float = 0.0
    """Divisor of keyword scores before they are added to similarities; 0 for the best document's score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The indexed facts of a document; available without opening it."""

    address: Address
    id: str
    """Frontmatter `id` as a string, otherwise the path without its suffix."""
    title: str
    type: str
    """Frontmatter `type`, otherwise `category`, otherwise ""."""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    description: str = ""
    """Frontmatter `summary`, otherwise `description`, otherwise ""."""
    date: str = ""
    """Frontmatter `date` as `YYYY-MM-DD…`; "" for none."""
    created: str = ""
    """Created time in ISO 8601 UTC: from the frontmatter, otherwise the first commit, otherwise the file's times."""
    updated: str = ""
    words: int = 0
    size: int = 0
    revision: Revision = ""
    frontmatter: Mapping[str, Json] = field(default_factory=dict[str, Json])
    findings: tuple[Finding, ...] = ()
    blocks: tuple[str, ...] = ()
    """References to blocks with an id, as in `domain.links.NamedDocument`."""
    shares_id: bool = field(default=False, compare=False)
    """Whether another document of the index has the same id."""

    @property
    def reference(self) -> str:
        """The name of the document for callers: its id, or its path if another document has the same id."""
        return self.address.path if self.shares_id else self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionHit:
    """A matching section of a document, with its snippet."""

    ordinal: int
    path: tuple[str, ...]
    """Headings from the outermost to this section's own; empty for the text before the first heading."""
    anchor: str
    snippet: str
    """Plain text that contains a matched word if the section has one."""
    score: float
    status: TextStatus | None = None
    """Whether the section holds; None if neither it nor its page declares anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that matches a search."""

    record: Record
    score: float
    """Score; higher is better. Scores are comparable only within one result."""
    sections: tuple[SectionHit, ...] = ()
    titled: bool = False
    """Whether the query equals the document's title or one of its aliases. Such hits come first."""
    status: TextStatus | None = None
    """Whether the document, or the section by which it answers, holds; None if neither declares anything."""

    @property
    def is_lapsed(self) -> bool:
        """Whether what answers is superseded, retired or expired."""
        return self.status is not None and self.status.is_lapsed


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A page of hits."""

    hits: tuple[Hit, ...]
    total: int
    """Number of all matching documents, regardless of the limit."""
    addresses: tuple[Address, ...] = ()
    """Addresses of the documents, in order, if no hits were requested."""
    highlight: HighlightTerms | None = None
    """Terms of the search, for callers that create snippets themselves; None without terms."""
    demanded: int = 0
    """Number of quoted phrases that every hit contains."""
    has_operators: bool = False
    """Whether the query has operators, and every hit matches them."""
    known: bool = True
    """Whether any document contains a word of the query, including other forms and longer words."""
    unknown: tuple[str, ...] = ()
    """Words of the query that no document contains; empty if these are less than half of the significant words."""
    generation: int = -1
    """Generation of the index that answered."""
    notice: str = ""
    """A sentence about missing parts or an unusual source of the result, for people and agents; "" for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPage:
    """A page of records."""

    records: tuple[Record, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLink:
    """A link with its source and its target."""

    source: Address
    link: Link
    target: Address | None
    """The target document or file; None if the link is broken."""
    sentence: str = ""
    """The text around the link as one line; "" unless requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Totals over a collection."""

    documents: int
    sections: int
    links: int
    tags: int
    types: tuple[tuple[str, int], ...] = ()
    """Types with their number of documents, most frequent first; "" for documents without a type."""
    bytes: int = field(default=0, compare=False)
    """Size of the index's files on disk, which differs between equal indexes; 0 if there are none of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """The changes that a sync made to an index."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unreadable: tuple[tuple[str, str], ...] = ()
    """Path and reason of unreadable files. These files are no longer served; `check` lists them."""


# Values of semantic search that the index, the vectors and their callers exchange.


SearchMode = Literal["keyword", "semantic", "hybrid"]
"""The mode of a search: by words, by similarity, or both."""
SEARCH_MODES: tuple[SearchMode, ...] = ("keyword", "semantic", "hybrid")


@dataclass(frozen=True, slots=True)
class NearDocument:
    """A document and its section that is most similar to a query."""

    path: str
    ordinal: int
    """Ordinal of the section; for a chunk of several sections, that of the longest."""
    similarity: float
    """Cosine of the vectors, -1 to 1; higher is more similar."""


@dataclass(frozen=True, slots=True)
class Background:
    """The similarity that an ordinary document of the collection has to a query; zeros if it is unknown."""

    median: float = 0.0
    deviation: float = 0.0
    """Standard deviation of the similarities."""

    @property
    def threshold(self) -> float:
        """The similarity above which a document is more similar than an ordinary one."""
        return self.median + self.deviation


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """A query as a vector, for comparison with the vectors in a shared engine."""

    values: tuple[int, ...]
    """Components from -127 to 127; only the direction of the vector counts."""
    model: str
    """Digest of the model. Vectors of different models are never compared."""
    understood: float
    """Share of the query that the model has tokens for, 0 to 1."""


class SimilarityScores(Protocol):
    """Similarities of documents to one query."""

    @property
    def background(self) -> Background:
        """The similarity that an ordinary document of the collection has to the query; see `fusion.background`."""
        ...

    @property
    def understood(self) -> float:
        """Share of the query that the model has tokens for, 0 to 1; 1 if unknown."""
        ...

    @property
    def best(self) -> Sequence[NearDocument]:
        """The most similar documents within the filter, best first."""
        ...

    def of(self, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        """The similarities of these documents; documents without vectors are omitted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkHit:
    """A chunk that is similar to a query."""

    path: str
    ordinal: int
    number: int
    """Position of the chunk in its document, from 0."""
    of: int
    """Number of chunks of the document."""
    similarity: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """The documents that a search compares by similarity."""

    documents: int = 0
    """Number of documents of the collection; 0 if semantic search is not set up."""
    pending: int = 0
    """Number of documents without vectors yet."""
    obstacle: str = ""
    """A clause that says why no document is compared, such as "the model is being loaded"; "" for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus:
    """Status of the semantic search of one collection."""

    status: Literal["off", "missing", "failing", "waiting", "working", "ready"]
    """Switched off; no model; failing model; pending texts; texts being embedded; all texts embedded."""
    model: str = ""
    """Name of the model."""
    documents: int = 0
    """Number of documents with vectors."""
    chunks: int = 0
    pending: int = 0
    """Number of documents without vectors yet."""
    reason: str = ""
    """The reason why the model is missing or failing, and what to do, in one or two sentences; "" for none."""
