"""Ports of the services, as protocols: a store of files, its history, and an index.

Adapters are in `store`, `index` and `embed`; only `bootstrap` names them. Every call is synchronous and thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a server answers its client before it loads these modules
    from commonplace.domain.addresses import Address
    from commonplace.domain.changes import Author, Commit, CommitSpan, FileStat, Receipt, Revision, Trash
    from commonplace.domain.citations import Citation
    from commonplace.domain.documents import Document, OutlinedText
    from commonplace.domain.links import LinkLookup
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
    from commonplace.domain.sites import Surroundings
    from commonplace.domain.status import DeclaredStatus

Progress = Callable[[int, int], None]
"""Called with the numbers of finished steps and of all steps. Raises `Stopped` where the work can be stopped whole."""


class Transaction(Protocol):
    """Reads and writes of one folder as one atomic step, under the folder's writer lock.

    Nothing is written before the `with` block ends without an exception. Then all changes are written, or none.
    """

    def read(self, address: Address) -> bytes:
        """The bytes of a file, with the changes of this transaction.

        Raises:
            NotFoundError: no such file.
        """
        ...

    def exists(self, address: Address) -> bool:
        """Whether the file exists, with the changes of this transaction."""
        ...

    def is_ignored(self, address: Address) -> bool:
        """Whether an ignore file excludes a file, or a folder above it. It is neither served nor moved."""
        ...

    def put(self, address: Address, content: bytes, *, keep: bool = False, moved_from: Address | None = None) -> None:
        """Create or replace a file. Missing folders are created.

        Args:
            address: Address of the file.
            content: The new bytes.
            keep: Whether to retain old bytes that the writer may not have seen, in the trash unless a commit has them.
            moved_from: The file, removed in this transaction, whose permissions and attributes a new file takes over.
        """
        ...

    def remove(self, address: Address, *, keep: bool = True) -> None:
        """Delete a file, and folders that become empty. `keep` is false if the bytes are written to another file.

        Raises:
            NotFoundError: no such file.
        """
        ...

    def retain(self, address: Address) -> None:
        """Retain the old bytes of a file that this transaction changes or removes, as `keep` of `put` does."""
        ...

    def commit_change_only(self, address: Address) -> None:
        """Commit of a replaced file only what this transaction changes, until it is put again.

        For files that the caller did not name, such as pages whose links follow a move. What else of the file is not
        committed stays so.
        """
        ...

    @property
    def receipt(self) -> Receipt:
        """The result of the transaction; valid after the `with` block has ended."""
        ...


class History(Protocol):
    """The commits of a folder, read-only. Revisions from callers are never interpreted as Git options."""

    @property
    def available(self) -> bool:
        """Whether the folder is in a Git repository with at least one commit, which can be read."""
        ...

    @property
    def absence(self) -> str:
        """Why there are no commits, as a clause about the folder, such as `it is not in a Git repository`."""
        ...

    @property
    def is_shallow(self) -> bool:
        """Whether earlier commits than those that are here were not fetched."""
        ...

    def log(
        self, address: Address | None, *, limit: int, offset: int = 0, after: str = "", below: str | None = None
    ) -> list[Commit]:
        """Commits that touched the document (None: anything in the folder), newest first.

        The commits of a document are followed through its renames as by `git log --follow`, except that a copy begins
        a history of its own. Each has the document's address in it as `addresses`.

        Args:
            address: The document; None for the folder.
            limit: Maximum number of commits.
            offset: Number of newest commits to leave out.
            after: A commit of the branch; only commits that are not in its history count, whatever their dates.
            below: Only documents whose path begins so count; commits of the folder without one have `is_shown` false.
                None for every file.

        Raises:
            NotFoundError: kind "revision": the branch has no commit `after`.
        """
        ...

    def count(self) -> int:
        """Number of commits that touched anything in the folder. Cached by HEAD."""
        ...

    def versions(self, address: Address) -> Iterator[tuple[Commit, bytes]]:
        """The commits that touched the document, newest first, with its bytes in each; b"" if the commit lacks it."""
        ...

    def read(self, address: Address, revision: str) -> bytes:
        """The document at a commit (any unique prefix of 7 or more hex digits, or a blob id).

        If the commit has no file of this address, the file that was renamed to it is read.

        Raises:
            NotFoundError: no such commit, or the commit does not contain the document.
            InvalidInputError: not a revision.
        """
        ...

    def diff(self, address: Address, old: str, new: str = "") -> str:
        """Unified diff of a document between two commits; `old` "" is the first parent, `new` "" the current file."""
        ...

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, CommitSpan]:
        """The span of each of these documents (None: all) that has commits. Cached by HEAD."""
        ...

    def named(self, name: str) -> Sequence[Address] | None:
        """The documents that commits touched and whose path ends with a name, without suffix and as `fold` makes it.

        The path of its folder counts, too. None if the commits have not been read yet.
        """
        ...

    def latest(self, is_meant: Callable[[Address], bool], *, after: str = "") -> Iterator[tuple[Commit, bool]] | None:
        """The commits that last touched documents, as `last_touching`, one by one; None as there.

        Args:
            is_meant: Chooses among the documents that commits touched, such as those that are not there any more.
            after: As for `log`.

        Raises:
            NotFoundError: kind "revision": the branch has no commit `after`.
        """
        ...

    def last_touching(self, among: Collection[Address]) -> Sequence[tuple[Commit, bool]] | None:
        """The commits that last touched some documents, newest first, each with whether it took the document away.

        For a document that HEAD lacks, the commit that took it away. Each commit has its document as `addresses`.
        None if the commits have not been read yet; `log` has them then.
        """
        ...

    def touched_since(self, commit: str) -> set[Address] | None:
        """Documents that later commits touched; None if the commit is not an ancestor of HEAD or too far behind."""
        ...

    def differing(self, commit: str) -> set[Address]:
        """Documents that only one of HEAD and a commit has, or of which they have different versions.

        Raises:
            NotFoundError: no such commit.
            GitError: too many files differ.
        """
        ...

    def address_at(self, address: Address, commit: str) -> Address | None:
        """The address that a file had in a commit: the same if the commit has it, else that before its renames.

        None if the commit does not contain the file.

        Raises:
            NotFoundError: no such commit.
            InvalidInputError: not a revision.
        """
        ...

    def has(self, address: Address, commit: str) -> bool:
        """Whether a commit has a file at this very path, which takes no look at renames. Raises as `address_at`."""
        ...

    def renames(self, commit: str) -> Mapping[Address, Address]:
        """The old address of each file that a commit renamed, by its new address.

        Raises:
            InvalidInputError: not a revision.
        """
        ...

    def changed(self, commit: str, *, limit: int = 0) -> Mapping[Address, tuple[bytes | None, bytes | None]]:
        """The bytes of the first `limit` files (0: all) that a commit of the current branch changed, before and after.

        Raises:
            NotFoundError: the current branch has no such commit.
            InvalidInputError: not a revision, or a merge.
            GitError: the commit changed too many files.
        """
        ...

    def uncommitted(self, revisions: Mapping[Address, Revision]) -> set[Address]:
        """Documents that differ from HEAD apart from line ends, without those of repositories inside this one."""
        ...

    def working_changes(self, revisions: Mapping[Address, Revision]) -> tuple[set[Address], set[Address]]:
        """The documents of `uncommitted`, and those of HEAD whose files are gone; `revisions` has all that are there.

        Raises:
            GitError: HEAD has too many files to be listed.
        """
        ...

    def moved(self, addresses: Collection[Address]) -> Mapping[Address, Address]:
        """The new address of each document of HEAD whose file was renamed since; `addresses` has those that are there.

        Raises:
            GitError: HEAD has too many files to be listed.
        """
        ...

    def head(self) -> str:
        """Id of the current commit; "" without commits."""
        ...


class Repository(Protocol):
    """Explicit commits of written files, and pushes."""

    def commit(
        self,
        addresses: Sequence[Address] | None,
        message: str,
        *,
        author: Author | None = None,
        sign_off: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Commit the current files of the collection. Other staged or changed files stay as they are.

        Args:
            addresses: The files to commit (a removed one counts); None for all documents of the collection and its
                `kb.yaml` that differ from the last commit, including new ones, excluding hidden and ignored ones.
            message: The commit's message.
            author: The author, or None for the configured identity.
            sign_off: Whether to add `Signed-off-by` with the committer's name.
            progress: Called with the number of files read. If it raises `Stopped`, nothing was changed.

        Raises:
            NotFoundError: an address is neither a file nor in the last commit.
            GitError: there is nothing to commit, or Git failed.
            ReadOnlyError, UnavailableError: as for a transaction.
        """
        ...

    def push(self, remote: str = "origin", branch: str = "") -> str:
        """Push a branch ("" for the current one) to a configured remote. Returns one line that describes the result.

        Raises:
            GitError: no such remote or branch, or the push was rejected, refused or could not connect. The hint gives
                the next step; context `retryable` is 1 if the same call can succeed later.
        """
        ...


