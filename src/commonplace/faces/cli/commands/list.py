"""`commonplace list`: pages by what they are, not by what they say.

As JSON: `{"total", "limit", "offset", "documents": [{"collection", "id", "path", "title", "revision", "type", "tags",
"description", "date", "created", "updated", "words", "size"}]}`; with `--at` also `"at": {folder: commit}`.
"""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from commonplace.domain.query import ListQuery
from commonplace.faces.cli.filters import FilterOptions, ListSort, PagingOptions, newest_first
from commonplace.faces.cli.options import AtOption
from commonplace.faces.cli.output import INDENT
from commonplace.faces.cli.pages import record_json, record_line
from commonplace.faces.cli.session import Session, opened_at
from commonplace.services.listing import list_documents, unknown_values

DATES_SECONDS = 10.0
"""Maximum time in seconds to wait for the dates of the history."""


def command(
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
