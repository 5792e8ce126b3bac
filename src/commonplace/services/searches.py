"""Searches of one collection or of all, by words, by similarity, or by both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError, UnavailableError
from commonplace.domain.ports import Index
from commonplace.domain.query import (
    ChunkHit,
    Coverage,
    Filter,
    Hit,
    SearchMode,
    SearchQuery,
    SearchResult,
    SimilarityScores,
)
from commonplace.domain.semantic import FLOOR, Reranker
from commonplace.domain.words.amounts import amount
from commonplace.services.collections import Collection, unfinished_notice
from commonplace.services.denials import denial_of, unknown_notice
from commonplace.services.listing import in_order, unknown_values
from commonplace.services.past import narrowed_since
from commonplace.services.statuses import (
    NOTHING_CURRENT,
    current_first,
    is_lapsed_chunk,
    lapsed_title_notice,
    narrowed,
    other_status_notice,
)

MAX_RERANKED_HITS = 20
"""Maximum number of the best hits that are reranked."""
MAX_PASSAGE_CHARS = 1500
"""Maximum number of characters of a passage that is sent to the reranker."""
MAX_NEAREST_DOCUMENTS = 100
"""Maximum number of documents from the semantic index."""


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit and its collection."""

    collection: Collection
    hit: Hit


@dataclass(frozen=True, slots=True)
class FoundHits:
    """A page of hits over all searched collections."""

    hits: tuple[FoundHit, ...]
    total: int
    """Number of all matching documents."""
    notice: str = ""
    """A sentence about parts of the search that could not be answered, for people and agents; "" if there are none."""
    similarities: Mapping[str, SimilarityScores] = field(default_factory=dict[str, SimilarityScores])
    """The similarities of the documents to the query, by name of the collection; empty if none were compared."""


@dataclass(frozen=True, slots=True)
class FoundChunks:
    """The chunks most similar to a query."""

    chunks: tuple[ChunkHit, ...]
    """Chunks, most similar first."""
    notice: str = ""
    """A sentence about parts of the search that could not be answered; "" if there are none."""


def search(
    collections: Sequence[Collection], query: SearchQuery, mode: SearchMode = "keyword", *, explained: bool = True
) -> FoundHits:
    """Ranked documents of all the collections together.

    Args:
        collections: The collections to search.
        query: The query; `offset` and `limit` count over all collections.
        mode: The mode; `hybrid` falls back to words if there is no model, or if the sort is not by score.
        explained: Whether hits come with a notice about words that no page has; files may be read for it.

    Raises:
        InvalidInputError: the text is blank.
        UnavailableError: kind "model": a semantic search without a model, or with one that does not respond.
    """
    reranker = collections[0].reranker if collections and mode != "keyword" and query.records else None
    if reranker is None or query.offset >= MAX_RERANKED_HITS or query.sort != "score" or not query.descending:
        return _found(collections, query, mode, explained=explained)
    wide = replace(query, offset=0, limit=max(MAX_RERANKED_HITS, query.offset + query.limit))
    found_hits = _found(collections, wide, mode, explained=explained)
    hits, notice = reranked(found_hits.hits, query.text, reranker)
    page = tuple(hits[query.offset : query.offset + query.limit])
    return replace(found_hits, hits=page, notice=" ".join(filter(None, (found_hits.notice, notice))))


def _found(collections: Sequence[Collection], query: SearchQuery, mode: SearchMode, *, explained: bool) -> FoundHits:
    """A page of hits in the order of the collections' own scores."""
    search_query = query if len(collections) == 1 else replace(query, offset=0, limit=query.offset + query.limit)
    unfinished = unfinished_notice(collections)
    results, denied, similarities = _answered(collections, search_query, mode, explained=explained)
    uncompared = "" if mode == "keyword" or not _is_best_first(query) else _uncompared_notice(collections)
    notices = (unfinished or denied, *(result.notice for _, result in results), uncompared)
    notice = " ".join(dict.fromkeys(filter(None, notices)))
    hits = [FoundHit(collection, hit) for collection, result in results for hit in result.hits]
    total = sum(result.total for _, result in results)
    unknown = () if total or unfinished else unknown_values(collections, query.filter)
    notice = " ".join(filter(None, (*_status_notices(collections, query, hits, total), *unknown, notice)))
    if len(collections) == 1:
        return FoundHits(tuple(hits), total, notice, similarities)
    if query.sort == "score":
        hits.sort(key=lambda hit: (hit.hit.is_lapsed, not hit.hit.titled, -hit.hit.score))
    else:
        hits = in_order(hits, lambda hit: hit.hit.record, query.sort, descending=query.descending)
    return FoundHits(tuple(hits[query.offset : query.offset + query.limit]), total, notice, similarities)


