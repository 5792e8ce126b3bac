"""How a connection is made and how answers leave on it."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from commonplace.faces.http.connections import TimeoutProtocol
from commonplace.faces.http.joined_writes import MAX_JOINED, JoinedWrites
from commonplace.faces.http.server import BindAddress, listening

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


class _Kept(asyncio.Transport):
    """Keeps each write apart."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


async def _written() -> list[list[bytes]]:
    loop = asyncio.get_running_loop()
    kept = [_Kept() for _ in range(5)]
    plain, large, closed, aborted, gone = (JoinedWrites(one, loop) for one in kept)
    for piece in (b"head", b"", b"body"):
        plain.write(piece)
    large.write(b"x" * MAX_JOINED)
    assert kept[1].writes, "what is large enough does not wait"
    closed.write(b"last")
    closed.close()
    for one in (aborted, gone):
        one.write(b"x")
    aborted.abort()
    kept[4].close()
    await asyncio.sleep(0)
    plain.write(b"later")
    await asyncio.sleep(0)
    assert all(one.closed for one in kept[2:])
    return [one.writes for one in kept]


def test_what_is_written_in_one_turn_leaves_in_one_piece() -> None:
    assert asyncio.run(_written()) == [[b"headbody", b"later"], [b"x" * MAX_JOINED], [b"last"], [], []]
