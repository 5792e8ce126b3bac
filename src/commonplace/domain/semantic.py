"""Search by meaning: the chunks of a document, the fusion of scores into one ranking, and the ports."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol, TypeVar

from commonplace.domain.changes import Revision
from commonplace.domain.documents import Document, Section
from commonplace.domain.ports import Progress
from commonplace.domain.query import Background, ChunkHit, Coverage, EmbeddingStatus, Filter, SimilarityScores
from commonplace.domain.records import description_in
from commonplace.domain.snippets import strip_markdown

# Chunks: the pieces of a document that are embedded and compared with a query.
#
# Chunks follow sections. A long section is split, small neighbouring sections are joined, and each chunk begins with
# the headings above it, because a paragraph seldom repeats the subject of its page. If no text repeats the title and
# the description, they are a separate chunk.


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
    written = (section.ordinal for section in document.sections if source[section.content : section.end].strip())
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


# Fusion of keyword scores and similarities into one ranking.
#
# Keyword scores are divided by the best one. To each score is added a weight times the amount by which the document's
# similarity exceeds the collection's ordinary similarity. The weight decreases with the share of the query that the
# model does not know. It is 0 if the best documents by words are not more similar to the query than others: these
# documents are relevant often enough that a useful model agrees with them. Thus a model whose similarities are
# uniform, always high or random does not affect the ranking. A document without vectors is expected to exceed the
# ordinary similarity as much as documents of its keyword score do. docs/search.md has the measurements.


Key = TypeVar("Key", bound=Hashable)

WEIGHT = 2.0
"""Weight of an excess similarity of 1, relative to the best keyword score, if the model knows the whole query."""
CODE_WEIGHT = 0.3
"""Weight of a similarity if the query is an identifier or an error message, whose words are literal."""
FLOOR = 0.3
"""Minimum similarity of a hit that contains none of the words."""
MIN_UNDERSTOOD = 0.25
"""Minimum share of a query that the model knows for similarities to have a weight.

