"""Git's index file, version 2: replaces a few entries without decoding the rest.

libgit2 reads and writes the whole index: 16 ms of CPU time at 14,000 entries, more than the rest of a commit. Here one
pass finds the start of each entry, and the new file is joined from the pieces around the changed ones. Other versions
are left to libgit2. The format is documented in gitformat-index(5).
"""

from __future__ import annotations

import os
import re
import shutil
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from struct import pack, unpack_from
from typing import NamedTuple

import pygit2
from pygit2.enums import FileMode

_HEADER = 12
_FIXED = 62
"""Size of an entry's fixed part in bytes, before its path."""
_ID_AT = 40
_FLAGS_AT = 60
_HASH = 20
_LONGEST_TOLD = 0xFFF
"""Value of the length field for paths that are this long or longer; such a path ends at its NUL."""
_STAGES = 0x3000
_STAGE_SHIFT = 12
_WORD = 0xFFFFFFFF
_VERSION_2 = b"DIRC\x00\x00\x00\x02"
_KEPT = {b"TREE", b"REUC"}
"""Extensions to retain: cached trees (without outdated ones) and resolved conflicts.

The other extensions only make Git faster, and Git creates them again.
"""

_TREE_NODE = re.compile(rb"([^\0]*)\0(-?\d+) (\d+)\n")


class UnsupportedIndexError(Exception):
    """Only Git's own code should change an index of this kind."""


class DamagedIndexError(Exception):
    """The index does not match its checksum or its format."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entry of an index."""

    id: str
    """40 hex digits."""
    mode: int
    status: os.stat_result | None
    """Metadata of the file with this content, so that `git status` need not read the file; None if unknown."""


