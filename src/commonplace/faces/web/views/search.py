"""Search: a page with hits and facets, and suggestions while the user types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypedDict

from markupsafe import Markup, escape

from commonplace.domain.addresses import fold
from commonplace.domain.documents import LINE_END_BYTES, Section
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.query import Filter, ListQuery, Record, SearchQuery, SectionHit
from commonplace.domain.semantic import FLOOR
from commonplace.domain.snippets import marked_spans
from commonplace.domain.status import TextStatus
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.moments import at_moment
from commonplace.faces.web.pages import page, words_of
from commonplace.faces.web.query_text import FacetChip, FacetRow, QueryText, read_query
from commonplace.faces.web.shown import overlaps, replacement_url, spans_of, visible_description
from commonplace.faces.web.urls import with_query
from commonplace.services import searches
from commonplace.services.collections import Collection, FoundDocument, unfinished_notice
from commonplace.services.listing import facets, list_documents
from commonplace.services.site.documents import parsed_document

PAGE_SIZE = 10
"""Number of hits on one page."""
SHOWN_SECTIONS = 2
"""Maximum number of sections of a hit. A page of hits costs most where it cuts snippets."""
SUGGESTED = 8
"""Maximum number of suggestions."""
FACETED = 200
"""Number of best hits that are counted in facets."""
MAX_FACET_VALUES = 8
LATELY = (("last week", 7), ("last month", 30), ("last year", 365))
"""Names of recent periods, and their lengths in days."""
_OPERATOR_OF = {"type": "type", "tags": "tag", "folder": "in"}


Named = tuple[str, Record]
"""A document with the name of its collection."""


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit in the form that pages show."""

    found: FoundDocument
    url: str
    title: Markup
    sections: tuple[tuple[str, Markup, str], ...]
    """Heading path, snippet and URL of each section."""
    why: str
    """Reason for the hit: `words`, `meaning` or `words and meaning`; "" if not determined."""
    status: TextStatus | None = None
    """Whether it holds; None if it declares nothing."""
    by_url: str = ""
    """The URL of what replaces it; "" for nothing."""


class ShownAnswer(TypedDict):
    """The data of a search page."""

    hits: list[ShownHit]
    total: int
    last: int
    """Number of the last page."""
    facets: list[FacetRow]
    problem: str
    notice: str
    many: bool
    """Whether several collections are searched."""
    recent: list[ShownHit]


def search(request: PageRequest) -> PageResponse:
    """The search page, now or at a moment. Without a query, recently changed pages."""
    query = read_query(request.query)
    number = request.number("page")
    with at_moment(request) as (then, moments):
        try:
            if problem := query.problem(then.collections, words_of(request, None)):
                shown = _empty(problem)
            else:
                shown = (_answer if query.words else _filtered)(then, query, number)
        except InvalidInputError as error:
            shown = _empty(str(error))
    if number > shown["last"] and not shown["problem"]:
        return redirect(with_query("/search", q=query.text(), at=request.at, page=str(shown["last"])))
    return page(request, "search.html", query=query, number=number, moments=moments, **shown)


