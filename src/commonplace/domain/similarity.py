"""What is near in meaning: values that pass between an index, the vectors and whoever asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

SearchMode = Literal["keyword", "semantic", "hybrid"]
"""How to search: by words, by meaning, or by both."""
SEARCH_MODES: tuple[SearchMode, ...] = ("keyword", "semantic", "hybrid")


@dataclass(frozen=True, slots=True)
class NearDocument:
    """A document and the section of it that is nearest to a question."""

    path: str
    ordinal: int
    """Of the section; of a chunk of several, the longest."""
    similarity: float
    """Cosine, -1 to 1: higher is nearer."""


class SimilarityScores(Protocol):
    """How near documents are to one question."""

    @property
    def best(self) -> Sequence[NearDocument]:
        """The nearest documents, nearest first; within the filter that was asked for."""
        ...

    def of(self, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        """These documents; those that have no vectors yet are left out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkHit:
    """A chunk that is near to a question."""

    path: str
    ordinal: int
    number: int
    """Its place among the chunks of its document, from 0."""
    of: int
    """How many chunks the document has."""
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus:
    """What search by meaning has of one collection, for people."""

    status: Literal["off", "missing", "failing", "working", "ready"]
    """Switched off; no model; a model that fails; texts are still to be embedded; all are."""
    model: str = ""
    """Its name."""
    documents: int = 0
    """With vectors."""
    chunks: int = 0
    pending: int = 0
    """Documents that wait for vectors."""
    reason: str = ""
    """Why it is missing or failing, and what to do, in a sentence or two."""
