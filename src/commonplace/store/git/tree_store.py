"""A read-only store of the documents of one commit, read from Git objects."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from commonplace.domain.addresses import SKIPPED_FOLDERS, Address, address_or_none, is_document_path, parse_address
from commonplace.domain.changes import Author, FileStat
from commonplace.domain.errors import GitError, InvalidInputError, ReadOnlyError
from commonplace.domain.ports import History, Transaction
from commonplace.store.git.objects import MODE_EXECUTABLE, MODE_FILE, MODE_FOLDER, TreeEntry
from commonplace.store.git.repository import GitRepository
from commonplace.store.names import missing_file, printable

MAX_SERVED_BYTES = 24_000_000
"""Maximum size of a document in bytes, because a few pushed kilobytes can expand to a blob of any size."""
MAX_SERVED_ENTRIES = 500_000
"""Maximum number of files and folders of a commit, because a few pushed trees can expand to any number."""
Hides = Callable[[str, bool], bool]
"""Returns whether an entry is ignored, by its path and whether it is a folder. Folders above it are not considered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSource:
    """The files that a `TreeStore` serves: the repository, the commit, the folder and the ignore rules."""

    repository: GitRepository
    commit: Callable[[], str]
    """Returns the id of the commit; "" before the first one."""
    prefix: str = ""
    """Path from the repository's root to the folder: "" or a path with a trailing slash."""
    hides: Hides = lambda _path, _is_folder: False
    mtime_ns: int = 0
    """Modification time of every file, in nanoseconds since the epoch."""


