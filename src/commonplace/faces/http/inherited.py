"""The inheritance of a worker from its supervisor: start parameters, channel, shared state, and listening socket."""

from __future__ import annotations

import fcntl
import mmap
import os
import socket
import struct
import tempfile
import time
from collections import deque
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from hashlib import blake2b
from threading import Lock
from typing import Self

from commonplace import WORKER_VARIABLE
from commonplace.domain.errors import ConfigError
from commonplace.faces.access.callers import Bucket, Change
from commonplace.faces.access.used_once import SECRET_BYTES

# State shared by the workers: a memory-mapped file with one row per worker, written only by that worker.
#
# Each number has eight bytes at a multiple of eight, so that it is read atomically.


MAX_WORKERS = 64
_NUMBERS = struct.Struct("=QQQQ")
"""A row: the worker's number (0 if unused), its connections, and the counts of index updates begun and ended."""
_NUMBER = struct.Struct("=Q")
_CONNECTIONS, _BEGUN, _ENDED = 8, 16, 24
POLL_SECONDS = 0.002
"""Interval in seconds between two checks of other workers' updates."""
BOARD_BYTES = MAX_WORKERS * _NUMBERS.size


class Board:
    """The rows of all workers.

    Args:
        descriptor: An open file of at least `BOARD_BYTES` bytes.
        count: Number of rows that may be in use.
        row: Index of this worker's row; None for the supervisor, which has no row.

    Raises:
        ConfigError: the file cannot be mapped.
    """

    def __init__(self, descriptor: int, count: int, row: int | None = None) -> None:
        try:
            self._map = mmap.mmap(descriptor, BOARD_BYTES)
        except (OSError, ValueError) as error:
            raise ConfigError("The workers' shared memory is not available.", kind="workers") from error
        self._count = count
        self._row = row
        self._lock = Lock()
        self._begun = 0
        self._ended = 0

    def enter(self, row: int, number: int) -> None:
        """Assign a row to a worker, or clear it with number 0."""
        self._map[row * _NUMBERS.size : (row + 1) * _NUMBERS.size] = _NUMBERS.pack(number, 0, 0, 0)

    def connections(self, number: int) -> None:
        """Set this worker's number of connections."""
        self._write(_CONNECTIONS, number)

    def least_connections(self) -> int | None:
        """The smallest number of connections among the other workers; None if there is no other worker."""
        return min((connections for _, (_, connections, _, _) in self._rows()), default=None)

    def begin(self) -> None:
        """Count the begin of an index update."""
        with self._lock:
            self._begun += 1
            self._write(_BEGUN, self._begun)

    def end(self) -> None:
        """Count the end of an index update."""
        with self._lock:
            self._ended += 1
            self._write(_ENDED, self._ended)

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for updates that other workers have begun. Returns whether all have ended."""
        waiting = {(row, number): begun for row, (number, _, begun, ended) in self._rows() if ended < begun}
        if not waiting:
            return True
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            now = {(row, number): ended for row, (number, _, _, ended) in self._rows()}
            # An ended worker cannot finish its update. Its row is empty or has another number, so it is ignored.
            if all(now.get(element, begun) >= begun for element, begun in waiting.items()):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def close(self) -> None:
        """Release the mapping."""
        self._map.close()

    def _write(self, place: int, number: int) -> None:
        if self._row is not None:
            _NUMBER.pack_into(self._map, self._row * _NUMBERS.size + place, number)

    def _rows(self) -> list[tuple[int, tuple[int, int, int, int]]]:
        """The rows of the other workers, with their indexes."""
        rows = enumerate(_NUMBERS.iter_unpack(self._map[: self._count * _NUMBERS.size]))
        return [(row, numbers) for row, numbers in rows if numbers[0] and row != self._row]


# Rate limit buckets shared by several processes: rows of a memory-mapped file, found by a digest of the caller.
#
# Each group of rows has a file lock, which the kernel releases when its holder exits.


_ROW = struct.Struct("=16sdd")
"""A row: digest of the caller, remaining calls, and the time of the last change in seconds."""
_EMPTY = bytes(16)
GROUPS = 1024
ROWS = 16
"""Number of callers in a group. In a full group, the least recently used row is replaced."""
_GROUP_BYTES = ROWS * _ROW.size
BUCKETS_BYTES = GROUPS * _GROUP_BYTES


class SharedBuckets:
    """Buckets in a file that several processes map.

    Args:
        descriptor: An open file.
        offset: Start of the buckets in the file, a multiple of the page size. Their size is `BUCKETS_BYTES`.
    """

    def __init__(self, descriptor: int, offset: int) -> None:
        self._file = os.dup(descriptor)
        self._offset = offset
        self._map = mmap.mmap(descriptor, BUCKETS_BYTES, offset=offset)
        self._lock = Lock()

    def change(self, caller: str, change: Change) -> None:
        """Replace a caller's bucket by the result of `change`, atomically."""
        digest = blake2b(caller.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        group = int.from_bytes(digest[:4], "big") % GROUPS
        with self._lock, self._locked(group):
            rows = [_ROW.unpack_from(self._map, group * _GROUP_BYTES + row * _ROW.size) for row in range(ROWS)]
            mine = next((row for row in range(ROWS) if rows[row][0] == digest), None)
            bucket = None if mine is None else Bucket(*rows[mine][1:])
            row = min(range(ROWS), key=lambda row: (rows[row][0] != _EMPTY, rows[row][2])) if mine is None else mine
            _ROW.pack_into(self._map, group * _GROUP_BYTES + row * _ROW.size, digest, *change(bucket))

    def close(self) -> None:
        """Release the mapping."""
        self._map.close()
        os.close(self._file)

    @contextmanager
    def _locked(self, group: int) -> Generator[None]:
        # The lock of a group is one byte of the file. It excludes other processes, but not threads.
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, self._offset + group)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._offset + group)


