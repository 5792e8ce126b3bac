"""Commands that list pages: by what they are, by their last change, by tag, near another page, or missing."""

from __future__ import annotations

from functools import partial
from typing import Annotated, get_args

import typer

from commonplace.domain.json import Json
from commonplace.domain.query import ListQuery
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.options import MAX_LIMIT, AtOption, PageArgument
from commonplace.faces.cli.output import BOLD, FAINT, INDENT, RED, one_line
from commonplace.faces.cli.pages import (
    FilterOptions,
    ListSort,
    PagingOptions,
    located,
    newest_first,
    page_name,
    path_of,
    place_json,
    record_json,
    record_line,
)
from commonplace.faces.cli.session import Session, opened_at
from commonplace.services.listing import list_documents, list_tags, unknown_values
from commonplace.services.related_documents import RelatedDocument, related

DATES_SECONDS = 10.0
"""Maximum time in seconds to wait for the dates of the history."""


LIST_JSON = """As JSON: `{"total", "limit", "offset", "documents": [{"collection", "id", "path", "title", "revision",
"type", "tags", "description", "date", "created", "updated", "words", "size"}]}`; with `--at` also `"at": {folder:
commit}`."""


def list_command(
    session: Session,
    filters: FilterOptions,
    paging: PagingOptions,
    sort: Annotated[ListSort, typer.Option(metavar="KEY", help=f"One of {', '.join(get_args(ListSort))}.")] = "path",
    at: AtOption = "",
    *,
    reverse: Annotated[bool, typer.Option("--reverse", help="Reverse the order.")] = False,
) -> None:
    """List pages by path, type, tag, date or any field.

    Examples:
        commonplace list --type decision --sort date
        commonplace list --tag project/alpha --field status=open
        commonplace list --prefix runbooks/ --limit 1000 | cut -f1
        commonplace list --sort updated --limit 5 --json
        commonplace list --prefix runbooks/ --at 2026-03-01

    A page a line: path, title, type, tags and date, separated by tabs where the output is no terminal.
    """
    query = ListQuery(
        filter=filters.filter(),
        sort=sort,
        descending=newest_first(sort, reverse=reverse),
        limit=paging.limit,
        offset=paging.offset,
    )
    out = session.out
    with opened_at(session, at) as (collections, moment):
        for collection in collections.members if out.as_json else ():
            collection.index.wait_dated(DATES_SECONDS)  # JSON has the dates of every page
        listing = list_documents(collections.members, query)
        if out.as_json:
            documents = [record_json(document) for document in listing.found]
            out.json(
                {"total": listing.total, "limit": query.limit, "offset": query.offset, "documents": documents, **moment}
            )
            return
        for document in listing.found:
            out.line(record_line(session, collections, document), INDENT)
        if listing.total:
            out.message(paging.more(len(listing.found), listing.total))
        else:
            out.message("No such pages.")
            for hint in unknown_values(collections.members, query.filter):
                out.message(hint)


MINUTES = len("2026-11-20T20:50")


RECENT_JSON = """As JSON: as `list`."""


def recent_command(
    session: Session,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MAX_LIMIT, metavar="N", help="How many pages.")
    ] = 10,
) -> None:
    """List the pages that changed last, the newest first.

    Examples:
        commonplace recent
        commonplace recent -n 3 --json

    By the date of each page: that of its front matter, else of its last commit. What came into the branch since a
    moment, of whatever date, is told by commonplace brief --since.
    """
    out, query = session.out, ListQuery(sort="updated", descending=True, limit=limit)
    with session.opened() as collections:
        listing = list_documents(collections.members, query)
        if out.as_json:
            documents = [record_json(document) for document in listing.found]
            out.json({"total": listing.total, "limit": limit, "offset": 0, "documents": documents})
            return
        for document in listing.found:
            moment = document.record.updated[:MINUTES].replace("T", " ")
            if out.terminal.interactive:
                name = page_name(session, collections, document.collection, document.record.address)
                title = one_line(document.record.title)
                out.line(f"{out.styled(FAINT, f'{moment:<{MINUTES}}')}  {name}  {title}", MINUTES + 2)
            else:
                path = path_of(collections, document.collection, document.record.address)
                out.line("\t".join(map(one_line, (moment, path, document.record.title))))
    if not listing.total:
        out.message("No pages.")


