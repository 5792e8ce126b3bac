"""Answering a search: documents from the ranker, records from the catalogue, snippets from the files."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from commonplace.domain.errors import InvalidInputError, NotFoundError, StorageError
from commonplace.domain.ports import Store
from commonplace.domain.query import Filter, Hit, Record, SearchQuery, SearchResult, SectionHit
from commonplace.domain.ranking import shared_beginning
from commonplace.domain.reading import read_document
from commonplace.domain.revisions import revision_of
from commonplace.domain.search_text import ask, fold_text
from commonplace.domain.snippets import Wanted, snippet
from commonplace.index.catalogue.entries import Passage, heading_path, outlines_by_key, passages_of, records_by_key
from commonplace.index.words.dictionary import Dictionary, Wishes
from commonplace.index.words.fulltext import FullText
from commonplace.index.words.ranking import Ranker
from commonplace.index.words.recent import Recent
from commonplace.index.words.scope import scope_of

NOTHING = Wishes(words=(), grams={}, compounds=(), phrases=(), excluded=())
"""Asks for every document."""
SHORTEST_BEGINNING = 3


class Search:
    """Searches one view of the index.

    Args:
        store: Where the shown documents are read again.
        connection: The catalogue, inside a transaction.
        fulltext: The full text.
        generation: That of the full text in this view.
        recent: What is newer than it.
    """

    def __init__(
        self, store: Store, connection: sqlite3.Connection, fulltext: FullText, generation: int, recent: Recent
    ) -> None:
        self.connection = connection
        self._store = store
        self._fulltext = fulltext
        self._searchers = fulltext.searchers(generation)
        self._recent = recent

    def answer(self, query: SearchQuery) -> SearchResult:
        """A page of hits.

        Raises:
            InvalidInputError: the text is blank.
        """
        if not query.text.strip():
            raise InvalidInputError(
                "The search text is empty.", kind="query", hint="Give at least one word to search for."
            )
        question = ask(query.text, self._fulltext.analyzer.analyze, prefix=query.prefix)
        if question.empty:
            return SearchResult(hits=(), total=0)
        wishes = Dictionary(self._searchers.documents, self._recent).wishes(question)
        ranked = self._ranker(wishes).page(query, scope_of(self.connection, query.filter))
        keys = list(ranked.scores)
        records = records_by_key(self.connection, keys)
        if not query.sections:
            hits = tuple(Hit(record=records[key], score=score) for key, score in ranked.scores.items())
            return SearchResult(hits=hits, total=ranked.total, wanted=self._wanted(wishes))
        outlines = outlines_by_key(self.connection, keys)
        wanted = self._wanted(wishes)
        show = _Show(self._store, wanted, query.snippet)
        hits = tuple(
            Hit(
                record=records[key],
                score=score,
                sections=show.sections(records[key], outlines[key], ranked.sections.get(key, ())[: query.sections]),
            )
            for key, score in ranked.scores.items()
        )
        return SearchResult(hits=hits, total=ranked.total, wanted=wanted)

    def keys(self, filter_: Filter) -> list[int]:
        """The numbers of the documents that a filter keeps."""
        return list(self._ranker(NOTHING).all(scope_of(self.connection, filter_)))

    def _ranker(self, wishes: Wishes) -> Ranker:
        return Ranker(self.connection, self._fulltext, self._searchers, self._recent, wishes)

    def _wanted(self, wishes: Wishes) -> Wanted:
        words: dict[str, set[str]] = {}
        for word in wishes.words:
            asked = next(iter(word.forms))
            for form in word.forms:
                words.setdefault(_beginning(asked, form), set()).add(form)
        for word in (word for phrase in wishes.phrases for word in phrase.words):
            words.setdefault(word, set()).add(word)
        grams = [*wishes.grams, *(gram for phrase in wishes.phrases for gram in phrase.grams)]
        return Wanted(
            {begin: frozenset(forms) for begin, forms in words.items()},
            grams=tuple(dict.fromkeys(grams)),
            fold=self._folded,
        )

    def _folded(self, word: str) -> str:
        return "".join(self._fulltext.analyzer.analyze(fold_text(word)))


class _Show:
    """Reads documents again to show why they were found."""

    def __init__(self, store: Store, wanted: Wanted, limit: int) -> None:
        self._store = store
        self._wanted = wanted
        self._limit = limit

    def sections(
        self, record: Record, passages: Sequence[Passage], best: Sequence[tuple[int, float]]
    ) -> tuple[SectionHit, ...]:
        """The best sections of a document, the first with text when only its names answered."""
        try:
            raw = self._store.read(record.address)
        except (NotFoundError, StorageError):
            return ()
        changed = revision_of(raw) != record.revision
        if changed or any(finding.rule == "not_utf8" for finding in record.findings):
            document = read_document(record.address, raw)
            raw = raw if document.decodable else document.text.encode()
            passages = passages_of(document.sections)
        chosen = best or [(_first_with_text(passages), 0.0)]
        return tuple(self._section(raw, passages, min(at, len(passages) - 1), score) for at, score in chosen)

    def _section(self, raw: bytes, passages: Sequence[Passage], ordinal: int, score: float) -> SectionHit:
        passage = passages[ordinal]
        text = raw[passage.content : passage.end].decode("utf-8", "replace")
        return SectionHit(
            ordinal=ordinal,
            path=heading_path(passages, ordinal),
            anchor=passage.anchor,
            snippet=snippet(text, self._wanted, self._limit),
            score=score,
        )


def _first_with_text(passages: Sequence[Passage]) -> int:
    return next((at for at, passage in enumerate(passages) if passage.end - passage.content > 1), 0)


def _beginning(one: str, other: str) -> str:
    """What two words begin with, or the second when that is next to nothing."""
    common = shared_beginning(one, other)
    return other[:common] if common >= SHORTEST_BEGINNING else other
