"""Bases that several servers serve: searching a shared engine, keeping it up to date, and the freshness of answers."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol, cast, get_args
from urllib.parse import quote, unquote

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.cluster import (
    AnsweredBy,
    BranchPosition,
    EngineSimilarity,
    EngineStatus,
    IndexDifferences,
    SharedBase,
    SharedIndexReader,
    SharedIndexWriter,
    SharedPage,
    note,
)
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError, StorageError, UnavailableError
from commonplace.domain.ports import Index
from commonplace.domain.query import Filter, Hit, ListQuery, SearchQuery, SearchResult
from commonplace.services.collections import Collection, Collections

# An index whose searches are answered by a shared engine, or by this server's own index if the engine cannot.


log = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0
"""Seconds after a failure in which the engine gets no searches, so that these do not wait for a failing engine."""
OWN_ANSWER = "The answer comes from this server's own index."
PARTIAL = "A part of the shared index could not be searched: there may be more pages than these."


class SharedSearch:
    """`domain.ports.Index` that sends searches to a shared engine, and all other calls to this server's own index.

    A semantic search is answered by the engine if it has the vectors, otherwise by the own index.

    Args:
        own: This server's own index.
        reader: The engine.
        tailer: The tailer that updates the engine's index.
    """

    def __init__(self, own: Index, reader: SharedIndexReader, tailer: Tailer) -> None:
        self.own = own
        self.reader = reader
        self._tailer = tailer
        self._lock = threading.Lock()
        self._resting_until = 0.0
        self._reason = ""

    if TYPE_CHECKING:  # `__getattr__` forwards every other call

        def __getattr__(self, name: str) -> object: ...

    else:

        def __getattr__(self, name: str) -> object:
            return getattr(self.own, name)

    def preferring_last(self) -> SharedSearch:
        """The same index, with the own index for readers who prefer `b` in `[[a|b]]`."""
        return SharedSearch(self.own.preferring_last(), self.reader, self._tailer)

    @property
    def base(self) -> SharedBase:
        """The base in the engine."""
        return self._tailer.base

    def search(self, query: SearchQuery) -> SearchResult:
        """Ranked documents with their best sections; from the engine if it contains this server's commit."""
        return search_together([(cast("Index", self), query)])[0]

    def is_shared(self, query: SearchQuery) -> bool:
        """Whether the engine is used: it contains this server's commit, and its last answer was no error."""
        if _has_own_vectors(query):
            return False
        return self._tailer.is_current and not (self._tailer.problem or self._resting())

    def labels(self, address: Address) -> set[tuple[str, str]]:
        """Label and target of each link of a page, as interpreted by the reader of this index."""
        return {(link.link.label, link.link.raw) for link in self.own.links_from(address) if link.link.label}

    def search_alone(self, query: SearchQuery) -> SearchResult:
        """The answer of the own index. It has no notice while the engine is being updated to a commit.

        Raises:
            UnavailableError: kind "engine": a purely semantic search, whose vectors are in the engine.
        """
        if _has_own_vectors(query):
            return self.own.search(query)
        reason = self._tailer.problem or self._resting()
        if reason and query.similarity is not None:
            if not query.words:
                raise UnavailableError(
                    f"{reason} It has the vectors of the pages.",
                    kind="engine",
                    hint="Try again later, or search with mode=keyword.",
                )
            query = replace(query, similarity=None)
        self._tailer.searches.add("own index, engine failing" if reason else "own index")
        return _noted(self.own.search(query), f"{reason} {OWN_ANSWER}" if reason else "")

    def count(self, *, in_part: bool) -> None:
        """Count a search that the engine answered."""
        self._tailer.searched("")
        self._tailer.searches.add("engine, in part" if in_part else "engine")

    def rest(self, reason: str) -> None:
        """Send no searches to the engine for `PAUSE_SECONDS`, because it has just failed."""
        self._tailer.searched(reason)
        with self._lock:
            self._resting_until = time.monotonic() + PAUSE_SECONDS
            if reason != self._reason:
                log.warning("%s: %s", self.base.name, reason)
            self._reason = reason

    def _resting(self) -> str:
        with self._lock:
            return self._reason if time.monotonic() < self._resting_until else ""


