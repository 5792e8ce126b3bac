"""Joined writes: the head of a response is sent together with the start of its body."""

from __future__ import annotations

import asyncio

MAX_JOINED = 64 * 1024
"""Maximum number of bytes that are buffered."""


class JoinedWrites(asyncio.Transport):
    """A transport that combines all data written in one turn of the event loop.

    uvicorn writes the head of a response and each part of its body separately.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self._size = 0

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Information about the connection, such as its socket."""
        return self._transport.get_extra_info(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Buffer data until the end of the turn, or until `MAX_JOINED` bytes are buffered."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(bytes(data))
        self._size += len(data)
        if self._size >= MAX_JOINED:
            self._flush()

    def is_empty(self) -> bool:
        """Whether everything written has been sent."""
        return not self._pieces and not self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Flush the buffer and close the connection."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Discard the buffer and close the connection at once."""
        self._pieces.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether the connection is closed or closing."""
        return self._transport.is_closing()

    def resume_reading(self) -> None:
        """Resume reading from the connection."""
        self._transport.resume_reading()

    def _flush(self) -> None:
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        if data and not self._transport.is_closing():
            self._transport.write(data)