class StagedFile(NamedTuple):
    """An existing entry of an index."""

    id: str
    """40 hex digits."""
    mode: int
    stage: int
    """0, or 1 to 3 for a side of a conflict."""
    facts: tuple[int, int, int]
    """Metadata of the file with this content: `mtime` in nanoseconds, size and inode as 32-bit integers."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    """The bytes of one index of version 2, and the offsets of its parts."""

    raw: bytes
    offsets: list[int]
    """Offset of each entry, and of the end of the entries."""
    extensions: dict[bytes, bytes]

    def id_of(self, path: str) -> str:
        """The blob that is staged for a path; "" if there is none or the path is in conflict."""
        name = os.fsencode(path)
        at = self._position(name)
        if at == self._count or self._name(at) != name or self._flags(at) & _STAGES:
            return ""
        return self.raw[self.offsets[at] + _ID_AT : self.offsets[at] + _FLAGS_AT].hex()

    def replaced(self, path: str, *, removed: bool) -> list[tuple[str, str]]:
        """Path and blob of each entry that `changed` would drop for a path, including the stages of conflicts.

        Args:
            path: Path of the changed entry.
            removed: Whether the entry is removed.
        """
        name = os.fsencode(path)
        numbers = [*self._same_name(self._position(name), name), *(() if removed else self._in_the_way(name))]
        ids = (self.raw[self.offsets[at] + _ID_AT : self.offsets[at] + _FLAGS_AT].hex() for at in numbers)
        return [(os.fsdecode(self._name(at)), blob) for at, blob in zip(numbers, ids, strict=True)]

    def entries(self) -> Iterator[tuple[str, StagedFile]]:
        """Path and entry of each file, in the order of the index. A conflict has one entry for each side."""
        for at in range(self._count):
            offset = self.offsets[at]
            facts = unpack_from(">10I", self.raw, offset)
            identifier = self.raw[offset + _ID_AT : offset + _FLAGS_AT].hex()
            stage = (self._flags(at) & _STAGES) >> _STAGE_SHIFT
            mtime_ns = facts[2] * 10**9 + facts[3]
            yield os.fsdecode(self._name(at)), StagedFile(identifier, facts[6], stage, (mtime_ns, facts[9], facts[5]))

    def changed(self, changes: Mapping[str, IndexEntry | None]) -> IndexFile:
        """An index with new entries for these paths (None: no entry).

        A new entry replaces the entries of a conflict, of a file whose name is now a folder's, and of everything below
        a folder whose name is now a file's.
        """
        dropped: set[int] = set()
        added: dict[int, dict[bytes, bytes]] = {}
        for path, entry in changes.items():
            name = os.fsencode(path)
            at = self._position(name)
            dropped.update(self._same_name(at, name))
            if entry is not None:
                dropped.update(self._in_the_way(name))
                added.setdefault(at, {})[name] = _encoded(name, entry)
        return self._spliced(dropped, added, _stale_trees(changes))

    @property
    def _count(self) -> int:
        return len(self.offsets) - 1

    def _flags(self, at: int) -> int:
        offset = self.offsets[at] + _FLAGS_AT
        return self.raw[offset] << 8 | self.raw[offset + 1]

    def _name(self, at: int) -> bytes:
        begin = self.offsets[at] + _FIXED
        length = self._flags(at) & _LONGEST_TOLD
        end = begin + length if length < _LONGEST_TOLD else self.raw.index(b"\0", begin)
        return self.raw[begin:end]

    def _position(self, name: bytes) -> int:
        """Position of the first entry that does not sort before the name."""
        return bisect_left(range(self._count), name, key=self._name)

    def _same_name(self, at: int, name: bytes) -> Iterable[int]:
        """Positions of the entries of a name; several in case of a conflict."""
        while at < self._count and self._name(at) == name:
            yield at
            at += 1

    def _in_the_way(self, name: bytes) -> Iterable[int]:
        """Positions of files that cannot exist beside a file of this name: at its folders, or below it."""
        parts = name.split(b"/")
        for depth in range(1, len(parts)):
            above = b"/".join(parts[:depth])
            yield from self._same_name(self._position(above), above)
        below = self._position(name + b"/")
        while below < self._count and self._name(below).startswith(name + b"/"):
            yield below
            below += 1

    def _spliced(self, dropped: set[int], added: dict[int, dict[bytes, bytes]], stale: set[bytes]) -> IndexFile:
        """The index without the dropped entries, with new ones inserted before the given positions."""
        pieces: list[bytes | memoryview] = [b""]
        whole = memoryview(self.raw)
        offsets: list[int] = []
        length, done = _HEADER, 0

        def copy(until: int) -> None:
            nonlocal length
            piece = whole[self.offsets[done] : self.offsets[until]]
            shift = length - self.offsets[done]
            offsets.extend(self.offsets[done:until] if not shift else [o + shift for o in self.offsets[done:until]])
            pieces.append(piece)
            length += len(piece)

        for at in sorted(dropped | set(added)):
            copy(at)
            for _, encoded in sorted(added.get(at, {}).items()):
                offsets.append(length)
                pieces.append(encoded)
                length += len(encoded)
            done = at + 1 if at in dropped else at
        copy(self._count)
        offsets.append(length)
        extensions = _kept_extensions(self.extensions, stale)
        pieces[0] = _VERSION_2 + pack(">I", len(offsets) - 1)
        pieces += [pack(">4sI", name, len(content)) + content for name, content in extensions.items()]
        checksum = sha1(usedforsecurity=False)
        for piece in pieces:
            checksum.update(piece)
        # Joined once, because the file has a megabyte per ten thousand entries.
        return IndexFile(b"".join([*pieces, checksum.digest()]), offsets, extensions)


def empty_index() -> IndexFile:
    """An index without entries."""
    raw = _VERSION_2 + bytes(4)
    return IndexFile(raw + sha1(raw, usedforsecurity=False).digest(), [_HEADER], {})


def parse_index(raw: bytes) -> IndexFile:
    """Parse the offsets of an index.

    Raises:
        UnsupportedIndexError: another version, or an extension that may not be ignored (split, sparse).
        DamagedIndexError: the checksum or the structure is wrong.
    """
    if raw[: len(_VERSION_2)] != _VERSION_2:
        raise UnsupportedIndexError
    checksum = raw[-_HASH:]
    if any(checksum) and sha1(raw[:-_HASH], usedforsecurity=False).digest() != checksum:
        raise DamagedIndexError
    try:
        offsets = _offsets(raw)
        return IndexFile(raw, offsets, _extensions(raw, offsets[-1]))
    except (IndexError, ValueError) as error:
        raise DamagedIndexError from error


def _offsets(raw: bytes) -> list[int]:
    offsets: list[int] = []
    offset = _HEADER
    for _ in range(int.from_bytes(raw[8:_HEADER], "big")):
        offsets.append(offset)
        length = (raw[offset + _FLAGS_AT] << 8 | raw[offset + _FLAGS_AT + 1]) & _LONGEST_TOLD
        if length == _LONGEST_TOLD:
            length = raw.index(b"\0", offset + _FIXED) - offset - _FIXED
        offset += (_FIXED + length + 8) & ~7
    offsets.append(offset)
    if offset > len(raw) - _HASH:
        raise DamagedIndexError
    return offsets


def _extensions(raw: bytes, offset: int) -> dict[bytes, bytes]:
    extensions: dict[bytes, bytes] = {}
    while offset < len(raw) - _HASH:
        name = raw[offset : offset + 4]
        if not name[:1].isupper():
            raise UnsupportedIndexError
        size = int.from_bytes(raw[offset + 4 : offset + 8], "big")
        extensions[name] = raw[offset + 8 : offset + 8 + size]
        offset += 8 + size
    if offset != len(raw) - _HASH:
        raise DamagedIndexError
    return extensions


def _encoded(name: bytes, entry: IndexEntry) -> bytes:
    facts = [0] * 9
    if (status := entry.status) is not None:
        changed, modified = divmod(status.st_ctime_ns, 10**9), divmod(status.st_mtime_ns, 10**9)
        facts = [*changed, *modified, status.st_dev, status.st_ino, status.st_uid, status.st_gid, status.st_size]
    facts.insert(6, entry.mode)
    fixed = pack(">10I", *(fact & _WORD for fact in facts)) + bytes.fromhex(entry.id)
    length = pack(">H", min(len(name), _LONGEST_TOLD))
    return fixed + length + name + bytes(8 - (_FIXED + len(name)) % 8)


def _stale_trees(changes: Iterable[str]) -> set[bytes]:
    """The folders whose cached trees are outdated by these changes; the root is b""."""
    stale = {b""}
    for path in changes:
        parts = os.fsencode(path).split(b"/")
        stale.update(b"/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return stale


def _kept_extensions(extensions: dict[bytes, bytes], stale: set[bytes]) -> dict[bytes, bytes]:
    kept_extensions = {name: content for name, content in extensions.items() if name in _KEPT}
    if b"TREE" in kept_extensions:
        kept_extensions[b"TREE"] = _without_trees(kept_extensions[b"TREE"], stale)
    return kept_extensions


def _without_trees(raw: bytes, stale: set[bytes]) -> bytes:
    """The cached trees, with outdated ones marked as invalid."""
    pieces: list[bytes] = []
    _copy_tree(raw, 0, b"", stale, pieces)
    return b"".join(pieces)


def _copy_tree(raw: bytes, begin: int, above: bytes, stale: set[bytes], pieces: list[bytes]) -> int:
    """Copy one cached tree and those below it; returns the offset of the next one.

    A tree is its name, NUL, number of entries (-1: invalid), blank, number of subtrees, line feed, and its id unless
    invalid; its subtrees follow.
    """
    node = _cached_tree(raw, begin)
    path = above + node[1]
    if path not in stale:  # if a folder is stale, so are its parents; hence no tree below this one is stale
        following = _end_of_trees(raw, begin, 1)
        pieces.append(raw[begin:following])
        return following
    pieces.append(b"%s\0-1 %s\n" % (node[1], node[3]))
    following = node.end() + _id_length(node)
    for _ in range(int(node[3])):
        following = _copy_tree(raw, following, path + b"/" if path else b"", stale, pieces)
    return following


def _end_of_trees(raw: bytes, begin: int, count: int) -> int:
    """Offset after `count` sibling trees with all their subtrees."""
    while count:
        node = _cached_tree(raw, begin)
        begin = node.end() + _id_length(node)
        count += int(node[3]) - 1
    return begin


def _cached_tree(raw: bytes, begin: int) -> re.Match[bytes]:
    node = _TREE_NODE.match(raw, begin)
    if node is None:
        raise DamagedIndexError
    return node


def _id_length(node: re.Match[bytes]) -> int:
    return 0 if node[2].startswith(b"-") else _HASH


# Changes a copy of an index by libgit2, for the versions that `index_file` does not support (3 and 4).


def changed_copy(index: Path, beside: Path, changes: Mapping[str, IndexEntry | None]) -> None:
    """Write a copy of an index with new entries for these paths (None: no entry).

    Raises:
        DamagedIndexError: libgit2 cannot read the index either.
        OSError: the index cannot be copied.
    """
    shutil.copyfile(index, beside)
    try:
        copy = pygit2.Index(str(beside))
        copy.read()
        for path, entry in changes.items():
            if path in copy:
                copy.remove(path)
            if entry is not None:
                copy.add(pygit2.IndexEntry(path, pygit2.Oid(hex=entry.id), FileMode(entry.mode)))
        copy.write()
    except pygit2.GitError as error:
        raise DamagedIndexError(str(error)) from error