def _status_notices(
    collections: Sequence[Collection], query: SearchQuery, hits: Sequence[FoundHit], total: int
) -> Iterator[str]:
    """Sentences about pages that do not hold: each hit, the one with this title, or those that a status leaves out."""
    if query.status not in {"", "any"}:
        if not total:
            others = _found(collections, replace(query, status="", offset=0, limit=1), "keyword", explained=False)
            yield other_status_notice(others.total, query.status)
    elif query.offset:
        return
    elif hits and all(hit.hit.is_lapsed for hit in hits):
        yield NOTHING_CURRENT
    elif _is_best_first(query):
        yield from (lapsed_title_notice(collection, query.text) for collection in collections)


def reranked(hits: Sequence[FoundHit], text: str, reranker: Reranker) -> tuple[list[FoundHit], str]:
    """The hits with the best ones reranked, and a notice if the cross-encoder fails.

    Hits whose title equals the query remain first. The scores remain in descending order: hits change places, scores
    do not.

    Args:
        hits: The hits, best first.
        text: The query.
        reranker: The cross-encoder.
    """
    first = [hit for hit in hits[:MAX_RERANKED_HITS] if hit.hit.titled]
    some = [hit for hit in hits[:MAX_RERANKED_HITS] if not hit.hit.titled and not hit.hit.is_lapsed]
    lapsed = [hit for hit in hits[:MAX_RERANKED_HITS] if not hit.hit.titled and hit.hit.is_lapsed]
    if len(some) < 2:  # noqa: PLR2004 - one hit needs no order
        return list(hits), ""
    try:
        scores = reranker.scores(text, [_passage(hit) for hit in some])
    except UnavailableError as error:
        return list(hits), f"{error} {error.hint}"
    order = sorted(range(len(some)), key=lambda at: -scores[at])
    moved = [
        replace(some[at], hit=replace(some[at].hit, score=some[place].hit.score)) for place, at in enumerate(order)
    ]
    return [*first, *moved, *lapsed, *hits[MAX_RERANKED_HITS:]], ""


def _passage(hit: FoundHit) -> str:
    """The title, the headings and the text of a hit's best section."""
    record = hit.hit.record
    try:
        document = hit.collection.index.document(record.address)
    except NotFoundError:
        return record.title
    if not document.sections:
        return record.title
    ordinal = hit.hit.sections[0].ordinal if hit.hit.sections else 0
    section = document.sections[min(ordinal, len(document.sections) - 1)]
    text = document.source[section.content : section.end].decode("utf-8", "replace").strip()
    return "\n".join(dict.fromkeys((record.title, *section.path, text)))[:MAX_PASSAGE_CHARS]


def search_collection(collection: Collection, *queries: SearchQuery) -> list[SearchResult]:
    """The result of each query in the index of one collection. The queries have the same text.

    If no document contains the required phrases or matches the operators, the words are searched, with a notice.

    Raises:
        InvalidInputError: the text is blank.
    """

    def answered(query: SearchQuery) -> SearchResult:
        return current_first(collection, query, collection.index.search(query), collection.index.search)

    results = list(map(answered, queries))
    by_meaning = any(query.similarity for query in queries)
    denial = denial_of([collection], queries, results, by_meaning=by_meaning)
    if denial is None:
        return results
    for change in denial.instead:
        results = [answered(change(query)) for query in queries]
        if any(result.total for result in results):
            break
    notice = denial.notice(has_hits=any(result.total for result in results))
    return [replace(result, notice=notice) for result in results]


def _answered(
    collections: Sequence[Collection], query: SearchQuery, mode: SearchMode, *, explained: bool
) -> tuple[list[tuple[Collection, SearchResult]], str, Mapping[str, SimilarityScores]]:
    """The results of the collections, a sentence about what they do not have, and the similarities."""
    results, similarities = _results(collections, query, mode)
    if not explained and any(result.total for _, result in results):
        return results, "", similarities
    denial = denial_of(collections, [query], [result for _, result in results], by_meaning=bool(similarities))
    if denial is None:
        return results, "", similarities
    for change in denial.instead:
        results, similarities = _results(collections, change(query), mode)
        if any(result.total for _, result in results):
            break
    return results, denial.notice(has_hits=any(result.total for _, result in results)), similarities


def _results(
    collections: Sequence[Collection], query: SearchQuery, mode: SearchMode
) -> tuple[list[tuple[Collection, SearchResult]], Mapping[str, SimilarityScores]]:
    """The results, and the similarities of the collections whose documents were compared by meaning."""
    queries = _with_meaning(
        [(collection, replace(query, filter=_narrowed(collection, query))) for collection in collections],
        mode,
    )
    answers = _answers([(collection.index, query) for collection, query in zip(collections, queries, strict=True)])
    results = [
        (collection, current_first(collection, query, result, partial(_again, collection, mode)))
        for collection, query, result in zip(collections, queries, answers, strict=True)
    ]
    similarities = {
        collection.name: query.similarity
        for collection, query in zip(collections, queries, strict=True)
        if query.similarity
    }
    return results, similarities


def _narrowed(collection: Collection, query: SearchQuery) -> Filter:
    return narrowed_since(collection, narrowed(collection, query.filter, query.status), query.since)


