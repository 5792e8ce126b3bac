"""The status of pages and sections, their replacements, and search results with what holds first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeAlias

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import find_fragment
from commonplace.domain.documents import Document, Finding
from commonplace.domain.errors import InvalidInputError, KnowledgeError
from commonplace.domain.findings import finding_of
from commonplace.domain.query import ChunkHit, Filter, Hit, SearchQuery, SearchResult, SectionHit
from commonplace.domain.revisions import revision_of
from commonplace.domain.status import (
    BUILT_IN_NAMES,
    LAPSED,
    DeclaredStatus,
    Status,
    TextStatus,
    declared_statuses,
    status_on,
)
from commonplace.domain.words.amounts import amount
from commonplace.services import collections

MAX_REPLACEMENTS = 20
"""Maximum number of replacements, each superseded by the next, that are followed."""
SECTIONS_COMPARED = 50
"""Number of sections of a page that are compared if one of the page's sections lapsed."""
CURRENT_SHARE = 0.5
"""Share of the score of a page's best section below which its best section that holds does not count as an answer."""
LAPSED_SCORE = 0.999
"""Maximum score of what lapsed, as a share of the least score of what holds."""
MAX_TITLE = 200
"""Maximum number of characters of a query that can be a title."""
MAX_ROUNDS = 3
"""Maximum number of times that a search is repeated because a further page answers only by a section that lapsed."""
NOTHING_CURRENT = "Nothing that holds answers: every hit is superseded, retired or expired."
_HOLDS = TextStatus(Status.CURRENT)


def other_status_notice(pages: int, status: str) -> str:
    """A sentence about pages that answer a search without its filter of status; "" if there are none."""
    return f"{amount(pages, 'page')} of another status than {status!r} would answer." if pages else ""


