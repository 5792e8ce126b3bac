"""A worker's part of the cooperation: accepts a fair share of connections, passes on sessions, answers pings."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from commonplace.faces.http.inherited import Frame, Inherited, Kind

log = logging.getLogger(__name__)

MORE_CONNECTIONS = 1
"""Connections that a worker may have in excess of another before it leaves new ones to that worker."""
YIELD_SECONDS = 0.002
"""Seconds for which a worker stops accepting before it checks again."""
MAX_YIELDS = 10
"""Maximum number of consecutive pauses. The other worker may be busy or unresponsive."""


class AdoptingProtocol(Protocol):
    """A connection protocol that can continue with bytes that another process has read."""

    first_bytes: bytes
    """Bytes that were read before this process got the connection; b"" for a new connection."""


@dataclass(slots=True, eq=False)
class Member:
    """One worker's cooperation with the others, on its event loop.

    Args:
        given: The worker's start parameters.
        connections: Returns the number of open connections.
        make: Creates the protocol of a connection.
        end: Called to shut down the server.
    """

    given: Inherited
    connections: Callable[[], int]
    make: Callable[[], asyncio.Protocol]
    end: Callable[[], None]
    _loop: asyncio.AbstractEventLoop = field(init=False)
    _yields: int = 0
    _accepting: bool = False
    _tasks: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]])

    def start(self) -> None:
        """Start to accept connections and to answer the supervisor."""
        self._loop = asyncio.get_running_loop()
        self.given.listener.setblocking(False)
        self._accepting = True
        self._loop.add_reader(self.given.listener, self._accept)
        self._loop.add_reader(self.given.channel, self._heard)
        self.tell(Kind.SERVING)

    def stop_accepting(self) -> None:
        """Stop accepting connections."""
        self._accepting = False
        self._loop.remove_reader(self.given.listener)

    def tell(self, kind: Kind) -> None:
        """Send the supervisor a frame without content. Must be called on the event loop."""
        self._send(Frame(kind))

    def tell_soon(self, kind: Kind) -> None:
        """Tell the supervisor something, from any thread; nothing happens once the event loop has ended."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self.tell, kind)

    def pass_on(self, descriptor: int, number: int, read: bytes) -> bool:
        """Pass a connection to another worker, through the supervisor. Returns whether the frame could be sent."""
        return self._send(Frame(Kind.CONNECTION, number, read, descriptor))

    def count(self) -> None:
        """Publish this worker's number of connections on the board."""
        self.given.board.connections(self.connections())

    def _send(self, frame: Frame) -> bool:
        channel = self.given.channel
        try:
            channel.send(frame)
        except ConnectionError:
            return False  # the supervisor has ended, which `_heard` reads and logs
        except OSError as error:  # no more files
            log.warning("the supervisor cannot be told: %s", error.strerror)
            return False
        if channel.waits:
            self._loop.add_writer(channel, self._flush)
        return True

    def _flush(self) -> None:
        channel = self.given.channel
        try:
            channel.flush()
        except OSError:
            self._loop.remove_writer(channel)
            return  # the reader sees the end of the channel
        if not channel.waits:
            self._loop.remove_writer(channel)

    def _heard(self) -> None:
        try:
            frames = self.given.channel.receive()
        except (EOFError, OSError):
            log.warning("the supervisor has ended, and so does this worker")
            self._loop.remove_reader(self.given.channel)
            self.end()
            return
        for frame in frames:
            if frame.kind is Kind.PING:
                self.tell(Kind.PONG)
            elif frame.kind is Kind.END:
                self.end()
            elif frame.kind is Kind.CONNECTION and frame.descriptor is not None:
                self._take(socket.socket(fileno=frame.descriptor), frame.content)

    def _accept(self) -> None:
        """Accept one connection, unless another worker has fewer."""
        least = self.given.board.least_connections()
        if least is not None and self.connections() > least + MORE_CONNECTIONS and self._yields < MAX_YIELDS:
            self._yields += 1
            self._loop.remove_reader(self.given.listener)
            self._loop.call_later(YIELD_SECONDS, self._accept_again)
            return
        self._yields = 0
        try:
            connection, _ = self.given.listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:  # most likely out of file descriptors
            self._loop.call_exception_handler({"message": "socket.accept() out of system resource", "exception": error})
            self._loop.remove_reader(self.given.listener)
            self._loop.call_later(1.0, self._accept_again)
            return
        self._take(connection, b"")

    def _accept_again(self) -> None:
        if self._accepting:
            self._loop.add_reader(self.given.listener, self._accept)

    def _take(self, connection: socket.socket, read: bytes) -> None:
        connection.setblocking(False)

        def made() -> asyncio.Protocol:
            protocol = self.make()
            if read:
                setattr(protocol, "first_bytes", read)  # noqa: B010 - see `AdoptingProtocol`
            return protocol

        task = self._loop.create_task(self._served(connection, made))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _served(self, connection: socket.socket, made: Callable[[], asyncio.Protocol]) -> None:
        try:
            await self._loop.connect_accepted_socket(made, connection)
        except OSError:  # the connection is closed already
            connection.close()
