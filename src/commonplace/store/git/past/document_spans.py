"""The commits of every document of a folder: its first and last one, and all that changed it."""

from __future__ import annotations

import logging
import os
import re
import struct
import threading
import zlib
from collections.abc import Callable, Collection, Container, Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

import pygit2

from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import CommitSpan
from commonplace.domain.private_files import private_folder
from commonplace.store.git.past.revision_walk import (
    DocumentChanges,
    RenameFinder,
    Spans,
    changed_blobs,
    commit_value,
    document_address,
    oldest_first,
    touched_between,
)
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeDiff

MAX_CACHED_HEADS = 2
"""Number of commits whose spans are cached, so that switching between two branches does not read them again."""
CACHED_TREE_BYTES = 2_000_000
"""Maximum size in bytes of the raw trees cached from head to head: a commit changes few of a folder's entries."""
MAX_AHEAD = 200
"""Maximum number of commits that are read before an answer, to bring a cached history up to the current commit."""
MAX_FEW = 50
"""Maximum number of documents or commits for whose sake the stored history is not read as a whole."""
HISTORY_FILE = "history"
"""Name of the file with the commits that were read."""
STORED_EVERY = 100
"""Number of commits after which the history is stored again."""


class DocumentSpans:
    """The span of every document below a folder, and all of its changes; updated from head to head.

    The first commit is that of the page from which the document was renamed.

    Args:
        repository: The repository.
        folder: "" or a path without trailing slash.
        renames: The renames below the folder.
        cache_dir: Folder in which the commits that were read are stored for the next process; None for no folder.
    """

    def __init__(
        self, repository: GitRepository, folder: str, renames: RenameFinder, cache_dir: Path | None = None
    ) -> None:
        self._repository = repository
        self._folder = folder
        self._renames = renames
        self._known: dict[str, WalkedHistory] = {}
        """Cache entries by head commit, least recently used first."""
        self._lock = threading.Lock()
        self._trees = TreeDiff(repository, CACHED_TREE_BYTES)
        self._file = cache_dir / HISTORY_FILE if cache_dir else None
        self._is_read = False
        self._is_asked = False
        self._stored = 0
        """Number of commits in the file, as far as this process knows."""

    def current(self, addresses: Collection[Address] | None = None) -> tuple[str, Spans]:
        """The current commit and the spans of these documents, or of all, at it. Only new commits are read.

        The commit is read under the lock. A thread that had read an older commit before it waited for the lock would
        find the cache entry moved to a newer commit, and would need the whole history.
        """
        with self._lock:
            head = self._repository.head
            if not head:
                return "", {}
            ends = self._few(head, addresses) if addresses is not None else None
            if ends is None:
                self._read_file()
                walked = self._known.pop(head) if head in self._known else self._advanced(head)
                self._keep(head, walked)
                self._store(head, walked)
                ends = walked.ends
            rows = ends.copy() if addresses is None else {item: ends[item] for item in addresses if item in ends}
        return head, self._spans(rows)

    def _few(self, head: str, addresses: Collection[Address]) -> dict[Address, Ends] | None:
        """The ends of few documents from the file and the commits since, once; None if that does not tell them."""
        if self._file is None or self._is_asked or len(addresses) > MAX_FEW:
            return None
        self._is_asked = True
        entry = None if self._repository.handle.is_shallow else read_history(self._file, addresses)
        if entry is None or not (self._repository.has_object(entry[0]) and self._repository.holds(head, entry[0])):
            return None
        ahead = list(islice(oldest_first(self._repository, head, entry[0]), STORED_EVERY))
        news, _, has_renames = self._walk(entry[1], ahead, self._trees)
        return None if has_renames or len(ahead) == STORED_EVERY else {**entry[1].ends, **news.ends}

    def _spans(self, rows: Mapping[Address, Ends]) -> Spans:
        names = {name for row in rows.values() for name in row}
        commits = {name: commit_value(self._repository.commit(name.hex())) for name in names}
        return {address: CommitSpan(*(commits[name] for name in row)) for address, row in rows.items()}

    def touched_between(self, trees: str, head: str) -> set[Address] | None:
        """Documents touched after `trees` up to `head`; None if `trees` is unrelated or too far behind."""
        with self._lock:
            return touched_between(self._repository, self._trees, trees, head, self._folder)

    def first_of(self, address: Address) -> str:
        """The commit that first touched a document; "" if it is not cached or the lock is not free.

        The result remains valid when the branch moves, because it depends only on that commit and its ancestors.
        """
        if not self._lock.acquire(blocking=False):
            return ""
        try:
            entries = (walked.ends.get(address) for walked in reversed(self._known.values()))
            ends = next(filter(None, entries), None)
        finally:
            self._lock.release()
        return ends.first.hex() if ends else ""

    def begin_of(self, head: str, address: Address) -> str | None:
        """The first commit up to `head` of a document, under any of its names; "" if there is none, None if not known.

        That of another file is never known.
        """
        with self._cached(head) as walked:
            if walked is None or not address.is_document:
                return None
            ends = walked.ends.get(address)
        return ends.first.hex() if ends else ""

    def changes_of(self, head: str, address: Address) -> DocumentChanges | None:
        """The changes of a document up to a commit; None if they are not cached or the lock is not free.

        Those of other files, such as pictures, are never cached.
        """
        if not address.is_document:
            return None
        with self._cached(head) as walked:
            if walked is None or not walked.changes.complete:
                return None
            return DocumentChanges(walked.changes_of(address), walked.changes.is_linear)

    def newest(
        self, head: str, is_meant: Callable[[Address], bool], within: AbstractSet[str] | None
    ) -> list[Address] | None:
        """The documents that commits up to `head` touched, the last touched one first; None if they are not cached.

        Args:
            head: A commit.
            is_meant: Whether a document is meant.
            within: Ids of the commits of which one must have touched it; None for all. If there are too many changes
                for the cache, they do not count.
        """
        with self._cached(head) as walked:
            if walked is None:
                return None
            return list(filter(is_meant, reversed(walked.ends) if within is None else walked.touched_by(within)))

    def named(self, head: str, name: str) -> list[Address] | None:
        """The result of `WalkedHistory.named`; None if the commits up to `head` are not cached."""
        with self._cached(head) as walked:
            return None if walked is None else walked.named(name)

    def touched_since(self, head: str, oldest: str, count: int) -> dict[str, list[Address]]:
        """The result of `WalkedHistory.touched_since` for `count` commits; none if those to `head` are not cached."""
        with self._cached(head, may_read=count > MAX_FEW) as walked:
            return {} if walked is None else walked.touched_since(oldest)

    def last_of(self, head: str, at: str, among: Collection[Address]) -> dict[Address, tuple[str, bool]] | None:
        """The commit that last touched each of some documents, and whether it took the document away.

        For a document that the commit `at` lacks, the commit that took it away. Only `at` and its ancestors count.
        None if the commits up to `head` are not cached, or if the lock is not free; and for another `at`, if there are
        too many changes for the cache.
        """
        with self._cached(head) as walked:
            if walked is None or not (walked.changes.complete or at == head):
                return None
            changed = {address: self._changes(walked, address) for address in filter(walked.ends.__contains__, among)}
        trees = TreeDiff(self._repository)
        last = {address: self._last_in(trees, changes, head, at, address) for address, changes in changed.items()}
        return {address: (name, is_gone) for address, (name, is_gone) in last.items() if name}

    def _changes(self, walked: WalkedHistory, address: Address) -> dict[str, str]:
        """The commits that touched a document, as `CommitChanges.of`; of too many, the last one alone."""
        if walked.changes.complete:
            return walked.changes_of(address)
        name, path = walked.ends[address].last.hex(), f"{self._folder}/{address.path}" if self._folder else address.path
        return {name: TreeDiff(self._repository).at(self._repository.tree_of(name), os.fsencode(path))}

    def _last_in(
        self, trees: TreeDiff, changes: dict[str, str], head: str, at: str, address: Address
    ) -> tuple[str, bool]:
        """The commit of `last_of` for one document, all of whose changes up to `head` are given; "" for none."""
        path = f"{self._folder}/{address.path}" if self._folder else address.path
        is_there = bool(trees.at(self._repository.tree_of(at), os.fsencode(path)))
        newest_first = (name for name, blob in reversed(changes.items()) if is_there or not blob)
        names = (name for name in newest_first if at in {head, name} or self._repository.holds(at, name))
        return next(names, ""), not is_there

    def contains(self, head: str, commit: str) -> bool:
        """Whether a commit is known to be `head` or one of its ancestors. False does not mean that it is not."""
        with self._cached(head, may_read=False) as walked:
            return walked is not None and bytes.fromhex(commit) in walked.commits

    def next_of(self, head: str, commit: str, stops: Container[bytes]) -> str:
        """The first of a commit, its parent, and so on, that is among `stops`, or has not exactly one parent.

        The commit itself if the commits up to `head` are not cached.
        """
        with self._cached(head) as walked:
            return commit if walked is None else walked.commits.next_of(bytes.fromhex(commit), stops).hex()

    def first_parents(self, head: str) -> list[tuple[int, str]] | None:
        """Author's date and id of a commit, of its first parent, and so on; None if they are not cached."""
        with self._cached(head) as walked:
            return None if walked is None else list(walked.commits.first_parents())

    @contextmanager
    def _cached(self, head: str, *, may_read: bool = True) -> Generator[WalkedHistory | None]:
        """The cache entry of a commit; None if making it takes long, or if the lock is not free."""
        if not self._lock.acquire(blocking=False):
            yield None
            return
        try:
            if may_read:
                self._read_file()
            if head not in self._known and self._is_near(head):
                self._keep(head, self._advanced(head))
            yield self._known.get(head)
        finally:
            self._lock.release()

    def _is_near(self, head: str) -> bool:
        """Whether the entry of a commit is made from another one by reading `MAX_AHEAD` commits or fewer."""
        ancestor = self._nearest(head)
        ahead = oldest_first(self._repository, head, ancestor) if ancestor else ()
        return bool(ancestor) and len(list(islice(ahead, MAX_AHEAD + 1))) <= MAX_AHEAD

    def _keep(self, head: str, walked: WalkedHistory) -> None:
        self._known[head] = walked
        while len(self._known) > MAX_CACHED_HEADS:
            del self._known[next(iter(self._known))]

    def _read_file(self) -> None:
        """Read what an earlier process has stored, once."""
        if self._file is None or self._is_read:
            return
        self._is_read = self._is_asked = True
        if self._repository.handle.is_shallow:  # deepening the clone gives its commits further ancestors
            self._file = None
            return
        entry = read_history(self._file)
        if entry is not None and not self._known and self._repository.has_object(entry[0]):
            self._known[entry[0]] = entry[1]
            self._stored = len(entry[1].commits)

    def _store(self, head: str, walked: WalkedHistory) -> None:
        count = len(walked.commits)
        if self._file is not None and not self._stored <= count < self._stored + STORED_EVERY:
            write_history(self._file, head, walked)
            self._stored = count

    def _nearest(self, head: str) -> str:
        """The nearest ancestor of `head` whose spans are cached; "" if there is none."""
        holds = self._repository.holds
        self._known = {text: walked for text, walked in self._known.items() if self._repository.has_object(text)}
        before = [element for element in reversed(self._known) if holds(head, element)]
        return next((element for element in before if all(holds(element, other) for other in before)), "")

    def _advanced(self, head: str) -> WalkedHistory:
        """The cache entry of a commit, made from the entry of its nearest cached ancestor, which it replaces."""
        ancestor = self._nearest(head)
        before = self._known.get(ancestor) or WalkedHistory()
        trees = self._trees if ancestor else TreeDiff(self._repository)
        news, commits, _ = self._walk(before, oldest_first(self._repository, head, ancestor), trees)
        # The cache is changed only after all commits are read, so that an error leaves it intact.
        self._known.pop(ancestor, None)
        for address in news.ends:
            before.ends.pop(address, None)
        before.ends.update(news.ends)
        before.names = (), ""
        before.changes.extend(news.changes)
        before.commits.extend(commits)
        return before

    def _walk(
        self, before: WalkedHistory, after: Iterable[pygit2.Commit], trees: TreeDiff
    ) -> tuple[WalkedHistory, list[WalkedCommit], bool]:
        """The ends and changes in commits after a walked history, these commits, and whether one renamed a document."""
        news, commits, has_renames = WalkedHistory(), list[WalkedCommit](), False
        addresses: dict[bytes, Address | None] = {}
        begin = len(before.commits)
        for commit in after:
            parents, identifier = [parent.raw for parent in commit.parent_ids], commit.id.raw
            commits.append(WalkedCommit(identifier, commit.author.time, parents))
            news.changes.is_linear &= len(parents) <= 1
            changed = changed_blobs(trees, commit, os.fsencode(self._folder))
            sources = self._renames.renames_since_parent(trees, commit, changed)
            has_renames |= bool(sources)
            same = self._renames.unchanged(trees, commit, changed, sources)
            sourced = {new: news.ends.get(old) or before.ends.get(old) for new, old in sources.items()}
            for path in sorted(changed, reverse=True):  # read backwards, the documents of a commit are in order
                if path not in addresses:
                    addresses[path] = document_address(path)
                if address := addresses[path]:
                    ends = sourced.get(address) or news.ends.get(address) or before.ends.get(address)
                    first, last = (ends.first, ends.changed) if ends else (identifier, identifier)
                    news.ends.pop(address, None)
                    news.ends[address] = Ends(first, identifier, last if address in same else identifier)
                    news.changes.add(address, begin + len(commits) - 1, changed[path])
        return news, commits, has_renames


