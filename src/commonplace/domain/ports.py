"""What the services need from the outside, as protocols: a store of files, their history, and an index.

Adapters live in `store`, `index` and `embed`; only `bootstrap` knows which of them is behind a port. Every call is
synchronous and safe from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a server answers its client before it loads them
    from commonplace.domain.addresses import Address
    from commonplace.domain.changes import Author, Commit, FileStat, Receipt, Revision, Trash
    from commonplace.domain.documents import Document
    from commonplace.domain.query import (
        Counts,
        Filter,
        ListQuery,
        Record,
        RecordPage,
        ResolvedLink,
        SearchQuery,
        SearchResult,
        SyncReport,
    )

Progress = Callable[[int, int], None]
"""Called with steps done and steps in all; returns at once.

Raises:
    Stopped: nobody waits for the work any longer. It is called where work may end: nothing is left half done.
"""


class Transaction(Protocol):
    """Reads and writes of one folder as one step, under the folder's writer lock.

    Nothing reaches the disk before the `with` block ends without an exception; then all of it does, or none.
    """

    def read(self, address: Address) -> bytes:
        """The bytes as this transaction would leave them.

        Raises:
            NotFoundError: no such file.
        """
        ...

    def exists(self, address: Address) -> bool:
        """Whether the file is there, as this transaction would leave it."""
        ...

    def put(self, address: Address, content: bytes, *, keep: bool = False) -> None:
        """Create or replace a file; missing folders are made.

        Args:
            address: Of the file.
            content: Its new bytes.
            keep: Whether the bytes that are there must stay to be had, as the writer may not have seen them: where no
                commit holds them, the trash keeps them. `Receipt.retained` says where they are.
        """
        ...

    def remove(self, address: Address, *, keep: bool = True) -> None:
        """Delete a file; folders left empty by it are removed.

        Args:
            address: Of the file.
            keep: As for `put`; false for a file whose bytes go elsewhere.

        Raises:
            NotFoundError: no such file.
        """
        ...

    @property
    def receipt(self) -> Receipt:
        """What was done; valid after the `with` block has ended."""
        ...


class History(Protocol):
    """The commits of a folder, read-only. Revisions given by callers are never taken for options of Git."""

    @property
    def available(self) -> bool:
        """Whether the folder lies in a Git repository with at least one commit."""
        ...

    def log(self, address: Address | None, *, limit: int, offset: int = 0) -> list[Commit]:
        """Commits that touched the document (None: anything in the folder), newest first, renames not followed."""
        ...

    def read(self, address: Address, revision: str) -> bytes:
        """The document as it was at a commit (any unique prefix of 7 or more hex digits, or a blob id).

        Raises:
            NotFoundError: no such commit, or the document was not in it.
            InvalidInputError: not a revision.
        """
        ...

    def diff(self, address: Address, old: str, new: str = "") -> str:
        """Unified diff of one document between two commits; `new` "" means the file as it is now."""
        ...

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, tuple[Commit, Commit]]:
        """First and last commit of these documents (None: of all), as far as they have one; cached by HEAD."""
        ...

    def touched_since(self, commit: str) -> set[Address] | None:
        """Documents that later commits touched; None where it is not one before HEAD, or long before."""
        ...

    def uncommitted(self, known: Mapping[Address, Revision]) -> set[Address]:
        """Documents that differ from HEAD, ignoring line endings."""
        ...

    def head(self) -> str:
        """Id of the current commit, or "" without one."""
        ...


class Repository(Protocol):
    """Committing what was written as files, and publishing commits, by request."""

    def commit(
        self,
        addresses: Sequence[Address] | None,
        message: str,
        *,
        author: Author | None = None,
        sign_off: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """One commit of the collection's files as they are now; what else is staged or changed stays as it is.

        Args:
            addresses: The files to commit (a removed one counts); None for all documents of the collection and its
                `kb.yaml` that differ from the last commit, new ones included, hidden and ignored ones not.
            message: The commit's message.
            author: Who it names, or None for the configured identity.
            sign_off: Whether to add `Signed-off-by` with the committer's name.
            progress: Told how many files are read; what may stop here has changed nothing.

        Raises:
            NotFoundError: an address is neither a file nor in the last commit.
            GitError: there is nothing to commit, or Git refused.
            ReadOnlyError, UnavailableError: as for a transaction.
        """
        ...

    def push(self, remote: str = "origin", branch: str = "") -> str:
        """Publish a branch ("" for the current one) to a configured remote; one line that says what was done.

        Raises:
            GitError: no such remote or branch, rejected, refused, or not reached; the hint says what to do, and
                context `retryable` is 1 when the same call can succeed later.
        """
        ...


class Store(Protocol):
    """The files of one collection."""

    @property
    def name(self) -> str:
        """The folder's own name."""
        ...

    @property
    def identity(self) -> str:
        """A stable key of this folder on this machine, for derived data; never shown to callers."""
        ...

    @property
    def history(self) -> History:
        """Its commits."""
        ...

    @property
    def read_only_reason(self) -> str:
        """Why nothing can be written ("" when it can): no permission, detached HEAD, bare, submodule, ..."""
        ...

    def scan(self) -> Iterator[tuple[Address, FileStat]]:
        """Every servable Markdown file, in no particular order.

        Dot entries, `node_modules`, files that are no regular files and links that leave the folder are left out.
        """
        ...

    def skipped(self) -> list[tuple[str, str]]:
        """Relative path and reason of what the last scan left out though it looks like a document."""
        ...

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of a regular file inside it, None when there is none; StorageError: nobody can see that."""
        ...

    def read(self, address: Address) -> bytes:
        """The bytes of a regular file inside the folder.

        Raises:
            NotFoundError: no such file, or not one that may be served.
            StorageError: it cannot be read.
        """
        ...

    def reading(self) -> AbstractContextManager[Callable[[Address], bytes]]:
        """Something that reads as `read` does, at a lower cost for many files in the order of their paths."""
        ...

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """Regular files directly in a folder (a path without a slash at its end), hidden ones left out.

        Links are left out too. Empty where there is no such folder.
        """
        ...

    def folders(self, folder: str) -> list[str]:
        """Paths of the folders directly in a folder; hidden ones, and those that never hold documents, left out."""
        ...

    def committing(self) -> Store:
        """The same files with every write one commit, whatever this store was opened for; without Git, itself."""
        ...

    @property
    def repository(self) -> Repository | None:
        """Commits by request and publishing; None where there is no Git work tree."""
        ...

    @property
    def trash(self) -> Trash | None:
        """What writes have deleted or replaced and no commit holds; None where nothing is ever written."""
        ...

    def transaction(self, message: str, author: Author | None = None) -> AbstractContextManager[Transaction]:
        """One write: locked across processes, durable, and (in a committing store) one commit, when it ends.

        Raises:
            ReadOnlyError: with `read_only_reason`.
            UnavailableError: the lock was not to be had in time.
            StorageError, GitError: the write failed; everything is as it was.
        """
        ...

    def recover(self) -> list[str]:
        """Finish or undo what a killed process left; one line for each repair. Called at every start."""
        ...


class Index(Protocol):
    """Everything derived from the files of one collection: catalogue, full text, links."""

    def sync(self, progress: Progress | None = None, *, afresh: bool = False) -> SyncReport:
        """Compare every file with the index and bring in what differs. Returns when all of it is searchable.

        Args:
            progress: Told how far it is.
            afresh: Begin with an empty index instead of the one that is there.
        """
        ...

    def update(self, addresses: Sequence[Address], timeout: float = 0.1) -> None:
        """Bring these files (written, changed or gone) up to date.

        They are searchable by every process on return, unless that takes longer than `timeout` seconds: then this
        process's questions wait for them, and other processes find them a moment later. Nothing is raised.
        """
        ...

    def watch(self, on_change: Callable[[Sequence[Address]], None] | None = None) -> AbstractContextManager[None]:
        """While open, changes made outside are brought in as the file system reports them."""
        ...

    def listen(self, listener: Callable[[Sequence[Address], bool], None]) -> None:
        """Tell a listener, from any thread, of documents that changed, and whether some may have come or gone."""
        ...

    def wait_watched(self, timeout: float) -> bool:
        """Return once every later change will be noticed, or after so many seconds without; whether it will be."""
        ...

    def wait_ready(self, timeout: float) -> None:
        """Return once the first full sync is over, within so many seconds.

        Raises:
            IndexingError: it is not over in time; context holds `done` and `total`.
        """
        ...

    def record(self, address: Address) -> Record | None:
        """What is known of a document."""
        ...

    def revisions(self, filter_: Filter | None = None) -> dict[Address, Revision]:
        """The documents that a filter keeps, all without one, with the state in which the index knows them."""
        ...

    def by_id(self, identifier: str) -> list[Record]:
        """Documents whose id is this (several when ids repeat); ids are compared exactly."""
        ...

    def find(self, reference: str, source: Address | None = None) -> Record | None:
        """The document that a reference (path, id, title or alias) means, seen from `source`; None if unclear."""
        ...

    def nearest(self, reference: str, limit: int = 3) -> list[str]:
        """Ids most like an unknown reference, best first."""
        ...

    def list(self, query: ListQuery) -> RecordPage:
        """Records by filter, sorted, with a true total."""
        ...

    def search(self, query: SearchQuery) -> SearchResult:
        """Ranked documents with their best sections. A text that is no valid syntax is searched as plain words.

        Raises:
            InvalidInputError: the text is blank.
        """
        ...

    def tags(self, filter_: Filter, prefix: str = "") -> list[tuple[str, int]]:
        """Tags and in how many documents, commonest first, then by name."""
        ...

    def counts(self) -> Counts:
        """Totals."""
        ...

    def resolve(self, document: Document) -> list[ResolvedLink]:
        """Where the links of a document as given (not as indexed) lead, one for each of `document.links`, in order."""
        ...

    def same_name(self, address: Address) -> Sequence[Address]:
        """Other documents whose address differs from this one only in case or Unicode form, by address."""
        ...

    def links_from(self, address: Address) -> list[ResolvedLink]:
        """Links of a document in order."""
        ...

    def links_to(self, address: Address, *, sentences: bool = True) -> list[ResolvedLink]:
        """Links of other documents that lead here, by source path, then order.

        Args:
            address: A document or other file.
            sentences: Whether each comes with the sentence that holds it, for which its document is read.
        """
        ...

    def links_into(self, collection: str) -> list[ResolvedLink]:
        """Links of this collection's documents that name another collection (`[[kb:id]]`), by source, then order."""
        ...

    def links_named(self, keys: Sequence[str]) -> list[ResolvedLink]:
        """Links whose target has one of these keys (`domain.links.link_key`), wherever they lead; by source, order."""
        ...

    def links(self) -> list[tuple[Address, Address]]:
        """Every resolved link between two documents once, by source then target."""
        ...

    def orphans(self) -> list[Record]:
        """Documents that no other document links to, by path."""
        ...

    def broken(self, address: Address | None = None) -> list[ResolvedLink]:
        """Links that lead nowhere, of one document or of all."""
        ...

    def findings(self) -> list[Record]:
        """Records that have findings, by path."""
        ...

    def document(self, address: Address) -> Document:
        """The document read and parsed now.

        Raises:
            NotFoundError: no such document; context holds `nearest`.
        """
        ...

    @property
    def generation(self) -> int:
        """Grows with every change that the index took in."""
        ...

    def close(self) -> None:
        """Release everything; the index stays usable for other processes."""
        ...


__all__ = ["History", "Index", "Progress", "Repository", "Revision", "Store", "Transaction"]
