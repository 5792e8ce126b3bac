"""Writes to a replica that was behind: a conflict with an older state than the remote's is no conflict yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.domain.errors import ConflictError, PreconditionError
from commonplace.services.collections import Collection

T = TypeVar("T")


def on_latest(collection: Collection, write: Callable[[], T]) -> T:
    """The result of a write that checks what its writer saw. If that differs, the write is made on the latest state.

    A writer may have read the document at another server, whose commit this one has not fetched yet.

    Args:
        collection: Where the write goes. If it follows no remote, the write is made once.
        write: Makes it, and has no effect if it raises a conflict.

    Raises:
        ConflictError, PreconditionError: what the writer saw is not the remote's state either.
        UnavailableError: the remote cannot be read, so whether it is a conflict is unknown. Nothing was written.
    """
    replica = collection.replica
    if replica is None:
        return write()
    head = collection.store.history.head()
    try:
        return write()
    except (ConflictError, PreconditionError):
        replica.refresh(now=True)
        if collection.store.history.head() == head:
            raise
    return write()
