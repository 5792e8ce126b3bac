"""The tailer of a base: updates the base's index in a shared engine to the commit that this server follows.

Every server of a base has a tailer. Tailers need no coordination: writes are ordered by their position on the branch,
and repeating a write is harmless. The server that wrote last writes first the next time; the others wait and check.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Protocol

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.cluster.replicas import EngineStatus
from commonplace.domain.cluster.shared_index import (
    BranchPosition,
    IndexDifferences,
    SharedBase,
    SharedIndexReader,
    SharedIndexWriter,
    SharedPage,
)
from commonplace.domain.errors import KnowledgeError, NotFoundError, StorageError, UnavailableError
from commonplace.domain.ports import Index
from commonplace.domain.query import Filter, ListQuery
from commonplace.services.cluster.search_counts import SearchCounts

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.0
"""Seconds for which a server waits for the server that wrote the last commit."""
VERIFY_SECONDS = 3600.0
"""Interval in seconds between full comparisons of the index with the base; engines may lose acknowledged writes."""
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

    @property
    def is_current(self) -> bool:
        """Whether the shared index contains the commit that this server follows."""
        with self._lock:
            return self._current

    def status(self) -> EngineStatus:
        """State of the shared index, and counts of the searches by the index that answered them."""
        with self._lock:
            behind = 0.0 if self._current else time.monotonic() - self._behind_since
        return EngineStatus(behind, self.searches.now())

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
        wanted = self._index.revisions()
        self._writer.put(self.base, position.number, self._pages(wanted), generation)
        self._writer.advance(self.base, position, generation)
        self._writer.publish(self.base, generation)
        self._known = (position.commit, wanted)
        self._verified = time.monotonic()
        self._patience = 0.0
        log.info("%s: %s pages are in the shared index", self.base.name, f"{len(wanted):,}")

    def _catch_up(self, through: BranchPosition, position: BranchPosition) -> None:
        """Write the pages that differ between the commit of the engine's index and the new commit."""
        wanted = self._index.revisions()
        if self._known is not None and self._known[0] == through.commit:
            differences = _differences(self._known[1], wanted)
        else:
            differences = self._writer.verify(self.base, wanted)
            self._verified = time.monotonic()
        self._mend(differences, position)
        self._known = (position.commit, wanted)

    def _mend(self, differences: IndexDifferences, position: BranchPosition) -> None:
        self._writer.remove(self.base, sorted(differences.surplus), position.number)
        self._writer.put(self.base, position.number, self._pages(differences.missing | differences.outdated))
        self._writer.advance(self.base, position)

    def _verify_at_times(self, position: BranchPosition, through: BranchPosition) -> None:
        if through != position or (time.monotonic() - self._verified < VERIFY_SECONDS and self._verified):
            return
        wanted = self._index.revisions()
        differences = self._writer.verify(self.base, wanted)
        if differences:
            log.warning("%s: the shared index had lost pages, which are written again", self.base.name)
            self._mend(differences, position)
        self._known = (position.commit, wanted)
        self._verified = time.monotonic()

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
