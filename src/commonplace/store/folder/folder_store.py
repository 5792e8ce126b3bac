"""The store of a folder on disk, with or without Git."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.domain.addresses import Address, require_new_name
from commonplace.domain.changes import Author, FileStat, Trash, record_waiting_index
from commonplace.domain.errors import InvalidInputError, KnowledgeError, ReadOnlyError, UnavailableError
from commonplace.domain.past import PastCommits
from commonplace.domain.ports import History, Repository, Transaction
from commonplace.store.disk.file_swap import FileChange, storage_errors
from commonplace.store.disk.folder import Folder
from commonplace.store.disk.folder_scan import FolderScan
from commonplace.store.disk.ignore_rules import IgnoreRules, including_pattern
from commonplace.store.disk.trash import SubfolderTrash
from commonplace.store.folder.retention import Retention
from commonplace.store.folder.transaction_draft import TransactionDraft
from commonplace.store.folder.transaction_writer import INDEX_WAITS, TransactionWriter
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.commits import PlannedCommit, commit_message
from commonplace.store.git.past.past_commits import CommitLookup
from commonplace.store.git.past.renames import RenameFinder
from commonplace.store.git.tracked_documents import TrackedDocuments


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
        tracked = TrackedDocuments(git.repository, terms.prefix) if git else frozenset[str]
        self._rules = IgnoreRules(folder.path, tracked)
        self._skipped: list[tuple[str, str]] = []
        self._past: CommitLookup | None = None
        if git is not None:
            renames = RenameFinder(git.repository, terms.prefix.rstrip("/"), self._rules.excludes)
            name, identity = folder.path.name, key_of(folder)
            self._past = CommitLookup(git.repository, name, identity, renames, terms.prefix, self._rules)

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

    def scan(self) -> Iterator[tuple[Address, FileStat]]:
        """Every servable Markdown file, in no particular order."""
        self._before_listing()
        scan = FolderScan(self._folder, self._rules)
        yield from scan
        self._skipped = scan.skipped

    def skipped(self) -> list[tuple[str, str]]:
        """Relative path and reason of the files that the last scan skipped."""
        return list(self._skipped)

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of a regular file inside the folder; None if there is none or it is ignored."""
        return None if address.is_document and self._rules.hides(address) else self._folder.stat(address)

    def read(self, address: Address) -> bytes:
        """The bytes of a regular file inside the folder."""
        self._writer.repair_if_idle()
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
                # A commit of a page would include the user's uncommitted edits of it, so those go to the trash.
                changes = draft.changes(self._terms.prefix, keep=self._terms.commits)
                if self._terms.git:
                    self._terms.git.refuse_sparse([change.path for change in changes if change.before is None])
                self._require_served(changes)
                removed = {change.path: change.content is None for change in changes} if self._terms.commits else {}
                staged = self._writer.staged_blobs(removed)
                kept = retaining.enter_context(self._terms.retention.kept(changes, staged, self._terms.prefix))
                write = self._writer.add(changes, self._planned(changes, message, author)) if changes else None
            draft.acknowledge(write.result() if write else "", kept)
            if self._terms.commits and self._writer.pending:
                record_waiting_index(INDEX_WAITS)

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

    def _before_use(self, address: Address) -> None:
        self._writer.before_use(f"{self._terms.prefix}{address.path}")

    def _planned(self, changes: Sequence[FileChange], message: str, author: Author | None) -> PlannedCommit | None:
        git = self._terms.git
        if git is None or not self._terms.commits:
            return None
        contents = {change.path: change.content for change in changes}
        moved_from = {change.path: change.moved_from for change in changes if change.moved_from}
        return PlannedCommit(contents, commit_message(git.repository, message, author), moved_from)

    def _require_served(self, changes: Sequence[FileChange]) -> None:
        """Reject a document that is ignored, and a new file whose name contains bidirectional control characters."""
        for change in changes:
            address = Address(change.shown)
            if change.before is None:
                require_new_name(address)
            if change.content is not None and address.is_document and self._rules.hides(address):
                pattern = including_pattern(address, self._rules.hides)
                raise InvalidInputError(
                    f"{address} is ignored by an ignore file, so it would not be found. Nothing was changed.",
                    kind="document",
                    hint=f"Choose another path, or include it with {pattern} in .commonplaceignore.",
                )

    def _before_listing(self) -> None:
        """Within a transaction, apply the writes that wait in its group: their files are part of what is listed."""
        if self._writer.lock.is_mine:
            self._writer.before_use(None)
        self._writer.repair_if_idle()

    def _require_writable(self) -> None:
        if reason := self.read_only_reason:
            raise ReadOnlyError(
                f"{self.name} cannot be written: {reason}.", kind="collection", hint="It can be read meanwhile."
            )


def key_of(folder: Folder) -> str:
    """A 32-digit hexadecimal key of a folder's real path."""
    return hashlib.sha256(os.fsencode(folder.path)).hexdigest()[:32]
