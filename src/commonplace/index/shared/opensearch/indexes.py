"""The indexes of bases in a cluster: finds, checks, creates, publishes and deletes them."""

from __future__ import annotations

import time
from threading import Lock
from typing import Any

from commonplace.domain.cluster.shared_index import BranchPosition, SharedBase
from commonplace.domain.errors import KnowledgeError, NotFoundError, UnavailableError
from commonplace.index.shared.opensearch.connection import BULK_SECONDS, Connection
from commonplace.index.shared.opensearch.layout import (
    STATE_ID,
    alias_of,
    check,
    check_replaceable,
    creation,
    generation_of,
    index_of,
    writes_of,
)

GREEN_SECONDS = 60
"""Timeout in seconds for the replicas of a new index. Writes acknowledged before exist in one copy only."""
BUILD_SECONDS = 90.0
"""Seconds without writes after which an unpublished index no longer counts as being built by another server."""
INVALID = 400
CHECKED_SECONDS = 30.0
"""Validity in seconds of a check that an index belongs to this program."""


class BaseIndexes:
    """Finds and checks the indexes of bases. Thread-safe.

    Args:
        connection: The cluster.
        prefix: Prefix of the names of all indexes.
    """

    def __init__(self, connection: Connection, prefix: str) -> None:
        self._connection = connection
        self._prefix = prefix
        self._checked: dict[str, float] = {}
        self._lock = Lock()

    def alias(self, base: SharedBase) -> str:
        """The alias by which a base is searched."""
        return alias_of(self._prefix, base)

    def published(self, base: SharedBase) -> str:
        """The alias by which a base is searched, after a check of its index.

        Raises:
            NotFoundError: kind "engine": nothing is published.
            UnavailableError: kind "engine": the alias names several indexes, or one that this version cannot use.
        """
        alias = self.alias(base)
        with self._lock:
            seen = self._checked.get(f"{alias} {base.source}")
        if seen is None or time.monotonic() - seen > CHECKED_SECONDS:
            found = self._connection.ask("GET", f"/{alias}/_mapping")
            for one in found.values():
                check(one["mappings"], base)
            if len(found) > 1:
                raise _several()
            with self._lock:
                self._checked[f"{alias} {base.source}"] = time.monotonic()
        return alias

    def forget(self, base: SharedBase) -> None:
        """Invalidate the cached check of the base's index."""
        with self._lock:
            self._checked.pop(f"{self.alias(base)} {base.source}", None)

    def of(self, base: SharedBase, generation: int | None) -> str:
        """The index of a generation; for None, the alias of the published index."""
        return self.published(base) if generation is None else index_of(self.alias(base), generation)

    def to_write(self, base: SharedBase, generation: int | None) -> str:
        """The alias for writes to a generation; for None, that of the published index."""
        return self.published(base) if generation is None else writes_of(index_of(self.alias(base), generation))

    def generations(self, base: SharedBase) -> dict[int, str]:
        """All indexes of a base by generation.

        Raises:
            UnavailableError: kind "engine": an index with one of these names, or the alias's, is not this base's.
        """
        alias = self.alias(base)
        found = self._connection.ask("GET", f"/{alias},{alias}-*/_mapping", ignore_unavailable="true")
        for index in found.values():
            check_replaceable(index["mappings"], base)
        numbered = ((generation_of(alias, name), name) for name in found)
        return {number: name for number, name in numbered if number is not None}

    def searched(self, base: SharedBase) -> set[int]:
        """The generations that the alias names; normally one, or none."""
        alias = self.alias(base)
        try:
            found = self._connection.ask("GET", f"/_alias/{alias}")
        except NotFoundError:
            return set()
        return {number for name in found if (number := generation_of(alias, name)) is not None}

    def through(self, base: SharedBase, generation: int | None = None) -> BranchPosition | None:
        """The branch position that an index has reached; None if there is no index or it is incomplete."""
        try:
            index = self.of(base, generation)
            found = self._connection.ask("GET", f"/{index}/_doc/{STATE_ID}", routing=STATE_ID)
        except NotFoundError:
            return None
        source = found["_source"]
        return BranchPosition(int(source["position"]), str(source["commit"]))


