"""The stores of a replica: one that only reads, and one whose writes are acknowledged when the remote has them."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from commonplace.domain.activity import PlannedWrite, watching_write
from commonplace.domain.addresses import Address, parse_address, require_new_name
from commonplace.domain.budget import WRITE_SECONDS, renew_budget, seconds_left, write_budget
from commonplace.domain.changes import Author, Receipt, RetainedCopy, Revision, record_retained
from commonplace.domain.cluster import MAX_FORWARDED, WriterStatus, record_written
from commonplace.domain.errors import ConflictError, InvalidInputError, KnowledgeError, ReadOnlyError, UnavailableError
from commonplace.domain.ports import Transaction
from commonplace.domain.proposals import require_no_proposer
from commonplace.domain.revisions import is_pointer, revision_of
from commonplace.store.disk.file_swap import changed_meanwhile
from commonplace.store.disk.ignore_rules import ignored_write
from commonplace.store.git.commits import commit_message
from commonplace.store.git.objects import FILE_MODES, MODE_EXECUTABLE, MODE_FOLDER, MODE_GITLINK, TreeEntry, id_of
from commonplace.store.git.past.past_commits import BareStore
from commonplace.store.git.repository import GitRepository
from commonplace.store.names import missing_file, require_moved
from commonplace.store.replica.clone import REFUSAL, ReplicaClone
from commonplace.store.replica.clone_repository import cache_errors, host_of
from commonplace.store.replica.push_queue import PendingWrite, PushQueue
from commonplace.store.replica.writer_lease import (
    ANSWER_SECONDS,
    MAX_WRITES,
    ForwardedWrite,
    WriteResult,
    format_writes,
    is_alive,
    send_writes,
)

if TYPE_CHECKING:
    from commonplace.store.replica.remote_proposals import RemoteProposals

LEAST_FREE = 16_000_000
"""Free space in bytes below which writes are reported to fail."""
NOT_WRITTEN = "Nothing was written."
HANDED_SHARE, ANSWER_SHARE = 0.5, 0.6
"""Parts of a write's time: for the push of the server to which it is handed over, and for that server's answer."""


class ReplicaStore(BareStore):
    """`domain.ports.Store` of a clone that is only read. Its proposals are those of the remote, to be listed.

    Args:
        clone: The clone.
    """

    def __init__(self, clone: ReplicaClone) -> None:
        super().__init__(clone.repository, clone.key, REFUSAL, clone.path)
        self._clone = clone

    @cached_property
    def proposals(self) -> RemoteProposals:
        """The proposals of the remote."""
        # Imported on demand, because only proposals need it.
        from commonplace.store.replica.remote_proposals import RemoteProposals  # noqa: PLC0415

        return RemoteProposals(
            self._clone, self, lambda _: None, self._hidden, refusal="it is a replica that only reads"
        )


class WritableReplicaStore(BareStore):
    """`domain.ports.Store` of a clone whose writes go to its remote, one commit each.

    Reads see the clone's branch, which has only accepted writes. A transaction also sees the pending writes before it.

    Args:
        clone: The clone.
        pushed: Called after each successful push, once the clone's branch has moved.
        problem: Returns the reason why the last fetch failed; "" if it succeeded.
        secret: Shared secret of the servers that write to the remote; "" if there are no others.
        seconds: Maximum time of a write in seconds, whatever it waits for.
    """

    def __init__(
        self,
        clone: ReplicaClone,
        pushed: Callable[[], None],
        problem: Callable[[], str],
        secret: str = "",
        seconds: float = WRITE_SECONDS,
    ) -> None:
        super().__init__(clone.repository, clone.key, "")
        self._repository = clone.repository
        self._name = clone.source.name
        self._base = clone.source.key
        self._secret = secret
        self._lease = clone.lease
        self._queue = PushQueue(clone, clone.repository, pushed, self._forward)
        self._problem = problem
        self._seconds = seconds

    @contextmanager
    def transaction(self, message: str, author: Author | None = None) -> Generator[Transaction]:
        """One write: one commit, which the remote has when the block has ended.

        Raises:
            ConflictError: another writer has changed one of the files at the remote.
            UnavailableError: the remote cannot be reached now or in time, or the last fetch failed. Nothing
                was written. Or kind "unknown": it may have accepted the write.
            GitError: the remote rejected the write.
            StorageError: the clone cannot be written. Nothing was written.
        """
        require_no_proposer(self.name)
        if problem := self._problem():
            raise UnavailableError(
                f"Nothing can be written now. {problem}",
                kind="remote",
                hint="Reading goes on. Try again when the remote answers.",
                retry_after=1,
            )
        with write_budget(self._seconds), ExitStack() as watching:
            try:
                yield from self._transaction(message, author, watching)
            except UnavailableError as error:
                if error.kind == "unknown" or NOT_WRITTEN in str(error):
                    raise
                raise UnavailableError(
                    f"{error} {NOT_WRITTEN}", kind=error.kind, hint=error.hint, **{"retry_after": 1, **error.context}
                ) from error
            renew_budget()

    def _transaction(self, message: str, author: Author | None, watching: ExitStack) -> Generator[Transaction]:
        done = None
        with cache_errors(self._name), self._queue.drafting() as commit:
            draft = TreeDraft(self._repository, commit, self._hidden)
            yield draft
            changes = draft.changes()
            write = None
            if changes.contents:
                done = watching.enter_context(watching_write(lambda: self._write_of(changes)))
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
        if done:
            done(write.commit)

    def _write_of(self, changes: DraftChanges) -> PlannedWrite:
        before = {
            Address(path): self._repository.content(revision) if (revision := changes.before.get(path)) else None
            for path in changes.contents
        }
        after = {Address(path): content for path, content in changes.contents.items()}
        return PlannedWrite(self.name, self.identity, before, after)

    @cached_property
    def proposals(self) -> RemoteProposals:
        """The proposals to change the documents, which are branches of the remote."""
        # Imported on demand, because only proposals need it.
        from commonplace.store.replica.remote_proposals import RemoteProposals  # noqa: PLC0415

        return RemoteProposals(self._queue.clone, self, self._check, self._hidden, seconds=self._seconds)

    def _check(self, changes: Mapping[Address, bytes | None]) -> None:
        self._drafted(self._queue.clone.tip(), changes)

    def _drafted(self, commit: str, contents: Mapping[Address, bytes | None]) -> DraftChanges:
        """The changes of a draft with these files, of which those with None are deleted."""
        draft = TreeDraft(self._repository, commit, self._hidden)
        for address, content in contents.items():
            if content is not None:
                draft.put(address, content)
            elif draft.exists(address):
                draft.remove(address)
        return draft.changes()

    def status(self) -> WriterStatus:
        """Number of writes that wait for a push, and whether other servers forward their writes to this one."""
        lease, queue = self._queue.clone.lease, self._queue
        messages = queue.messages
        has_lease = lease is not None and lease.is_own
        owner, owned = lease.holder() if lease else ("", None)
        following = lease.writers() if lease else []
        next_writer = host_of(following[0]) if following else ""
        return WriterStatus(
            len(messages), has_lease, messages, queue.oldest, self._trouble(), owner, owned, next_writer
        )

    def _trouble(self) -> str:
        """The reason why a write would fail now; "" if none is known."""
        clone = self._queue.clone
        if (silent := clone.contact.status().silent) is not None:
            return f"The remote has not answered for {silent:.0f} seconds."
        if not os.access(clone.path / "objects", os.W_OK):
            return "The clone cannot be written: its folder is read-only or gone."
        free = clone.free()
        if free is not None and free < LEAST_FREE:
            return f"The disk of the clone is full: {free // 1_000_000} MB are free."
        return ""

    def catch_up(self) -> None:
        """Fetch the commits of other writers. Concurrent callers share a fetch.

        Raises:
            UnavailableError: the remote cannot be read now.
            StorageError: the clone cannot be written.
        """
        with write_budget(self._seconds):
            self._queue.catch_up()

    def apply(self, writes: Sequence[ForwardedWrite]) -> list[WriteResult]:
        """Apply the writes that another server forwarded, and push them.

        Returns:
            A result for each write, in order.
        """
        with write_budget(self._seconds * HANDED_SHARE):
            made = [self._made_on_latest(write) for write in writes]
            return [self._result(write) if isinstance(write, PendingWrite) else write for write in made]

    def _result(self, write: PendingWrite) -> WriteResult:
        try:
            self._queue.settle(write)
        except KnowledgeError as error:
            return WriteResult(error=error)
        return WriteResult(write.commit, write.parent)

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
                changes = self._drafted(commit, {parse_address(path): item for path, item in write.contents.items()})
                for path in changes.contents:
                    if changes.before[path] != write.before[path]:
                        return WriteResult(error=changed_meanwhile(path, changes.before[path]))
                if changes.contents:
                    before = {path: changes.before.get(path, "") for path in write.contents}
                    return self._queue.add(
                        write.contents, before, write.words, executable=write.executable, is_forwarded=True
                    )
            written = {path: "" if item is None else revision_of(item) for path, item in write.contents.items()}
            return WriteResult(*self._queue.confirm(written))
        except KnowledgeError as error:
            return WriteResult(error=error)

    def _forward(self, url: str, writes: Sequence[PendingWrite]) -> list[WriteResult] | None:
        lease = self._lease
        if len(writes) > MAX_WRITES or lease is None or (lease.has_failed(url) and not is_alive(url)):
            return None
        body = format_writes(self._base, list(map(_handed, writes)))
        if len(body) > MAX_FORWARDED:
            return None
        results = None
        try:
            seconds = seconds_left(ANSWER_SECONDS, ANSWER_SHARE)
            results = send_writes(url, self._secret, body, len(writes), lease.url, seconds)
            if results and all(_is_unreached(element.error) for element in results):
                results = None  # that server cannot reach the remote, but this one may
        finally:
            (lease.failed if results is None else lease.took)(url)
        return results


def _handed(write: PendingWrite) -> ForwardedWrite:
    return ForwardedWrite(dict(write.contents), dict(write.before), write.words, write.new_executables)


def _is_unreached(error: KnowledgeError | None) -> bool:
    return isinstance(error, UnavailableError) and error.kind != "unknown"


# The draft of a write to a replica: reads and changes on top of one commit, before the new commit is created.


class DraftChanges(NamedTuple):
    """The changes of a draft."""

    contents: dict[str, bytes | None]
    """The new bytes by path; None for a removed file."""
    unchanged: dict[str, bytes]
    """The bytes of each path that was written as it is in the draft's commit."""
    before: dict[str, str]
    """Id of the blob that the draft's commit has at each path of both; "" for none."""
    executable: frozenset[str]
    """New paths of moved files that are executable."""


