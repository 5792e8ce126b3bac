"""`commonplace recent`: the pages that changed last.

As JSON: as `list`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.domain.query import ListQuery
from commonplace.faces.cli.options import MAX_LIMIT
from commonplace.faces.cli.output import FAINT, one_line
from commonplace.faces.cli.pages import page_name, path_of, record_json
from commonplace.faces.cli.session import Session
from commonplace.services.listing import list_documents

MINUTES = len("2026-11-20T20:50")


def command(
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
