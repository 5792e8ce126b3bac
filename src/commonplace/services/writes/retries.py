"""Writes to a replica that was behind: what differs from an older state than the remote's is no error of the writer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias, TypeVar

from commonplace.domain.budget import write_budget
from commonplace.domain.cluster import Replica, recording_written
from commonplace.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    PreconditionError,
)
from commonplace.services.collections import Collection

FETCH_SECONDS = 10.0
"""Seconds after which no further replica is fetched before a call is refused."""
MAX_ATTEMPTS = 6
"""Maximum number of attempts at a write whose document others keep changing at other servers."""
INDEX_SECONDS = 5.0
"""Maximum seconds that a call waits until the index contains what was fetched for it."""
_REFUSALS = (NotFoundError, AlreadyExistsError, ConflictError, PreconditionError, InvalidInputError)

T = TypeVar("T")
_BeforeCall: TypeAlias = tuple[Collection, Replica, str]
"""A collection, its replica, and the commit of its branch before a call."""


def on_latest(collection: Collection, write: Callable[[], T]) -> T:
    """The result of a write that checks the revision which its writer saw.

    The writer may have read the document from another server, whose commit this server has not fetched yet; or others
    write the same document at other servers. Therefore a conflict causes a fetch, and another attempt if the fetch has
    brought new commits, at most `MAX_ATTEMPTS` in all.

    Args:
        collection: Collection of the write. If it follows no remote, there is one attempt.
        write: Makes the write; has no effect if it raises a conflict.

    Raises:
        ConflictError, PreconditionError: the writer's revision is not the remote's current state either, or others kept
            changing the document.
        UnavailableError: the remote cannot be read, so the conflict cannot be confirmed. Nothing was written.
    """
    replica = collection.replica
    if replica is None:
        return write()
    with write_budget(replica.write_seconds):
        return _on_latest(collection, replica, write)


def _on_latest(collection: Collection, replica: Replica, write: Callable[[], T]) -> T:
    seen: object = None
    attempt = 0
    while True:
        attempt += 1
        head = collection.store.history.head()
        try:
            return write()
        except (ConflictError, PreconditionError) as error:
            error.is_latest = attempt == MAX_ATTEMPTS or (attempt > 1 and seen == error.context)
            seen = error.context
            if not error.is_latest:
                replica.refresh(now=True)
                error.is_latest = collection.store.history.head() == head
            if error.is_latest:
                raise


def call_on_latest(collections: Iterable[Collection], call: Callable[[], T]) -> T:
    """The result of a call that writes. If it misses something, the remotes are read, and it is made once more.

    What it names may have been written at another server, or by a push, and this server has not fetched it yet.

    Args:
        collections: The collections that the call may concern. Only replicas that write are fetched.
        call: Finds what its arguments name, and writes.

    Raises:
        KnowledgeError: as from the call, on the latest state.
        UnavailableError: no remote can be read, so whether they have what is missing is unknown. Nothing was written.
    """
    followed = [
        (collection, collection.replica, collection.store.history.head())
        for collection in collections
        if collection.replica is not None
    ]
    if not followed:
        return call()
    with write_budget(max(replica.write_seconds for _, replica, _ in followed)):
        with recording_written() as written:
            try:
                return call()
            except _REFUSALS as error:
                if written or error.is_latest or not _misses(error) or not _has_moved(followed):
                    raise
        return call()


def _misses(error: KnowledgeError) -> bool:
    """Whether a refusal may be due to an older state: of an invalid input, only a text to replace is looked for."""
    return not isinstance(error, InvalidInputError) or error.kind == "text"


def _has_moved(followed: Sequence[_BeforeCall]) -> bool:
    """Fetch the replicas. Returns whether a branch has moved since the call began; its commit is indexed then.

    Raises:
        UnavailableError: none of them can be fetched.
    """
    problems: list[KnowledgeError] = []
    deadline = time.monotonic() + FETCH_SECONDS
    for _, replica, _ in followed:
        if time.monotonic() < deadline:
            try:
                replica.refresh(now=True)
            except KnowledgeError as error:
                problems.append(error)
    if len(problems) == len(followed):
        raise problems[0]
    moved = False
    for collection, replica, before in followed:
        if (head := collection.store.history.head()) != before:
            moved = True
            with suppress(KnowledgeError):  # paths are found without the index
                replica.wait_for(head, INDEX_SECONDS)
    return moved
