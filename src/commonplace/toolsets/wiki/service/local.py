"""The wiki of a local folder."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError, InvalidInputError, NotFoundError
from commonplace.domain.revisions import UNCONDITIONAL, Conditions
from commonplace.services import history
from commonplace.services.collections import Collection
from commonplace.services.past import as_of, moment_of
from commonplace.services.services import Services
from commonplace.services.writes import WriteRequest
from commonplace.toolsets.wiki.rules import NoteDiff, NoteQueries, Notes, SavedNote, Wiki
from commonplace.toolsets.wiki.service import WIKI_KEY, note_lookup
from commonplace.toolsets.wiki.service.attachments import LocalAttachments
from commonplace.toolsets.wiki.service.note_queries import LocalNoteQueries
from commonplace.toolsets.wiki.service.notes import DEFAULT_OPTIONS, LocalNotes, WikiOptions


def local_wiki(collection: Collection, options: WikiOptions) -> Wiki:
    """The wiki of a collection. Each write is one commit if the folder is in a Git repository."""
    index = collection.index.preferring_last()
    collection = replace(collection, store=collection.store.committing(), index=index)
    return Wiki(
        LocalNotes(collection, options),
        LocalNoteQueries(collection),
        LocalAttachments(collection, options),
        LocalNoteVersions(collection, options),
    )


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
        past = replace(past, index=past.index.preferring_last())
        yield WikiState(LocalNotes(past, DEFAULT_OPTIONS), LocalNoteQueries(past), moment.commit.id)