class TreeDraft:
    """`domain.ports.Transaction` on top of a commit.

    Args:
        repository: The repository.
        commit: The commit; "" for a branch without commits.
        hides: Whether a file is ignored.
    """

    def __init__(self, repository: GitRepository, commit: str, hides: Callable[[Address], bool]) -> None:
        self._repository = repository
        self._commit = commit
        self._hides = hides
        self._changes: dict[Address, bytes | None] = {}
        self._keep: set[Address] = set()
        self._moved_from: dict[Address, Address] = {}
        self._receipt: Receipt | None = None

    def read(self, address: Address) -> bytes:
        """The bytes of a file, with the changes of this transaction."""
        if address in self._changes:
            content = self._changes[address]
        else:
            entry = self._entry(address)
            content = self._repository.content(entry.id) if entry and entry.mode in FILE_MODES else None
        if content is None:
            raise missing_file(address)
        return content

    def exists(self, address: Address) -> bool:
        """Whether the file exists, with the changes of this transaction."""
        if address in self._changes:
            return self._changes[address] is not None
        return self._mode(address) in FILE_MODES

    def is_ignored(self, address: Address) -> bool:
        """Whether an ignore file excludes a file, or a folder above it."""
        return self._hides(address)

    def put(self, address: Address, content: bytes, *, keep: bool = False, moved_from: Address | None = None) -> None:
        """Create or replace a file.

        Raises:
            InvalidInputError: the path is not that of a regular file, leads through a file, is ignored or is invalid.
            ReadOnlyError: the path is in a submodule, or a Git LFS pointer would be overwritten by text.
        """
        self._require_writable(address)
        self._changes[address] = content
        if keep:
            self._keep.add(address)
        if moved_from is not None:
            require_moved(moved_from, self._hides)
            self._moved_from[address] = moved_from

    def remove(self, address: Address, *, keep: bool = True) -> None:
        """Delete a file; the parent commit retains its bytes."""
        self.read(address)
        self._changes[address] = None
        if keep:
            self._keep.add(address)

    def commit_change_only(self, address: Address) -> None:
        """Do nothing, because nothing is there that is not committed."""

    def retain(self, address: Address) -> None:
        """Make the receipt name the commit that has the old bytes of a file."""
        self._keep.add(address)

    @property
    def receipt(self) -> Receipt:
        """The result of the transaction; valid after the `with` block has ended."""
        if self._receipt is None:
            raise RuntimeError("a transaction has no receipt before its block has ended without an error")
        return self._receipt

    def changes(self) -> DraftChanges:
        """The changes; files that were written as they are stand apart.

        Raises:
            InvalidInputError, ReadOnlyError: a file cannot be written, as for `put`.
        """
        contents: dict[str, bytes | None] = {}
        unchanged: dict[str, bytes] = {}
        before: dict[str, str] = {}
        for address, content in self._changes.items():
            old = self._entry(address)
            if content is None and old is None:
                continue
            before[address.path] = id_of(old)
            if content is not None:
                if id_of(old) == revision_of(content):
                    unchanged[address.path] = content
                    continue
                self._require_served(address, content, old)
            contents[address.path] = content
        new_paths = {new.path: old for new, old in self._moved_from.items() if not before.get(new.path)}
        executable = frozenset(path for path, old in new_paths.items() if self._mode(old) == MODE_EXECUTABLE)
        return DraftChanges(contents, unchanged, before, executable & contents.keys())

    def acknowledge(self, commit: str, parent: str) -> list[RetainedCopy]:
        """Set the receipt of a transaction that the remote has accepted.

        Args:
            commit: The commit; "" for none.
            parent: The parent of the commit.

        Returns:
            Copies of the replaced and deleted bytes that the writer may not have seen.
        """
        revisions: dict[Address, Revision] = {}
        removed: list[Address] = []
        copies: dict[Address, RetainedCopy] = {}
        for address, content in self._changes.items():
            if content is None:
                removed.append(address)
            else:
                revisions[address] = revision_of(content)
            old = self._entry(address)
            if commit and old is not None and address in self._keep and old.id != revisions.get(address):
                copies[address] = RetainedCopy(address, old.id, "commit", parent)
        self._receipt = Receipt(commit, revisions, tuple(removed), copies)
        return list(copies.values())

    def _entry(self, address: Address) -> TreeEntry | None:
        """The entry of the draft's commit at a path; None if there is none."""
        return self._repository.entry(self._commit, address.path) if self._commit else None

    def _mode(self, address: Address) -> int:
        """The mode of a file in the draft's commit; 0 if there is none."""
        entry = self._entry(address)
        return entry.mode if entry else 0

    def _require_writable(self, address: Address) -> None:
        """Reject a path that is a folder, a link or a submodule, or leads through something that is not a folder."""
        parts = address.path.split("/")
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            entry = self._repository.entry(self._commit, path) if self._commit else None
            if entry is None:
                return
            if entry.mode == MODE_GITLINK:
                raise ReadOnlyError(
                    f"{address} cannot be written: {path} is a submodule.",
                    kind="document",
                    hint="Serve a clone of its own.",
                    path=address.path,
                )
            if (entry.mode in FILE_MODES) if count == len(parts) else (entry.mode == MODE_FOLDER):
                continue
            raise InvalidInputError(
                f"{address} cannot be written: {path} is {_kind(entry.mode)}.",
                kind="path",
                hint="Write to another path.",
            )

    def _require_served(self, address: Address, content: bytes, old: TreeEntry | None) -> None:
        if old is None:
            require_new_name(address)
        elif is_pointer(self._repository.content(old.id)) and not is_pointer(content):
            raise ReadOnlyError(
                f"{address} cannot be written: it is a pointer of Git LFS, and its text is not here.",
                kind="document",
                hint="Write it in a clone that has Git LFS.",
                path=address.path,
            )
        if address.is_document and self._hides(address):
            raise ignored_write(address, self._hides)


def _kind(mode: int) -> str:
    if mode == MODE_FOLDER:
        return "a folder"
    return "a file" if mode in FILE_MODES else "a link"
