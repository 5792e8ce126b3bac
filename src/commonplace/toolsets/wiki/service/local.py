"""Notes in a local folder: their names as an Otterwiki gives them out, and their attachments."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from commonplace.domain.activity import attached_to
from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import (
    ALREADY_WRITTEN,
    AlreadyExistsError,
    GitError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    StorageError,
    TooLargeError,
)
from commonplace.domain.graphs import title_case
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import UNCONDITIONAL, Conditions, revision_of
from commonplace.services import history
from commonplace.services.collections import Collection, current_bytes
from commonplace.services.history import last_change
from commonplace.services.past import as_of, moment_of
from commonplace.services.services import Services
from commonplace.services.writes import WriteRequest
from commonplace.toolsets.wiki.rules import (
    MAX_ATTACHMENT_BYTES,
    AttachmentContent,
    NoteAttachment,
    NoteDiff,
    NoteQueries,
    Notes,
    SavedNote,
    Wiki,
    name_of,
)
from commonplace.toolsets.wiki.service import WIKI_KEY, note_lookup
from commonplace.toolsets.wiki.service.note_queries import LocalNoteQueries
from commonplace.toolsets.wiki.service.notes import LocalNotes, WikiOptions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ONE = frozenset({"path", "old_path", "new_path"})
_MANY = frozenset({"links_to", "linked_from", "updated_pages", "not_rewritten", "pages"})
_NESTED = frozenset({"notes", "hits", "chunks", "nodes", "edges"})


def titled(wiki: Wiki) -> Wiki:
    """The same wiki, whose answers name every note in title case. Its arguments are compared without regard to case."""
    ports = (wiki.notes, wiki.queries, wiki.attachments, wiki.versions)
    notes, queries, attachments, versions = (cast("Any", _TitledPort(port)) for port in ports)
    return Wiki(notes, queries, attachments, versions, retain_case=False)


class _TitledPort:
    """A port of a wiki, each of whose methods returns paths in title case."""

    def __init__(self, port: object) -> None:
        self._port = port

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._port, name)

        @wraps(method)
        def call(*args: object, **named: object) -> object:
            try:
                return _answer(method(*args, **named))
            except KnowledgeError as error:
                nearest = error.context.get("nearest")
                if isinstance(nearest, list):
                    error.context["nearest"] = [title_case(path) for path in nearest]
                raise

        return call


def _answer(value: object) -> object:
    """The answer of a method: a path, a pair that begins with one, a set of them, or values with paths in them."""
    match value:
        case str():
            return title_case(value)
        case tuple():
            path, rest = cast("tuple[str, object]", value)
            return title_case(path), rest
        case frozenset() | set():
            return {title_case(path) for path in cast("set[str]", value)}
        case list():
            return [_shown(item) for item in cast("list[object]", value)]
        case _:
            return _shown(value)


def _shown(value: object) -> object:
    if isinstance(value, tuple):  # an edge
        return tuple(title_case(path) for path in cast("tuple[str, ...]", value))
    if not is_dataclass(value):
        return value
    shown: dict[str, object] = {}
    for field in fields(value):
        held = getattr(value, field.name)
        if field.name in _ONE:
            shown[field.name] = title_case(held)
        elif field.name in _MANY:
            shown[field.name] = tuple(map(title_case, held))
        elif field.name in _NESTED:
            shown[field.name] = tuple(map(_shown, held))
        elif field.name == "name" and held == name_of(getattr(value, "path", "")):
            shown["name"] = name_of(title_case(held))
    return replace(cast("DataclassInstance", value), **shown)


class LocalAttachments:
    """The attachments of one collection."""

    def __init__(self, collection: Collection, options: WikiOptions) -> None:
        self._collection = collection
        self._options = options

    def list(self, path: str) -> tuple[str, list[NoteAttachment]]:
        """The note's path and its attachments by name."""
        note = note_lookup.require_note(self._collection, path)
        return note.id, [
            self._attachment(address, stat) for address, stat in note_lookup.attached(self._collection, note)
        ]

    def upload(
        self, path: str, filename: str, content: bytes, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, NoteAttachment]:
        """Add an attachment, or replace the one that the conditions name."""
        note = note_lookup.require_note(self._collection, path)
        address = _address(note, filename)
        if len(content) > MAX_ATTACHMENT_BYTES:
            raise TooLargeError(
                f"The attachment is {len(content):,} bytes; the limit is {MAX_ATTACHMENT_BYTES:,}.",
                kind="attachment",
                hint="Attach a smaller file.",
            )
        with self._writing(note, message) as transaction:
            there = transaction.read(address) if transaction.exists(address) else None
            conditions.require([] if there is None else [revision_of(there)])
            if there is not None and conditions.match is None:
                raise AlreadyExistsError(
                    f"There already is an attachment {address.name} of {note.id}.",
                    kind="attachment",
                    hint=ALREADY_WRITTEN if there == content else "Delete it first, or choose another name.",
                    current_revision=revision_of(there),
                )
            if there != content:
                transaction.put(address, content, keep=True)
        try:
            stat = self._collection.store.stat(address)
        except StorageError:  # the file was written nevertheless
            stat = None
        shown = self._attachment(address, stat) if stat else _unseen(address, content)
        return note.id, replace(shown, created=there is None)

    def download(self, path: str, filename: str) -> AttachmentContent:
        """An attachment with its bytes."""
        note = note_lookup.require_note(self._collection, path)
        address = self._existing(note, filename)
        content = self._collection.store.read(address)
        stat = self._collection.store.stat(address)
        return AttachmentContent(self._attachment(address, stat) if stat else _unseen(address, content), content)

    def delete(
        self, path: str, filename: str, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, str]:
        """Delete an attachment; return the note's path and the file's name."""
        note = note_lookup.require_note(self._collection, path)
        address = self._existing(note, filename)
        with self._writing(note, message) as transaction:
            if not conditions.is_empty and transaction.exists(address):
                conditions.require([revision_of(transaction.read(address))])
            transaction.remove(address)
        return note.id, address.name

    @contextmanager
    def _writing(self, note: Address, message: str) -> Generator[Transaction]:
        """A write of attachments of a note, whose limits decide."""
        with (
            attached_to(note, current_bytes(self._collection, note)),
            self._collection.store.transaction(message, self._options.author) as transaction,
        ):
            yield transaction

    def _attachment(self, address: Address, stat: FileStat) -> NoteAttachment:
        changed = stat.mtime_ns / 1e9
        if not changed:  # a file in a commit has no modification time
            commit = last_change(self._collection, address)
            changed = commit.when if commit else 0
        return NoteAttachment(
            address.name, stat.size, _mime_type(address), note_lookup.moment(changed) if changed else ""
        )

    def _existing(self, note: Address, filename: str) -> Address:
        address = _address(note, filename)
        if self._collection.store.stat(address) is None:
            raise NotFoundError(
                f"Attachment not found: {filename} of {note.id}.",
                kind="attachment",
                hint="List the page's attachments to see which there are.",
                reference=note.id,
            )
        return address