class CollectionStatuses:
    """The statuses of pages and sections of a collection, on the day on which the collection is looked at.

    Args:
        collection: The collection.
    """

    def __init__(self, collection: collections.Collection) -> None:
        self._collection = collection
        self._names = BUILT_IN_NAMES if collection.status_names is None else collection.status_names
        self._day = collection.day or datetime.now(UTC).date().isoformat()

    @cached_property
    def declared(self) -> Mapping[Address, Sequence[DeclaredStatus]]:
        """The declarations of the pages, which wait for an index that is still being built."""
        return self._collection.index.statuses()

    def status_of(self, declared: DeclaredStatus) -> Status:
        """The status that a declaration gives."""
        return status_on(declared, self._day, self._names)

    def pages(self, chosen: Collection[Status]) -> frozenset[Address]:
        """The pages that have one of these statuses as a whole."""
        return frozenset(
            address
            for address, (first, *_) in self.declared.items()
            if not first.ordinal and self.status_of(first) in chosen
        )

    def pages_with(self, chosen: Collection[Status]) -> frozenset[Address]:
        """The pages that have one of these statuses, or a section with one."""
        return frozenset(
            address
            for address, every in self.declared.items()
            if any(self.status_of(status) in chosen for status in every)
        )

    def lapsed_in(self, address: Address) -> list[DeclaredStatus]:
        """The declarations of a page and its sections that do not hold."""
        return [status for status in self.declared.get(address, ()) if self.status_of(status) in LAPSED]

    def at(self, address: Address, ordinal: int = 0) -> TextStatus:
        """The status of a section, which is that of the page if the page lapsed; ordinal 0 for the page."""
        declared = self._ruling(self.declared.get(address, ()), ordinal)
        if declared is None:
            return _HOLDS
        status = self.status_of(declared)
        if status not in LAPSED or not declared.by:
            return TextStatus(status)
        place = self._replacement(address, declared.by)
        return TextStatus(status, place or declared.by, resolved=bool(place) or "://" in declared.by)

    def in_version(self, document: Document, ordinal: int) -> TextStatus:
        """The status of a section of a version of a page, without the index; what replaces it is as written there."""
        declared = self._ruling(declared_statuses(document), ordinal)
        return TextStatus(self.status_of(declared), declared.by) if declared else _HOLDS

    def _ruling(self, every: Iterable[DeclaredStatus], ordinal: int) -> DeclaredStatus | None:
        """The declaration that counts for a section: the first by which it does not hold, else the innermost."""
        around = [status for status in every if status.ordinal <= ordinal <= status.last]
        lapsed = next((status for status in around if self.status_of(status) in LAPSED), None)
        return lapsed or (around[-1] if around else None)

    def in_file(self, document: Document, ordinal: int) -> TextStatus:
        """The status of a section of a page as served, with the place that replaces it, or of another version of it."""
        record = self._collection.index.record(document.address)
        is_served = record is not None and record.revision == revision_of(document.raw)
        return self.at(document.address, ordinal) if is_served else self.in_version(document, ordinal)

    def _replacement(self, address: Address, reference: str) -> str:
        """The place that replaces a text, as `path#anchor`; "" if the reference leads nowhere.

        Replacements that are superseded themselves are followed. In a circle, the first one counts.
        """
        first, seen = "", {(address, "")}
        at = address
        for _ in range(MAX_REPLACEMENTS):
            target, fragment = self.target(at, reference)
            if target is None:
                return first
            place = f"{target.path}#{fragment}" if fragment else target.path
            first = first or place
            if (target, fragment) in seen:
                return first
            seen.add((target, fragment))
            declared = self._declared_at(target, fragment)
            if declared is None or not declared.by or self.status_of(declared) not in LAPSED:
                return place
            at, reference = target, declared.by
        return first

    def in_circle(self, address: Address, declared: DeclaredStatus) -> bool:
        """Whether the replacements of a page or section lead back to it."""
        at, reference = address, declared.by
        for _ in range(MAX_REPLACEMENTS):
            target, fragment = self.target(at, reference)
            if target is None:
                return False
            following = self._declared_at(target, fragment)
            if target == address and following == declared:
                return True
            if following is None or not following.by or self.status_of(following) not in LAPSED:
                return False
            at, reference = target, following.by
        return True

    def findings(self) -> Iterator[tuple[Address, Finding]]:
        """Pages and sections that are replaced by what is not there, or by each other in a circle."""
        for address, every in self.declared.items():
            for declared in every:
                if finding := self.finding(address, declared):
                    yield address, finding

    def finding(self, address: Address, declared: DeclaredStatus) -> Finding | None:
        """The finding about what replaces a page or section; None if that is there, or nothing is named."""
        if not declared.by or "://" in declared.by or self.status_of(declared) not in LAPSED:
            return None
        target, _ = self.target(address, declared.by)
        if target is None:
            message = f"It is superseded by {declared.by[:100]!r}, which is not there. Name what replaces it."
        elif self.in_circle(address, declared):
            message = f"It is superseded by {target.path}, which leads back here. Say which of them holds."
        else:
            return None
        return finding_of("replacement_missing", message)

    def target(self, address: Address, reference: str) -> tuple[Address | None, str]:
        """The page, and the fragment in it, that a reference of a page names; None for no page."""
        for name, fragment in collections.reference_splits(reference):
            if not name and fragment:
                return address, fragment
            record = collections.declared_page(self._collection.index, name, address) if name else None
            if record is not None:
                return record.address, fragment
        if reference.startswith("#"):
            return address, reference[1:]
        return None, ""

    def _declared_at(self, address: Address, fragment: str) -> DeclaredStatus | None:
        """The declaration of the page, or of the section that a fragment names."""
        every = self.declared.get(address, ())
        if not fragment or not any(status.ordinal for status in every):
            return next((status for status in every if not status.ordinal), None)
        try:
            section = find_fragment(self._collection.index.document(address), fragment)[2]
        except KnowledgeError:
            return None
        ordinal = section.ordinal if section else 0
        return next((status for status in reversed(every) if status.ordinal <= ordinal <= status.last), None)


def narrowed(collection: collections.Collection, filter_: Filter, choice: str) -> Filter:
    """A filter that is narrowed to a status.

    Args:
        collection: The collection.
        filter_: The filter.
        choice: A `StatusChoice`; "" or `any` for no restriction.

    Raises:
        InvalidInputError: kind "argument": there is no such status.
    """
    if choice in {"", "any"}:
        return filter_
    if choice not in set(Status):
        raise InvalidInputError(
            f"There is no status {choice[:40]!r}.",
            kind="argument",
            hint="Give any, current, draft, superseded, retired or expired.",
        )
    statuses = CollectionStatuses(collection)
    if choice == Status.CURRENT:
        return replace(filter_, without=(*filter_.without, *sorted(statuses.pages({*LAPSED, Status.DRAFT}))))
    return _among(filter_, statuses.pages_with({Status(choice)}))


def _among(filter_: Filter, chosen: Iterable[Address]) -> Filter:
    addresses = set(chosen) if filter_.among is None else set(chosen) & set(filter_.among)
    return replace(filter_, among=tuple(sorted(addresses)))


