"""How messages reach a server: standard input and output, one JSON-RPC message a line."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from commonplace.faces.mcp.sdk import Context, McpServer

log = logging.getLogger(__name__)


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
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        checked_send, checked = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers = write.clone()

        async def pass_on() -> None:
            """Pass messages on; what is no JSON-RPC message is answered, where the SDK would drop it without a word."""
            async with read, checked_send, answers:
                async for item in read:
                    if isinstance(item, Exception):
                        log.warning("a line of input is no JSON-RPC message")
                        await answers.send(_parse_error())
                    else:
                        await checked_send.send(item)

        tasks.start_soon(_stop_on_signal, lifetime.stop)
        tasks.start_soon(pass_on)
        await server.run(checked, write, server.create_initialization_options())
        # While signals are still taken: a client that closes our input and soon sends one must not cut the end short.
        await anyio.to_thread.run_sync(lifetime.stop)
        tasks.cancel_scope.cancel()


def _parse_error() -> SessionMessage:
    problem = types.ErrorData(code=types.PARSE_ERROR, message="Parse error: the line is not one JSON-RPC message.")
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=problem))


class _StartAfterFirstAnswer:
    """SDK middleware that starts the rest of the process when the first request has been answered."""

    def __init__(self, start: Callable[[], None]) -> None:
        self._start: Callable[[], None] | None = start

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if self._start is not None and ctx.request_id is not None:
            threading.Thread(target=self._start, name="start", daemon=True).start()
            self._start = None
        return result


async def _stop_on_signal(stop: Callable[[], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            stop()
            # The thread that waits for a line of input cannot be woken; everything that matters is closed by now.
            os._exit(0)