class Store(Protocol):
    """The files of one collection."""

    @property
    def name(self) -> str:
        """The folder's name."""
        ...

    @property
    def identity(self) -> str:
        """A stable key of this folder on this machine, for derived data. Never shown to callers."""
        ...

    @property
    def history(self) -> History:
        """The commits of the files."""
        ...

    @property
    def read_only_reason(self) -> str:
        """The reason why nothing can be written (no permission, detached HEAD, bare, ...); "" if writable."""
        ...

    def scan(self, *, names_only: bool = False) -> Iterator[tuple[Address, FileStat]]:
        """Every servable Markdown file, in no particular order; quickly with `names_only`: with metadata of zeros.

        Dot entries, `node_modules`, files that are not regular and links that leave the folder are skipped.
        """
        ...

    def skipped(self) -> list[tuple[str, str]]:
        """Relative path and reason of each file that looks like a document but was skipped by the last scan."""
        ...

    def ignores(self, address: Address) -> bool:
        """Whether ignore files exclude a file, so that it is not served though it may be there."""
        ...

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of a regular file inside the folder; None if there is none; StorageError if unreadable."""
        ...

    def read(self, address: Address) -> bytes:
        """The bytes of a regular file inside the folder.

        Raises:
            NotFoundError: no such file, or the file may not be served.
            StorageError: the file cannot be read.
        """
        ...

    def reading(self) -> AbstractContextManager[Callable[[Address], bytes]]:
        """A context with a function like `read` that is cheaper for many files in path order."""
        ...

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """Regular files directly in a folder (no trailing slash), except hidden ones and links; none if missing."""
        ...

    def folders(self, folder: str) -> list[str]:
        """Paths of the folders directly in a folder, except hidden ones and those that never contain documents."""
        ...

    def committing(self) -> Store:
        """The same files in a store that commits every write; without Git, this store itself."""
        ...

    @property
    def repository(self) -> Repository | None:
        """Explicit commits and pushes; None without a Git work tree."""
        ...

    @property
    def trash(self) -> Trash | None:
        """Deleted and replaced bytes that no commit contains; None for a store that is never written."""
        ...

    def transaction(self, message: str, author: Author | None = None) -> AbstractContextManager[Transaction]:
        """One write: locked across processes, durable, and (in a committing store) one commit at its end.

        Raises:
            ReadOnlyError: the store is read-only; the message is `read_only_reason`.
            UnavailableError: acquiring the lock timed out.
            StorageError, GitError: the write failed and was rolled back.
        """
        ...

    def recover(self) -> list[str]:
        """Finish or roll back interrupted writes of a killed process; one line per repair. Called at every start."""
        ...


class Index(Protocol):
    """All data derived from the files of one collection: catalogue, full text, links."""

    def sync(self, progress: Progress | None = None, *, afresh: bool = False) -> SyncReport:
        """Index the differences between the files and the index (`afresh`: all) until every file is searchable."""
        ...

    def update(self, addresses: Sequence[Address], timeout: float = 0.1) -> None:
        """Index these files (written, changed or deleted).

        On return, they are searchable by every process, unless indexing takes longer than `timeout` seconds. Then
        queries of this process wait for them, and other processes see them a moment later. Never raises.
        """
        ...

    def watch(self, on_change: Callable[[Sequence[Address]], None] | None = None) -> AbstractContextManager[None]:
        """While open, index outside changes as the file system reports them."""
        ...

    def listen(self, listener: Callable[[Sequence[Address], bool], None]) -> None:
        """Register a listener of changed documents, called from any thread; the flag: some may be added or removed."""
        ...

    def wait_watched(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until the folder is being watched. Returns whether it is."""
        ...

    def wait_ready(self, timeout: float) -> None:
        """Wait at most `timeout` seconds until the first full sync has ended.

        Raises:
            IndexingError: the sync has not ended in time; context holds `done` and `total`.
        """
        ...

    def wait_dated(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until the documents have the dates of the history. Returns whether they do."""
        ...

    def record(self, address: Address) -> Record | None:
        """The record of a document; None if the index does not contain it."""
        ...

    def revisions(self, filter_: Filter | None = None) -> dict[Address, Revision]:
        """The documents that match a filter (None: all), with their indexed revisions."""
        ...

    def by_id(self, identifier: str) -> list[Record]:
        """Documents with exactly this id (several if ids repeat)."""
        ...

    def find(self, reference: str, source: Address | None = None) -> Record | None:
        """The document that a reference (path, id, title or alias) names in `source`; None if none or ambiguous."""
        ...

    def nearest(self, reference: str, limit: int = 3) -> list[str]:
        """Ids most similar to an unknown reference, best first."""
        ...

    def beginning_with(self, name: str, limit: int) -> list[Record]:
        """Documents with a name by which links find them that begins with `name`, shortest title first."""
        ...

    def list(self, query: ListQuery) -> RecordPage:
        """Records by filter, sorted, with the exact total."""
        ...

    def records(self) -> Sequence[Record]:
        """All records by path. Those of unchanged documents are the same objects as before."""
        ...

    def statuses(self) -> Mapping[Address, Sequence[DeclaredStatus]]:
        """The declared statuses of documents and their sections, of those that declare any, by path.

        Opens no document. The mapping is shared between callers and never changed.
        """
        ...

    def citations(self, names: Sequence[str] = ()) -> Mapping[Address, Sequence[Citation]]:
        """The citations of the documents that have any, by path. Opens no document; shared, as `statuses`.

        With `names`, those of documents that cite something with one of these names, or a path that ends in one.
        """
        ...

    def search(self, query: SearchQuery) -> SearchResult:
        """Ranked documents with their best sections. Text with invalid syntax is searched as plain words.

        Raises:
            InvalidInputError: the text is blank.
        """
        ...

    def tags(self, filter_: Filter, prefix: str = "") -> list[tuple[str, int]]:
        """Tags with their number of documents, most frequent first, then by name."""
        ...

    def counts(self) -> Counts:
        """Totals over the collection."""
        ...

    def resolve(self, document: Document, lookup: LinkLookup | None = None) -> list[ResolvedLink]:
        """Links of a parsed document (not of the indexed one) with their targets, one for each of `document.links`."""
        ...

    def lookup(self) -> LinkLookup:
        """The names and files by which links find their targets, as of each call."""
        ...

    def surroundings(self) -> Surroundings:
        """The docs trees as of the last sync, and the text files that are not documents."""
        ...

    def same_name(self, address: Address) -> Sequence[Address]:
        """Other documents whose address differs from this one only in case or Unicode form, by address."""
        ...

    def dead_links(self) -> list[ResolvedLink]:
        """Links whose fragments name no part of their targets, by source, then order. Opens no document."""
        ...

    def fragments(self, addresses: Collection[Address]) -> dict[Address, Container[str]]:
        """The fragments that name a part of each of these documents. Opens no document."""
        ...

    def links_from(
        self, address: Address | None, containing: Sequence[str] = (), limit: int | None = None
    ) -> list[ResolvedLink]:
        """Links of a document (None: of all, by path) in order, at most `limit`, with one of the texts if any."""
        ...

    def links_to(
        self, address: Address, *, sentences: bool = True, sources: Sequence[Address] | None = None
    ) -> list[ResolvedLink]:
        """Links of other documents (None: of all) to a document or file, by source path, then order.

        `sentences` includes the sentence around each link, which reads the linking document.
        """
        ...

    def links_into(self, names: Sequence[str]) -> list[ResolvedLink]:
        """Links that name a collection by one of these names (`[[kb:id]]`) and nothing here, by source, then order."""
        ...

    def links_named(self, keys: Sequence[str], *, either_side: bool = False) -> list[ResolvedLink]:
        """Links whose target has one of these keys (`domain.links.link_key`), broken or not; by source, then order.

        `either_side` includes the sides of `[[a|b]]` that are not the page.
        """
        ...

    def links(self, around: Collection[Address] | None = None) -> list[tuple[Address, Address]]:
        """Every resolved link between two documents once, by source then target.

        Args:
            around: Documents, of which one is an end of each link; None for all links.
        """
        ...

    def hubs(self, limit: int) -> list[tuple[Address, int]]:
        """The documents to which most others link, each with their number; most first, then by path."""
        ...

    def orphans(self) -> list[Record]:
        """Documents that no other document links to, by path."""
        ...

    @property
    def names_version(self) -> tuple[int, int]:
        """Changes whenever names of documents or of other files do, by which links find their targets."""
        ...

    def broken(self, address: Address | None = None) -> list[ResolvedLink]:
        """Broken links of one document, or of all."""
        ...

    def findings(self) -> list[Record]:
        """Records that have findings, by path."""
        ...

    def document(self, address: Address) -> Document:
        """The document, read and parsed now.

        Raises:
            NotFoundError: no such document; context holds `nearest`.
        """
        ...

    def outlined(self, addresses: Sequence[Address]) -> Mapping[Address, OutlinedText]:
        """The sections of documents with their bytes. Documents that do not exist are omitted.

        Raises:
            StorageError: a file cannot be read.
        """
        ...

    def preferring_last(self) -> Index:
        """The same index for readers who prefer `b` in `[[a|b]]` if both sides or none exist; closed with this one."""
        ...

    @property
    def generation(self) -> int:
        """A number that grows with every indexed change."""
        ...

    def close(self) -> None:
        """Release all resources. The index remains usable for other processes."""
        ...


__all__ = ["History", "Index", "Progress", "Repository", "Revision", "Store", "Transaction"]
