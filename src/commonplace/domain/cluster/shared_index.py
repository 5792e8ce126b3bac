"""Ports of a search engine that several servers share, beside `domain.ports.Index`, which one server has for itself.

A base is written by a tailer, which follows the base's branch, and searched by any server. Each base has an index of
its own in the engine, so that neither hits nor totals nor the statistics behind scores depend on another base. A
**generation** is one such index; one of them is published, and a new one is filled beside it and then takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:  # a server answers its client before it loads them
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from commonplace.domain.addresses import Address
    from commonplace.domain.changes import Revision
    from commonplace.domain.documents import Document
    from commonplace.domain.query import Record, SearchQuery, SearchResult
    from commonplace.domain.similarity import QuestionVector


LinkLabels: TypeAlias = "Callable[[SharedBase, Address], Collection[tuple[str, str]]]"
"""Returns label and page of each link `[[label|page]]` of a page of a base, as a reader takes them."""


@dataclass(frozen=True, slots=True)
class SharedBase:
    """A base in a shared engine."""

    name: str
    """Its name, 1 to 100 characters. The same on each server that serves it."""
    source: str
    """A digest of the remote and the branch that it follows, so that two bases of one name are not mixed."""
    meaning: bool = field(default=False, compare=False)
    """Whether the engine also gets the chunks of its pages, to which workers add vectors."""


def no_labels(base: SharedBase, address: Address) -> Collection[tuple[str, str]]:
    """No links that have their label first."""
    del base, address
    return ()


@dataclass(frozen=True, slots=True)
class SharedPage:
    """A page to be indexed: what it says, and what lists and hits show of it."""

    document: Document
    record: Record


@dataclass(frozen=True, slots=True)
class BranchPosition:
    """A place on a base's branch."""

    number: int
    """The commit and its ancestors, counted: at least 1, and greater for each later commit of the branch."""
    commit: str
    """40 hex digits."""


@dataclass(frozen=True, slots=True)
class SharedResult:
    """Results of one search, by base, in the order in which the bases were given."""

    results: Mapping[SharedBase, SearchResult]
    partial: frozenset[SharedBase] = frozenset()
    """Bases of which a part could not be searched: hits and totals may be too few."""


@dataclass(frozen=True, slots=True)
class IndexDifferences:
    """How an engine's index of a base differs from the base."""

    missing: frozenset[Address] = frozenset()
    """Pages, or sections of pages, that the engine lacks."""
    outdated: frozenset[Address] = frozenset()
    """Pages that the engine has at another revision."""
    surplus: frozenset[Address] = frozenset()
    """Pages that the engine has and the base has not."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.outdated or self.surplus)


class SharedIndexReader(Protocol):
    """Searches of a shared engine. Thread-safe.

    Every method raises UnavailableError of kind "engine" if the engine does not respond, refuses the credentials or the
    certificate, or has the base's index in a form that this version cannot read; the hint says what to do. What the
    engine says of other bases is never part of an error.
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
            bases: The bases that the caller may see. A base that was dropped, or never published, is an error.
            query: The query; `offset` and `limit` count within each base. Similarities are ignored.
            labels: Returns label and page of a page's links `[[label|page]]`, of which snippets show the label.
            question: The query as a vector, for a search by meaning or both; bases without vectors of its model are
                searched by words.

        Raises:
            InvalidInputError: the text is blank.
            NotFoundError: kind "engine": a base has no published index.
        """
        ...

    def through(self, base: SharedBase) -> BranchPosition | None:
        """Up to where the published index contains the branch, searchable; None without a published index."""
        ...

    def wait_for(self, base: SharedBase, number: int, timeout: float) -> bool:
        """Wait at most `timeout` seconds until `through` is at least `number`. Returns whether it is."""
        ...


class SharedIndexWriter(Protocol):
    """Writes of a shared engine, for the one tailer of a base. Thread-safe.

    Repeating a write is harmless, and a write that is older than what the engine has changes nothing. Errors are those
    of `SharedIndexReader`; after one, it is unknown what was written, and the tailer goes on from `through`.
    """

    def begin(self, base: SharedBase) -> int:
        """Create an empty generation beside the published one, which goes on being searched. Returns its number.

        Raises:
            UnavailableError: kind "engine": with `building` in its context, another server is building one.
        """
        ...

    def publish(self, base: SharedBase, generation: int) -> None:
        """Have a generation searched from now on, in one step, and delete those before it."""
        ...

    def put(self, base: SharedBase, number: int, pages: Iterable[SharedPage], generation: int | None = None) -> None:
        """Index pages with all their sections, as of a place on the branch.

        Args:
            base: The base.
            number: The place; see `BranchPosition.number`.
            pages: The pages. Sections that a page had and has no more are removed.
            generation: The generation; None for the published one.
        """
        ...

    def remove(
        self, base: SharedBase, addresses: Iterable[Address], number: int, generation: int | None = None
    ) -> None:
        """Remove pages with all their sections, as of a place on the branch. Unknown ones are passed over."""
        ...

    def advance(self, base: SharedBase, position: BranchPosition, generation: int | None = None) -> None:
        """Make what was written searchable, and then set `through`."""
        ...

    def drop(self, base: SharedBase) -> None:
        """Delete all generations of a base. Searches of it fail from then on. A base that is not there is no error."""
        ...

    def verify(
        self, base: SharedBase, expected: Mapping[Address, Revision], generation: int | None = None
    ) -> IndexDifferences:
        """Compare the index with the pages of a base, by revision and number of sections."""
        ...
