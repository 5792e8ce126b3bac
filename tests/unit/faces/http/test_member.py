"""A worker whose supervisor has ended."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile

import pytest

from commonplace.faces.http.inherited import SHARED_BYTES, Inherited, Kind, channel_pair
from commonplace.faces.http.member import Member


def test_a_worker_whose_supervisor_was_killed_ends_with_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    supervisor, end = channel_pair()
    ended = list[str]()

    async def run(inherited: Inherited) -> Member:
        done = asyncio.Event()

        def end_server() -> None:
            ended.append("asked")
            done.set()

        member = Member(inherited, lambda: 0, asyncio.Protocol, end_server)
        member.start()
        supervisor.close()
        assert not member.pass_on(inherited.listener_file, 2, b"GET / HTTP/1.1")
        member.tell(Kind.PONG)
        await done.wait()
        member.tell(Kind.PONG)
        member.stop_accepting()
        return member

    with tempfile.TemporaryFile() as shared, socket.create_server(("127.0.0.1", 0)) as listener:
        os.ftruncate(shared.fileno(), SHARED_BYTES)
        member = asyncio.run(run(Inherited(1, 0, 1, os.dup(listener.fileno()), end.detach(), shared.fileno())))
        member.given.listener.close()
        member.given.channel.close()
    member.tell_soon(Kind.INDEXED)
    assert ended == ["asked"]
    assert [record.getMessage() for record in caplog.records] == ["the supervisor has ended, and so does this worker"]
