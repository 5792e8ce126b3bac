"""Queries of notes in a local folder: `toolsets.wiki.rules.NoteQueries` over a collection."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from commonplace.domain.addresses import Address, fold
from commonplace.domain.errors import InvalidInputError, NotFoundError, UnavailableError
from commonplace.domain.query import ChunkHit, ListQuery, SearchMode, SearchQuery, StatusChoice
from commonplace.domain.semantic import chunks_of
from commonplace.domain.status import marked
from commonplace.domain.words.amounts import amount
from commonplace.services import searches
from commonplace.services.collections import Collection
from commonplace.services.listing import every_document
from commonplace.services.statuses import CollectionStatuses
from commonplace.toolsets.wiki.rules import (
    MAX_LINKS,
    MAX_SEARCH,
    NoteChunk,
    NoteChunks,
    NoteCommit,
    NoteFilter,
    NoteGraph,
    NoteHit,
    NoteHits,
    NoteLinks,
    NoteNode,
    NoteSummary,
    Wiki,
    note_name,
    semantic_search_missing,
)
from commonplace.toolsets.wiki.service import note_lookup
from commonplace.toolsets.wiki.service import note_lookup as note_links

SNIPPET_CHARS = 200
MAX_LINK_LOOKUPS = 30
"""Maximum number of notes whose links are looked up one by one; with more, all links are read."""


class LocalNoteQueries:
    """Queries of one collection's notes."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def search(self, query: str, limit: int, mode: SearchMode = "keyword", status: StatusChoice = "any") -> NoteHits:
        """Notes that match a query, best first."""
        search_query = SearchQuery(
            text=_asked(query), limit=min(limit, MAX_SEARCH), snippet=SNIPPET_CHARS, status=status
        )
        result = searches.search([self._collection], search_query, mode)
        hits = [
            NoteHit(
                hit.record.address.id,
                note_name(hit.record.address.id, hit.record.frontmatter),
                marked(hit.sections[0].snippet if hit.sections else hit.record.description, hit.status),
                _between_0_and_1(hit.score),
            )
            for hit in (hit.hit for hit in result.hits)
        ]
        return NoteHits(tuple(hits), result.total, result.notice)

    def semantic_search(self, query: str, n: int, per_page: int) -> NoteChunks:
        """Chunks of notes by meaning, nearest first."""
        _asked(query)
        try:
            nearest_chunks = searches.nearest_chunks(self._collection, query, n, per_page)
        except UnavailableError as error:
            if error.context.get("retryable") == 0:
                raise semantic_search_missing() from error
            raise
        statuses = CollectionStatuses(self._collection)
        chunks = tuple(chunk for chunk in (self._chunk(hit, statuses) for hit in nearest_chunks.chunks) if chunk)
        return NoteChunks(chunks, nearest_chunks.notice if chunks else self._embedding_notice())

    def _embedding_notice(self) -> str:
        """Number of embedded notes, for a search without results; "" if all are embedded."""
        coverage = self._collection.semantic_index.coverage() if self._collection.semantic_index else None
        if coverage is None or not coverage.pending:
            return ""
        done = f"{coverage.documents - coverage.pending:,} of {amount(coverage.documents, 'note')}"
        return f"Embedding is under way: {done} can be found by meaning so far. Use search_notes meanwhile."

    def _chunk(self, passage: ChunkHit, statuses: CollectionStatuses) -> NoteChunk | None:
        """A chunk of a note with its text; None if the note was deleted meanwhile."""
        try:
            document = self._collection.index.document(Address(passage.path))
        except NotFoundError:
            return None
        chunks = chunks_of(document)
        section = document.sections[min(passage.ordinal, len(document.sections) - 1)]
        whole = chunks[min(passage.number, len(chunks) - 1)].text if chunks else ""
        text = whole.partition("\n")[2].strip() or whole  # a chunk that consists of a title is one line
        return NoteChunk(
            path=document.address.id,
            name=note_name(document.address.id, document.frontmatter.values),
            snippet=marked(text[:SNIPPET_CHARS], statuses.at(document.address, passage.ordinal)),
            text=text,
            distance=round(1 - passage.similarity, 4),
            section=section.heading,
            section_path=" > ".join(section.path),
            chunk_index=passage.number,
            total_chunks=passage.of,
            page_word_count=document.words,
        )

    def links(self, path: str) -> NoteLinks:
        """The outgoing and incoming links of a note, or of a missing note to which links lead."""
        if note_lookup.find_note(self._collection, path) is None:
            links = note_links.wanted(self._collection, path)
            if links is not None:
                return links
        address = note_lookup.require_note(self._collection, path)
        first = self._collection.index.links_from(address, limit=MAX_LINKS + 1)
        links_to = note_links.outgoing(address, first[:MAX_LINKS])
        return NoteLinks(
            address.id, links_to, note_links.incoming(self._collection, address), more_links=len(first) > MAX_LINKS
        )

    def graph(self) -> NoteGraph:
        """All links. A missing note to which a link leads is a node, too."""
        nodes = [NoteNode(record.address.id) for record in every_document(self._collection, ListQuery())]
        edges = [
            (source.id, target.id)
            for source, target in self._collection.index.links()
            if target.is_document and source != target
        ]
        named: dict[str, str] = {}
        missing: dict[tuple[str, str], None] = {}
        for link in filter(note_links.is_wanted, self._collection.index.broken()):
            missing[link.source.id, named.setdefault(fold(link.link.target), link.link.target)] = None
        nodes += [NoteNode(path, exists=False) for path in sorted(named.values())]
        return NoteGraph(tuple(nodes), (*edges, *missing))

    def linked_from_any(self, paths: AbstractSet[str]) -> AbstractSet[str]:
        """Paths of the notes to which at least one of these notes links."""
        index = self._collection.index
        if len(paths) > MAX_LINK_LOOKUPS:
            folded = set(map(fold, paths))
            return {target.id for source, target in index.links() if fold(source.id) in folded and source != target}
        sources = filter(None, (note_lookup.find_note(self._collection, path) for path in paths))
        found_texts = [note_links.outgoing(source, index.links_from(source)) for source in sources]
        return {target for targets in found_texts for target in targets}

    def changes(self, limit: int) -> list[NoteCommit]:
        """The latest commits with the notes that they changed."""
        commits = self._collection.store.history.log(None, limit=limit)
        return [
            note_lookup.note_commit(commit, tuple(address.id for address in commit.addresses if address.is_document))
            for commit in commits
            if commit.is_shown
        ]

    def change_count(self) -> int:
        """Number of all commits that changed the wiki."""
        return self._collection.store.history.count()


def _asked(query: str) -> str:
    if not query.strip():
        raise InvalidInputError(
            "Invalid query: it is empty.", kind="query", hint="Give at least one word to search for."
        )
    return query


def _between_0_and_1(score: float) -> float:
    """Map a score to the range 0 to 1; the order does not change."""
    positive = max(score, 0.0)
    return round(positive / (1.0 + positive), 4)


# Orphaned notes: notes to which no hub links.


HUB = "index"
"""The category of hubs, the notes that lead to others. Hubs are never orphans."""


def orphans(wiki: Wiki) -> list[NoteSummary]:
    """Notes to which no note of category `index` links, in the order of the list of notes."""
    notes = wiki.notes.list(NoteFilter()).notes
    hubs = {note.path for note in notes if is_hub(note)}
    led_to = wiki.queries.linked_from_any(hubs)
    return [note for note in notes if note.path not in hubs and note.path not in led_to]


def is_hub(note: NoteSummary) -> bool:
    """Whether a note is a hub."""
    return note.category.casefold() == HUB
