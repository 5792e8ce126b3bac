"""The indexes of bases in a cluster: which exist, which is published, and whether they are this program's."""

from __future__ import annotations

import time
from threading import Lock

from commonplace.domain.cluster.shared_index import BranchPosition, SharedBase
from commonplace.domain.errors import NotFoundError
from commonplace.index.shared.opensearch.connection import Connection
from commonplace.index.shared.opensearch.layout import (
    STATE_ID,
    alias_of,
    check,
    check_replaceable,
    generation_of,
    index_of,
)

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
            UnavailableError: kind "engine": it names an index that this version cannot use.
        """
        alias = self.alias(base)
        with self._lock:
            seen = self._checked.get(f"{alias} {base.source}")
        if seen is None or time.monotonic() - seen > CHECKED_SECONDS:
            for found in self._connection.ask("GET", f"/{alias}/_mapping").values():
                check(found["mappings"], base)
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

    def through(self, base: SharedBase, generation: int | None = None) -> BranchPosition | None:
        """Up to where an index contains the branch; None without an index, and for an unfinished one."""
        try:
            index = self.of(base, generation)
            found = self._connection.ask("GET", f"/{index}/_doc/{STATE_ID}", routing=STATE_ID)
        except NotFoundError:
            return None
        source = found["_source"]
        return BranchPosition(int(source["position"]), str(source["commit"]))