class Generations:
    """Creates, publishes and deletes the generations of bases. Thread-safe.

    Args:
        connection: The cluster.
        indexes: The indexes of the same cluster.
    """

    def __init__(self, connection: Connection, indexes: BaseIndexes) -> None:
        self._connection = connection
        self._indexes = indexes
        self._lock = Lock()
        self._watched: dict[str, tuple[int, float]] = {}
        """Number of writes of each unpublished index of another server, and the time at which it was first seen."""

    def begin(self, base: SharedBase) -> int:
        """Create an empty generation, and wait until its replicas exist.

        Raises:
            UnavailableError: kind "engine"; if its context has `building`, another server is building a generation.
        """
        found, searched = self._indexes.generations(base), self._indexes.searched(base)
        newest = max(found, default=0)
        if newest > max(searched, default=0) and self._advances(found[newest]):
            raise _built_by_another()
        generation = newest + 1
        index = index_of(self._indexes.alias(base), generation)
        body: dict[str, Any] = {**creation(base), "aliases": {writes_of(index): {}}}
        try:
            self._connection.ask("PUT", f"/{index}", body, seconds=BULK_SECONDS)
        except UnavailableError as error:
            if error.context.get("status") == INVALID and self._connection.exists(f"/{index}"):
                raise _built_by_another() from error
            raise
        self._connection.ask(
            "GET",
            f"/_cluster/health/{index}",
            wait_for_status="green",
            timeout=f"{GREEN_SECONDS}s",
            seconds=GREEN_SECONDS + 10.0,
        )
        return generation

    def publish(self, base: SharedBase, generation: int) -> None:
        """Move the alias in one call, then delete the earlier generations, except one that the alias names now."""
        alias = self._indexes.alias(base)
        index = index_of(alias, generation)
        self._indexes.generations(base)  # raises unless all of these indexes are this base's
        actions = [
            {"remove": {"index": f"{alias}-*", "alias": alias, "must_exist": False}},
            {"add": {"index": index, "alias": alias}},
        ]
        self._connection.ask("POST", "/_aliases", {"actions": actions})
        self._indexes.forget(base)
        searched = self._indexes.searched(base)
        for number, name in self._indexes.generations(base).items():
            if number < generation and number not in searched:
                self.delete(name)

    def delete(self, index: str) -> None:
        """Delete an index. Does nothing if another server has deleted it."""
        try:
            self._connection.ask("DELETE", f"/{index}", seconds=BULK_SECONDS)
        except KnowledgeError as error:
            if error.kind != "engine" or not isinstance(error, UnavailableError):
                return  # another server was faster
            raise

    def _advances(self, index: str) -> bool:
        """Whether another server is filling an index: its number of writes has changed within `BUILD_SECONDS`."""
        try:
            stats = self._connection.ask("GET", f"/{index}/_stats/indexing")
        except NotFoundError:
            return False
        counted = stats["_all"]["primaries"]  # empty until the index has started
        writes = int(counted["indexing"]["index_total"]) if counted else -1
        now = time.monotonic()
        with self._lock:
            before, since = self._watched.get(index, (-2, now))
            self._watched[index] = (writes, since if before == writes else now)
            return before != writes or now - since < BUILD_SECONDS


def _several() -> UnavailableError:
    return UnavailableError(
        "The alias in the search cluster names several indexes.",
        kind="engine",
        hint="It is built anew by the first server that sees it.",
        rebuild=1,
    )


def _built_by_another() -> UnavailableError:
    return UnavailableError(
        "Another server is building the index in the search cluster.",
        kind="engine",
        hint="It is used when it is there; until then this server searches by itself.",
        building=1,
    )
