"""Executes searches: documents from the ranker, records from the catalogue, snippets from the files."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Outline, OutlinedText
from commonplace.domain.errors import InvalidInputError, NotFoundError, StorageError
from commonplace.domain.languages import language_of, without_stop_words
from commonplace.domain.markdown.mdx import readable_source
from commonplace.domain.ports import Store
from commonplace.domain.query import Filter, Hit, SearchQuery, SearchResult, SectionHit
from commonplace.domain.query_parser import NO_WORDS, Analyze, exclusion_notice, parse_query
from commonplace.domain.ranking import shared_beginning
from commonplace.domain.revisions import revision_of
from commonplace.domain.snippets import HighlightTerms, SnippetSource, snippet, with_labels
from commonplace.domain.words.scripts import fold_text
from commonplace.index.catalogue.document_rows import CachedDocument, document_key
from commonplace.index.fulltext.query_builder import scope_of
from commonplace.index.fulltext.ranking import RankedPage, Ranker
from commonplace.index.fulltext.scoring import Snapshot
from commonplace.index.fulltext.tantivy_index import FullText
from commonplace.index.fulltext.term_dictionary import ExpandedQuery

EMPTY_QUERY = ExpandedQuery(words=(), grams={}, compounds=(), parted=(), phrases=(), optional_phrases=(), excluded=())
"""The query that matches every document."""
MIN_HIGHLIGHT_PREFIX = 3
MIN_PART_LENGTH = 2
"""Minimum length of a part of a word that is highlighted."""


@dataclass(frozen=True, slots=True)
class SearchedTexts:
    """Sources of the texts that snippets are cut from."""

    sources: DocumentSources
    sections: SectionTexts
    labels: Callable[[Address], Collection[tuple[str, str]]]
    """Returns label and page of those links of a document that are written with the label first."""


class IndexSearcher:
    """Searches one snapshot of the index.

    Args:
        texts: Source of the texts for snippets.
        connection: The catalogue, inside a transaction.
        fulltext: The full text.
        snapshot: The shared snapshot.
        language: The reader's language, for the order of translations; "" to leave their order unchanged.
    """

    def __init__(
        self,
        texts: SearchedTexts,
        connection: sqlite3.Connection,
        fulltext: FullText,
        snapshot: Snapshot,
        language: str = "",
    ) -> None:
        self._language = language
        self.connection = connection
        self._texts = texts
        self._fulltext = fulltext
        self._snapshot = snapshot

    def answer(self, query: SearchQuery) -> SearchResult:
        """A page of hits.

        Raises:
            InvalidInputError: the text is blank.
        """
        if not query.text.strip():
            raise InvalidInputError(
                "The search text is empty.", kind="query", hint="Give at least one word to search for."
            )
        analyze = self._fulltext.analyzer.analyze
        question = parse_query(query.text, analyze, prefix=query.prefix, demand=query.demand)
        if question.empty:
            return SearchResult(hits=(), total=0, generation=self._snapshot.generation, notice=NO_WORDS)
        expanded = self._snapshot.dictionary.expand(question)
        scope = scope_of(self.connection, query.filter)
        ranked = self._ranker(expanded).page(query, scope)
        if not self._knows(ranked, query):
            ranked = self._ranker(expanded, known_only=True).page(query, scope)
        terms = highlight_terms(expanded, analyze)
        return SearchResult(
            hits=self._hits(query, ranked, terms) if query.records else (),
            total=ranked.total,
            addresses=() if query.records else self._addresses(ranked),
            highlight=terms,
            demanded=len(expanded.phrases),
            has_operators=expanded.expression is not None,
            known=expanded.known or not expanded.has_terms,
            unknown=expanded.unknown,
            generation=self._snapshot.generation,
            notice=exclusion_notice(query.text, question),
        )

    def _knows(self, ranked: RankedPage, query: SearchQuery) -> bool:
        """Whether the catalogue contains all documents of a page."""
        look = self._snapshot.documents.entries if query.records else self._snapshot.documents.paths
        return len(look(self.connection, ranked.scores)) == len(ranked.scores)

    def _addresses(self, ranked: RankedPage) -> tuple[Address, ...]:
        paths = self._snapshot.documents.paths(self.connection, ranked.scores)
        return tuple(Address(paths[key]) for key in ranked.scores)

    def _hits(self, query: SearchQuery, ranked: RankedPage, terms: HighlightTerms) -> tuple[Hit, ...]:
        entries = self._snapshot.documents.entries(self.connection, ranked.scores)
        if not query.sections:
            return tuple(
                Hit(record=entries[key].record, score=score, titled=key in ranked.titled)
                for key, score in ranked.scores.items()
            )
        with self._texts.sources.reading() as read:
            show = _SnippetReader(read, self._texts, terms, query.snippet)
            return tuple(
                Hit(
                    record=entries[key].record,
                    score=score,
                    sections=show.sections(entries[key], ranked.sections.get(key, ())[: query.sections]),
                    titled=key in ranked.titled,
                )
                for key, score in ranked.scores.items()
            )

    def outlined(self, addresses: Sequence[Address]) -> dict[Address, OutlinedText]:
        """The sections of documents with their bytes. Documents that do not exist are omitted.

        Raises:
            StorageError: a file cannot be read.
        """
        keys = [document_key(address.path) for address in addresses]
        texts: dict[Address, OutlinedText] = {}
        with self._texts.sources.reading() as read:
            for entry in self._snapshot.documents.entries(self.connection, keys).values():
                with suppress(NotFoundError):
                    address = entry.record.address
                    texts[address] = _outlined(entry, read(address, entry.record.revision))
        return texts

    def keys(self, filter_: Filter) -> list[int]:
        """Numbers of the documents that match a filter."""
        return list(self._ranker(EMPTY_QUERY).all(scope_of(self.connection, filter_)))

    def _ranker(self, expanded: ExpandedQuery, *, known_only: bool = False) -> Ranker:
        return Ranker(
            self.connection,
            self._fulltext,
            self._snapshot,
            expanded,
            known_only=known_only,
            language=self._language,
        )


_NO_TEXT = SnippetSource("")


class _SnippetReader:
    """Creates snippets, and reads the documents whose texts are not cached."""

    def __init__(
        self,
        read: Callable[[Address, Revision], DocumentSource],
        texts: SearchedTexts,
        terms: HighlightTerms,
        limit: int,
    ) -> None:
        self._read = read
        self._texts = texts.sections
        self._labels = texts.labels
        self._wanted = terms
        self._limit = limit

    def sections(self, entry: CachedDocument, best: Sequence[tuple[int, float]]) -> tuple[SectionHit, ...]:
        """The best-scoring sections of a document. If only its names matched, the first section with text."""
        record, outline = entry.record, entry.outline
        chosen = self._chosen(outline, best)
        if not self._limit:
            return tuple(self._section(_NO_TEXT, outline, at, score) for at, score in chosen)
        texts = [self._texts.get(record.address, record.revision, at) for at, _ in chosen]
        if None in texts:
            try:
                outline, raw = _outlined(entry, self._read(record.address, record.revision))
            except (NotFoundError, StorageError):
                return ()
            chosen = self._chosen(outline, best)
            texts = self._cut(entry, raw, outline, [at for at, _ in chosen])
        return tuple(
            self._section(self._labelled(record.address, text or _NO_TEXT), outline, at, score)
            for text, (at, score) in zip(texts, chosen, strict=True)
        )

    def _cut(
        self, entry: CachedDocument, raw: bytes, outline: Outline, ordinals: Sequence[int]
    ) -> list[SnippetSource | None]:
        """The texts of sections; cached if the index knows these bytes."""
        texts = [_text(raw, outline, at) for at in ordinals]
        if outline is not entry.outline:
            return [*map(SnippetSource, texts)]
        address, revision = entry.record.address, entry.record.revision
        return [self._texts.keep(address, revision, at, text) for at, text in zip(ordinals, texts, strict=True)]

    def _chosen(self, outline: Outline, best: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
        return [(min(at, outline.last), score) for at, score in best or [(outline.first_with_text(), 0.0)]]

    def _labelled(self, address: Address, text: SnippetSource) -> SnippetSource:
        """A section in which each link that has the label first is replaced by its label."""
        return with_labels(text, partial(self._labels, address))

    def _section(self, text: SnippetSource, outline: Outline, ordinal: int, score: float) -> SectionHit:
        return SectionHit(
            ordinal=ordinal,
            path=outline.path(ordinal),
            anchor=outline.anchor(ordinal),
            snippet=snippet(text, self._wanted, self._limit),
            score=score,
        )


def _outlined(entry: CachedDocument, source: DocumentSource) -> OutlinedText:
    """The stored outline with its bytes. A document that has changed since, or is not UTF-8, is parsed."""
    record = entry.record
    if source.revision == record.revision and not any(finding.rule == "not_utf8" for finding in record.findings):
        return OutlinedText(entry.outline, readable_source(record.address, source.raw).text)
    document = read_document(record.address, source.raw)
    return OutlinedText(Outline.of(document.sections), document.source)


def _text(source: bytes, outline: Outline, ordinal: int) -> str:
    return source[outline.shown_text(ordinal)].decode("utf-8", "replace")


def highlight_terms(expanded: ExpandedQuery, analyze: Analyze) -> HighlightTerms:
    """The terms of an expanded query that snippets highlight.

    Args:
        expanded: The query.
        analyze: The full text's tokenizer.
    """
    words: dict[str, set[str]] = {}
    requested = [next(iter(word.forms)) for word in expanded.words]
    telling = without_stop_words(requested, language_of(requested, lambda _: 0.0)) or requested
    for word, requested_form in zip(expanded.words, requested, strict=True):
        if requested_form not in telling:
            continue
        for form in word.forms:
            words.setdefault(_beginning(requested_form, form), set()).add(form)
    said = [word for phrase in expanded.phrases for word in phrase.words]
    said += [word for parts in expanded.parted for word in parts if len(word) >= MIN_PART_LENGTH]
    for word in said:
        words.setdefault(word, set()).add(word)
    grams = [*expanded.grams, *(gram for phrase in expanded.phrases for gram in phrase.grams)]
    return HighlightTerms(
        {begin: frozenset(forms) for begin, forms in words.items()},
        grams=tuple(dict.fromkeys(grams)),
        fold=lambda word: "".join(analyze(fold_text(word))),
    )


@lru_cache(maxsize=20_000)
def _beginning(requested_form: str, other: str) -> str:
    """The common prefix of two words; the second word if the prefix is too short."""
    common = shared_beginning(requested_form, other)
    return other[:common] if common >= MIN_HIGHLIGHT_PREFIX else other


# Caches the texts for snippets: bytes of documents, and texts of sections.


CACHE_BYTES = 4_000_000
MAX_CACHED_SOURCE_BYTES = 200_000
"""Maximum size in bytes of a cached document; `CACHE_BYTES` is that of the whole cache."""
CACHE_CHARS = 4_000_000
"""Maximum size in characters of the cache of sections."""


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document's bytes and their revision."""

    raw: bytes
    revision: Revision


