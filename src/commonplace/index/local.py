"""Local implementation of the index port, on catalogue and full text."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Container, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.citations import Citation
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, OutlinedText
from commonplace.domain.errors import IndexingError, KnowledgeError, NotFoundError
from commonplace.domain.foreground import give_way
from commonplace.domain.links import LinkLookup, NamedDocument
from commonplace.domain.markdown.link_sides import PageSide
from commonplace.domain.ports import Progress, Store
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
from commonplace.domain.sites import SiteTree, Surroundings
from commonplace.domain.status import DeclaredStatus
from commonplace.index import references
from commonplace.index.catalogue import listing
from commonplace.index.catalogue.database import read_meta, read_number, stored_sites
from commonplace.index.catalogue.document_rows import (
    citations_by_address,
    document_key,
    fragments_of,
    record_at,
    records_where,
    revisions_in,
    statuses_by_address,
)
from commonplace.index.catalogue.links import NAMED
from commonplace.index.catalogue.other_files import DiskStore
from commonplace.index.document_dates import DateUpdater
from commonplace.index.index_files import DAMAGE_ERRORS, IndexFiles, IndexView, OpenIndexFiles
from commonplace.index.ingestion import MAX_SMALL_UPDATE, Outcome
from commonplace.index.links import LinkQueries, resolve_all, with_sentences
from commonplace.index.process import UpdateQueue, freeze_objects
from commonplace.index.sites import SiteFinder, is_configuration
from commonplace.index.watcher import ChangeNotifier, FileChanges, IndexListener, IndexState, Watcher

log = logging.getLogger(__name__)

OWN_UPDATES_SECONDS = 60.0
"""Timeout in seconds after which changes are indexed even if updates of this process's own writes are unfinished."""
DATES_WAIT_SECONDS = 10.0
"""Timeout in seconds for queries on created or updated times while history is being read."""
UPDATE_SECONDS = 0.1
"""Default timeout in seconds for an update, which continues in the background."""
SETTLED_SECONDS = 30.0
"""Timeout in seconds for earlier updates that a query waits for."""

Result = TypeVar("Result")


