"""Quotas of subscriptions: streams and resources, for each client and for all clients of a process."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock

import mcp_types as types
from mcp import MCPError

MAX_URI = 4_096
"""Maximum characters of a subscribed URI."""
MAX_STREAMS = 100
"""Maximum number of streams of one client; a session of the older era counts as a stream."""
MAX_ALL_STREAMS = 2_000
MAX_RESOURCES = 2_000
"""Maximum number of resources that one client subscribes to on all streams. One stream may have half of them."""
MAX_STREAM_RESOURCES = MAX_RESOURCES // 2
MAX_ALL_RESOURCES = 20_000
"""Each subscription takes about 1 kB of memory."""


@dataclass(slots=True)
class Quota:
    """Current subscriptions of the clients of one process; shared by all its servers.

    A client is a key, the subject of a token, or a network address. The client on standard input and output is the only
    one of its process.
    """

    _streams: Counter[str] = field(default_factory=Counter[str])
    _resources: Counter[str] = field(default_factory=Counter[str])
    _lock: Lock = field(default_factory=Lock)

    def open_stream(self, client: str) -> None:
        """Count a new stream.

        Raises:
            MCPError: the limit of streams is reached.
        """
        with self._lock:
            if self._streams[client] >= MAX_STREAMS:
                raise _full(f"One client can follow on at most {MAX_STREAMS} streams at once; end one first.")
            if self._streams.total() >= MAX_ALL_STREAMS:
                raise _full("Too many clients follow resources; try again later.")
            self._streams[client] += 1

    def add_resources(self, client: str, number: int) -> None:
        """Count resources that a client subscribes to.

        Raises:
            MCPError: the limit would be exceeded; none of the resources is counted.
        """
        with self._lock:
            if self._resources[client] + number > MAX_RESOURCES:
                raise _full(f"One client can follow at most {MAX_RESOURCES} resources at once; follow fewer.")
            if self._resources.total() + number > MAX_ALL_RESOURCES:
                raise _full("Too many resources are followed; try again later.")
            self._resources[client] += number

    def remove_resources(self, client: str, number: int) -> None:
        """Subtract resources from a client's count."""
        with self._lock:
            _lower(self._resources, client, number)

    def close_stream(self, client: str, resources: int) -> None:
        """Subtract a stream and its resources from a client's counts."""
        with self._lock:
            _lower(self._streams, client, 1)
            _lower(self._resources, client, resources)


def check_subscriptions(uris: list[str], more: int = 0) -> None:
    """Check the limits of one stream.

    Args:
        uris: The resources to subscribe to.
        more: Number of resources that the stream has subscribed to already.

    Raises:
        MCPError: there are too many resources, or a URI is too long.
    """
    if len(uris) + more > MAX_STREAM_RESOURCES:
        message = f"At most {MAX_STREAM_RESOURCES} resources can be followed on one stream."
        raise MCPError(code=types.INVALID_PARAMS, message=message)
    if any(len(uri) > MAX_URI for uri in uris):
        raise MCPError(code=types.INVALID_PARAMS, message=f"A URI that is followed has at most {MAX_URI} characters.")


def _lower(counts: Counter[str], client: str, number: int) -> None:
    counts[client] -= number
    if counts[client] <= 0:
        del counts[client]


def _full(message: str) -> MCPError:
    return MCPError(code=types.INTERNAL_ERROR, message=message)
