"""The pending writes of a replica: a chain of commits that are pushed to the remote together.

A write is committed on top of the pending writes, without waiting for them. A writer that finds no push in progress
pushes the last commit of the chain, and thereby all others; writes that arrive meanwhile are part of the next push. The
remote accepts a push only if its branch is where this clone last saw it (compare-and-swap). Otherwise the writes are
committed again on top of the remote's commit. A write whose files have changed there fails with a conflict.

If another server holds the lease, the batch is forwarded to that server instead. The resulting commits are fetched
outside the push, with one fetch for all waiting writers, so that the next batch can be forwarded meanwhile.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, TypeAlias

from pygit2.enums import SortMode

from commonplace.domain.budget import is_spent, seconds_left
from commonplace.domain.errors import KnowledgeError, UnavailableError
from commonplace.domain.timings import timed
from commonplace.store.disk.durable import Unsynced, sync_folders
from commonplace.store.disk.file_swap import changed_meanwhile
from commonplace.store.folder.writer_lock import WriterLock
from commonplace.store.git.commits import CommitMessage
from commonplace.store.git.objects import (
    EMPTY_TREE,
    MODE_EXECUTABLE,
    MODE_FILE,
    NewObjects,
    TreeEntry,
    changed_tree,
    id_of,
)
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeCache
from commonplace.store.replica.clone import ReplicaClone, unknown_outcome
from commonplace.store.replica.clone_repository import cache_error

MAX_PUSHES = 40
"""Maximum number of pushes for one batch, if other writers keep moving the remote's branch."""
FIRST_BACKOFF, MAX_BACKOFF = 0.02, 0.5
"""Bounds in seconds of the random pause before a batch is pushed again; the bound doubles from the second loss on."""
MAX_WALKED = 1000
"""Maximum number of commits that are searched for the origin of a write."""
WAIT_SECONDS = 30.0
"""Timeout in seconds for another write's draft, and for the pushes of other processes."""
_CACHED_ENTRIES = 30_000
_random = random.SystemRandom()


