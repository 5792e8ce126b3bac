"""`commonplace search`: ranked pages with the section that answers.

As JSON: `{"query", "total", "limit", "offset", "hits": [{"collection", "id", "path", "title", "revision", "type",
"tags", "date", "score", "sections": [{"heading": [..], "anchor", "snippet"}]}]}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, get_args

import typer

from commonplace.domain.json import Json
from commonplace.domain.nearness import MODES, Mode
from commonplace.domain.query import SearchQuery
from commonplace.faces.cli.filters import Filters, Paging, SearchSort, newest_first
from commonplace.faces.cli.highlighting import highlighter
from commonplace.faces.cli.output import BOLD, FAINT, one_line
from commonplace.faces.cli.pages import path_of, place_json
from commonplace.faces.cli.session import Session
from commonplace.faces.cli.texts import read_text
from commonplace.services.collections import Collections
from commonplace.services.searching import Answer, FoundHit, search


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How it is searched, and what comes first."""

    sort: Annotated[SearchSort, typer.Option(metavar="KEY", help=f"One of {', '.join(get_args(SearchSort))}.")] = (
        "score"
    )

    mode: Annotated[Mode, typer.Option(metavar="|".join(MODES), help="By words, by meaning, or by both.")] = "hybrid"


def command(
    session: Session,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", hidden=True)],
    filters: Filters,
    paging: Paging,
    *,
    asking: Asking,
    reverse: Annotated[bool, typer.Option("--reverse", help="Turn the order round.")] = False,
) -> None:
    """Search pages by words and meaning, best first.

    Examples:
        commonplace search how do I restore the database
        commonplace search '"exact phrase" -without'
        commonplace search invoice --type note --tag 2024 --sort date
        commonplace search vector -C ~/docs --prefix standard-library/ --json
        echo tea ceremony | commonplace search -

    Words are ranked together, and the last one also as the beginning of a word; small typing errors are forgiven.
    Where a model is installed (commonplace model install) and pages are embedded, meaning counts too.
    What begins with a dash comes inside quotes or after --. QUERY - reads standard input.
    """
    text = read_text("-", session.out).decode().strip() if query == ["-"] else " ".join(query)
    asked = SearchQuery(
        text=text,
        filter=filters.filter(),
        sort=asking.sort,
        descending=newest_first(asking.sort, reverse=reverse),
        limit=paging.limit,
        offset=paging.offset,
    )
    with session.opened() as collections:
        answer = search(collections.members, asked, asking.mode)
        if session.out.as_json:
            session.out.json(_json(asked, answer))
        else:
            _show(session, collections, asked, answer)
            session.out.talk(paging.more(len(answer.hits), answer.total) if answer.total else "Nothing found.")


def _show(session: Session, collections: Collections, asked: SearchQuery, answer: Answer) -> None:
    out = session.out
    highlight = highlighter(out, asked.text)
    for found in answer.hits:
        path = path_of(collections, found.collection, found.hit.record.address)
        out.line(f"{out.styled(BOLD, path)}  {one_line(found.hit.record.title)}")
        for section in found.hit.sections:
            if section.path and section.path != (found.hit.record.title,):
                out.line(f"    {out.styled(FAINT, one_line(' > '.join(section.path)))}")
            if section.snippet:
                out.line(f"    {highlight(section.snippet)}")


def _json(asked: SearchQuery, answer: Answer) -> dict[str, Json]:
    return {
        "query": asked.text,
        "total": answer.total,
        "limit": asked.limit,
        "offset": asked.offset,
        "hits": [_hit_json(found) for found in answer.hits],
    }


def _hit_json(found: FoundHit) -> dict[str, Json]:
    hit = found.hit
    sections: list[Json] = [
        {"heading": list(section.path), "anchor": section.anchor, "snippet": section.snippet}
        for section in hit.sections
    ]
    return {
        **place_json(found.collection, hit.record),
        "type": hit.record.type,
        "tags": list(hit.record.tags),
        "date": hit.record.date,
        "score": round(hit.score, 4),
        "sections": sections,
    }