def _again(collection: Collection, mode: SearchMode, query: SearchQuery) -> SearchResult:
    """The result of a query that was asked with another filter before, to which its similarities belong."""
    (search_query,) = _with_meaning([(collection, query)], mode)
    (result,) = _answers([(collection.index, replace(search_query, scale=query.scale))])
    return result


def _answers(indices: Sequence[tuple[Index, SearchQuery]]) -> list[SearchResult]:
    """The results of several indexes; requests to one search cluster are sent together."""
    if len(indices) == 1:
        return [index.search(query) for index, query in indices]
    # Imported on demand, because most servers use no cluster.
    from commonplace.services.cluster import search_together  # noqa: PLC0415

    return search_together(indices)


def nearest_chunks(collection: Collection, text: str, count: int, each: int) -> FoundChunks:
    """The chunks most similar to a query, at most `each` per document.

    Distant chunks of documents that contain no word of the query are omitted.

    Raises:
        UnavailableError: kind "model": there is no model, or it does not respond.
    """
    if collection.semantic_index is None:
        raise semantic_search_off()
    unfinished = unfinished_notice([collection])
    hits = collection.semantic_index.nearest_chunks(text, count, each)
    far = {Address(hit.path) for hit in hits if hit.similarity < FLOOR}
    query = SearchQuery(text=text, filter=Filter(among=tuple(far)), limit=len(far), sections=0, demand=False)
    shared = collection.index.search(query)
    paths = {hit.record.address.path for hit in shared.hits}
    near = tuple(hit for hit in hits if hit.similarity >= FLOOR or hit.path in paths)
    unknown = "" if shared.known else unknown_notice(collection, SearchQuery(text=text), has_hits=bool(near))
    near = tuple(sorted(near, key=is_lapsed_chunk(collection)))
    notices = (unfinished or unknown, _uncompared_notice([collection]))
    return FoundChunks(near, " ".join(filter(None, notices)))


def semantic_search_off() -> UnavailableError:
    """The error for a semantic search if semantic search is switched off."""
    return UnavailableError(
        "Search by meaning is switched off here.",
        kind="model",
        hint="Search with mode=keyword, or start without --no-embed.",
        retryable=0,
    )


def _with_meaning(queries: Sequence[tuple[Collection, SearchQuery]], mode: SearchMode) -> list[SearchQuery]:
    """The query of each collection, with the similarities of its documents if the mode needs them."""
    if not queries:
        return []
    query = queries[0][1]
    if mode == "keyword" or not query.text.strip() or (mode == "hybrid" and not _is_best_first(query)):
        return [query for _, query in queries]
    if mode == "semantic":
        return [replace(query, similarity=_nearest(collection, query), words=False) for collection, query in queries]
    search_queries = [replace(query, similarity=_near(collection, query)) for collection, query in queries]
    if len(search_queries) > 1 and any(query.similarity for query in search_queries):
        scale = _best_score(queries)
        return [replace(query, scale=scale) for query in search_queries]
    return search_queries


def _is_best_first(query: SearchQuery) -> bool:
    return query.sort == "score" and query.descending


def has_meaning(collection: Collection) -> bool:
    """Whether a search compares documents by meaning, or will once they are embedded."""
    return collection.semantic_index is not None and collection.semantic_index.coverage() != Coverage()


def _uncompared_notice(collections: Sequence[Collection]) -> str:
    """The notice about documents that are not compared by similarity; "" if all are, or without a model."""
    coverages = [collection.semantic_index.coverage() for collection in collections if collection.semantic_index]
    if obstacle := next((coverage.obstacle for coverage in coverages if coverage.obstacle), ""):
        return f"These hits are by words alone: {obstacle}."
    documents = sum(coverage.documents for coverage in coverages)
    pending = sum(coverage.pending for coverage in coverages)
    if not pending:
        return ""
    if pending == documents:
        return "These hits are by words alone: no page has been embedded yet."
    verb = "is" if pending == 1 else "are"
    return f"{pending:,} of {amount(documents, 'page')} {verb} not compared by meaning yet."


def _near(collection: Collection, query: SearchQuery) -> SimilarityScores | None:
    if collection.semantic_index is None:
        return None
    return collection.semantic_index.similar(query.text, query.filter, MAX_NEAREST_DOCUMENTS)


def _nearest(collection: Collection, query: SearchQuery) -> SimilarityScores:
    if collection.semantic_index is None:
        raise semantic_search_off()
    return collection.semantic_index.nearest(
        query.text, query.filter, max(MAX_NEAREST_DOCUMENTS, query.offset + query.limit)
    )


def _best_score(queries: Sequence[tuple[Collection, SearchQuery]]) -> float:
    """The best score by words over all collections, by which scores are scaled to be comparable."""
    results = _answers(
        [(collection.index, replace(query, offset=0, limit=1, sections=0)) for collection, query in queries]
    )
    return max((result.hits[0].score for result in results if result.hits), default=0.0)
