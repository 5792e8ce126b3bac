"""The operations of a wiki and their results: values, and four ports with a local and a remote adapter each.

A `Wiki` behaves the same whether its notes are in a local folder (`service.local`) or on a server with the REST API
(`remote.wiki`). Every operation raises errors of `domain.errors`; `kind` names their subject, such as "page".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from commonplace.domain.errors import NotFoundError, UnavailableError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.query import SearchMode, StatusChoice
from commonplace.domain.revisions import UNCONDITIONAL, Conditions

MAX_SEARCH = 100
"""Maximum number of hits of a search."""
MAX_QUERY = 10_000
"""Maximum length of a query in characters."""
MAX_NOTE_BYTES = 4_000_000
"""Maximum number of bytes of a note's text in UTF-8, over MCP and REST."""
MAX_LINKS = 5_000
"""Maximum number of links of a note that are followed for an answer, the first ones."""
MAX_ATTACHMENT_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NoteSummary:
    """A note in a list."""

    path: str
    name: str
    """The frontmatter's title, else the last part of the path, as in the other values of this module."""
    category: str
    """The frontmatter's category; "" if there is none."""
    tags: tuple[str, ...]
    last_updated: str
    """`YYYY-MM-DD`: the frontmatter's date, else the day of the last commit (without Git, of the last change)."""
    words: int
    """Number of words in the body, separated by white space."""


