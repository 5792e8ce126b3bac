"""Meaning beside words: documents that are near to a question take their place among those that hold its words."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from commonplace.domain.query import SearchQuery
from commonplace.domain.semantic.fusion import FLOOR, fused, weight_of
from commonplace.domain.similarity import NearDocument
from commonplace.index.catalogue.document_rows import document_key, paths_by_key

MAX_FUSED = 50
"""How many of the best documents by words, and of the nearest, are put into one order; the others by words follow."""


@dataclass(frozen=True, slots=True)
class FusedRanking:
    """Documents in one order."""

    scores: dict[int, float]
    """By document, best first."""
    nearest: Mapping[int, NearDocument]
    """The nearest section of each, as far as it is known."""
    added: int = 0
    """How many of them hold none of the words."""


@dataclass(frozen=True, slots=True)
class RankFusion:
    """Puts documents in order by words and meaning.

    Args:
        connection: The catalogue, inside a transaction.
        query: What was asked; it has a nearness.
        strict: Whether documents that hold none of the words do not answer, as where a phrase is wanted.
    """

    connection: sqlite3.Connection
    query: SearchQuery
    strict: bool = field(default=False)

    def fuse(self, by_words: Mapping[int, float]) -> FusedRanking:
        """All documents in order.

        Args:
            by_words: Scores, best first.
        """
        window = dict(islice(by_words.items(), MAX_FUSED))
        known = self._nearness(list(window))
        scale = self.query.scale or max(window.values(), default=0.0) or 1.0
        near = {key: one.similarity for key, one in known.items()}
        ordered = fused(window, near, scale, weight_of(self.query.text))
        rest = {key: score / scale for key, score in by_words.items() if key not in ordered}
        return FusedRanking(ordered | rest, known, len(near.keys() - by_words.keys()))

    def by_similarity(self) -> FusedRanking:
        """The nearest documents, whatever words they hold."""
        best = {document_key(near.path): near for near in self._best()}
        there = self._paths(list(best))
        scores = {key: near.similarity for key, near in best.items() if key in there}
        return FusedRanking(scores, best, len(scores))

    def _nearness(self, keys: list[int]) -> dict[int, NearDocument]:
        """Of these documents, and of the nearest that there are."""
        paths = self._paths(keys)
        known: Mapping[str, NearDocument] = (
            self.query.similarity.of(list(paths.values())) if self.query.similarity else {}
        )
        near = {document_key(path): one for path, one in known.items()}
        if self.strict:
            return near
        further = {
            document_key(one.path): one
            for one in self._best()[:MAX_FUSED]
            if one.similarity >= FLOOR and one.path not in known
        }
        there = self._paths(list(further))
        return near | {key: one for key, one in further.items() if key in there}

    def _best(self) -> list[NearDocument]:
        return list(self.query.similarity.best) if self.query.similarity else []

    def _paths(self, keys: list[int]) -> dict[int, str]:
        """Paths by document, of those that are there."""
        return paths_by_key(self.connection, keys)
