"""The history of documents: commits, differences, and old versions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, TrashItem
from commonplace.domain.documents import Section
from commonplace.domain.errors import AlreadyExistsError, ConflictError, GitError, InvalidInputError, NotFoundError
from commonplace.domain.ports import History
from commonplace.domain.revisions import is_revision, require_revision, revision_of
from commonplace.domain.words.moments import parse_moment
from commonplace.services.collections import Collection
from commonplace.services.writes import UNCONDITIONAL, WriteReceipt, WriteRequest

BATCH_COMMITS = 50
"""Commits of a document that are read at a time."""

MAX_BLAMED_COMMITS = 10_000
"""Commits of a document that are looked at for who wrote its sections."""

RestoreAction: TypeAlias = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The result of restoring a document."""

    written: WriteReceipt
    action: RestoreAction


@dataclass(frozen=True, slots=True)
class CollectionState:
    """The state of a collection from which an answer came."""

    collection: str
    commit: str
    """The current commit; "" without Git."""
    generation: int
    """Generation of the index, which grows with every indexed change."""


def collection_state(collection: Collection) -> CollectionState:
    """The current state of a collection."""
    return CollectionState(collection.name, collection.store.history.head(), collection.index.generation)


def log(collection: Collection, address: Address | None, *, limit: int, offset: int = 0) -> list[Commit]:
    """Commits that touched a document (None: anything in the collection), newest first.

    Raises:
        GitError: the collection is not in a Git repository, or has no commits yet.
    """
    return _require_history(collection).store.history.log(address, limit=limit, offset=offset)


def diff(collection: Collection, address: Address, old: str, new: str = "") -> str:
    """Unified diff of a document between two revisions; `new` "" means the current file."""
    return _require_history(collection).store.history.diff(address, old, new)


def revision_at(collection: Collection, address: Address, moment: str) -> str:
    """The revision of a document at a moment, as `reads` takes it; "" for the present.

    Args:
        collection: Where the document is.
        address: Which it is; it need not be there now.
        moment: A date or time, "yesterday", "7 days ago", a commit, a tag, or "before" with either of the last two.

    Raises:
        InvalidInputError: the moment lies in the future.
        NotFoundError: the document was not there then.
        GitError: the collection has no history.
    """
    text = moment.strip()
    if not text or is_revision(text):
        return text
    history = _require_history(collection).store.history
    before = text.lower().startswith("before ")
    name = text[len("before ") :].strip() if before else text
    when = None if is_revision(name) else parse_moment(name, end=not before)
    if when is None:
        return f"{name}^" if before else name
    if when.timestamp() > time.time() and not _is_today(when):
        raise InvalidInputError(
            f"{name[:40]!r} lies in the future.", kind="revision", hint="Give a moment of the past, or none for now."
        )
    offset = 0
    while batch := history.log(address, limit=BATCH_COMMITS, offset=offset):
        found = next((one for one in batch if one.when <= when.timestamp()), None)
        if found is not None:
            return found.id
        offset += len(batch)
    raise NotFoundError(
        f"{address.path} was not there {'before ' if before else ''}{name[:40]}.",
        kind="revision",
        hint="Ask for the document's history to see when it began.",
        path=address.path,
    )


def _is_today(moment: datetime) -> bool:
    return moment.date() == datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class SectionChange:
    """A section of a document, and the commit that gave it the text that it has."""

    section: Section
    commit: Commit | None
    """None for text that no commit has."""


def section_blame(collection: Collection, address: Address) -> list[SectionChange]:
    """Who last changed each section of a document, in the document's order.

    A section's text is what stands between its heading and the next one. It counts as unchanged as long as an older
    version holds the same heading and text, wherever in the document.

    Raises:
        GitError: the collection has no history.
    """
    history = _require_history(collection).store.history
    document = collection.index.document(address)
    open_sections = {one.ordinal: document.raw[one.start : one.end].strip() for one in document.sections}
    found: dict[int, Commit | None] = {ordinal: None for ordinal, text in open_sections.items() if not text}
    left = {ordinal: text for ordinal, text in open_sections.items() if text}
    newer: Commit | None = None
    for commit in history.log(address, limit=MAX_BLAMED_COMMITS) if left else ():
        raw = _content(history, address, commit)
        for ordinal in [ordinal for ordinal, text in left.items() if text not in raw]:
            found[ordinal] = newer
            del left[ordinal]
        newer = commit
        if not left:
            break
    found |= dict.fromkeys(left, newer)
    shown = [one for one in document.sections if one.level or open_sections[one.ordinal]]
    return [SectionChange(one, found[one.ordinal]) for one in shown]


def _content(history: History, address: Address, commit: Commit) -> bytes:
    try:
        return history.read(address, commit.id)
    except NotFoundError:  # the commit deleted it
        return b""


