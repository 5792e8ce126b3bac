"""Records the revision of each document that a session was last shown completely, and may therefore overwrite."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock

from commonplace.domain.revisions import changed_lines, line_marks

MAX_SESSIONS = 256
"""Maximum number of recorded sessions; the least recently used are dropped."""
MAX_DOCUMENTS = 1_000
"""Maximum number of documents per session; the oldest are dropped, and the session has to read them again."""
MAX_MARKED = 20_000
"""Maximum number of lines with stored checksums, 4 bytes each; for older documents only the revision is stored."""


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """The revision of a document that a session was shown."""

    revision: str
    marks: array[int] | None = None
    """Checksums of the document's lines; None if there were too many to store."""
    is_whole: bool = True
    """Whether the session was shown every byte; False if it wrote at a revision that may be from another source."""

    def changes(self, raw: bytes) -> tuple[str, ...]:
        """Descriptions of the lines that differ now; empty if unknown."""
        return changed_lines(self.marks, raw) if self.marks is not None else ()


@dataclass(slots=True)
class _Part:
    """Length of the beginning of a text that a session was shown."""

    revision: str
    reached: int = 0


class SessionMemory:
    """The documents that one session was shown, by scope (a collection's name) and name. Thread-safe."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], ShownDocument] = OrderedDict()
        self._parts: OrderedDict[tuple[str, str], _Part] = OrderedDict()
        self._unseen: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._marked = 0
        self._lock = Lock()

    def copy(self) -> SessionMemory:
        """The same records, which change apart from these."""
        copied = SessionMemory()
        with self._lock:
            copied._seen, copied._unseen = self._seen.copy(), self._unseen.copy()
            copied._parts = OrderedDict((key, replace(part)) for key, part in self._parts.items())
            copied._marked = self._marked
        return copied

    def show(self, scope: str, name: str, revision: str, raw: bytes | None, *, is_whole: bool = True) -> None:
        """Record that the session was shown the whole of a document, or wrote it.

        Args:
            scope: Scope of the document.
            name: Name of the document.
            revision: The revision in the form that the client knows.
            raw: Bytes of the document; None if they are not available, so that later changes cannot be listed.
            is_whole: See `ShownDocument.is_whole`.
        """
        marks = line_marks(raw) if raw is not None else None
        if marks is not None and len(marks) > MAX_MARKED:
            marks = None
        with self._lock:
            self._drop(scope, name)
            self._seen[scope, name] = ShownDocument(revision, marks, is_whole)
            self._marked += len(marks or ())
            self._shrink()

    def show_part(self, scope: str, name: str, revision: str, raw: bytes, span: tuple[int, int, int]) -> None:
        """Record that the session was shown a part of a document. Parts that cover one revision count as the whole.

        Args:
            scope: Scope of the document.
            name: Name of the document.
            revision: The revision in the form that the client knows.
            raw: The bytes of the whole document.
            span: Start and end of the part, and the end of the whole text, all in the same unit.
        """
        start, end, whole = span
        with self._lock:
            part = self._parts.get((scope, name))
            if part is None or part.revision != revision:
                part = self._parts[scope, name] = _Part(revision)
            if start <= part.reached:
                part.reached = max(part.reached, end)
            is_whole = part.reached >= whole
            while len(self._parts) > MAX_DOCUMENTS:
                self._parts.popitem(last=False)
        if is_whole:
            self.show(scope, name, revision, raw)

    def reached(self, scope: str, name: str, revision: str) -> int:
        """Up to where the session was shown a document from its beginning on, in the unit of `show_part`."""
        with self._lock:
            part = self._parts.get((scope, name))
            return part.reached if part is not None and part.revision == revision else 0

    def receive_unseen(self, scope: str, name: str, revision: str) -> None:
        """Record a receipt's revision of a document whose text the session was not shown completely."""
        with self._lock:
            self._unseen[scope, name] = revision
            self._unseen.move_to_end((scope, name))
            while len(self._unseen) > MAX_DOCUMENTS:
                self._unseen.popitem(last=False)

    def is_unseen(self, scope: str, name: str, revision: str) -> bool:
        """Whether the session has this revision only from a receipt for text that it was not shown."""
        with self._lock:
            return self._unseen.get((scope, name)) == revision

    def forget(self, scope: str, name: str) -> None:
        """Drop a document that was deleted, or whose shown state is unknown."""
        with self._lock:
            self._drop(scope, name)

    def seen(self, scope: str, name: str) -> ShownDocument | None:
        """The state of a document that the session was last shown; None if nothing is recorded."""
        with self._lock:
            return self._seen.get((scope, name))

    def _drop(self, scope: str, name: str) -> None:
        self._parts.pop((scope, name), None)
        self._unseen.pop((scope, name), None)
        document = self._seen.pop((scope, name), None)
        if document is not None and document.marks is not None:
            self._marked -= len(document.marks)

    def _shrink(self) -> None:
        while len(self._seen) > MAX_DOCUMENTS:
            self._drop(*next(iter(self._seen)))
        if self._marked <= MAX_MARKED:
            return
        for key, document in list(self._seen.items()):
            if document.marks is not None:
                self._marked -= len(document.marks)
                self._seen[key] = ShownDocument(document.revision, is_whole=document.is_whole)
                if self._marked <= MAX_MARKED:
                    return


class SessionMemories:
    """The records of all sessions of a process, by the session's id."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, SessionMemory] = OrderedDict()
        self._lock = Lock()

    def copy(self) -> SessionMemories:
        """The same records, which change apart from these."""
        copied = SessionMemories()
        with self._lock:
            copied._sessions = OrderedDict((name, memory.copy()) for name, memory in self._sessions.items())
        return copied

    def of(self, identifier: str) -> SessionMemory:
        """The record of a session; empty for a new one."""
        with self._lock:
            session = self._sessions.setdefault(identifier, SessionMemory())
            self._sessions.move_to_end(identifier)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return session
