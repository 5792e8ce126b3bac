"""One transaction of an ingestion: reads files, and writes the data derived from them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.query import Record
from commonplace.domain.revisions import revision_of
from commonplace.index.catalogue import pending_files
from commonplace.index.catalogue.database import grow
from commonplace.index.catalogue.document_rows import DocumentRows, document_key, record_at, remove_rows, set_stat
from commonplace.index.catalogue.links import LinkWriter
from commonplace.index.ingest.prepared import FileToParse, PreparedDocument, prepare
from commonplace.index.ingest.text_writers import TextWriter
from commonplace.index.process.file_limit import file_limit_error, is_file_limit


@dataclass(slots=True)
class Outcome:
    """The changes of an ingestion."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    changed: list[Address] = field(default_factory=list[Address])
    """All counted documents."""
    flush_due: bool = False
    """Whether `flush` should run, in the background."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files of an ingestion."""

    stat: Callable[[Address], FileStat | None]
    """Returns a file's metadata; None if there is no such file."""
    read: Callable[[Address], bytes]
    """Returns a file's bytes."""
    commit_time: Callable[[], str]
    """Returns the time of the current commit in ISO 8601; called for files without a time."""


class LoadedFile(NamedTuple):
    """A file that was read and has to be parsed and written."""

    known: Record | None
    """The document's old record; None if the document is new."""
    stat: FileStat
    is_new: bool
    """Whether the index cannot contain the file."""
    file: FileToParse


class IngestTransaction:
    """Indexes files one by one inside one transaction of the catalogue.

    Args:
        files: The files.
        connection: The catalogue.
        texts: Writer of the texts.
        linker: Writer of the links.
        outcome: Collects the changes.
        again: Paths whose texts are written even if the catalogue has the same revision.
    """

    def __init__(
        self,
        files: Files,
        connection: sqlite3.Connection,
        texts: TextWriter,
        linker: LinkWriter,
        outcome: Outcome,
        again: Collection[str],
    ) -> None:
        self._stat, self._read = files.stat, files.read
        self._connection = connection
        self._texts = texts
        self._linker = linker
        self._outcome, self._before = outcome, (outcome.added, outcome.removed)
        self._again = again
        self._entries = DocumentRows(connection, files.commit_time)
        self._unreadable = {cast("str", row[0]) for row in connection.execute("SELECT path FROM unreadable")}
        self.size = 0
        """Bytes read so far."""

    def take(self, address: Address, stat: FileStat | None, *, new: bool = False) -> None:
        """Index one file. The arguments are those of `load`."""
        loaded = self.load(address, stat, new=new)
        if loaded:
            self.put(loaded, prepare(loaded.file))

    def load(self, address: Address, stat: FileStat | None, *, new: bool = False) -> LoadedFile | None:
        """Read one file; None if there is nothing to parse: it is unchanged, missing, unreadable or not a document.

        Args:
            address: Address of the file.
            stat: Metadata of the file; None to read it.
            new: Whether the index cannot contain the file.
        """
        known = None if new else record_at(self._connection, address.path)
        try:
            stat = stat or self._stat(address)
        except StorageError as error:
            if known and address.path not in self._again:
                self._outcome.unreadable[address.path] = str(error)
                return None  # the document remains in the index, because the file may still exist
        found = self._read_file(address, stat)
        if found is None:
            self._remove(address, known, new=new)
            return None
        stat, raw = found
        self.size += len(raw)
        revision = revision_of(raw)
        if known and known.revision == revision and address.path not in self._again:
            set_stat(self._connection, address, stat)
            return None
        return LoadedFile(known, stat, new, FileToParse(address.path, revision, raw))

    def put(self, loaded: LoadedFile, document: PreparedDocument) -> None:
        """Write one document. Call it in the order in which the documents were loaded."""
        known, address = loaded.known, Address(loaded.file.path)
        self._linker.change(known, document.columns, document.links)
        self._outcome.changed.append(address)
        self._texts.put(address, document.text, new=loaded.is_new)
        self._outcome.added += known is None
        self._outcome.updated += known is not None
        self._entries.add(document.columns, loaded.stat, known)

    def finish(self) -> None:
        """Write the collected changes; called once, before links are resolved."""
        if (self._outcome.added, self._outcome.removed) != self._before:
            grow(self._connection, "comings")
        self._entries.finish()
        self._linker.finish()

    def _remove(self, address: Address, known: Record | None, *, new: bool) -> None:
        """Remove a document from catalogue and full text, if it exists there."""
        if known:
            remove_rows(self._connection, [document_key(address.path)])
            self._linker.change(known, None)
            self._outcome.changed.append(address)
            self._outcome.removed += 1
        elif address.path not in self._again:
            return
        self._texts.put(address, None, new=new)

    def _read_file(self, address: Address, stat: FileStat | None) -> tuple[FileStat, bytes] | None:
        """A file's metadata and bytes; None if it is not a document, missing or unreadable (the last is recorded)."""
        if address.path in self._unreadable:
            self._connection.execute("DELETE FROM unreadable WHERE path = ?", (address.path,))
        try:
            stat = stat or self._stat(address)
            return (pending_files.settled_stat(stat), self._read(address)) if stat and address.is_document else None
        except NotFoundError:
            return None
        except StorageError as error:
            if is_file_limit(error):
                raise file_limit_error() from error
            self._outcome.unreadable[address.path] = str(error)
            self._connection.execute("INSERT INTO unreadable VALUES (?, ?)", (address.path, str(error)))
            return None