TAGS_JSON = """As JSON: `{"total", "tags": [{"tag", "documents"}]}`."""


def tags_command(
    session: Session,
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", hidden=True)] = "",
) -> None:
    """List tags, the commonest first.

    Examples:
        commonplace tags
        commonplace tags project/
        commonplace tags --json
    """
    out = session.out
    with session.opened() as collections:
        tags = list_tags(collections.members, prefix=prefix.lstrip("#"))
    if out.as_json:
        out.json({"total": len(tags), "tags": [{"tag": tag, "documents": count} for tag, count in tags]})
        return
    width = max((len(f"{count:,}") for _, count in tags), default=0)
    for tag, count in tags:
        if out.terminal.interactive:
            out.line(f"{out.styled(FAINT, f'{count:>{width},}')}  {out.styled(BOLD, f'#{tag}')}")
        else:
            out.line(f"{count}\t{out.styled('', tag)}")
    if not tags:
        out.message("No such tags." if prefix else "No tags.")


RELATED_JSON = """As JSON: `{"page", "related": [{"collection", "id", "path", "title", "revision", "score",
"linked"}]}`."""


def related_command(
    session: Session,
    page: PageArgument,
    *,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=25, help="Maximum number of pages.")] = 5,
) -> None:
    """Find the pages nearest to a page, in meaning where a model is installed.

    Examples:
        commonplace related runbooks/restore-database
        commonplace related topics/tides --limit 10 --json

    A page that is linked already is marked with `linked`.
    """
    with session.opened() as collections:
        document = located(collections, session.relative(page))
        near = related(document.collection, document.record.address, limit)
        if session.out.as_json:
            session.out.json(
                {"page": document.record.id, "related": [_json(related_document) for related_document in near]}
            )
            return
        for other_document in near:
            name = page_name(session, collections, other_document.found.collection, other_document.found.record.address)
            mark = "  linked" if other_document.linked else ""
            session.out.line(f"{name}  {one_line(other_document.found.record.title)}{mark}", INDENT)
        session.out.message("" if near else "Nothing is near to it.")


def _json(document: RelatedDocument) -> Json:
    place = place_json(document.found.collection, document.found.record)
    return {**place, "score": round(document.score, 4), "linked": document.linked}


MAX_SHOWN_SOURCES = 3
"""Maximum number of linking pages that are shown to people."""


WANTED_JSON = """As JSON: `{"total", "wanted": [{"collection", "name", "sources": [PATH]}]}`."""


def wanted_command(session: Session) -> None:
    """List the pages that are linked to and do not exist, the most wanted first.

    Examples:
        commonplace wanted
        commonplace wanted --json
    """
    from commonplace.services.site.overview import wanted_pages

    out = session.out
    with session.opened() as collections:
        found_pairs = [
            (collection, page) for collection in collections for page in wanted_pages(collections, collection).pages
        ]
        if out.as_json:
            rows: list[Json] = [
                {"collection": collection.name, "name": page.name, "sources": list[Json](map(str, page.sources))}
                for collection, page in found_pairs
            ]
            out.json({"total": len(found_pairs), "wanted": rows})
            return
        for collection, page in found_pairs:
            if out.terminal.interactive:
                names = partial(page_name, session, collections, collection)
                sources = ", ".join(map(names, page.sources[:MAX_SHOWN_SOURCES]))
                more = len(page.sources) - MAX_SHOWN_SOURCES
                further = f" and {amount(more, 'other')}" if more > 0 else ""
                out.line(f"{out.styled(RED, one_line(page.name))}  in {sources}{further}", INDENT)
            else:
                paths = [path_of(collections, collection, source) for source in page.sources]
                out.line("\t".join(map(one_line, (page.name, *paths))))
    if not found_pairs:
        out.message("No wanted pages.")
