"""A repository's object database that reads loose objects without libgit2.

libgit2 1.9 loops for ever on a loose object whose compressed data ends too early, while it holds Python's global lock.
An interrupted copy, a full disk or a crafted repository can cause this.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pygit2
from pygit2.enums import ObjectType

MAX_HEADER_BYTES = 32
"""Maximum size in bytes of an object's header: type and length."""
FIRST_BYTES = 4096
"""Number of compressed bytes that contain the header, which follows zlib's table of codes."""
MAX_MESSAGE_BYTES = 10_000_000
"""Maximum size in bytes of a commit or tag, most of which is the message; the rest of a larger one is not read."""
_KINDS = {
    b"commit": ObjectType.COMMIT,
    b"tree": ObjectType.TREE,
    b"blob": ObjectType.BLOB,
    b"tag": ObjectType.TAG,
}
_WITH_MESSAGE = (b"commit ", b"tag ")
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_HEX_DIGITS = 40
_FOLDER_DIGITS = 2


def object_database(folders: Sequence[str], max_bytes: int) -> pygit2.Odb:
    """The object database of a repository.

    Args:
        folders: The repository's `objects`, then those of its alternates.
        max_bytes: Maximum size in bytes of a loose object; the rest of a larger one is not read.

    Raises:
        pygit2.GitError: a folder of packs cannot be read.
    """
    database = pygit2.Odb()
    for number, folder in enumerate(folders):  # libgit2 asks its backends in descending order of their priority
        database.add_backend(pygit2.OdbBackendPack(folder), 2 * (len(folders) - number))
    database.add_backend(LooseObjects(folders, max_bytes), 1)
    return database


class LooseObjects(pygit2.OdbBackend):
    """A backend of libgit2's object database for loose objects.

    For a damaged object, the bytes that can be inflated are returned. libgit2 then rejects them, because their hash
    differs. `KeyError` means "not found" to libgit2; pygit2 would leave any other exception pending.
    """

    def __init__(self, folders: Sequence[str], max_bytes: int) -> None:
        """Create a backend; the arguments are those of `object_database`."""
        super().__init__()  # pyright: ignore[reportUnknownMemberType] - pygit2 declares no types for it
        self._folders = tuple(folders)
        self._max_bytes = max_bytes

    def read_cb(self, identifier: pygit2.Oid) -> tuple[int, bytes]:
        """The type and the content of an object.

        Raises:
            KeyError: there is no such loose object.
        """
        return _parsed(self._inflated(str(identifier), self._max_bytes))

    def read_prefix_cb(self, prefix: str) -> tuple[int, bytes, pygit2.Oid]:
        """Type, content and id of the only object whose id begins with the prefix. Raises as `exists_prefix_cb`."""
        identifier = self.exists_prefix_cb(prefix)
        return *self.read_cb(identifier), identifier

    def read_header_cb(self, identifier: pygit2.Oid) -> tuple[int, int]:
        """The type and the size in bytes of an object."""
        name = str(identifier)
        kind, _, size = self._inflated(name, MAX_HEADER_BYTES).partition(b"\0")[0].partition(b" ")
        if kind not in _KINDS or not size.isdigit():
            raise KeyError(name)
        return _KINDS[kind], min(int(size), self._max_bytes + 1)

    def exists_cb(self, identifier: pygit2.Oid) -> bool:
        """Whether there is such a loose object."""
        name = str(identifier)
        return any(os.path.isfile(_file(folder, name)) for folder in self._folders)

    def exists_prefix_cb(self, prefix: str) -> pygit2.Oid:
        """The id that begins with the prefix. Raises KeyError if there is none, ValueError if there are several."""
        if len(prefix) == _HEX_DIGITS:
            found = {prefix} if self.exists_cb(pygit2.Oid(hex=prefix)) else set[str]()
        else:
            found = {name for name in self._names(prefix[:_FOLDER_DIGITS]) if name.startswith(prefix)}
        if len(found) > 1:
            raise ValueError(prefix)
        if not found:
            raise KeyError(prefix)
        return pygit2.Oid(hex=found.pop())

    def write_cb(self, _identifier: pygit2.Oid, content: bytes, kind: int) -> None:
        """Write a loose object by means of libgit2."""
        pygit2.Odb(self._folders[0]).write(kind, content)

    def refresh_cb(self) -> None:
        """Do nothing, because nothing is cached."""

    def __iter__(self) -> Iterator[pygit2.Oid]:
        """The ids of all loose objects."""
        for number in range(256):
            for name in self._names(f"{number:02x}"):
                yield pygit2.Oid(hex=name)

    def _names(self, beginning: str) -> set[str]:
        """The ids of the loose objects that begin with these two digits, in all databases."""
        names: set[str] = set()
        for folder in self._folders:
            with suppress(OSError):
                names.update(beginning + rest for rest in os.listdir(f"{folder}/{beginning}"))  # noqa: PTH208
        return {name for name in names if len(name) == _HEX_DIGITS and set(name) <= set("0123456789abcdef")}

    def _inflated(self, name: str, max_bytes: int) -> bytes:
        for folder in self._folders:
            try:
                compressed = _content(_file(folder, name), max(max_bytes, FIRST_BYTES))
            except OSError:
                continue
            inflater = zlib.decompressobj()
            try:
                head = inflater.decompress(compressed, MAX_HEADER_BYTES)
                most = min(max_bytes, MAX_MESSAGE_BYTES) if head.startswith(_WITH_MESSAGE) else max_bytes
                rest = max(most + MAX_HEADER_BYTES - len(head), 0)
                return head + inflater.decompress(inflater.unconsumed_tail, rest) if rest else head
            except zlib.error:
                return b""
        raise KeyError(name)


def _file(folder: str, name: str) -> str:
    return f"{folder}/{name[:_FOLDER_DIGITS]}/{name[_FOLDER_DIGITS:]}"


def _content(file: str, max_bytes: int) -> bytes:
    descriptor = os.open(file, _READ)
    try:
        return os.read(descriptor, min(os.fstat(descriptor).st_size, max_bytes))
    finally:
        os.close(descriptor)


def _parsed(raw: bytes) -> tuple[int, bytes]:
    header, _, content = raw.partition(b"\0")
    return _KINDS.get(header.partition(b" ")[0], ObjectType.BLOB), content