def lapsed_title_notice(collection: collections.Collection, text: str) -> str:
    """A sentence about the page that a query names by its title, alias or id, if it lapsed; "" if it did not."""
    statuses = CollectionStatuses(collection)
    if not statuses.declared or len(text) > MAX_TITLE:
        return ""
    record = collection.index.find(text.strip())
    if record is None or not (status := statuses.at(record.address)).is_lapsed:
        return ""
    by = f" by {status.by}" if status.by else ""
    return f"{record.address} ({record.title}) is {status.status}{by}: it comes after what holds."


def is_lapsed_chunk(collection: collections.Collection) -> Callable[[ChunkHit], bool]:
    """Whether the section of a chunk lapsed; sorts what holds first."""
    statuses = CollectionStatuses(collection)
    if not statuses.declared:
        return lambda _: False
    return lambda chunk: statuses.at(Address(chunk.path), chunk.ordinal).is_lapsed


Ask: TypeAlias = Callable[[SearchQuery], SearchResult]
"""Asks the index of one collection."""


def current_first(
    collection: collections.Collection, query: SearchQuery, result: SearchResult, ask: Ask
) -> SearchResult:
    """A page of hits in which what holds comes before what lapsed, with the status of each hit and section.

    A page that answers only by a section that lapsed counts as lapsed. A result without such hits is not changed. The
    result of a query for one status has only sections with it, and no page that answers by none.

    Args:
        collection: The collection.
        query: The query.
        result: Its result.
        ask: Asks the index for another page of the same search.
    """
    statuses = CollectionStatuses(collection)
    if not statuses.declared:
        return result
    order = _StatusOrder(statuses, query, ask)
    if query.status in set(Status):
        return order.chosen(result)
    if query.sort != "score" or not query.descending:
        return order.marked(result)
    return order.page(result)


