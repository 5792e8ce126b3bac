"""The store of a bare repository: the documents of its current branch, read from Git objects. Read-only."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager

from commonplace.domain.addresses import SKIPPED_FOLDERS, Address, parse_address
from commonplace.domain.changes import Author, FileStat
from commonplace.domain.errors import InvalidInputError, NotFoundError, ReadOnlyError
from commonplace.domain.ports import History, Transaction
from commonplace.store.git.objects import MODE_EXECUTABLE, MODE_FILE, MODE_FOLDER, TreeEntry
from commonplace.store.git.past.history import GitHistory
from commonplace.store.git.repository import GitRepository

_REFUSAL = "it is a bare repository; serve a clone of it to write"


class BareStore:
    """`domain.ports.Store` of a bare repository."""

    def __init__(self, repository: GitRepository, identity: str) -> None:
        self._repository = repository
        self._identity = identity
        self._history = GitHistory(repository, "", None)
        self._skipped: list[tuple[str, str]] = []

    @property
    def name(self) -> str:
        """The repository's name, without `.git`."""
        return self._repository.gitdir.name.removesuffix(".git")

    @property
    def identity(self) -> str:
        """A stable key of this repository on this machine."""
        return self._identity

    @property
    def history(self) -> History:
        """The commits of the repository."""
        return self._history

    @property
    def read_only_reason(self) -> str:
        """The reason why nothing can be written."""
        return _REFUSAL

    def scan(self) -> Iterator[tuple[Address, FileStat]]:
        """Every Markdown file of the current commit, in no particular order."""
        skipped: list[tuple[str, str]] = []
        pending = [("", self._repository.tree_of(self._repository.head))]
        while pending:
            prefix, tree = pending.pop()
            for name, entry in self._repository.entries(tree):
                address = _address(prefix + name, entry, skipped)
                if address is None:
                    continue
                if entry.mode == MODE_FOLDER:
                    pending.append((f"{prefix}{name}/", entry.id))
                else:
                    yield address, self._facts(entry)
        self._skipped = skipped

    def skipped(self) -> list[tuple[str, str]]:
        """Relative path and reason of the files that the last scan skipped."""
        return list(self._skipped)

    def stat(self, address: Address) -> FileStat | None:
        """Metadata that changes with the file's bytes. The times are 0."""
        entry = self._entry(address)
        return self._facts(entry) if entry else None

    def read(self, address: Address) -> bytes:
        """The bytes of a file in the current commit."""
        entry = self._entry(address)
        if entry is None:
            raise NotFoundError(f"No such file: {address}.", kind="document", path=address.path)
        return self._repository.content(entry.id)

    @contextmanager
    def reading(self) -> Generator[Callable[[Address], bytes]]:
        """A context with `read`."""
        yield self.read

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """Regular files directly in a folder of the current commit, except hidden ones."""
        entries = self._servable_in(folder)
        return [
            (address, self._facts(inner)) for address, inner in entries if inner.mode in {MODE_FILE, MODE_EXECUTABLE}
        ]

    def folders(self, folder: str) -> list[str]:
        """Paths of the folders directly in a folder of the current commit, except hidden ones."""
        entries = self._servable_in(folder)
        return [
            address.path
            for address, inner in entries
            if inner.mode == MODE_FOLDER and address.name not in SKIPPED_FOLDERS
        ]

    def _servable_in(self, folder: str) -> list[tuple[Address, TreeEntry]]:
        repository = self._repository
        root = repository.entry(repository.head, folder)
        found: list[tuple[Address, TreeEntry]] = []
        for name, inner in repository.entries(root.id) if root and root.mode == MODE_FOLDER else ():
            address = _servable(f"{folder}/{name}".removeprefix("/"))
            if address:
                found.append((address, inner))
        return found

    def committing(self) -> BareStore:
        """This store itself, because it is read-only."""
        return self

    @property
    def repository(self) -> None:
        """None: a bare repository has no work tree to commit from."""
        return

    @property
    def trash(self) -> None:
        """None: a bare repository is never written."""
        return

    def transaction(self, message: str, author: Author | None = None) -> AbstractContextManager[Transaction]:
        """Raises ReadOnlyError: a bare repository is never written."""
        del message, author
        raise ReadOnlyError(f"{self.name} cannot be written: {_REFUSAL}.", kind="collection")

    def recover(self) -> list[str]:
        """An empty list: a bare repository is never written."""
        return []

    def _entry(self, address: Address) -> TreeEntry | None:
        entry = self._repository.entry(self._repository.head, address.path)
        return entry if entry and entry.mode in {MODE_FILE, MODE_EXECUTABLE} else None

    def _facts(self, entry: TreeEntry) -> FileStat:
        return FileStat(self._repository.size(entry.id), 0, 0, int(entry.id[:15], 16))


def _address(path: str, entry: TreeEntry, skipped: list[tuple[str, str]]) -> Address | None:
    """The address of a file to serve or a folder to enter, else None; skipped documents are recorded with a reason."""
    name = path.rpartition("/")[2]
    if name.startswith(".") or name in SKIPPED_FOLDERS:
        return None
    try:
        address = parse_address(path)
    except InvalidInputError as error:
        skipped.append((path.encode("utf-8", "backslashreplace").decode(), str(error).partition(": ")[2].rstrip(".")))
        return None
    if entry.mode == MODE_FOLDER:
        return address
    if not address.is_document:
        return None
    if entry.mode in {MODE_FILE, MODE_EXECUTABLE}:
        return address
    skipped.append((path, "a link or a submodule"))
    return None


def _servable(path: str) -> Address | None:
    try:
        return parse_address(path)
    except InvalidInputError:
        return None
