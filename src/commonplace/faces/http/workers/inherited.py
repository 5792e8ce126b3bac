"""Start parameters of a worker: descriptors and numbers, passed in one environment variable."""

from __future__ import annotations

import mmap
import os
import socket
from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import cached_property

from commonplace import WORKER_VARIABLE
from commonplace.faces.access.process_secret import SECRET_BYTES
from commonplace.faces.http.workers.board import BOARD_BYTES, Board
from commonplace.faces.http.workers.buckets import BUCKETS_BYTES, SharedBuckets
from commonplace.faces.http.workers.channel import Channel

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
    given = environment.pop(WORKER_VARIABLE, "")
    if not given:
        return None
    found = Inherited(*map(int, given.split()))
    for file in found.files:
        os.set_inheritable(file, False)  # Git and other child processes must not inherit it
    return found
