"""Values of semantic search that the index, the vectors and their callers exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

SearchMode = Literal["keyword", "semantic", "hybrid"]
"""The mode of a search: by words, by similarity, or both."""
SEARCH_MODES: tuple[SearchMode, ...] = ("keyword", "semantic", "hybrid")


@dataclass(frozen=True, slots=True)
class NearDocument:
    """A document and its section that is most similar to a query."""

    path: str
    ordinal: int
    """Ordinal of the section; for a chunk of several sections, the longest one's."""
    similarity: float
    """Cosine, -1 to 1: higher is nearer."""


@dataclass(frozen=True, slots=True)
class Background:
    """The similarity that an ordinary document of the collection has to a query; zeros if it is unknown."""

    median: float = 0.0
    deviation: float = 0.0
    """Standard deviation."""

    @property
    def threshold(self) -> float:
        """The similarity that a document has to exceed to stand out."""
        return self.median + self.deviation


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """A query as a vector, to be compared with the vectors that a shared engine has."""

    values: tuple[int, ...]
    """Integers from -127 to 127; only their direction counts."""
    model: str
    """Digest of the model. Vectors of different models are never compared."""
    understood: float
    """The share of the query, 0 to 1, that the model has tokens for."""


class SimilarityScores(Protocol):
    """Similarities of documents to one query."""

    @property
    def background(self) -> Background:
        """The similarity that an ordinary document of the collection has to the query; see `fusion.background`."""
        ...

    @property
    def understood(self) -> float:
        """The share of the query, 0 to 1, that the model has tokens for; 1 if the model does not tell."""
        ...

    @property
    def best(self) -> Sequence[NearDocument]:
        """The most similar documents within the filter, best first."""
        ...

    def of(self, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        """The similarities of these documents; documents without vectors are omitted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkHit:
    """A chunk that is similar to a query."""

    path: str
    ordinal: int
    number: int
    """Position of the chunk in its document, from 0."""
    of: int
    """Number of chunks of the document."""
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus:
    """Status of the semantic search of one collection, for people."""

    status: Literal["off", "missing", "failing", "waiting", "working", "ready"]
    """Switched off; no model; a failing model; texts that nobody embeds; texts being embedded; all texts embedded."""
    model: str = ""
    """Name of the model."""
    documents: int = 0
    """Number of documents with vectors."""
    chunks: int = 0
    pending: int = 0
    """Number of documents without vectors yet."""
    reason: str = ""
    """Why the model is missing or failing, and what to do, in a sentence or two."""
