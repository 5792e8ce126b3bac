"""Ports of the vectors of a base in a shared engine: searching them, and embedding the missing ones.

The tailer writes the chunks of each page as texts. Workers, any number of processes on any machines, claim ranges of
chunks that lack a vector of their model, and write the vectors. A claim is a document in the engine that is changed by
compare-and-swap. Workers share nothing except the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.domain.cluster.shared_index import SharedBase
from commonplace.domain.query import Filter
from commonplace.domain.similarity import Background, ChunkHit, NearDocument, QuestionVector


@dataclass(frozen=True, slots=True)
class NearestPages:
    """The pages most similar to a query."""

    best: tuple[NearDocument, ...]
    """Pages, most similar first."""
    background: Background
    """The similarity of an ordinary page."""


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """Counts of a base's vectors by one model."""

    documents: int
    """Number of pages with all vectors."""
    chunks: int
    """Number of chunks with a vector."""
    pending: int
    """Number of pages that lack a vector."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A range of chunks that one worker embeds."""

    base: SharedBase
    model: str
    part: str
    """The range: the two hex digits with which the keys of its pages begin."""
    owner: str
    beat: int
    """Number of renewals."""
    state: tuple[int, int]
    """Sequence number and primary term, which the engine compares before it changes the claim."""


class SharedVectors(Protocol):
    """Searches of vectors. Thread-safe. Raises the errors of `shared_index.SharedIndexReader`."""

    def has(self, base: SharedBase, model: str) -> bool:
        """Whether a base has vectors of a model. The result is cached for about 30 seconds."""
        ...

    def nearest(self, base: SharedBase, question: QuestionVector, filter_: Filter, limit: int) -> NearestPages:
        """The pages within a filter that are most similar to a query."""
        ...

    def of(self, base: SharedBase, question: QuestionVector, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        """The similarities of these pages; pages without vectors are omitted."""
        ...

    def nearest_chunks(self, base: SharedBase, question: QuestionVector, count: int, each: int) -> Sequence[ChunkHit]:
        """The most similar chunks, at most `each` of a page."""
        ...

    def counts(self, base: SharedBase, model: str) -> VectorCounts:
        """The counts of embedded and pending pages and chunks."""
        ...


class EmbeddingWork(Protocol):
    """The chunks that lack vectors, for workers. Thread-safe. Raises the errors of `SharedIndexReader`."""

    def bases(self) -> Sequence[SharedBase]:
        """The bases whose chunks are in the engine."""
        ...

    def prepare(self, base: SharedBase, model: str, dimension: int) -> None:
        """Prepare the base for vectors of a model. Raises StorageError if it has vectors of another dimension."""
        ...

    def lacking(self, base: SharedBase, model: str) -> Sequence[str]:
        """The ranges with chunks that lack a vector of a model."""
        ...

    def claim(self, base: SharedBase, model: str, part: str, owner: str) -> Claim | None:
        """Claim a range; None if another worker has it.

        A claim that was not renewed for some seconds, by this worker's clock, is taken over.
        """
        ...

    def renew(self, claim: Claim) -> Claim | None:
        """Renew a claim; None if another worker has taken it over."""
        ...

    def release(self, claim: Claim) -> None:
        """Release a claim, and make the written vectors searchable."""
        ...

    def texts(self, claim: Claim) -> Iterator[Sequence[tuple[str, str]]]:
        """Ids and texts of the chunks of a range that lack a vector, in batches."""
        ...

    def store(self, claim: Claim, vectors: Mapping[str, Sequence[int] | None]) -> None:
        """Write vectors by chunk; None for a text without a vector. Deleted chunks are skipped."""
        ...
