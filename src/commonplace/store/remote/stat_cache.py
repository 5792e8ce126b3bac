"""Facts of the documents of folders, kept as long as the kernel says that nothing has happened there.

To ask for the facts of a thousand files takes as long as to search them. Where a folder can be watched, only what has
changed since the last question is looked at; everywhere else, and whenever there is any doubt, all of it is.
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
"""Folders that are watched, the last ones asked for."""
MAX_AGE_SECONDS = 30.0
"""After so long everything is looked at again: a kernel does not tell of each way to write that there is."""


@dataclass(frozen=True, slots=True)
class _CachedFolder:
    """The documents of a watched folder as they were at the last question."""

    watch: int
    facts: Mapping[str, FileStat]
    doubtful: frozenset[str]
    """Files that have a second name, through which they can change unnoticed."""
    until: float
    """When everything is looked at again, by the clock."""


@dataclass(slots=True)
class _FolderStats:
    """What was found where it was looked."""

    facts: dict[str, FileStat] = field(default_factory=dict[str, FileStat])
    doubtful: set[str] = field(default_factory=set[str])

    def look(self, name: str, status: os.stat_result) -> None:
        """Take in one file."""
        self.facts[name] = file_stat(status)
        if status.st_nlink > 1:
            self.doubtful.add(name)


class StatCache:
    """Answers from what it knows and what the kernel has noticed; safe from several threads.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._inotify: InotifyQueue | None = None
        self._folders: OrderedDict[tuple[int, int], _CachedFolder] = OrderedDict()
        """By what the kernel knows them by, whatever they are called."""
        self._changed: dict[int, set[str]] = {}
        """What has been noticed in watched folders since they were last asked for."""

    def documents(self, folder: int, watchable: Callable[[], bool]) -> Mapping[str, FileStat]:
        """Facts by name of the Markdown files directly in a folder, hidden ones left out, as they are now.

        Args:
            folder: A descriptor of it.
            watchable: Whether its file system tells of every change.

        Raises:
            OSError: it cannot be read.
        """
        status = os.fstat(folder)
        identity = status.st_dev, status.st_ino
        with self._lock:
            self._take_notice()
            known = self._folders.get(identity)
            if known is None or self._clock() >= known.until:
                return self._swept(identity, folder, watchable)
            names = self._changed.get(known.watch, set[str]()) | known.doubtful
            if names:
                before, known = known, _refreshed(known, folder, names)
                if known.doubtful - before.doubtful:  # a second name of a file that has its first one here, too
                    return self._swept(identity, folder, watchable)
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

    def _swept(self, identity: tuple[int, int], folder: int, watchable: Callable[[], bool]) -> Mapping[str, FileStat]:
        """Everything looked at; watched before that, so that no change falls between."""
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
        with os.scandir(listed) as entries:  # which knows what is a file without asking for its facts
            for entry in entries:
                if _is_document(entry.name) and entry.is_file(follow_symlinks=False):
                    try:
                        found.look(entry.name, entry.stat(follow_symlinks=False))
                    except FileNotFoundError:  # gone since; the others are there
                        continue
    finally:
        os.close(listed)
    return found


def _refreshed(known: _CachedFolder, folder: int, names: Collection[str]) -> _CachedFolder:
    """The documents after some may have changed."""
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
