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
    """Ordinal of the section; for a chunk of several sections, that of the longest."""
    similarity: float
    """Cosine of the vectors, -1 to 1; higher is more similar."""


@dataclass(frozen=True, slots=True)
class Background:
    """The similarity that an ordinary document of the collection has to a query; zeros if it is unknown."""

    median: float = 0.0
    deviation: float = 0.0
    """Standard deviation of the similarities."""

    @property
    def threshold(self) -> float:
        """The similarity above which a document is more similar than an ordinary one."""
        return self.median + self.deviation


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """A query as a vector, for comparison with the vectors in a shared engine."""

    values: tuple[int, ...]
    """Components from -127 to 127; only the direction of the vector counts."""
    model: str
    """Digest of the model. Vectors of different models are never compared."""
    understood: float
    """Share of the query that the model has tokens for, 0 to 1."""


class SimilarityScores(Protocol):
    """Similarities of documents to one query."""

    @property
    def background(self) -> Background:
        """The similarity that an ordinary document of the collection has to the query; see `fusion.background`."""
        ...

    @property
    def understood(self) -> float:
        """Share of the query that the model has tokens for, 0 to 1; 1 if unknown."""
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


@dataclass(frozen=True, slots=True)
class Coverage:
    """The documents that a search compares by similarity."""

    documents: int = 0
    """Number of documents of the collection; 0 if semantic search is not set up."""
    pending: int = 0
    """Number of documents without vectors yet."""
    obstacle: str = ""
    """A clause that says why no document is compared, such as "the model is being loaded"; "" for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus:
    """Status of the semantic search of one collection."""

    status: Literal["off", "missing", "failing", "waiting", "working", "ready"]
    """Switched off; no model; failing model; pending texts; texts being embedded; all texts embedded."""
    model: str = ""
    """Name of the model."""
    documents: int = 0
    """Number of documents with vectors."""
    chunks: int = 0
    pending: int = 0
    """Number of documents without vectors yet."""
    reason: str = ""
    """The reason why the model is missing or failing, and what to do, in one or two sentences; "" for none."""
