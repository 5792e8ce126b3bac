"""Cache of documents prepared for searching, valid while their files do not change."""

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
from commonplace.toolsets.projects.rules.search.searchable import (
    NO_DOCUMENTS,
    SearchableDocument,
    SearchableDocuments,
    searchable,
)

MAX_CACHED_FOLDERS = 64
"""Maximum number of cached projects; the least recently searched is evicted."""
SETTLED_NS = 50_000_000
"""Minimum age of a file's last write in nanoseconds at which its cached text is trusted; a younger file is read again.

Within one tick of the file system's clock, a second change of the same length would not be visible.
"""


@dataclass(frozen=True, slots=True)
class _CachedFolder:
    """The cached documents of a folder."""

    files: Mapping[str, FileStat]
    """Stat data at the time of reading, without the files that must be read again."""
    texts: SearchableDocuments
    is_settled: bool = True
    """Whether `files` contains the files of all texts."""


_NOTHING = _CachedFolder({}, NO_DOCUMENTS)


class SearchTextCache:
    """The searchable texts of the most recently searched projects. Thread-safe."""

    def __init__(self) -> None:
        self._folders: OrderedDict[str, _CachedFolder] = OrderedDict()
        self._lock = Lock()

    def texts(
        self, folder: str, files: Mapping[str, FileStat], read: Callable[[Address], bytes]
    ) -> SearchableDocuments:
        """The texts of these files. Reads only files that have changed.

        A file that is deleted before it is read, or whose name is not a valid address, is omitted.
        """
        with self._lock:
            known = self._folders.get(folder, _NOTHING)
        kept = known if known.is_settled and known.files == files else _kept(folder, files, known, read)
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
    # `before` is not used here: it omits files that were written shortly before they were read.
    removed = {text.filename for text in known.texts.all} - files.keys()
    texts = known.texts.updated({*differing, *removed}, changed)
    return _CachedFolder(there, texts, is_settled=len(there) == len(texts.all))
