"""Finds the commit that last changed each section of a document."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from threading import Lock

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.documents import Section
from commonplace.services.collections import Collection
from commonplace.services.past.moments import require_history

MAX_BLAMED_COMMITS = 10_000
"""Maximum number of a document's commits that are read."""
MAX_CACHED_DOCUMENTS = 256
"""Maximum number of cached documents; the least recently used one is evicted."""


@dataclass(frozen=True, slots=True)
class SectionChange:
    """A section of a document, and the commit that introduced its current text."""

    section: Section
    commit: Commit | None
    """The commit; None for uncommitted text."""


class BlameCache:
    """A cache of the commits of section texts, by document, as of the last commit that touched it. Thread-safe.

    The commit that introduced a text depends only on earlier commits of the document. An entry therefore remains valid
    when later commits touch the document: the walk stops at the cached commit.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[str, Mapping[bytes, Commit]]] = OrderedDict()
        self._lock = Lock()

    def texts_at(self, document: tuple[str, str], commit: str) -> Mapping[bytes, Commit]:
        """The cached texts of a document's version; empty if the cached version is that of another commit."""
        with self._lock:
            known_pair = self._known.get(document)
            if known_pair is None or known_pair[0] != commit:
                return {}
            self._known.move_to_end(document)
            return known_pair[1]

    def add(self, document: tuple[str, str], commit: str, texts: Mapping[bytes, Commit]) -> None:
        """Cache the texts of a version."""
        with self._lock:
            self._known[document] = commit, texts
            self._known.move_to_end(document)
            while len(self._known) > MAX_CACHED_DOCUMENTS:
                self._known.popitem(last=False)

    def clear(self) -> None:
        """Remove all documents."""
        with self._lock:
            self._known.clear()


_CACHE = BlameCache()
"""The cache of this process."""


def forget_blame() -> None:
    """Clear this process's cache."""
    _CACHE.clear()


def section_blame(collection: Collection, address: Address) -> list[SectionChange]:
    """The last commit of each section of a document, in the document's order.

    A section's text is the text between its heading and the next one. The section counts as unchanged if an older
    version has the same heading and text anywhere in the document.

    Raises:
        GitError: the collection has no history.
    """
    require_history(collection)
    document = collection.index.document(address)
    texts = {section.ordinal: document.raw[section.start : section.end].strip() for section in document.sections}
    commits = _commits_of(collection, address, {text for text in texts.values() if text})
    shown = [section for section in document.sections if section.level or texts[section.ordinal]]
    return [SectionChange(section, commits.get(texts[section.ordinal])) for section in shown]


def _commits_of(collection: Collection, address: Address, texts: set[bytes]) -> Mapping[bytes, Commit]:
    """The commit that introduced each text; texts that no commit has are omitted."""
    document = collection.store.identity, address.path
    commits: dict[bytes, Commit] = {}
    left, last, newer = set(texts), "", None
    for commit, raw in islice(collection.store.history.versions(address), MAX_BLAMED_COMMITS if left else 0):
        last = last or commit.id
        gone = {text for text in left if text not in raw}
        if newer is not None:
            commits |= dict.fromkeys(gone, newer)
        left -= gone
        known_commits = _CACHE.texts_at(document, commit.id)
        commits |= {text: known_commits[text] for text in left & known_commits.keys()}
        left -= known_commits.keys()
        newer = commit
        if not left:
            break
    if newer is not None:
        commits |= dict.fromkeys(left, newer)
    if last:
        _CACHE.add(document, last, commits)
    return commits