def _address(note: Address, filename: str) -> Address:
    if "/" in filename:
        raise InvalidInputError(
            "Invalid filename: it holds a '/'; attachments lie directly in the page's folder.",
            kind="filename",
            hint="Give the name alone, such as 'diagram.png'.",
        )
    address = parse_address(f"{note.id}/{filename}")
    if address.is_document:
        raise InvalidInputError(
            "Invalid filename: a Markdown file is a page, not an attachment.",
            kind="filename",
            hint="Write it as a page.",
        )
    return address


def _unseen(address: Address, content: bytes) -> NoteAttachment:
    """The description of an attachment that was deleted or replaced meanwhile."""
    return NoteAttachment(address.name, len(content), _mime_type(address), "")


def _mime_type(address: Address) -> str:
    return mimetypes.guess_type(address.name)[0] or "application/octet-stream"


# The wiki of a local folder.


def local_wiki(collection: Collection, options: WikiOptions) -> Wiki:
    """The wiki of a collection. Each write is one commit if the folder is in a Git repository."""
    index = collection.index.preferring_last()
    collection = replace(collection, store=collection.store.committing(), index=index)
    wiki = Wiki(
        LocalNotes(collection, options),
        LocalNoteQueries(collection),
        LocalAttachments(collection, options),
        LocalNoteVersions(collection, options),
        options.retain_case,
    )
    return wiki if options.retain_case else titled(wiki)


# Versions of notes in a local folder: `toolsets.wiki.rules.NoteVersions` over a collection.


