"""Runs uvicorn on a socket, with connections that time out; on shutdown, calls in flight can finish."""

from __future__ import annotations

import asyncio
import logging
import re
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import h11
import uvicorn
from h11._receivebuffer import ReceiveBuffer
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.access.callers import owner_in
from commonplace.faces.http.inherited import BACKLOG, Inherited, Kind, serving_line
from commonplace.faces.http.member import Member
from commonplace.faces.responses import error_json, json_bytes

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle


# Runs uvicorn on a socket; on shutdown, calls in flight can finish.


SHUTDOWN_SECONDS = 10
"""Grace period in seconds for calls in flight at shutdown."""
KEEP_ALIVE = 15
"""Seconds for which an idle connection is kept open between requests."""


@dataclass(frozen=True, slots=True)
class Drain:
    """The drain period between the first signal and the shutdown: balancers see "ending", requests are still served."""

    seconds: float
    """Length in seconds; 0 for none. A second signal ends the server at once."""
    begin: Callable[[], None]
    """Called at the start of the drain period."""


@dataclass(frozen=True, slots=True)
class End:
    """Callbacks of a server's shutdown."""

    begin: Callable[[], None]
    """Called at the start of the shutdown, to end streams that have no end of their own."""
    drain: Drain
    """The drain period before the shutdown."""


@dataclass(slots=True)
class Indexed:
    """A flag for the end of the first sync. Set by another thread and reported to the event loop."""

    _tell: Callable[[], object] | None = None
    _done: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def done(self) -> None:
        """Set the flag."""
        with self._lock:
            self._done = True
            if self._tell:
                self._tell()

    def listen(self, tell: Callable[[], object]) -> None:
        """Call `tell` once the flag is set, from any thread."""
        with self._lock:
            self._tell = tell
            if self._done:
                tell()


@dataclass(frozen=True, slots=True)
class Worker:
    """State that a process needs as one of several workers."""

    given: Inherited
    indexed: Indexed


def serve(app: ASGIApp, place: socket.socket | Worker, end: End) -> None:
    """Serve until a signal ends the process.

    Args:
        app: The application.
        place: The socket to listen on; or the state of this process as one of several workers.
        end: Callbacks of the shutdown.
    """
    TimeoutProtocol.max_connections = allowed_connections()
    logging.getLogger("asyncio").addFilter(FileLimitFilter())
    AppStatus.disable_automatic_graceful_drain()  # the automatic drain would truncate the responses of calls in flight
    config = uvicorn.Config(
        app,
        http=TimeoutProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        backlog=BACKLOG,
    )
    server = _Server(config, end, place if isinstance(place, Worker) else None)
    # uvicorn handles signals only once it runs, but one may arrive as soon as the line below is printed.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, server.end)
    if isinstance(place, Worker):
        server.run(sockets=[])
        return
    sys.stderr.write(serving_line(place))
    sys.stderr.flush()
    server.run(sockets=[place])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, end: End, worker: Worker | None) -> None:
        super().__init__(config)
        self._on_end = end.begin
        self._drain = end.drain
        self._worker = worker
        self._member: Member | None = None
        self._draining: threading.Timer | None = None

    def end(self, number: int, frame: FrameType | None) -> None:
        """Start the shutdown. uvicorn raises the signal again at its end, which then has no effect."""
        del number, frame
        self._exit()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start the drain at the first signal. Shut down at the second signal, or at the first if there is no drain."""
        if self._draining is not None or not self._drain.seconds:
            super().handle_exit(sig, frame)
            return
        self._draining = threading.Timer(self._drain.seconds, self._exit)
        self._draining.daemon = True
        self._draining.start()
        self._drain.begin()

    def _exit(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._worker is None or self.should_exit:
            return
        member = Member(
            self._worker.given, lambda: len(self.server_state.connections), self._protocol, self._asked_to_end
        )
        self._member = TimeoutProtocol.member = member
        member.start()
        self._worker.indexed.listen(lambda: member.tell_soon(Kind.INDEXED))

    def _protocol(self) -> asyncio.Protocol:
        return TimeoutProtocol(self.config, self.server_state, self.lifespan.state, asyncio.get_running_loop())

    def _asked_to_end(self) -> None:
        self.handle_exit(signal.SIGTERM, None)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._member is not None:
            self._member.stop_accepting()
        self._on_end()
        await super().shutdown(sockets)


# Connections with timeouts: no client can occupy one without sending a request or reading the response.


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
    max_connection = MAX_CONNECTIONS + RESERVED_FILES
    allowed = max_connection if hard == resource.RLIM_INFINITY else min(max_connection, hard)
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


# Framing of requests, against request smuggling: framing that a proxy could interpret differently is refused.


MAX_HEAD = 64 * 1024
"""Maximum size in bytes of a request's line and headers."""
_END = re.compile(rb"\n\r?\n")
_ABSOLUTE = re.compile(rb"https?://(?P<host>[^/?#@]+)(?P<rest>[/?][^#]*)?", re.IGNORECASE)
_HUGE_CHUNK = re.compile(rb"0*[1-9A-Fa-f][0-9A-Fa-f]{8}")
_BARE_LF = re.compile(rb"(?<!\r)\n")