# The result of a walk over all commits, in memory and on disk, so that a new process need not walk again.
#
# The file is a cache: it may be deleted or damaged at any time, and is written again after the next walk.

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
"""The head, whether the history is linear and the changes are complete, and the numbers of commits and documents."""
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


def read_history(file: Path, among: Collection[Address] | None = None) -> tuple[str, WalkedHistory] | None:
    """The head and the history, of all or some documents; None if there is no undamaged file of this version."""
    try:
        content = file.read_bytes()
        body = memoryview(content)[len(_MAGIC) : -_SUM.size]
        if not content.startswith(_MAGIC) or _SUM.unpack(content[-_SUM.size :])[0] != zlib.crc32(body):
            return None
        return _unpacked(body, among and {os.fsencode(address.path) for address in among})
    except (OSError, struct.error):
        return None


def _unpacked(body: memoryview, among: Container[bytes] | None) -> tuple[str, WalkedHistory]:
    head, is_linear, complete, commits, documents = _HEADER.unpack_from(body)
    at = _HEADER.size + commits * _COMMIT.size
    walked = WalkedHistory(commits=CommitList(bytes(body[_HEADER.size : at])))
    walked.changes.is_linear = is_linear
    for _ in range(documents):
        path_size, packed_size, ends = _DOCUMENT.unpack_from(body, at)
        at += _DOCUMENT.size
        path = bytes(body[at : at + path_size])
        at += path_size
        if among is not None and path not in among:
            at += packed_size
            continue
        address = Address(os.fsdecode(path))
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
