"""Notes in a local folder: `toolsets.wiki.rules.Notes` over a collection."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from commonplace.domain.activity import record_read
from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, Commit
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import (
    ALREADY_EDITED,
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    PreconditionError,
    TooLargeError,
)
from commonplace.domain.query import Filter, ListQuery, Record
from commonplace.domain.revisions import UNCONDITIONAL, Conditions, revision_of
from commonplace.domain.words.text_decoder import decoded
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.services.listing import every_document
from commonplace.services.writes import WriteReceipt, WriteRequest
from commonplace.services.writes.retries import on_latest
from commonplace.toolsets.wiki.rules import (
    MAX_LINKS,
    MAX_NOTE_BYTES,
    Note,
    NoteCommit,
    NoteFilter,
    NoteList,
    NoteSummary,
    RenamedNote,
    SavedNote,
    as_text,
    as_texts,
    note_name,
    revision_not_found,
)
from commonplace.toolsets.wiki.service import note_lookup
from commonplace.toolsets.wiki.service import note_lookup as note_links
from commonplace.toolsets.wiki.service.note_lookup import CachedNote, NoteCache

MAX_LOOKED_THROUGH = 1_000
"""Maximum number of a note's commits that are searched for an abbreviated revision."""


@dataclass(frozen=True, slots=True)
class WikiOptions:
    """Options of a wiki's writes."""

    author: Author | None = None
    """Author of commits; None for the identity configured in Git."""
    retain_case: bool = True
    """Whether the file of a new page keeps the case of its name; otherwise the name is lower-cased."""


@dataclass(frozen=True, slots=True)
class _Demand:
    """The preconditions of a write."""

    revision: str
    """The revision that the writer saw; "" if none was given."""
    conditions: Conditions

    @property
    def is_empty(self) -> bool:
        return not self.revision and self.conditions.is_empty

    def intent(self, usual: WriteRequest, blob: str) -> WriteRequest:
        """The write request for a note at this blob, for which the preconditions hold."""
        match = self.conditions.match
        has_seen = self.revision or (match is not None and "*" not in match)
        return replace(usual, expected=blob if has_seen else "", pinned=blob)

    def may_be_repeated(self, state: note_lookup.NoteState) -> bool:
        """Whether a rejected write may be a repetition: no precondition names the current state."""
        names_revision = any(name.startswith(self.revision.lower()) for name in state.names) if self.revision else False
        names_tag = self.conditions.match is not None and self.conditions.is_matched(state.names)
        return self.conditions.none_match is None and not names_revision and not names_tag


