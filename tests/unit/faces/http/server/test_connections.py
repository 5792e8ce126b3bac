"""Creation of connections."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from commonplace.faces.http.inherited import BindAddress, listening
from commonplace.faces.http.server import TimeoutProtocol

WAIT = 20.0
"""Seconds."""


async def _accepted() -> int:
    """Whether a connection that the server took in sends without waiting for acknowledgements."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        """Nothing is asked of it."""

    loop = asyncio.get_running_loop()
    state = ServerState()
    config = uvicorn.Config(app, http=TimeoutProtocol, ws="none", log_config=None)
    listener = listening(BindAddress("127.0.0.1", 0))
    async with await loop.create_server(lambda: TimeoutProtocol(config, state, {}), sock=listener):
        with socket.create_connection(listener.getsockname()):
            async with asyncio.timeout(WAIT):
                while not state.connections:  # noqa: ASYNC110 - it tells nobody when they come
                    await asyncio.sleep(0)
            (made,) = state.connections
            taken = made.transport.get_extra_info("socket")
            return taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_no_answer_waits_until_the_other_side_acknowledges_what_went_before() -> None:
    assert asyncio.run(_accepted()) == 1


async def _received_by_one_who_sends_without_end() -> bytes:
    """The bytes received by a client that continues to send a body after the response."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    class Impatient(TimeoutProtocol):
        header_timeout = 0.05

    loop = asyncio.get_running_loop()
    state = ServerState()
    config = uvicorn.Config(app, http=Impatient, ws="none", log_config=None)
    listener = listening(BindAddress("127.0.0.1", 0))
    async with await loop.create_server(lambda: Impatient(config, state, {}), sock=listener), asyncio.timeout(WAIT):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        received = await reader.readuntil(b"\r\n\r\n")
        try:
            while True:
                writer.write(b"5\r\nabcde\r\n")
                await writer.drain()
                await asyncio.sleep(0)
        except ConnectionError:
            return received
        finally:
            writer.close()


def test_a_body_that_was_answered_before_its_end_may_not_go_on_for_ever() -> None:
    assert asyncio.run(_received_by_one_who_sends_without_end()).startswith(b"HTTP/1.1 413 ")
