"""Versions of notes in a local folder: `toolsets.wiki.rules.wiki.NoteVersions` over a collection."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError
from commonplace.domain.revisions import UNCONDITIONAL, Conditions
from commonplace.services import history
from commonplace.services.collections import Collection
from commonplace.services.writes import WriteRequest
from commonplace.toolsets.wiki.rules.wiki import NoteDiff, SavedNote
from commonplace.toolsets.wiki.service import note_lookup
from commonplace.toolsets.wiki.service.notes import WikiOptions


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