def restore(
    collection: Collection, address: Address, at: str, intent: WriteRequest = UNCONDITIONAL, *, force: bool = False
) -> RestoreReport:
    """Write a document's version at a commit, as an ordinary write. The history stays.

    Args:
        collection: Collection of the document.
        address: The document, which need not exist now.
        at: A commit, or a revision of the document: 7 or more hex digits.
        intent: As for any write.
        force: Whether to overwrite text that was never committed; it goes to the trash.

    Raises:
        NotFoundError: no such commit, or the commit does not contain the document.
        InvalidInputError: `at` is not a revision.
        ConflictError: not at the expected revision; or the document contains uncommitted text.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    content = _require_history(collection).store.history.read(address, at)
    message = intent.message or f"Restore: {address.id} at {at}"
    with collection.store.transaction(message, intent.author) as transaction:
        current = transaction.read(address) if transaction.exists(address) else None
        if current is not None and intent.expected:
            require_revision(current, intent.expected)
        if current is not None and current != content and not force and not _is_committed(collection, address, current):
            raise ConflictError(
                f"The document {address.id!r} contains text that was never committed.",
                kind="document",
                hint="Commit it first, or allow that it goes (--force on the command line).",
                current_revision=revision_of(current),
            )
        if current != content:
            transaction.put(address, content, keep=True)
    collection.index.update([address])
    written = WriteReceipt(address, revision_of(content), transaction.receipt.commit, created=current is None)
    return RestoreReport(written, "created" if current is None else "unchanged" if current == content else "updated")


def trashed(collection: Collection, reference: str, revision: str = "") -> TrashItem | None:
    """The newest matching item of the trash; None if there is none.

    Args:
        collection: The collection.
        reference: The file's path or id, else the item's revision (7 or more digits), else the file's name.
        revision: With a path, the item's revision or its first 7 or more digits; "" for the newest.

    Raises:
        InvalidInputError: kind "trash": files of several paths match.
    """
    trash = collection.store.trash
    items = trash.items() if trash else []
    found = [item for item in items if reference in (item.address.path, item.address.id)]
    if not found and is_revision(reference):
        found = [item for item in items if item.revision.startswith(reference.lower())]
    if not found:
        found = [item for item in items if reference in (item.address.name, item.address.stem)]
    if revision:
        found = [item for item in found if is_revision(revision) and item.revision.startswith(revision.lower())]
    paths = sorted({item.address.path for item in found})
    if len(paths) > 1:
        raise InvalidInputError(
            f"The trash has several files that {reference!r} can mean: {', '.join(paths[:5])}.",
            kind="trash",
            hint="Give the path of one.",
        )
    return found[0] if found else None


def bring_back(
    collection: Collection, item: TrashItem, to: Address, intent: WriteRequest = UNCONDITIONAL
) -> RestoreReport:
    """Write an item of the trash as a new file, and remove it from the trash. An existing file is never overwritten.

    Raises:
        AlreadyExistsError: the address has another text.
        NotFoundError, StorageError: kind "trash": the item is gone, or unreadable.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    trash = collection.store.trash
    content = trash.content(item) if trash else b""
    with collection.store.transaction(intent.message or f"Restore: {to.id}", intent.author) as transaction:
        there = transaction.read(to) if transaction.exists(to) else None
        if there is not None and there != content:
            raise AlreadyExistsError(
                f"There already is a file {to.path}, which would be overwritten. Nothing was changed.",
                kind="document",
                hint="Bring it back to another path (--to PATH on the command line).",
                reference=to.id,
            )
        if there is None:
            transaction.put(to, content)
    collection.index.update([to])
    if trash:
        trash.discard(item)
    written = WriteReceipt(to, revision_of(content), transaction.receipt.commit, created=there is None)
    return RestoreReport(written, "created" if there is None else "unchanged")


def last_commits(collection: Collection, address: Address) -> tuple[str, int] | None:
    """The last commit that contains a file, and the unix seconds of the last one that touched it; None if none does."""
    history = collection.store.history
    for number, commit in enumerate(touched := history.log(address, limit=5) if history.available else []):
        try:
            history.read(address, commit.id)
        except NotFoundError:
            continue
        return touched[number].id, touched[0].when
    return None


def _is_committed(collection: Collection, address: Address, current: bytes) -> bool:
    history = collection.store.history
    try:
        return history.read(address, history.head()) == current
    except NotFoundError:
        return False


def _require_history(collection: Collection) -> Collection:
    if not collection.store.history.available:
        raise GitError(
            f"There is no history: {collection.name!r} is not in a Git repository, or nothing was committed yet.",
            kind="history",
            hint="Run `git init` and commit in the folder to have one.",
        )
    return collection
