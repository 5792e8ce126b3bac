"""How messages reach a server: standard input and output, one JSON-RPC message a line.

The event loop itself reads and writes them. Worker threads for every line that comes or goes, as the SDK's own
transport has them, cost more than all else in a small call.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
import anyio.lowlevel
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.message import SessionMessage

from commonplace.faces.mcp.sdk import Context, McpServer

log = logging.getLogger(__name__)

_PIECE = 65_536
"""Bytes that are read at once."""
_GREETINGS = {"initialize", "server/discover", "ping"}
"""Requests that are answered without anything being open."""
_LOWEST = 3
"""Descriptors below are the standard ones."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """What is done around the serving itself."""

    start: Callable[[], None]
    """Called in a thread of its own once the client's first request was answered, so that what takes time at a start
    is not in the way of the first answer."""
    stop: Callable[[], None]
    """Called when the client has gone or a signal ends the process, and again when a signal comes meanwhile: it then
    returns when the first call has done its work."""


def serve_stdio(server: McpServer, lifetime: Lifetime) -> None:
    """Serve one client on standard input and output until it closes its end, or a signal ends the process with 0."""
    anyio.run(_serve_stdio, server, lifetime)


async def _serve_stdio(server: McpServer, lifetime: Lifetime) -> None:
    server.middleware.append(_StartAfterFirstAnswer(lifetime.start))
    arrived, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, leaving = anyio.create_memory_object_stream[SessionMessage](0)
    with standard_streams() as (source, sink):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, lifetime.stop)
            async with anyio.create_task_group() as both_ways, answers:
                both_ways.start_soon(_receive, source, arrived, answers.clone())
                both_ways.start_soon(_send, sink, leaving)
                await server.run(messages, answers, server.create_initialization_options())
            # While signals are still taken: a client that closes our input and soon sends one must not cut it short.
            await anyio.to_thread.run_sync(lifetime.stop)
            tasks.cancel_scope.cancel()


async def _receive(
    source: int,
    arrived: MemoryObjectSendStream[SessionMessage | Exception],
    answers: MemoryObjectSendStream[SessionMessage],
) -> None:
    """Take lines apart; one that is no JSON-RPC message is answered, where the SDK would drop it without a word."""
    async with arrived, answers:
        async for line in read_lines(source):
            try:
                message = types.jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False)
            except ValueError:
                log.warning("a line of input is no JSON-RPC message")
                await answers.send(_parse_error())
            else:
                await arrived.send(SessionMessage(message))


async def _send(sink: int, leaving: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Write messages, until nobody is left to read them."""
    read = True
    async with leaving:
        async for item in leaving:
            if read:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await write_bytes(sink, f"{text}\n".encode())
                except BrokenPipeError:
                    read = False


def _parse_error() -> SessionMessage:
    problem = types.ErrorData(code=types.PARSE_ERROR, message="Parse error: the line is not one JSON-RPC message.")
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=problem))


class _StartAfterFirstAnswer:
    """SDK middleware that starts the rest of the process when the first request has been answered.

    A first request that may need the rest, such as a call of the newer era, which has no handshake, finds it started.
    """

    def __init__(self, start: Callable[[], None]) -> None:
        self._start: Callable[[], None] | None = start

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method not in _GREETINGS:
            self._begin()
        result = await call_next(ctx)
        if ctx.request_id is not None:
            self._begin()
        return result

    def _begin(self) -> None:
        if self._start is not None:
            threading.Thread(target=self._start, name="start", daemon=True).start()
            self._start = None


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


async def read_lines(descriptor: int) -> AsyncGenerator[bytes]:
    """Lines without their ends, as they come; what stands behind the last end is a line too."""
    begun: list[bytes] = []
    while piece := await _read(descriptor):
        first, *further = piece.split(b"\n")
        begun.append(first)
        for part in further:
            yield b"".join(begun)
            begun = [part]
    if last := b"".join(begun):
        yield last


async def write_bytes(descriptor: int, content: bytes) -> None:
    """Write everything, while the loop goes on with other things wherever the reader is slow.

    Raises:
        BrokenPipeError: nobody reads any more.
    """
    left = memoryview(content)
    while left:
        left = left[_written(descriptor, left) :]
        if left:
            await _until(anyio.wait_writable, descriptor)


def _written(descriptor: int, content: memoryview) -> int:
    """Bytes that could be written without waiting."""
    # Only for as long as it takes: whoever shares a terminal or pipe with this process expects that writing waits.
    os.set_blocking(descriptor, False)
    try:
        return os.write(descriptor, content)
    except BlockingIOError:
        return 0
    finally:
        os.set_blocking(descriptor, True)


async def _read(descriptor: int) -> bytes:
    """What has come, b"" at the end."""
    await _until(anyio.wait_readable, descriptor)
    return os.read(descriptor, _PIECE)


async def _until(ready: Callable[[int], Awaitable[None]], descriptor: int) -> None:
    try:
        await ready(descriptor)
    except PermissionError:  # a file, which is always ready and cannot be waited for
        await anyio.lowlevel.checkpoint()


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
