"""The store of a folder on disk, with or without Git, and the drafts of its transactions."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from commonplace.domain.activity import PlannedWrite, watching_write
from commonplace.domain.addresses import Address, require_new_name
from commonplace.domain.changes import Author, FileStat, Receipt, RetainedCopy, Trash, record_waiting_index
from commonplace.domain.errors import InvalidInputError, KnowledgeError, ReadOnlyError, UnavailableError
from commonplace.domain.past import PastCommits
from commonplace.domain.ports import History, Repository, Transaction
from commonplace.domain.proposals import ProposalBranches, require_no_proposer
from commonplace.domain.revisions import is_pointer, revision_of
from commonplace.store.disk.file_swap import FileChange, SeenFile, changed_meanwhile, storage_errors
from commonplace.store.disk.folder import Folder, FolderScan, opened_folder
from commonplace.store.disk.ignore_rules import IgnoreRules, ignored_write
from commonplace.store.folder.retention import Retention, SubfolderTrash
from commonplace.store.folder.transaction_writer import INDEX_WAITS, TransactionWriter
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.commits import PlannedCommit, commit_message
from commonplace.store.git.past.history import GitHistory
from commonplace.store.git.past.past_commits import CommitLookup
from commonplace.store.git.repository import GitRepository, TrackedFiles
from commonplace.store.git.worktree import stored_form
from commonplace.store.names import missing_file, require_moved

# The store of a folder on disk, with or without Git.


@dataclass(frozen=True, slots=True)
class WriteMode:
    """The way in which a folder is written: with or without Git and commits."""

    retention: Retention
    """Retains the bytes that writes delete or replace."""
    prefix: str = ""
    """Path from the writer's root to the folder: "" or a path with a trailing slash."""
    git: GitWriter | None = None
    """The Git writer; None without Git."""
    commits: bool = False
    """Whether every write is committed."""


