"""Finds the commit that last changed each section of a document."""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, dropwhile, islice
from threading import Lock
from typing import TypeAlias

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.documents import Section
from commonplace.domain.errors import GitError, InvalidInputError
from commonplace.services.collections import Collection
from commonplace.services.past.moments import require_history

MAX_BLAMED_COMMITS = 10_000
"""Maximum number of a document's commits that are read."""
MAX_CHANGED_FILES = 100
"""Maximum number of files of one commit in which the earlier place of a text is looked for."""
MAX_PLACES = 10
"""Maximum number of pages through which a text is followed."""
MIN_LETTERS = 40
"""Minimum number of letters and digits of a text that is followed to another page, as of `git blame -C`."""
MAX_CACHED_DOCUMENTS = 256
"""Maximum number of cached documents; the least recently used one is evicted."""

Form: TypeAlias = Callable[[bytes], bytes]
"""Puts a text and the versions of its page into the form in which they are compared."""
_Key: TypeAlias = tuple[str, str, Form]


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
        self._known: OrderedDict[_Key, tuple[str, Mapping[bytes, Commit]]] = OrderedDict()
        self._lock = Lock()

    def texts_at(self, document: _Key, commit: str) -> Mapping[bytes, Commit]:
        """The cached texts of a document's version; empty if the cached version is that of another commit."""
        with self._lock:
            known_pair = self._known.get(document)
            if known_pair is None or known_pair[0] != commit:
                return {}
            self._known.move_to_end(document)
            return known_pair[1]

    def add(self, document: _Key, commit: str, texts: Mapping[bytes, Commit]) -> None:
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


def section_blame(collection: Collection, address: Address, form: Form = bytes.strip) -> list[SectionChange]:
    """The last commit of each section of a document, in the document's order.

    A section's text is the text between its heading and the next one. The section counts as unchanged if an older
    version has the same heading and text anywhere in the document, or if the commit that brought it here took it out of
    another page, in which it then counts.

    Args:
        collection: The document's collection.
        address: The document.
        form: The form in which texts and versions are compared.

    Raises:
        GitError: the collection has no history.
    """
    require_history(collection)
    document = collection.index.document(address)
    texts = {section.ordinal: form(document.raw[section.start : section.end]) for section in document.sections}
    commits = _commits_of(collection, address, {text for text in texts.values() if text}, form)
    shown = [section for section in document.sections if section.level or texts[section.ordinal]]
    return [SectionChange(section, commits.get(texts[section.ordinal])) for section in shown]


def _commits_of(collection: Collection, address: Address, texts: set[bytes], form: Form) -> Mapping[bytes, Commit]:
    """The commit that introduced each text; texts that no commit has are omitted."""
    versions = _versions(collection, address) if texts else iter(())
    first = next(versions, None)
    if first is None:
        return {}
    document = collection.store.identity, address.path, form
    commits = _introduced(collection, document, chain([first], versions), texts, MAX_PLACES)
    _CACHE.add(document, first[0].id, commits)
    return commits


def _introduced(
    collection: Collection,
    document: _Key,
    versions: Iterable[tuple[Commit, bytes]],
    texts: AbstractSet[bytes],
    places: int,
) -> dict[bytes, Commit]:
    """The commit that introduced each text of a document; of a text from another page, the one that did so there.

    Args:
        collection: The document's collection.
        document: The identity of its store, its path, and the form of texts.
        versions: Its commits with its bytes, newest first.
        texts: The texts.
        places: Number of further pages through which a text is followed.
    """
    commits: dict[bytes, Commit] = {}
    cached: dict[bytes, Commit] = {}
    left, newer = set(texts), None
    for commit, raw in versions:
        plain = document[2](raw)
        gone = {text for text in left if text not in plain}
        if newer is not None:
            commits |= dict.fromkeys(gone, newer)
        left -= gone
        known_commits = _CACHE.texts_at(document, commit.id)
        cached |= {text: known_commits[text] for text in left & known_commits.keys()}
        left -= known_commits.keys()
        newer = commit
        if not left:
            break
    if newer is not None:
        commits |= dict.fromkeys(left, newer)
    return cached | commits | _carried(collection, commits, document[2], places)


def _carried(collection: Collection, commits: Mapping[bytes, Commit], form: Form, places: int) -> dict[bytes, Commit]:
    """The earlier commits of those texts that their commit took out of another page."""
    moved: defaultdict[str, set[bytes]] = defaultdict(set)
    for text, commit in commits.items() if places else ():
        if len(re.findall(rb"[0-9A-Za-z\x80-\xff]", text)) >= MIN_LETTERS:
            moved[commit.id].add(text)
    carried: dict[bytes, Commit] = {}
    for commit_id, texts in moved.items():
        for source, left in _sources(collection, commit_id, texts, form):
            later = dropwhile(lambda version, last=commit_id: version[0].id != last, _versions(collection, source))
            document = collection.store.identity, source.path, form
            carried |= _introduced(collection, document, islice(later, 1, None), left, places - 1)
    return carried


def _versions(collection: Collection, address: Address) -> Iterator[tuple[Commit, bytes]]:
    return islice(collection.store.history.versions(address), MAX_BLAMED_COMMITS)


def _sources(
    collection: Collection, commit: str, texts: set[bytes], form: Form
) -> Iterator[tuple[Address, set[bytes]]]:
    """The pages out of which a commit took texts, each with these texts; none for a merge."""
    with suppress(InvalidInputError, GitError):
        for address, (before, after) in collection.store.history.changed(commit, limit=MAX_CHANGED_FILES).items():
            if not (before and address.is_document):
                continue
            old, new = form(before), form(after or b"")
            left = {text for text in texts if text in old and text not in new}
            if left:
                yield address, left
