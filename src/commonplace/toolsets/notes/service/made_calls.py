"""Writes that another server of the same remote has made: their commits name the calls, so that none is made twice.

The name is a digest of the caller, the request id and the arguments. Only who knows all three can compute it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from commonplace.domain.changes import Commit, StatedMessage
from commonplace.domain.cluster import Replica, record_written
from commonplace.domain.errors import UnavailableError
from commonplace.services.collections import Collection
from commonplace.toolsets.notes.service.repeats import MAX_REPEATS, REPEAT_SECONDS

TRAILER = "Commonplace-Request"
"""Key of the line in a commit's message that names the call."""
SETTLE_SECONDS = 10.0
"""Maximum time in seconds to wait for another server's call, which takes a push."""
SETTLE_INTERVAL = 0.05
_BATCH = 32
"""Commits that are read together."""
MAX_OLDER = 4
"""Number of older commits in a row, after which no newer one is looked for."""


class CallMadeError(Exception):
    """The call was made before: the branch has its commit."""

    def __init__(self, collection: Collection, commit: Commit) -> None:
        super().__init__(commit.id)
        self.collection = collection
        self.commit = commit


def with_call(message: str, mark: str) -> str:
    """A commit's message that names a call."""
    return StatedMessage(message, f"{TRAILER}: {mark}")


def require_unmade(collection: Collection, mark: str) -> None:
    """Check that the branch of a replica has no commit of a call, and that none waits for its push.

    Looks at the commits of the last `REPEAT_SECONDS`, by their own times, and at `MAX_REPEATS` at most.

    Args:
        collection: The collection. One that follows no remote is not looked at.
        mark: What names the call, as `WriteCall.mark`.

    Raises:
        CallMadeError: it has one.
        UnavailableError: one waits for its push, on behalf of another server.
    """
    if collection.replica is None:
        return
    line = f"{TRAILER}: {mark}"
    if _is_pending(collection.replica, line):  # looked for first: it may be on the branch the next moment
        raise UnavailableError(
            "This call was sent to another server before, and is still being made.",
            kind="remote",
            hint="Send it again with the same request_id.",
            retry_after=1,
        )
    head = collection.store.history.head()
    for commit in _made_since(_latest(collection), time.time() - REPEAT_SECONDS):
        if line in commit.message.splitlines():
            record_written(collection.store.identity, head)  # the answer contains the commit
            raise CallMadeError(collection, commit)


def wait_until_settled(collection: Collection, mark: str) -> None:
    """Wait while a commit of a call waits for its push on behalf of another server, at most `SETTLE_SECONDS`.

    Do not call it within a transaction.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    replica = collection.replica
    while replica is not None and _is_pending(replica, f"{TRAILER}: {mark}") and time.monotonic() < deadline:
        time.sleep(SETTLE_INTERVAL)


def _is_pending(replica: Replica, line: str) -> bool:
    writer = replica.status().writer
    return writer is not None and any(line in message.splitlines() for message in writer.messages)


def _latest(collection: Collection) -> Iterator[Commit]:
    for offset in range(0, MAX_REPEATS, _BATCH):
        commits = collection.store.history.log(None, limit=_BATCH, offset=offset)
        yield from commits
        if len(commits) < _BATCH:
            return


def _made_since(commits: Iterable[Commit], since: float) -> Iterator[Commit]:
    """The commits, newest first, that were made, or rebased, not before a time in Unix seconds.

    `MAX_OLDER` older ones in a row end them. A clock that was wrong gives one among newer an old date.
    """
    older = 0
    for commit in commits:
        older = older + 1 if commit.latest < since else 0
        if not older:
            yield commit
        elif older == MAX_OLDER:
            return
