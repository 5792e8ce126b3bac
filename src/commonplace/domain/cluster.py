"""Values and ports of servers that share one base: replicas of a remote, and a search engine for all of them."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from commonplace.domain.query import Background, ChunkHit, Filter, NearDocument, QuestionVector

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from commonplace.domain.addresses import Address
    from commonplace.domain.changes import Revision
    from commonplace.domain.documents import Document
    from commonplace.domain.query import Record, SearchQuery, SearchResult


# Ports of a search engine that several servers share; `domain.ports.Index` is the index of a single server.
#
# A base is written by a tailer, which follows the base's branch, and searched by any server. Each base has its own
# index in the engine, so that hits, totals and the statistics behind scores do not depend on other bases. Such an
# index is called a **generation**. One generation is published; a new one is filled separately and then replaces it.


LinkLabels: TypeAlias = "Callable[[SharedBase, Address], Collection[tuple[str, str]]]"
"""Returns label and page of the links of a page of a base that are written `[[label|page]]` for the reader."""


@dataclass(frozen=True, slots=True)
class SharedBase:
    """A base in a shared engine."""

    name: str
    """Name of the base, 1 to 100 characters; the same on each server."""
    source: str
    """A digest of the followed remote and branch, which distinguishes bases of the same name."""
    meaning: bool = field(default=False, compare=False)
    """Whether the engine also has the chunks of the pages, to which workers add vectors."""


def no_labels(base: SharedBase, address: Address) -> Collection[tuple[str, str]]:
    """Return no links; for bases without links that have the label first."""
    del base, address
    return ()


@dataclass(frozen=True, slots=True)
class SharedPage:
    """A page to index: its document, and its record for lists and hits."""

    document: Document
    record: Record


@dataclass(frozen=True, slots=True)
class BranchPosition:
    """A position on a base's branch."""

    number: int
    """Number of commits in the commit's history, including itself: at least 1, and increasing along the branch."""
    commit: str
    """Id of the commit, 40 hex digits."""


@dataclass(frozen=True, slots=True)
class SharedResult:
    """Results of one search by base, in the order of the requested bases."""

    results: Mapping[SharedBase, SearchResult]
    partial: frozenset[SharedBase] = frozenset()
    """Bases of which a part could not be searched, so that hits and totals may be incomplete."""


@dataclass(frozen=True, slots=True)
class IndexDifferences:
    """Differences between an engine's index and its base."""

    missing: frozenset[Address] = frozenset()
    """Pages, or sections of pages, that the engine lacks."""
    outdated: frozenset[Address] = frozenset()
    """Pages that the engine has at another revision."""
    surplus: frozenset[Address] = frozenset()
    """Pages in the engine that do not exist in the base."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.outdated or self.surplus)


class SharedIndexReader(Protocol):
    """Searches of a shared engine. Thread-safe.

    Every method raises UnavailableError of kind "engine" if the engine does not respond, rejects the credentials or the
    certificate, or has the base's index in a form that this version cannot read; the hint gives the next step. Errors
    never contain the engine's texts about other bases.
    """

    def search(
        self,
        bases: Sequence[SharedBase],
        query: SearchQuery,
        labels: LinkLabels = no_labels,
        question: QuestionVector | None = None,
    ) -> SharedResult:
        """Ranked pages of each base with their best sections.

        Args:
            bases: The bases to search. A base that was dropped or never published causes an error.
            query: The query; `offset` and `limit` count within each base. Similarities are ignored.
            labels: Returns label and page of a page's links `[[label|page]]`; snippets show the label.
            question: The query as a vector, for a semantic or hybrid search. Bases without vectors of its model are
                searched by words.

        Raises:
            InvalidInputError: the text is blank.
            NotFoundError: kind "engine": a base has no published index.
        """
        ...

    def through(self, base: SharedBase) -> BranchPosition | None:
        """The branch position that the published index has reached for searches; None without a published index."""
        ...

    def wait_for(self, base: SharedBase, number: int, timeout: float) -> bool:
        """Wait at most `timeout` seconds until `through` is at least `number`. Returns whether it is."""
        ...


class SharedIndexWriter(Protocol):
    """Writes of a shared engine, for the one tailer of a base. Thread-safe.

    Repeating a write is harmless, and a write older than the engine's version changes nothing. The errors are those of
    `SharedIndexReader`. After an error it is unknown which writes succeeded; the tailer continues from `through`.
    """

    def begin(self, base: SharedBase) -> int:
        """Create an empty generation and return its number. The published generation is still searched.

        Raises:
            UnavailableError: kind "engine"; if its context has `building`, another server is building a generation.
        """
        ...

    def publish(self, base: SharedBase, generation: int) -> None:
        """Publish a generation for searches in one atomic step. Once it answers, delete the earlier generations."""
        ...

    def put(self, base: SharedBase, number: int, pages: Iterable[SharedPage], generation: int | None = None) -> None:
        """Index pages with all their sections, as of a position on the branch.

        Args:
            base: The base.
            number: The position; see `BranchPosition.number`.
            pages: The pages. Sections that a page no longer has are removed.
            generation: The generation; None for the published one.
        """
        ...

    def remove(
        self, base: SharedBase, addresses: Iterable[Address], number: int, generation: int | None = None
    ) -> None:
        """Remove pages with all their sections, as of a position on the branch. Unknown pages are skipped."""
        ...

    def advance(self, base: SharedBase, position: BranchPosition, generation: int | None = None) -> None:
        """Make the writes searchable, and then set `through`."""
        ...

    def drop(self, base: SharedBase) -> None:
        """Delete all generations of a base, if there are any. Later searches of the base fail."""
        ...

    def count(self, base: SharedBase) -> int:
        """Number of pages in the published index."""
        ...

    def verify(
        self, base: SharedBase, expected: Mapping[Address, Revision], generation: int | None = None
    ) -> IndexDifferences:
        """Compare the index with the pages of a base, by revision and number of sections."""
        ...


# Ports of the vectors of a base in a shared engine: searching them, and embedding the missing ones.
#
# The tailer writes the chunks of each page as texts. Workers, any number of processes on any machines, claim ranges of
# chunks that lack a vector of their model, and write the vectors. A claim is a document in the engine that is changed
# by compare-and-swap. Workers share nothing except the engine.


@dataclass(frozen=True, slots=True)
class NearestPages:
    """The pages most similar to a query."""

    best: tuple[NearDocument, ...]
    """Pages, most similar first."""
    background: Background
    """The similarity of an ordinary page."""


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """Counts of a base's vectors by one model."""

    documents: int
    """Number of pages with all vectors."""
    chunks: int
    """Number of chunks with a vector."""
    pending: int
    """Number of pages that lack a vector."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A range of chunks that one worker embeds."""

    base: SharedBase
    model: str
    part: str
    """The range: the two hex digits with which the keys of its pages begin."""
    owner: str
    beat: int
    """Number of renewals."""
    state: tuple[int, int]
    """Sequence number and primary term, which the engine compares before it changes the claim."""


