"""Frontmatter of knowledge documents: creation, tolerant reading, and the `updated` line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import set_fields
from commonplace.toolsets.projects.rules.chapters import new_body, read_chapters

_UPDATED_LINE = re.compile(
    rb"^(updated[ \t]*:[ \t]*)(?P<quote>[\"']?)[^\"'#\r\n\[{|>&*!]*?(?P=quote)([ \t]*(?:[ \t]#[^\r\n]*)?)(?=\r?$)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The frontmatter's fields; dates are ISO 8601, "" if missing."""

    title: str
    keywords: tuple[str, ...]
    created: str
    updated: str


def now_text() -> str:
    """The current time in the format of documents: UTC, ISO 8601, milliseconds, `Z`."""
    return iso_text(datetime.now(UTC))


def iso_text(moment: datetime) -> str:
    """A time in the format of documents."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def metadata_of(document: Document) -> Metadata:
    """Title (else the first heading, else the file's name), keywords and dates; missing values are empty."""
    values = document.frontmatter.values
    keywords = values.get("keywords")
    if isinstance(keywords, str):
        words = [word.strip() for word in keywords.split(",")]
    else:
        words = [str(word) for word in keywords if word is not None] if isinstance(keywords, (list, tuple)) else []
    return Metadata(
        document.title,
        tuple(word for word in words if word),
        _moment(values.get("created")),
        _moment(values.get("updated")),
    )


def new_document(
    title: str, keywords: Sequence[str], introduction: str, chapters: Sequence[tuple[str, str]], now: str
) -> bytes:
    """The bytes of a new document.

    Raises:
        InvalidInputError: kind "content": one chapter's text would hide the next.
    """
    body = new_body(chapters, introduction)
    fields = {"title": title, "keywords": list(keywords), "created": now, "updated": now}
    raw = set_fields(f"\n{body}".encode() if body else b"", fields)
    titles = [chapter.title for chapter in read_chapters(read_document(Address("new.md"), raw))]
    wanted_titles = iter(titles)
    if not all(title in wanted_titles for title, _ in chapters):
        raise InvalidInputError(
            "The content of a chapter would hide the next one: a code fence, HTML block or comment is not closed",
            kind="content",
            hint="Close it.",
        )
    return raw


def with_updated(document: Document, raw: bytes, now: str) -> bytes:
    """The bytes of an edited document with `updated` set in its frontmatter. The rest of the frontmatter stays.

    Args:
        document: The document before the edit.
        raw: The edited bytes, with the same frontmatter.
        now: The time.
    """
    block = document.frontmatter
    if not block.present:
        return raw
    start, end = block.span.start, block.span.end
    head, match = raw[start:end], _UPDATED_LINE.search(raw, start, end)
    if match:
        quote = match["quote"]
        key = match[1] if match[1].endswith((b" ", b"\t")) else match[1] + b" "  # `updated:` without a value
        return raw[: match.start()] + key + quote + now.encode() + quote + match[3] + raw[match.end() :]
    if any(finding.rule == "bad_yaml" for finding in block.findings):
        return raw
    return raw[:start] + set_fields(head, {"updated": now}) + raw[end:]


def _moment(value: object) -> str:
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