def search_together(queries: Sequence[tuple[Index, SearchQuery]]) -> list[SearchResult]:
    """The results of several indexes. Equal queries to one engine are sent together.

    Raises:
        InvalidInputError: a text is blank.
        UnavailableError: kind "engine": see `SharedSearch.search_alone`.
    """
    groups: dict[tuple[int, SearchQuery], list[int]] = {}
    for at, (index, query) in enumerate(queries):
        if isinstance(index, SharedSearch) and index.is_shared(query):
            groups.setdefault((id(index.reader), replace(query, similarity=None)), []).append(at)
    found_values: dict[int, SearchResult] = {}
    for places in groups.values():
        shared = {at: other_index for at in places if isinstance(other_index := queries[at][0], SharedSearch)}
        found_values |= dict(zip(shared, _from_engine(list(shared.values()), queries[places[0]][1]), strict=True))
    return [found_values[at] if at in found_values else _alone(*query) for at, query in enumerate(queries)]


def _alone(index: Index, query: SearchQuery) -> SearchResult:
    return index.search_alone(query) if isinstance(index, SharedSearch) else index.search(query)


def _from_engine(indexes: Sequence[SharedSearch], query: SearchQuery) -> list[SearchResult]:
    """The engine's results; those of the own indexes if the engine fails."""
    of_base = {index.base: index for index in indexes}
    generations = [index.own.generation for index in indexes]
    question = query.similarity.question if isinstance(query.similarity, EngineSimilarity) else None
    try:
        match = indexes[0].reader.search(
            list(of_base),
            replace(query, similarity=None),
            lambda base, address: of_base[base].labels(address),
            question,
        )
    except (UnavailableError, NotFoundError) as error:
        if error.kind != "engine":
            raise
        if isinstance(error, NotFoundError) and len(indexes) > 1:  # one base was dropped; the others may exist
            return [result for index in indexes for result in _from_engine([index], query)]
        for index in indexes:
            index.rest(str(error))
        return [index.search_alone(query) for index in indexes]
    for index in indexes:
        index.count(in_part=index.base in match.partial)
    return [
        _noted(
            replace(
                match.results[index.base],
                hits=_with_known_ids(index.own, match.results[index.base].hits),
                generation=generation,
            ),
            PARTIAL if index.base in match.partial else "",
        )
        for index, generation in zip(indexes, generations, strict=True)
    ]