class FolderStore:
    """`domain.ports.Store` of a folder."""

    def __init__(self, folder: Folder, writer: TransactionWriter, history: History, terms: WriteMode) -> None:
        self._folder = folder
        self._writer = writer
        self._history = history
        self._terms = terms
        git = terms.git
        tracked = TrackedFiles(git.repository, terms.prefix) if git else frozenset[str]
        self._rules = IgnoreRules(folder.path, tracked)
        self._skipped: list[tuple[str, str]] = []
        self._past: CommitLookup | None = None
        if isinstance(history, GitHistory):
            self._past = CommitLookup(history, folder.path.name, key_of(folder), self._rules)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._folder.path.name

    @property
    def root(self) -> Path:
        """The folder itself, for watching."""
        return self._folder.path

    @property
    def identity(self) -> str:
        """A stable key of this folder on this machine."""
        return key_of(self._folder)

    @property
    def history(self) -> History:
        """The commits of the files."""
        self._writer.repair_if_idle()
        return self._history

    @property
    def past(self) -> PastCommits | None:
        """The commits of the current branch, with the files of each; None without Git."""
        self._writer.repair_if_idle()
        return self._past

    @cached_property
    def proposals(self) -> ProposalBranches | None:
        """The proposals to change the folder; None without Git."""
        git = self._terms.git
        if git is None:
            return None
        # Imported on demand, because only proposals need it.
        from commonplace.store.folder.proposed_store import FolderProposals  # noqa: PLC0415

        return FolderProposals(self, git.repository, self._terms.prefix, self._check, self._rules.hides)

    @property
    def read_only_reason(self) -> str:
        """The reason why nothing can be written; "" if writable."""
        if not os.access(self._folder.path, os.W_OK | os.X_OK):
            return "its folder may not be written by this user"
        git = self._terms.git
        try:
            return git.refusal() if git and self._terms.commits else ""
        except OSError as error:
            return f"its repository cannot be read: {error.strerror}"

    def scan(self, *, names_only: bool = False) -> Iterator[tuple[Address, FileStat]]:
        """Every servable Markdown file, in no particular order."""
        self._before_listing()
        scan = FolderScan(self._folder, self._rules.now(), names_only)
        yield from scan
        self._skipped = self._skipped if names_only else scan.skipped

    def skipped(self) -> list[tuple[str, str]]:
        """Relative path and reason of the files that the last scan skipped."""
        return list(self._skipped)

    def ignores(self, address: Address) -> bool:
        """Whether an ignore file excludes a file, or a folder above it."""
        return self._rules.hides(address)

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of a regular file inside the folder; None if there is none or it is ignored."""
        return None if address.is_document and self._rules.hides(address) else self._folder.stat(address)

    def read(self, address: Address) -> bytes:
        """The bytes of a regular file inside the folder. An ignored document is missing."""
        self._writer.repair_if_idle()
        if address.is_document and self._rules.hides(address):
            raise missing_file(address)
        return self._folder.read(address)

    def reading(self) -> AbstractContextManager[Callable[[Address], bytes]]:
        """A context with a cheaper `read` for many files."""
        self._writer.repair_if_idle()
        return self._folder.reading()

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """Regular files directly in a folder, except hidden files and links."""
        self._before_listing()
        return self._folder.files(folder)

    def folders(self, folder: str) -> list[str]:
        """Paths of the folders directly in a folder, except hidden ones and links."""
        self._before_listing()
        return self._folder.folders(folder)

    def committing(self) -> FolderStore:
        """The same files in a store that commits every write; this store itself without Git."""
        if self._terms.commits or self._terms.git is None:
            return self
        return FolderStore(self._folder, self._writer, self._history, replace(self._terms, commits=True))

    @property
    def repository(self) -> Repository | None:
        """Explicit commits and pushes; None without Git."""
        terms = self._terms
        if terms.git is None:
            return None
        # Imported on demand, because searches do not need it.
        from commonplace.store.folder.publisher import Publisher  # noqa: PLC0415

        return Publisher(self._folder, self._writer, terms.git, terms.prefix, self._rules.hides, terms.retention)

    @property
    def trash(self) -> Trash:
        """Deleted and replaced bytes that no commit contains."""
        return SubfolderTrash(self._terms.retention.trash, self._terms.prefix)

    @contextmanager
    def transaction(self, message: str, author: Author | None = None) -> Generator[Transaction]:
        """One write: locked across processes, durable, and one commit in a committing store, at its end."""
        self._require_writable()
        with storage_errors("the write"), ExitStack() as retaining:
            with self._writer.turn():
                draft = TransactionDraft(self._folder, self._before_use, self._rules.hides)
                yield draft
                self._require_writable()
                # A write can replace lines that the user has not committed, so that text goes to the trash.
                changes = draft.changes(self._terms.prefix, keep=self._terms.commits)
                self._refuse_sparse(changes)
                self._require_served(changes)
                done = retaining.enter_context(watching_write(lambda: self._write_of(changes))) if changes else None
                parts = self._parts(changes)
                changes = [replace(change, partial=change.path in parts) for change in changes]
                planned = self._planned(changes, message, author, parts)
                removed = {path: content is None for path, content in planned.contents.items()} if planned else {}
                staged = self._writer.staged_blobs(removed)
                enter_context = retaining.enter_context(self._terms.retention.kept(changes, staged, self._terms.prefix))
                write = self._writer.add(changes, planned) if changes else None
            commit = write.result() if write else ""
            draft.acknowledge(commit, enter_context)
            if done:
                done(commit)
            if self._terms.commits and self._writer.pending:
                record_waiting_index(INDEX_WAITS)

    def _write_of(self, changes: Sequence[FileChange]) -> PlannedWrite:
        before = {
            Address(item.shown): self._folder.read(Address(item.shown)) if item.before else None for item in changes
        }
        return PlannedWrite(self.name, self.identity, before, {Address(item.shown): item.content for item in changes})

    def recover(self) -> list[str]:
        """Finish or undo interrupted writes. Does nothing if another writer holds the lock, which has done so."""
        if not self._writer.needs_repair:
            return []
        try:
            with self._writer.lock.held(wait=0):
                return self._writer.repair()
        except UnavailableError:
            return []
        except KnowledgeError as error:  # the files are readable nevertheless
            return [f"an interrupted write could not be repaired: {error}"]

    def _check(self, contents: Mapping[Address, bytes | None]) -> None:
        """Raise what a write of these files would raise. Writes nothing, and needs no lock."""
        with storage_errors("the write"):
            draft = TransactionDraft(self._folder, lambda _: None, self._rules.hides)
            for address, content in contents.items():
                if content is not None:
                    draft.put(address, content)
            changes = draft.changes(self._terms.prefix)
            self._require_served(changes)
            git = self._terms.git
            planned = self._planned(changes, "Check", None)
            if git and planned:
                self._refuse_sparse(changes)
                git.plan(secrets.token_hex(6), [planned])

    def _before_use(self, address: Address) -> None:
        self._writer.before_use(f"{self._terms.prefix}{address.path}")

    def _planned(
        self,
        changes: Sequence[FileChange],
        message: str,
        author: Author | None,
        parts: Mapping[str, tuple[bytes, bytes] | None] = MappingProxyType({}),
    ) -> PlannedCommit | None:
        git = self._terms.git
        if git is None or not self._terms.commits:
            return None
        partial = {path: part for path, part in parts.items() if part}
        left_out = parts.keys() - partial.keys()
        contents = {change.path: change.content for change in changes if change.path not in left_out}
        moved_from = {change.path: change.moved_from for change in changes if change.moved_from}
        return PlannedCommit(contents, commit_message(git.repository, message, author), moved_from, partial)

    def _parts(self, changes: Sequence[FileChange]) -> dict[str, tuple[bytes, bytes] | None]:
        """The old and new text of files with uncommitted text, of which this change alone is committed, by path.

        Of a file that the caller did not name, None if no commit has it, or if it has uncommitted text at the same
        place: then nothing of it is committed.
        """
        git = self._terms.git
        if git is None or not self._terms.commits:
            return {}
        by_path = {change.path: change for change in changes}  # a moved file replaces the one at its old path
        pairs = [(change, by_path.get(change.moved_from, change)) for change in changes if change.content is not None]
        pairs = [(change, source) for change, source in pairs if source.before]
        parts: dict[str, tuple[bytes, bytes] | None] = {}
        for pair, blob in zip(pairs, git.committed([source.path for _, source in pairs]), strict=True):
            parts |= self._part(git.repository, *pair, blob)
        return parts

    def _part(
        self, repository: GitRepository, change: FileChange, source: FileChange, blob: str
    ) -> dict[str, tuple[bytes, bytes] | None]:
        """The same for one file, whose blob is "" if no commit has it; {} if all of it is committed."""
        if not blob:
            return {change.path: None} if change.unnamed else {}
        if source.before and blob == source.before.revision:
            return {}
        from commonplace.domain.merge import merge_texts  # noqa: PLC0415 - few writes need it, no start does

        committed = repository.content(blob)
        texts = (source, self._folder.read(Address(source.shown))), (change, change.content or b"")
        before, after = (stored_form(repository, item.path, text) for item, text in texts)
        if committed == before:
            return {}
        if change.unnamed and merge_texts(before, after, committed).conflicts:
            record_waiting_index(f"{change.shown} is not committed: it has uncommitted edits at the same place.")
            return {change.path: None}
        return {change.path: (before, after)}

    def _refuse_sparse(self, changes: Sequence[FileChange]) -> None:
        if self._terms.git:
            self._terms.git.refuse_sparse([change.path for change in changes if change.before is None])

    def _require_served(self, changes: Sequence[FileChange]) -> None:
        """Reject a document that is ignored, and a new file whose name contains bidirectional control characters."""
        for change in changes:
            address = Address(change.shown)
            if change.before is None:
                require_new_name(address)
            if change.content is not None and address.is_document and self._rules.hides(address):
                raise ignored_write(address, self._rules.hides)

    def _before_listing(self) -> None:
        """Within a transaction, apply the writes that wait in its group: their files are part of what is listed."""
        if self._writer.lock.is_mine:
            self._writer.before_use(None)
        self._writer.repair_if_idle()

    def _require_writable(self) -> None:
        require_no_proposer(self.name)
        if reason := self.read_only_reason:
            raise ReadOnlyError(
                f"{self.name} cannot be written: {reason}.", kind="collection", hint="It can be read meanwhile."
            )


def key_of(folder: Folder) -> str:
    """A 32-digit hexadecimal key of a folder's real path."""
    return hashlib.sha256(os.fsencode(folder.path)).hexdigest()[:32]