# Start parameters of a worker: descriptors and numbers, passed in one environment variable.


GROW_SECONDS = 60.0
"""Timeout in seconds after which the other workers start even if the first worker's sync has not ended."""
_BUCKETS_AT = max(mmap.ALLOCATIONGRANULARITY, BOARD_BYTES)
_SECRET_AT = _BUCKETS_AT + BUCKETS_BYTES
SHARED_BYTES = _SECRET_AT + SECRET_BYTES
"""Size in bytes of the file shared by all workers: board, buckets and secret."""


@dataclass(frozen=True, eq=False)
class Inherited:
    """The inherited descriptors and numbers of a worker."""

    number: int
    """Number of this worker; never reused by the supervisor."""
    row: int
    """Index of the worker's row on the board."""
    count: int
    """Number of rows on the board: the maximum number of concurrent workers."""
    listener_file: int
    channel_file: int
    shared_file: int

    def in_environment(self) -> dict[str, str]:
        """The environment variable for the child process."""
        numbers = (self.number, self.row, self.count, self.listener_file, self.channel_file, self.shared_file)
        return {WORKER_VARIABLE: " ".join(map(str, numbers))}

    @property
    def files(self) -> tuple[int, ...]:
        """The descriptors to be inherited."""
        return self.listener_file, self.channel_file, self.shared_file

    @cached_property
    def listener(self) -> socket.socket:
        """The socket on which all workers listen."""
        return socket.socket(fileno=self.listener_file)

    @cached_property
    def channel(self) -> Channel:
        """The channel to the supervisor."""
        return Channel.inherited(self.channel_file)

    @cached_property
    def board(self) -> Board:
        """The shared state of the workers."""
        return Board(self.shared_file, self.count, self.row)

    @cached_property
    def buckets(self) -> SharedBuckets:
        """The rate limit buckets of the callers."""
        return SharedBuckets(self.shared_file, _BUCKETS_AT)

    @cached_property
    def secret(self) -> bytes:
        """The secret that all workers share."""
        return os.pread(self.shared_file, SECRET_BYTES, _SECRET_AT)


def write_secret(shared_file: int, value: bytes) -> None:
    """Store the secret that all workers share."""
    os.pwrite(shared_file, value, _SECRET_AT)


def inherited(environment: MutableMapping[str, str]) -> Inherited | None:
    """The start parameters of this process, removed from its environment; None if it is not a worker."""
    given_text = environment.pop(WORKER_VARIABLE, "")
    if not given_text:
        return None
    found_inherited = Inherited(*map(int, given_text.split()))
    for file in found_inherited.files:
        os.set_inheritable(file, False)  # Git and other child processes must not inherit it
    return found_inherited


# The channel between the supervisor and a worker: short frames in both directions, some with an open file.


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


# The socket on which a server listens.


BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class BindAddress:
    """The address and port on which a server listens."""

    host: str
    port: int
    """Port number; 0 for any free port."""


def listening(address: BindAddress) -> socket.socket:
    """Create a listening socket, before any slow start-up work.

    Raises:
        ConfigError: the address is in use, forbidden or invalid.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    made = socket.socket(family)
    try:  # `socket.create_server` closes its socket after some errors only
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address.host, address.port))
        made.listen(BACKLOG)
    except (OSError, OverflowError, TypeError, ValueError) as error:  # the last two: an invalid host name
        made.close()
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"Cannot listen on {address.host}, port {address.port}: {reason}.",
            kind="port",
            hint="Choose another with --host and --port; --port 0 takes any free one.",
        ) from error
    return made


def serving_line(listener: socket.socket) -> str:
    """The line on standard error with the server's URL."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"Serving on http://{shown}:{port}\n"
