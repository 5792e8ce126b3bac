"""Retries writes to a replica that was behind its remote: a conflict counts only with the remote's latest state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.domain.errors import ConflictError, PreconditionError
from commonplace.services.collections import Collection

T = TypeVar("T")


def on_latest(collection: Collection, write: Callable[[], T]) -> T:
    """The result of a write that checks the revision which its writer saw.

    The writer may have read the document from another server, whose commit this server has not fetched yet. Therefore a
    conflict causes a fetch, and one retry if the fetch has brought new commits.

    Args:
        collection: Collection of the write. If it follows no remote, there is no retry.
        write: Makes the write; has no effect if it raises a conflict.

    Raises:
        ConflictError, PreconditionError: the writer's revision is not the remote's current state either.
        UnavailableError: the remote cannot be read, so the conflict cannot be confirmed. Nothing was written.
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
