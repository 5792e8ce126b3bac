"""The result of a walk over all commits, in memory and on disk, so that a new process need not walk again.

The file is a cache: it may be deleted or damaged at any time, and is written again after the next walk.
"""

from __future__ import annotations

import logging
import os
import re
import struct
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from commonplace.domain.addresses import Address, fold
from commonplace.domain.private_files import private_folder

log = logging.getLogger(__name__)

MAX_CACHED_CHANGES = 1_000_000
"""Maximum number of changes cached for one head, of 24 bytes each; if exceeded, none are cached."""
FILE_VERSION = 2
"""Version of the file; incremented with every change of its format or of the rule for renames."""
_MAGIC = f"commonplace history {FILE_VERSION}\n".encode()
_ID_BYTES = 20
_CHANGE = struct.Struct("<I20s")
"""A change of a document: the position of its commit, and the document's blob in it."""
_NO_BLOB = bytes(_ID_BYTES)
_COMMIT = struct.Struct("<20sqi?")
"""A commit: its id, the author's date, the position of its first parent (-1 if it has none), whether it is a merge."""
_HEADER = struct.Struct("<20s??II")
"""The head, whether the history is linear, whether the changes are complete, and the numbers of commits and documents.
"""
_DOCUMENT = struct.Struct("<HI60s")
"""Sizes in bytes of a document's path and of its changes, which follow, and its `Ends`."""
_SUM = struct.Struct("<I")


class Ends(NamedTuple):
    """Ids of the commits of a `CommitSpan`, 20 bytes each."""

    first: bytes
    last: bytes
    changed: bytes


class CommitChanges:
    """The commits that changed each document, with its blob in each; packed, because there may be many."""

    def __init__(self) -> None:
        self.packed: dict[Address, bytearray] = {}
        """The changes of each document, oldest first, as `_CHANGE`."""
        self._count = 0
        self.is_linear = True
        """Whether no commit has several parents."""

    @property
    def complete(self) -> bool:
        """Whether all changes are stored. False if they exceed `MAX_CACHED_CHANGES`; none are stored then."""
        return self._count <= MAX_CACHED_CHANGES

    def add(self, address: Address, commit: int, blob: bytes) -> None:
        """Add a change.

        Args:
            address: The document.
            commit: Position of the commit in the list of commits.
            blob: Id of the document's content in the commit, 20 bytes; b"" if the commit deleted it.
        """
        self._count += 1
        if self.complete:
            self.packed.setdefault(address, bytearray()).extend(_CHANGE.pack(commit, blob))
        else:
            self.packed.clear()

    def of(self, address: Address, *, newest_first: bool = False) -> Iterator[tuple[int, bytes]]:
        """The positions of the commits in which a document differs from all parents, each with its blob.

        The oldest comes first. The blob is b"" if the commit deleted the document.
        """
        packed = self.packed.get(address, b"")
        places = range(0, len(packed), _CHANGE.size)
        for at in reversed(places) if newest_first else places:
            commit, blob = _CHANGE.unpack_from(packed, at)
            yield commit, b"" if blob == _NO_BLOB else blob

    def extend(self, other: CommitChanges) -> None:
        """Add the changes of later commits."""
        self.is_linear &= other.is_linear
        self._count += other._count
        if not self.complete:
            self.packed.clear()
            return
        for address, packed in other.packed.items():
            self.packed.setdefault(address, bytearray()).extend(packed)

    def overflow(self) -> None:
        """Store no changes, as if there were too many."""
        self._count = MAX_CACHED_CHANGES + 1
        self.packed.clear()

    def put(self, address: Address, packed: bytes) -> None:
        """Add all changes of a document in the form of `packed`."""
        self._count += len(packed) // _CHANGE.size
        self.packed[address] = bytearray(packed)


class WalkedCommit(NamedTuple):
    """A commit, with ids of 20 bytes."""

    identifier: bytes
    when: int
    """The author's date."""
    parents: Sequence[bytes]


class CommitList:
    """Commits, parents before children; `_COMMIT.size` bytes each."""

    def __init__(self, packed: bytes = b"") -> None:
        self.packed = bytearray(packed)
        self._places: dict[bytes, int] = {}
        """The position of each commit; empty until `next_of` needs it."""

    def __len__(self) -> int:
        """Number of commits."""
        return len(self.packed) // _COMMIT.size

    def __contains__(self, identifier: bytes) -> bool:
        """Whether a commit is in the list."""
        return self.place(identifier) >= 0

    def extend(self, commits: Iterable[WalkedCommit]) -> None:
        """Add commits, parents before children."""
        self._places = {}
        added: dict[bytes, int] = {}
        for identifier, when, parents in commits:
            at = -1
            if parents:
                at = added[parents[0]] if parents[0] in added else self.place(parents[0])
            added[identifier] = len(self)
            self.packed += _COMMIT.pack(identifier, when, at, len(parents) > 1)

    def at(self, place: int) -> bytes:
        """The id of the commit at a position."""
        return bytes(self.packed[place * _COMMIT.size : place * _COMMIT.size + _ID_BYTES])

    def first_parents(self) -> Iterator[tuple[int, str]]:
        """Author's date and id of the last commit, of its first parent, and so on."""
        at = len(self) - 1
        while at >= 0:
            identifier, when, at, _ = _COMMIT.unpack_from(self.packed, at * _COMMIT.size)
            yield when, identifier.hex()

    def next_of(self, identifier: bytes, stops: Container[bytes]) -> bytes:
        """The first of a commit, its parent, and so on, that is among `stops`, or has not exactly one parent."""
        if not self._places:
            ids = (self.packed[at : at + _ID_BYTES] for at in range(0, len(self.packed), _COMMIT.size))
            self._places = {bytes(each): place for place, each in enumerate(ids)}
        at = self._places.get(identifier, -1)
        while at >= 0:
            identifier, _, parent, is_merge = _COMMIT.unpack_from(self.packed, at * _COMMIT.size)
            at = -1 if is_merge or identifier in stops else parent
        return identifier

    def place(self, identifier: bytes) -> int:
        """Position of a commit, from the newest on, because a parent is near; -1 if it is not in the list."""
        at = self.packed.rfind(identifier)
        while at > 0 and at % _COMMIT.size:
            at = self.packed.rfind(identifier, 0, at + len(identifier) - 1)
        return at // _COMMIT.size


