"""What can be asked of a wiki and what comes back: values, and three ports with a local and a remote adapter each.

A `Wiki` is the same whether its notes lie in a folder here (`service.local`) or on a server that speaks the REST API
(`remote.wiki`). Every operation raises errors of `domain.errors`; `kind` says what they are about: "page", "revision",
"attachment", "semantic", ...
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from commonplace.domain.json import Json, JsonObject
from commonplace.domain.revisions import UNCONDITIONAL, Conditions
from commonplace.domain.similarity import SearchMode

MAX_SEARCH = 100
"""Most hits of one search."""
MAX_ATTACHMENT_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NoteSummary:
    """A note in a list."""

    path: str
    category: str
    """The frontmatter's, "" without one."""
    tags: tuple[str, ...]
    last_updated: str
    """`YYYY-MM-DD`: the frontmatter's, else the day of the last commit (without Git, of the file)."""
    words: int
    """White-space-separated runs of the body."""


@dataclass(frozen=True, slots=True)
class NoteList:
    """A page of notes."""

    notes: tuple[NoteSummary, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFilter:
    """Which notes a list is to show; every given part must hold."""

    prefix: str = ""
    """Of the path, as written."""
    category: str = ""
    tag: str = ""
    """Category and tag are compared whole and without regard to case."""
    updated_since: str = ""
    """ISO 8601; the day is included."""
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class NoteCommit:
    """A commit."""

    revision: str
    author: str
    date: str
    """ISO 8601, UTC."""
    message: str
    pages: tuple[str, ...] = ()
    """Paths of the notes it touched, where the caller asked for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note, now or as it was."""

    path: str
    content: str
    """The whole Markdown, frontmatter included."""
    frontmatter: JsonObject
    links_to: tuple[str, ...]
    """Paths, in order of first occurrence; notes that are not there yet as they are written."""
    linked_from: tuple[str, ...]
    """Paths, sorted."""
    revision: str
    """40 hex digits: the last commit that touched the note; the blob of bytes that no commit holds."""
    last_commit: NoteCommit | None


@dataclass(frozen=True, slots=True)
class NoteHit:
    """A note that answers a search."""

    path: str
    snippet: str
    score: float
    """0 to 1, higher is better; comparable within one answer only."""


@dataclass(frozen=True, slots=True)
class NoteHits:
    """Notes that answer a search, best first."""

    hits: tuple[NoteHit, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteChunk:
    """A piece of a note that is near in meaning to a question."""

    path: str
    snippet: str
    text: str
    distance: float
    """1 - cosine: lower is closer."""
    section: str
    section_path: str
    chunk_index: int
    total_chunks: int
    page_word_count: int


@dataclass(frozen=True, slots=True)
class NoteLinks:
    """The links of one note, as in `Note`."""

    path: str
    links_to: tuple[str, ...]
    linked_from: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteGraph:
    """All notes and all links between two of them."""

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    """Source and target."""


@dataclass(frozen=True, slots=True)
class SavedNote:
    """What a write left."""

    path: str
    revision: str
    created: bool = False
    unchanged: bool = False
    """Whether the note held this very text before, as after a write that was sent twice."""


@dataclass(frozen=True, slots=True)
class RenamedNote:
    """What a rename left."""

    old_path: str
    new_path: str
    revision: str
    updated_pages: tuple[str, ...]
    """Notes whose links were rewritten."""


@dataclass(frozen=True, slots=True)
class NoteAttachment:
    """A file that belongs to a note."""

    filename: str
    size: int
    """Bytes."""
    mime_type: str
    last_modified: str
    """ISO 8601, UTC; "" where it is not known."""


@dataclass(frozen=True, slots=True)
class AttachmentContent:
    """An attachment with its bytes."""

    attachment: NoteAttachment
    content: bytes


class Notes(Protocol):
    """Reading and writing notes. A path means the note of just this name, else the one that differs in case only."""

    def list(self, wanted: NoteFilter) -> NoteList:
        """Notes, newest first, then by path.

        Raises:
            InvalidInputError: kind "date".
        """
        ...

    def read(self, path: str, revision: str = "") -> Note:
        """A note, now or at a revision.

        Raises:
            NotFoundError: kind "page" (context holds `nearest`) or "revision".
        """
        ...

    def write(
        self, path: str, content: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL
    ) -> SavedNote:
        """Create a note, or replace the one at this revision, or that `conditions.match` names.

        Writing the text that is there already succeeds at whatever `revision`.

        Raises:
            ConflictError: the note is there and `revision` is not the current one or "", or it is gone.
            PreconditionError: a condition is false.
        """
        ...

    def edit(
        self,
        path: str,
        change: tuple[str, str],
        *,
        revision: str,
        message: str,
        conditions: Conditions = UNCONDITIONAL,
    ) -> SavedNote:
        """Replace the one occurrence of the first text by the second.

        Raises:
            NotFoundError, ConflictError, PreconditionError: as for `write`.
            InvalidInputError: absent, ambiguous or identical.
        """
        ...

    def delete(self, path: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL) -> str:
        """Delete a note; its path as it was. Raises as `edit` does."""
        ...

    def rename(self, path: str, new_path: str, *, message: str, conditions: Conditions = UNCONDITIONAL) -> RenamedNote:
        """Move a note with its attachments and rewrite the links that lead to them, in one commit.

        Raises:
            AlreadyExistsError: the new path is taken.
            NotFoundError, PreconditionError: as for `edit`.
        """
        ...

    def history(self, path: str, limit: int) -> tuple[str, list[NoteCommit]]:
        """The note's path and the commits that touched it, newest first."""
        ...


class NoteQueries(Protocol):
    """Finding notes by words, meaning, links and time."""

    def search(self, query: str, limit: int, mode: SearchMode = "keyword") -> NoteHits:
        """Notes by words, meaning or both, best first.

        Raises:
            InvalidInputError: the query is blank.
            UnavailableError: kind "model": meaning alone was asked for, and there is no model.
        """
        ...

    def semantic_search(self, query: str, n: int, per_page: int) -> tuple[NoteChunk, ...]:
        """Pieces of notes by meaning, nearest first.

        Raises:
            UnavailableError: kind "semantic": it is not set up.
        """
        ...

    def links(self, path: str) -> NoteLinks:
        """What a note links to and what links to it."""
        ...

    def graph(self) -> NoteGraph:
        """All links."""
        ...

    def linked_from_any(self, paths: AbstractSet[str]) -> AbstractSet[str]:
        """Paths of the notes that at least one of these notes links to."""
        ...

    def changes(self, limit: int) -> list[NoteCommit]:
        """The latest commits with the notes that they touched, newest first."""
        ...


class NoteAttachments(Protocol):
    """Files in a note's folder."""

    def list(self, path: str) -> tuple[str, list[NoteAttachment]]:
        """The note's path and its attachments by name."""
        ...

    def upload(
        self, path: str, filename: str, content: bytes, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, NoteAttachment]:
        """Add a file; never overwrites. The note's path and the attachment.

        Raises:
            AlreadyExistsError: kind "attachment".
            TooLargeError: over `MAX_ATTACHMENT_BYTES`.
            PreconditionError: a condition on the file is false.
        """
        ...

    def download(self, path: str, filename: str) -> AttachmentContent:
        """A file.

        Raises:
            NotFoundError: kind "attachment".
        """
        ...

    def delete(
        self, path: str, filename: str, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, str]:
        """Delete a file; the note's path and the file's name.

        Raises:
            NotFoundError: kind "attachment".
            PreconditionError: a condition on the file is false.
        """
        ...


@dataclass(frozen=True, slots=True)
class Wiki:
    """Everything that can be done with one wiki."""

    notes: Notes
    queries: NoteQueries
    attachments: NoteAttachments


def name_of(path: str) -> str:
    """The last part of a note's path."""
    return path.rpartition("/")[2]


def as_text(value: Json) -> str:
    """A frontmatter value of any type as one line; "" for null and what is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False) if value else ""
    if isinstance(value, int | float):
        return str(value)
    return ", ".join(text for text in map(as_text, value) if text)


def as_texts(value: Json) -> tuple[str, ...]:
    """A frontmatter value of any type as the items of a list."""
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(text for text in map(as_text, items) if text)
