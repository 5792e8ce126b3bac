"""How much clients may follow: streams and resources, of one client and of all clients of a process."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock

import mcp_types as types
from mcp import MCPError

MAX_URI = 4_096
"""Characters of a URI that is followed."""
MAX_STREAMS = 100
"""Streams, and sessions of the older era, of one client."""
MAX_ALL_STREAMS = 2_000
MAX_RESOURCES = 2_000
"""Resources that one client follows on all its streams; one stream, or session, may follow half of them."""
MAX_STREAM_RESOURCES = MAX_RESOURCES // 2
MAX_ALL_RESOURCES = 20_000
"""Some 1 kB of memory each."""


@dataclass(slots=True)
class Quota:
    """What the clients of one process follow now; all its servers share it.

    A client is a key or a token's subject, else an address; one that is on standard input and output is alone.
    """

    _streams: Counter[str] = field(default_factory=Counter[str])
    _resources: Counter[str] = field(default_factory=Counter[str])
    _lock: Lock = field(default_factory=Lock)

    def open_stream(self, client: str) -> None:
        """Count a stream.

        Raises:
            MCPError: there are too many.
        """
        with self._lock:
            if self._streams[client] >= MAX_STREAMS:
                raise _full(f"One client can follow on at most {MAX_STREAMS} streams at once; end one first.")
            if self._streams.total() >= MAX_ALL_STREAMS:
                raise _full("Too many clients follow resources; try again later.")
            self._streams[client] += 1

    def add_resources(self, client: str, number: int) -> None:
        """Count resources that a client begins to follow.

        Raises:
            MCPError: they would be too many; none is counted.
        """
        with self._lock:
            if self._resources[client] + number > MAX_RESOURCES:
                raise _full(f"One client can follow at most {MAX_RESOURCES} resources at once; follow fewer.")
            if self._resources.total() + number > MAX_ALL_RESOURCES:
                raise _full("Too many resources are followed; try again later.")
            self._resources[client] += number

    def remove_resources(self, client: str, number: int) -> None:
        """Count resources no longer."""
        with self._lock:
            _lower(self._resources, client, number)

    def close_stream(self, client: str, resources: int) -> None:
        """Count a stream and what was followed on it no longer."""
        with self._lock:
            _lower(self._streams, client, 1)
            _lower(self._resources, client, resources)


def check_subscriptions(uris: list[str], more: int = 0) -> None:
    """Refuse resources that no stream may follow.

    Args:
        uris: What is to be followed.
        more: How many the stream follows already.

    Raises:
        MCPError: they are too many, or one of them is too long.
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