@dataclass(slots=True)
class WalkedHistory:
    """The commits up to a head, and the ends and changes of each document among them."""

    ends: dict[Address, Ends] = field(default_factory=dict[Address, Ends])
    """The ends by document, the last touched one last."""
    changes: CommitChanges = field(default_factory=CommitChanges)
    commits: CommitList = field(default_factory=CommitList)
    names: tuple[Sequence[Address], str] = ((), "")
    """Documents, and their folded paths, a line each; empty until `named` needs them."""

    def changes_of(self, address: Address) -> dict[str, str]:
        """The commits in which a document differs from all parents, oldest first, with its blob in each or ""."""
        return {self.commits.at(place).hex(): blob.hex() for place, blob in self.changes.of(address)}

    def touched_since(self, oldest: str) -> dict[str, list[Address]]:
        """The documents that a commit, each later one and as many before touched; none if not all changes are stored.

        Those before are for the next part of a list.
        """
        place = self.commits.place(bytes.fromhex(oldest))
        begin = max(0, 2 * place - len(self.commits)) if place >= 0 else -1
        touched: list[list[Address]] = [[] for _ in range(begin, len(self.commits))]
        for address in reversed(self.ends) if self.changes.complete and begin >= 0 else ():
            recent = takewhile(lambda change: change[0] >= begin, self.changes.of(address, newest_first=True))
            places = [place - begin for place, _ in recent]
            if not places:
                break
            for place in places:
                touched[place].append(address)
        return {self.commits.at(begin + place).hex(): addresses for place, addresses in enumerate(touched)}

    def touched_by(self, commits: AbstractSet[str]) -> list[Address]:
        """The documents that one of these commits touched, last touched first; all if not all changes are stored."""
        if not self.changes.complete:
            return list(reversed(self.ends))
        places = {place for place in range(len(self.commits)) if self.commits.at(place).hex() in commits}
        touched, first = list[Address](), min(places, default=len(self.commits))
        for address in reversed(self.ends):
            changes = self.changes.of(address, newest_first=True)
            recent = [place for place, _ in takewhile(lambda change: change[0] >= first, changes)]
            if not recent:
                break
            if not places.isdisjoint(recent):
                touched.append(address)
        return touched

    def named(self, name: str) -> list[Address]:
        """The documents whose folded path, or that of their folder, ends with a name; suffixes do not count."""
        if len(self.names[0]) != len(self.ends):
            addresses = tuple(self.ends)
            self.names = addresses, fold("".join(f"\n/{address.path}" for address in addresses) + "\n")
        (addresses, text), named, line, before = self.names, list[Address](), -1, 0
        for match in re.finditer(rf"/{re.escape(name)}(?:[./][^/\n]*)?\n", text):
            line += text.count("\n", before, before := match.start())
            named.append(addresses[line])
        return named


def read_history(file: Path) -> tuple[str, WalkedHistory] | None:
    """The head and the history of a file; None if there is no undamaged file of this version."""
    try:
        content = file.read_bytes()
        body = memoryview(content)[len(_MAGIC) : -_SUM.size]
        if not content.startswith(_MAGIC) or _SUM.unpack(content[-_SUM.size :])[0] != zlib.crc32(body):
            return None
        return _unpacked(body)
    except (OSError, struct.error):
        return None


def _unpacked(body: memoryview) -> tuple[str, WalkedHistory]:
    head, is_linear, complete, commits, documents = _HEADER.unpack_from(body)
    at = _HEADER.size + commits * _COMMIT.size
    walked = WalkedHistory(commits=CommitList(bytes(body[_HEADER.size : at])))
    walked.changes.is_linear = is_linear
    for _ in range(documents):
        path_size, packed_size, ends = _DOCUMENT.unpack_from(body, at)
        at += _DOCUMENT.size
        address = Address(os.fsdecode(bytes(body[at : at + path_size])))
        at += path_size
        walked.ends[address] = Ends(ends[:_ID_BYTES], ends[_ID_BYTES : 2 * _ID_BYTES], ends[2 * _ID_BYTES :])
        walked.changes.put(address, bytes(body[at : at + packed_size]))
        at += packed_size
    if not complete:
        walked.changes.overflow()
    return head.hex(), walked


def write_history(file: Path, head: str, walked: WalkedHistory) -> None:
    """Replace a file by the history of a head. A file that cannot be written is left out."""
    changes = walked.changes
    header = (bytes.fromhex(head), changes.is_linear, changes.complete, len(walked.commits), len(walked.ends))
    parts = [_HEADER.pack(*header), bytes(walked.commits.packed)]
    for address, ends in walked.ends.items():
        path, packed = os.fsencode(address.path), bytes(changes.packed.get(address, b""))
        parts += _DOCUMENT.pack(len(path), len(packed), b"".join(ends)), path, packed
    body = b"".join(parts)
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        private_folder(file.parent)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as written:
            written.write(_MAGIC + body + _SUM.pack(zlib.crc32(body)))
        beside.replace(file)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        log.debug("the history could not be stored for the next start: %s", error)
