"""The indexes of bases in a cluster: which exist, which is published, and whether they are this program's."""

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
"""How long a new index is waited for until its second copies exist; what is acknowledged before is in one copy."""
BUILD_SECONDS = 90.0
"""How long an index that is not published and gets no more writes counts as one that another server is building."""
INVALID = 400
CHECKED_SECONDS = 30.0
"""How long an index counts as one of ours after it was looked at."""


class BaseIndexes:
    """The indexes of bases. Thread-safe.

    Args:
        connection: The cluster.
        prefix: Beginning of the names of all indexes.
    """

    def __init__(self, connection: Connection, prefix: str) -> None:
        self._connection = connection
        self._prefix = prefix
        self._checked: dict[str, float] = {}
        self._lock = Lock()

    def alias(self, base: SharedBase) -> str:
        """The name under which a base is searched."""
        return alias_of(self._prefix, base)

    def published(self, base: SharedBase) -> str:
        """The same, after a look at what it names.

        Raises:
            NotFoundError: kind "engine": nothing is published.
            UnavailableError: kind "engine": it names several indexes, or one that this version cannot use.
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
        """Look at the base's index again before it is used."""
        with self._lock:
            self._checked.pop(f"{self.alias(base)} {base.source}", None)

    def of(self, base: SharedBase, generation: int | None) -> str:
        """The index to write: a generation, or what is published."""
        return self.published(base) if generation is None else index_of(self.alias(base), generation)

    def to_write(self, base: SharedBase, generation: int | None) -> str:
        """The alias to write: of a generation, or of what is published."""
        return self.published(base) if generation is None else writes_of(index_of(self.alias(base), generation))

    def generations(self, base: SharedBase) -> dict[int, str]:
        """All indexes of a base by generation.

        Raises:
            UnavailableError: kind "engine": one of these names, or the alias, is an index that is not this base's.
        """
        alias = self.alias(base)
        found = self._connection.ask("GET", f"/{alias},{alias}-*/_mapping", ignore_unavailable="true")
        for index in found.values():
            check_replaceable(index["mappings"], base)
        numbered = ((generation_of(alias, name), name) for name in found)
        return {number: name for number, name in numbered if number is not None}

    def searched(self, base: SharedBase) -> set[int]:
        """The generations that the alias names: one, or none."""
        alias = self.alias(base)
        try:
            found = self._connection.ask("GET", f"/_alias/{alias}")
        except NotFoundError:
            return set()
        return {number for name in found if (number := generation_of(alias, name)) is not None}

    def through(self, base: SharedBase, generation: int | None = None) -> BranchPosition | None:
        """Up to where an index contains the branch; None without an index, and for an unfinished one."""
        try:
            index = self.of(base, generation)
            found = self._connection.ask("GET", f"/{index}/_doc/{STATE_ID}", routing=STATE_ID)
        except NotFoundError:
            return None
        source = found["_source"]
        return BranchPosition(int(source["position"]), str(source["commit"]))


class Generations:
    """Makes, publishes and deletes the generations of bases. Thread-safe.

    Args:
        connection: The cluster.
        indexes: The indexes of the same cluster.
    """

    def __init__(self, connection: Connection, indexes: BaseIndexes) -> None:
        self._connection = connection
        self._indexes = indexes
        self._lock = Lock()
        self._watched: dict[str, tuple[int, float]] = {}
        """For each unpublished index of another server: how many writes it had, and when this was first seen."""

    def begin(self, base: SharedBase) -> int:
        """Create an empty generation, and wait until it has its copies.

        Raises:
            UnavailableError: kind "engine": with `building` in its context, another server is building one.
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
        """Move the alias in one call, then delete the generations before, unless a later call has moved it to one."""
        alias = self._indexes.alias(base)
        index = index_of(alias, generation)
        self._indexes.generations(base)  # raises unless all of these names are this base's
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
        """Delete an index, if no other server has."""
        try:
            self._connection.ask("DELETE", f"/{index}", seconds=BULK_SECONDS)
        except KnowledgeError as error:
            if error.kind != "engine" or not isinstance(error, UnavailableError):
                return  # another server was faster
            raise

    def _advances(self, index: str) -> bool:
        """Whether an index is still being filled: it was written since this server last looked, or lately."""
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
