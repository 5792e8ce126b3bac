"""A folder with an index, for tests: `base = Indexed(tmp_path, {"a.md": "# A"})`."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.ports import Index
from commonplace.domain.query import Filter, ListQuery, SearchQuery
from commonplace.domain.records import build_record
from commonplace.domain.revisions import revision_of
from commonplace.index import open_index
from commonplace.index.fulltext.document_text import DocumentText, document_text
from commonplace.index.fulltext.tantivy_index import FullText
from commonplace.index.transaction import MIN_RECENT
from commonplace.services.collections import Collection, Collections
from commonplace.store import open_store

MANY = {f"many/{number:02}.md": f"# Many {number}\n\nfiller\n" for number in range(MIN_RECENT + 1)}
"""Documents that are too many for the catalogue alone: with them, an index has a full text."""
WAIT_SECONDS = 60.0
"""The bound of every wait; passed only by a failing test."""
PERMISSIONS = pytest.mark.skipif(sys.platform != "linux" and os.geteuid() == 0, reason="root reads everything")

# From <linux/capability.h>: the header's version with two words for each set, and what overrides permissions.
_VERSION = 0x20080522
_OVERRIDING = 1 << 1 | 1 << 2
_SETS = ctypes.c_uint32 * 6
"""Effective, permitted, inheritable; then the same for higher numbers."""


class Indexed:
    """A folder of documents, its cache, and an index that is open on them."""

    def __init__(self, place: Path, files: Mapping[str, str | bytes] | None = None) -> None:
        self.folder = place / "base"
        self.cache = place / "cache"
        self.state = place / "state"
        self.folder.mkdir(parents=True, exist_ok=True)
        for path, content in (files or {}).items():
            self.write(path, content)
        self.store = open_store(self.folder, commit="manual", state_dir=self.state)
        self.index: Index = open_index(self.store, self.cache)
        self.index.sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.index.close()

    @property
    def collection(self) -> Collection:
        """The folder as services receive it."""
        return Collection(self.store.name, self.store, self.index)

    @property
    def collections(self) -> Collections:
        """The same as the only one that is open."""
        return Collections(lambda: [self.collection])

    def another(self) -> Index:
        """One more index on the same folder and cache, as another process would have."""
        return open_index(open_store(self.folder, commit="manual", state_dir=self.state), self.cache)

    def write(self, path: str, content: str | bytes) -> Address:
        """Put a file in place as an editor would, telling nobody."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return Address(path)

    def write_settled(self, path: str, content: str | bytes, seconds_ago: float = 100.0) -> Address:
        """The same, with times that lie in the past."""
        address = self.write(path, content)
        when = time.time() - seconds_ago
        os.utime(self.folder / path, (when, when))
        return address

    def update(self, path: str, content: str | bytes) -> None:
        """Write a file and tell the index."""
        self.index.update([self.write(path, content)])

    def found(self, text: str, filter_: Filter | None = None, **query: int | str | bool) -> list[str]:
        """Paths of the documents that answer a search, best first."""
        search_query = replace(SearchQuery(text=text, filter=filter_ or Filter()), **query)
        return [hit.record.address.path for hit in self.index.search(search_query).hits]

    def listed(self, filter_: Filter | None = None, **query: int | str | bool) -> list[str]:
        """Paths of the documents that a list holds, in its order."""
        list_query = replace(ListQuery(filter=filter_ or Filter(), limit=1000), **query)
        return [record.address.path for record in self.index.list(list_query).records]


def answers(index: Index, words: Sequence[str]) -> dict[str, object]:
    """The answers of an index in one comparable value, without dates and ranks, which depend on its history.

    `words` are the searched words.
    """
    records = index.list(ListQuery(limit=1000)).records
    return {
        "records": {record.address.path: replace(record, created="", updated="") for record in records},
        "links": sorted((str(a), str(b)) for a, b in index.links()),
        "from": {r.address.path: index.links_from(r.address) for r in records},
        "to": {r.address.path: sorted(map(repr, index.links_to(r.address))) for r in records},
        "broken": sorted((link.source.path, link.link.target) for link in index.broken()),
        "dead": index.dead_links(),
        "orphans": sorted(record.address.path for record in index.orphans()),
        "tags": index.tags(Filter()),
        "counts": index.counts(),
        "findings": sorted(record.address.path for record in index.findings()),
        "found": {word: _found(index, word) for word in words},
        "guides": sorted(r.address.path for r in index.list(ListQuery(filter=Filter(types=("guide",)))).records),
    }


def _found(index: Index, word: str) -> object:
    # All sections: which of them ranks first depends on what an index has held before.
    result = index.search(SearchQuery(text=f"{word} ", limit=1000, sections=100))
    hits = {hit.record.address.path: sorted(section.ordinal for section in hit.sections) for hit in result.hits}
    return result.total, hits


def full_text(folder: Path, texts: Mapping[int, str]) -> FullText:
    """A full text of these Markdown texts by number, at generation 0; the document of number n is `n.md`."""
    made = FullText(folder, create=True)
    with made.writing(bulk=False) as writer:
        for key, text in texts.items():
            writer.add(key, searchable(key, text))
    return made


def searchable(key: int, text: str) -> DocumentText:
    """The searchable texts of the document `KEY.md`."""
    document = read_document(Address(f"{key}.md"), text.encode())
    return document_text(document, build_record(document, revision_of(document.raw)))


def remove_folder(folder: Path) -> None:
    """Delete a folder though an index may be at work in it and make or delete files meanwhile."""

    def gone() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    assert eventually(gone), folder


MakeBase = Callable[[Mapping[str, str | bytes]], Indexed]
"""The type of the fixture `base`."""


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether something becomes true in time; asked again and again, with pauses that do not burn the machine."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


@contextmanager
def permissions_hold() -> Generator[None]:
    """Let this thread read and search only what its user may, for the length of a `with` block."""
    if os.geteuid() != 0:
        yield
        return
    library = ctypes.CDLL(None, use_errno=True)
    header, before = (ctypes.c_uint32 * 2)(_VERSION, 0), _SETS()
    assert library.capget(header, before) == 0, os.strerror(ctypes.get_errno())
    bound = _SETS(*before)
    bound[0] &= ~_OVERRIDING
    assert library.capset(header, bound) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        assert library.capset(header, before) == 0, os.strerror(ctypes.get_errno())