Texts that are spelled letter by letter are similar at random: the nDCG@10 of Arabic by similarity alone is .03.
"""
MIN_SAMPLE = 8
"""Minimum number of documents to determine an ordinary similarity; among fewer, the best one has too much influence."""
MIN_WITNESSES = 8
"""Minimum number of documents by words to determine whether the model agrees with the words."""
AGREEMENT = (1.0, 4.0)
"""Agreement, in standard deviations of chance, at which the weight begins to be positive, and at which it is full."""
DEVIATIONS_OF_MAD = 1.4826
"""Factor from a median absolute deviation to the standard deviation, for normally distributed values."""

_CODE = re.compile(r"\w(?:::|->|\.|_)\w|\w\(|[a-z][A-Z]|[A-Za-z]\d|[{}<>=;$\\]|--?\w+=|/\w+/")


def weight_of(text: str, understood: float = 1.0) -> float:
    """The weight of similarity for a query: lower if at least half of its words are code.

    Args:
        text: The query.
        understood: Share of the query's tokens that the model knows, 0 to 1. It is squared, because about the same
            share of the documents in the query's language is known, and only known tokens are compared.
    """
    words = text.split()
    code = sum(bool(_CODE.search(word)) for word in words)
    if understood < MIN_UNDERSTOOD:
        return 0.0
    return understood**2 * (CODE_WEIGHT if words and 2 * code >= len(words) else WEIGHT)


def background(similarities: Sequence[float]) -> Background:
    """The ordinary similarity; unknown if there are fewer than `MIN_SAMPLE` documents.

    The deviation is estimated by medians, too, so that documents with high similarities do not raise it.

    Args:
        similarities: Similarities of documents that were chosen regardless of the query.
    """
    if len(similarities) < MIN_SAMPLE:
        return Background()
    middle = statistics.median(similarities)
    spread = statistics.median(abs(similarity - middle) for similarity in similarities)
    return Background(middle, DEVIATIONS_OF_MAD * spread)


def agreement(by_words: Mapping[Key, float], near: Mapping[Key, float], ordinary: Background) -> float:
    """Agreement of the model that documents with the words match the query: 0 (as by chance) to 1.

    It is computed from the mean deviation of their similarities from the ordinary one, weighted by the square of the
    keyword score and divided by the deviation by chance. 1 if there are fewer than `MIN_WITNESSES` documents. 0 if the
    ordinary similarity is unknown and most of the documents have no vector: a few documents that are embedded first
    would come before all others.

    Args:
        by_words: Keyword scores of the best documents.
        near: Similarities.
        ordinary: The ordinary similarity.
    """
    witnesses = [(by_words[key], near[key]) for key in by_words.keys() & near.keys()]
    best = max((score for score, _ in witnesses), default=0.0)
    if not ordinary.deviation and 2 * len(witnesses) < len(by_words):
        return 0.0
    if len(witnesses) < MIN_WITNESSES or not ordinary.deviation or best <= 0:
        return 1.0
    weighted = [((score / best) ** 2, (element - ordinary.median) / ordinary.deviation) for score, element in witnesses]
    mean = sum(weight * value for weight, value in weighted) / math.sqrt(sum(weight**2 for weight, _ in weighted))
    nothing, full = AGREEMENT
    return min(max((mean - nothing) / (full - nothing), 0.0), 1.0)


def fused(
    by_words: Mapping[Key, float], near: Mapping[Key, float], scale: float, weight: float, ordinary: float = 0.0
) -> dict[Key, float]:
    """Scores of the documents of both rankings, best first.

    A document without a similarity gets the excess that the documents with both have at its keyword score, by the line
    through 0 with the least squares. With an excess of 0, it would fall behind every document with a similarity.

    Args:
        by_words: Keyword scores.
        near: Similarities; documents without vectors have none.
        scale: Divisor of keyword scores.
        weight: Factor of similarities.
        ordinary: The similarity above which a document gets an additional score.
    """
    excess = {key: max(similarity - ordinary, 0.0) for key, similarity in near.items()}
    both = [(by_words[key] / scale, excess[key]) for key in by_words.keys() & near.keys()]
    squares = sum(score * score for score, _ in both)
    slope = sum(score * more for score, more in both) / squares if squares else 0.0
    scores = {
        key: (score := by_words.get(key, 0.0) / scale) + weight * excess.get(key, slope * score)
        for key in {**by_words, **near}
    }
    return dict(sorted(scores.items(), key=lambda scored: -scored[1]))


# The port of semantic search, as a protocol; `embed` implements it.


class Reranker(Protocol):
    """A cross-encoder, which reads a question and a passage together."""

    def scores(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """Scores of the passages as answers to the question; higher is better.

        Raises:
            UnavailableError: kind "model": the model timed out, or its answer is invalid; the hint gives the next step.
        """
        ...


class SemanticIndex(Protocol):
    """The semantic index of one collection."""

    def similar(self, text: str, filter_: Filter, limit: int) -> SimilarityScores | None:
        """Similarities of documents to a query. Returns None at once if no model is available or it does not respond.

        Args:
            text: The query.
            filter_: The documents to consider.
            limit: Maximum number of best documents.
        """
        ...

    def nearest(self, text: str, filter_: Filter, limit: int) -> SimilarityScores:
        """Similarities of documents to a query, for a search by similarity only. The parameters are those of `similar`.

        Raises:
            UnavailableError: kind "model": there is no model, or it does not respond; the hint gives the next step.
            StorageError: kind "model": the model is damaged.
        """
        ...

    def nearest_chunks(self, text: str, count: int, each: int) -> Sequence[ChunkHit]:
        """The most similar chunks, at most `each` per document. Raises the same errors as `nearest`."""
        ...

    def coverage(self) -> Coverage:
        """The documents that a search compares at the moment. Cheap, and never waits for the model."""
        ...

    def status(self, *, trying: bool = False) -> EmbeddingStatus:
        """The current status.

        Args:
            trying: Whether to use the model first, which tells whether it works; takes the time of one query.
        """
        ...

    def embed(self, progress: Progress | None = None) -> None:
        """Embed changed documents. Returns when done, or at once if another process is embedding.

        Raises:
            KnowledgeError: kind "model": there is no model, or it fails.
        """
        ...

    def catch_up(self, documents: int, seconds: float) -> None:
        """Embed changed documents if there are few; for a command, which has no background thread.

        Does nothing if there are more documents, if the model is on a server, whose answers may be slow, or if it
        fails.

        Args:
            documents: Maximum number of changed documents.
            seconds: Time in seconds after which no further text is embedded.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...
