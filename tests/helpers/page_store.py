"""An in-memory store of the pages of one generation, from which the embedded index is filled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn, cast

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, Commit, CommitSpan, FileStat, Revision
from commonplace.domain.cluster import SharedPage
from commonplace.domain.errors import NotFoundError, ReadOnlyError
from commonplace.domain.ports import Store
from commonplace.domain.records import unix_seconds

_NOBODY = Author("", "")


class PageStore:
    """`domain.ports.Store` of pages. Read-only, except that the owner changes `pages`.

    Args:
        name: Name of the base.
        identity: A key of this generation.
    """

    def __init__(self, name: str, identity: str) -> None:
        self.name = name
        self.identity = identity
        self.pages: dict[Address, SharedPage] = {}
        self.changes = 0
        """Number of changes; incremented by the owner."""
        self.history = _RecordDates(self)
        self.read_only_reason = "it is an index"
        self.repository = None
        self.trash = None

    def scan(self, *, names_only: bool = False) -> Iterator[tuple[Address, FileStat]]:
        """All pages."""
        del names_only
        return iter([(address, self._stat(page)) for address, page in self.pages.items()])

    def skipped(self) -> list[tuple[str, str]]:
        """Nothing."""
        return []

    def ignores(self, address: Address) -> bool:
        """No page."""
        del address
        return False

    def stat(self, address: Address) -> FileStat | None:
        """Size and revision of a page; None if there is none."""
        page = self.pages.get(address)
        return self._stat(page) if page else None

    def read(self, address: Address) -> bytes:
        """The bytes of a page."""
        page = self.pages.get(address)
        if page is None:
            raise NotFoundError(f"There is no document {address.path!r}.", kind="document")
        return page.document.raw

    @contextmanager
    def reading(self) -> Generator[Callable[[Address], bytes]]:
        """A context with `read`."""
        yield self.read

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """Pages directly in a folder."""
        return [(address, self._stat(page)) for address, page in self.pages.items() if address.folder == folder]

    def folders(self, folder: str) -> list[str]:
        """Folders directly in a folder."""
        before = f"{folder}/" if folder else ""
        inner = (page.folder for page in self.pages if page.folder.startswith(before) and page.folder != folder)
        return sorted({before + path[len(before) :].partition("/")[0] for path in inner})

    def committing(self) -> Store:
        """This store."""
        return cast("Store", self)

    def transaction(self, message: str, author: Author | None = None) -> NoReturn:
        """Raises ReadOnlyError."""
        del message, author
        raise ReadOnlyError(self.read_only_reason, kind="engine")

    def recover(self) -> list[str]:
        """An empty list: there are no interrupted writes."""
        return []

    @staticmethod
    def _stat(page: SharedPage) -> FileStat:
        state = int(page.record.revision[:12] or "0", 16)
        moment = (unix_seconds(page.record.updated) or 0) * 1_000_000_000
        return FileStat(len(page.document.raw), moment, moment, state)


class _RecordDates:
    """`domain.ports.History` with two commits for each page, dated by the page's record."""

    available = True

    def __init__(self, store: PageStore) -> None:
        self._store = store

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, CommitSpan]:
        """First and last commit of each page, with the created and updated dates of its record."""
        chosen = self._store.pages if addresses is None else addresses
        found_pairs = ((address, self._store.pages.get(address)) for address in chosen)
        return {
            address: CommitSpan(_commit_at(page.record.created), *[_commit_at(page.record.updated)] * 2)
            for address, page in found_pairs
            if page is not None
        }

    def count(self) -> int:
        """0: there are no commits."""
        return 0

    def named(self, name: str) -> Sequence[Address] | None:
        """None: there are no commits."""
        del name

    def latest(self, is_meant: Callable[[Address], bool], *, after: str = "") -> Iterator[tuple[Commit, bool]] | None:
        """None: there are no commits."""
        del is_meant, after

    def last_touching(self, among: Collection[Address]) -> Sequence[tuple[Commit, bool]] | None:
        """None: there are no commits."""
        del among

    def differing(self, commit: str) -> set[Address]:
        """An empty set."""
        del commit
        return set()

    def touched_since(self, commit: str) -> set[Address] | None:
        """None (unknown), so that all pages are dated again."""
        del commit

    def address_at(self, address: Address, commit: str) -> Address | None:
        """None: there are no commits."""
        del address, commit

    def has(self, address: Address, commit: str) -> bool:
        """False: there are no commits."""
        del address, commit
        return False

    def renames(self, commit: str) -> dict[Address, Address]:
        """Nothing."""
        del commit
        return {}

    def changed(self, commit: str, *, limit: int = 0) -> dict[Address, tuple[bytes | None, bytes | None]]:
        """Nothing."""
        del commit, limit
        return {}

    def moved(self, addresses: Collection[Address]) -> Mapping[Address, Address]:
        del addresses
        return {}

    def working_changes(self, revisions: Mapping[Address, Revision]) -> tuple[set[Address], set[Address]]:
        """Empty sets."""
        del revisions
        return set(), set()

    def uncommitted(self, revisions: Mapping[Address, Revision]) -> set[Address]:
        """An empty set."""
        del revisions
        return set()

    def head(self) -> str:
        """A text that changes with the pages."""
        return f"{self._store.changes:040x}"

    def log(
        self, address: Address | None, *, limit: int, offset: int = 0, after: str = "", below: str | None = None
    ) -> list[Commit]:
        """Nothing."""
        del address, limit, offset, after, below
        return []

    def versions(self, address: Address) -> Iterator[tuple[Commit, bytes]]:
        """Nothing."""
        del address
        return iter(())

    def read(self, address: Address, revision: str) -> bytes:
        """Refuse: there are no commits."""
        raise NotFoundError(f"There is no {address.path!r} at {revision[:12]}.", kind="revision")

    def diff(self, address: Address, old: str, new: str = "") -> str:
        """Refuse: there are no commits."""
        del new
        return self.read(address, old).decode()


def _commit_at(moment: str) -> Commit:
    return Commit(id="0" * 40, author=_NOBODY, when=unix_seconds(moment) or 0, message="")