def _with_known_ids(own: Index, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Hits of the engine, with a mark on ids that several pages have, which only the own index can tell."""
    records = [own.record(hit.record.address) for hit in hits]
    return tuple(
        [
            replace(hit, record=replace(hit.record, shares_id=True)) if record and record.shares_id else hit
            for hit, record in zip(hits, records, strict=True)
        ]
    )


def _has_own_vectors(query: SearchQuery) -> bool:
    """Whether a query has similarities from this server's own vectors."""
    return query.similarity is not None and not isinstance(query.similarity, EngineSimilarity)


def _noted(result: SearchResult, notice: str) -> SearchResult:
    """A result with a notice. The notice is also recorded in the call's context, for faces that cannot show it here."""
    if notice:
        note(notice)
    return replace(result, notice=notice)


# The tailer of a base: updates the base's index in a shared engine to the commit that this server follows.
#
# Every server of a base has a tailer. Tailers need no coordination: writes are ordered by their position on the
# branch, and repeating a write is harmless. The server that wrote last writes first the next time; the others wait and
# check.


PATIENCE_SECONDS = 2.0
"""Seconds for which a server waits for the server that wrote the last commit."""
VERIFY_SECONDS = 3600.0
"""Interval in seconds between full comparisons of the index with the base; engines may lose acknowledged writes."""
COUNT_SECONDS = 60.0
"""Interval in seconds between counts of the index's pages, which are compared with the base; one may delete by hand."""
BATCH_PAGES = 500
"""Number of pages whose records are read together."""


class Branch(Protocol):
    """The commits of a base's branch in its clone."""

    def number(self, commit: str) -> int:
        """Number of commits in the history of a commit, including itself."""
        ...

    def has(self, commit: str) -> bool:
        """Whether the clone has a commit, on the branch or from an earlier fetch."""
        ...

    def holds(self, tip: str, commit: str) -> bool:
        """Whether a commit is `tip` or one of its ancestors."""
        ...


class Tailer:
    """Updates the shared index of one base. `follow` is called from one thread, all other methods from any.

    Args:
        base: The base.
        branch: The commits of the base.
        index: This server's own index, which contains the followed commit.
        reader: The engine's reader.
        writer: The engine's writer.
    """

    def __init__(
        self, base: SharedBase, branch: Branch, index: Index, reader: SharedIndexReader, writer: SharedIndexWriter
    ) -> None:
        self.base = base
        self.searches = SearchCounts()
        self._branch = branch
        self._index = index
        self._reader = reader
        self._writer = writer
        self._lock = threading.Lock()
        self._problem: str = ""
        self._current = False
        self._behind_since = time.monotonic()
        self._expected = 0
        """Number of calls of `expect`."""
        self._known: tuple[str, Mapping[Address, Revision]] | None = None
        """Commit and pages of the engine's index when this server last compared or wrote it; None if unknown."""
        self._patience = 0.0
        self._strange = ""
        """The commit of the engine's index if the clone lacked it at the last check; "" otherwise."""
        self._verified = 0.0
        self._counted = 0.0
        self._failure = ""
        self._failed: float | None = None

    @property
    def is_current(self) -> bool:
        """Whether the shared index contains the commit that this server follows."""
        with self._lock:
            return self._current

    def status(self) -> EngineStatus:
        """State of the shared index, and counts of the searches by the index that answered them."""
        with self._lock:
            behind = 0.0 if self._current else time.monotonic() - self._behind_since
        failed = None if self._failed is None else time.monotonic() - self._failed
        return EngineStatus(behind, self.searches.now(), self._failure, failed)

    def searched(self, failure: str) -> None:
        """Record that a search was answered, or why it failed."""
        self._failure = failure
        self._failed = time.monotonic() if failure else self._failed

    def check(self) -> None:
        """Ask the engine whether it answers, between two calls of `follow`. Called from the thread of `follow`."""
        try:
            self._reader.through(self.base)
            self._recheck()
        except KnowledgeError as error:
            with self._lock:
                self._problem = str(error)
                self._set_current(False)

    def _recheck(self) -> None:
        """Find out whether the engine answers searches again, if one failed."""
        if self._failure:
            with suppress(KnowledgeError):
                self._writer.count(self.base)
                self._failure = ""

    @property
    def problem(self) -> str:
        """A sentence with the reason why the last update of the shared index failed; "" if it did not fail."""
        with self._lock:
            return self._problem

    def expect(self) -> None:
        """Announce a move of this server to another commit. The index is not current until `follow` succeeds."""
        with self._lock:
            self._set_current(False)
            self._expected += 1

    def follow(self, commit: str) -> bool:
        """Update the shared index to a commit that this server's own index contains. Never raises.

        Returns:
            Whether the shared index contains the commit. If not, repeat the call.
        """
        problem: str = ""
        building = False
        with self._lock:
            expected = self._expected
        try:
            if not self._reach(BranchPosition(self._branch.number(commit), commit)):
                problem = "The shared index is behind this server."
        except KnowledgeError as error:
            # It is no problem if another server builds the index: this server uses its own index meanwhile.
            building = bool(error.context.get("building"))
            problem = "" if building else str(error)
        self._recheck()
        with self._lock:
            if problem and problem != self._problem:
                log.warning("%s: %s", self.base.name, problem)
            self._problem = problem
            # A call of `expect` meanwhile means that the index is outdated again.
            self._set_current(not problem and not building and expected == self._expected)
        return not problem and not building

    def _set_current(self, current: bool) -> None:
        if self._current and not current:
            self._behind_since = time.monotonic()
        self._current = current

    def _reach(self, position: BranchPosition) -> bool:
        through = self._through()
        if through is None:
            self._rebuild(position)
            return True
        if self._has_dropped(through, position):
            log.info("%s: the branch was replaced; its shared index is built anew", self.base.name)
            self._rebuild(position)
            return True
        if through.number < position.number and self._patience:
            self._reader.wait_for(self.base, position.number, self._patience)
            through = self._through() or through
        if through.number >= position.number:
            self._patience = PATIENCE_SECONDS
            self._verify_at_times(position, through)
            return through.commit == position.commit or through.number > position.number
        self._catch_up(through, position)
        self._patience = 0.0
        return True

    def _through(self) -> BranchPosition | None:
        """The position of the engine's index; None if it must be created, because this version can use none."""
        try:
            return self._reader.through(self.base)
        except UnavailableError as error:
            if error.context.get("rebuild"):
                return None
            raise

    def _has_dropped(self, through: BranchPosition, position: BranchPosition) -> bool:
        """Whether the branch no longer contains the commit of the engine's index.

        If the clone lacks the commit, it may be a new one that another server has fetched earlier. If the commit is
        still missing after the next fetch, a forced push has removed it.
        """
        if self._branch.has(through.commit):
            self._strange = ""
            return not (
                self._branch.holds(position.commit, through.commit)
                or self._branch.holds(through.commit, position.commit)
            )
        before, self._strange = self._strange, through.commit
        return before == through.commit

    def _rebuild(self, position: BranchPosition) -> None:
        """Fill a new generation and publish it. Searches use the published generation meanwhile."""
        generation = self._writer.begin(self.base)
        revisions = self._index.revisions()
        self._writer.put(self.base, position.number, self._pages(revisions), generation)
        self._writer.advance(self.base, position, generation)
        self._writer.publish(self.base, generation)
        self._known = (position.commit, revisions)
        self._verified = time.monotonic()
        self._patience = 0.0
        log.info("%s: %s pages are in the shared index", self.base.name, f"{len(revisions):,}")

    def _catch_up(self, through: BranchPosition, position: BranchPosition) -> None:
        """Write the pages that differ between the commit of the engine's index and the new commit."""
        revisions = self._index.revisions()
        if self._known is not None and self._known[0] == through.commit:
            differences = _differences(self._known[1], revisions)
        else:
            differences = self._writer.verify(self.base, revisions)
            self._verified = time.monotonic()
        self._mend(differences, position)
        self._known = (position.commit, revisions)

    def _mend(self, differences: IndexDifferences, position: BranchPosition) -> None:
        self._writer.remove(self.base, sorted(differences.surplus), position.number)
        self._writer.put(self.base, position.number, self._pages(differences.missing | differences.outdated))
        self._writer.advance(self.base, position)

    def _verify_at_times(self, position: BranchPosition, through: BranchPosition) -> None:
        if through != position:
            return
        if self._verified and time.monotonic() - self._verified < VERIFY_SECONDS and self._has_all():
            return
        revisions = self._index.revisions()
        differences = self._writer.verify(self.base, revisions)
        if differences:
            log.warning("%s: the shared index had lost pages, which are written again", self.base.name)
            self._mend(differences, position)
        self._known = (position.commit, revisions)
        self._verified = time.monotonic()

    def _has_all(self) -> bool:
        """Whether the engine's index has as many pages as were written; asked once in `COUNT_SECONDS`."""
        if self._known is None or time.monotonic() - self._counted < COUNT_SECONDS:
            return True
        self._counted = time.monotonic()
        return self._writer.count(self.base) == len(self._known[1])

    def _pages(self, addresses: Iterable[Address]) -> Iterator[SharedPage]:
        """The pages at these addresses that still exist."""
        left = iter(sorted(addresses))
        while group := tuple(islice(left, BATCH_PAGES)):
            # A query sorted by a date waits until the history has been read, so that the records have their dates.
            query = ListQuery(filter=Filter(among=group), sort="updated", limit=len(group))
            for record in self._index.list(query).records:
                try:
                    document = self._index.document(record.address)
                except (NotFoundError, StorageError):
                    continue
                yield SharedPage(document, record)


def _differences(before: Mapping[Address, Revision], after: Mapping[Address, Revision]) -> IndexDifferences:
    return IndexDifferences(
        missing=frozenset(after.keys() - before.keys()),
        outdated=frozenset(address for address in after.keys() & before.keys() if after[address] != before[address]),
        surplus=frozenset(before.keys() - after.keys()),
    )


# Counts the searches of one base, by the index that answered them.


class SearchCounts:
    """Counts since the start of the process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[AnsweredBy, int] = dict.fromkeys(get_args(AnsweredBy), 0)

    def add(self, answered_by: AnsweredBy) -> None:
        """Count one search."""
        with self._lock:
            self._counts[answered_by] += 1

    def now(self) -> Mapping[AnsweredBy, int]:
        """The counts so far, including zeros."""
        with self._lock:
            return dict(self._counts)


# Freshness of answers: the commits that replicas contain, and waiting for a commit that a caller needs.


WAIT_SECONDS = 10.0
"""Timeout in seconds of a call for the commits that it names."""
MAX_COMMITS = 100
"""Maximum number of commits in one call."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MAX_SHOWN = 60


@dataclass(frozen=True, slots=True)
class NeededCommit:
    """A commit that an answer must contain."""

    collection: str
    """Name of the collection; "" if only one is served."""
    commit: str


def parse_needed(text: str) -> list[NeededCommit]:
    """The commits that a caller needs.

    Args:
        text: `COMMIT`, or `NAME=COMMIT` with a percent-encoded name; several are separated by commas, as in
            `contained_commits`.

    Raises:
        InvalidInputError: the text does not have this form.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    commits: list[NeededCommit] = []
    for part in parts[: MAX_COMMITS + 1]:
        name, _, commit = part.rpartition("=")
        if not _COMMIT.fullmatch(commit):
            raise InvalidInputError(
                f"Invalid at_least {part[:_MAX_SHOWN]!r}: a commit has 40 hexadecimal digits.",
                kind="commit",
                hint="Send what an earlier answer named: COMMIT, or NAME=COMMIT.",
            )
        commits.append(NeededCommit(unquote(name), commit))
    if not 1 <= len(commits) <= MAX_COMMITS:
        raise InvalidInputError(f"Invalid at_least: name 1 to {MAX_COMMITS} commits.", kind="commit")
    return commits


def wait_for_commits(collections: Collections, text: str, timeout: float = WAIT_SECONDS) -> None:
    """Wait until the replicas contain the commits that a caller needs.

    A collection that is not a replica contains all of its commits, and needs no waiting.

    Args:
        collections: The collections that the caller may use.
        text: The commits, as for `parse_needed`.
        timeout: Timeout in seconds for all commits together.

    Raises:
        InvalidInputError: the text is invalid, or names no collection although several are served.
        NotFoundError: kind "collection" or "commit": there is no such collection, or its branch has lost the commit.
        UnavailableError: kind "commit": a replica did not receive its commit in time.
    """
    deadline = time.monotonic() + timeout
    for needed in parse_needed(text):
        replica = _collection(collections, needed.collection).replica
        if replica is not None:
            replica.wait_for(needed.commit, max(0.0, deadline - time.monotonic()))


def commits_before(collections: Iterable[Collection]) -> dict[str, str]:
    """The commits that answers of the replicas have now at least, by the identity of their store."""
    return {item.store.identity: item.replica.status().commit for item in collections if item.replica is not None}


def contained_commits(
    collections: Iterable[Collection], before: Mapping[str, str], written: Mapping[str, str] | None = None
) -> str:
    """The commits that an answer of the replicas has at least, as `parse_needed` reads them; "" without replicas.

    Args:
        collections: The collections that the caller may use.
        before: What `commits_before` returned when the answer was begun: what came since may not be in it. A collection
            that was opened since is not among them.
        written: The commits that the call itself has made, by the identity of their store. The index may follow later.
    """
    made = written or {}
    found_pairs: list[tuple[str, str]] = []
    for collection in collections:
        if collection.replica is not None:
            store = collection.store.identity
            first = before.get(store) or collection.replica.status().commit
            found_pairs.append((collection.name, made.get(store) or collection.replica.status(first).commit))
    return ", ".join(f"{quote(name, safe='')}={commit}" for name, commit in found_pairs if commit)


def _collection(collections: Collections, name: str) -> Collection:
    if name:
        return collections.get(name)
    members = collections.members
    if len(members) != 1:
        raise InvalidInputError(
            "Invalid at_least: several collections are served.", kind="commit", hint="Send NAME=COMMIT."
        )
    return members[0]