class SharedVectors(Protocol):
    """Searches of vectors. Thread-safe. Raises the errors of `shared_index.SharedIndexReader`."""

    def has(self, base: SharedBase, model: str) -> bool:
        """Whether a base has vectors of a model. The result is cached for about 30 seconds."""
        ...

    def nearest(self, base: SharedBase, question: QuestionVector, filter_: Filter, limit: int) -> NearestPages:
        """The pages within a filter that are most similar to a query."""
        ...

    def of(self, base: SharedBase, question: QuestionVector, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        """The similarities of these pages; pages without vectors are omitted."""
        ...

    def nearest_chunks(self, base: SharedBase, question: QuestionVector, count: int, each: int) -> Sequence[ChunkHit]:
        """The most similar chunks, at most `each` of a page."""
        ...

    def counts(self, base: SharedBase, model: str) -> VectorCounts:
        """The counts of embedded and pending pages and chunks."""
        ...


class EmbeddingWork(Protocol):
    """The chunks that lack vectors, for workers. Thread-safe. Raises the errors of `SharedIndexReader`."""

    def bases(self) -> Sequence[SharedBase]:
        """The bases whose chunks are in the engine."""
        ...

    def prepare(self, base: SharedBase, model: str, dimension: int) -> None:
        """Prepare the base for vectors of a model. Raises StorageError if it has vectors of another dimension."""
        ...

    def lacking(self, base: SharedBase, model: str) -> Sequence[str]:
        """The ranges with chunks that lack a vector of a model."""
        ...

    def claim(self, base: SharedBase, model: str, part: str, owner: str) -> Claim | None:
        """Claim a range; None if another worker has it.

        A claim that was not renewed for some seconds, by this worker's clock, is taken over.
        """
        ...

    def renew(self, claim: Claim) -> Claim | None:
        """Renew a claim; None if another worker has taken it over."""
        ...

    def release(self, claim: Claim) -> None:
        """Release a claim, and make the written vectors searchable."""
        ...

    def texts(self, claim: Claim) -> Iterator[Sequence[tuple[str, str]]]:
        """Ids and texts of the chunks of a range that lack a vector, in batches."""
        ...

    def store(self, claim: Claim, vectors: Mapping[str, Sequence[int] | None]) -> None:
        """Write vectors by chunk; None for a text without a vector. Deleted chunks are skipped."""
        ...


# Similarities of documents to a query, computed by a shared engine that has the vectors.


class EngineSimilarity:
    """`domain.query.SimilarityScores` of a base in an engine.

    A search by the engine itself uses only the question. Any other search requests the similarities from the engine
    through this object, when it first needs one.

    Args:
        vectors: The engine.
        base: The base.
        question: The query.
        filter_: The filter.
        limit: Maximum number of best documents.
    """

    def __init__(
        self, vectors: SharedVectors, base: SharedBase, question: QuestionVector, filter_: Filter, limit: int
    ) -> None:
        self.question = question
        self.understood = question.understood
        self._vectors = vectors
        self._base = base
        self._filter = filter_
        self._limit = limit

    @cached_property
    def _nearest(self) -> NearestPages:
        return self._vectors.nearest(self._base, self.question, self._filter, self._limit)

    @property
    def background(self) -> Background:
        """The similarity of an ordinary document."""
        return self._nearest.background

    @property
    def best(self) -> Sequence[NearDocument]:
        """The most similar documents within the filter, best first."""
        return self._nearest.best

    def of(self, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        """The similarities of these documents; documents without vectors are omitted."""
        return self._vectors.of(self._base, self.question, paths)


# The port of replicas, which are collections that follow a remote.


AnsweredBy: TypeAlias = Literal["engine", "engine, in part", "own index", "own index, engine failing"]
"""The index that answered a search: the shared engine, completely or in part, or this server's own index.

"own index" means that the engine was behind; "own index, engine failing" that it failed.
"""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """State of a replica's index in a search cluster."""

    behind: float
    """Seconds since the shared index last contained the followed commit; 0 if it contains the commit now."""
    searches: Mapping[AnsweredBy, int]
    """Number of searches since the start of the process, by the index that answered them."""
    failure: str = ""
    """The reason why the last search failed; "" if it succeeded, or none was made."""
    failed: float | None = None
    """Seconds since then; None if no search failed."""


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """State of a replica's writes to its remote."""

    waiting: int
    """Number of writes that wait for a push."""
    has_lease: bool
    """Whether this server pushed in the last ten seconds and has the lease. No server has it while nobody writes."""
    messages: tuple[str, ...] = ()
    """Commit messages of the writes that wait for a push."""
    oldest: float = 0.0
    """Seconds for which the oldest of them has been waiting; 0 if none does."""
    problem: str = ""
    """The reason why a write would fail now; "" if none is known."""
    owner: str = ""
    """Host and port of the server that had the lease last; "" if none had it, or servers do not share writes."""
    owned: float | None = None
    """Seconds since this server saw that server take the lease over; None without an owner."""
    next_writer: str = ""
    """Host and port of the server that gets the next write; "" if it is this one, or servers do not share writes."""


class RemoteStatus(NamedTuple):
    """Seconds since a remote last answered, accepted a push, stopped to answer, and refused a push, with its words."""

    answered: float | None = None
    pushed: float | None = None
    silent: float | None = None
    refused: tuple[float, str] | None = None


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """State of a replica."""

    commit: str
    """The commit that every answer contains at least; "" before the first fetch, and for a remote without commits."""
    ready: bool
    """Whether the replica can be searched, that is, it was fetched at least once and is indexed."""
    age: float | None
    """Seconds since the remote was last read; None if this process has not read it yet."""
    problem: str = ""
    """The reason why the last fetch or its indexing failed; "" if it succeeded."""
    shared_index: str | None = None
    """State of the index in a search cluster: "current", "behind" or its problem; None without a search cluster."""
    engine: EngineStatus | None = None
    """State of the index in a search cluster; None without a search cluster."""
    writer: WriterStatus | None = None
    """State of the writes; None for a read-only replica."""
    remote: RemoteStatus = field(default_factory=RemoteStatus)
    """The remote as this server meets it."""
    free: int | None = None
    """Free space on the disk of the clone in bytes; None if it cannot be read."""
    packs: int | None = None
    """Number of packs in the clone, which are gathered in the background; None if it cannot be read."""


class Replica(Protocol):
    """A collection that follows the branch of a remote."""

    write_seconds: float
    """Maximum time of a write in seconds, whatever it waits for."""

    def status(self, begun_at: str = "") -> ReplicaStatus:
        """The current state, without a request to the remote.

        Args:
            begun_at: The commit that an earlier status had, for the commit of an answer that was begun then: the same
                while the branch has it. After a forced push the last commit that the branch had before and has now; ""
                if there is none. "" for the present commit.
        """
        ...

    def follows(self, url: str) -> bool:
        """Whether a URL, in any of the forms of Git hosts, names the remote."""
        ...

    def refresh(self, *, now: bool = False) -> None:
        """Request a fetch from the remote soon. Returns at once.

        Args:
            now: Whether to fetch before returning, so that the next write sees the writes of other servers. Does
                nothing if the replica is read-only.

        Raises:
            UnavailableError: the remote cannot be read now.
            StorageError: the clone cannot be written.
        """
        ...

    def wait_for(self, commit: str, timeout: float) -> None:
        """Wait until answers contain a commit.

        Args:
            commit: Id of the commit, 40 hex digits.
            timeout: Timeout in seconds.

        Raises:
            NotFoundError: kind "commit": the remote was read, and its branch no longer contains the commit.
            UnavailableError: kind "commit": the wait timed out.
        """
        ...

    def take_writes(self, body: bytes) -> dict[str, list[dict[str, str]]] | None:
        """Push the writes that another server forwards.

        Args:
            body: The writes in the form of `store.replica.handed_writes`.

        Returns:
            The results as JSON; None if the writes are for another remote, or this replica is read-only.

        Raises:
            InvalidInputError: the body does not have this form.
        """
        ...


# Records the commits that a call's writes made at remotes, so that its answer can name them.


_WRITTEN: ContextVar[dict[str, str] | None] = ContextVar("written", default=None)


@contextmanager
def recording_written() -> Generator[dict[str, str]]:
    """Collect the last commit of the block's writes to each store, by the store's identity.

    Only writes in the current context are collected. At the end they are added to an enclosing block's result.
    """
    written: dict[str, str] = {}
    outer = _WRITTEN.get()
    token = _WRITTEN.set(written)
    try:
        yield written
    finally:
        _WRITTEN.reset(token)
        if outer is not None:
            outer |= written


def record_written(store: str, commit: str) -> None:
    """Add the commit of a write that a remote has accepted to the result of `recording_written`, if one is active.

    Args:
        store: The store's identity.
        commit: The commit.
    """
    written = _WRITTEN.get()
    if written is not None:
        written[store] = commit


# Notices about the answer of a call, for faces whose answers have no field for notices.


_SAID: ContextVar[list[str] | None] = ContextVar("said", default=None)


@contextmanager
def recording_notices() -> Generator[list[str]]:
    """Collect the notices of the block, without repetitions. Only notices in the current context are collected."""
    said: list[str] = []
    token = _SAID.set(said)
    try:
        yield said
    finally:
        _SAID.reset(token)


def note(text: str) -> None:
    """Add a notice to the list of `recording_notices`, if one is active. It must not contain content of documents."""
    said = _SAID.get()
    if said is not None and text not in said:
        said.append(text)


# The route for writes forwarded from another server, and the signature of its calls.
#
# The header is `TIME NUMBER SENDER RECIPIENT HMAC`, separated by blanks. The HMAC covers the other four and the body,
# so that a recorded call is refused later, a second time, and at another server.


WRITES_PATH = "/cluster/writes"
STATE_PATH = "/cluster/state"
WRITES_SIGNATURE = "commonplace-signature"
"""Name of the header with the signature."""
MAX_FORWARDED = 8_000_000
"""Maximum length of a body in bytes. Larger writes are not forwarded."""
MAX_CLOCK_SECONDS = 60
"""Maximum difference in seconds between the time of a signature and the receiver's clock."""
NO_URL = "-"
"""Sender of a call by a process without a URL, such as a command."""
_HEADER = re.compile(r"([0-9]{1,12}) ([\w-]{16,64}) (\S{1,2000}) (\S{1,2000}) ([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class WritesSignature:
    """The signed facts about a call."""

    time: int
    """Seconds since 1970."""
    number: str
    """Random text that is used once."""
    sender: str
    """URL of the sending server; `NO_URL` without one."""
    recipient: str
    """URL of the receiving server."""

    def header(self, body: bytes, secret: str) -> str:
        """The value of the header for a body."""
        facts = f"{self.time} {self.number} {self.sender} {self.recipient}"
        key, signed = secret.encode("utf-8", "surrogateescape"), facts.encode("utf-8", "replace") + b"\n" + body
        return f"{facts} {hmac.new(key, signed, hashlib.sha256).hexdigest()}"


def sign(body: bytes, secret: str, sender: str, recipient: str) -> str:
    """The header of a call that is sent now."""
    number = secrets.token_urlsafe(24)
    return WritesSignature(int(time.time()), number, sender or NO_URL, recipient).header(body, secret)


def signature_in(header: str, body: bytes, secret: str) -> WritesSignature | None:
    """The facts that a header signs; None unless the secret's holder signed them for this body."""
    parts = _HEADER.fullmatch(header.strip())
    if parts is None:
        return None
    signature = WritesSignature(int(parts[1]), parts[2], parts[3], parts[4])
    is_signed = hmac.compare_digest(signature.header(body, secret).encode(), header.strip().encode("utf-8", "replace"))
    return signature if is_signed else None
