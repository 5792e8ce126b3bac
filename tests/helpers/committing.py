"""Parts for tests of stores that commit every write."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author
from commonplace.domain.ports import Store
from commonplace.store import open_store


def committing(folder: Path) -> Store:
    """A store that commits every write."""
    return open_store(folder, commit="auto", state_dir=folder.parent / "state")


def write(store: Store, path: str, content: bytes, message: str = "Write", author: Author | None = None) -> str:
    """Put one file; the commit."""
    with store.transaction(message, author) as transaction:
        transaction.put(Address(path), content)
    return transaction.receipt.commit
