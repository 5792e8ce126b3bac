"""`commonplace wanted`: pages that links name and that do not exist.

As JSON: `{"total", "wanted": [{"collection", "name", "sources": [PATH]}]}`.
"""

from __future__ import annotations

from functools import partial

from commonplace.domain.json import Json
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.output import INDENT, RED, one_line
from commonplace.faces.cli.pages import page_name, path_of
from commonplace.faces.cli.session import Session
from commonplace.services.site.overview import wanted_pages

MAX_SHOWN_SOURCES = 3
"""Maximum number of linking pages that are shown to people."""


def command(session: Session) -> None:
    """List the pages that are linked to and do not exist, the most wanted first.

    Examples:
        commonplace wanted
        commonplace wanted --json
    """
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