class _StatusOrder:
    """Orders the hits of one query in one collection by their status."""

    def __init__(self, statuses: CollectionStatuses, query: SearchQuery, ask: Ask) -> None:
        self._statuses = statuses
        self._query = query
        self._ask = ask
        self._lapsed = statuses.pages(LAPSED)
        self._parts = frozenset(
            address for address in statuses.declared if address not in self._lapsed and statuses.lapsed_in(address)
        )
        """Pages that hold, with sections that do not."""
        self._mixed = frozenset(address for address, every in statuses.declared.items() if any(map(_of_section, every)))
        """Pages with sections of which one declares a status of its own."""

    def page(self, result: SearchResult) -> SearchResult:
        query = self._query
        if not (self._lapsed or self._parts):
            return self.marked(result)
        end = max(query.offset, 0) + max(query.limit, 0)
        window = replace(query, offset=0, limit=end)
        first = self._sorted_sections(result if not query.offset else self._ask(window))
        moved = self._lapsed | self._by_section(first)
        if not any(address in moved for address in _addresses(first)):
            return self.marked(first if not query.offset else _part(first, query))
        holding, rounds = self._without(window, moved), 1
        while (further := self._by_section(holding) - moved) and rounds < MAX_ROUNDS:
            moved |= further
            holding, rounds = self._without(window, moved), rounds + 1
        merged = holding
        if len(_addresses(holding)) < end:
            rest = self._ask(replace(window, filter=_among(query.filter, moved)))
            merged = _joined(holding, self._sorted_sections(rest), end)
        whole = replace(result, hits=merged.hits, addresses=merged.addresses)
        return self.marked(_part(whole, query))

    def chosen(self, result: SearchResult) -> SearchResult:
        """The hits that have the status of the query, each with its sections that have it."""
        query, excluded = self._query, frozenset[Address]()
        window = replace(query, offset=0, limit=max(query.offset, 0) + max(query.limit, 0))
        found_result = self._of_status(result if not query.offset else self._ask(window))
        for _ in range(MAX_ROUNDS):
            others = frozenset(hit.record.address for hit in found_result.hits if self._is_other(hit))
            if not others:
                break
            excluded |= others
            without = (*window.filter.without, *sorted(excluded))
            found_result = self._of_status(self._ask(replace(window, filter=replace(window.filter, without=without))))
        hits = tuple(hit for hit in found_result.hits if not self._is_other(hit))
        return self.marked(_part(replace(found_result, hits=hits), query))

    def _is_other(self, hit: Hit) -> bool:
        """Whether a hit is of a page of several statuses, and answers by no section with that of the query."""
        return hit.record.address in self._mixed and self._query.sections > 0 and not hit.sections

    def _of_status(self, result: SearchResult) -> SearchResult:
        wide = self._wide_hits({hit.record.address for hit in result.hits if hit.record.address in self._mixed})
        hits = [
            replace(hit, sections=self._with_status(wide.get(hit.record.address, hit)))
            if hit.record.address in self._mixed
            else hit
            for hit in result.hits
        ]
        return replace(result, hits=tuple(hits))

    def _with_status(self, hit: Hit) -> tuple[SectionHit, ...]:
        """The sections with the status of the query that answer well enough beside the page's best."""
        least = CURRENT_SHARE * max((section_hit.score for section_hit in hit.sections), default=0.0)
        chosen = [
            section_hit
            for section_hit in hit.sections
            if section_hit.score >= least
            and self._statuses.at(hit.record.address, section_hit.ordinal).status == self._query.status
        ]
        return tuple(chosen[: self._query.sections])

    def _wide_hits(self, concerned: set[Address]) -> Mapping[Address, Hit]:
        """The hits of these pages, with many sections."""
        if not concerned or not self._query.sections:
            return {}
        count = max(SECTIONS_COMPARED, self._query.sections)
        filter_ = _among(self._query.filter, concerned)
        wide = replace(self._query, filter=filter_, offset=0, limit=len(concerned), sections=count)
        return {hit.record.address: hit for hit in self._ask(wide).hits}

    def _without(self, window: SearchQuery, moved: frozenset[Address]) -> SearchResult:
        excluded = (*window.filter.without, *sorted(moved))
        return self._sorted_sections(self._ask(replace(window, filter=replace(window.filter, without=excluded))))

    def marked(self, result: SearchResult) -> SearchResult:
        """The result with the status of each hit and section."""
        return replace(result, hits=tuple(map(self._marked, result.hits)))

    def _marked(self, hit: Hit) -> Hit:
        address = hit.record.address
        if address not in self._statuses.declared:
            return hit
        sections = tuple(
            replace(section_hit, status=self._statuses.at(address, section_hit.ordinal)) for section_hit in hit.sections
        )
        page = self._statuses.at(address)
        best = sections[0].status if sections and not page.is_lapsed else page
        return replace(hit, sections=sections, status=best or page)

    def _by_section(self, result: SearchResult) -> frozenset[Address]:
        """The pages of a result that answer only by a section that lapsed."""
        return frozenset(
            hit.record.address
            for hit in result.hits
            if hit.record.address in self._parts and hit.sections and self._is_lapsed(hit, hit.sections[0])
        )

    def _is_lapsed(self, hit: Hit, section: SectionHit) -> bool:
        return self._statuses.at(hit.record.address, section.ordinal).is_lapsed

    def _sorted_sections(self, result: SearchResult) -> SearchResult:
        """The result in which the sections of each page that hold come first, if they answer."""
        every = self._wide_hits(
            {hit.record.address for hit in result.hits if hit.record.address in self._parts and hit.sections}
        )
        if not every:
            return result
        hits = [
            replace(hit, sections=self._holding_first(every[hit.record.address]))
            if hit.record.address in every
            else hit
            for hit in result.hits
        ]
        return replace(result, hits=tuple(hits))

    def _holding_first(self, hit: Hit) -> tuple[SectionHit, ...]:
        holding = [section_hit for section_hit in hit.sections if not self._is_lapsed(hit, section_hit)]
        lapsed = [section_hit for section_hit in hit.sections if self._is_lapsed(hit, section_hit)]
        answers = bool(holding) and (not lapsed or holding[0].score >= CURRENT_SHARE * lapsed[0].score)
        ordered = (*holding, *lapsed) if answers else (*lapsed, *holding)
        return ordered[: self._query.sections]


def _of_section(declared: DeclaredStatus) -> bool:
    return declared.ordinal > 0


def _addresses(result: SearchResult) -> Sequence[Address]:
    return result.addresses or [hit.record.address for hit in result.hits]


def _joined(first: SearchResult, last: SearchResult, end: int) -> SearchResult:
    """Two results as one. Scores of the last are below those of the first, so that scores remain in order."""
    least = min((hit.score for hit in first.hits), default=None)
    hits = [
        hit if least is None else replace(hit, score=min(hit.score, least * LAPSED_SCORE), titled=False)
        for hit in last.hits
    ]
    return replace(
        first,
        hits=(*first.hits, *hits)[:end],
        addresses=(*first.addresses, *last.addresses)[:end],
    )


def _part(result: SearchResult, query: SearchQuery) -> SearchResult:
    """The requested page of a result that begins with the first hit."""
    start, end = max(query.offset, 0), max(query.offset, 0) + max(query.limit, 0)
    return replace(result, hits=result.hits[start:end], addresses=result.addresses[start:end])