class LocalNotes:
    """The notes of one collection."""

    def __init__(self, collection: Collection, options: WikiOptions) -> None:
        self._collection = collection
        self._options = options
        self._cache = NoteCache()

    def list(self, note_filter: NoteFilter) -> NoteList:
        """Notes, newest first, then by path."""
        query = ListQuery(filter=_filter(note_filter), sort="updated_day", descending=True, offset=note_filter.offset)
        if note_filter.limit is None:
            records = tuple(every_document(self._collection, query))
            return NoteList(tuple(map(_summary, records[note_filter.offset :])), len(records))
        page = self._collection.index.list(
            ListQuery(
                filter=query.filter,
                sort=query.sort,
                descending=True,
                offset=note_filter.offset,
                limit=note_filter.limit,
            )
        )
        return NoteList(tuple(map(_summary, page.records)), page.total)

    def read(self, path: str, revision: str = "") -> Note:
        """A note, current or at a revision."""
        if revision:
            return self._at(path, revision)
        address = note_lookup.require_note(self._collection, path)
        record_read(self._collection.store.identity, address.path)
        cached = self._cached(address)
        return self._linked(cached.note, cached.document)

    def write(
        self, path: str, content: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL
    ) -> SavedNote:
        """Create a note, or replace the note at this revision or the one that the conditions name."""
        raw = _encoded(content)
        address = note_lookup.find_note(self._collection, path)
        if address is None:
            conditions.require(())
            if revision:
                raise note_lookup.conflict(path, "")
            return self._create(path, raw, message)
        if not revision and conditions.match is None:
            return self._repeated(address, raw, conditions)
        demand = _Demand(revision, conditions)
        try:
            return self._save(
                address, lambda intent: writes.replace(self._collection, address, raw, intent), demand, message
            )
        except (ConflictError, PreconditionError):
            state = self._state(address)
            if state is None or state.raw != raw or not demand.may_be_repeated(state):
                raise
            return self._answer(address, state.revision, unchanged=True)

    def edit(
        self,
        path: str,
        change: tuple[str, str],
        *,
        revision: str,
        message: str,
        conditions: Conditions = UNCONDITIONAL,
        occurrence: int = 0,
    ) -> SavedNote:
        """Replace one occurrence of the first text, counted from 1; 0 requires that there is only one."""
        address = note_lookup.require_note(self._collection, path)
        old, new = change
        note_lookup.require_revision(revision)
        _encoded(new)
        demand = _Demand(revision, conditions)
        try:
            return self._save(
                address,
                lambda intent: writes.replace_once(self._collection, address, old, new, intent, occurrence=occurrence),
                demand,
                message,
            )
        except ConflictError as error:
            state = self._state(address)
            text = decoded(state.raw) if state else ""
            if new and new in text and old not in text:
                error.hint = f"{ALREADY_EDITED} {error.hint}"
            raise

    def delete(self, path: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL) -> str:
        """Delete a note; return its stored path."""
        address = note_lookup.require_note(self._collection, path)
        self._write(
            address,
            lambda intent: writes.delete(self._collection, address, intent),
            _Demand(revision, conditions),
            message,
        )
        return address.id

    def rename(self, path: str, new_path: str, *, message: str, conditions: Conditions = UNCONDITIONAL) -> RenamedNote:
        """Rename a note with its attachments and rewrite the links to them, in one commit."""
        address = note_lookup.require_note(self._collection, path)
        new_address = self._new_address(new_path)

        def move(intent: WriteRequest) -> WriteReceipt:
            attached = [other_address for other_address, _ in note_lookup.attached(self._collection, address)]
            files = {other_address: Address(f"{new_address.id}/{other_address.name}") for other_address in attached}
            return writes.rename(self._collection, address, new_address, intent, files)

        written = self._write(address, move, _Demand("", conditions), message)
        return RenamedNote(
            address.id,
            new_address.id,
            self._revision(written),
            tuple(other.id for other in written.links.updated),
            tuple(other.id for other in written.links.not_rewritten),
        )

    def history(self, path: str, limit: int) -> tuple[str, list[NoteCommit]]:
        """Return the note's path and the commits that changed it, newest first."""
        address = note_lookup.find_note(self._collection, path)
        commits = self._collection.store.history.log(address or note_lookup.page_address(path), limit=limit)
        if address is None and not commits:
            address = note_lookup.require_note(self._collection, path)
        shown = address.id if address else note_lookup.page_address(path).id
        return shown, [note_lookup.note_commit(commit) for commit in commits]

    def _at(self, path: str, revision: str) -> Note:
        address = note_lookup.find_note(self._collection, path) or note_lookup.page_address(path)
        history = self._collection.store.history
        try:
            raw = history.read(address, revision)
        except NotFoundError as error:
            note_lookup.require_note(self._collection, path)
            raise revision_not_found(address.id, revision) from error
        commits = history.log(address, limit=MAX_LOOKED_THROUGH)
        of_commit = next((commit for commit in commits if commit.id.startswith(revision.lower())), None)
        of_commit = of_commit or note_lookup.last_commit_at(self._collection, address, revision)
        document = read_document(address, raw)
        note = _note(document, of_commit.id if of_commit else revision_of(raw), of_commit)
        return self._linked(note, document)

    def _linked(self, note: Note, document: Document) -> Note:
        """The note with its links."""
        first = replace(document, links=document.links[:MAX_LINKS])
        return replace(
            note,
            links_to=note_links.outgoing(document.address, self._collection.index.resolve(first)),
            linked_from=note_links.incoming(self._collection, document.address),
            more_links=len(document.links) > MAX_LINKS,
        )

    def _cached(self, address: Address) -> CachedNote:
        """The current note without its links."""
        head = self._collection.store.history.head()
        with suppress(NotFoundError):
            raw = self._collection.store.read(address)
            cached = self._cache.get(address, head, raw, lambda: note_lookup.last_commit(self._collection, address))
            if cached is not None:
                return cached
        state = note_lookup.state_of(self._collection, address)
        document = read_document(address, state.raw)
        cached = CachedNote(head, state, document, _note(document, state.revision, state.commit))
        if self._collection.store.history.head() == head:
            self._cache.put(address, cached)
        return cached

    def _create(self, path: str, raw: bytes, message: str) -> SavedNote:
        address = self._new_address(path)
        try:
            written = writes.create(self._collection, address, raw, self._intent(message))
        except AlreadyExistsError as error:
            raise self._reread(note_lookup.find_note(self._collection, path) or address) from error
        return self._answer(address, self._revision(written), created=True)

    def _new_address(self, path: str) -> Address:
        return note_lookup.page_address(path if self._options.retain_case else path.lower())

    def _save(
        self, address: Address, write: Callable[[WriteRequest], WriteReceipt], demand: _Demand, message: str
    ) -> SavedNote:
        try:
            written = self._write(address, write, demand, message)
        except NotFoundError as error:
            raise note_lookup.conflict(address.id, "") from error
        return self._answer(address, self._revision(written), unchanged=written.unchanged)

    def _answer(self, address: Address, revision: str, *, created: bool = False, unchanged: bool = False) -> SavedNote:
        name = note_lookup.name_at(self._collection, address)
        return SavedNote(address.id, revision, name, created=created, unchanged=unchanged)

    def _write(
        self, address: Address, write: Callable[[WriteRequest], WriteReceipt], demand: _Demand, message: str
    ) -> WriteReceipt:
        """Run a write if the note meets the preconditions; return the receipt.

        Raises:
            ConflictError: the revision is not the current one.
            NotFoundError: kind "page": another writer renamed or deleted the note.
            PreconditionError: a condition is false.
        """
        try:
            if demand.is_empty:
                return write(self._intent(message))
            return on_latest(self._collection, lambda: self._written_as_demanded(address, write, demand, message))
        except NotFoundError as error:  # another writer renamed or deleted it since it was looked up
            raise note_lookup.missing(self._collection, address.id) from error

    def _written_as_demanded(
        self, address: Address, write: Callable[[WriteRequest], WriteReceipt], demand: _Demand, message: str
    ) -> WriteReceipt:
        refused: ConflictError | None = None
        for _ in range(note_lookup.MAX_READ_ATTEMPTS):
            state = note_lookup.state_of(self._collection, address)
            demand.conditions.require(state.names)
            if demand.revision:
                note_lookup.require_current(self._collection, address, state, demand.revision)
            try:
                return write(demand.intent(self._intent(message), state.blob))
            except ConflictError as error:
                refused = error  # another writer committed first; the conditions are checked again
        raise self._reread(address) from refused

    def _repeated(self, address: Address, raw: bytes, conditions: Conditions) -> SavedNote:
        """The answer to a write without a revision if the note exists and already has this text.

        Raises:
            ConflictError: the note has another text.
            PreconditionError: a condition is false.
        """
        state = note_lookup.state_of(self._collection, address)
        conditions.require(state.names)
        if state.raw == raw:
            if writes.is_at_remote(self._collection, address, raw):
                return self._answer(address, state.revision, unchanged=True)
            state = note_lookup.state_of(self._collection, address)
        raise ConflictError(
            f"The page {address.id} exists, so a revision is required to write it.",
            kind="page",
            hint="Read the page and send the revision that it gives.",
            current_revision=state.revision,
        )

    def _state(self, address: Address) -> note_lookup.NoteState | None:
        with suppress(NotFoundError):
            return note_lookup.state_of(self._collection, address)
        return None

    def _reread(self, address: Address) -> KnowledgeError:
        """The error for a conflict found under the lock, with the wiki's form of the current revision."""
        state = self._state(address)
        return note_lookup.conflict(address.id, state.revision if state else "")

    def _intent(self, message: str) -> WriteRequest:
        return WriteRequest(message=message, author=self._options.author)

    def _revision(self, written: WriteReceipt) -> str:
        """The wiki's revision of the written bytes, which another writer may have replaced since."""
        if written.commit:
            return written.commit
        look = partial(note_lookup.state_of, self._collection, written.address)
        state = written.answer_by.within(look, f"{written.address}: looking up its commit")
        return state.revision if state and state.blob == written.revision else written.revision


