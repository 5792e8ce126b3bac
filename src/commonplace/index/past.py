"""Other states of a folder, each with its own index: those of the past, and those that are proposed.

The index of a commit begins as a copy of the nearest existing index, which is the current one or that of another
commit. Rows are copied, and the full text's segments, which never change, are hard-linked. Documents are compared by
blob id, so only different ones are indexed. A complete index is never changed. The number of past indexes is limited;
the least recently used ones are deleted. The index of a proposal begins as a copy of the current one.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import shutil
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakKeyDictionary

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat, Revision
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.markdown.link_sides import PageSide
from commonplace.domain.past import PastCommits
from commonplace.domain.ports import Index, Store
from commonplace.domain.proposals import ProposalBranches, ProposalStore, Proposer, TrialStore
from commonplace.domain.query import ListQuery
from commonplace.domain.records import day_number, iso_timestamp
from commonplace.index.catalogue.database import Catalogue, grow, read_meta, write_meta
from commonplace.index.catalogue.document_rows import GIVEN_CREATED, GIVEN_UPDATED, encode
from commonplace.index.catalogue.links import resolve_links
from commonplace.index.catalogue.other_files import OtherFiles
from commonplace.index.index_files import CATALOGUE_FILE, FULLTEXT_FOLDER, LOCK_FILE
from commonplace.index.index_version import SCHEMA_VERSION
from commonplace.index.ingestion import BatchLock
from commonplace.index.local import LocalIndex

log = logging.getLogger(__name__)

MAX_STATES = 8
"""Maximum number of past states of a folder whose indexes are stored."""
MAX_OPEN = 4
"""Maximum number of unused past states that a process has open."""
STALE_COPY_SECONDS = 3600.0
"""Age in seconds above which an incomplete copy is deleted, because its process was killed."""
FOLLOW_SECONDS = 5.0
"""Timeout in seconds for indexing what has changed before a proposal is shown; queries wait for the rest."""
COPY_PREFIX = "copy-"
LEASE_SUFFIX = ".lease"


@dataclass(slots=True)
class _OpenState:
    """A past state that is open."""

    store: Store
    index: LocalIndex
    lease: int | None
    """File descriptor of the lock that prevents deletion of the index; None if the folder is not writable."""
    users: int = field(default=0)


class IndexedStates:
    """States of a folder, each with an index that begins as a copy of another one. Thread-safe.

    Args:
        live: Folder of the current index.
        folder: Folder of the states' indexes.
        side: The side of `[[a|b]]` that is the page.
        in_title_case: Whether titles that are names of files are shown in title case.
    """

    def __init__(self, live: Path, folder: Path, side: PageSide, in_title_case: Callable[[], bool] = bool) -> None:
        self._side = side
        self._in_title_case = in_title_case
        self._live = live
        self._folder = folder
        self._open: OrderedDict[str, _OpenState] = OrderedDict()
        self._lock = threading.Lock()
        self._opening = threading.Lock()

    @contextmanager
    def _state(self, key: str, store: Callable[[], Store]) -> Generator[_OpenState]:
        """A state and its index. The first call for a state indexes the differing documents."""
        state = self._used(key)
        if state is None:
            with self._opening:
                state = self._used(key) or self._open_state(store(), key)
        try:
            yield state
        finally:
            with self._lock:
                state.users -= 1
            self._shrink(MAX_OPEN)

    def close(self) -> None:
        """Release all resources."""
        self._shrink(0)

    def _used(self, key: str) -> _OpenState | None:
        """The open state of this key, with one more user; None if it is not open."""
        with self._lock:
            state = self._open.get(key)
            if state is not None:
                state.users += 1
                self._open.move_to_end(key)
            return state

    def _open_state(self, store: Store, key: str) -> _OpenState:
        with ExitStack() as on_error:
            lease = self._leased(key)
            on_error.callback(_release, lease)
            self._copy_nearest(store, key)
            index = self._new_index(store, self._folder / key)
            on_error.callback(index.close)
            index.sync()
            index.list(ListQuery(sort="updated", limit=1))  # waits until the history is read for dates
            on_error.pop_all()
        state = _OpenState(store, index, lease, users=1)
        with self._lock:
            self._open[key] = state
        self._delete_oldest()
        return state

    def _new_index(self, store: Store, folder: Path) -> LocalIndex:
        return LocalIndex(store, folder, side=self._side, in_title_case=self._in_title_case)

    def _shrink(self, most: int) -> None:
        """Close the least recently used states until `most` are open, except those in use."""
        with self._lock:
            idle = [key for key, state in self._open.items() if not state.users]
            closed = [self._open.pop(key) for key in idle[: max(0, len(self._open) - most)]]
        for state in closed:
            state.index.close()
            _release(state.lease)

    def _copy_nearest(self, store: Store, key: str) -> None:
        """Copy the index with the fewest differing documents, as the starting point for the index of a commit."""
        target = self._folder / key
        if target.exists():
            return
        stats = {address.path: stat for address, stat in store.scan()}
        best = self._nearest(stats)
        if best is None:
            return
        copy = self._folder / f"{COPY_PREFIX}{os.getpid()}-{threading.get_ident()}"
        try:
            copy_index(best, copy, store, stats)
            copy.rename(target)
        except (OSError, sqlite3.Error, KnowledgeError) as error:
            log.info("%s: a state is indexed from nothing: %s", store.name, type(error).__name__)
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    def _nearest(self, stats: Mapping[str, FileStat]) -> Path | None:
        """Folder of the index with the fewest documents that differ from these; None if none has any of them."""
        best, least = None, len(stats)
        for source in self._sources():
            revisions = revisions_of(source)
            if revisions is None:
                continue
            same = sum(int(revisions[path][:15], 16) == stat.inode for path, stat in stats.items() if path in revisions)
            differing = len(stats) + len(revisions) - 2 * same
            if differing < least:
                best, least = source, differing
        return best

    def _sources(self) -> Iterator[Path]:
        yield self._live
        with suppress(OSError):
            yield from (path.with_suffix("") for path in self._folder.glob(f"*{LEASE_SUFFIX}"))

    def _leased(self, key: str) -> int | None:
        """A shared lock on a state's index: while it is held, no process deletes the index."""
        path = self._folder / f"{key}{LEASE_SUFFIX}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            while True:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_SH)  # exclusive locks are held only during a deletion
                os.utime(descriptor)
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), path.stat()):
                        return descriptor
                os.close(descriptor)
        except OSError:
            return None  # the index is then in a temporary folder

    def _delete_oldest(self) -> None:
        """Delete the least recently used states beyond `MAX_STATES`, except those that a process has open."""
        with suppress(OSError):
            leases = sorted(self._folder.glob(f"*{LEASE_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
            for path in leases[: max(0, len(leases) - MAX_STATES)]:
                self._delete(path)
            for copy in self._folder.glob(f"{COPY_PREFIX}*"):
                if time.time() - copy.stat().st_mtime > STALE_COPY_SECONDS:
                    shutil.rmtree(copy, ignore_errors=True)

    def _delete(self, lease: Path) -> None:
        descriptor = os.open(lease, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lease.with_suffix(""), ignore_errors=True)
            lease.unlink()
        except BlockingIOError:
            return
        finally:
            os.close(descriptor)


class IndexedPast(IndexedStates):
    """`domain.past.PastStates`. Thread-safe.

    Args:
        commits: The commits.
        live: Folder of the current index.
        folder: Folder of the past states' indexes.
        side: The side of `[[a|b]]` that is the page.
        in_title_case: Whether titles that are names of files are shown in title case.
    """

    def __init__(
        self,
        commits: PastCommits,
        live: Path,
        folder: Path,
        side: PageSide = PageSide.EXISTING,
        in_title_case: Callable[[], bool] = bool,
    ) -> None:
        super().__init__(live, folder, side, in_title_case)
        self._commits = commits

    @property
    def commits(self) -> PastCommits:
        """The commits."""
        return self._commits

    @contextmanager
    def opened(self, commit: str) -> Generator[tuple[Store, Index]]:
        """The files of a commit and their index. The first call for a commit indexes the differing documents."""
        with self._state(self._commits.key(commit), lambda: self._commits.store(commit)) as state:
            yield state.store, state.index


class IndexedProposals(IndexedStates):
    """`domain.proposals.ProposalStates`. Thread-safe.

    The index of a proposal follows the served files and the proposal's branch: both are looked at when it is opened.

    Args:
        branches: The proposals.
        live: The index of the served files.
        place: Its folder.
        folder: Folder of the proposals' indexes.
        new_index: Opens the index of a store in a folder.
    """

    def __init__(
        self,
        branches: ProposalBranches,
        live: LocalIndex,
        place: Path,
        folder: Path,
        new_index: Callable[[Store, Path], LocalIndex],
    ) -> None:
        super().__init__(place, folder, PageSide.EXISTING)
        self._branches = branches
        self._served = live
        self._create = new_index
        self._indexed: WeakKeyDictionary[Index, dict[Address, Revision]] = WeakKeyDictionary()
        """The files of the proposal that an index has, with their revisions."""
        self._waiting: WeakKeyDictionary[Index, set[Address]] = WeakKeyDictionary()
        """The served files that have changed since an index was last brought up to date."""
        self._trial, self._trying = branches.trial(), threading.Lock()
        self._trial_key = f"tried-{secrets.token_hex(8)}"
        """Key of the index of trials, which only this process has."""
        live.listen(self._served_changed)

    @property
    def branches(self) -> ProposalBranches:
        """The proposals."""
        return self._branches

    @contextmanager
    def opened(self, identifier: str, proposer: Proposer | None = None) -> Generator[tuple[Store, Index]]:
        """The served files with the changes of a proposal, and their index."""
        store = self._branches.store(identifier, proposer)
        with self._state(identifier, lambda: self._branches.store(identifier)) as state:
            self._follow(store, state.index)
            yield store, state.index

    @contextmanager
    def tried(self, contents: Mapping[Address, bytes | None]) -> Generator[tuple[Store, Index]]:
        """The served files with other contents, and their index, which one trial after the other uses."""
        with self._trying:
            self._trial.contents = contents
            with self._state(self._trial_key, lambda: self._trial) as state:
                self._follow(self._trial, state.index)
                yield self._trial, state.index

    def _new_index(self, store: Store, folder: Path) -> LocalIndex:
        index = self._create(store, folder)
        with self._lock:
            self._waiting[index] = set()
        return index

    def _nearest(self, stats: Mapping[str, FileStat]) -> Path | None:
        del stats
        return self._live if revisions_of(self._live) is not None else None

    def _follow(self, store: ProposalStore | TrialStore, index: LocalIndex) -> None:
        """Index what has changed in the proposal and among the served files since the last call."""
        self._served.by_id("")  # waits for the writes that were acknowledged, and so for their notices
        now = dict(store.changed())
        with self._lock:
            before, self._indexed[index] = self._indexed.get(index, {}), now
            changed, self._waiting[index] = self._waiting.get(index, set()), set()
        changed |= {address for address in {*before, *now} if before.get(address) != now.get(address)}
        if changed:
            index.update(sorted(changed), FOLLOW_SECONDS)

    def _served_changed(self, addresses: Sequence[Address], listing: bool) -> None:
        del listing
        with self._lock:
            for waiting in self._waiting.values():
                waiting.update(addresses)


def _release(lease: int | None) -> None:
    if lease is not None:
        with suppress(OSError):
            os.close(lease)


# Copies an index as the starting point for the index of another state of the same folder.


_LOCKS = ".lock"
"""Suffix of the full text's lock files, which a copy must not share."""


def revisions_of(folder: Path) -> dict[str, str] | None:
    """The revisions of an index's documents by path; None unless the index is complete and of this version."""
    try:
        with closing(_reading(folder / CATALOGUE_FILE)) as connection:
            if read_meta(connection, "version") != SCHEMA_VERSION or not read_meta(connection, "complete"):
                return None
            return dict(connection.execute("SELECT path, revision FROM files").fetchall())
    except sqlite3.Error:
        return None


def copy_index(source: Path, target: Path, store: Store, files: Mapping[str, FileStat]) -> None:
    """Copy an index to a new folder, as the starting point for the index of another store.

    Documents whose revision equals that of the store's file count as indexed. Links to files that are not documents are
    resolved again, and dates are set again from the store's history.

    Args:
        source: Folder of the index. Its full text must not be written during the copy.
        target: A folder that does not exist.
        store: The files of the new index.
        files: Metadata of the store's documents; `inode` is the first 15 hex digits of the blob id.

    Raises:
        OSError, sqlite3.Error: the copy failed.
        UnavailableError: acquiring the lock timed out.
    """
    target.mkdir(parents=True)
    with BatchLock(source / LOCK_FILE).held():
        with (
            closing(_reading(source / CATALOGUE_FILE)) as live,
            closing(sqlite3.connect(target / CATALOGUE_FILE)) as copied,
        ):
            live.backup(copied)
            copied.execute("PRAGMA journal_mode = WAL")
        shutil.copytree(
            source / FULLTEXT_FOLDER,
            target / FULLTEXT_FOLDER,
            ignore=shutil.ignore_patterns(f"*{_LOCKS}"),
            copy_function=_linked,
        )
    catalogue = Catalogue(target / CATALOGUE_FILE)
    try:
        with catalogue.writing(batch=True) as connection:
            _adapt(connection, store, files)
    finally:
        catalogue.close()


def _adapt(connection: sqlite3.Connection, store: Store, files: Mapping[str, FileStat]) -> None:
    _limit_dates(connection, iso_timestamp(max((stat.mtime_ns for stat in files.values()), default=0) / 1e9))
    connection.executemany(
        "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?"
        " WHERE path = ? AND substr(revision, 1, 15) = ?",
        ((*stat, path, f"{stat.inode:015x}") for path, stat in files.items()),
    )
    others = OtherFiles(store)
    # Two statements, because each can use an index, so that only the few affected links are read.
    connection.execute(
        "INSERT OR IGNORE INTO unsettled SELECT key FROM links WHERE attachment IS NOT NULL AND key <> ''"
    )
    connection.execute(
        "INSERT OR IGNORE INTO unsettled SELECT l.key FROM json_each(?) other CROSS JOIN links l ON l.key = other.value"
        " WHERE l.target IS NULL AND l.key <> ''",
        (encode(others.keys()),),
    )
    connection.execute("DELETE FROM unreadable")
    resolve_links(connection, store, others)
    grow(connection, "generation")


def _limit_dates(connection: sqlite3.Connection, latest: str) -> None:
    """Limit the documents' times to that of the commit, until they are dated by its history.

    Most times in the source are correct already, and only changed rows cost an update of the catalogue's indexes.
    """
    day = day_number(latest)
    connection.execute(
        "UPDATE files SET created = ?1, created_day = ?2 WHERE created > ?1 AND NOT given & ?3",
        (latest, day, GIVEN_CREATED),
    )
    connection.execute(
        "UPDATE files SET updated = ?1, updated_day = ?2 WHERE updated > ?1 AND NOT given & ?3",
        (latest, day, GIVEN_UPDATED),
    )
    write_meta(connection, "dated", "")


def _linked(source: str, target: str) -> str:
    """Create a hard link to a file; a copy if the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
