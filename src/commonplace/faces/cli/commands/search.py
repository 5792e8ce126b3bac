"""`commonplace search`: ranked pages with the section that answers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, get_args

import typer

from commonplace.domain.json import Json
from commonplace.domain.query import SEARCH_MODES, SearchMode, SearchQuery, StatusChoice
from commonplace.domain.tokens import QUARTERS, beginning, size_of
from commonplace.faces.cli.options import AtOption
from commonplace.faces.cli.output import BOLD, FAINT, INDENT, json_text, one_line, shown
from commonplace.faces.cli.pages import (
    FilterOptions,
    PagingOptions,
    SearchSort,
    highlighter,
    newest_first,
    page_name,
    path_of,
    place_json,
    status_json,
)
from commonplace.faces.cli.session import Session, opened_at
from commonplace.faces.cli.text_input import read_text
from commonplace.services.collections import Collections
from commonplace.services.diagnostics import EMBED_COMMAND, embedding_status
from commonplace.services.evidence import EvidenceSection, evidence, fit
from commonplace.services.listing import Facet, facets
from commonplace.services.searches import FoundHit, FoundHits, search

MAX_FACET_VALUES = 12
"""Maximum number of values of a facet that are shown to people; JSON has all."""
EMBEDDED_AT_ONCE = 32
"""Maximum number of changed pages that a search embeds before it answers."""
EMBEDDING_SECONDS = 2.0
"""Time in seconds after which a search embeds no further text."""
MAX_QUERY_SHOWN = 100
"""Quarters of a token of the query that an answer with `--max-tokens` repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingOptions:
    """Options for the mode and order of a search."""

    sort: Annotated[SearchSort, typer.Option(metavar="KEY", help=f"One of {', '.join(get_args(SearchSort))}.")] = (
        "score"
    )

    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", metavar="N", min=200, help="Show the best sections, as many as fit, not a list."),
    ] = None
    facets: Annotated[
        str, typer.Option(metavar="NAME,..", help="Also count all pages found by type, tags, folder, year or any key.")
    ] = ""
    mode: Annotated[
        SearchMode, typer.Option(metavar="|".join(SEARCH_MODES), help="By words, by meaning, or by both.")
    ] = "hybrid"
    status: Annotated[
        StatusChoice,
        typer.Option(metavar="|".join(get_args(StatusChoice)), help="Only what has this status; any puts lapsed last."),
    ] = "any"
    at: AtOption = ""


SEARCH_JSON = """As JSON: `{"query", "total", "limit", "offset", "hits": [{"collection", "id", "path", "title",
"revision", "type", "tags", "date", "score", "sections": [{"heading": [..], "anchor", "snippet"}]}]}`, where what
declares a status also has `"status": {"status", "by"}`; with `--facets` also `"facets": [{"name", "values":
[{"value", "count"}]}]`, the value "" counting pages that have none; with `--max-tokens` `{"query", "total",
"sections": [{"collection", "id", "path", "title", "revision", "heading": [..], "anchor", "text"}]}`; with `--at`
also `"at": {folder: commit}`."""


def search_command(
    session: Session,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", hidden=True)],
    filters: FilterOptions,
    paging: PagingOptions,
    *,
    asking: RankingOptions,
    reverse: Annotated[bool, typer.Option("--reverse", help="Reverse the order.")] = False,
) -> None:
    """Search pages by words and meaning, best first.

    Examples:
        commonplace search how do I restore the database
        commonplace search '"exact phrase" -without'
        commonplace search invoice --type note --tag 2024 --sort date
        commonplace search invoice --facets type,tags,status
        commonplace search vector -C ~/docs --prefix library/ --at yesterday
        echo tea ceremony | commonplace search -

    Pages are ranked by all words; the last word is also a prefix, and small typing errors are tolerated. If a model is
    installed (commonplace model install) and pages are embedded, meaning counts too, except with --at. Put a word that
    begins with a dash inside quotes or after --. QUERY - reads standard input.
    """
    text = read_text("-", session.out).decode().strip() if query == ["-"] else " ".join(query)
    search_query = SearchQuery(
        text=text,
        filter=filters.filter(),
        sort=asking.sort,
        descending=newest_first(asking.sort, reverse=reverse),
        limit=paging.limit,
        offset=paging.offset,
        status=asking.status,
    )
    with opened_at(session, asking.at) as (collections, moment), caught_up(session, collections, asking.mode):
        if asking.max_tokens:
            _show_sections(session, collections, search_query, asking, moment)
            return
        answer = search(collections.members, search_query, asking.mode)
        divided = _facets(collections, search_query, answer, asking)
        if session.out.as_json:
            session.out.json(_json(search_query, answer) | (_facets_json(divided) if asking.facets else {}) | moment)
            return
        _show(session, collections, search_query, answer)
        _show_facets(session, divided)
        session.out.message(_summary(answer.notice, total=bool(answer.total)))
        session.out.message(paging.more(len(answer.hits), answer.total))


