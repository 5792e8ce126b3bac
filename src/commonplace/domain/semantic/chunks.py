"""Chunks: the pieces of a document that are embedded and compared with a query.

Chunks follow sections. A long section is split, small neighbouring sections are joined, and each chunk begins with the
headings above it, because a paragraph seldom repeats the subject of its page. If no text repeats the title and the
description, they are a separate chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from commonplace.domain.changes import Revision
from commonplace.domain.documents import Document, Section
from commonplace.domain.records import description_in
from commonplace.domain.snippets import strip_markdown

CHUNKS_VERSION = 3
"""Version of the division into chunks. After a change, documents are divided again; equal texts keep their vectors."""
TARGET_CHARS = 900
"""Target size of a chunk in bytes: about 150 English words, or 300 Chinese characters."""
MAX_CHUNK_CHARS = 1350
"""Size in bytes above which a text is split; about the maximum that a model of 256 tokens reads."""
MAX_HEADING_CHARS = 200
"""Maximum number of characters of headings before a text."""
MAX_CHUNKS = 500
"""Maximum number of chunks of a document. Later text is found only by words."""

MIN_TITLE_WORDS = 2
"""Minimum number of words of a title from the file's name, because titles such as `index` are meaningless."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n\s*")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document."""

    ordinal: int
    """Ordinal of the chunk's section; for several sections, that of the longest."""
    text: str
    """Input of the model: headings, then plain text on further lines."""

    @property
    def key(self) -> bytes:
        """Digest of the text, 16 bytes; it does not depend on the document."""
        return blake2b(self.text.encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a section, before small parts are joined."""

    section: Section
    text: str
    size: int
    """Size in bytes."""


def chunks_of(document: Document) -> list[Chunk]:
    """The chunks of a document in order; empty if it has no letter or digit."""
    chunks: list[Chunk] = list(_introduction(document))
    for pieces in _joined(_pieces(document)):
        text = "\n".join(_text(document, pieces))
        if any(letter.isalnum() for letter in text):
            chunks.append(Chunk(max(pieces, key=lambda piece: piece.size).section.ordinal, text))
        if len(chunks) == MAX_CHUNKS:
            break
    return chunks


def chunked_revision(revision: Revision) -> str:
    """A revision together with the version of its chunks; "" for a deleted document."""
    return f"{CHUNKS_VERSION}:{revision}" if revision else ""


def current_revision(chunked: str) -> Revision:
    """The revision in a result of `chunked_revision`; "" if its chunks are of an earlier version.

    Chunks of a later version are current, so that two versions of the program do not replace each other's.
    """
    version, _, revision = chunked.rpartition(":")
    return revision if int(version or 1) >= CHUNKS_VERSION else ""


def _introduction(document: Document) -> Iterator[Chunk]:
    """A chunk of title and description, if the headings and the text do not contain them."""
    title = document.title
    description = _one_line(description_in(document.frontmatter.values))
    repeated = title != document.address.stem or any(section.heading == title for section in document.sections)
    if description and description in _one_line(strip_markdown(document.body)):
        description = ""
    if description or (not repeated and len(_WORD.findall(title)) >= MIN_TITLE_WORDS):
        text = f"{title[:MAX_HEADING_CHARS]}\n{next(_parts(description))}".strip()
        yield Chunk(_first_written(document), text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _first_written(document: Document) -> int:
    """Ordinal of the first section with text; that of the first section if none has text."""
    source = document.source
    written = (one.ordinal for one in document.sections if source[one.content : one.end].strip())
    return next(written, 0)


def _pieces(document: Document) -> Iterator[_Piece]:
    source = document.source
    for section in document.sections:
        markdown = source[section.content : section.end].decode("utf-8", "replace")
        if section.level == 0 and not markdown.strip():
            continue
        for part in _parts(markdown):
            text = strip_markdown(part)
            yield _Piece(section, text, len(text.encode()))


def _joined(pieces: Iterator[_Piece]) -> Iterator[list[_Piece]]:
    """Join neighbours up to the target size. A section is only joined with others under the same parent."""
    waiting: list[_Piece] = []
    size = 0
    for piece in pieces:
        if waiting and (size + piece.size > TARGET_CHARS or not _related(waiting[0].section, piece.section)):
            yield waiting
            waiting, size = [], 0
        waiting.append(piece)
        size += piece.size
    if waiting:
        yield waiting


def _related(first: Section, other: Section) -> bool:
    """Whether the second section is the first, is below it, or has the same parent."""
    parent = first.path[:-1] if len(first.path) > 1 else first.path
    return other.path[: len(parent)] == parent


def _text(document: Document, pieces: Sequence[_Piece]) -> Iterator[str]:
    """The headings above the pieces, then each piece, preceded by its heading if it differs from the previous one."""
    path = pieces[0].section.path
    title = document.title if document.title != document.address.stem else ""
    if title and title not in path:
        path = (title, *path)
    yield " > ".join(path)[:MAX_HEADING_CHARS]
    last = pieces[0].section
    for piece in pieces:
        if piece.section is not last:
            yield piece.section.heading
            last = piece.section
        yield piece.text


def _parts(markdown: str) -> Iterator[str]:
    """A section's text; a long one is split between paragraphs, otherwise between sentences, otherwise anywhere."""
    if len(markdown.encode()) <= MAX_CHUNK_CHARS:
        yield markdown
        return
    waiting: list[str] = []
    size = 0
    for part in _small(markdown):
        length = len(part.encode())
        if waiting and size + length > TARGET_CHARS:
            yield "\n\n".join(waiting)
            waiting, size = [], 0
        waiting.append(part)
        size += length
    if waiting:
        yield "\n\n".join(waiting)


def _small(markdown: str) -> Iterator[str]:
    """Parts of at most the target size."""
    for paragraph in _PARAGRAPHS.split(markdown):
        if len(paragraph.encode()) <= TARGET_CHARS:
            yield paragraph
        else:
            yield from _sentences(paragraph)


def _sentences(paragraph: str) -> Iterator[str]:
    for sentence in _SENTENCES.split(paragraph):
        raw, start = sentence.encode(), 0
        while start < len(raw):
            part = raw[start : start + TARGET_CHARS].decode("utf-8", "ignore")  # omits a character that is cut off
            yield part
            start += len(part.encode())
