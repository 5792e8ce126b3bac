"""Ports of a search engine that several servers share; `domain.ports.Index` is the index of a single server.

A base is written by a tailer, which follows the base's branch, and searched by any server. Each base has its own index
in the engine, so that hits, totals and the statistics behind scores do not depend on other bases. Such an index is
called a **generation**. One generation is published; a new one is filled separately and then replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:  # a server answers its client before it loads these modules
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from commonplace.domain.addresses import Address
    from commonplace.domain.changes import Revision
    from commonplace.domain.documents import Document
    from commonplace.domain.query import Record, SearchQuery, SearchResult
    from commonplace.domain.similarity import QuestionVector


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
        """Publish a generation for searches in one atomic step, and delete the earlier generations."""
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

    def verify(
        self, base: SharedBase, expected: Mapping[Address, Revision], generation: int | None = None
    ) -> IndexDifferences:
        """Compare the index with the pages of a base, by revision and number of sections."""
        ...