class DocumentSources:
    """Reads and caches documents. Thread-safe.

    Index data belongs to one revision of a document. While that revision is cached, the file is not read. If the file
    has changed, the index will soon request another revision.

    Args:
        store: The documents.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[Address, DocumentSource] = {}
        self._size = 0
        self._lock = threading.Lock()

    @contextmanager
    def reading(self) -> Generator[Callable[[Address, Revision], DocumentSource]]:
        """A context with a function that returns a document in a revision; if that is not cached, the current revision.

        The function raises NotFoundError and StorageError as the store's `read` does.
        """
        with ExitStack() as closing:
            from_store: list[Callable[[Address], bytes]] = []

            def read(address: Address, revision: Revision) -> DocumentSource:
                source = self._kept.get(address)
                if source and source.revision == revision:
                    return source
                if not from_store:
                    from_store.append(closing.enter_context(self._store.reading()))
                return self._taken(address, from_store[0](address))

            yield read

    def _taken(self, address: Address, raw: bytes) -> DocumentSource:
        """Cache a document that was just read."""
        source = DocumentSource(raw, revision_of(raw))
        if len(raw) <= MAX_CACHED_SOURCE_BYTES:
            with self._lock:
                before = self._kept.pop(address, None)
                self._size += len(raw) - (len(before.raw) if before else 0)
                self._kept[address] = source
                while self._size > CACHE_BYTES:
                    oldest = self._kept.pop(next(iter(self._kept)))
                    self._size -= len(oldest.raw)
        return source


_Key = tuple[str, Revision, int]


class SectionTexts:
    """Texts by document, revision and ordinal of the section. Thread-safe.

    A text belongs to one revision of a document. Texts of outdated revisions are no longer requested, and are evicted.
    """

    def __init__(self) -> None:
        self._kept: dict[_Key, SnippetSource] = {}
        self._size = 0
        self._lock = threading.Lock()

    def get(self, address: Address, revision: Revision, ordinal: int) -> SnippetSource | None:
        """The text of a section; None if it is not cached."""
        return self._kept.get((address.path, revision, ordinal))

    def keep(self, address: Address, revision: Revision, ordinal: int, text: str) -> SnippetSource:
        """Cache the text of a section, prepared for snippets."""
        source = SnippetSource(text)
        key = (address.path, revision, ordinal)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = source
                self._size += len(source.marked)
            while self._size > CACHE_CHARS:
                self._size -= len(self._kept.pop(next(iter(self._kept))).marked)
        return source