class TreeStore:
    """`domain.ports.Store` of a commit's files.

    Args:
        name: The folder's name.
        identity: A stable key of the folder on this machine.
        source: The files.
        history: The commits up to that one.
        refusal: The reason why nothing can be written.
    """

    def __init__(self, name: str, identity: str, source: TreeSource, history: History, refusal: str) -> None:
        self._name = name
        self._identity = identity
        self._source = source
        self._history = history
        self._refusal = refusal
        self._skipped: list[tuple[str, str]] = []

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._name

    @property
    def identity(self) -> str:
        """A stable key of this folder on this machine."""
        return self._identity

    @property
    def history(self) -> History:
        """The commits up to this one."""
        return self._history

    @property
    def read_only_reason(self) -> str:
        """The reason why nothing can be written."""
        return self._refusal

    def scan(self, *, names_only: bool = False) -> Iterator[tuple[Address, FileStat]]:
        """Every Markdown file of the commit, in no particular order."""
        del names_only
        for address, entry in self._documents():
            facts = self._facts(entry)
            if facts.size <= MAX_SERVED_BYTES:
                yield address, facts
            else:
                self._skipped.append((address.path, f"it has more than {MAX_SERVED_BYTES:,} bytes"))

    def skipped(self) -> list[tuple[str, str]]:
        """Relative path and reason of the files that the last scan skipped."""
        return list(self._skipped)

    def ignores(self, address: Address) -> bool:
        """Whether an ignore file excludes a file, or a folder above it."""
        return self._hidden(address)

    def stat(self, address: Address) -> FileStat | None:
        """Metadata that changes with the file's bytes; None for a missing or ignored file."""
        entry = self._entry(address)
        return self._facts(entry) if entry else None

    def read(self, address: Address) -> bytes:
        """The bytes of a file in the commit."""
        entry = self._entry(address)
        if entry is None:
            raise missing_file(address)
        return self._source.repository.content(entry.id)

    @contextmanager
    def reading(self) -> Generator[Callable[[Address], bytes]]:
        """A context with `read`."""
        yield self.read

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """Regular files directly in a folder of the commit, except hidden ones."""
        entries = self._servable_in(folder)
        return [
            (address, self._facts(inner)) for address, inner in entries if inner.mode in {MODE_FILE, MODE_EXECUTABLE}
        ]

    def folders(self, folder: str) -> list[str]:
        """Paths of the folders directly in a folder of the commit, except hidden ones."""
        entries = self._servable_in(folder)
        return [
            address.path
            for address, inner in entries
            if inner.mode == MODE_FOLDER and address.name not in SKIPPED_FOLDERS
        ]

    def committing(self) -> TreeStore:
        """This store itself, because it is read-only."""
        return self

    @property
    def repository(self) -> None:
        """None: there is no work tree to commit from."""
        return

    @property
    def trash(self) -> None:
        """None: nothing is ever written."""
        return

    def transaction(self, message: str, author: Author | None = None) -> AbstractContextManager[Transaction]:
        """Raises ReadOnlyError."""
        del message, author
        raise ReadOnlyError(f"{self.name} cannot be written: {self._refusal}.", kind="collection")

    def recover(self) -> list[str]:
        """An empty list: nothing is ever written."""
        return []

    def _documents(self) -> Iterator[tuple[Address, TreeEntry]]:
        """Every document of the commit. Afterwards `skipped` lists the documents that were skipped."""
        repository, hides = self._source.repository, self._source.hides
        self._skipped = skipped = list[tuple[str, str]]()
        pending = [("", self._root())]
        seen = 0
        while pending:
            folder, tree = pending.pop()
            for name, entry in repository.entries(tree):
                seen += 1
                if seen > MAX_SERVED_ENTRIES:
                    raise GitError(
                        f"The commit has more than {MAX_SERVED_ENTRIES:,} files and folders.",
                        kind="repository",
                        hint="Serve a repository of its own for these pages; git ls-tree -r HEAD shows what is in it.",
                    )
                path = folder + name
                address = _address(path, entry, skipped)
                if address is None or hides(path, entry.mode == MODE_FOLDER):
                    continue
                if entry.mode == MODE_FOLDER:
                    pending.append((f"{path}/", entry.id))
                else:
                    yield address, entry

    def _root(self) -> str:
        """Id of the folder's tree; "" if the commit does not have the folder."""
        repository, folder = self._source.repository, self._source.prefix.rstrip("/")
        if not folder:
            return repository.tree_of(self._source.commit())
        entry = repository.entry(self._source.commit(), folder)
        return entry.id if entry and entry.mode == MODE_FOLDER else ""

    def _servable_in(self, folder: str) -> list[tuple[Address, TreeEntry]]:
        repository = self._source.repository
        path = f"{self._source.prefix}{folder}".rstrip("/")
        root = repository.entry(self._source.commit(), path) if path else None
        tree = root.id if root and root.mode == MODE_FOLDER else "" if path else self._root()
        addresses: list[tuple[Address, TreeEntry]] = []
        for name, inner in repository.entries(tree):
            address = address_or_none(f"{folder}/{name}".removeprefix("/"))
            if address:
                addresses.append((address, inner))
        return addresses

    def _entry(self, address: Address) -> TreeEntry | None:
        entry = self._looked_up(self._source.prefix + address.path)
        if entry is None or entry.mode not in {MODE_FILE, MODE_EXECUTABLE}:
            return None
        if not address.is_document:
            return entry
        is_served = self._source.repository.size(entry.id) <= MAX_SERVED_BYTES and not self._hidden(address)
        return entry if is_served else None

    def _looked_up(self, path: str) -> TreeEntry | None:
        """The entry at a path from the repository's root; None if there is none."""
        return self._source.repository.entry(self._source.commit(), path)

    def _hidden(self, address: Address) -> bool:
        if address.skipped_folder:
            return True
        parts = address.path.split("/")
        counts = range(1, len(parts) + 1)
        return any(self._source.hides("/".join(parts[:count]), count < len(parts)) for count in counts)

    def _facts(self, entry: TreeEntry) -> FileStat:
        size = self._source.repository.size(entry.id)
        return FileStat(size, self._source.mtime_ns, 0, int(entry.id[:15], 16))


def _address(path: str, entry: TreeEntry, skipped: list[tuple[str, str]]) -> Address | None:
    """The address of a served file or folder; otherwise None, and a skipped document is recorded with a reason."""
    name = path.rpartition("/")[2]
    is_folder = entry.mode == MODE_FOLDER
    if name.startswith(".") or name in SKIPPED_FOLDERS or not (is_folder or is_document_path(name)):
        return None
    try:
        address = parse_address(path)
    except InvalidInputError as error:
        skipped.append((printable(path), str(error).rpartition(": ")[2].rstrip(".")))
        return None
    if is_folder or entry.mode in {MODE_FILE, MODE_EXECUTABLE}:
        return address
    skipped.append((printable(path), "a link or a submodule"))
    return None
