"""Documents made ready for searching, kept as long as their files stay as they were."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.projects.search.searchable import (
    NO_DOCUMENTS,
    SearchableDocument,
    SearchableDocuments,
    searchable,
)

MAX_CACHED_FOLDERS = 64
"""Projects that are kept, the last ones searched."""
SETTLED_NS = 50_000_000
"""A file that was written so shortly before it was read is read again by the next search: within one tick of the
file system's clock a second change of the same length would leave no trace."""


@dataclass(frozen=True, slots=True)
class _CachedFolder:
    """The documents of a folder, as they were."""

    files: Mapping[str, FileStat]
    """As they were when they were read; without those that are to be read again."""
    texts: SearchableDocuments


_NOTHING = _CachedFolder({}, NO_DOCUMENTS)


class SearchTextCache:
    """The searchable texts of the last projects; safe from several threads."""

    def __init__(self) -> None:
        self._folders: OrderedDict[str, _CachedFolder] = OrderedDict()
        self._lock = Lock()

    def texts(
        self, folder: str, files: Mapping[str, FileStat], read: Callable[[Address], bytes]
    ) -> SearchableDocuments:
        """The texts of these files; only those that have changed are read.

        A file that is gone by the time it is read, or whose name no address may have, is left out.
        """
        with self._lock:
            known = self._folders.get(folder, _NOTHING)
        kept = known if known.files == files else _kept(folder, files, known, read)
        with self._lock:
            self._folders[folder] = kept
            self._folders.move_to_end(folder)
            while len(self._folders) > MAX_CACHED_FOLDERS:
                self._folders.popitem(last=False)
        return kept.texts


def _kept(
    folder: str, files: Mapping[str, FileStat], known: _CachedFolder, read: Callable[[Address], bytes]
) -> _CachedFolder:
    there = dict(files)
    before = known.files
    differing = [name for name, stat in files.items() if before.get(name) != stat]
    changed: list[SearchableDocument] = []
    for name in differing:
        try:
            address = parse_address(f"{folder}/{name}")
            changed.append(searchable(name, read_document(address, read(address))))
        except (NotFoundError, InvalidInputError):
            there.pop(name)
            continue
        if time.time_ns() - files[name].mtime_ns < SETTLED_NS:
            there.pop(name)
    return _CachedFolder(there, known.texts.updated({*differing, *(before.keys() - files.keys())}, changed))
