"""Commits for readers: changes in a collection and in a document, and differences between two versions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.domain.words.text_decoder import decoded
from commonplace.services.collections import Collection
from commonplace.services.site.derived import PerState

log = logging.getLogger(__name__)

RECENT = 30
"""Number of commits on a page of recent changes."""
MAX_FOLLOWED = 400
"""Maximum number of commits that are searched for one change of a document."""
SIMILAR = 0.5
"""Minimum share of equal lines for a new document to count as a renamed one."""
MAX_COMPARED_LINES = 4_000
"""Maximum number of lines of a version that is compared for similarity."""
MAX_SECTION_COMMITS = 40
"""Maximum number of a document's commits that are read to find the authors of its sections."""


def _latest(collection: Collection) -> tuple[Commit, ...]:
    history = collection.store.history
    return tuple(history.log(None, limit=RECENT + 1)) if history.available else ()


LATEST = PerState(_latest)
"""The latest commits of each collection, newest first; empty without Git."""


def recent(collection: Collection, page: int) -> tuple[Sequence[Commit], bool]:
    """A page of the collection's commits, newest first, and whether there are older ones.

    Args:
        collection: The collection.
        page: Number of the page, from 1.
    """
    history = collection.store.history
    if not history.available:
        return (), False
    offset = (page - 1) * RECENT
    found = history.log(None, limit=RECENT + 1, offset=offset) if offset else LATEST.of(collection)
    return found[:RECENT], len(found) > RECENT


def commit_of(collection: Collection, revision: str) -> Commit:
    """A commit of the collection with the documents that it touched.

    Raises:
        NotFoundError: no id among the last `MAX_FOLLOWED` commits begins with the revision.
    """
    history = collection.store.history
    for offset in range(0, MAX_FOLLOWED, RECENT):
        found = history.log(None, limit=RECENT, offset=offset) if history.available else []
        for commit in found:
            if commit.id.startswith(revision):
                return commit
        if len(found) < RECENT:
            break
    raise NotFoundError(f"There is no recent commit {revision[:40]!r} here.", kind="revision")


def before(collection: Collection, address: Address, commit: str) -> str:
    """The previous commit that touched the document; "" if this commit created it."""
    commits = collection.store.history.log(address, limit=MAX_FOLLOWED)
    at = next((number for number, one in enumerate(commits) if one.id == commit), len(commits))
    return commits[at + 1].id if at + 1 < len(commits) else ""


def version(collection: Collection, address: Address, commit: str) -> str:
    """The text of a document at a commit ("": the current text); "" if the document did not exist."""
    try:
        if not commit:
            return collection.index.document(address).text
        return decoded(collection.store.history.read(address, commit))
    except NotFoundError:
        return ""


@dataclass(frozen=True, slots=True)
class GonePage:
    """A document that no longer exists."""

    address: Address
    removed: Commit
    last: str
    """The last commit that contains the document."""
    renamed_to: Address | None
    """The new address if the document was moved; None otherwise."""


def gone_page(collection: Collection, address: Address) -> GonePage | None:
    """The history of a document that no longer exists; None if it never existed."""
    history = collection.store.history
    commits = history.log(address, limit=2) if history.available else []
    for commit in commits:
        try:
            content = history.read(address, commit.id)
        except NotFoundError:
            continue
        removed = commits[0]
        return GonePage(address, removed, commit.id, _renamed_to(collection, address, removed, content))
    return None


def _renamed_to(collection: Collection, address: Address, removed: Commit, content: bytes) -> Address | None:
    revisions = collection.index.revisions()
    same = [other for other, revision in revisions.items() if revision == revision_of(content)]
    if len(same) == 1:
        return same[0]
    try:
        touched = commit_of(collection, removed.id).addresses
    except NotFoundError:
        return None
    lines = content.splitlines()
    best: tuple[float, Address | None] = (SIMILAR, None)
    for other in touched:
        if other == address or other not in revisions or before(collection, other, removed.id):
            continue
        there = version(collection, other, removed.id).encode().splitlines()
        if max(len(lines), len(there)) <= MAX_COMPARED_LINES:
            ratio = SequenceMatcher(None, lines, there, autojunk=False).ratio()
            best = max(best, (ratio, other), key=lambda one: one[0])
    return best[1]


@dataclass(frozen=True, slots=True)
class SectionAuthor:
    """The last change of a section."""

    anchor: str
    heading: str
    level: int
    commit: Commit | None
    """The commit; None for uncommitted text."""


def section_authors(collection: Collection, document: Document) -> list[SectionAuthor]:
    """The last change of each section, found by comparing the last `MAX_SECTION_COMMITS` versions of the document."""
    history = collection.store.history
    commits = history.log(document.address, limit=MAX_SECTION_COMMITS) if history.available else []
    texts = _texts(document)
    authors: dict[str, Commit | None] = dict.fromkeys(texts)
    open_sections = set(texts)
    for number, commit in enumerate(commits):
        there = _version_texts(collection, document.address, commit.id)
        kept = {anchor for anchor in open_sections if there.get(anchor) == texts[anchor]}
        for anchor in kept:
            authors[anchor] = commit
        # A section that differs in this older version was last changed by the newer commit, which is recorded already.
        open_sections = kept
        if not open_sections or number == len(commits) - 1:
            break
    return [
        SectionAuthor(one.anchor, one.heading or document.title, one.level, authors[one.anchor])
        for one in document.sections
        if one.level or document.raw[one.content : one.end].strip()
    ]


def _version_texts(collection: Collection, address: Address, commit: str) -> dict[str, bytes]:
    try:
        return _texts(read_document(address, collection.store.history.read(address, commit)))
    except NotFoundError:  # the commit deleted the document
        return {}
    except KnowledgeError as error:
        log.warning("The version of %s in %s is not read: %s", address.path, commit, error)
        return {}


def _texts(document: Document) -> dict[str, bytes]:
    raw = document.encoded
    return {one.anchor: raw[one.start : one.end].strip() for one in document.sections}