class PushQueue:
    """The pending writes of one clone.

    Args:
        clone: The clone.
        repository: Repository of the clone.
        pushed: Called after each successful push, once the clone's branch has moved.
        forward: Forwards writes to the server at a URL; returns a result for each, or None if it did not receive them.
    """

    def __init__(
        self,
        clone: ReplicaClone,
        repository: GitRepository,
        pushed: Callable[[], None],
        forward: Forward = lambda _url, _writes: None,
    ) -> None:
        self.clone = clone
        self._repository = repository
        self._pushed = pushed
        self._forward = forward
        self._drafts = threading.Lock()
        """Held by the draft of one write, so that the next one sees its changes, and while drafts are made again."""
        self._state = threading.Lock()
        """Guards `_pending` and the fields of its writes, for moments. A push does not wait for drafts under way."""
        self._pushes = WriterLock(clone.path / "commonplace-push.lock")
        """Held by the writer that pushes, in any process: two that push at the same time only overtake each other."""
        self._fetches = threading.Lock()
        """Held during the fetch of `catch_up`."""
        self._fetched_at = 0.0
        """Time of `time.monotonic` at which the last fetch of `catch_up` began."""
        self._fetch_error: KnowledgeError | None = None
        """Error of the last fetch of `catch_up`; None if it succeeded."""
        self._pending: list[PendingWrite] = []
        self._base = ""
        """The commit of the draft under way: what it reads is compared with later commits, so it is the parent, too."""
        self._trees = TreeCache(repository.content, _CACHED_ENTRIES)

    @property
    def oldest(self) -> float:
        """Seconds for which the oldest write has been waiting; 0 without one."""
        waiting = [write.added for write in tuple(self._pending) if not write.is_settled]
        return time.monotonic() - min(waiting) if waiting else 0.0

    @property
    def messages(self) -> tuple[str, ...]:
        """Commit messages of the writes that the remote has neither accepted nor rejected."""
        return tuple(write.words.message for write in tuple(self._pending) if not write.is_settled)

    @contextmanager
    def drafting(self) -> Generator[str]:
        """A context for one draft at a time; yields the commit to draft on, "" for none.

        The commit stays the same within the context, even if a fetch moves the clone's branch.

        Raises:
            UnavailableError: another draft took too long.
        """
        seconds = seconds_left(WAIT_SECONDS)
        if not self._drafts.acquire(timeout=seconds):
            raise UnavailableError(
                f"Another write to {self.clone.source.name} took longer than {seconds:.0f} seconds.",
                kind="collection",
                hint="Try again.",
            )
        try:
            self._base = self._top()
            yield self._base
        finally:
            self._drafts.release()

    def add(
        self,
        contents: Mapping[str, bytes | None],
        before: Mapping[str, str],
        words: CommitMessage,
        *,
        executable: Collection[str] = (),
        is_forwarded: bool = False,
    ) -> PendingWrite:
        """Create the commit of a draft. Call it within `drafting`.

        Args:
            contents: The new bytes of each path; None for a removed file.
            before: Id of the blob that the writer saw at each path; "" for none.
            words: Message and people of the commit.
            executable: New paths of executable files.
            is_forwarded: Whether another server forwarded the write.

        Raises:
            OSError: the clone cannot be written.
        """
        base = self._repository.tree_of(self._base)
        objects = self._objects()
        changed: dict[str, TreeEntry | None] = dict.fromkeys(contents)
        for path, content in contents.items():
            if content is not None:
                old = self._trees.entry(base, path)
                mode = old.mode if old else MODE_EXECUTABLE if path in executable else MODE_FILE
                changed[path] = TreeEntry(mode, objects.add("blob", content))
        write = PendingWrite(contents, changed, before, words, is_forwarded=is_forwarded)
        self._make(write, objects, self._base)
        with self._state:
            self._pending.append(write)
        return write

    def _top(self) -> str:
        """The commit to draft on, "" for none. It has all that was acknowledged, by other processes, too."""
        with self._state:
            last = self._pending[-1] if self._pending else None
            tip = self.clone.tip()  # read last: a push moves the branch before its writes are no longer pending
            if last is not None and self._is_overtaken(last, tip):
                self._remake()
                last, tip = self._pending[-1] if self._pending else None, self.clone.tip()
        return tip if last is None or self._is_fetched(last, tip) else last.drafted

    def _is_overtaken(self, write: PendingWrite, tip: str) -> bool:
        """Whether the clone's branch has commits that a pending write is not on top of."""
        return bool(tip) and not self.clone.holds(write.drafted, tip)

    def _is_fetched(self, write: PendingWrite, tip: str) -> bool:
        """Whether another server has pushed a write and this clone has its commit."""
        return write.is_settled and self.clone.holds(tip, write.commit)

    def catch_up(self) -> None:
        """Fetch the commits of other writers. Concurrent callers share one fetch that begins after their calls.

        Raises:
            UnavailableError: the remote cannot be read now.
            StorageError: the clone cannot be written.
        """
        start = time.monotonic()
        with self._turn(self._fetches):
            if self._fetched_at < start:
                self._fetched_at, self._fetch_error = time.monotonic(), None
                try:
                    self.clone.fetch()
                    self._replay()
                except KnowledgeError as error:
                    self._fetch_error = error
                self._pushed()
            if self._fetch_error is not None:
                raise copy(self._fetch_error)

    def confirm(self, files: Mapping[str, str]) -> tuple[str, str]:
        """Wait until the remote has files as a draft saw them that changes nothing. Do not call it in `drafting`.

        The draft may have seen pending writes, which the remote may reject, or an older state than the remote's.

        Args:
            files: Id of the blob at each path; "" for none.

        Returns:
            The commit that gave the files their content, and its parent; "" for none.

        Raises:
            ConflictError: the remote has another state of a file.
            UnavailableError, StorageError: as from `catch_up`.
        """
        with self._state:
            last = self._pending[-1] if self._pending else None
        if last is not None:
            with suppress(KnowledgeError):  # its own writer gets the error; here only the files matter
                self.settle(last)
        self.catch_up()
        tree = self._repository.tree_of(tip := self.clone.tip())
        for path, blob in files.items():
            if (now := self._blob(tree, path)) != blob:
                raise changed_meanwhile(path, now)
        return self._origin_of(files, tip)

    def settle(self, write: PendingWrite) -> None:
        """Wait until the remote has accepted a write; push it if no other writer does. Do not call it in `drafting`.

        Raises:
            ConflictError: another writer has changed one of the write's files at the remote.
            UnavailableError: the remote cannot be reached, or the time is over. Nothing was written. Or kind "unknown":
                the remote did not answer in time, and may have accepted it.
            GitError: the remote rejected the push.
        """
        try:
            while not write.is_settled:
                with self._pushing():
                    if not write.is_settled:
                        if is_spent():
                            raise self._late()
                        self._push()
        except UnavailableError as error:
            self._withdraw(write, error)
        if write.error is not None:
            raise write.error
        if not self.clone.holds(self.clone.tip(), write.commit):
            self._catch_up(write.commit)

    @contextmanager
    def _pushing(self) -> Generator[None]:
        """Hold the lock of pushes.

        Raises:
            UnavailableError: the time of the write is over.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(self._pushes.held(seconds_left(WAIT_SECONDS)))
            except UnavailableError as error:
                raise self._late() from error
            yield

    @contextmanager
    def _turn(self, lock: threading.Lock) -> Generator[None]:
        """Hold a lock.

        Raises:
            UnavailableError: the time of the write is over.
        """
        with timed("queue"):
            acquired = lock.acquire(timeout=seconds_left(threading.TIMEOUT_MAX))
        if not acquired:
            raise self._late()
        try:
            yield
        finally:
            lock.release()

    def _late(self) -> UnavailableError:
        return UnavailableError(
            f"The remote of {self.clone.source.name} did not answer in time. Nothing was written.",
            kind="remote",
            hint="Try again; reading goes on.",
            retry_after=1,
        )

    def _withdraw(self, write: PendingWrite, error: UnavailableError) -> None:
        """Settle a write whose time is over with an error.

        Raises:
            UnavailableError: kind "unknown": it is being pushed. It stays in the queue, and the push settles it.
        """
        with self._state:
            if not write.is_settled and (write.is_sent or write.is_pushed):
                raise unknown_outcome(self.clone.source.name, "it was not answered in time") from error
            self._fail(write, error)
        self._replay()

    def _push(self) -> None:
        try:
            if self._is_settled_by_attempts():
                return
        except KnowledgeError as error:
            self._reject_all(error)
        except OSError as error:
            self._reject_all(cache_error(self.clone.source.name, error.strerror or type(error).__name__))
        except BaseException as error:
            self._reject_all(unknown_outcome(self.clone.source.name, type(error).__name__))
            raise
        else:
            self._reject_all(
                UnavailableError(
                    f"Other writers keep changing {self.clone.source.name}. Nothing was written.",
                    kind="remote",
                    hint="Try again.",
                    retry_after=1,
                )
            )

    def _is_settled_by_attempts(self) -> bool:
        """Push until all writes are settled or the time is over; false if other writers were always faster."""
        for lost in range(MAX_PUSHES):
            if lost and is_spent():
                return True
            if lost > 1:  # otherwise servers that push at the same time would collide again
                time.sleep(_random.uniform(0, min(FIRST_BACKOFF * 2 ** (lost - 2), MAX_BACKOFF)))
            with self._state:
                batch = tuple(write for write in self._pending if not write.is_settled)
            if not batch or self._attempt(batch):
                return True
        return False

    def _attempt(self, batch: tuple[PendingWrite, ...]) -> bool:
        """Push once. Returns whether the whole batch is settled; if not, the other writes were committed again."""
        if self._is_handed_over(batch):
            return True
        sent = self._claimed()
        if sent is None:
            self._replay()
            return False
        if not sent:
            return True
        if not self.clone.push(sent[-1][1], sent[0][2]):
            with self._state:
                for write, _, _ in sent:
                    write.is_pushed = False
            self._replay()
            return False
        with self._state:
            for write, write.commit, write.parent in sent:
                write.error, write.is_settled = None, True
            accepted = {id(write) for write, _, _ in sent}
            self._pending = [write for write in self._pending if id(write) not in accepted]
        self._pushed()
        return True

    def _claimed(self) -> list[tuple[PendingWrite, str, str]] | None:
        """The writes to push, marked as being pushed, each with its commit and parent; None if they must be made again.

        Then the remote was ahead of this clone and was fetched, or another process has pushed to the same clone.
        """
        with self._state:  # a fetch of another thread may make the writes again, or settle some, while they are pushed
            is_behind = any(write.is_settled or write.is_deferred for write in self._pending)
            if not is_behind:
                if self._pending and self._is_overtaken(self._pending[-1], self.clone.tip()):
                    return None
                for write in self._pending:
                    write.is_pushed = True
                return [(write, write.commit, write.parent) for write in self._pending]
        self.clone.fetch()
        return None

    def _is_handed_over(self, batch: tuple[PendingWrite, ...]) -> bool:
        """Forward the batch to the server with the lease; returns whether it has settled the batch.

        The resulting commits are not in the clone yet.
        """
        urls = self._takers(batch)
        if not urls:
            return False
        for write in batch:
            write.is_sent = True
        results = self._forwarded(urls, batch)
        with self._state:
            for write in batch:
                write.is_sent = False
            for write, result in zip(batch, results, strict=bool(results)):
                write.commit, write.parent, write.error = result.commit, result.parent, result.error
                write.is_settled = True
        if not results:
            return False
        if any(write.error for write in batch):  # drafts on top of a failed write must lose its changes
            self._catch_up("")
        return True

    def _takers(self, batch: Sequence[PendingWrite]) -> Sequence[str]:
        """URLs of the servers to which a batch may be forwarded, the one with the lease first."""
        may_be_forwarded = not any(write.is_forwarded or write.is_uncertain for write in batch)
        return self.clone.lease.writers() if self.clone.lease and may_be_forwarded else ()

    def _forwarded(self, urls: Sequence[str], batch: Sequence[PendingWrite]) -> Sequence[WriteOutcome]:
        """The results of the first server that receives a batch; () if none does."""
        try:
            for url in urls:
                if (results := self._forward(url, batch)) is not None:
                    return results
        except ConnectionError:  # it may still push them; a push of this server repeats none of them
            for write in batch:
                write.is_uncertain = True
        return ()

    def _catch_up(self, commit: str) -> None:
        """Fetch the commits that another server made of writes of this one.

        Args:
            commit: The commit that is needed; "" for the latest. Nothing is fetched if the clone has the commit, from
                this server's draft or an earlier fetch.
        """
        # An error is ignored: the remote has the writes, and the thread that follows the remote fetches again.
        with suppress(KnowledgeError):
            if not commit or not self.clone.advance(commit):
                self.clone.fetch(until=commit)
            self._replay()
        self._pushed()

    def _replay(self) -> None:
        """Make the pending writes again on top of the clone's branch.

        A write whose files differ there is settled with an error, but not while another server has it.
        """
        with self._drafts, self._state:
            self._remake()

    def _remake(self) -> None:
        """`_replay` for a caller that holds the locks of drafts and of the state."""
        waiting: list[PendingWrite] = []
        # Read within the locks: since the caller's fetch, a push may have settled writes that others are based on.
        fetched = tip = self.clone.tip()
        for write in self._pending:
            if not (write.error or self._is_fetched(write, fetched) or self._is_decided(write, fetched, tip)):
                self._make(write, self._objects(), tip)
                tip = write.drafted
                waiting.append(write)
        self._pending = waiting

    def _is_decided(self, write: PendingWrite, fetched: str, tip: str) -> bool:
        """Settle a write that was fetched, or whose files differ in `tip`; returns whether it is one. May defer it."""
        if not write.is_settled and self.clone.holds(fetched, write.commit):
            write.settle(write.commit)
            return True
        base = self._repository.tree_of(tip)
        now = {path: self._trees.entry(base, path) for path in write.changed}
        if now == write.changed:
            commit, write.parent = self._origin_of(write.after, tip)
            write.settle(commit)
            return True
        moved = [path for path, entry in now.items() if id_of(entry) != write.before[path]]
        write.is_deferred = bool(moved) and write.is_away
        if not moved or write.is_deferred:
            return False
        self._fail(write, changed_meanwhile(moved[0], id_of(now[moved[0]])))
        return True

    def _origin_of(self, blobs: Mapping[str, str], tip: str) -> tuple[str, str]:
        """The commit in the history of `tip` that gave files their present content, and its parent."""
        origin = tip, ""
        for commit in islice(self._repository.walk(tip, SortMode.TOPOLOGICAL, first_parent=True), MAX_WALKED):
            tree = str(commit.tree_id)
            if any(self._blob(tree, path) != blob for path, blob in blobs.items()):
                break
            origin = str(commit.id), next(map(str, commit.parent_ids), "")
        return origin

    def _fail(self, write: PendingWrite, error: KnowledgeError) -> None:
        write.settle("", self._unanswered() if write.is_uncertain else error)

    def _unanswered(self) -> UnavailableError:
        return unknown_outcome(self.clone.source.name, "the server that writes did not answer")

    def _make(self, write: PendingWrite, objects: NewObjects, parent: str) -> None:
        """Create a write's commit on top of `parent`. The commit of a settled write is not changed."""
        base = self._repository.tree_of(parent)
        tree = changed_tree(objects, self._trees, base, write.changed)
        if tree == EMPTY_TREE:
            objects.add("tree", b"")
        write.drafted = objects.add("commit", write.words.content(tree, parent))
        if not write.is_settled:
            write.commit, write.parent = write.drafted, parent
        with ExitStack() as on_error:
            on_error.callback(objects.discard)
            with Unsynced() as unsynced:
                objects.write(unsynced)
                unsynced.sync()
            sync_folders(objects.place(), unless_ordered=True)
            on_error.pop_all()

    def _reject_all(self, error: KnowledgeError) -> None:
        with self._drafts, self._state:
            for write in self._pending:
                # Each error is raised in another thread, hence the copy. A forwarded write may still be pushed, and
                # one that came during the push was not sent.
                is_unsent = error.kind == "unknown" and not write.is_pushed
                own = self._unanswered() if write.is_uncertain else self._late() if is_unsent else copy(error)
                write.settle("", own)
            self._pending = [write for write in self._pending if not write.error]

    def _objects(self) -> NewObjects:
        return NewObjects(self._repository.objects, secrets.token_hex(6), self._repository.has_object)

    def _blob(self, tree: str, path: str) -> str:
        return id_of(self._trees.entry(tree, path))


