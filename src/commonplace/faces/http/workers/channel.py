"""The channel between the supervisor and a worker: short frames in both directions, some with an open file."""

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
"""Bits of a frame's first byte: its kind, whether an open file is attached, whether the content is in a file."""
_PIECE = 256 * 1024
_MAX_FILES = 16
"""Maximum number of open files per receive call."""
MAX_INLINE = 16 * 1024
"""Maximum size in bytes of content inside a frame. Larger content is sent as an attached file."""


class Kind(IntEnum):
    """Kinds of frames."""

    SERVING = 1
    """Worker to supervisor: the worker accepts connections."""
    INDEXED = 2
    """Worker to supervisor: the first sync has ended."""
    PING = 3
    """Supervisor to worker: request for a PONG."""
    PONG = 4
    """Worker to supervisor: the event loop runs."""
    CONNECTION = 5
    """Either direction: a connection with the bytes already read. From a worker, `number` is the target worker."""
    END = 6
    """Supervisor to worker: shut down gracefully."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of the channel."""

    kind: Kind
    number: int = 0
    content: bytes = b""
    descriptor: int | None = None
    """Descriptor of an open file, which the receiver closes."""


class Channel:
    """One end of a channel. Never blocks: unsent frames are queued, with their files open, until `flush`.

    Args:
        end: A connected Unix stream socket; closed with the channel.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._received = bytearray()
        self._files: deque[int] = deque()
        self._waiting: deque[tuple[bytes, list[int]]] = deque()

    @classmethod
    def inherited(cls, descriptor: int) -> Self:
        """The channel end on a descriptor that this process has inherited."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        """The descriptor of the socket, for selectors."""
        return self._socket.fileno()

    @property
    def waits(self) -> bool:
        """Whether unsent frames are queued."""
        return bool(self._waiting)

    def send(self, frame: Frame) -> None:
        """Queue a frame and send as much as possible. The caller may close the frame's open file afterwards.

        Raises:
            OSError: the other end is closed, or no file descriptor is available.
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
        """Send queued frames until the socket would block.

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
        """The complete frames received so far. Call this when the socket is readable.

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
        """Close the socket, the files of queued frames, and received files that were not delivered."""
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
            # Files are sent with a frame's first byte, so they arrive before the frame is complete, in order.
            descriptor = self._files.popleft() if kind & _WITH_FILE else None
            if kind & _LONG:
                content = _from_file(self._files.popleft())
            frames.append(Frame(Kind(kind & _KIND), number, content, descriptor))
        return frames


def channel_pair() -> tuple[Channel, socket.socket]:
    """A channel, and the socket of its other end for a child process."""
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
