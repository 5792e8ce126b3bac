"""Ports of the vectors that a shared engine has of a base: searches of them, and the work of making them.

The tailer writes the chunks of each page as texts. Workers, which can be any number of processes on any machine, claim
ranges of chunks that lack a vector of their model, and write the vectors. A claim is a document in the engine that is
changed by compare-and-swap; the engine is all that workers share.
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
    """Most similar first."""
    background: Background
    """The similarity of an ordinary page."""


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How many vectors of a model a base has."""

    documents: int
    """Pages with all their vectors."""
    chunks: int
    """Chunks with a vector."""
    pending: int
    """Pages that lack one."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A range of chunks that one worker embeds."""

    base: SharedBase
    model: str
    part: str
    """The range: two hex digits, with which the keys of its pages begin."""
    owner: str
    beat: int
    """How often it was renewed."""
    state: tuple[int, int]
    """What the engine compares before the claim is changed: sequence number and primary term."""


class SharedVectors(Protocol):
    """Searches of vectors. Thread-safe. Raises the errors of `shared_index.SharedIndexReader`."""

    def has(self, base: SharedBase, model: str) -> bool:
        """Whether a base has vectors of a model. Looks at most twice a minute."""
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
        """How much is embedded."""
        ...


class EmbeddingWork(Protocol):
    """The chunks that lack vectors, for workers. Thread-safe. Raises the errors of `SharedIndexReader`."""

    def bases(self) -> Sequence[SharedBase]:
        """The bases whose chunks are in the engine."""
        ...

    def prepare(self, base: SharedBase, model: str, dimension: int) -> None:
        """Have vectors of a model accepted. Raises StorageError if there are some of another dimension."""
        ...

    def lacking(self, base: SharedBase, model: str) -> Sequence[str]:
        """The ranges with chunks that lack a vector of a model."""
        ...

    def claim(self, base: SharedBase, model: str, part: str, owner: str) -> Claim | None:
        """Claim a range; None if another worker has it.

        A claim that was not renewed for some seconds, by the clock of the worker that waits for it, is taken over.
        """
        ...

    def renew(self, claim: Claim) -> Claim | None:
        """Keep a claim; None if another worker has taken it over."""
        ...

    def release(self, claim: Claim) -> None:
        """Give a claim back, and make what was written visible."""
        ...

    def texts(self, claim: Claim) -> Iterator[Sequence[tuple[str, str]]]:
        """Ids and texts of the chunks of a range that lack a vector, in batches."""
        ...

    def store(self, claim: Claim, vectors: Mapping[str, Sequence[int] | None]) -> None:
        """Write vectors by chunk; None for a text that has none. Chunks that are gone are passed over."""
        ...
