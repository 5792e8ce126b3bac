"""The process: a socket, uvicorn on it, and an end that lets calls in flight finish."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

import uvicorn
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp

from commonplace.domain.errors import ConfigError
from commonplace.faces.http.connections import FileLimitFilter, TimeoutProtocol, allowed_connections

SHUTDOWN_SECONDS = 10
"""Seconds that calls in flight are given when the server is told to end."""
KEEP_ALIVE = 15
"""Seconds that a connection stays open between two requests."""
BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class BindAddress:
    """Where to listen."""

    host: str
    port: int
    """0 for any free one."""


@dataclass(frozen=True, slots=True)
class Drain:
    """The time between the signal to end and the end, in which balancers learn of it and requests are still served."""

    seconds: float
    """0 for none. A second signal ends the server at once."""
    begin: Callable[[], None]
    """Called when that time begins."""


def listening(address: BindAddress) -> socket.socket:
    """A socket that listens, before anything slow begins.

    Raises:
        ConfigError: the address is taken, forbidden or none.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    made = socket.socket(family)
    try:  # `socket.create_server` closes its socket after some errors only
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address.host, address.port))
        made.listen(BACKLOG)
    except (OSError, OverflowError, TypeError, ValueError) as error:  # the last two: a host that no name can be
        made.close()
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"Cannot listen on {address.host}, port {address.port}: {reason}.",
            kind="port",
            hint="Choose another with --host and --port; --port 0 takes any free one.",
        ) from error
    return made


def serve(app: ASGIApp, listener: socket.socket, on_end: Callable[[], None], drain: Drain) -> None:
    """Serve until a signal ends the process.

    Args:
        app: What to serve.
        listener: Where.
        on_end: Called when the end begins, so that streams which never end by themselves can.
        drain: The time before that.
    """
    TimeoutProtocol.max_connections = allowed_connections()
    logging.getLogger("asyncio").addFilter(FileLimitFilter())
    AppStatus.disable_automatic_graceful_drain()  # it would cut the answers of calls in flight
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
    server = _Server(config, on_end, drain)
    # Before anybody can know that it serves: uvicorn takes signals only once it runs.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, server.end)
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"Serving on http://{shown}:{port}\n")
    sys.stderr.flush()
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_end: Callable[[], None], drain: Drain) -> None:
        super().__init__(config)
        self._on_end = on_end
        self._drain = drain
        self._draining: threading.Timer | None = None

    def end(self, number: int, frame: FrameType | None) -> None:
        """End in good order; uvicorn raises the signal once more when all is done, which then changes nothing."""
        del number, frame
        self._exit()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain at the first signal while requests are served; end at the next one, or without a drain."""
        if self._draining is not None or not self._drain.seconds:
            super().handle_exit(sig, frame)
            return
        self._draining = threading.Timer(self._drain.seconds, self._exit)
        self._draining.daemon = True
        self._draining.start()
        self._drain.begin()

    def _exit(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_end()
        await super().shutdown(sockets)