def _answer(request: PageRequest, query: QueryText, number: int) -> ShownAnswer:
    search_query = SearchQuery(
        text=query.words,
        filter=query.filter(),
        status=query.status,
        offset=(number - 1) * PAGE_SIZE,
        limit=PAGE_SIZE,
        sections=SHOWN_SECTIONS,
        snippet=240,
    )
    chosen = query.chosen(request.collections)
    answer = searches.search(chosen, search_query, "keyword" if request.urls.at else "hybrid")
    best = _best(chosen, query)
    words, meaning = _reasons(chosen, search_query, answer, best)
    mark = marker(query.words)
    return ShownAnswer(
        hits=[_shown(request, hit, mark, _why(hit, words, meaning)) for hit in answer.hits],
        total=answer.total,
        last=max(1, -(-answer.total // PAGE_SIZE)),
        facets=_facets(best, query),
        problem="",
        notice=answer.notice,
        many=len(chosen) > 1,
        recent=[],
    )


def suggest(request: PageRequest) -> PageResponse:
    """The first hits by words, as an HTML fragment. Without a query, recently changed pages."""
    query = read_query(request.query)
    with at_moment(request) as (then, _):
        chosen = query.chosen(then.collections)
        hits: list[ShownHit] = []
        problem = query.problem(then.collections, words_of(request, None))
        if query.words and not problem:
            search_query = SearchQuery(
                text=query.words, filter=query.filter(), status=query.status, limit=SUGGESTED, sections=1, snippet=120
            )
            mark = marker(query.words)
            found_hits = searches.search(chosen, search_query, "keyword", explained=False).hits
            hits = [
                shown_hit for hit in found_hits for shown_hit in _suggested(_shown(then, hit, mark, ""), query.words)
            ][:SUGGESTED]
        elif not query.words:
            hits = [_listed(then, document) for document in _recent(chosen, query.filter(), 0, SUGGESTED)[0]]
    by_meaning = any(collection.semantic_index is not None for collection in chosen)
    return page(
        request, "suggest.html", hits=hits, query=query, many=len(chosen) > 1, problem=problem, by_meaning=by_meaning
    )


def _suggested(hit: ShownHit, words: str) -> list[ShownHit]:
    """A hit as suggestions: the page itself before its section if its title or an alias was typed."""
    record, typed = hit.found.record, fold(words)
    if not hit.sections or typed not in {fold(record.title), *map(fold, record.aliases)}:
        return [hit]
    page_itself = replace(hit, sections=(("", hit.sections[0][1], hit.url),))
    return [page_itself, hit] if hit.sections[0][2] != hit.url else [page_itself]


def _filtered(request: PageRequest, query: QueryText, number: int) -> ShownAnswer:
    chosen = query.chosen(request.collections)
    documents, total = _recent(chosen, query.filter(), (number - 1) * PAGE_SIZE, PAGE_SIZE)
    listed = [_listed(request, document) for document in documents]
    return ShownAnswer(
        hits=listed if query.chips else [],
        total=total if query.chips else 0,
        last=max(1, -(-total // PAGE_SIZE)) if query.chips else 1,
        facets=_facets(_best(chosen, query), query) if query.chips else [],
        problem="",
        notice=unfinished_notice(chosen),
        many=len(chosen) > 1,
        recent=[] if query.chips else listed,
    )


def _empty(problem: str) -> ShownAnswer:
    return ShownAnswer(hits=[], total=0, last=1, facets=[], problem=problem, notice="", many=False, recent=[])


def _recent(
    chosen: Sequence[Collection], filter_: Filter, offset: int, limit: int
) -> tuple[Sequence[FoundDocument], int]:
    listed = list_documents(
        chosen, ListQuery(filter=filter_, sort="updated", descending=True, offset=offset, limit=limit)
    )
    return listed.found, listed.total


def _listed(request: PageRequest, document: FoundDocument) -> ShownHit:
    url = request.urls.page(document.collection.name, document.record.address.path)
    about = visible_description(request, document.collection, document.record)
    return ShownHit(document, url, escape(document.record.title), (("", escape(about), url),) if about else (), "")


def _shown(request: PageRequest, hit: searches.FoundHit, mark: Callable[[str], Markup], why: str) -> ShownHit:
    document = FoundDocument(hit.collection, hit.hit.record)
    path = document.record.address.path
    sections = tuple(
        _section(request, document, section_hit, mark) for section_hit in _visible_sections(request, document, hit)
    )
    url = request.urls.page(hit.collection.name, path)
    status = hit.hit.status
    by_url = replacement_url(request.urls, hit.collection, status) if status else ""
    return ShownHit(document, url, mark(document.record.title), sections, why, status, by_url)


def _visible_sections(request: PageRequest, document: FoundDocument, hit: searches.FoundHit) -> Sequence[SectionHit]:
    """The sections of a hit without those that contain withheld text."""
    spans = spans_of(request, document)
    if not spans:
        return hit.hit.sections
    sections = parsed_document(document.collection, document.record.address).sections
    held = {section.ordinal for section in sections if overlaps(spans, section.start, _shown_end(section))}
    return [shown for shown in hit.hit.sections if shown.ordinal not in held and shown.ordinal < len(sections)]


def _shown_end(section: Section) -> int:
    """The end of the text that may represent a section: a section without own text shows that of a subsection."""
    is_empty = section.level > 0 and section.end - section.content <= LINE_END_BYTES
    return section.tree_end if is_empty else section.end


def _section(
    request: PageRequest, document: FoundDocument, hit: SectionHit, mark: Callable[[str], Markup]
) -> tuple[str, Markup, str]:
    headings = [part for part in hit.path if part != document.record.title]
    url = request.urls.page(document.collection.name, document.record.address.path)
    return " › ".join(headings), mark(hit.snippet), f"{url}#{hit.anchor}" if hit.anchor and headings else url  # noqa: RUF001


def _reasons(
    chosen: Sequence[Collection], search_query: SearchQuery, answer: searches.FoundHits, best: Sequence[Named]
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The hits found by words and the hits found by meaning, each as pairs of collection and path.

    Only hits that are not among the best by words are searched for once more, and only if those are not all.
    """
    words = {(name, record.address.path) for name, record in best}
    meaning: set[tuple[str, str]] = set()
    for collection in chosen:
        own = tuple(hit.hit.record.address for hit in answer.hits if hit.collection.name == collection.name)
        if not own:
            continue
        scores = answer.similarities.get(collection.name)
        if scores is None:  # without meaning, words alone found them
            words |= {(collection.name, address.path) for address in own}
            continue
        if len(best) >= FACETED:
            others = tuple(address for address in own if (collection.name, address.path) not in words)
            rest = SearchQuery(text=search_query.text, filter=Filter(among=others), limit=len(others), sections=0)
            searched = collection.index.search(rest).hits if others else ()
            words |= {(collection.name, hit.record.address.path) for hit in searched}
        near = scores.of([address.path for address in own])
        meaning |= {(collection.name, path) for path, document in near.items() if document.similarity >= FLOOR}
    return words, meaning


def _why(hit: searches.FoundHit, words: set[tuple[str, str]], meaning: set[tuple[str, str]]) -> str:
    key = (hit.collection.name, hit.hit.record.address.path)
    return " and ".join(name for name, flag in (("words", key in words), ("meaning", key in meaning)) if flag)


def _best(chosen: Sequence[Collection], query: QueryText) -> list[Named]:
    """The best documents by words, at most `FACETED`; without words those that the query's filter keeps."""
    if query.words:
        search_query = SearchQuery(
            text=query.words, filter=query.filter(), status=query.status, limit=FACETED, sections=0
        )
        found_hits = searches.search(chosen, search_query, "keyword").hits
        return [(hit.collection.name, hit.hit.record) for hit in found_hits]
    listed, _ = _recent(chosen, query.filter(), 0, FACETED)
    return [(document.collection.name, document.record) for document in listed]


def _facets(pairs: Sequence[Named], query: QueryText) -> list[FacetRow]:
    records = [record for _, record in pairs]
    in_force = {(chip.operator, chip.value) for chip in query.chips}
    rows: list[FacetRow] = []
    for facet in facets(records, tuple(_OPERATOR_OF)):
        operator = _OPERATOR_OF[facet.name]
        chips = tuple(
            FacetChip(value, count, query.with_chip(operator, value))
            for value, count in facet.values
            if value and value != "." and (operator, value) not in in_force
        )
        if chips:
            rows.append(FacetRow(facet.name, chips[:MAX_FACET_VALUES]))
    return [*_bases(pairs, query), *rows, *_days(records, query)]


def _bases(found_pairs: Sequence[Named], query: QueryText) -> list[FacetRow]:
    """Counts of documents by collection; none if there is only one collection."""
    counts = Counter(name for name, _ in found_pairs)
    chips = tuple(FacetChip(name, count, query.with_chip("base", name)) for name, count in counts.most_common())
    return [FacetRow("base", chips[:MAX_FACET_VALUES])] if len(chips) > 1 else []


def _days(records: Sequence[Record], query: QueryText) -> list[FacetRow]:
    """Counts of recently changed documents; none if the query has an `after:` operator."""
    if any(chip.operator == "after" for chip in query.chips):
        return []
    today = datetime.now(UTC).date()
    chips: list[FacetChip] = []
    for label, days in LATELY:
        first = (today - timedelta(days=days)).isoformat()
        count = sum(record.updated[:10] >= first for record in records)
        if 0 < count < len(records):
            chips.append(FacetChip(label, count, query.with_chip("after", first)))
    return [FacetRow("changed", tuple(chips))] if chips else []


def marker(words: str) -> Callable[[str], Markup]:
    """A function that escapes a text and marks the words of a query."""
    spans = marked_spans(words)

    def marked(text: str) -> Markup:
        """The escaped text with `<mark>` elements around words of the query."""
        parts: list[str] = []
        at = 0
        for start, end in spans(text):
            parts += [escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>"]
            at = end
        return Markup("".join([*parts, escape(text[at:])]))  # noqa: S704 - each part is escaped

    return marked