@dataclass(frozen=True, slots=True)
class NoteList:
    """One page of a list of notes."""

    notes: tuple[NoteSummary, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFilter:
    """Filter of a list of notes; all given parts must match."""

    prefix: str = ""
    """Prefix of the path, compared case-insensitively."""
    category: str = ""
    tag: str = ""
    """A tag. Both category and tag are compared as a whole, case-insensitively."""
    updated_since: str = ""
    """ISO 8601 date; the day itself is included."""
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
    """Paths of the notes that it changed, if the caller requested them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note, current or at a revision."""

    path: str
    content: str
    """The whole Markdown text, including frontmatter."""
    frontmatter: JsonObject
    links_to: tuple[str, ...]
    """Paths in order of first occurrence; a missing note as the link writes it."""
    linked_from: tuple[str, ...]
    """Paths, sorted."""
    revision: str
    """40 hex digits: the last commit that changed the note, or the blob id of uncommitted bytes."""
    last_commit: NoteCommit | None
    more_links: bool = False
    """Whether the note has more than `MAX_LINKS` links, so that some are left out of `links_to`."""


@dataclass(frozen=True, slots=True)
class NoteHit:
    """A note that matches a search."""

    path: str
    name: str
    snippet: str
    score: float
    """0 to 1, higher is better; comparable only within one answer."""


@dataclass(frozen=True, slots=True)
class NoteHits:
    """Notes that match a search, best first."""

    hits: tuple[NoteHit, ...]
    total: int
    notice: str = ""
    """A sentence about parts of the search that failed; "" if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteChunk:
    """A chunk of a note that is semantically close to a query."""

    path: str
    name: str
    snippet: str
    text: str
    distance: float
    """1 - cosine; a smaller distance is closer."""
    section: str
    section_path: str
    chunk_index: int
    total_chunks: int
    page_word_count: int


@dataclass(frozen=True, slots=True)
class NoteChunks:
    """Chunks of notes that are semantically close to a query, nearest first."""

    chunks: tuple[NoteChunk, ...]
    notice: str = ""
    """A sentence about parts of the search that failed; "" if there are none."""


@dataclass(frozen=True, slots=True)
class NoteLinks:
    """The links of one note, as in `Note`."""

    path: str
    links_to: tuple[str, ...]
    linked_from: tuple[str, ...]
    more_links: bool = False


@dataclass(frozen=True, slots=True)
class NoteNode:
    """A note in the graph of links; `exists` is False for a missing note that a link names."""

    path: str
    """Path of the note; for a missing note, its name as the first link writes it."""
    exists: bool = True


@dataclass(frozen=True, slots=True)
class NoteGraph:
    """All notes, the missing notes to which links lead, and all links."""

    nodes: tuple[NoteNode, ...]
    edges: tuple[tuple[str, str], ...]
    """Source and target."""


@dataclass(frozen=True, slots=True)
class SavedNote:
    """The result of a write."""

    path: str
    revision: str
    name: str = ""
    created: bool = False
    unchanged: bool = False
    """Whether the note already had this text, as after a repeated write."""


@dataclass(frozen=True, slots=True)
class NoteDiff:
    """The differences of a note between two revisions."""

    path: str
    diff: str
    """The unified diff; "" if there are no differences."""


@dataclass(frozen=True, slots=True)
class RenamedNote:
    """The result of a rename."""

    old_path: str
    new_path: str
    revision: str
    updated_pages: tuple[str, ...]
    """Notes whose links were rewritten."""
    not_rewritten: tuple[str, ...] = ()
    """Notes that are not UTF-8, with links that no longer lead right."""


@dataclass(frozen=True, slots=True)
class NoteAttachment:
    """A file that belongs to a note."""

    filename: str
    size: int
    """Size in bytes."""
    mime_type: str
    last_modified: str
    """ISO 8601, UTC; "" if unknown."""
    created: bool = False
    """Whether the upload created the attachment, rather than replacing it."""


@dataclass(frozen=True, slots=True)
class AttachmentContent:
    """An attachment with its bytes."""

    attachment: NoteAttachment
    content: bytes


class Notes(Protocol):
    """Access to notes. A path names the note with exactly this name, else the one that differs only in case."""

    def list(self, note_filter: NoteFilter) -> NoteList:
        """Notes, newest first, then by path.

        Raises:
            InvalidInputError: kind "date": `updated_since` is not a date.
        """
        ...

    def read(self, path: str, revision: str = "") -> Note:
        """Return a note, current or at a revision.

        Raises:
            NotFoundError: kind "page" (context has `nearest`) or "revision": there is no such page or revision.
        """
        ...

    def write(
        self, path: str, content: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL
    ) -> SavedNote:
        """Create a note, or replace the note at this revision or at the revision that `conditions.match` names.

        Writing the current text again succeeds with any `revision`.

        Raises:
            ConflictError: the note exists and `revision` is neither the current one nor "", or the note was deleted.
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
        occurrence: int = 0,
    ) -> SavedNote:
        """Replace one occurrence of the first text with the second.

        `occurrence` is the number of the occurrence, counted from 1; 0 requires that there is only one.

        Raises:
            NotFoundError, ConflictError, PreconditionError: as for `write`.
            InvalidInputError: the text is absent, ambiguous or identical to its replacement.
        """
        ...

    def delete(self, path: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL) -> str:
        """Delete a note; return its stored path. Raises the same errors as `edit`."""
        ...

    def rename(self, path: str, new_path: str, *, message: str, conditions: Conditions = UNCONDITIONAL) -> RenamedNote:
        """Rename a note with its attachments and rewrite the links to them, in one commit.

        Raises:
            AlreadyExistsError: the new path is taken.
            NotFoundError, PreconditionError: as for `edit`.
        """
        ...

    def history(self, path: str, limit: int) -> tuple[str, list[NoteCommit]]:
        """Return the note's path and the commits that changed it, newest first."""
        ...