class StrictConnection(h11.Connection):
    """h11's server connection without its tolerance for malformed framing.

    Protocol errors are: a line that ends in LF alone, a line that continues the previous line, `Content-Length`
    together with `Transfer-Encoding`, and `Transfer-Encoding` in HTTP/1.0. RFC 9112, sections 2.2, 5.2 and 6.1, permits
    a server to reject these. Versions other than HTTP/1 are rejected, too, and chunks of 4 GiB or more, which exceed
    every body limit.
    A target in absolute form is converted to origin form, and its host becomes `Host` (RFC 9112, 3.2.2).
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD)
        self._receive_buffer = _StrictBuffer()

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """The next event.

        Raises:
            h11.RemoteProtocolError: the request is not valid.
        """
        event = super().next_event()
        if isinstance(event, h11.Request):
            if not event.http_version.startswith(b"1."):
                raise h11.RemoteProtocolError("not HTTP/1")
            names = {name for name, _ in event.headers}
            if b"transfer-encoding" in names and (b"content-length" in names or event.http_version < b"1.1"):
                raise h11.RemoteProtocolError("two lengths of the body")
            return _in_origin_form(event)
        return event


def _in_origin_form(request: h11.Request) -> h11.Request:
    """Convert the request's target to origin form. A host in the target replaces the `Host` header.

    Raises:
        h11.RemoteProtocolError: the target is not an HTTP URL with a host, or contains user information.
    """
    if request.target.startswith(b"/") or b"://" not in request.target:
        return request
    match = _ABSOLUTE.fullmatch(request.target)
    if match is None:
        raise h11.RemoteProtocolError("a target that names no host of HTTP")
    others = [(name, value) for name, value in request.headers if name != b"host"]
    rest: bytes = match["rest"] or b""
    return h11.Request(
        method=request.method,
        target=rest if rest.startswith(b"/") else b"/" + rest,
        headers=[(b"host", match["host"]), *others],
        http_version=request.http_version,
    )


class _StrictBuffer(ReceiveBuffer):
    """h11's receive buffer with strict lines in heads and trailers, for which h11 has no public option."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        blank = 1 if self._data.startswith(b"\n") else 2 * self._data.startswith(b"\r\n")
        end = None if blank else _END.search(self._data, self._multiple_lines_search)
        if _BARE_LF.search(self._data, 0, end.end() if end else blank):
            raise h11.LocalProtocolError("a line ends in LF alone")
        lines = super().maybe_extract_lines()
        if any(line.startswith((b" ", b"\t")) for line in lines or ()):
            raise h11.LocalProtocolError("a line that continues another")
        return lines

    def maybe_extract_next_line(self) -> bytearray | None:
        line = super().maybe_extract_next_line()
        if line is not None and _HUGE_CHUNK.match(line):
            raise h11.LocalProtocolError("a chunk larger than any body")
        return line


# Joined writes: the head of a response is sent together with the start of its body.


MAX_JOINED = 64 * 1024
"""Maximum number of bytes that are buffered."""


class JoinedWrites(asyncio.Transport):
    """A transport that combines all data written in one turn of the event loop.

    uvicorn writes the head of a response and each part of its body separately.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self._size = 0

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Information about the connection, such as its socket."""
        return self._transport.get_extra_info(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Buffer data until the end of the turn, or until `MAX_JOINED` bytes are buffered."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(bytes(data))
        self._size += len(data)
        if self._size >= MAX_JOINED:
            self._flush()

    def is_empty(self) -> bool:
        """Whether everything written has been sent."""
        return not self._pieces and not self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Flush the buffer and close the connection."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Discard the buffer and close the connection at once."""
        self._pieces.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether the connection is closed or closing."""
        return self._transport.is_closing()

    def resume_reading(self) -> None:
        """Resume reading from the connection."""
        self._transport.resume_reading()

    def _flush(self) -> None:
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        if data and not self._transport.is_closing():
            self._transport.write(data)
