"""An open search cluster: a reader and a writer that share one pool of connections."""

from __future__ import annotations

import re

from commonplace.domain.errors import ConfigError
from commonplace.index.shared.opensearch.connection import ClusterAddress, Connection
from commonplace.index.shared.opensearch.indexes import BaseIndexes
from commonplace.index.shared.opensearch.reader import ClusterReader
from commonplace.index.shared.opensearch.vectors.work import ClusterWork
from commonplace.index.shared.opensearch.writer import ClusterWriter

_PREFIX = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")


class SearchCluster:
    """An open cluster.

    Args:
        address: The cluster.
        prefix: Prefix of the names of all indexes.

    Raises:
        ConfigError: kind "engine": the address or the prefix is invalid, or the client is not installed.
    """

    def __init__(self, address: ClusterAddress, prefix: str) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ConfigError(
                "Invalid engine_prefix.",
                kind="engine",
                hint="Give 1 to 60 lower-case letters, digits and hyphens, such as commonplace.",
            )
        self._connection = Connection(address)
        self.reader = ClusterReader(self._connection, prefix)
        self.vectors = self.reader.vectors
        self.writer = ClusterWriter(self._connection, prefix)
        self.work = ClusterWork(self._connection, BaseIndexes(self._connection, prefix), prefix)

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()
