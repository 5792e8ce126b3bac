"""Connections with timeouts: no client can occupy one without sending a request or reading the response."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from typing import TYPE_CHECKING, Any, ClassVar, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.access.session_owners import owner_in
from commonplace.faces.http.framing import MAX_HEAD, StrictConnection
from commonplace.faces.http.joined_writes import JoinedWrites
from commonplace.faces.responses import error_json, json_bytes

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

    from commonplace.faces.http.workers.member import Member

HEADER_TIMEOUT = 10.0
"""Timeout in seconds for a request's line and headers, on a new or reused connection.

Also for the rest of a body if the response was sent before the body was complete, as for a body over the limit.
"""
WRITE_TIMEOUT = 30.0
"""Timeout in seconds for a client to read about 48 kB of its response."""
MAX_CONNECTIONS = 4_000
"""Maximum number of open connections, if the limit of open files permits; further ones are closed at once."""
RESERVED_FILES = 124
"""Number of open files that the process needs besides its connections."""
FULL_SECONDS = 60.0
"""Minimum interval in seconds between two log lines about connections that cannot be accepted."""
HEAD_END = b"\r\n\r\n"
BAD_REQUEST_HINT = (
    "Send HTTP/1.1: lines that end in CR LF, one of Content-Length and Transfer-Encoding, a short URL, short headers."
)


def allowed_connections() -> int:
    """Maximum number of open connections; raises the process's limit of open files if needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + RESERVED_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - RESERVED_FILES, 1)


class FileLimitFilter(logging.Filter):
    """Replaces asyncio's tracebacks about exhausted file descriptors by one short line per `FULL_SECONDS`.

    The event loop retries every second, once for each connection in the backlog, and logs a traceback each time.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told = -FULL_SECONDS

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged; shortens one about connections that cannot be accepted."""
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, OSError) or "out of system resource" not in record.getMessage():
            return True
        now = time.monotonic()
        if now - self._told < FULL_SECONDS:
            return False
        self._told = now
        record.msg = f"no connection can be taken in now: {error.strerror}; those that come wait, and it is tried again"
        record.args, record.exc_info = (), None
        return True


class TimeoutProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with a limit of connections and timeouts for requests and responses."""

    max_connections = MAX_CONNECTIONS
    """Open connections."""
    header_timeout = HEADER_TIMEOUT
    """Seconds."""
    member: ClassVar[Member | None] = None
    """The worker that this process is; None for a server of one process."""
    first_bytes = b""
    """Bytes of the first request that another worker has read."""
    _head = b""
    """Received bytes of a request whose head is not complete, if this process is a worker."""
    _deadline: asyncio.TimerHandle | None = None
    """Timer of the request's line and headers."""
    _stuck: asyncio.TimerHandle | None = None
    """Timer of a response that the client does not read."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = StrictConnection()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or close it at once if there are too many."""
        super().connection_made(transport)
        self.transport = JoinedWrites(transport, self.loop)
        # asyncio sets it only for sockets of IPPROTO_TCP; `socket.create_server` creates them with protocol 0.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.connections) > self.max_connections:
            transport.abort()
            return
        self._deadline = self.loop.call_later(self.header_timeout, self._abort)
        if self.member is not None:
            self.member.count()
        if self.first_bytes:  # before new data, which is read in a later turn of the loop
            self.loop.call_soon(self._take_over, self.first_bytes)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers of a closed connection."""
        self._stop("_deadline")
        self._stop("_stuck")
        super().connection_lost(exc)
        if self.member is not None:
            self.member.count()

    def data_received(self, data: bytes) -> None:
        """Process received data; the timeout of the request's head continues."""
        if self.member is not None and self._passed_on(self.member, data):
            return
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        """Start the timeout of the next request, part of which may have been received already."""
        super().on_response_complete()
        self._watch_head()

    def pause_writing(self) -> None:
        """Start the timeout of the response: the client reads too slowly."""
        super().pause_writing()
        self._stop("_stuck")
        self._stuck = self.loop.call_later(WRITE_TIMEOUT, self._abort)

    def resume_writing(self) -> None:
        """Stop the timeout of the response: the client reads again."""
        self._stop("_stuck")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Reply to data that is not HTTP, in JSON like all errors."""
        problem = InvalidInputError(msg, kind="request", hint=BAD_REQUEST_HINT)
        body = json_bytes(error_json(problem))
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(f"{head}connection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def _take_over(self, data: bytes) -> None:
        """Continue a request whose first bytes another worker has read."""
        if not self.transport.is_closing():
            super().data_received(data)
            self._watch_head()

    def _passed_on(self, member: Member, data: bytes) -> bool:
        """Pass the connection to the worker that owns the session of the request that begins here.

        Returns whether it did.
        """
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if (cycle is not None and not cycle.response_complete) or (not self._head and self.conn.trailing_data[0]):
            return False
        head = self._head + data
        end = head.find(HEAD_END)
        if end < 0:
            self._head = head if len(head) <= MAX_HEAD else b""
            return False
        self._head = b""
        owner = owner_in(head[: end + len(HEAD_END)])
        transport = cast("JoinedWrites", self.transport)
        if owner in {None, member.given.number} or not transport.is_empty():
            return False
        descriptor = cast("socket.socket", transport.get_extra_info("socket")).fileno()
        if not member.pass_on(descriptor, cast("int", owner), head):
            return False
        transport.abort()  # closes this process's descriptor only; the other worker has a duplicate
        return True

    def _watch_head(self) -> None:
        cycle = cast("object", self.cycle)  # None before the first request, despite uvicorn's type
        if cycle is not None and not self.cycle.response_complete:
            self._stop("_deadline")
        elif self.conn.trailing_data[0] or self.conn.their_state is h11.SEND_BODY:
            if self._deadline is None:
                self._deadline = self.loop.call_later(self.header_timeout, self._abort)
        elif cycle is not None:
            self._stop("_deadline")

    def _stop(self, name: str) -> None:
        timer = cast("asyncio.TimerHandle | None", getattr(self, name))
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)

    def _abort(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()
