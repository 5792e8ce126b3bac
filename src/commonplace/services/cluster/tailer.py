"""The tailer of a base: it keeps the index that a shared engine has of the base at the commit that this server follows.

Every server of a base has one. They need no agreement: writes are ordered by the position on the branch, repeating one
is harmless, and the server that wrote last goes first the next time, while the others look whether it did.
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
"""How long a server waits for another one that wrote the last commit."""
VERIFY_SECONDS = 3600.0
"""Seconds between two comparisons of the whole index with the base. The engine may lose what it acknowledged."""
BATCH_PAGES = 500
"""Pages whose records are read together."""


class Branch(Protocol):
    """The commits of a base's branch, as its clone has them."""

    def number(self, commit: str) -> int:
        """The commit and its ancestors, counted."""
        ...

    def has(self, commit: str) -> bool:
        """Whether the clone has a commit, of the branch or of an earlier state of it."""
        ...

    def holds(self, tip: str, commit: str) -> bool:
        """Whether a commit is `tip` or one of its ancestors."""
        ...


class Tailer:
    """Keeps one base's shared index current. `follow` is called from one thread; the rest from any.

    Args:
        base: The base.
        branch: Its commits.
        index: This server's own index, which is at the commit that is followed.
        reader: Searches of the engine.
        writer: Writes of the engine.
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
        """The commit and the pages that the engine had when this server last compared or wrote them."""
        self._patience = 0.0
        self._strange = ""
        """A commit that the engine names and the clone lacks, as of the last look."""
        self._verified = 0.0

    @property
    def is_current(self) -> bool:
        """Whether the shared index contains the commit that this server follows."""
        with self._lock:
            return self._current

    def status(self) -> EngineStatus:
        """How far the shared index is behind, and what answered the searches so far."""
        with self._lock:
            behind = 0.0 if self._current else time.monotonic() - self._behind_since
        return EngineStatus(behind, self.searches.now())

    @property
    def problem(self) -> str:
        """Why the shared index could not be brought to the commit, in a sentence; "" if it could, or is about to be."""
        with self._lock:
            return self._problem

    def expect(self) -> None:
        """Say that this server is about to be at another commit. Until `follow` succeeds, the index is not current."""
        with self._lock:
            self._set_current(False)
            self._expected += 1

    def follow(self, commit: str) -> bool:
        """Bring the shared index to a commit that this server's own index contains. Never raises.

        Returns:
            Whether it is there. If not, the call is to be repeated.
        """
        problem: str = ""
        building = False
        with self._lock:
            expected = self._expected
        try:
            if not self._reach(BranchPosition(self._branch.number(commit), commit)):
                problem = "The shared index is behind this server."
        except KnowledgeError as error:
            # While another server builds the index nothing is wrong: this one searches by itself.
            building = bool(error.context.get("building"))
            problem = "" if building else str(error)
        with self._lock:
            if problem and problem != self._problem:
                log.warning("%s: %s", self.base.name, problem)
            self._problem = problem
            # A write of this server meanwhile made the index outdated again.
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
        """Where the engine is; None if its index has to be made, because there is none that this version can use."""
        try:
            return self._reader.through(self.base)
        except UnavailableError as error:
            if error.context.get("rebuild"):
                return None
            raise

    def _has_dropped(self, through: BranchPosition, position: BranchPosition) -> bool:
        """Whether the branch no longer has the commit that the engine is at.

        A commit that the clone lacks may have been pushed a moment ago, and another server was faster. If it is still
        lacking after the remote was read again, a forced push has taken it away.
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
        """Fill a new generation and publish it. What is published goes on being searched meanwhile."""
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
        """Write what differs between the commit that the engine is at and the one that it is to be at."""
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
        """The pages at these addresses that are still there."""
        left = iter(sorted(addresses))
        while group := tuple(islice(left, BATCH_PAGES)):
            # Sorted by its dates, the list waits until they are known.
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
