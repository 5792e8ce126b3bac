"""Frames between the supervisor and a worker."""

from __future__ import annotations

import os
import socket
import tempfile

import pytest

from cases import each_case
from commonplace.faces.http.inherited import MAX_INLINE, Channel, Frame, Kind, channel_pair


def pair() -> tuple[Channel, Channel]:
    ours, theirs = channel_pair()
    return ours, Channel(theirs)


def received(channel: Channel, number: int) -> list[Frame]:
    """The next frames; what cannot be there is waited for in vain by the test's own limit of time."""
    frames: list[Frame] = []
    while len(frames) < number:
        frames += channel.receive()
    return frames


def test_frames_come_whole_and_in_order() -> None:
    ours, theirs = pair()
    for number in range(100):
        ours.send(Frame(Kind.PING, number, b"x" * number))
    assert received(theirs, 100) == [Frame(Kind.PING, number, b"x" * number) for number in range(100)]
    ours.close()
    theirs.close()


@each_case("size", [0, 1, MAX_INLINE, MAX_INLINE + 1, 300_000])
def test_an_open_file_and_what_was_read_travel_together(size: int) -> None:
    ours, theirs = pair()
    content = os.urandom(size)
    for name in (b"first", b"second"):
        with tempfile.TemporaryFile() as file:
            file.write(name)
            file.flush()
            ours.send(Frame(Kind.CONNECTION, 7, content + name, file.fileno()))
    for name, frame in zip((b"first", b"second"), received(theirs, 2), strict=True):
        assert (frame.kind, frame.number, frame.content) == (Kind.CONNECTION, 7, content + name)
        assert frame.descriptor is not None
        assert not os.get_inheritable(frame.descriptor)
        with os.fdopen(frame.descriptor, "rb") as file:
            file.seek(0)
            assert file.read() == name
    ours.close()
    theirs.close()


def test_what_the_other_end_does_not_read_yet_waits() -> None:
    ours, theirs = pair()
    sent = 0
    while not ours.waits:
        ours.send(Frame(Kind.CONNECTION, sent, b"y" * MAX_INLINE, 0))
        sent += 1
    ours.send(Frame(Kind.PONG, sent))
    frames: list[Frame] = []
    while len(frames) <= sent:
        frames += theirs.receive()
        ours.flush()
    assert [frame.number for frame in frames] == list(range(sent + 1))
    assert not ours.waits
    for frame in frames:
        if frame.descriptor is not None:
            os.close(frame.descriptor)
    ours.close()
    theirs.close()


def test_the_end_of_the_other_process_is_noticed() -> None:
    ours, theirs = pair()
    theirs.close()
    with pytest.raises(EOFError):
        ours.receive()
    with pytest.raises(OSError, match="Broken pipe"):
        ours.send(Frame(Kind.PING))
    ours.close()


def test_an_end_is_inherited_by_its_number() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        end = Channel.inherited(ours.detach())
        end.send(Frame(Kind.SERVING))
        assert theirs.recv(100)[0] == Kind.SERVING
        end.close()
