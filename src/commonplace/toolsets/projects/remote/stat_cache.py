"""A cache of the documents' metadata per folder, valid while inotify reports no change.

Reading the metadata of a thousand files takes as long as searching them. If a folder can be watched, only entries
changed since the last query are read; otherwise, and in any doubt, all of them are.
"""

from __future__ import annotations

import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock

from commonplace.domain.addresses import MARKDOWN_SUFFIXES
from commonplace.domain.changes import FileStat
from commonplace.store.disk.folder import file_stat
from commonplace.store.disk.inotify import InotifyQueue, UnwatchableError

MAX_WATCHED_FOLDERS = 64
"""Maximum number of watched folders; the least recently used is evicted."""
MAX_AGE_SECONDS = 30.0
"""Seconds after which all metadata is read again, because inotify does not report every kind of write."""


@dataclass(frozen=True, slots=True)
class _CachedFolder:
    """The documents of a watched folder as of the last query."""

    watch: int
    facts: Mapping[str, FileStat]
    doubtful: frozenset[str]
    """Files with another hard link, through which they can change unnoticed."""
    until: float
    """Time of the clock at which all metadata is read again."""


@dataclass(slots=True)
class _FolderStats:
    """Metadata being read from a folder."""

    facts: dict[str, FileStat] = field(default_factory=dict[str, FileStat])
    doubtful: set[str] = field(default_factory=set[str])

    def look(self, name: str, status: os.stat_result) -> None:
        """Add one file."""
        self.facts[name] = file_stat(status)
        if status.st_nlink > 1:
            self.doubtful.add(name)


class StatCache:
    """The cache, updated from the events of inotify. Thread-safe.

    Args:
        clock: A monotonic clock in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._inotify: InotifyQueue | None = None
        self._folders: OrderedDict[tuple[int, int], _CachedFolder] = OrderedDict()
        """Cached folders by device and inode, which identify a folder under any path."""
        self._changed: dict[int, set[str]] = {}
        """Names changed in watched folders since their last query, by watch descriptor."""

    def documents(self, folder: int, watchable: Callable[[], bool]) -> Mapping[str, FileStat]:
        """Current metadata by name of the Markdown files directly in a folder, except hidden ones.

        Args:
            folder: Descriptor of the folder.
            watchable: Returns whether its file system reports every change.

        Raises:
            OSError: the folder cannot be read.
        """
        status = os.fstat(folder)
        identity = status.st_dev, status.st_ino
        with self._lock:
            self._take_notice()
            known = self._folders.get(identity)
            if known is None or self._clock() >= known.until:
                return self._sweep(identity, folder, watchable)
            names = self._changed.get(known.watch, set[str]()) | known.doubtful
            if names:
                before, known = known, _refresh_folder(known, folder, names)
                if known.doubtful - before.doubtful:  # another hard link to a file of this folder
                    return self._sweep(identity, folder, watchable)
                self._folders[identity] = known
                self._changed.pop(known.watch, None)
            self._folders.move_to_end(identity)
            return known.facts

    def _take_notice(self) -> None:
        if self._inotify is None:
            return
        noticed = self._inotify.read_events() if self._inotify.belongs_to_process else None
        if noticed is None or noticed.overflowed:
            self._inotify = None
            self._folders.clear()
            self._changed.clear()
            return
        for identity, known in list(self._folders.items()):
            if known.watch in noticed.changed_folders:
                self._forget(identity)
        if noticed.names:
            watched = {known.watch for known in self._folders.values()}
            for number in noticed.names.keys() & watched:
                self._changed.setdefault(number, set()).update(noticed.names[number])

    def _forget(self, identity: tuple[int, int]) -> None:
        known = self._folders.pop(identity, None)
        if known:
            self._changed.pop(known.watch, None)
            if self._inotify:
                self._inotify.unwatch(known.watch)

    def _sweep(self, identity: tuple[int, int], folder: int, watchable: Callable[[], bool]) -> Mapping[str, FileStat]:
        """Read all metadata. The watch is added first, so that no change is missed."""
        self._forget(identity)
        until = self._clock() + MAX_AGE_SECONDS
        watch = self._watched(folder) if watchable() else None
        try:
            found = _everything(folder)
        except OSError:
            if watch is not None and self._inotify:
                self._inotify.unwatch(watch)
            raise
        if watch is not None:
            self._folders[identity] = _CachedFolder(watch, found.facts, frozenset(found.doubtful), until)
            while len(self._folders) > MAX_WATCHED_FOLDERS:
                self._forget(next(iter(self._folders)))
        return found.facts

    def _watched(self, folder: int) -> int | None:
        try:
            if self._inotify is None:
                self._inotify = InotifyQueue()
            return self._inotify.watch(folder)
        except UnwatchableError:
            return None


def _everything(folder: int) -> _FolderStats:
    found = _FolderStats()
    listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        with os.scandir(listed) as entries:  # file types are known without a call of `stat`
            for entry in entries:
                if _is_document(entry.name) and entry.is_file(follow_symlinks=False):
                    try:
                        found.look(entry.name, entry.stat(follow_symlinks=False))
                    except FileNotFoundError:  # deleted meanwhile
                        continue
    finally:
        os.close(listed)
    return found


def _refresh_folder(known: _CachedFolder, folder: int, names: Collection[str]) -> _CachedFolder:
    """The folder with updated metadata of some names."""
    found = _FolderStats(dict(known.facts), set(known.doubtful))
    for name in filter(_is_document, names):
        found.doubtful.discard(name)
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            found.facts.pop(name, None)
            continue
        if stat.S_ISREG(status.st_mode):
            found.look(name, status)
        else:
            found.facts.pop(name, None)
    return replace(known, facts=found.facts, doubtful=frozenset(found.doubtful))


def _is_document(name: str) -> bool:
    return name[0] != "." and (name.endswith(".md") or name.lower().endswith(MARKDOWN_SUFFIXES))