@contextmanager
def caught_up(session: Session, collections: Collections, mode: SearchMode) -> Generator[None]:
    """Embed a few changed pages before the block. After it, say how to embed the rest if no process does."""
    waiting: list[str] = []
    for collection in collections.members:
        if collection.semantic_index is None or mode == "keyword":
            continue
        collection.semantic_index.catch_up(EMBEDDED_AT_ONCE, EMBEDDING_SECONDS)
        if embedding_status(collection).status == "waiting":
            waiting.append(one_line(collection.name))
    yield
    if waiting and not session.out.as_json:
        session.out.message(f"{', '.join(waiting)}: nothing embeds the rest. Run: {EMBED_COMMAND}")


def _summary(notice: str, *, total: bool) -> str:
    """The message after the hits: the notice of the search, and that nothing was found."""
    return notice if total else f"Nothing found. {notice}".rstrip()


def _facets(collections: Collections, query: SearchQuery, answer: FoundHits, asking: RankingOptions) -> list[Facet]:
    """Facets of all documents found, not only of the page that is shown."""
    names = list(dict.fromkeys(name.strip() for name in asking.facets.split(",") if name.strip()))
    if not names or not answer.total:
        return []
    everything = search(collections.members, replace(query, offset=0, limit=answer.total, sections=0), asking.mode)
    return facets((hit.hit.record for hit in everything.hits), names)


def _facets_json(divided: Sequence[Facet]) -> dict[str, Json]:
    return {
        "facets": [
            {"name": facet.name, "values": [{"value": value, "count": count} for value, count in facet.values]}
            for facet in divided
        ]
    }


def _show_facets(session: Session, divided: Sequence[Facet]) -> None:
    out = session.out
    for facet in divided:
        report = ", ".join(
            f"{one_line(value) or '(none)'} {count:,}" for value, count in facet.values[:MAX_FACET_VALUES]
        )
        more = f", and {len(facet.values) - MAX_FACET_VALUES:,} more" if len(facet.values) > MAX_FACET_VALUES else ""
        out.line(f"{out.styled(BOLD, facet.name)}: {report}{more}", INDENT)


def _show_sections(
    session: Session,
    collections: Collections,
    query: SearchQuery,
    asking: RankingOptions,
    moment: dict[str, Json],
) -> None:
    """Show the best sections that fit into the budget of tokens."""
    gathered = evidence(collections.members, query, asking.mode)
    sections = gathered.sections
    answer: dict[str, Json] = {
        "query": beginning(query.text, MAX_QUERY_SHOWN),
        "total": len(sections),
        **moment,
        "sections": [],
    }
    if gathered.notice:
        answer["notice"] = gathered.notice
    room = QUARTERS * (asking.max_tokens or 0) - size_of(json_text(answer)) - 1

    def text_of(section: EvidenceSection, text: str) -> tuple[str, int]:
        path = path_of(collections, section.collection, section.record.address)
        mark = f"  [{section.status.mark}]" if section.status and section.status.mark else ""
        shown_as = f"{one_line(' > '.join((path, *section.path)) + mark)}\n{shown(text)}\n"
        return shown_as, size_of(shown_as) + 1

    def row_of(section: EvidenceSection, text: str) -> tuple[Json, int]:
        place = place_json(section.collection, section.record)
        row: dict[str, Json] = {**place, "heading": list(section.path), "anchor": section.anchor, "text": text}
        row |= status_json(section.status)
        return row, size_of(json_text(row)) + 1

    if session.out.as_json:
        session.out.json(answer | {"sections": fit(sections, room, row_of)})
        return
    for text in fit(sections, QUARTERS * (asking.max_tokens or 0), text_of):
        session.out.line(text)
    session.out.message(_summary(gathered.notice, total=bool(sections)))


def _show(session: Session, collections: Collections, query: SearchQuery, answer: FoundHits) -> None:
    out = session.out
    highlight = highlighter(out, query.text)
    for hit in answer.hits:
        name = page_name(session, collections, hit.collection, hit.hit.record.address)
        mark = f"  {one_line(f'[{hit.hit.status.mark}]')}" if hit.hit.status and hit.hit.status.mark else ""
        out.line(f"{name}  {highlight(hit.hit.record.title)}{mark}", INDENT)
        for section in hit.hit.sections:
            below = section.path[1:] if section.path[:1] == (hit.hit.record.title,) else section.path
            if below:
                out.line(f"    {out.styled(FAINT, one_line(' > '.join(below)))}")
            if section.snippet:
                out.line(f"    {highlight(section.snippet)}")


def _json(query: SearchQuery, answer: FoundHits) -> dict[str, Json]:
    return {
        "query": query.text,
        "total": answer.total,
        "limit": query.limit,
        "offset": query.offset,
        "hits": [_hit_json(hit) for hit in answer.hits],
        **({"notice": answer.notice} if answer.notice else {}),
    }


def _hit_json(found_hit: FoundHit) -> dict[str, Json]:
    hit = found_hit.hit
    sections: list[Json] = [
        {
            "heading": list(section.path),
            "anchor": section.anchor,
            "snippet": section.snippet,
            **status_json(section.status),
        }
        for section in hit.sections
    ]
    return {
        **place_json(found_hit.collection, hit.record),
        "type": hit.record.type,
        "tags": list(hit.record.tags),
        "date": hit.record.date,
        "score": round(hit.score, 4),
        **status_json(hit.status),
        "sections": sections,
    }
