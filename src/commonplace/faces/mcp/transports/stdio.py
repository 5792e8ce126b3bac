"""MCP over standard input and output, one JSON-RPC message per line.

The event loop reads and writes directly. The SDK's own transport uses a worker thread for every line, which takes more
time than all other work of a small call.
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
"""Maximum number of bytes per read."""
_GREETINGS = {"initialize", "server/discover", "ping"}
"""Requests that are answered before any collection is open."""
_LOWEST = 3
"""Lowest descriptor for duplicates, above the standard ones."""


@dataclass(frozen=True, slots=True)
class StdioLifespan:
    """Callbacks at the start and the end of serving."""

    start: Callable[[], None]
    """Called in a separate thread after the first answer, so that slow start-up work does not delay that answer."""
    stop: Callable[[], None]
    """Called when the client disconnects or a signal arrives.

    If a signal arrives during the first call, a second call waits until the first has finished.
    """


def serve_stdio(server: McpServer, lifetime: StdioLifespan) -> None:
    """Serve one client on standard input and output until it closes the input, or exit with 0 on a signal."""
    anyio.run(_serve_stdio, server, lifetime)


async def _serve_stdio(server: McpServer, lifetime: StdioLifespan) -> None:
    server.middleware.append(_StartAfterFirstAnswer(lifetime.start, server))
    with standard_streams() as (source, sink):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, lifetime.stop)
            answers = _MessageWriter(sink)
            await server.run(_MessageReader(source, answers), answers, server.create_initialization_options())
            # Signals are still handled here: a client may close the input and send a signal soon after, which must not
            # interrupt the shutdown.
            await anyio.to_thread.run_sync(lifetime.stop)
            tasks.cancel_scope.cancel()


class _MessageReader:
    """Stream of incoming messages for the SDK.

    A line that is not a JSON-RPC message is answered with an error; the SDK would drop it silently.
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
    """Stream of outgoing messages from the SDK. After the reader has closed the pipe, messages are discarded."""

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
        """Do nothing: messages are not buffered."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _StartAfterFirstAnswer:
    """SDK middleware that starts the rest of the process after the first request has been answered.

    If the first request may need the rest, such as a call of the newer era without a handshake, the start comes before
    it.
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
            # Worker threads cannot be interrupted, and everything that must be closed is closed by now.
            os._exit(0)


@contextmanager
def standard_streams() -> Generator[tuple[int, int]]:
    """Exclusive duplicates of the descriptors of standard input and output, for the length of the block.

    Meanwhile, standard input of the process and its children is empty, and standard output is redirected to standard
    error. So nothing else can corrupt the message stream.
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
    """Iterates over the lines of a descriptor, without line ends. Text after the last line end counts as a line.

    The descriptor is registered with the event loop once, not for every line.

    Args:
        descriptor: A pipe, a terminal, a socket or a file; remains open.
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
        """Unregister the descriptor from the event loop."""
        if self._watched:
            self._watched = False
            asyncio.get_running_loop().remove_reader(self._descriptor)

    async def _piece(self) -> bytes:
        """The next bytes; b"" at the end of the input."""
        if not self._watched:
            try:
                asyncio.get_running_loop().add_reader(self._descriptor, self._come)
            except PermissionError:  # a regular file: epoll refuses it, and it is always ready
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
            self.close()  # no read is pending: the bytes remain in the pipe
        elif not self._waiting.done():
            self._waiting.set_result(None)


async def write_bytes(descriptor: int, content: bytes) -> None:
    """Write all bytes. If the reader is slow, the event loop continues with other tasks.

    Raises:
        BrokenPipeError: the reader has closed its end.
    """
    left = memoryview(content)
    left = left[_write_some(descriptor, left) :]
    # A message that was begun is completed even on cancellation; otherwise the next one would start in its middle.
    with anyio.CancelScope(shield=True) if left else nullcontext():
        while left:
            await _until_writable(descriptor)
            left = left[_write_some(descriptor, left) :]


def _write_some(descriptor: int, content: memoryview) -> int:
    """Write without blocking; returns the number of bytes written."""
    # Non-blocking mode is set only for the call, as other processes on the same terminal or pipe expect blocking
    # writes.
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
    except PermissionError:  # a regular file: epoll refuses it, and it is always ready
        await anyio.lowlevel.checkpoint()


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
