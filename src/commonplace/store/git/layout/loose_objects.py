"""Reads loose objects in libgit2's place, with bounds.

libgit2 1.9 loops for ever on a loose object whose compressed data ends too early. A copy that was cut off, a full disk
or a crafted repository is enough, and the loop holds Python's global lock.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence

import pygit2
from pygit2.enums import ObjectType

PRIORITY = 2
"""libgit2 asks its backends in descending order: 2 is that of packs (which come before, as they were added first), 1
that of its own reader of loose objects."""
MAX_HEADER_BYTES = 32
"""Maximum size in bytes of what stands before the content: type and length."""
_KINDS = {
    b"commit": ObjectType.COMMIT,
    b"tree": ObjectType.TREE,
    b"blob": ObjectType.BLOB,
    b"tag": ObjectType.TAG,
}
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class LooseObjects(pygit2.OdbBackend):
    """A backend of libgit2's object database that reads loose objects and nothing else.

    Of a damaged object it returns what can be inflated. libgit2 then rejects it, because its hash is another one.
    A `KeyError` makes libgit2 ask the next backend; any other exception would stay pending in pygit2.
    """

    def __init__(self, folders: Sequence[str], max_bytes: int) -> None:
        """Create a backend.

        Args:
            folders: The repository's `objects`, then those of its alternates.
            max_bytes: Maximum size in bytes of an object; the rest of a larger one is not read.
        """
        super().__init__()  # pyright: ignore[reportUnknownMemberType] - pygit2 declares no types for it
        self._folders = tuple(folders)
        self._max_bytes = max_bytes

    def read_cb(self, identifier: pygit2.Oid) -> tuple[int, bytes]:
        """The type and the content of an object.

        Raises:
            KeyError: there is no such loose object.
        """
        name = str(identifier)
        for folder in self._folders:
            try:
                compressed = _content(f"{folder}/{name[:2]}/{name[2:]}", self._max_bytes)
            except OSError:
                continue
            return _parsed(_inflated(compressed, self._max_bytes + MAX_HEADER_BYTES))
        raise KeyError(name)

    def write_cb(self, _identifier: pygit2.Oid, content: bytes, kind: int) -> None:
        """Write an object as libgit2 would: a backend that is asked first must write, too."""
        pygit2.Odb(self._folders[0]).write(kind, content)

    def exists_cb(self, _identifier: pygit2.Oid) -> bool:
        """Left to libgit2, which does not read the object for it."""
        return False

    def exists_prefix_cb(self, prefix: str) -> pygit2.Oid:
        """Left to libgit2, which reads names alone for it."""
        raise KeyError(prefix)

    def read_header_cb(self, identifier: pygit2.Oid) -> tuple[int, int]:
        """Left to libgit2, which reads a bounded number of bytes for it."""
        raise KeyError(str(identifier))

    def read_prefix_cb(self, prefix: str) -> tuple[int, bytes, pygit2.Oid]:
        """Left to libgit2: `GitRepository` reads by full ids alone."""
        raise KeyError(prefix)

    def refresh_cb(self) -> None:
        """Nothing is cached."""

    def __iter__(self) -> Iterator[pygit2.Oid]:
        """Left to libgit2, whose own reader lists the same objects."""
        return iter(())


def _content(file: str, max_bytes: int) -> bytes:
    descriptor = os.open(file, _READ)
    try:
        return os.read(descriptor, min(os.fstat(descriptor).st_size, max_bytes))
    finally:
        os.close(descriptor)


def _inflated(compressed: bytes, max_bytes: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(compressed, max_bytes)
    except zlib.error:
        return b""


def _parsed(raw: bytes) -> tuple[int, bytes]:
    header, _, content = raw.partition(b"\0")
    return _KINDS.get(header.partition(b" ")[0], ObjectType.BLOB), content
