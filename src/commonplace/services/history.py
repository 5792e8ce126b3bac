"""The past of documents: who changed what, differences, and a document as it was."""

from __future__ import annotations

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.errors import GitError
from commonplace.services.collections import Collection


def log(collection: Collection, address: Address | None, *, limit: int, offset: int = 0) -> list[Commit]:
    """Commits that touched a document (None: anything in the collection), newest first.

    Raises:
        GitError: the collection is in no Git repository, or it has no commits yet.
    """
    return _require_history(collection).store.history.log(address, limit=limit, offset=offset)


def diff(collection: Collection, address: Address, old: str, new: str = "") -> str:
    """Unified diff of a document between two revisions; `new` "" means the file as it is now."""
    return _require_history(collection).store.history.diff(address, old, new)


def _require_history(collection: Collection) -> Collection:
    if not collection.store.history.available:
        raise GitError(
            f"There is no history: {collection.name!r} is in no Git repository, or nothing was committed yet.",
            kind="history",
            hint="Run `git init` and commit in the folder to have one.",
        )
    return collection