class NoteQueries(Protocol):
    """Search by words, meaning, links and time."""

    def search(self, query: str, limit: int, mode: SearchMode = "keyword", status: StatusChoice = "any") -> NoteHits:
        """Notes by words, meaning or both, best first.

        Raises:
            InvalidInputError: the query is blank, or there is no such status.
            UnavailableError: kind "model": `mode` is semantic only, and there is no model.
        """
        ...

    def semantic_search(self, query: str, n: int, per_page: int) -> NoteChunks:
        """Chunks of notes by meaning, nearest first; distant chunks are omitted.

        Raises:
            UnavailableError: kind "semantic": semantic search is not configured.
        """
        ...

    def links(self, path: str) -> NoteLinks:
        """The outgoing and incoming links of a note, or of a missing note to which links lead."""
        ...

    def graph(self) -> NoteGraph:
        """All links."""
        ...

    def linked_from_any(self, paths: AbstractSet[str]) -> AbstractSet[str]:
        """Paths of the notes to which at least one of these notes links."""
        ...

    def changes(self, limit: int) -> list[NoteCommit]:
        """The latest commits with the notes that they changed, newest first."""
        ...

    def change_count(self) -> int:
        """Number of all commits that changed the wiki."""
        ...


class NoteVersions(Protocol):
    """Access to the versions of notes: diffs and restoring."""

    def diff(self, path: str, old: str, new: str = "") -> NoteDiff:
        """The differences of a note between two revisions. `new` "" is the current note.

        Raises:
            NotFoundError: kind "page" or "revision": there is no such page or revision.
        """
        ...

    def restore(self, path: str, revision: str, *, message: str, conditions: Conditions = UNCONDITIONAL) -> SavedNote:
        """Write the text of an older revision as a new version.

        Raises:
            NotFoundError: as from `diff`.
            ConflictError: the note has text that no commit contains.
            PreconditionError: a condition is false.
        """
        ...


class NoteAttachments(Protocol):
    """Attachments: files in a note's folder."""

    def list(self, path: str) -> tuple[str, list[NoteAttachment]]:
        """Returns the note's path and its attachments by name."""
        ...

    def upload(
        self, path: str, filename: str, content: bytes, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, NoteAttachment]:
        """Add an attachment, or replace the one that `conditions.match` names. Returns the note's path, too.

        Raises:
            AlreadyExistsError: kind "attachment": the name is taken.
            TooLargeError: the content exceeds `MAX_ATTACHMENT_BYTES`.
            PreconditionError: a condition on the file is false.
        """
        ...

    def download(self, path: str, filename: str) -> AttachmentContent:
        """Return an attachment with its bytes.

        Raises:
            NotFoundError: kind "attachment": there is no such attachment.
        """
        ...

    def delete(
        self, path: str, filename: str, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, str]:
        """Delete an attachment; return the note's path and the file's name.

        Raises:
            NotFoundError: kind "attachment": there is no such attachment.
            PreconditionError: a condition on the file is false.
        """
        ...


@dataclass(frozen=True, slots=True)
class Wiki:
    """The operations of one wiki."""

    notes: Notes
    queries: NoteQueries
    attachments: NoteAttachments
    versions: NoteVersions
    retain_case: bool = True
    """Whether notes are named as their files; otherwise as an Otterwiki with its default setting names them."""


def revision_not_found(path: str, revision: str) -> NotFoundError:
    """The error for a note that exists and does not have this revision."""
    return NotFoundError(
        f"Revision not found: {revision} of {path}.",
        kind="revision",
        hint="Use the page's history to see its revisions.",
        reference=path,
    )


def semantic_search_missing() -> UnavailableError:
    """The error for a semantic search on a server without one."""
    return UnavailableError(
        "Semantic search is not set up on this server.",
        kind="semantic",
        hint="Use search_notes (GET /search), which searches by words.",
    )


# Values of a note's frontmatter as text, and a note's name.


def note_name(path: str, frontmatter: JsonObject) -> str:
    """The frontmatter's title, else the last part of the path."""
    return as_text(frontmatter.get("title")) or name_of(path)


def name_of(path: str) -> str:
    """The last part of a note's path."""
    return path.rpartition("/")[2]


def as_text(value: Json) -> str:
    """A frontmatter value of any type as one line; "" for null and empty values."""
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
