"""The store of a writable replica: a write is acknowledged when the remote has accepted it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

from commonplace.domain.addresses import parse_address
from commonplace.domain.changes import Author, record_retained
from commonplace.domain.cluster.forwarded_writes import MAX_FORWARDED
from commonplace.domain.cluster.replicas import WriterStatus
from commonplace.domain.cluster.written_commits import record_written
from commonplace.domain.errors import ConflictError, KnowledgeError, UnavailableError
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.file_swap import changed_meanwhile
from commonplace.store.git.bare import BareStore
from commonplace.store.git.commits import commit_message
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import cache_errors
from commonplace.store.replica.draft import TreeDraft
from commonplace.store.replica.handed_writes import (
    MAX_WRITES,
    ForwardedWrite,
    WriteResult,
    format_writes,
    is_alive,
    send_writes,
)
from commonplace.store.replica.push_queue import PendingWrite, PushQueue


class WritableReplicaStore(BareStore):
    """`domain.ports.Store` of a clone whose writes go to its remote, one commit each.

    Reads see the clone's branch, which has only accepted writes. A transaction also sees the pending writes before it.

    Args:
        clone: The clone.
        pushed: Called after each successful push, once the clone's branch has moved.
        problem: Returns the reason why the last fetch failed; "" if it succeeded.
        secret: Shared secret of the servers that write to the remote; "" if there are no others.
    """

    def __init__(
        self, clone: ReplicaClone, pushed: Callable[[], None], problem: Callable[[], str], secret: str = ""
    ) -> None:
        super().__init__(clone.repository, clone.key, "")
        self._repository = clone.repository
        self._name = clone.source.name
        self._base = clone.source.key
        self._secret = secret
        self._lease = clone.lease
        self._queue = PushQueue(clone, clone.repository, pushed, self._forward)
        self._problem = problem

    @contextmanager
    def transaction(self, message: str, author: Author | None = None) -> Generator[Transaction]:
        """One write: one commit, which the remote has when the block has ended.

        Raises:
            ConflictError: another writer has changed one of the files at the remote.
            UnavailableError: the remote cannot be reached now, or the last fetch failed. Nothing was written.
            GitError: the remote rejected the write; or kind "unknown": it may have accepted it.
            StorageError: the clone cannot be written. Nothing was written.
        """
        if problem := self._problem():
            raise UnavailableError(
                f"Nothing can be written now. {problem}",
                kind="remote",
                hint="Reading goes on. Try again when the remote answers.",
                retry_after=1,
            )
        with cache_errors(self._name), self._queue.drafting() as commit:
            draft = TreeDraft(self._repository, commit, self._hidden)
            yield draft
            changes = draft.changes()
            write = None
            if changes.contents:
                words = commit_message(self._repository, message, author)
                contents = changes.contents | changes.unchanged
                write = self._queue.add(contents, changes.before, words, executable=changes.executable)
        if write is None:
            if changes.unchanged:
                self._queue.confirm(changes.before)
            draft.acknowledge("", "")
            return
        self._queue.settle(write)
        record_retained(draft.acknowledge(write.commit, write.parent))
        record_written(self.identity, write.commit)

    def status(self) -> WriterStatus:
        """Number of writes that wait for a push, and whether other servers forward their writes to this one."""
        lease = self._queue.clone.lease
        messages = self._queue.messages
        return WriterStatus(len(messages), lease is not None and lease.is_own, messages)

    def catch_up(self) -> None:
        """Fetch the commits of other writers. Concurrent callers share a fetch.

        Raises:
            UnavailableError: the remote cannot be read now.
            StorageError: the clone cannot be written.
        """
        self._queue.catch_up()

    def apply(self, writes: Sequence[ForwardedWrite]) -> list[WriteResult]:
        """Apply the writes that another server forwarded, and push them.

        Returns:
            A result for each write, in order.
        """
        made = [self._made_on_latest(write) for write in writes]
        for one in made:
            if isinstance(one, PendingWrite):
                with suppress(KnowledgeError):  # the error is also in the write, and becomes its result
                    self._queue.settle(one)
        return [
            WriteResult(one.commit, one.parent, one.error) if isinstance(one, PendingWrite) else one for one in made
        ]

    def _made_on_latest(self, write: ForwardedWrite) -> PendingWrite | WriteResult:
        """Commit a forwarded write. A conflict is retried after a fetch, because the sender may have newer commits."""
        made = self._made(write)
        if isinstance(made, PendingWrite) or not isinstance(made.error, ConflictError):
            return made
        try:
            self._queue.catch_up()
        except KnowledgeError as error:
            return WriteResult(error=error)
        return self._made(write)

    def _made(self, write: ForwardedWrite) -> PendingWrite | WriteResult:
        try:
            with cache_errors(self._name), self._queue.drafting() as commit:
                draft = TreeDraft(self._repository, commit, self._hidden)
                for path, content in write.contents.items():
                    address = parse_address(path)
                    if content is not None:
                        draft.put(address, content)
                    elif draft.exists(address):
                        draft.remove(address)
                changes = draft.changes()
                for path in changes.contents:
                    if changes.before[path] != write.before[path]:
                        return WriteResult(error=changed_meanwhile(path, changes.before[path]))
                if changes.contents:
                    before = {path: changes.before.get(path, "") for path in write.contents}
                    return self._queue.add(
                        write.contents, before, write.words, executable=write.executable, is_forwarded=True
                    )
            written = {path: "" if one is None else revision_of(one) for path, one in write.contents.items()}
            return WriteResult(*self._queue.confirm(written))
        except KnowledgeError as error:
            return WriteResult(error=error)

    def _forward(self, url: str, writes: Sequence[PendingWrite]) -> list[WriteResult] | None:
        lease = self._lease
        if len(writes) > MAX_WRITES or lease is None or (lease.has_failed(url) and not is_alive(url)):
            return None
        handed = [
            ForwardedWrite(dict(one.contents), dict(one.before), one.words, one.new_executables) for one in writes
        ]
        body = format_writes(self._base, handed)
        if len(body) > MAX_FORWARDED:
            return None
        results = None
        try:
            results = send_writes(url, self._secret, body, len(handed), lease.url)
            if results and all(isinstance(one.error, UnavailableError) for one in results):
                results = None  # that server cannot reach the remote, but this one may
        finally:
            (lease.failed if results is None else lease.took)(url)
        return results