class LocalNoteVersions:
    """Versions of one collection's notes."""

    def __init__(self, collection: Collection, options: WikiOptions) -> None:
        self._collection = collection
        self._options = options

    def diff(self, path: str, old: str, new: str = "") -> NoteDiff:
        """The differences of a note between two revisions; the note may be deleted."""
        address = self._address(path)
        self._require_known(path, address)
        with self._missing(path, address):
            return NoteDiff(address.id, history.diff(self._collection, address, old, new))

    def restore(self, path: str, revision: str, *, message: str, conditions: Conditions = UNCONDITIONAL) -> SavedNote:
        """Write the text of an older revision as a new version; the note may be deleted."""
        address = self._address(path)
        intent = WriteRequest(message=message, author=self._options.author, expected=self._checked(address, conditions))
        with self._missing(path, address):
            report = history.restore(self._collection, address, revision, intent)
        state = note_lookup.state_of(self._collection, address)
        name = note_lookup.name_at(self._collection, address)
        created, unchanged = report.action == "created", report.action == "unchanged"
        return SavedNote(address.id, state.revision, name, created=created, unchanged=unchanged)

    def _address(self, path: str) -> Address:
        return note_lookup.find_note(self._collection, path) or note_lookup.page_address(path)

    def _checked(self, address: Address, conditions: Conditions) -> str:
        """The blob id for which the conditions hold; "" if there are no conditions, or if the note does not exist."""
        if conditions.is_empty:
            return ""
        try:
            state = note_lookup.state_of(self._collection, address)
        except NotFoundError:
            conditions.require(())
            return ""
        conditions.require(state.names)
        return state.blob

    def _require_known(self, path: str, address: Address) -> None:
        """Raise unless the path is that of an existing or a deleted note."""
        if not self._collection.store.history.log(address, limit=1):
            note_lookup.require_note(self._collection, path)

    @contextmanager
    def _missing(self, path: str, address: Address) -> Generator[None]:
        """Distinguish a note that never existed from a missing revision of a note."""
        try:
            yield
        except NotFoundError as error:
            self._require_known(path, address)
            raise NotFoundError(
                f"Revision not found: {error}",
                kind="revision",
                hint="Use the page's history to see its revisions.",
                reference=address.id,
            ) from error


# A wiki at a moment of its folder's history.


@dataclass(frozen=True, slots=True)
class WikiState:
    """Read access to a wiki, now or at an earlier moment."""

    notes: Notes
    queries: NoteQueries
    commit: str = ""
    """The commit that was current at that moment; "" for the current wiki."""
    now: Collection | None = None
    """The current collection of a past wiki."""

    def path_then(self, path: str) -> str:
        """The path at that moment of the page that has this path now; the path itself if there is no such page."""
        if self.now is None:
            return path
        address = note_lookup.find_note(self.now, path)
        then = self.now.store.history.address_at(address, self.commit) if address else None
        return then.id if then else path


@contextmanager
def wiki_at(services: Services, at: str) -> Generator[WikiState]:
    """The caller's wiki at a moment, for the duration of a `with` block.

    Args:
        services: The services that the caller may use.
        at: The moment in the syntax of `services.past.moment_of`; "" for now.

    Raises:
        NotFoundError: kind "revision": the text does not name a past moment.
        InvalidInputError: the wiki is that of another server.
        StorageError, UnavailableError: as from `services.past.as_of`.
    """
    wiki = services.of(WIKI_KEY)
    if not at.strip():
        yield WikiState(wiki.notes, wiki.queries)
        return
    first = next(iter(services.collections), None)
    if first is None:
        raise InvalidInputError(
            "The wiki of another server has no past states here.",
            kind="revision",
            hint="Read one page with revision, or ask that server.",
        )
    try:
        moment_of(first, at)
    except (InvalidInputError, GitError) as error:
        # Any text may be the name of a tag, so a tag that does not exist is "not found", as is a missing history.
        raise NotFoundError(str(error), kind="revision", hint=error.hint) from error
    with as_of(services.collections.only(frozenset({first.name})), at) as base:
        (past,), (moment,) = tuple(base.collections), base.moments
        options = WikiOptions(retain_case=wiki.retain_case)
        state = local_wiki(past, options)
        yield WikiState(state.notes, state.queries, moment.commit.id, first)
