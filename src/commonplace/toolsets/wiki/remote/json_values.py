"""Converts a server's JSON to values of the wiki. Missing fields and fields of another type become empty."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from commonplace.domain.addresses import parse_address
from commonplace.domain.changes import RetainedCopy
from commonplace.domain.documents import Severity
from commonplace.domain.errors import InvalidInputError, UnavailableError
from commonplace.domain.findings import NewFinding
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.revisions import is_revision
from commonplace.toolsets.wiki.rules import (
    AttachmentContent,
    Note,
    NoteAttachment,
    NoteChunk,
    NoteCommit,
    NoteHit,
    NoteNode,
    NoteSummary,
    as_text,
    as_texts,
    name_of,
)


def text(answer: JsonObject, key: str) -> str:
    """A string; "" for any other value."""
    value = answer.get(key)
    return value if isinstance(value, str) else ""


def name(row: JsonObject) -> str:
    """A note's name; the last part of its path if the server gives no name."""
    return text(row, "name") or name_of(text(row, "path"))


def number(answer: JsonObject, key: str) -> int:
    """A whole number; 0 for any other value."""
    value = answer.get(key)
    return value if isinstance(value, int) else 0


def decimal(answer: JsonObject, key: str) -> float:
    """A number; 0 for any other value, and for a whole number beyond the range of a float."""
    value = answer.get(key)
    try:
        return float(value) if isinstance(value, int | float) else 0.0
    except OverflowError:
        return 0.0


def texts(answer: JsonObject, key: str) -> tuple[str, ...]:
    """The strings of a list; other items are omitted."""
    return tuple(item for item in _items(answer.get(key)) if isinstance(item, str))


def items(answer: JsonObject, key: str) -> tuple[Json, ...]:
    """The items of a list, of any type."""
    return _items(answer.get(key))


def objects(answer: JsonObject, key: str) -> Iterator[JsonObject]:
    """The objects of a list; other items are omitted."""
    return (item for item in _items(answer.get(key)) if isinstance(item, Mapping))


def summary(row: JsonObject) -> NoteSummary:
    """A note in a list."""
    return NoteSummary(
        path=text(row, "path"),
        name=name(row),
        category=as_text(row.get("category")),
        tags=as_texts(row.get("tags")),
        last_updated=as_text(row.get("last_updated")),
        words=number(row, "content_length"),
    )


def note(answer: JsonObject) -> Note:
    """A note."""
    values = answer.get("frontmatter")
    last = answer.get("last_commit")
    return Note(
        path=text(answer, "path"),
        content=text(answer, "content"),
        frontmatter=values if isinstance(values, Mapping) else {},
        links_to=texts(answer, "links_to"),
        linked_from=texts(answer, "linked_from"),
        revision=text(answer, "revision"),
        last_commit=change(last) if isinstance(last, Mapping) else None,
    )


def change(row: JsonObject) -> NoteCommit:
    """A commit."""
    return NoteCommit(
        text(row, "revision"),
        text(row, "author"),
        text(row, "date"),
        text(row, "message"),
        texts(row, "pages_affected"),
    )


def hit(row: JsonObject) -> NoteHit:
    """A note that matches a search."""
    return NoteHit(text(row, "path"), name(row), text(row, "snippet"), decimal(row, "score"))


def node(item: Json) -> NoteNode | None:
    """A note in the graph: an object, or from older servers only the path; None for any other value."""
    if isinstance(item, str):
        return NoteNode(item)
    return NoteNode(text(item, "path"), item.get("exists") is not False) if isinstance(item, Mapping) else None


def chunk(row: JsonObject) -> NoteChunk:
    """A chunk of a note that matches a semantic search."""
    return NoteChunk(
        path=text(row, "path"),
        name=name(row),
        snippet=text(row, "snippet"),
        text=text(row, "text"),
        distance=decimal(row, "distance"),
        section=text(row, "section"),
        section_path=text(row, "section_path"),
        chunk_index=number(row, "chunk_index"),
        total_chunks=number(row, "total_chunks"),
        page_word_count=number(row, "page_word_count"),
    )


def attachment(row: JsonObject) -> NoteAttachment:
    """A file of a note."""
    return NoteAttachment(
        text(row, "filename"), number(row, "size"), text(row, "mime_type"), text(row, "last_modified")
    )


def download(answer: JsonObject) -> AttachmentContent:
    """A file with its bytes.

    Raises:
        UnavailableError: the content is not base64.
    """
    try:
        content = base64.b64decode(text(answer, "content"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnavailableError("The wiki's answer cannot be parsed.", kind="api") from error
    return AttachmentContent(attachment(answer), content)


def kept(answer: JsonObject) -> list[RetainedCopy]:
    """The copies that the server retained for a request; unreadable rows are skipped."""
    return [one for row in objects(answer, "kept") if (one := _kept(row))]


def _kept(row: JsonObject) -> RetainedCopy | None:
    place, revision = text(row, "place"), text(row, "revision")
    if place not in ("trash", "object") or not is_revision(revision):
        return None
    try:
        day = datetime.fromisoformat(text(row, "until")).replace(tzinfo=UTC) if place == "trash" else None
        until = int(day.timestamp()) if day else 0
        return RetainedCopy(
            parse_address(text(row, "path")), revision, place, until=until, staged=row.get("staged") is True
        )
    except (ValueError, OverflowError, InvalidInputError):
        return None


def findings(answer: JsonObject) -> list[NewFinding]:
    """The findings that a request newly caused; unreadable rows are skipped."""
    severities = {one.value: one for one in Severity}
    return [
        NewFinding(
            path=text(row, "path"), line=number(row, "line"), severity=severities[text(row, "severity")],
            rule=text(row, "rule"), message=text(row, "message"),
        )
        for row in objects(answer, "findings")
        if text(row, "severity") in severities
    ]  # fmt: skip


def _items(value: Json) -> tuple[Json, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()
