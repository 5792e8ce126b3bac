"""The parameter models of the `wiki` toolset's tools.

Clients receive them as schemas; arguments are validated by them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from commonplace.faces.mcp.toolset import Parameters
from commonplace.toolsets.wiki.rules import MAX_QUERY, MAX_SEARCH

NotePath = Annotated[str, Field(description="The note's path, such as Actors/Iran", min_length=1)]
NoteRevision = Annotated[str, Field(description="40 hex digits as given by read_note, or the first 7 or more of them")]
Query = Annotated[str, Field(max_length=MAX_QUERY)]
CommitMessageText = Annotated[
    str, Field(description="One line that says why; the tool's own words by default", max_length=2000)
]


class ReadNote(Parameters):
    """Arguments of read_note."""

    path: NotePath
    section: Annotated[str, Field(description="A heading, or several from the outermost in: Setup > Linux")] | None = (
        None
    )
    revision: Annotated[str, Field(description="A revision from get_history; the current one by default")] | None = None


class WriteNote(Parameters):
    """Arguments of write_note."""

    path: NotePath
    content: Annotated[str, Field(description="The whole Markdown, YAML frontmatter included")]
    commit_message: CommitMessageText | None = None
    revision: NoteRevision | None = None


class EditNote(Parameters):
    """Arguments of edit_note."""

    path: NotePath
    revision: NoteRevision
    old_string: Annotated[str, Field(description="Text that occurs exactly once in the note")]
    new_string: str
    commit_message: CommitMessageText | None = None


class ListNotes(Parameters):
    """Arguments of list_notes."""

    prefix: Annotated[str, Field(description="Beginning of the path, such as Actors/")] | None = None
    category: str | None = None
    tag: str | None = None
    updated_since: Annotated[str, Field(description="ISO 8601 day, itself included: 2026-03-08")] | None = None
    limit: Annotated[int, Field(ge=1, le=10_000, description="All of them by default")] | None = None
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0


class SearchNotes(Parameters):
    """Arguments of search_notes."""

    query: Query
    limit: Annotated[int, Field(ge=1, le=MAX_SEARCH)] = 20


class SemanticSearch(Parameters):
    """Arguments of semantic_search."""

    query: Query
    n: Annotated[int, Field(ge=1, le=50)] = 5
    max_chunks_per_page: Annotated[int, Field(ge=1, le=5)] = 2


class NoteArguments(Parameters):
    """Arguments of tools that take a note and nothing else."""

    path: NotePath


class NoNoteArguments(Parameters):
    """Arguments of tools that take none."""


class GetRecentChanges(Parameters):
    """Arguments of get_recent_changes."""

    limit: Annotated[int, Field(ge=1, le=200)] = 20


class GetHistory(Parameters):
    """Arguments of get_history."""

    path: NotePath
    limit: Annotated[int, Field(ge=1, le=200)] = 10


class RenameNote(Parameters):
    """Arguments of rename_note."""

    path: NotePath
    new_path: NotePath
    commit_message: CommitMessageText | None = None


class DeleteNote(Parameters):
    """Arguments of delete_note."""

    path: NotePath
    commit_message: CommitMessageText | None = None


class AttachmentArguments(Parameters):
    """Arguments of tools that take an attachment and nothing else."""

    path: NotePath
    filename: Annotated[str, Field(min_length=1, description="Without a folder, such as map.png")]


class UploadAttachment(Parameters):
    """Arguments of upload_attachment."""

    path: NotePath
    filename: Annotated[str, Field(min_length=1, description="Without a folder, such as map.png")]
    content: Annotated[str, Field(description="base64 of at most 10 MB")]
