"""A cache of recently read notes. An entry is valid for the same bytes and the same last commit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.documents import Document
from commonplace.toolsets.wiki.rules.wiki import Note
from commonplace.toolsets.wiki.service.note_lookup import NoteState

MAX_NOTES = 1024
MAX_BYTES = 4_000_000
"""Maximum total bytes of the cached notes; a parsed note takes about four times its bytes in memory."""


@dataclass(frozen=True, slots=True)
class CachedNote:
    """A note with the data from which it was created."""

    head: str
    """A current commit at which the entry was valid; "" without Git."""
    state: NoteState
    document: Document
    note: Note
    """The note without its links, which depend on other files."""


class NoteCache:
    """The most recently read notes of one collection, up to `MAX_NOTES` and `MAX_BYTES`. Thread-safe.

    Every lookup compares the bytes of the file and the current commit. If the current commit has changed, it also
    compares the note's last commit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._notes: OrderedDict[Address, CachedNote] = OrderedDict()
        self._bytes = 0

    def get(
        self, address: Address, head: str, raw: bytes, last_commit: Callable[[], Commit | None]
    ) -> CachedNote | None:
        """The cached note; None if its bytes or its last commit differ.

        Args:
            address: Address of the note.
            head: The current commit; "" without Git.
            raw: The bytes of the note's file.
            last_commit: Returns the note's last commit, None if there is none. Called only if the current commit has
                changed.
        """
        with self._lock:
            found = self._notes.get(address)
            if found is None or found.state.raw != raw:
                return None
            self._notes.move_to_end(address)
        if found.head != head:
            if last_commit() != found.state.commit:
                return None
            earlier, found = found, replace(found, head=head)
            with self._lock:
                if self._notes.get(address) is earlier:
                    self._notes[address] = found
        return found

    def put(self, address: Address, cached: CachedNote) -> None:
        """Replace the cached note, unless its revision depends on more than the bytes and the commit."""
        with self._lock:
            earlier = self._notes.pop(address, None)
            self._bytes -= len(earlier.state.raw) if earlier else 0
            if not cached.state.is_reproducible or len(cached.state.raw) > MAX_BYTES:
                return
            self._notes[address] = cached
            self._bytes += len(cached.state.raw)
            while len(self._notes) > MAX_NOTES or self._bytes > MAX_BYTES:
                _, oldest = self._notes.popitem(last=False)
                self._bytes -= len(oldest.state.raw)
