"""Writes of responses on a connection."""

from __future__ import annotations

import asyncio
import socket

from commonplace.faces.http.server import MAX_JOINED, JoinedWrites

WAIT = 20.0
"""Seconds."""


class _Recorded(asyncio.Transport):
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
    recordeds = [_Recorded() for _ in range(5)]
    plain, large, closed, aborted, gone = (JoinedWrites(recorded, loop) for recorded in recordeds)
    for piece in (b"head", b"", b"body"):
        plain.write(piece)
    large.write(b"x" * MAX_JOINED)
    assert recordeds[1].writes, "what is large enough does not wait"
    closed.write(b"last")
    closed.close()
    for writes in (aborted, gone):
        writes.write(b"x")
    aborted.abort()
    recordeds[4].close()
    await asyncio.sleep(0)
    plain.write(b"later")
    await asyncio.sleep(0)
    assert all(recorded.closed for recorded in recordeds[2:])
    return [recorded.writes for recorded in recordeds]


def test_what_is_written_in_one_turn_leaves_in_one_piece() -> None:
    assert asyncio.run(_written()) == [[b"headbody", b"later"], [b"x" * MAX_JOINED], [b"last"], [], []]


def test_what_is_written_keeps_its_order_and_its_bytes_though_the_writer_changes_them_afterwards() -> None:
    async def written() -> bytes:
        recorded = _Recorded()
        joined = JoinedWrites(recorded, asyncio.get_running_loop())
        buffer = bytearray(b"one ")
        joined.write(buffer)
        buffer[:] = b"gone"
        joined.write(memoryview(b"two "))
        joined.write(b"x" * MAX_JOINED)
        joined.write(b" three")
        await asyncio.sleep(0)
        return b"".join(recorded.writes)

    assert asyncio.run(written()) == b"one two " + b"x" * MAX_JOINED + b" three"


def test_a_real_connection_gives_everything_before_it_closes() -> None:
    async def received() -> bytes:
        ours, theirs = socket.socketpair()
        _, writer = await asyncio.open_connection(sock=ours)
        other, end = await asyncio.open_connection(sock=theirs)
        assert isinstance(writer.transport, asyncio.Transport)
        joined = JoinedWrites(writer.transport, asyncio.get_running_loop())
        assert joined.get_extra_info("socket") is not None
        assert joined.get_extra_info("nothing", 5) == 5
        for piece in (b"head", b"", b"body" * 50_000, b"end"):
            joined.write(piece)
        joined.close()
        assert joined.is_closing()
        async with asyncio.timeout(WAIT):
            content = await other.read()
            for stream_writer in (writer, end):
                stream_writer.close()
                await stream_writer.wait_closed()
        return content

    assert asyncio.run(received()) == b"head" + b"body" * 50_000 + b"end"
