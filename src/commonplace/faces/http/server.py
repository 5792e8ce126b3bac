"""Runs uvicorn on a socket; on shutdown, calls in flight can finish."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

import uvicorn
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp

from commonplace.faces.http.connections import FileLimitFilter, TimeoutProtocol, allowed_connections
from commonplace.faces.http.listener import BACKLOG, serving_line
from commonplace.faces.http.workers.channel import Kind
from commonplace.faces.http.workers.inherited import Inherited
from commonplace.faces.http.workers.member import Member

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
