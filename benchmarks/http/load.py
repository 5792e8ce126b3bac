"""Load from many persistent connections, and a concurrent writer."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle

from benchmarks.http.server import TIMEOUT, HttpServer

_PIECE = 256 * 1024
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of a load."""

    times: Sequence[float]
    """Milliseconds from sending each request to receiving the whole answer, sorted."""
    wall: float
    """Duration in seconds."""
    errors: int
    """Number of answers with a status other than 200 and 201, and of connections that the server closed."""

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.times) / self.wall


@dataclass(slots=True)
class _Exchange:
    """A pending request, and the part of its answer received so far."""

    sent: float
    come: bytearray = field(default_factory=bytearray)
    length: int = -1
    """Length of the whole answer in bytes; -1 until its head is received."""

    def add(self, piece: bytes) -> bool:
        """Add received bytes; return whether the answer is complete."""
        self.come += piece
        if self.length < 0 and (end := self.come.find(_HEAD_END)) >= 0:
            head = bytes(self.come[:end]).lower()
            stated = head.partition(_LENGTH)[2].partition(b"\r\n")[0]
            self.length = end + len(_HEAD_END) + int(stated)
        return 0 <= self.length <= len(self.come)

    @property
    def is_ok(self) -> bool:
        """Whether the status is 200 or 201."""
        return self.come.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 201 "))


def run_load(port: int, requests: Sequence[bytes], connections: int, seconds: float) -> LoadResult:
    """Keep each connection busy for some seconds, and then wait for pending requests.

    Args:
        port: Port of the server, on this machine.
        requests: Whole HTTP requests, sent in turn.
        connections: Number of connections.
        seconds: Duration in seconds of sending.

    Raises:
        TimeoutError: no answer was received for `TIMEOUT` seconds.
    """
    chosen = cycle(requests)
    times: list[float] = []
    errors = 0
    with selectors.DefaultSelector() as selector:
        began = time.perf_counter()
        for _ in range(connections):
            opened = socket.create_connection(("127.0.0.1", port), TIMEOUT)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(opened, selectors.EVENT_READ, _Exchange(time.perf_counter()))
            opened.sendall(next(chosen))
        while keys := selector.get_map():
            ready = selector.select(TIMEOUT)
            if not ready:
                raise TimeoutError(f"{len(keys)} requests were not answered")
            for key, _ in ready:
                connection, exchange = key.fileobj, key.data
                assert isinstance(connection, socket.socket)  # noqa: S101
                piece = connection.recv(_PIECE)
                if piece and not exchange.add(piece):
                    continue
                now = time.perf_counter()
                times.append(1000 * (now - exchange.sent))
                errors += not (piece and exchange.is_ok)
                if piece and now - began < seconds:
                    selector.modify(connection, selectors.EVENT_READ, _Exchange(now))
                    connection.sendall(next(chosen))
                else:
                    selector.unregister(connection)
                    connection.close()
        return LoadResult(sorted(times), time.perf_counter() - began, errors)


@dataclass(slots=True)
class Writer:
    """A thread that writes new pages at a fixed rate, on a separate connection."""

    server: HttpServer
    rate: int
    """Writes per second."""
    times: list[float] = field(default_factory=list[float])
    """Milliseconds of each completed write."""
    seconds: float = 0.0
    """Duration of writing in seconds."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start writing."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Stop writing."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        begun = time.perf_counter()
        number = 0
        while not self._stop.wait(max(0.0, begun + number / self.rate - time.perf_counter())):
            sent = time.perf_counter()
            path = f"/pages/written%2Fpage-{time.time_ns()}.md"
            self.server.put(path, {"content": f"# Page {number}\n\nA sentence that is new.\n"})
            self.times.append(1000 * (time.perf_counter() - sent))
            number += 1
        self.seconds = time.perf_counter() - begun
