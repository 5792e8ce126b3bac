"""Answers to repeated writes: a repeated call returns the first answer and writes nothing.

Without a request id nobody knows whether an equal call is sent again or meant again. It counts as sent again, which
loses nothing, and its answer says so; but a call that changes the next of several equal things is meant again.

A request id belongs to one call. The same id with other arguments is an error, because the first answer would report a
write that was never made.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, StatedMessage
from commonplace.domain.cluster import Replica, record_written
from commonplace.domain.errors import InvalidInputError, KnowledgeError, UnavailableError
from commonplace.domain.json import Json
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection

MAX_REPEATS = 512
"""Maximum number of cached answers; the oldest are evicted."""
REPEAT_SECONDS = 900.0
"""Seconds for which an answer is kept."""
REPEATED = "Made before, not again; the answer was (to make it once more, give a request_id):"
"""First line of the answer to a repeated call without a request id."""
MARK_DIGITS = 32
"""Digits of `WriteCall.mark`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCall:
    """The parts of a writing call that decide whether two calls are equal."""

    bases: tuple[str, ...]
    """The identities of the folders that the caller sees."""
    client: str
    """The caller. With a request id this is not the session, because a repeated call may come from another session."""
    tool: str
    arguments: Mapping[str, Json]
    request_id: str
    """The caller's request id; "" if there is none."""

    @property
    def key(self) -> str:
        """Hex digest that identifies the call; equal calls have the same key."""
        if self.request_id:
            return _digest([list(self.bases), self.client, "id", self.request_id])
        return _digest([list(self.bases), self.client, "text", self.content])

    @property
    def mark(self) -> str:
        """Key of the call at every server of a remote: 32 hex digits; "" without a request id."""
        if not self.request_id:
            return ""
        return _digest([self.client, "id", self.request_id, self.content])[:MARK_DIGITS]

    @property
    def content(self) -> str:
        """Hex digest of the tool and its arguments."""
        return _digest([self.tool, dict(self.arguments)])


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """The answer to a write, and the state of the pages after it."""

    text: str
    collection: Collection
    left: Mapping[Address, str]
    """Revision by address after the write; "" for a deleted page."""
    goes_on: bool = False
    """Whether the same call changes the next of several equal things, such as a task."""

    def stands(self) -> bool:
        """Whether an equal call without a request id repeats this one: the pages are as it left them."""
        if self.goes_on:
            return False
        return all(_revision(self.collection, address) == revision for address, revision in self.left.items())


class RepeatedWrites:
    """The answers to recent writes, by caller and call."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, str, WriteAnswer]] = OrderedDict()
        """Time, content of the call and its answer, by the call's key."""
        self._lock = Lock()
        self._turns: dict[str, tuple[Lock, int]] = {}
        """The lock of each call that is being made, and the number of its holders and waiters."""

    def once(self, call: WriteCall, write: Callable[[], WriteAnswer]) -> str:
        """Return the answer to an equal earlier call, or run `write` and cache its answer.

        An earlier call is found by its request id. Without an id it is found by its content, and only while its pages
        are unchanged since and the call has no next thing to change; the answer then says that nothing was written.
        Equal concurrent calls run one after the other.

        Raises:
            InvalidInputError: kind "argument": the request id was used for another call.
        """
        key = call.key
        with self._turn(key):
            content, answer = self._get(key)
            if answer is not None and content != call.content:
                raise InvalidInputError(
                    f"The request_id {call.request_id!r} was used for another call. Nothing was written.",
                    kind="argument",
                    hint="Give each call an id of its own; the same id only to send the same call again.",
                )
            if answer is not None and call.request_id:
                return answer.text
            if answer is not None and answer.stands():
                return f"{REPEATED}\n{answer.text}"
            write_answer = write()
            self._add(key, call.content, write_answer)
            return write_answer.text

    @contextmanager
    def _turn(self, key: str) -> Generator[None]:
        """Wait for equal calls, and for no others: a slow write holds up none but its own repetition."""
        with self._lock:
            lock, count = self._turns.get(key, (Lock(), 0))
            self._turns[key] = lock, count + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                count = self._turns[key][1]
                if count == 1:
                    del self._turns[key]
                else:
                    self._turns[key] = lock, count - 1

    def _add(self, key: str, content: str, answer: WriteAnswer) -> None:
        with self._lock:
            self._known[key] = self._clock(), content, answer
            while len(self._known) > MAX_REPEATS:
                self._known.popitem(last=False)

    def _get(self, key: str) -> tuple[str, WriteAnswer | None]:
        with self._lock:
            row = self._known.get(key)
        return row[1:] if row is not None and self._clock() - row[0] <= REPEAT_SECONDS else ("", None)


def _digest(value: Json) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _revision(collection: Collection, address: Address) -> str:
    try:
        return revision_of(collection.store.read(address))
    except KnowledgeError:
        return ""


# Writes that another server of the same remote has made: their commits name the calls, so that none is made twice.
#
# The name is a digest of the caller, the request id and the arguments. Only who knows all three can compute it.


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
