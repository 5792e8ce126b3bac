"""How messages reach a server: standard input and output, one JSON-RPC message a line.

The event loop itself reads and writes them. Worker threads for every line that comes or goes, as the SDK's own
transport has them, cost more than all else in a small call.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import anyio
import anyio.lowlevel
import anyio.to_thread
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.message import SessionMessage

from commonplace.faces.mcp.sdk import Context, McpServer
from commonplace.faces.mcp.transports.messages import MessageError, read_message
from commonplace.faces.worker_threads import START_THREAD

log = logging.getLogger(__name__)

_PIECE = 65_536
"""Bytes that are read at once."""
_GREETINGS = {"initialize", "server/discover", "ping"}
"""Requests that are answered without anything being open."""
_LOWEST = 3
"""Descriptors below are the standard ones."""


@dataclass(frozen=True, slots=True)
class StdioLifespan:
    """What is done around the serving itself."""

    start: Callable[[], None]
    """Called in a thread of its own once the client's first request was answered, so that what takes time at a start
    is not in the way of the first answer."""
    stop: Callable[[], None]
    """Called when the client has gone or a signal ends the process, and again when a signal comes meanwhile: it then
    returns when the first call has done its work."""


def serve_stdio(server: McpServer, lifetime: StdioLifespan) -> None:
    """Serve one client on standard input and output until it closes its end, or a signal ends the process with 0."""
    anyio.run(_serve_stdio, server, lifetime)


async def _serve_stdio(server: McpServer, lifetime: StdioLifespan) -> None:
    server.middleware.append(_StartAfterFirstAnswer(lifetime.start, server))
    with standard_streams() as (source, sink):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, lifetime.stop)
            answers = _MessageWriter(sink)
            await server.run(_MessageReader(source, answers), answers, server.create_initialization_options())
            # While signals are still taken: a client that closes our input and soon sends one must not cut it short.
            await anyio.to_thread.run_sync(lifetime.stop)
            tasks.cancel_scope.cancel()


class _MessageReader:
    """The messages that come: what the SDK reads from.

    A line that is no JSON-RPC message is answered, where the SDK would drop it without a word.
    """

    def __init__(self, source: int, answers: _MessageWriter) -> None:
        self._lines = LineReader(source)
        self._answers = answers

    async def receive(self) -> SessionMessage | Exception:
        async for line in self._lines:
            try:
                return SessionMessage(read_message(line))
            except MessageError as error:
                log.warning("a line of input is no JSON-RPC message")
                await self._answers.send(SessionMessage(error.answer))
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        self._lines.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _MessageWriter:
    """The messages that go: what the SDK writes to, until nobody is left to read them."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._read = True
        self._turn = anyio.Lock(fast_acquire=True)

    async def send(self, item: SessionMessage, /) -> None:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        async with self._turn:
            if self._read:
                try:
                    await write_bytes(self._sink, f"{text}\n".encode())
                except BrokenPipeError:
                    self._read = False

    async def aclose(self) -> None:
        """Nothing is kept back."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _StartAfterFirstAnswer:
    """SDK middleware that starts the rest of the process when the first request has been answered.

    A first request that may need the rest, such as a call of the newer era, which has no handshake, finds it started.
    """

    def __init__(self, start: Callable[[], None], server: McpServer) -> None:
        self._start = start
        self._server = server

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method not in _GREETINGS:
            self._begin()
        result = await call_next(ctx)
        if ctx.request_id is not None:
            self._begin()
        return result

    def _begin(self) -> None:
        if self in self._server.middleware:
            self._server.middleware.remove(self)
            threading.Thread(target=self._start, name=START_THREAD, daemon=True).start()


async def _stop_on_signal(stop: Callable[[], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            stop()
            # Calls that are at work in their threads cannot be woken; everything that matters is closed by now.
            os._exit(0)


@contextmanager
def standard_streams() -> Generator[tuple[int, int]]:
    """Descriptors of standard input and output, for nobody else as long as the block lasts.

    What else in the process or its children reads from standard input finds its end, and what else is printed goes to
    standard error, so that nothing gets between the messages.
    """
    source, sink = (fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST) for descriptor in (0, 1))
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.dup2(nothing, 0)
        os.dup2(2 if _is_open(2) else nothing, 1)
        yield source, sink
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)
        for descriptor in (source, sink, nothing):
            os.close(descriptor)


class LineReader:
    """Lines without their ends, as they come; what stands behind the last end is a line too.

    The event loop is told once that the descriptor is waited for, not for every line.

    Args:
        descriptor: A pipe, a terminal, a socket or a file; it stays open.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._whole: deque[bytes] = deque()
        self._begun: list[bytes] = []
        self._watched = False
        self._waiting: asyncio.Future[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not self._whole:
            piece = await self._piece()
            first, *further = piece.split(b"\n")
            if first:
                self._begun.append(first)
            if further or (self._begun and not piece):
                self._whole.append(b"".join(self._begun))
                self._whole.extend(further[:-1])
                self._begun = further[-1:] if further and further[-1] else []
            elif not piece:
                raise StopAsyncIteration
        return self._whole.popleft()

    def close(self) -> None:
        """Look at the descriptor no more."""
        if self._watched:
            self._watched = False
            asyncio.get_running_loop().remove_reader(self._descriptor)

    async def _piece(self) -> bytes:
        """What has come, b"" at the end."""
        if not self._watched:
            try:
                asyncio.get_running_loop().add_reader(self._descriptor, self._come)
            except PermissionError:  # a file, which is always ready and cannot be waited for
                await anyio.lowlevel.checkpoint()
                return os.read(self._descriptor, _PIECE)
            self._watched = True
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None
        return os.read(self._descriptor, _PIECE)

    def _come(self) -> None:
        if self._waiting is None:
            self.close()  # nobody wants it now; it stays where it is
        elif not self._waiting.done():
            self._waiting.set_result(None)


async def write_bytes(descriptor: int, content: bytes) -> None:
    """Write everything, while the loop goes on with other things wherever the reader is slow.

    Raises:
        BrokenPipeError: nobody reads any more.
    """
    left = memoryview(content)
    left = left[_write_some(descriptor, left) :]
    # What was begun is ended, or what comes next would stand in the middle of it.
    with anyio.CancelScope(shield=True) if left else nullcontext():
        while left:
            await _until_writable(descriptor)
            left = left[_write_some(descriptor, left) :]


def _write_some(descriptor: int, content: memoryview) -> int:
    """Bytes that could be written without waiting."""
    # Only for as long as it takes: whoever shares a terminal or pipe with this process expects that writing waits.
    os.set_blocking(descriptor, False)
    try:
        return os.write(descriptor, content)
    except BlockingIOError:
        return 0
    finally:
        os.set_blocking(descriptor, True)


async def _until_writable(descriptor: int) -> None:
    try:
        await anyio.wait_writable(descriptor)
    except PermissionError:  # a file, which is always ready and cannot be waited for
        await anyio.lowlevel.checkpoint()


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
