"""The channel between the supervisor and one worker: short frames both ways, some with an open file."""

from __future__ import annotations

import os
import socket
import struct
import tempfile
from collections import deque
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

_HEAD = struct.Struct("!BQI")
_KIND, _WITH_FILE, _LONG = 0x0F, 0x10, 0x20
"""Bits of a frame's first byte: what it says, an open file comes with it, its content is in a file."""
_PIECE = 256 * 1024
_MAX_FILES = 16
"""Open files that are taken at once."""
MAX_INLINE = 16 * 1024
"""Bytes that travel in a frame itself; more of them are in a file that travels with it."""


class Kind(IntEnum):
    """Kinds of frames."""

    SERVING = 1
    """From a worker: it accepts connections."""
    INDEXED = 2
    """From a worker: its first comparison of all files has ended."""
    PING = 3
    """From the supervisor: answer."""
    PONG = 4
    """From a worker: its event loop runs."""
    CONNECTION = 5
    """A connection with the bytes that were read of its request; from a worker, `number` is the worker to take it."""
    END = 6
    """From the supervisor: end in good order."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message."""

    kind: Kind
    number: int = 0
    content: bytes = b""
    descriptor: int | None = None
    """Descriptor of an open file, which the receiver closes."""


class Channel:
    """One end of a channel. Never blocks: what cannot be sent waits, with its files open, until `flush`.

    Args:
        end: A connected Unix stream socket, closed with the channel.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._received = bytearray()
        self._files: deque[int] = deque()
        self._waiting: deque[tuple[bytes, list[int]]] = deque()

    @classmethod
    def inherited(cls, descriptor: int) -> Self:
        """The end whose open file this process was started with."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        """For selectors."""
        return self._socket.fileno()

    @property
    def waits(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._waiting)

    def send(self, frame: Frame) -> None:
        """Send a frame, now or later. Its open file may be closed afterwards.

        Raises:
            OSError: the other end is closed, or there are no more files.
        """
        kind, content, files = int(frame.kind), frame.content, list[int]()
        if frame.descriptor is not None:
            kind |= _WITH_FILE
            files.append(os.dup(frame.descriptor))
        if len(content) > MAX_INLINE:
            kind |= _LONG
            files.append(_in_file(content))
            content = b""
        self._waiting.append((_HEAD.pack(kind, frame.number, len(content)) + content, files))
        self.flush()

    def flush(self) -> None:
        """Send what can be sent without waiting.

        Raises:
            OSError: the other end is closed.
        """
        while self._waiting:
            data, files = self._waiting[0]
            try:
                sent = socket.send_fds(self._socket, [data], files) if files else self._socket.send(data)
            except BlockingIOError:
                return
            _close(files)
            self._waiting.popleft()
            if sent < len(data):
                self._waiting.appendleft((data[sent:], []))

    def receive(self) -> list[Frame]:
        """The frames that have come; call it when there is something to read.

        Raises:
            EOFError: the other end is closed.
        """
        try:
            data, files, _, _ = socket.recv_fds(self._socket, _PIECE, _MAX_FILES)
        except BlockingIOError:
            return []
        except ConnectionError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        for file in files:
            os.set_inheritable(file, False)
        self._files.extend(files)
        self._received += data
        return self._frames()

    def close(self) -> None:
        """Close this end and every file that was to be sent or taken."""
        self._socket.close()
        for _, files in self._waiting:
            _close(files)
        self._waiting.clear()
        _close(self._files)
        self._files.clear()

    def _frames(self) -> list[Frame]:
        frames: list[Frame] = []
        while len(self._received) >= _HEAD.size:
            kind, number, size = _HEAD.unpack_from(self._received)
            if len(self._received) < _HEAD.size + size:
                break
            content = bytes(self._received[_HEAD.size : _HEAD.size + size])
            del self._received[: _HEAD.size + size]
            # A frame comes after its files, in order, because they were sent with its first byte.
            descriptor = self._files.popleft() if kind & _WITH_FILE else None
            if kind & _LONG:
                content = _from_file(self._files.popleft())
            frames.append(Frame(Kind(kind & _KIND), number, content, descriptor))
        return frames


def channel_pair() -> tuple[Channel, socket.socket]:
    """A channel, and the other end of it for a process to inherit."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return Channel(ours), theirs


def _in_file(content: bytes) -> int:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return os.dup(file.fileno())


def _from_file(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return file.read()


def _close(files: list[int] | deque[int]) -> None:
    for file in files:
        os.close(file)