def _note(document: Document, revision: str, last: Commit | None) -> Note:
    """A note without its links."""
    return Note(
        path=document.address.id,
        content=document.text,
        frontmatter=document.frontmatter.values,
        links_to=(),
        linked_from=(),
        revision=revision,
        last_commit=note_lookup.note_commit(last) if last else None,
    )


def _filter(note_filter: NoteFilter) -> Filter:
    fields = [(key, value) for key, value in (("category", note_filter.category), ("tags", note_filter.tag)) if value]
    since = _day(note_filter.updated_since) if note_filter.updated_since else ""
    return Filter(prefix=note_filter.prefix, prefix_any_case=True, fields=tuple(fields), updated_from=since)


def _day(text: str) -> str:
    try:
        when = datetime.fromisoformat(text)
        day = when.astimezone(UTC) if when.tzinfo else when
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"Invalid updated_since {text[:60]!r}: expected an ISO 8601 date such as 2026-03-08.",
            kind="date",
            hint="Give a day as YYYY-MM-DD.",
        ) from None
    return f"{day:%Y-%m-%d}".rjust(10, "0")


def _summary(record: Record) -> NoteSummary:
    values = record.frontmatter
    return NoteSummary(
        path=record.address.id,
        name=note_name(record.address.id, values),
        category=as_text(values.get("category")),
        tags=as_texts(values.get("tags")),
        last_updated=record.updated[:10],
        words=record.words,
    )


def _encoded(content: str) -> bytes:
    """The text that a client sends for a note, in UTF-8."""
    try:
        raw = content.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            "Invalid content: it contains a lone surrogate, which is not valid text.",
            kind="content",
            hint="Send Unicode text.",
        ) from error
    if len(raw) > MAX_NOTE_BYTES:
        raise TooLargeError(
            f"The text is {len(raw):,} bytes; the limit is {MAX_NOTE_BYTES:,}.",
            kind="page",
            hint="Split it into several pages.",
        )
    return raw
