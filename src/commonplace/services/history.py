"""The past of documents: who changed what, differences, and a document as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.errors import ConflictError, GitError, NotFoundError
from commonplace.domain.revisions import require_revision, revision_of
from commonplace.services.collections import Collection
from commonplace.services.writing import ANY, Intent, Written

Action: TypeAlias = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class Restored:
    """What bringing a document back did."""

    written: Written
    action: Action


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a collection that an answer came from."""

    collection: str
    commit: str
    """The current one, "" without Git."""
    generation: int
    """Of the index: grows with every change that it took in."""


def standing(collection: Collection) -> Standing:
    """Where a collection stands now."""
    history = collection.store.history
    return Standing(collection.name, history.head() if history.available else "", collection.index.generation)


def log(collection: Collection, address: Address | None, *, limit: int, offset: int = 0) -> list[Commit]:
    """Commits that touched a document (None: anything in the collection), newest first.

    Raises:
        GitError: the collection is in no Git repository, or it has no commits yet.
    """
    return _require_history(collection).store.history.log(address, limit=limit, offset=offset)


def diff(collection: Collection, address: Address, old: str, new: str = "") -> str:
    """Unified diff of a document between two revisions; `new` "" means the file as it is now."""
    return _require_history(collection).store.history.diff(address, old, new)


def restore(
    collection: Collection, address: Address, at: str, intent: Intent = ANY, *, force: bool = False
) -> Restored:
    """Write a document as it was at a commit, as any other write; nothing of the history goes.

    Args:
        collection: Where it is.
        address: Which document; it need not be there now.
        at: A commit, or a revision of the document: 7 or more hex digits.
        intent: As for any write.
        force: Whether text that was never committed may be overwritten.

    Raises:
        NotFoundError: no such commit, or the document was not in it.
        InvalidInputError: `at` is not a revision.
        ConflictError: not at the expected revision; or the document holds text that no commit has.
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
                f"The document {address.id!r} holds text that was never committed.",
                kind="document",
                hint="Commit it first, or allow that it goes (--force on the command line).",
                current_revision=revision_of(current),
            )
        if current != content:
            transaction.put(address, content, keep=True)
    collection.index.update([address])
    written = Written(address, revision_of(content), transaction.receipt.commit, created=current is None)
    return Restored(written, "created" if current is None else "unchanged" if current == content else "updated")


def _is_committed(collection: Collection, address: Address, current: bytes) -> bool:
    history = collection.store.history
    try:
        return history.read(address, history.head()) == current
    except NotFoundError:
        return False


def _require_history(collection: Collection) -> Collection:
    if not collection.store.history.available:
        raise GitError(
            f"There is no history: {collection.name!r} is in no Git repository, or nothing was committed yet.",
            kind="history",
            hint="Run `git init` and commit in the folder to have one.",
        )
    return collection