class LocalIndex:
    """Local implementation of `domain.ports.Index`.

    Args:
        store: The files.
        folder: Preferred folder of the index.
        link_roots: The setting `link_roots`: `URL=FOLDER` each.
        language: The reader's language, for the order of translations.
        side: The side of `[[a|b]]` that is the page.
        in_title_case: Whether titles that are names of files are shown in title case.

    Raises:
        StorageError: no location is writable.
        ValueError: one of the link roots is not of the form `URL=FOLDER`.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        link_roots: Sequence[str] = (),
        language: str = "en",
        side: PageSide = PageSide.EXISTING,
        in_title_case: Callable[[], bool] = bool,
    ) -> None:
        self._store = store
        self._side = side
        self._language = language
        self._site_finder = SiteFinder(store, link_roots)
        self._open = OpenIndexFiles(store, folder, self._filled, in_title_case)
        self._date_updater = DateUpdater(store, self._open.catalogue)
        self._flush_worker = FlushWorker(self._flush)
        self._updates = UpdateQueue(store.name, self._update)
        self._ready = threading.Event()
        self._watched = threading.Event()
        self._steps = (0, 0)
        self._notifier = ChangeNotifier(self._state_of)

    def sync(self, progress: Progress | None = None, *, afresh: bool = False) -> SyncReport:
        """Compare every file with the index and index the differences; with `afresh`, rebuild the index first."""
        if afresh:
            self._open.rebuild()
        begun = self._ready.is_set()
        outcome = self._sync(progress)
        if begun:
            self._notifier.notify(self._notifier.changed(outcome.changed))
        return SyncReport(
            added=outcome.added,
            updated=outcome.updated,
            removed=outcome.removed,
            unreadable=tuple(sorted({**dict(self._store.skipped()), **outcome.unreadable}.items())),
        )

    def update(self, addresses: Sequence[Address], timeout: float = UPDATE_SECONDS) -> None:
        """Index these files. Files that fail are logged and retried by the next scan."""
        self._updates.run(tuple(addresses), timeout)

    def listen(self, listener: IndexListener) -> None:
        """Notify a listener of every change from now on."""
        self._notifier.listen(listener)

    @contextmanager
    def watch(self, on_change: Callable[[Sequence[Address]], None] | None = None) -> Generator[None]:
        """Index outside changes, and report the changed documents."""
        if not isinstance(self._store, DiskStore):
            log.info("%s: not a folder that can be watched", self._store.name)
            self._watched.set()
            yield
            return
        watcher = Watcher(self._store.root, lambda changes: self._ingest(changes, on_change))
        watcher.start()
        self._watched.set()
        try:
            yield
        finally:
            watcher.stop()

    def wait_watched(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until the folder is being watched. Returns whether it is."""
        return self._watched.wait(timeout)

    def wait_ready(self, timeout: float) -> None:
        """Wait until the first full sync of this process has ended."""
        if not self._ready.wait(timeout):
            done, total = self._steps
            progress = f": {done:,} of {total:,} files are done" if done < total else ""
            said = f"The index is still being built{progress}."
            raise IndexingError(said, kind="index", hint="Try again in a few seconds.", done=done, total=total)

    def wait_dated(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until the documents have the dates of the history. Returns whether they do."""
        return self._date_updater.wait(timeout)

    def record(self, address: Address) -> Record | None:
        """The record of a document; None if the index does not contain it."""
        return self._query(lambda view: record_at(view.connection, address.path))

    def revisions(self, filter_: Filter | None = None) -> dict[Address, Revision]:
        """Documents with their indexed revisions."""
        if filter_ is None:
            return dict(self._query(lambda view: view.cached("revisions", revisions_in)))
        self._wait_dated(filter_, "path")
        return self._query(lambda view: revisions_in(view.connection, view.search().keys(filter_)))

    def by_id(self, identifier: str) -> list[Record]:
        """Documents with this id, by path."""
        return self._query(lambda view: records_where(view.connection, "f.ident = ?", (identifier,)))

    def find(self, reference: str, source: Address | None = None) -> Record | None:
        """The document that a reference names."""
        return self._query(lambda view: references.find(view.connection, self._store, reference, source))

    def nearest(self, reference: str, limit: int = 3) -> list[str]:
        """The ids that are most similar to an unknown reference."""
        return self._query(lambda view: view.names.nearest(view.connection, reference, limit))

    def beginning_with(self, name: str, limit: int) -> list[Record]:
        """The records of which a file name, id, title or alias begins with `name`, shortest title first."""
        return self._query(lambda view: references.beginning_with(view.connection, name, limit))

    def list(self, query: ListQuery) -> RecordPage:
        """A page of the records that match a filter, sorted."""
        self._wait_dated(query.filter, query.sort)
        return self._query(
            lambda view: listing.list_records(view.connection, view.cache, query, self._with_fields(view, query.filter))
        )

    def records(self) -> Sequence[Record]:
        """All records by path. Those of unchanged documents are the same objects as before."""
        return self._query(IndexView.records)

    def statuses(self) -> Mapping[Address, Sequence[DeclaredStatus]]:
        """The declared statuses of documents and sections. Shared, so never to be changed."""
        return self._query(lambda view: view.cached("statuses", statuses_by_address))

    def citations(self, names: Sequence[str] = ()) -> Mapping[Address, Sequence[Citation]]:
        """The citations of the documents that have any, or that cite something with one of these names."""
        if names:
            return self._query(lambda view: citations_by_address(view.connection, names))
        return self._query(lambda view: view.cached("citations", citations_by_address))

    def search(self, query: SearchQuery) -> SearchResult:
        """Ranked documents with their best sections."""
        self._wait_dated(query.filter, query.sort)
        return self._query(lambda view: view.search(self._language, self._side).answer(query))

    def tags(self, filter_: Filter, prefix: str = "") -> list[tuple[str, int]]:
        """Tags with their number of documents."""
        self._wait_dated(filter_, "path")

        def counted(view: IndexView) -> list[tuple[str, int]]:
            return listing.count_tags(view.connection, filter_, prefix, self._with_fields(view, filter_))

        if filter_ != Filter():
            return self._query(counted)
        return list(self._query(lambda view: view.cached(("tags", prefix), lambda _: counted(view))))

    def counts(self) -> Counts:
        """Totals over the collection."""

        def counted(view: IndexView) -> Counts:
            return view.cached("counts", lambda connection: replace(listing.count_all(connection), bytes=view.size()))

        return self._query(counted)

    def resolve(self, document: Document, lookup: LinkLookup | None = None) -> list[ResolvedLink]:
        """The links of a parsed document, with their targets by a lookup; by the index if None."""
        if lookup is not None:
            return resolve_all(lookup, document, self._side)

        def resolved(view: IndexView) -> list[ResolvedLink]:
            catalogue = view.lookup(self._store)
            catalogue.prepare(document.links)
            return resolve_all(catalogue, document, self._side)

        return self._query(resolved)

    def lookup(self) -> LinkLookup:
        """The names and files by which links find their targets."""
        return IndexLookup(self._query, self._store)

    def surroundings(self) -> Surroundings:
        """The docs trees as of the last sync, and the text files that are not documents."""
        return self._query(
            lambda view: Surroundings(
                stored_sites(view.connection), view.other_files.texts(), view.other_files.count(".canvas")
            )
        )

    def same_name(self, address: Address) -> list[Address]:
        """Other documents whose address differs only in case or Unicode form, by address."""
        return self._query(lambda view: references.same_name(view.connection, address))

    def dead_links(self) -> list[ResolvedLink]:
        """Links whose fragments name no part of their targets. Opens no document."""
        return self._query(lambda view: self._links(view).dead())

    def fragments(self, addresses: Collection[Address]) -> dict[Address, Container[str]]:
        """The fragments that name a part of each of these documents. Opens no document."""
        keys = {document_key(address.path): address for address in addresses}
        return self._query(lambda view: {keys[key]: names for key, names in fragments_of(view.connection, list(keys))})

    def links_from(
        self, address: Address | None, containing: Sequence[str] = (), limit: int | None = None
    ) -> list[ResolvedLink]:
        """Links of a document, or of all."""

        def links(view: IndexView) -> list[ResolvedLink]:
            return self._links(view).of(address, containing, view.lookup(self._store) if address else None, limit)

        return self._query(links)

    def links_to(
        self, address: Address, *, sentences: bool = True, sources: Sequence[Address] | None = None
    ) -> list[ResolvedLink]:
        """Links of other documents to this one, with their sentences if requested."""
        links = self._query(lambda view: self._links(view).to(address, view.lookup(self._store), sources))
        return with_sentences(self._store, links) if sentences else links

    def links_into(self, names: Sequence[str]) -> list[ResolvedLink]:
        """Links that name another collection by one of these names, with their sentences."""
        return with_sentences(self._store, self._query(lambda view: self._links(view).into(names)))

    def links_named(self, keys: Sequence[str], *, either_side: bool = False) -> list[ResolvedLink]:
        """Links whose target has one of these keys. Opens no document."""
        return self._query(lambda view: self._links(view).named(keys, either_side=either_side))

    def links(self, around: Collection[Address] | None = None) -> list[tuple[Address, Address]]:
        """Every pair of documents with a link, or those in which one of some documents is."""
        if around is not None:
            return self._query(lambda view: self._links(view).edges(around))
        return list(self._query(lambda view: view.cached(("links", self._side), lambda _: self._links(view).edges())))

    def hubs(self, limit: int) -> list[tuple[Address, int]]:
        """The documents to which most others link."""
        key = ("hubs", self._side, limit)
        return self._query(lambda view: list(view.cached(key, lambda _: self._links(view).hubs(limit))))

    def orphans(self) -> list[Record]:
        """Documents that no other document links to."""
        key = ("orphans", self._side)

        def records(view: IndexView) -> list[Record]:
            paths = self._links(view).orphans()
            return [record for record in view.records() if record.address.path in paths]

        return self._query(lambda view: list(view.cached(key, lambda _: records(view))))

    def broken(self, address: Address | None = None) -> list[ResolvedLink]:
        """Broken links."""
        if address is not None:
            return self._query(lambda view: self._links(view).broken(view.lookup(self._store), address))
        return self._query(self._broken)

    def findings(self) -> list[Record]:
        """Records with findings; an unreadable file has a finding, too."""
        return self._query(lambda view: listing.records_with_findings(view.connection))

    def document(self, address: Address) -> Document:
        """The document, read and parsed now."""
        try:
            return read_document(address, self._store.read(address))
        except NotFoundError as error:
            raise NotFoundError(
                f"There is no document {address.path!r}.",
                kind="document",
                hint="Search for it, or give one of the nearest ids.",
                nearest=self.nearest(address.id),
            ) from error

    def outlined(self, addresses: Sequence[Address]) -> dict[Address, OutlinedText]:
        """The sections of documents with their bytes. Parses only documents that the index does not know yet."""
        return self._query(lambda view: view.search().outlined(addresses))

    def preferring_last(self) -> LocalIndex:
        """The same index for readers who prefer `b` in `[[a|b]]`, unless the side is fixed. Closed with this index."""
        if self._side is not PageSide.EXISTING:
            return self
        vars(same := copy(self))["_side"] = PageSide.EXISTING_ELSE_LAST
        return same

    @property
    def names_version(self) -> tuple[int, int]:
        """Changes whenever names of documents or of other files do."""
        return self._query(lambda view: (read_number(view.connection, NAMED), view.other_files.version()))

    @property
    def generation(self) -> int:
        """A number that grows with every indexed change."""
        return self._ask_now(lambda view: read_number(view.connection, "generation"))

    def close(self) -> None:
        """Release all resources."""
        self._updates.close()
        self._date_updater.close()
        self._flush_worker.close()
        self._open.close()

    def _links(self, view: IndexView) -> LinkQueries:
        return LinkQueries(view.connection, self._side)

    def _update(self, addresses: Sequence[Address]) -> None:
        # The lock prevents the watcher from reporting a write of this process as an outside change.
        with self._notifier.held():
            outcome = self._ingested([address.path for address in addresses])
            news = self._notifier.changed([*addresses, *outcome.changed])
        self._date_updater.wake()
        self._notifier.notify(news)

    def _broken(self, view: IndexView) -> list[ResolvedLink]:
        lost = view.broken_links(self._store, self._side)
        # The index is not notified of new other files.
        return lost.without(view.path_existence.existing(lost.candidate_paths))

    def _sync(self, progress: Progress | None) -> Outcome:
        def tell(done: int, total: int) -> None:
            give_way()
            self._steps = (done, total)
            if progress and done:
                progress(done, total)

        outcome = self._open.use(lambda files: files.ingest.ingest_scanned(tell, self._site_finder))
        if not self._ready.is_set():
            freeze_objects()
            self._notifier.start()
        self._ready.set()
        self._date_updater.wake()
        return outcome

    def _ingest(self, changes: FileChanges, on_change: Callable[[Sequence[Address]], None] | None) -> None:
        documents, others = changes.documents, changes.other_files
        outcome = Outcome()
        if changes.history:
            self._date_updater.wake()
        self._updates.settled(OWN_UPDATES_SECONDS)  # the files of an unfinished update would be read twice
        if (
            changes.scan
            or any(is_configuration(address.path) for address in others)
            or len(documents) > MAX_SMALL_UPDATE
            or (others and self._query(lambda view: listing.any_below(view.connection, others)))
        ):
            outcome = self._sync(None)
            documents = list(dict.fromkeys([*documents, *outcome.changed]))
        elif documents:
            # Usually these documents are indexed already, because a server indexes its own writes.
            paths = [address.path for address in documents]
            differing = self._open.use(lambda files: files.ingest.differing(paths))
            if differing:
                outcome = self._ingested(differing)
                self._date_updater.wake()
        if others:
            self._open.use(lambda files: files.ingest.resolve_other_files(others))
        news = self._notifier.changed([*documents, *outcome.changed])
        if on_change and news.documents:
            on_change(news.documents)
        self._notifier.notify(news)

    def _ingested(self, paths: Sequence[str]) -> Outcome:
        outcome = self._open.use(lambda files: files.ingest.ingest(paths))
        if outcome.flush_due:
            self._flush_worker.wake()
        return outcome

    def _filled(self, files: IndexFiles) -> None:
        """Fill a reopened index if it is new."""
        with files.catalogue.reading() as connection:
            complete = read_meta(connection, "complete")
        if not complete and self._ready.is_set():
            files.ingest.ingest_scanned(None, self._site_finder)
        self._date_updater.wake()

    def _flush(self) -> None:
        """Flush recent documents to the full text. If this fails, they remain searchable in the catalogue."""
        files = self._open.files
        try:
            if files.current:
                files.ingest.flush()
        except (KnowledgeError, OSError, *DAMAGE_ERRORS):
            if files is self._open.files and files.current:
                log.warning("%s: changed documents wait for the full text", self._store.name, exc_info=True)

    def _state_of(self, addresses: Sequence[Address]) -> IndexState:
        keys = [document_key(address.path) for address in addresses]
        return self._ask_now(
            lambda view: IndexState(revisions_in(view.connection, keys), read_number(view.connection, "comings"))
        )

    def _wait_dated(self, filter_: Filter, sort: str) -> None:
        bounds = (filter_.created_from, filter_.created_to, filter_.updated_from, filter_.updated_to)
        if sort in {"created", "updated"} or any(bounds):
            self._date_updater.wait(DATES_WAIT_SECONDS)

    def _with_fields(self, view: IndexView, filter_: Filter) -> list[int] | None:
        """Documents that match the parts of a filter that only the full text can evaluate; None without such parts."""
        requested_filter = Filter(fields=filter_.fields, dates=filter_.dates)
        return None if requested_filter == Filter() else view.search().keys(requested_filter)

    def _query(self, question: Callable[[IndexView], Result]) -> Result:
        """Run a query after every earlier write of this process is indexed.

        Raises:
            IndexingError: a write is not indexed within `SETTLED_SECONDS`.
        """
        if not self._updates.settled(SETTLED_SECONDS):
            said = "The index has not taken in the last write yet."
            raise IndexingError(said, kind="index", hint="Try again in a few seconds.")
        return self._ask_now(question)

    def _ask_now(self, question: Callable[[IndexView], Result]) -> Result:
        def work(files: IndexFiles) -> Result:
            with files.view() as view:
                return question(view)

        return self._open.use(work)


# Flushes texts from the catalogue to the full text in the background, so that no write waits for it.


class FlushWorker:
    """Flushes in a background thread, which ends when no texts are left.

    Args:
        move: Flushes once, and logs its errors.
    """

    def __init__(self, move: Callable[[], None]) -> None:
        self._move = move
        self._lock = threading.Lock()
        self._wanted = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Request a flush."""
        with self._lock:
            if self._closed:
                return
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="flush", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop after the current flush. Texts that remain are searched in the catalogue."""
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._closed or not self._wanted:
                    self._thread = None
                    return
                self._wanted = False
            self._move()


# Looks up names and files of an index, for rules that resolve links outside the index.


class Ask(Protocol):
    """Runs a query on a view of an index."""

    def __call__(self, question: Callable[[IndexView], Result], /) -> Result:
        """The result of the query."""
        ...


class IndexLookup:
    """`LinkLookup` on the current state of an index; docs trees and own names are those of the first call.

    Args:
        ask: Runs a query on the index.
        store: The files.
    """

    def __init__(self, ask: Ask, store: Store) -> None:
        self._ask = ask
        self._store = store
        self._sites: Sequence[SiteTree] | None = None
        self._own_names: Collection[str] | None = None

    def at(self, path: str) -> Address | None:
        """The document or other file at exactly this path."""
        return self._ask(lambda view: view.lookup(self._store).at(path))

    @property
    def has_names(self) -> bool:
        """True: `named` knows all documents."""
        return True

    def named(self, key: str) -> Sequence[NamedDocument]:
        """Every document with this key."""
        return self._ask(lambda view: view.lookup(self._store).named(key))

    def files(self, key: str) -> Sequence[Address]:
        """Every file that is not a document and has this key."""
        return self._ask(lambda view: view.lookup(self._store).files(key))

    @property
    def sites(self) -> Sequence[SiteTree]:
        """The docs trees of the collection."""
        if self._sites is None:
            self._sites = self._ask(lambda view: view.lookup(self._store).sites)
        return self._sites

    @property
    def own_names(self) -> Collection[str]:
        """The collection's names."""
        if self._own_names is None:
            self._own_names = self._ask(lambda view: view.lookup(self._store).own_names)
        return self._own_names