# The draft of a transaction: reads and changes before anything is written.


_IN_THE_WAY = {errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.EINVAL}
"""Errors caused by the path; all others are errors of the disk."""


class TransactionDraft:
    """Reads and changes of one transaction (`domain.ports.Transaction`), in memory until it is applied.

    Args:
        folder: The files.
        before_use: Called with an address before the transaction depends on its content.
        hides: Whether a file is ignored.
    """

    def __init__(self, folder: Folder, before_use: Callable[[Address], None], hides: Callable[[Address], bool]) -> None:
        self._folder = folder
        self._hides = hides
        self._before_use = before_use
        self._receipt: Receipt | None = None
        self._seen: dict[Address, SeenFile] = {}
        self._changes: dict[Address, bytes | None] = {}
        self._keep: set[Address] = set()
        self._moved_from: dict[Address, Address] = {}
        self._unnamed: set[Address] = set()

    def read(self, address: Address) -> bytes:
        """The bytes of a file, with the changes of this transaction."""
        if address not in self._changes:
            self._before_use(address)
            return self._load(address)
        content = self._changes[address]
        if content is None:
            raise missing_file(address)
        return content

    def exists(self, address: Address) -> bool:
        """Whether the file exists, with the changes of this transaction."""
        if address in self._changes:
            return self._changes[address] is not None
        self._before_use(address)
        return self._folder.stat(address) is not None

    def is_ignored(self, address: Address) -> bool:
        """Whether an ignore file excludes a file, or a folder above it."""
        return self._hides(address)

    def put(self, address: Address, content: bytes, *, keep: bool = False, moved_from: Address | None = None) -> None:
        """Create or replace a file; with `keep`, retain the old bytes. A moved file keeps its permissions.

        Raises:
            InvalidInputError: the path exists and is not a regular file, or the moved file is ignored.
        """
        self._before_use(address)
        _require_writable(self._folder, address)
        self._change(address, content, keep=keep)
        if moved_from is not None:
            require_moved(moved_from, self._hides)
            self._moved_from[address] = moved_from

    def remove(self, address: Address, *, keep: bool = True) -> None:
        """Delete a file; retain its bytes unless `keep` is false."""
        if not self.exists(address):
            raise missing_file(address)
        _require_writable(self._folder, address)
        self._change(address, None, keep=keep)

    def retain(self, address: Address) -> None:
        """Retain the old bytes of a file that this transaction changes."""
        self._keep.add(address)

    def commit_change_only(self, address: Address) -> None:
        """Commit of a replaced file only what this transaction changes, until it is put again."""
        self._unnamed.add(address)

    @property
    def receipt(self) -> Receipt:
        """The result of the transaction; valid after the `with` block has ended."""
        if self._receipt is None:
            raise RuntimeError("a transaction has no receipt before its block has ended without an error")
        return self._receipt

    def changes(self, prefix: str, *, keep: bool = False) -> list[FileChange]:
        """The changes, without those that change nothing.

        Args:
            prefix: Prefix of each path.
            keep: Whether to retain the old bytes of every replaced file.

        Raises:
            ConflictError: another program has changed a file since this transaction read it.
            ReadOnlyError: text would overwrite a Git LFS pointer, whose real content is not here.
        """
        changes: list[FileChange] = []
        for address, content in self._changes.items():
            before = self._before(address, content)
            if content is None and before is None:
                continue
            if content is None or before is None or revision_of(content) != before.revision:
                changes.append(self._file_change(prefix, address, before, keep=keep))
        return changes

    def _file_change(self, prefix: str, address: Address, before: SeenFile | None, *, keep: bool) -> FileChange:
        content, source = self._changes[address], self._moved_from.get(address)
        return FileChange(
            path=f"{prefix}{address.path}",
            before=before,
            content=content,
            shown=address.path,
            keep=address in self._keep or (keep and content is not None),
            moved_from=f"{prefix}{source.path}" if source else "",
            unnamed=address in self._unnamed and before is not None and content is not None,
        )

    def acknowledge(self, commit: str, enter_context: Mapping[str, RetainedCopy]) -> None:
        """Set the receipt of a durable transaction.

        Args:
            commit: The commit; "" for none.
            enter_context: Copies of the old bytes, by shown path.
        """
        items = self._changes.items()
        self._receipt = Receipt(
            commit,
            {address: revision_of(content) for address, content in items if content is not None},
            tuple(address for address, content in items if content is None),
            {Address(path): where for path, where in enter_context.items()},
        )

    def _change(self, address: Address, content: bytes | None, *, keep: bool) -> None:
        self._changes[address] = content
        self._unnamed.discard(address)
        if keep:
            self._keep.add(address)

    def _before(self, address: Address, content: bytes | None) -> SeenFile | None:
        now = self._folder.stat(address)
        seen = self._seen.get(address)
        if seen is not None and now != seen.stat:
            raise changed_meanwhile(address.path, revision_of(self._folder.read(address)) if now else "")
        if now is None:
            return None
        there = self._load(address)
        if content is not None and is_pointer(there) and not is_pointer(content):
            raise _pointer(address)
        return self._seen[address]

    def _load(self, address: Address) -> bytes:
        status, content = self._folder.load(address)
        first: FileStat = self._seen.setdefault(address, SeenFile(status, revision_of(content))).stat
        if first != status:
            raise changed_meanwhile(address.path, revision_of(content))
        return content


def _require_writable(folder: Folder, address: Address) -> None:
    """Reject paths that are not regular files. Writing through a link would change another address."""
    *folders, name = address.path.split("/")
    try:
        with opened_folder(folder.path, folders) as descriptor:
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in _IN_THE_WAY:
            raise
        raise InvalidInputError(
            f"{address} cannot be written: {error.strerror} on the way to it.",
            kind="path",
            hint="Choose a path whose folders are folders of the collection.",
        ) from error
    if not stat.S_ISREG(mode):
        what = "a link" if stat.S_ISLNK(mode) else "not a regular file"
        raise InvalidInputError(
            f"{address} is {what} and is never written.", kind="path", hint="Write to another path."
        )


def _pointer(address: Address) -> ReadOnlyError:
    return ReadOnlyError(
        f"{address} cannot be written: it is a pointer of Git LFS, and its text is not here.",
        kind="document",
        hint="Run git lfs pull, and read it first.",
        path=address.path,
    )