# A write of a replica that waits for the remote, and the result of one that was forwarded to another server.


@dataclass(slots=True)
class PendingWrite:
    """A commit that waits for the remote."""

    contents: Mapping[str, bytes | None]
    """The new bytes of each path; None for a removed file."""

    changed: Mapping[str, TreeEntry | None]
    """The new entry of each path; None for a removed file."""
    before: Mapping[str, str]
    """Id of the blob that the writer saw at each path; "" for none."""
    words: CommitMessage
    drafted: str = ""
    """Id of the commit in this clone; it changes if the commit is made again."""
    commit: str = ""
    """Id of the commit that the remote has or will have."""
    parent: str = ""
    is_forwarded: bool = False
    """Whether another server forwarded the write."""
    is_sent: bool = False
    """Whether another server has the write now and has not answered yet."""
    added: float = field(default_factory=time.monotonic)
    """Time of `time.monotonic`."""
    is_pushed: bool = False
    """Whether this server is pushing the write, and the remote may have it already."""
    is_deferred: bool = False
    """Whether a file of the write has changed at the remote while `is_sent`: perhaps after that server pushed it."""
    is_uncertain: bool = False
    """Whether the write was forwarded to another server that did not answer, and may still push it."""
    is_settled: bool = False
    error: KnowledgeError | None = None
    """The reason why the remote does not have the write; None if there is no error."""

    @property
    def after(self) -> dict[str, str]:
        """Id of the new blob at each path; "" for none."""
        return {path: id_of(entry) for path, entry in self.changed.items()}

    @property
    def is_away(self) -> bool:
        """Whether another server has the write and may still push it."""
        return self.is_sent and not self.is_settled

    def settle(self, commit: str, error: KnowledgeError | None = None) -> None:
        """Set the result of the write. Does nothing if it has one."""
        if not self.is_settled:
            self.commit, self.error, self.is_settled = commit, error, True

    @property
    def new_executables(self) -> frozenset[str]:
        """Paths of the executable files that the write creates."""
        entries = self.changed.items()
        return frozenset(
            path for path, entry in entries if entry and entry.mode == MODE_EXECUTABLE and not self.before[path]
        )


class WriteOutcome(Protocol):
    """Result of a write that was forwarded to another server."""

    @property
    def commit(self) -> str:
        """The commit; "" if the remote does not have it."""
        ...

    @property
    def parent(self) -> str:
        """The commit's parent."""
        ...

    @property
    def error(self) -> KnowledgeError | None:
        """The reason why the remote does not have the write; None if it has."""
        ...


Forward: TypeAlias = Callable[[str, Sequence[PendingWrite]], "Sequence[WriteOutcome] | None"]
